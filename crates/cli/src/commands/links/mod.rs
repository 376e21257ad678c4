//! `corewise links`: what talking between cpus costs; measured, simulated, imported, compared.

pub mod document;

pub mod arguments;
mod pictures;
mod source;
pub mod task;

use std::io::IsTerminal as _;

use anstream::ColorChoice;
use corewise_lab::links::measured::Measured;
use corewise_lab::links::simulated::Simulated;
use corewise_lab::links::{CHOICES, Plan, Talk, map as make_map};
use corewise_lab::session::seed_of_the_clock;
use corewise_model::links::compare::compare as compare_maps;
use corewise_model::links::conclude::{Filled, LinkConclusions, conclude};
use corewise_model::links::map::{LinkMap, Origin};
use corewise_model::{CpuSet, Machine};
use corewise_store::Store;
use jiff::tz::TimeZone;

use crate::draw::machine::model_name;
use crate::draw::number::{self, when};
use crate::draw::survey::Kept;
use crate::shell::failure::{Exit, Failure};
use crate::shell::history::{broken, existing, opened};
use crate::shell::interruption::Interruption;
use crate::shell::keep::kept;
use crate::shell::machine::{self, MachineChoice, this_machine};
use crate::shell::measuring::nothing_measured;
use crate::shell::output::{print_text, say, show};
use crate::shell::placing::{resolve_elsewhere, resolve_here};
use crate::shell::progress::Bar;
use crate::shell::run::{Document, Run, document};
use crate::shell::settings::Settings;
use arguments::{FormatName, LinksArguments, OrderName};
use document::{LinksComparisonDocument, LinksDocument, MapsDocument};
use pictures::comparison;
use pictures::depth::Depth;
use pictures::export::{long_csv, matrix_csv};
use pictures::screen::{Picture, layout, pairs_words, screen};
use pictures::svg::{SvgText, svg};
use task::{Action, LinksTask, MapRequest, Simulation, Source};

impl Run for LinksArguments {
    const DOCUMENTS: &'static [Document] =
        &[document::<LinksDocument<'_>>, document::<LinksComparisonDocument<'_>>, document::<MapsDocument<'_>>];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        run(&LinksTask::new(self)?, settings)
    }
}

/// Does what was asked for.
fn run(task: &LinksTask, settings: &Settings) -> Result<Exit, Failure> {
    match &task.action {
        Action::Map(request) => match &request.simulate {
            Some(simulation) => simulated(request, simulation, task, settings),
            None => measured(request, task, settings),
        },
        Action::Import { files, machine } => {
            let machine = chosen(machine.as_ref())?;
            // All are read before the first is kept.
            let maps: Vec<LinkMap> =
                files.iter().map(|file| source::imported(file, machine.as_ref())).collect::<Result<_, _>>()?;
            for map in &maps {
                let kept = keep(map, settings);
                print(map, &kept, task, settings)?;
            }
            Ok(Exit::Done)
        }
        Action::Compare { before, after, machine } => {
            let machine = chosen(machine.as_ref())?;
            compared(before, after, machine.as_ref(), task, settings)
        }
        Action::Show(number) => {
            let map = stored(*number, settings)?;
            let kept = Kept::Recalled(*number, when(map.provenance.started_unix_ms, &TimeZone::system()));
            print(&map, &kept, task, settings)?;
            Ok(Exit::Done)
        }
        Action::List { all } => list(*all, task, settings),
    }
}

/// The machine that was named, if one was.
fn chosen(choice: Option<&MachineChoice>) -> Result<Option<Machine>, Failure> {
    Ok(choice.map(machine::read).transpose()?.map(|chosen| chosen.machine))
}

fn measured(request: &MapRequest, task: &LinksTask, settings: &Settings) -> Result<Exit, Failure> {
    let machine = this_machine()?;
    let cpus = match &request.cpus {
        Some(expression) => resolve_here(expression, &machine, settings)?.cpus,
        None => machine.allowed.clone(),
    };
    two_at_least(&cpus, if request.cpus.is_some() { "--cpus has" } else { "this process may use" })?;
    let interruption = Interruption::watch()?;
    let seed = seed(request);
    let mut talk = Measured::new(&machine, seed, interruption.stop());
    let map = made(request, seed, cpus, Some(machine), &mut talk, &interruption, settings);
    finished(&map, &interruption, task, settings)
}

