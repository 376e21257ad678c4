//! `corewise memory`: the cost of memory to each cpu; measured or simulated.

pub mod arguments;
pub mod document;
mod screen;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::Path;

use corewise_lab::memory::{DescribedMemory, MeasuredMemory, MemoryRequest, MemoryVisitor, map_memory as make_map};
use corewise_lab::session::{seed_from_clock, unix_ms};
use corewise_machine::identity::is_same_machine;
use corewise_machine::{CpuSet, Machine};
use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::Artifact as _;
use corewise_model::memory::compare::compare_memory_maps;
use corewise_model::memory::conclude::MemoryConclusions;
use corewise_model::memory::plan::MemoryPlan;
use corewise_model::memory::{MemoryMap, hwloc, import};
use corewise_sys::input::{InputFile, InputKind};

use crate::app::artifact::{self, ArtifactForm, PrintedArtifact};
use crate::app::document::ArtifactDocument;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::lock;
use crate::app::machine::{self, MachineArguments, MachineChoice, this_machine};
use crate::app::measurement::explain_nothing_measured;
use crate::app::origin::{mark_story, mark_together};
use crate::app::output::{print_form, print_message, show_story};
use crate::app::placement::parse_expression;
use crate::app::placing::{resolve_elsewhere, resolve_here};
use crate::app::progress::ProgressDisplay;
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::app::user_store::{exit_after_storing, store_artifact};
use crate::draw::csv;
use crate::draw::story::Story;
use crate::draw::survey::StorageStatus;
use arguments::{MemoryArguments, MemoryFormatName};
use document::MemoryComparisonDocument;

/// Default limit of the duration of a map.
const BUDGET: std::time::Duration = std::time::Duration::from_secs(60);

impl RunnableCommand for MemoryArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[
        command_document::<ArtifactDocument<'_, MemoryMap>>(
            "memory",
            &["memory --simulate fx-8150 --budget 1s --seed 1"],
        ),
        command_document::<MemoryComparisonDocument<'_>>("memory-comparison", &["history compare 3 4"]),
    ];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        if let Some(path) = &self.import {
            let map = import_map(path, self.machine.as_deref())?;
            let kept = store_artifact(&map, settings);
            print_map(&map, &kept, self.format, settings)?;
            return Ok(exit_after_storing(&kept, CommandExit::Done));
        }
        let seed = self.seed.unwrap_or_else(seed_from_clock);
        let wanted = self.cpus.as_deref().map(parse_expression).transpose()?;
        let interruption = InterruptionWatch::watch_signals()?;
        let map = if let Some(path) = &self.simulate {
            let choice = MachineChoice::new(&MachineArguments { machine: Some(path.clone()) })?;
            let machine = machine::read_machine(&choice)?.machine;
            let cpus = match &wanted {
                Some(expression) => resolve_elsewhere(expression, &machine)?.cpus,
                None => machine.allowed.clone(),
            };
            let name = path.display().to_string();
            self.measure_map(seed, cpus, machine, &mut DescribedMemory::new(name, seed), &interruption, settings)?
        } else {
            let machine = this_machine()?;
            let cpus = match &wanted {
                Some(expression) => resolve_here(expression, &machine, settings)?.cpus,
                None => machine.allowed.clone(),
            };
            let _lock = lock::take_lock(settings)?;
            let mut here = MeasuredMemory::new(seed, interruption.stop());
            self.measure_map(seed, cpus, machine, &mut here, &interruption, settings)?
        };
        let kept = store_artifact(&map, settings);
        print_map(&map, &kept, self.format, settings)?;
        let is_interrupted = map.provenance.partial && interruption.was_seen();
        Ok(exit_after_storing(&kept, if is_interrupted { CommandExit::Interrupted } else { CommandExit::Done }))
    }
}

impl MemoryArguments {
    fn measure_map(
        &self,
        seed: u64,
        cpus: CpuSet,
        machine: Machine,
        answers: &mut dyn MemoryVisitor,
        interruption: &InterruptionWatch,
        settings: &ProgramSettings,
    ) -> Result<MemoryMap, CommandFailure> {
        let request = MemoryRequest {
            cpus,
            budget: self.budget.unwrap_or(BUDGET),
            buffer_bytes: self.buffer,
            seed,
            corewise: env!("CARGO_PKG_VERSION"),
        };
        let bar = ProgressDisplay::new(settings.progress);
        let map =
            make_map(&request, machine, answers, interruption.stop(), &mut |progress| bar.show_progress(progress));
        bar.clear_display();
        if map.is_empty() {
            return Err(explain_nothing_measured("map", "visit", map.gaps.first(), interruption.was_seen()));
        }
        Ok(map)
    }
}

