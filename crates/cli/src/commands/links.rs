//! `corewise links`: the cost of communication between cpus; measured, simulated, imported or compared.

pub mod document;

pub mod arguments;
mod map_files;
mod pictures;
pub mod task;
#[cfg(test)]
mod tests;

use corewise_lab::links::measured::MeasuredLinks;
use corewise_lab::links::simulated::SimulatedLinks;
use corewise_lab::links::{CHOICES, LinksPlan, PairVisitor, map_links as make_map};
use corewise_lab::session::seed_from_clock;
use corewise_machine::identity::is_same_machine;
use corewise_machine::{CpuSet, Machine};
use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::links::compare::compare_link_maps as compare_maps;
use corewise_model::links::conclude::{FilledSeries, LinkConclusions, conclude_map};
use corewise_model::links::map::LinkMap;
use jiff::tz::TimeZone;

use crate::app::artifact::{self, ArtifactForm, PrintedArtifact};
use crate::app::document::ArtifactDocument;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::lock;
use crate::app::machine::{self, MachineChoice, this_machine};
use crate::app::measurement::explain_nothing_measured;
use crate::app::origin::{mark_story, mark_together};
use crate::app::output::{print_form, print_message, show_story};
use crate::app::placing::{resolve_elsewhere, resolve_here};
use crate::app::progress::ProgressDisplay;
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::app::user_store::{exit_after_storing, explain_store_error, open_existing_store, store_artifact};
use crate::draw::csv;
use crate::draw::number::{self, format_time};
use crate::draw::story::Story;
use crate::draw::suggestion;
use crate::draw::survey::StorageStatus;
use arguments::{LinksArguments, LinksFormatName, OrderName};
use document::LinksComparisonDocument;
use pictures::comparison;
use pictures::export::{long_csv, matrix_csv};
use pictures::screen;
use task::{LinkMapSource, LinksAction, LinksSimulation, LinksTask, MapRequest};

impl RunnableCommand for LinksArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[
        command_document::<ArtifactDocument<'_, LinkMap>>(
            "links",
            &["links --simulate matrix.csv --budget 1s --seed 1"],
        ),
        command_document::<LinksComparisonDocument<'_>>("links-comparison", &["links compare matrix.csv matrix.csv"]),
    ];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        run(&LinksTask::new(self)?, settings)
    }
}

fn run(task: &LinksTask, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    match &task.action {
        LinksAction::Map(request) => match &request.simulate {
            Some(simulation) => simulate_map(request, simulation, task, settings),
            None => measure_map(request, task, settings),
        },
        LinksAction::Import { files, unit, machine } => {
            let machine = choose_machine(machine.as_ref())?;
            // Reads all before any is stored.
            let maps: Vec<LinkMap> = files
                .iter()
                .map(|file| map_files::import_map(file, machine.as_ref(), *unit))
                .collect::<Result<_, _>>()?;
            let mut exit = CommandExit::Done;
            for map in &maps {
                let kept = store_artifact(map, settings);
                print_map(map, &kept, (task.format, task.order), settings)?;
                exit = exit_after_storing(&kept, exit);
            }
            Ok(exit)
        }
        LinksAction::Compare { before, after, machine } => {
            let machine = choose_machine(machine.as_ref())?;
            compare_sources(before, after, machine.as_ref(), settings)
        }
        LinksAction::Show(number) => {
            let map = read_stored(*number, settings)?;
            let kept =
                StorageStatus::Recalled(*number, format_time(map.provenance.started_unix_ms, &TimeZone::system()));
            print_map(&map, &kept, (task.format, task.order), settings)?;
            Ok(CommandExit::Done)
        }
    }
}

/// Reads the named machine, if there is one.
fn choose_machine(choice: Option<&MachineChoice>) -> Result<Option<Machine>, CommandFailure> {
    Ok(choice.map(machine::read_machine).transpose()?.map(|chosen| chosen.machine))
}

fn measure_map(
    request: &MapRequest,
    task: &LinksTask,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let machine = this_machine()?;
    let cpus = match &request.cpus {
        Some(expression) => resolve_here(expression, &machine, settings)?.cpus,
        None => machine.allowed.clone(),
    };
    require_two_cpus(&cpus, if request.cpus.is_some() { "--cpus has" } else { "this process may use" })?;
    let _lock = lock::take_lock(settings)?;
    let interruption = InterruptionWatch::watch_signals()?;
    let seed = choose_seed(request);
    let mut talk = MeasuredLinks::new(&machine, seed, interruption.stop());
    let map = run_plan(request, seed, cpus, Some(machine), &mut talk, &interruption, settings);
    finish_map(&map, &interruption, task, settings)
}

