//! `corewise place`: shows a placement on a machine: drawn, counted, and in the notations of other tools.

pub mod arguments;
pub mod document;

pub mod candidates;
mod ranks;
pub mod screen;
pub mod task;
mod who;

use corewise_machine::placement::notation::{
    self, Notation, NotationChoice, NotationError, NotationLine, NotationReading,
};
use corewise_machine::placement::{ExcludedCpus, ExclusionReason, PlacementExpression};
use corewise_machine::{Gap, Machine};

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::{self, ChosenMachine, MachineChoice};
use crate::app::output::{print_message, print_text, show_result};
use crate::app::placement::{parse_expression, point_at, shorten_message};
use crate::app::placing::{resolve_elsewhere, resolve_here};
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::draw::suggestion;
use arguments::PlaceArguments;
use document::{PlaceDocument, ShownPlacement, describe_warnings};
use screen::draw_screen;
use task::{CandidatesRequest, PlaceRequest, SourceNotation};

impl RunnableCommand for PlaceArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[
        command_document::<PlaceDocument<'_>>("placement", &["place all-core:0 --machine 2990wx"]),
        command_document::<candidates::document::CandidatesDocument<'_>>(
            "candidates",
            &["place --candidates --machine 2990wx", "place --candidates --threads 100"],
        ),
        command_document::<ranks::RanksDocument>("ranks", &["place --ranks 2 --machine 2990wx"]),
        command_document::<who::TenantsDocument>("tenants", &["place all --who"]),
    ];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        if self.candidates {
            return candidates::run(&CandidatesRequest::new(&self)?, settings);
        }
        if self.ranks.is_some() {
            return ranks::run(&self, settings);
        }
        run(&PlaceRequest::new(self)?, settings)
    }
}

fn run(request: &PlaceRequest, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    let ChosenMachine { machine, description } = machine::read_machine(&request.machine)?;
    if request.shows_tenants {
        return who::run(request, &machine, settings);
    }
    let (expression, read) = parse_written(request, &machine)?;
    print_gaps(&expression, &machine);
    let resolution = match request.machine {
        MachineChoice::Here => resolve_here(&expression, &machine, settings)?,
        _ => resolve_elsewhere(&expression, &machine)?,
    };
    let placed = ShownPlacement {
        machine: &machine,
        text: &request.text,
        resolution: &resolution,
        read: read.as_ref(),
        description: description.as_ref(),
    };
    match request.alone {
        Some(notation) if !settings.json => print_notation(notation, &placed)?,
        _ => show_result(settings, || PlaceDocument::new(&placed), || draw_screen(&placed, settings.width))?,
    }
    Ok(CommandExit::Done)
}

/// Prints the gaps that make the selected cpus uncertain, on one line of standard error.
fn print_gaps(expression: &PlacementExpression, machine: &Machine) {
    let concerns = |gap: &&Gap| gap.subjects.iter().any(|subject| expression.depends_on(*subject));
    let gaps: Vec<String> = machine.gaps.iter().filter(concerns).map(Gap::to_string).collect();
    if !gaps.is_empty() {
        print_message(&format!("not measured: {}", gaps.join(" · ")));
    }
}

/// Parses the expression, in our language or another tool's notation.
fn parse_written(
    request: &PlaceRequest,
    machine: &Machine,
) -> Result<(PlacementExpression, Option<NotationReading>), CommandFailure> {
    let Some(from) = request.from else { return Ok((parse_expression(&request.text)?, None)) };
    let read = match from {
        SourceNotation::Named(notation) => notation::read_notation(notation, &request.text, machine),
        SourceNotation::Recognized => {
            notation::recognize_notation(&request.text, machine).map(|recognized| recognized.reading)
        }
    };
    let read = read.map_err(|error| explain_notation_error(&error, &request.machine_option))?;
    let there: Vec<u32> = read.order.iter().copied().filter(|cpu| machine.present.contains(*cpu)).collect();
    if there.is_empty() {
        return Err(CommandFailure::unavailable_error(format!(
            "{}: this machine has cpus {}",
            read.cpus, machine.present
        )));
    }
    let list = there.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    Ok((parse_expression(&list)?, Some(read)))
}

/// Failure of reading another tool's notation: the place of the mistake, and how to write it; or each possible meaning with its command.
fn explain_notation_error(error: &NotationError, machine_option: &[String]) -> CommandFailure {
    let at = error.position..error.position + error.length;
    let failure = CommandFailure::usage_error(point_at(&error.what, &error.text, &at));
    let choice = |choice: &NotationChoice| {
        let command = choice.command.clone().with_options(machine_option.iter().cloned());
        format!("{}  for {}", suggestion::format_typed(&command), shorten_message(&choice.meaning))
    };
    let choices: Vec<String> = error.choices.iter().map(choice).collect();
    let hint = error.hint.as_ref().map(|hint| shorten_message(hint));
    let hint = if choices.is_empty() { hint } else { Some(choices.join("\n  ")) };
    hint.into_iter().fold(failure, CommandFailure::with_hint)
}

/// Prints only the lines of one notation, for a script. Remarks go to standard error.
fn print_notation(notation: Notation, placed: &ShownPlacement<'_>) -> Result<(), CommandFailure> {
    let lines = notation::print_notation(notation, &placed.resolution.cpus, &placed.resolution.order, placed.machine);
    let wanted: Vec<&NotationLine> = lines.iter().filter(|line| !line.secondary).collect();
    let mut remarks: Vec<&str> = Vec::new();
    for remark in wanted.iter().flat_map(|line| &line.remarks) {
        if !remarks.contains(&remark.as_str()) {
            remarks.push(remark);
        }
    }
    let texts: Vec<&str> = wanted.iter().filter_map(|line| line.text.as_deref()).collect();
    if texts.is_empty() {
        return Err(CommandFailure::unavailable_error(format!("{}: {}", notation.word(), remarks.join(" "))));
    }
    placed.read.into_iter().flat_map(|read| &read.remarks).for_each(|remark| print_message(&format!("note: {remark}")));
    // The remarks of the notation already name the offline cpus.
    let is_said = |out: &&ExcludedCpus| placed.read.is_some() && out.reason == ExclusionReason::Offline;
    for out in placed.resolution.left_out.iter().filter(|out| !is_said(out)) {
        print_message(&format!("left out: {} ({})", out.cpus, out.reason.reason_words()));
    }
    let notes = describe_warnings(placed);
    let notes = notes.iter().map(String::as_str).chain(remarks);
    notes.for_each(|remark| print_message(&format!("note: {remark}")));
    print_text(&texts.join("\n"))
}