fn simulated(
    request: &MapRequest,
    simulation: &Simulation,
    task: &LinksTask,
    settings: &Settings,
) -> Result<Exit, Failure> {
    let (what, unit, matrix) = source::matrix(&simulation.matrix)?;
    let noise = simulation.noise.as_deref().map(source::samples).transpose()?.unwrap_or_default();
    let machine = chosen(simulation.machine.as_ref())?;
    let all = matrix.cpu_set();
    let cpus = match (&request.cpus, &machine) {
        (Some(expression), Some(machine)) => resolve_elsewhere(expression, machine)?.cpus.intersection(&all),
        (Some(expression), None) => match expression.plain_cpus() {
            Some(cpus) => cpus.into_iter().collect::<CpuSet>().intersection(&all),
            None => {
                let what = "the machine of the matrix is unknown: --cpus takes only numbers";
                return Err(Failure::usage(what).next("Name it with --machine, or give a list such as 0-3,8."));
            }
        },
        (None, _) => all,
    };
    two_at_least(&cpus, "the matrix has of them")?;
    let interruption = Interruption::watch()?;
    let name = simulation.matrix.display().to_string();
    let seed = seed(request);
    let mut talk = Simulated::new(name, matrix, &noise, seed);
    // A matrix is of one way to talk, whatever it is.
    let request = &MapRequest { kinds: vec![what], ..request.clone() };
    let map = made(request, seed, cpus, machine, &mut talk, &interruption, settings);
    finished(&LinkMap { unit, ..map }, &interruption, task, settings)
}

fn seed(request: &MapRequest) -> u64 {
    request.seed.unwrap_or_else(seed_of_the_clock)
}

fn two_at_least(cpus: &CpuSet, whose: &str) -> Result<(), Failure> {
    if cpus.len() >= 2 {
        return Ok(());
    }
    let what = format!(
        "a link needs two cpus, and {whose} only {}",
        if cpus.is_empty() { "none".into() } else { cpus.to_string() }
    );
    Err(Failure::unavailable(what).next("`corewise topology` shows all cpus and which are allowed."))
}

fn made(
    request: &MapRequest,
    seed: u64,
    cpus: CpuSet,
    machine: Option<Machine>,
    talk: &mut dyn Talk,
    interruption: &Interruption,
    settings: &Settings,
) -> LinkMap {
    let plan = Plan {
        cpus,
        kinds: request.kinds.clone(),
        budget: request.budget,
        limits: request.limits,
        seed,
        choices: CHOICES,
        corewise: env!("CARGO_PKG_VERSION"),
    };
    let bar = Bar::new(settings.progress);
    let map = make_map(&plan, machine, talk, interruption.stop(), &mut |progress| bar.show(progress));
    bar.clear();
    map
}

/// Keeps and shows a map that was made.
fn finished(
    map: &LinkMap,
    interruption: &Interruption,
    task: &LinksTask,
    settings: &Settings,
) -> Result<Exit, Failure> {
    let is_interrupted = map.provenance.partial && interruption.was_seen();
    if map.series.iter().all(|series| series.links.pairs.is_empty() && series.held_out.is_empty()) {
        let gap = map.series.iter().flat_map(|series| &series.links.gaps).chain(&map.gaps).next();
        return Err(nothing_measured("map", "pair", gap, is_interrupted));
    }
    let kept = keep(map, settings);
    print(map, &kept, task, settings)?;
    Ok(if is_interrupted { Exit::Interrupted } else { Exit::Done })
}

/// Stores a map. A history that fails is said once, and the map is shown all the same.
fn keep(map: &LinkMap, settings: &Settings) -> Kept {
    kept(settings, "map", |path| Store::open(path).and_then(|mut store| store.add_map(map)))
}

fn stored(number: i64, settings: &Settings) -> Result<LinkMap, Failure> {
    existing(settings, "Make a map with `corewise links`")?.map(number).map_err(|error| match error {
        corewise_store::StoreError::NoMap { .. } => {
            Failure::unavailable(error).next("`corewise links list --all` lists them.")
        }
        other => broken(other),
    })
}

fn list(all: bool, task: &LinksTask, settings: &Settings) -> Result<Exit, Failure> {
    let fingerprint = if all { None } else { Some(this_machine()?.fingerprint()) };
    let maps = match opened(settings)? {
        Some(store) => store.maps(fingerprint.as_deref()).map_err(broken)?,
        None => Vec::new(),
    };
    let settings = &Settings { json: settings.json || task.format == FormatName::Json, ..settings.clone() };
    show(settings, || MapsDocument::new(&maps), || comparison::list(&maps, all, &TimeZone::system(), settings.width))?;
    Ok(Exit::Done)
}