fn simulate_map(
    request: &MapRequest,
    simulation: &LinksSimulation,
    task: &LinksTask,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let (what, unit, matrix) = map_files::read_matrix(&simulation.matrix)?;
    let noise = simulation.noise.as_deref().map(map_files::read_samples).transpose()?.unwrap_or_default();
    let machine = choose_machine(simulation.machine.as_ref())?;
    let all = matrix.cpu_set();
    let cpus = match (&request.cpus, &machine) {
        (Some(expression), Some(machine)) => resolve_elsewhere(expression, machine)?.cpus.intersection(&all),
        (Some(expression), None) => match expression.plain_cpus() {
            Some(cpus) => cpus.into_iter().collect::<CpuSet>().intersection(&all),
            None => {
                let what = "the machine of the matrix is unknown: --cpus takes only numbers";
                return Err(CommandFailure::usage_error(what)
                    .with_hint("Name it with --machine, or give a list such as 0-3,8."));
            }
        },
        (None, _) => all,
    };
    require_two_cpus(&cpus, "the matrix has of them")?;
    let interruption = InterruptionWatch::watch_signals()?;
    let name = simulation.matrix.display().to_string();
    let seed = choose_seed(request);
    let mut talk = SimulatedLinks::new(name, matrix, &noise, seed);
    // A matrix has the costs of a single way to talk.
    let request = &MapRequest { kinds: vec![what], ..request.clone() };
    let map = run_plan(request, seed, cpus, machine, &mut talk, &interruption, settings);
    finish_map(&LinkMap { unit, ..map }, &interruption, task, settings)
}

fn choose_seed(request: &MapRequest) -> u64 {
    request.seed.unwrap_or_else(seed_from_clock)
}

fn require_two_cpus(cpus: &CpuSet, whose: &str) -> Result<(), CommandFailure> {
    if cpus.len() >= 2 {
        return Ok(());
    }
    let what = format!(
        "a link needs two cpus, and {whose} only {}",
        if cpus.is_empty() { "none".into() } else { cpus.to_string() }
    );
    Err(CommandFailure::unavailable_error(what).with_hint(format!(
        "{} shows all cpus and which are allowed.",
        suggestion::format_mention(&suggested_command::topology())
    )))
}

fn run_plan(
    request: &MapRequest,
    seed: u64,
    cpus: CpuSet,
    machine: Option<Machine>,
    talk: &mut dyn PairVisitor,
    interruption: &InterruptionWatch,
    settings: &ProgramSettings,
) -> LinkMap {
    let plan = LinksPlan {
        cpus,
        kinds: request.kinds.clone(),
        budget: request.budget,
        limits: request.limits,
        seed,
        choices: CHOICES,
        corewise: env!("CARGO_PKG_VERSION"),
    };
    let bar = ProgressDisplay::new(settings.progress);
    let map = make_map(&plan, machine, talk, interruption.stop(), &mut |progress| bar.show_progress(progress));
    bar.clear_display();
    map
}

fn finish_map(
    map: &LinkMap,
    interruption: &InterruptionWatch,
    task: &LinksTask,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let is_interrupted = map.provenance.partial && interruption.was_seen();
    if map.series.iter().all(|series| series.links.pairs.is_empty() && series.held_out.is_empty()) {
        let gap = map.series.iter().flat_map(|series| &series.links.gaps).chain(&map.gaps).next();
        return Err(explain_nothing_measured("map", "pair", gap, is_interrupted));
    }
    let kept = store_artifact(map, settings);
    print_map(map, &kept, (task.format, task.order), settings)?;
    Ok(exit_after_storing(&kept, if is_interrupted { CommandExit::Interrupted } else { CommandExit::Done }))
}

fn read_stored(number: i64, settings: &ProgramSettings) -> Result<LinkMap, CommandFailure> {
    open_existing_store(settings, &suggested_command::links())?.get_artifact(number).map_err(explain_store_error)
}

fn compare_sources(
    before: &LinkMapSource,
    after: &LinkMapSource,
    machine: Option<&Machine>,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let map = |source: &LinkMapSource| match source {
        LinkMapSource::Stored(number) => read_stored(*number, settings),
        LinkMapSource::File(path) => map_files::read_map(path, machine, None),
    };
    print_comparison(before, after, [&map(before)?, &map(after)?], settings)?;
    Ok(CommandExit::Done)
}

