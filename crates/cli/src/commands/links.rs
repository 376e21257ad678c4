//! `corewise links`: the cost of communication between cpus; measured, simulated, imported or compared.

pub mod document;

pub mod arguments;
mod pictures;
mod source;
pub mod task;
#[cfg(test)]
mod tests;

use corewise_lab::links::measured::Measured;
use corewise_lab::links::simulated::Simulated;
use corewise_lab::links::{CHOICES, Plan, Talk, map as make_map};
use corewise_lab::session::seed_of_the_clock;
use corewise_machine::{CpuSet, Machine};
use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::links::compare::compare as compare_maps;
use corewise_model::links::conclude::{Filled, LinkConclusions, conclude};
use corewise_model::links::map::LinkMap;
use jiff::tz::TimeZone;

use crate::app::artifact::{self, Form, Printed};
use crate::app::document::ArtifactDocument;
use crate::app::failure::{Exit, Failure};
use crate::app::history::{broken, existing, keep};
use crate::app::interruption::Interruption;
use crate::app::lock;
use crate::app::machine::{self, MachineChoice, this_machine};
use crate::app::measuring::nothing_measured;
use crate::app::output::{print_form, say, show_story};
use crate::app::placing::{resolve_elsewhere, resolve_here};
use crate::app::progress::Bar;
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use crate::draw::csv;
use crate::draw::number::{self, when};
use crate::draw::story::Story;
use crate::draw::suggestion;
use crate::draw::survey::Kept;
use arguments::{FormatName, LinksArguments, OrderName};
use document::LinksComparisonDocument;
use pictures::comparison;
use pictures::export::{long_csv, matrix_csv};
use pictures::screen;
use task::{Action, LinksTask, MapRequest, Simulation, Source};

impl Run for LinksArguments {
    const DOCUMENTS: &'static [Document] = &[
        document::<ArtifactDocument<'_, LinkMap>>(&["links --simulate matrix.csv --budget 1s --seed 1"]),
        document::<LinksComparisonDocument<'_>>(&["links compare matrix.csv matrix.csv"]),
    ];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        run(&LinksTask::new(self)?, settings)
    }
}

fn run(task: &LinksTask, settings: &Settings) -> Result<Exit, Failure> {
    match &task.action {
        Action::Map(request) => match &request.simulate {
            Some(simulation) => simulated(request, simulation, task, settings),
            None => measured(request, task, settings),
        },
        Action::Import { files, unit, machine } => {
            let machine = chosen(machine.as_ref())?;
            // Reads all before any is stored.
            let maps: Vec<LinkMap> =
                files.iter().map(|file| source::imported(file, machine.as_ref(), *unit)).collect::<Result<_, _>>()?;
            for map in &maps {
                print(map, &keep(map, settings), (task.format, task.order), settings)?;
            }
            Ok(Exit::Done)
        }
        Action::Compare { before, after, machine } => {
            let machine = chosen(machine.as_ref())?;
            compared(before, after, machine.as_ref(), settings)
        }
        Action::Show(number) => {
            let map = stored(*number, settings)?;
            let kept = Kept::Recalled(*number, when(map.provenance.started_unix_ms, &TimeZone::system()));
            print(&map, &kept, (task.format, task.order), settings)?;
            Ok(Exit::Done)
        }
    }
}

/// Reads the named machine, if there is one.
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
    let _lock = lock::take(settings)?;
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
    // A matrix has the costs of a single way to talk.
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
    Err(Failure::unavailable(what)
        .next(format!("{} shows all cpus and which are allowed.", suggestion::mention(&suggested_command::topology()))))
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
    print(map, &keep(map, settings), (task.format, task.order), settings)?;
    Ok(if is_interrupted { Exit::Interrupted } else { Exit::Done })
}

fn stored(number: i64, settings: &Settings) -> Result<LinkMap, Failure> {
    existing(settings, &suggested_command::links())?.get(number).map_err(broken)
}

fn compared(before: &Source, after: &Source, machine: Option<&Machine>, settings: &Settings) -> Result<Exit, Failure> {
    let map = |source: &Source| match source {
        Source::Stored(number) => stored(*number, settings),
        Source::File(path) => source::map(path, machine, None),
    };
    compare(before, after, [&map(before)?, &map(after)?], settings)?;
    Ok(Exit::Done)
}

