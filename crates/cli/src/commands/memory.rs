//! `corewise memory`: the cost of memory to each cpu; measured or simulated.

pub mod arguments;
pub mod document;
mod screen;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::Path;

use corewise_lab::memory::{Answers, Measured, Request, Simulated, map as make_map};
use corewise_lab::session::{seed_of_the_clock, unix_ms};
use corewise_machine::{CpuSet, Machine};
use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::Artifact as _;
use corewise_model::memory::compare::compare;
use corewise_model::memory::conclude::MemoryConclusions;
use corewise_model::memory::plan::Plan;
use corewise_model::memory::{MemoryMap, hwloc, import};
use corewise_sys::input::{Input, InputKind};

use crate::app::artifact::{self, Form, Printed};
use crate::app::document::ArtifactDocument;
use crate::app::failure::{Exit, Failure};
use crate::app::history::keep;
use crate::app::interruption::Interruption;
use crate::app::lock;
use crate::app::machine::{self, MachineArguments, MachineChoice, this_machine};
use crate::app::measuring::nothing_measured;
use crate::app::output::{print_form, say, show_story};
use crate::app::placing::{expression, resolve_elsewhere, resolve_here};
use crate::app::progress::Bar;
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use crate::draw::csv;
use crate::draw::story::Story;
use crate::draw::survey::Kept;
use arguments::{FormatName, MemoryArguments};
use document::MemoryComparisonDocument;

/// Default limit of the duration of a map.
const BUDGET: std::time::Duration = std::time::Duration::from_secs(60);

impl Run for MemoryArguments {
    const DOCUMENTS: &'static [Document] = &[
        document::<ArtifactDocument<'_, MemoryMap>>(&["memory --simulate fx-8150 --budget 1s --seed 1"]),
        document::<MemoryComparisonDocument<'_>>(&["history compare 3 4"]),
    ];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        if let Some(path) = &self.import {
            let map = imported(path, self.machine.as_deref())?;
            print(&map, &keep(&map, settings), self.format, settings)?;
            return Ok(Exit::Done);
        }
        let seed = self.seed.unwrap_or_else(seed_of_the_clock);
        let wanted = self.cpus.as_deref().map(expression).transpose()?;
        let interruption = Interruption::watch()?;
        let map = if let Some(path) = &self.simulate {
            let choice = MachineChoice::new(&MachineArguments { machine: Some(path.clone()) })?;
            let machine = machine::read(&choice)?.machine;
            let cpus = match &wanted {
                Some(expression) => resolve_elsewhere(expression, &machine)?.cpus,
                None => machine.allowed.clone(),
            };
            let name = path.display().to_string();
            self.made(seed, cpus, machine, &mut Simulated::new(name, seed), &interruption, settings)?
        } else {
            let machine = this_machine()?;
            let cpus = match &wanted {
                Some(expression) => resolve_here(expression, &machine, settings)?.cpus,
                None => machine.allowed.clone(),
            };
            let _lock = lock::take(settings)?;
            let mut here = Measured::new(seed, interruption.stop());
            self.made(seed, cpus, machine, &mut here, &interruption, settings)?
        };
        print(&map, &keep(&map, settings), self.format, settings)?;
        let is_interrupted = map.provenance.partial && interruption.was_seen();
        Ok(if is_interrupted { Exit::Interrupted } else { Exit::Done })
    }
}

impl MemoryArguments {
    fn made(
        &self,
        seed: u64,
        cpus: CpuSet,
        machine: Machine,
        answers: &mut dyn Answers,
        interruption: &Interruption,
        settings: &Settings,
    ) -> Result<MemoryMap, Failure> {
        let request = Request {
            cpus,
            budget: self.budget.unwrap_or(BUDGET),
            buffer_bytes: self.buffer,
            seed,
            corewise: env!("CARGO_PKG_VERSION"),
        };
        let bar = Bar::new(settings.progress);
        let map = make_map(&request, machine, answers, interruption.stop(), &mut |progress| bar.show(progress));
        bar.clear();
        if map.is_empty() {
            return Err(nothing_measured("map", "visit", map.gaps.first(), interruption.was_seen()));
        }
        Ok(map)
    }
}