fn print_comparison(
    before: &LinkMapSource,
    after: &LinkMapSource,
    maps: [&LinkMap; 2],
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    let [earlier, later] = maps;
    if let (Some(one), Some(other)) = (&earlier.machine, &later.machine)
        && !is_same_machine(&one.identity(), &other.identity())
    {
        print_message(&"warning: the maps are of different machines, or the machine's cpus have changed");
    }
    let names = [before.to_text(), after.to_text()];
    if earlier.unit != later.unit {
        let [before, after] = &names;
        let what = format!("{before} is in {} and {after} in {}", earlier.unit.word(), later.unit.word());
        return Err(CommandFailure::usage_error(what).with_hint("Only maps with the same unit can be compared."));
    }
    if earlier.cpus != later.cpus {
        print_message(&"warning: the maps have different cpus; only the common ones are compared");
    }
    let kinds = compare_maps(earlier, later, &conclude_map(earlier));
    let story =
        comparison::compose_story(&kinds, LinkMapSource::suggest_comparison([before, after]), [&names[0], &names[1]]);
    let stored = [before, after].into_iter().zip(maps);
    let story =
        mark_together(story, LinkMap::TITLE, stored.filter_map(|(source, map)| Some((source.stored_number()?, map))));
    show_story(settings, || LinksComparisonDocument::new(names, &story, &kinds), &story)
}

impl PrintedArtifact for LinkMap {
    fn print_in_form(
        &self,
        kept: &StorageStatus,
        form: &ArtifactForm,
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure> {
        form.refuse_options(&["--csv"], "a map of links")?;
        let format = if form.csv { LinksFormatName::Csv } else { LinksFormatName::Text };
        print_map(self, kept, (format, None), settings)
    }

    const TITLE: &'static str = "Map of links";

    fn first_command() -> SuggestedCommand {
        suggested_command::links()
    }

    fn compose_story(&self, conclusions: &LinkConclusions, kept: &StorageStatus, _: &ProgramSettings) -> Story {
        screen::compose_story(self, conclusions, kept, true)
    }

    fn compose_changes(numbers: [i64; 2], [earlier, later]: [&Self; 2]) -> Option<Story> {
        let [before, after] = numbers.map(LinkMapSource::Stored);
        let kinds = (earlier.unit == later.unit).then(|| compare_maps(earlier, later, &conclude_map(earlier)))?;
        Some(comparison::compose_story(
            &kinds,
            LinkMapSource::suggest_comparison([&before, &after]),
            [&before.to_text(), &after.to_text()],
        ))
    }

    fn print_comparison(
        numbers: [i64; 2],
        artifacts: [&Self; 2],
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure> {
        let [before, after] = numbers.map(LinkMapSource::Stored);
        print_comparison(&before, &after, artifacts, settings)
    }
}

fn print_map(
    map: &LinkMap,
    kept: &StorageStatus,
    (format, order): (LinksFormatName, Option<OrderName>),
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    let Some(series) = map.series.first() else { return Err(CommandFailure::unavailable_error("the map is empty")) };
    // Computed only if needed, and after the conclusions: each is a table of all pairs.
    let filled = || FilledSeries::from_series(series, map);
    let by_group = order != Some(OrderName::Number);
    match format {
        _ if settings.json => artifact::print_artifact(map, kept, settings),
        LinksFormatName::Csv => {
            // Readers of lists of pairs split at commas, also within quotation marks.
            let bare = |note: String| note.replace(',', ";").replace('"', "'");
            let story = screen::compose_story(map, &conclude_map(map), kept, by_group);
            let notes = mark_story(story, map).note_sentences();
            let notes: Vec<String> = notes.into_iter().map(bare).collect();
            print_form(&csv::with_notes(&long_csv(map), &notes))
        }
        LinksFormatName::Matrix => {
            let filled = filled();
            if filled.predicted > 0 {
                let all = filled.all.known_pairs().count() as u64;
                let (all, predicted) = (number::format_whole(all), number::format_whole(filled.predicted));
                print_message(&format!(
                    "{predicted} of {all} pairs are predicted; `--format csv` prints only measured ones"
                ));
            }
            print_form(matrix_csv(&filled.all).trim_end())
        }
        LinksFormatName::Svg => {
            let (heat, text) = screen::make_picture(map, &filled(), &conclude_map(map), by_group);
            print_form(&heat.to_svg(&text))
        }
        LinksFormatName::Text => artifact::print_story(map, kept, settings, |conclusions| {
            screen::compose_story(map, conclusions, kept, by_group)
        }),
    }
}