fn compare(before: &Source, after: &Source, maps: [&LinkMap; 2], settings: &Settings) -> Result<(), Failure> {
    let [earlier, later] = maps;
    if let (Some(one), Some(other)) = (&earlier.machine, &later.machine)
        && one.fingerprint() != other.fingerprint()
    {
        say(&"warning: the maps are of different machines, or the machine's cpus have changed");
    }
    let names = [before.words(), after.words()];
    if earlier.unit != later.unit {
        let [before, after] = &names;
        let what = format!("{before} is in {} and {after} in {}", earlier.unit.word(), later.unit.word());
        return Err(Failure::usage(what).next("Only maps with the same unit can be compared."));
    }
    if earlier.cpus != later.cpus {
        say(&"warning: the maps have different cpus; only the common ones are compared");
    }
    let kinds = compare_maps(earlier, later, &conclude(earlier));
    let story = comparison::story(&kinds, Source::again([before, after]), [&names[0], &names[1]]);
    show_story(settings, || LinksComparisonDocument::new(names, &story, &kinds), &story)
}

impl Printed for LinkMap {
    fn print(&self, kept: &Kept, form: &Form, settings: &Settings) -> Result<(), Failure> {
        form.only(&["--csv"], "a map of links")?;
        let format = if form.csv { FormatName::Csv } else { FormatName::Text };
        print(self, kept, (format, None), settings)
    }

    const TITLE: &'static str = "Map of links";

    fn first() -> SuggestedCommand {
        suggested_command::links()
    }

    fn story(&self, conclusions: &LinkConclusions, kept: &Kept, _: &Settings) -> Story {
        screen::story(self, conclusions, kept, true)
    }

    fn imported(mut self, file: &str) -> Self {
        self.provenance.origin = source::of_file(file, &self.provenance.origin);
        self
    }

    fn changes(numbers: [i64; 2], [earlier, later]: [&Self; 2]) -> Option<Story> {
        let [before, after] = numbers.map(Source::Stored);
        let kinds = (earlier.unit == later.unit).then(|| compare_maps(earlier, later, &conclude(earlier)))?;
        Some(comparison::story(&kinds, Source::again([&before, &after]), [&before.words(), &after.words()]))
    }

    fn compare(numbers: [i64; 2], artifacts: [&Self; 2], settings: &Settings) -> Result<(), Failure> {
        let [before, after] = numbers.map(Source::Stored);
        compare(&before, &after, artifacts, settings)
    }
}

fn print(
    map: &LinkMap,
    kept: &Kept,
    (format, order): (FormatName, Option<OrderName>),
    settings: &Settings,
) -> Result<(), Failure> {
    let Some(series) = map.series.first() else { return Err(Failure::unavailable("the map is empty")) };
    // Computed only if needed, and after the conclusions: each is a table of all pairs.
    let filled = || Filled::of(series, map);
    let by_group = order != Some(OrderName::Number);
    match format {
        _ if settings.json => artifact::print(map, kept, settings),
        FormatName::Csv => {
            // Readers of lists of pairs split at commas, also within quotation marks.
            let bare = |note: String| note.replace(',', ";").replace('"', "'");
            let notes = screen::story(map, &conclude(map), kept, by_group).notes();
            let notes: Vec<String> = notes.into_iter().map(bare).collect();
            print_form(&csv::with_notes(&long_csv(map), &notes))
        }
        FormatName::Matrix => {
            let filled = filled();
            if filled.predicted > 0 {
                let all = filled.all.known().count() as u64;
                let (all, predicted) = (number::whole(all), number::whole(filled.predicted));
                say(&format!("{predicted} of {all} pairs are predicted; `--format csv` prints only measured ones"));
            }
            print_form(matrix_csv(&filled.all).trim_end())
        }
        FormatName::Svg => {
            let (heat, text) = screen::picture(map, &filled(), &conclude(map), by_group);
            print_form(&heat.svg(&text))
        }
        FormatName::Text => {
            artifact::print_story(map, kept, settings, |conclusions| screen::story(map, conclusions, kept, by_group))
        }
    }
}