/// Imports another tool's output as a map of the named machine, or of this one.
fn imported(path: &Path, machine: Option<&Path>) -> Result<MemoryMap, Failure> {
    let help = "Use the output of `mlc` or `numactl -H`, and name its machine with --machine NAME|FILE.";
    let unreadable =
        |what: &dyn std::fmt::Display| Failure::unavailable(format!("{}: {what}", path.display())).next(help);
    let lines = Input::open(path, InputKind::MemoryTable).and_then(Input::lines);
    // The error contains the name of the file.
    let lines = lines.map_err(|error| Failure::unavailable(error).next(help))?;
    let text: Vec<String> = lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    let found = import::read(&text.join("\n")).map_err(|error| unreadable(&error))?;
    let machine = match machine {
        Some(path) => {
            machine::read(&MachineChoice::new(&MachineArguments { machine: Some(path.to_owned()) })?)?.machine
        }
        None => this_machine()?,
    };
    let record = (unix_ms(), env!("CARGO_PKG_VERSION"));
    import::map(found, machine, path.display().to_string(), record).map_err(|error| unreadable(&error))
}

impl Printed for MemoryMap {
    fn print(&self, kept: &Kept, form: &Form, settings: &Settings) -> Result<(), Failure> {
        form.only(&["--csv"], "a map of memory")?;
        print(self, kept, if form.csv { FormatName::Csv } else { FormatName::Text }, settings)
    }

    const TITLE: &'static str = "Map of memory";

    fn first() -> SuggestedCommand {
        suggested_command::memory()
    }

    fn story(&self, conclusions: &MemoryConclusions, kept: &Kept, _: &Settings) -> Story {
        screen::story(self, conclusions, kept)
    }

    fn changes(numbers: [i64; 2], [before, after]: [&Self; 2]) -> Option<Story> {
        Some(screen::comparison(numbers, &compare(before, after)))
    }

    fn compare(numbers: [i64; 2], artifacts: [&Self; 2], settings: &Settings) -> Result<(), Failure> {
        let [before, after] = artifacts;
        if before.machine.fingerprint() != after.machine.fingerprint() {
            say(&"warning: the maps are of different machines, or the machine's cpus have changed");
        }
        let changes = compare(before, after);
        let story = screen::comparison(numbers, &changes);
        show_story(settings, || MemoryComparisonDocument::new(numbers, &story, &changes), &story)
    }
}

fn print(map: &MemoryMap, kept: &Kept, format: FormatName, settings: &Settings) -> Result<(), Failure> {
    match format {
        _ if settings.json => artifact::print(map, kept, settings),
        FormatName::Csv => {
            let notes = screen::story(map, &map.conclude(), kept).notes();
            print_form(&csv::with_notes(&visits(map), &notes))
        }
        FormatName::Hwloc => print_form(hwloc::xml(map).trim_end()),
        FormatName::Svg => match screen::picture(map, &map.conclude()) {
            Some(picture) => print_form(picture.trim_end()),
            None => Err(Failure::unavailable("the map has no latency to draw").next("`--format text` shows the rest.")),
        },
        FormatName::Text => artifact::print(map, kept, settings),
    }
}

/// Writes one line for each visit.
fn visits(map: &MemoryMap) -> String {
    let mut text = String::from("measure,cpus,node,bytes,pause_ns,visit,value,unit\n");
    let mut add =
        |measure: &str, cpus: &CpuSet, node: Option<u32>, [bytes, pause]: [Option<u64>; 2], all: &[f64], unit: &str| {
            let some = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
            let (cpus, node) = (csv::text(&cpus.to_string()), some(node.map(u64::from)));
            for (visit, value) in all.iter().enumerate() {
                let _ =
                    writeln!(text, "{measure},{cpus},{node},{},{},{visit},{value},{unit}", some(bytes), some(pause));
            }
        };
    let plan = Plan::new(&map.machine, &map.cpus, map.buffer_bytes, 0);
    for staircase in &map.staircases {
        let of_cpu = plan.initiators.iter().find(|initiator| initiator.cpus.contains(staircase.cpu));
        let node = of_cpu.map(|initiator| plan.nearest(&map.machine, initiator));
        for step in &staircase.steps {
            add("working-set", &CpuSet::of(staircase.cpu), node, [Some(step.bytes), None], &step.visits_ns, "ns");
        }
    }
    for cell in &map.cells {
        let (cpu, node, bytes) = (CpuSet::of(cell.cpu), Some(cell.node), [Some(map.buffer_bytes), None]);
        add("latency-huge-pages", &cpu, node, bytes, &cell.huge_ns, "ns");
        add("latency-small-pages", &cpu, node, bytes, &cell.small_ns, "ns");
        for stream in &cell.bandwidth {
            let measure = stream.operation.words().replace(' ', "-");
            add(&measure, &stream.cpus, node, bytes, &stream.visits_gb_s, "GB/s");
        }
    }
    for curve in &map.curves {
        let node = Some(curve.node);
        for point in &curve.points {
            add("latency-under-load", &CpuSet::of(curve.cpu), node, [None, point.pause_ns], &point.visits_ns, "ns");
            add("load", &curve.loaders, node, [None, point.pause_ns], &point.visits_gb_s, "GB/s");
        }
    }
    text
}