fn compared(
    before: &Source,
    after: &Source,
    machine: Option<&Machine>,
    task: &LinksTask,
    settings: &Settings,
) -> Result<Exit, Failure> {
    let map = |source: &Source| match source {
        Source::Stored(number) => stored(*number, settings),
        Source::File(path) => source::map(path, machine),
    };
    let (earlier, later) = (map(before)?, map(after)?);
    if let (Some(one), Some(other)) = (&earlier.machine, &later.machine)
        && one.fingerprint() != other.fingerprint()
    {
        crate::shell::output::say(&"warning: the maps are of different machines, or the machine's cpus have changed");
    }
    if earlier.unit != later.unit {
        let what =
            format!("{} is in {} and {} in {}", before.words(), earlier.unit.word(), after.words(), later.unit.word());
        return Err(Failure::usage(what).next("Only maps with the same unit can be compared."));
    }
    if earlier.cpus != later.cpus {
        crate::shell::output::say(&"warning: the maps have different cpus; only the common ones are compared");
    }
    let kinds = compare_maps(&earlier, &later, &conclude(&earlier));
    let (before, after) = (before.words(), after.words());
    let settings = &Settings { json: settings.json || task.format == FormatName::Json, ..settings.clone() };
    show(
        settings,
        || LinksComparisonDocument::new(before.clone(), after.clone(), &kinds),
        || comparison::screen(&kinds, &before, &after, settings.width),
    )?;
    Ok(Exit::Done)
}

/// Prints a map in the format that was asked for.
fn print(map: &LinkMap, kept: &Kept, task: &LinksTask, settings: &Settings) -> Result<(), Failure> {
    let conclusions = conclude(map);
    let number = match kept {
        Kept::Stored(number) | Kept::Recalled(number, _) => Some(*number),
        Kept::No | Kept::Failed => None,
    };
    let Some(series) = map.series.first() else { return Err(Failure::unavailable("the map is empty")) };
    let filled = Filled::of(series, map);
    let by_group = task.order != Some(OrderName::Number);
    match task.format {
        _ if settings.json => crate::shell::output::print_json(&LinksDocument::new(map, &conclusions, number)),
        FormatName::Json => crate::shell::output::print_json(&LinksDocument::new(map, &conclusions, number)),
        FormatName::Csv => print_text(long_csv(map).trim_end()),
        FormatName::Matrix => {
            if filled.predicted > 0 {
                let all = filled.all.known().count() as u64;
                let (all, predicted) = (number::whole(all), number::whole(filled.predicted));
                say(&format!("{predicted} of {all} pairs are predicted; `--format csv` prints only measured ones"));
            }
            print_text(matrix_csv(&filled.all).trim_end())
        }
        FormatName::Svg => print_text(&picture(map, &filled, &conclusions, by_group)),
        FormatName::Text => {
            let picture = Picture { depth: depth(settings), by_group };
            show(
                settings,
                || LinksDocument::new(map, &conclusions, number),
                || screen(map, &filled, &conclusions, kept, picture, settings.width),
            )
        }
    }
}

/// The colours of standard output.
fn depth(settings: &Settings) -> Depth {
    let wanted = match settings.color {
        ColorChoice::Never => false,
        ColorChoice::Always | ColorChoice::AlwaysAnsi => true,
        ColorChoice::Auto => {
            std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    };
    let of = |name: &str| std::env::var(name).ok();
    let term = of("TERM");
    Depth::of(of("COLORTERM").as_deref(), term.as_deref(), wanted && term.as_deref() != Some("dumb"))
}

fn picture(map: &LinkMap, filled: &Filled, conclusions: &LinkConclusions, by_group: bool) -> String {
    let what = map.series.first().map(|series| series.what).unwrap_or_default();
    let source = match &map.provenance.origin {
        Origin::Measured => format!("corewise {}, seed {}", map.provenance.corewise, map.provenance.seed),
        Origin::Simulated { file } => format!("corewise {}, simulated from {file}", map.provenance.corewise),
        Origin::Imported { file, .. } => format!("corewise {}, imported from {file}", map.provenance.corewise),
    };
    let title = map.machine.as_ref().map_or_else(|| format!("{} cpus", map.cpus.len()), model_name);
    let mut subtitle = vec![format!("{}, {}", what.words(), what.unit()), pairs_words(map)];
    subtitle.extend(conclusions.groups.as_ref().map(|groups| groups.words()));
    let text = SvgText { title, subtitle: subtitle.join(" · "), unit: map.unit.word().into(), source };
    svg(&filled.all, &layout(&filled.all, conclusions, map.unit, by_group), &text)
}