/// Imports another tool's output as a map of the named machine, or of this one.
fn import_map(path: &Path, machine: Option<&Path>) -> Result<MemoryMap, CommandFailure> {
    let help = "Use the output of `mlc` or `numactl -H`, and name its machine with --machine NAME|FILE.";
    let unreadable = |what: &dyn std::fmt::Display| {
        CommandFailure::unavailable_error(format!("{}: {what}", path.display())).with_hint(help)
    };
    let lines = InputFile::open(path, InputKind::MemoryTable).and_then(InputFile::read_lines);
    // The error contains the name of the file.
    let lines = lines.map_err(|error| CommandFailure::unavailable_error(error).with_hint(help))?;
    let text: Vec<String> = lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    let found = import::read_memory(&text.join("\n")).map_err(|error| unreadable(&error))?;
    let machine = match machine {
        Some(path) => {
            machine::read_machine(&MachineChoice::new(&MachineArguments { machine: Some(path.to_owned()) })?)?.machine
        }
        None => this_machine()?,
    };
    let record = (unix_ms(), env!("CARGO_PKG_VERSION"));
    import::build_map(found, machine, path.display().to_string(), record).map_err(|error| unreadable(&error))
}

impl PrintedArtifact for MemoryMap {
    fn print_in_form(
        &self,
        kept: &StorageStatus,
        form: &ArtifactForm,
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure> {
        form.refuse_options(&["--csv"], "a map of memory")?;
        print_map(self, kept, if form.csv { MemoryFormatName::Csv } else { MemoryFormatName::Text }, settings)
    }

    const TITLE: &'static str = "Map of memory";

    fn first_command() -> SuggestedCommand {
        suggested_command::memory()
    }

    fn compose_story(&self, conclusions: &MemoryConclusions, kept: &StorageStatus, _: &ProgramSettings) -> Story {
        screen::compose_story(self, conclusions, kept)
    }

    fn compose_changes(numbers: [i64; 2], [before, after]: [&Self; 2]) -> Option<Story> {
        Some(screen::compose_comparison(numbers, &compare_memory_maps(before, after)))
    }

    fn print_comparison(
        numbers: [i64; 2],
        artifacts: [&Self; 2],
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure> {
        let [before, after] = artifacts;
        if !is_same_machine(&before.machine.identity(), &after.machine.identity()) {
            print_message(&"warning: the maps are of different machines, or the machine's cpus have changed");
        }
        let changes = compare_memory_maps(before, after);
        let story = screen::compose_comparison(numbers, &changes);
        let story = mark_together(story, Self::TITLE, numbers.into_iter().zip(artifacts));
        show_story(settings, || MemoryComparisonDocument::new(numbers, &story, &changes), &story)
    }
}

fn print_map(
    map: &MemoryMap,
    kept: &StorageStatus,
    format: MemoryFormatName,
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    match format {
        _ if settings.json => artifact::print_artifact(map, kept, settings),
        MemoryFormatName::Csv => {
            let story = screen::compose_story(map, &map.draw_conclusions(), kept);
            let notes = mark_story(story, map).note_sentences();
            print_form(&csv::with_notes(&write_visits(map), &notes))
        }
        MemoryFormatName::Hwloc => print_form(hwloc::hwloc_xml(map).trim_end()),
        MemoryFormatName::Svg => match screen::draw_picture(map, &map.draw_conclusions()) {
            Some(picture) => print_form(picture.trim_end()),
            None => Err(CommandFailure::unavailable_error("the map has no latency to draw")
                .with_hint("`--format text` shows the rest.")),
        },
        MemoryFormatName::Text => artifact::print_artifact(map, kept, settings),
    }
}

/// Writes one line for each visit.
fn write_visits(map: &MemoryMap) -> String {
    let mut text = String::from("measure,cpus,node,bytes,pause_ns,visit,value,unit\n");
    let mut add =
        |measure: &str, cpus: &CpuSet, node: Option<u32>, [bytes, pause]: [Option<u64>; 2], all: &[f64], unit: &str| {
            let some = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
            let (cpus, node) = (csv::quote_text(&cpus.to_string()), some(node.map(u64::from)));
            for (visit, value) in all.iter().enumerate() {
                let _ =
                    writeln!(text, "{measure},{cpus},{node},{},{},{visit},{value},{unit}", some(bytes), some(pause));
            }
        };
    let plan = MemoryPlan::new(&map.machine, &map.cpus, map.buffer_bytes, 0);
    for staircase in &map.staircases {
        let of_cpu = plan.initiators.iter().find(|initiator| initiator.cpus.contains(staircase.cpu));
        let node = of_cpu.map(|initiator| plan.nearest_node(&map.machine, initiator));
        for step in &staircase.steps {
            add("working-set", &CpuSet::from_cpu(staircase.cpu), node, [Some(step.bytes), None], &step.visits_ns, "ns");
        }
    }
    for cell in &map.cells {
        let (cpu, node, bytes) = (CpuSet::from_cpu(cell.cpu), Some(cell.node), [Some(map.buffer_bytes), None]);
        add("latency-huge-pages", &cpu, node, bytes, &cell.huge_ns, "ns");
        add("latency-small-pages", &cpu, node, bytes, &cell.small_ns, "ns");
        for stream in &cell.bandwidth {
            let measure = stream.operation.operation_name().replace(' ', "-");
            add(&measure, &stream.cpus, node, bytes, &stream.visits_gb_s, "GB/s");
        }
    }
    for curve in &map.curves {
        let node = Some(curve.node);
        for point in &curve.points {
            add(
                "latency-under-load",
                &CpuSet::from_cpu(curve.cpu),
                node,
                [None, point.pause_ns],
                &point.visits_ns,
                "ns",
            );
            add("load", &curve.loaders, node, [None, point.pause_ns], &point.visits_gb_s, "GB/s");
        }
    }
    text
}
