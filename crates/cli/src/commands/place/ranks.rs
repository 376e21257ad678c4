//! `corewise place --ranks N`: the cpus of each rank of a program, shown or in the form of a launcher.

use corewise_machine::CpuSet;
use corewise_machine::machine::NumaNode;
use corewise_machine::placement::notation::{RankForm, print_ranks};
use corewise_machine::{Machine, suggested_command};
use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::PlaceArguments;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::{self, MachineChoice};
use crate::app::output::{print_text, show_result};
use crate::app::placement::parse_expression;
use crate::app::placing::{resolve_elsewhere, resolve_here};
use crate::app::ranks::{rank_expression, split_ranks};
use crate::app::settings::ProgramSettings;
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::wrap_line;

/// The output of `corewise place --ranks --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/ranks/1")]
pub struct RanksDocument {
    #[schemars(extend("const" = "corewise/ranks/1"))]
    schema: &'static str,
    /// The ranks, by number.
    ranks: Vec<RankPlace>,
}

/// The part of a rank.
#[derive(Serialize, JsonSchema)]
struct RankPlace {
    /// Its cpus.
    cpus: CpuSet,
    /// The same cpus in the order in which threads take them.
    order: Vec<u32>,
    /// Numbers of the nodes of these cpus that have memory.
    nodes: CpuSet,
}

/// Divides cpus among ranks, and shows them.
pub fn run(arguments: &PlaceArguments, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    let choice = MachineChoice::new(&arguments.machine)?;
    let machine = machine::read_machine(&choice)?.machine;
    let resolve = |text: &str| {
        let expression = parse_expression(text)?;
        match choice {
            MachineChoice::Here => resolve_here(&expression, &machine, settings),
            _ => resolve_elsewhere(&expression, &machine),
        }
    };
    let typed = arguments.expression.join(" ");
    let pool = rank_expression((!typed.is_empty()).then_some(&typed))?.to_string();
    let ranks = arguments.ranks.unwrap_or(1) as usize;
    let parts = split_ranks(&machine, &resolve(&pool)?.cpus, (ranks, arguments.near.is_some()), resolve)?;
    let form = arguments.notation.as_deref().map(parse_form).transpose()?;
    match form.filter(|_| !settings.json) {
        Some(form) => {
            let lines = print_ranks(form, &parts, &machine).map_err(CommandFailure::unavailable_error)?;
            print_text(&lines.join("\n"))?;
        }
        None => {
            let ranks = parts.into_iter().map(|order| describe_rank(order, &machine)).collect();
            let document = RanksDocument { schema: "corewise/ranks/1", ranks };
            show_result(settings, || &document, || draw_screen(&document, settings.width))?;
        }
    }
    Ok(CommandExit::Done)
}

fn parse_form(name: &str) -> Result<RankForm, CommandFailure> {
    let found = RankForm::ALL.into_iter().find(|form| form.word().eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let forms = RankForm::ALL.map(RankForm::word).join(", ");
        CommandFailure::usage_error(format!("--as {name} has no form for ranks: they are {forms}"))
    })
}

fn describe_rank(order: Vec<u32>, machine: &Machine) -> RankPlace {
    let cpus: CpuSet = order.iter().copied().collect();
    let is_own = |node: &&NumaNode| !node.cpus.is_disjoint(&cpus) && machine.has_memory(node);
    let nodes = machine.nodes.iter().filter(is_own).map(|node| node.number).collect();
    RankPlace { cpus, order, nodes }
}

fn noun_of_ranks(ranks: &CpuSet) -> &'static str {
    if ranks.len() == 1 { "rank" } else { "ranks" }
}

fn draw_screen(document: &RanksDocument, width: usize) -> TextScreen {
    let columns =
        vec![GridColumn::number("rank", "", 0), GridColumn::text("cpus", 0), GridColumn::text("memory of nodes", 1)];
    let mut grid = TextGrid::new(columns);
    for (number, rank) in document.ranks.iter().enumerate() {
        let cells = [number.to_string(), rank.cpus.to_string(), rank.nodes.to_string()];
        grid.add_row(cells.map(|cell| StyledLine::new().plain(cell)).to_vec());
    }
    let mut screen = TextScreen::new();
    screen.extend(grid.draw_lines(width));
    let remote: CpuSet =
        (0..).zip(&document.ranks).filter(|(_, rank)| rank.nodes.is_empty()).map(|(at, _)| at).collect();
    if !remote.is_empty() {
        let note =
            format!("The nodes of {} {remote} have no memory: theirs is on other nodes. ", noun_of_ranks(&remote));
        let note = StyledLine::new().plain(note).strong("with-memory").plain(" leaves such cpus out.");
        screen.extend(wrap_line(&note, width, 2));
    }
    let next = suggestion::format_typed(&suggested_command::run_rank());
    screen.extend(wrap_line(&StyledLine::new().plain("Next:  ").strong(next), width, 2));
    screen
}
