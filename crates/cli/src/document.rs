//! The JSON documents that corewise prints, and their schemas.

use std::collections::BTreeMap;

use corewise_model::attribution::DeviceCost;
use corewise_model::beside::Seen;
use corewise_model::compare::Comparison;
use corewise_model::experiment::{Policy, Standing};
use corewise_model::finding::Conclusions;
use corewise_model::interrupt::device::DeviceInterrupt;
use corewise_model::links::compare::LinkComparison;
use corewise_model::links::conclude::LinkConclusions;
use corewise_model::links::map::LinkMap;
use corewise_model::machine_file::{Description, MachineFile};
use corewise_model::metric_line::{self, MetricLine};
use corewise_model::placement::Resolution;
use corewise_model::placement::notation::{self, Notation, NotationLine};
use corewise_model::placement::plan::Plan;
use corewise_model::stall::Rung;
use corewise_model::trial::{Arm, Experiment, ThreadsReport, Trial};
use corewise_model::{CpuSet, Gap, Level, Machine, Survey};
use corewise_store::{Entry, ExperimentEntry, MapEntry};
use corewise_work::{Report as WorkReport, Settings as WorkSettings, Size};
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;

use crate::view::article::Made;
use crate::view::beside::ShownBeside;
use crate::view::doctor::Check;
use crate::view::experiment::{Shown, in_words, suite};
use crate::view::irq::Listing;
use crate::view::irq::away::AwayReport;
use crate::view::place::Placed;
use crate::view::text::Line;
use crate::view::undo::Report;

/// What `corewise survey --json` and `corewise history show --json` print.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/survey/1")]
pub struct SurveyDocument<'a> {
    #[schemars(extend("const" = "corewise/survey/1"))]
    schema: &'static str,
    /// What was observed.
    survey: &'a Survey,
    /// What it shows.
    conclusions: &'a Conclusions,
    /// Its number in the history; null where it is not stored.
    stored: Option<i64>,
}

impl<'a> SurveyDocument<'a> {
    /// The document of a survey.
    pub fn new(survey: &'a Survey, conclusions: &'a Conclusions, stored: Option<i64>) -> Self {
        Self { schema: "corewise/survey/1", survey, conclusions, stored }
    }
}

/// What `corewise tail --beside --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/beside/1")]
pub struct BesideDocument<'a> {
    #[schemars(extend("const" = "corewise/beside/1"))]
    schema: &'static str,
    /// The command and its arguments.
    command: &'a [String],
    /// The status with which it ended; null where a signal ended it.
    exit_status: Option<i32>,
    /// The signal that ended it; null where none did.
    signal: Option<i32>,
    /// Whether it was watched to its end.
    to_its_end: bool,
    /// The cpus that were watched for it.
    cpus: &'a CpuSet,
    /// How much could be seen.
    rung: Rung,
    /// What was seen.
    seen: &'a Seen,
    /// What could not be seen.
    gaps: &'a [Gap],
}

impl<'a> BesideDocument<'a> {
    /// The document of a command that ended with a status, or by a signal.
    pub fn new(shown: &ShownBeside<'a>, exit_status: Option<i32>, signal: Option<i32>) -> Self {
        let ShownBeside { command, cpus, rung, seen, gaps, to_its_end } = *shown;
        Self { schema: "corewise/beside/1", command, exit_status, signal, to_its_end, cpus, rung, seen, gaps }
    }
}

/// What `corewise try --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/experiment/1")]
pub struct ExperimentDocument<'a> {
    #[schemars(extend("const" = "corewise/experiment/1"))]
    schema: &'static str,
    /// The verdict in words.
    sentence: String,
    /// What the runs show.
    standing: &'a Standing,
    /// What they show of numbers of threads, where these are what was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<&'a ThreadsReport>,
    /// What was tried, and how it is judged.
    experiment: &'a Experiment,
    /// The runs, in the order in which they were made.
    trials: &'a [Trial],
    /// Its number in the store; null where it is not stored.
    stored: Option<i64>,
}

impl<'a> ExperimentDocument<'a> {
    /// The document of an experiment.
    pub fn new(shown: Shown<'a>) -> Self {
        let Shown { experiment, trials, standing, threads, stored, .. } = shown;
        Self {
            schema: "corewise/experiment/1",
            sentence: in_words(shown).to_plain(),
            standing,
            threads,
            experiment,
            trials,
            stored,
        }
    }
}

/// What `corewise try --suite --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/suite/1")]
pub struct SuiteDocument<'a> {
    #[schemars(extend("const" = "corewise/suite/1"))]
    schema: &'static str,
    /// The suite's name.
    suite: &'a str,
    /// The answer in words, a sentence each.
    sentences: Vec<String>,
    /// How each benchmark is judged, unless its experiment says more.
    policy: &'a Policy,
    /// What was tried in each benchmark: the operating system's choice first.
    arms: &'a [Arm],
    /// The benchmarks in their order.
    benchmarks: Vec<SuiteEntry<'a>>,
    /// The geometric means.
    means: Vec<suite::Mean>,
}

/// A benchmark of a suite, and what came of it.
#[derive(Serialize, JsonSchema)]
pub struct SuiteEntry<'a> {
    /// Its name.
    name: &'a str,
    /// Its category.
    category: &'a str,
    /// Its experiment; null where there is none.
    experiment: Option<ExperimentDocument<'a>>,
    /// The programs that are not installed.
    missing: &'a [String],
    /// Why no run gave a number, or none could be made; null where one did, and where none was tried.
    failure: Option<&'a str>,
    /// The last lines of what then was written; null where nothing failed.
    output: Option<&'a str>,
    /// The number in the store of the experiment whose runs all failed; null where there is none.
    failed: Option<i64>,
}

impl<'a> SuiteDocument<'a> {
    /// The document of a suite.
    pub fn new(shown: &'a suite::ShownSuite<'a>) -> Self {
        let entry = |row: &'a suite::Row<'a>| SuiteEntry {
            name: &row.benchmark.name,
            category: &row.benchmark.category,
            experiment: row.tried().map(|tried| ExperimentDocument::new(tried.shown())),
            missing: if let suite::RowResult::Missing(programs) = &row.result { programs } else { &[] },
            failure: if let suite::RowResult::Failed { why, .. } = &row.result { Some(why) } else { None },
            output: if let suite::RowResult::Failed { output, .. } = &row.result { Some(output) } else { None },
            failed: if let suite::RowResult::Failed { stored, .. } = &row.result { *stored } else { None },
        };
        Self {
            schema: "corewise/suite/1",
            suite: &shown.suite.name,
            sentences: suite::sentences(shown).iter().map(Line::to_plain).collect(),
            policy: shown.policy,
            arms: shown.arms,
            benchmarks: shown.rows.iter().map(entry).collect(),
            means: shown.means(),
        }
    }
}

/// What `corewise topology --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/topology/1")]
pub struct TopologyDocument<'a> {
    #[schemars(extend("const" = "corewise/topology/1"))]
    schema: &'static str,
    /// The name under which the history knows the machine.
    fingerprint: String,
    /// The machine.
    machine: &'a Machine,
    /// What the machine file says of itself, where the machine comes from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a Description>,
}

impl<'a> TopologyDocument<'a> {
    /// The document of a machine.
    pub fn new(machine: &'a Machine, description: Option<&'a Description>) -> Self {
        Self { schema: "corewise/topology/1", fingerprint: machine.fingerprint(), machine, description }
    }
}

/// What `corewise place --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/placement/1")]
pub struct PlaceDocument<'a> {
    #[schemars(extend("const" = "corewise/placement/1"))]
    schema: &'static str,
    /// What was written.
    expression: &'a str,
    /// The name under which the history knows the machine.
    fingerprint: String,
    /// Which cpus it is, in which order, and who was left out.
    resolution: &'a Resolution,
    /// How much of each level it is, outermost first.
    levels: Vec<LevelShare>,
    /// What the text means in the notation that it was read in, where that is another tool's, one sentence each.
    remarks: &'a [String],
    /// The same cpus in each notation, by its name.
    notations: BTreeMap<&'static str, Vec<NotationEntry>>,
}

/// How much of a level a placement is.
#[derive(Serialize, JsonSchema)]
pub struct LevelShare {
    /// The level.
    level: Level,
    /// How many objects of it the machine has.
    objects: usize,
    /// The indices of those that the placement has a cpu of.
    touched: Vec<usize>,
}

/// One line of a notation.
#[derive(Serialize, JsonSchema)]
pub struct NotationEntry {
    /// Which of the notation's lines it is.
    label: String,
    /// What to paste; null where this notation cannot say it, which the remarks explain.
    text: Option<String>,
    /// What to know before it is used.
    remarks: Vec<String>,
}

impl<'a> PlaceDocument<'a> {
    /// The document of a placement.
    pub fn new(placed: &Placed<'a>) -> Self {
        let (machine, resolution) = (placed.machine, placed.resolution);
        let share = |level| {
            let objects = machine.objects(level);
            let touched = objects.iter().enumerate().filter(|(_, object)| !object.is_disjoint(&resolution.cpus));
            LevelShare { level, objects: objects.len(), touched: touched.map(|(index, _)| index).collect() }
        };
        let entry = |line: NotationLine| NotationEntry { label: line.label, text: line.text, remarks: line.remarks };
        let lines = |notation: Notation| {
            let printed = notation::print(notation, &resolution.cpus, &resolution.order, machine);
            (notation.name(), printed.into_iter().map(entry).collect())
        };
        Self {
            schema: "corewise/placement/1",
            expression: placed.text,
            fingerprint: machine.fingerprint(),
            resolution,
            levels: Level::TOLD.into_iter().map(share).collect(),
            remarks: placed.read.map_or(&[], |read| &read.remarks),
            notations: Notation::ALL.into_iter().map(lines).collect(),
        }
    }
}

/// What `corewise place --candidates --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/candidates/1")]
pub struct CandidatesDocument<'a> {
    #[schemars(extend("const" = "corewise/candidates/1"))]
    schema: &'static str,
    /// The name under which the history knows the machine.
    fingerprint: String,
    /// The cpu that the latest survey found to be interrupted most; null where none did. No other is like it.
    busiest: Option<u32>,
    /// The placements that are worth trying.
    plan: &'a Plan,
}

impl<'a> CandidatesDocument<'a> {
    /// The document of a plan.
    pub fn new(machine: &Machine, busiest: Option<u32>, plan: &'a Plan) -> Self {
        Self { schema: "corewise/candidates/1", fingerprint: machine.fingerprint(), busiest, plan }
    }
}

/// What `corewise topology --machine list --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/machines/1")]
pub struct MachinesDocument<'a> {
    #[schemars(extend("const" = "corewise/machines/1"))]
    schema: &'static str,
    /// The machines that the program holds, in order of their names.
    machines: &'a [MachinesEntry],
}

impl<'a> MachinesDocument<'a> {
    /// The document of a list.
    pub fn new(machines: &'a [MachinesEntry]) -> Self {
        Self { schema: "corewise/machines/1", machines }
    }
}

/// A machine that the program holds.
#[derive(Serialize, JsonSchema)]
pub struct MachinesEntry {
    /// What `--machine` calls it.
    pub name: String,
    /// The name that the processor gives itself.
    pub processor: Option<String>,
    /// How many cores it has.
    pub cores: usize,
    /// How many cpus it has.
    pub cpus: usize,
    /// What its file says of itself.
    pub description: Description,
}

impl MachinesEntry {
    /// The entry of a machine file.
    pub fn new(name: &str, file: &MachineFile) -> Self {
        let MachineFile { machine, description } = file;
        Self {
            name: name.to_owned(),
            processor: machine.processor.model_name.clone(),
            cores: machine.cores.len(),
            cpus: machine.online.len(),
            description: description.clone(),
        }
    }
}

/// What `corewise record --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/record/1")]
pub struct RecordDocument {
    #[schemars(extend("const" = "corewise/record/1"))]
    schema: &'static str,
    /// The file that was written.
    file: String,
    /// Its size in bytes.
    size_bytes: u64,
}

impl RecordDocument {
    /// The document of a recording.
    pub fn new(file: String, size_bytes: u64) -> Self {
        Self { schema: "corewise/record/1", file, size_bytes }
    }
}

/// What `corewise history --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/history/1")]
pub struct HistoryDocument<'a> {
    #[schemars(extend("const" = "corewise/history/1"))]
    schema: &'static str,
    /// The stored surveys in the order they were added.
    surveys: &'a [Entry],
    /// The stored experiments, likewise.
    experiments: &'a [ExperimentEntry],
}

impl<'a> HistoryDocument<'a> {
    /// The document of a list.
    pub fn new(surveys: &'a [Entry], experiments: &'a [ExperimentEntry]) -> Self {
        Self { schema: "corewise/history/1", surveys, experiments }
    }
}

/// What `corewise article --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/article/1")]
pub struct ArticlesDocument<'a> {
    #[schemars(extend("const" = "corewise/article/1"))]
    schema: &'static str,
    /// Whether they were made in the short way.
    quick: bool,
    /// The articles in the order in which they were made.
    articles: &'a [Made],
}

impl<'a> ArticlesDocument<'a> {
    /// The document of some articles.
    pub fn new(quick: bool, articles: &'a [Made]) -> Self {
        Self { schema: "corewise/article/1", quick, articles }
    }
}

/// What `corewise workload --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/workload/1")]
pub struct WorkloadDocument<'a> {
    #[schemars(extend("const" = "corewise/workload/1"))]
    schema: &'static str,
    /// The workload.
    workload: &'a str,
    /// How many threads did the work.
    threads: usize,
    /// The cpu of each thread, from the beginning again where there are fewer; empty where the operating system chose.
    cpus: &'a [u32],
    /// How much work there was, as a share of the usual size; null where it was a time.
    size: Option<f64>,
    /// How long it worked at least, in seconds; null where the size was a share.
    seconds: Option<f64>,
    /// The seed.
    seed: u64,
    /// The metrics, the most telling first.
    metrics: Vec<WorkloadMetric<'a>>,
    /// What limits it: "compute", "memory", "cache sharing", "communication" or "waiting".
    limited_by: &'static str,
    /// What its result was checked against.
    checked: &'a str,
    /// A number of 64 bits, hexadecimal, that depends on the whole result; null where the size was a time.
    checksum: Option<String>,
}

/// A metric of a workload.
#[derive(Serialize, JsonSchema)]
pub struct WorkloadMetric<'a> {
    /// Its name, which ends in its unit.
    name: &'a str,
    /// The value.
    value: f64,
    /// Whether more is better.
    higher_is_better: bool,
}

impl<'a> WorkloadDocument<'a> {
    /// The document of a workload's end.
    pub fn new(workload: &'a str, settings: &'a WorkSettings, report: &'a WorkReport) -> Self {
        let (size, seconds) = match settings.size {
            Size::Share(share) => (Some(share), None),
            Size::Time(time) => (None, Some(time.as_secs_f64())),
        };
        let metric = |line: &'a MetricLine| WorkloadMetric {
            name: &line.name,
            value: line.value,
            higher_is_better: metric_line::is_rate(&line.name),
        };
        Self {
            schema: "corewise/workload/1",
            workload,
            threads: settings.threads,
            cpus: &settings.cpus,
            size,
            seconds,
            seed: settings.seed,
            metrics: report.metrics.iter().map(metric).collect(),
            limited_by: report.limit.words(),
            checked: &report.checked,
            checksum: report.checksum.map(|checksum| format!("{checksum:016x}")),
        }
    }
}

/// What `corewise history compare --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/comparison/1")]
pub struct ComparisonDocument<'a> {
    #[schemars(extend("const" = "corewise/comparison/1"))]
    schema: &'static str,
    /// The number of the earlier survey.
    before: i64,
    /// The number of the later survey.
    after: i64,
    /// What changed.
    comparison: &'a Comparison,
}

impl<'a> ComparisonDocument<'a> {
    /// The document of a comparison.
    pub fn new(before: i64, after: i64, comparison: &'a Comparison) -> Self {
        Self { schema: "corewise/comparison/1", before, after, comparison }
    }
}

/// What `corewise doctor --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/doctor/1")]
pub struct DoctorDocument<'a> {
    #[schemars(extend("const" = "corewise/doctor/1"))]
    schema: &'static str,
    /// What was looked at.
    checks: &'a [Check],
}

impl<'a> DoctorDocument<'a> {
    /// The document of a list of checks.
    pub fn new(checks: &'a [Check]) -> Self {
        Self { schema: "corewise/doctor/1", checks }
    }
}

/// What `corewise undo --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/undo/1")]
pub struct UndoDocument<'a> {
    #[schemars(extend("const" = "corewise/undo/1"))]
    schema: &'static str,
    /// The folder of the journals.
    folder: String,
    /// Whether nothing was to be changed.
    dry_run: bool,
    /// The journals that were found, those of the latest process first.
    journals: &'a [Report],
}

impl<'a> UndoDocument<'a> {
    /// The document of what was found in a folder.
    pub fn new(folder: String, dry_run: bool, journals: &'a [Report]) -> Self {
        Self { schema: "corewise/undo/1", folder, dry_run, journals }
    }
}

/// What `corewise irq --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/irq/1")]
pub struct IrqDocument<'a> {
    #[schemars(extend("const" = "corewise/irq/1"))]
    schema: &'static str,
    /// How long interrupts were counted for their rates, in seconds; null where they were not.
    counted_s: Option<f64>,
    /// The process number of irqbalance, which moves interrupts as it sees fit; null where it does not run.
    irqbalance: Option<u32>,
    /// What each cost the cpu that it took most from, by number, in the latest survey that named causes; null where none did.
    costs: Option<&'a BTreeMap<u32, DeviceCost>>,
    /// The interrupts of devices; where some were moved, as they were before.
    interrupts: &'a [DeviceInterrupt],
    /// What was moved, or would be; null where they are only shown.
    away: Option<&'a AwayReport>,
}

impl<'a> IrqDocument<'a> {
    /// The document of a list of interrupts, and of what became of those that were to be moved.
    pub fn new(listing: &'a Listing, away: Option<&'a AwayReport>) -> Self {
        let Listing { counted_s, costs, irqbalance, interrupts } = listing;
        let (counted_s, irqbalance) = (*counted_s, *irqbalance);
        Self { schema: "corewise/irq/1", counted_s, costs: costs.as_ref(), irqbalance, interrupts, away }
    }
}

/// What `corewise links --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/links/1")]
pub struct LinksDocument<'a> {
    #[schemars(extend("const" = "corewise/links/1"))]
    schema: &'static str,
    /// What was measured.
    map: &'a LinkMap,
    /// What it shows.
    conclusions: &'a LinkConclusions,
    /// Its number in the history; null where it is not stored.
    stored: Option<i64>,
}

impl<'a> LinksDocument<'a> {
    /// The document of a map.
    pub fn new(map: &'a LinkMap, conclusions: &'a LinkConclusions, stored: Option<i64>) -> Self {
        Self { schema: "corewise/links/1", map, conclusions, stored }
    }
}

/// What `corewise links compare --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/links-comparison/1")]
pub struct LinksComparisonDocument<'a> {
    #[schemars(extend("const" = "corewise/links-comparison/1"))]
    schema: &'static str,
    /// The earlier map: "map 3", or a file.
    before: String,
    /// The later map.
    after: String,
    /// One entry for each way to talk that both have.
    kinds: &'a [LinkComparison],
}

impl<'a> LinksComparisonDocument<'a> {
    /// The document of a comparison.
    pub fn new(before: String, after: String, kinds: &'a [LinkComparison]) -> Self {
        Self { schema: "corewise/links-comparison/1", before, after, kinds }
    }
}

/// What `corewise links list --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/maps/1")]
pub struct MapsDocument<'a> {
    #[schemars(extend("const" = "corewise/maps/1"))]
    schema: &'static str,
    /// The stored maps in the order they were added.
    maps: &'a [MapEntry],
}

impl<'a> MapsDocument<'a> {
    /// The document of a list.
    pub fn new(maps: &'a [MapEntry]) -> Self {
        Self { schema: "corewise/maps/1", maps }
    }
}

/// The names of all schemas.
pub const SCHEMAS: [&str; 19] = [
    "survey",
    "beside",
    "topology",
    "machines",
    "placement",
    "candidates",
    "experiment",
    "suite",
    "record",
    "history",
    "comparison",
    "doctor",
    "undo",
    "irq",
    "article",
    "workload",
    "links",
    "links-comparison",
    "maps",
];

/// The schema of a document by its name.
pub fn schema(name: &str) -> Option<Schema> {
    Some(match name {
        "survey" => schema_for!(SurveyDocument<'_>),
        "beside" => schema_for!(BesideDocument<'_>),
        "placement" => schema_for!(PlaceDocument<'_>),
        "candidates" => schema_for!(CandidatesDocument<'_>),
        "topology" => schema_for!(TopologyDocument<'_>),
        "machines" => schema_for!(MachinesDocument<'_>),
        "experiment" => schema_for!(ExperimentDocument<'_>),
        "suite" => schema_for!(SuiteDocument<'_>),
        "record" => schema_for!(RecordDocument),
        "history" => schema_for!(HistoryDocument<'_>),
        "comparison" => schema_for!(ComparisonDocument<'_>),
        "doctor" => schema_for!(DoctorDocument<'_>),
        "undo" => schema_for!(UndoDocument<'_>),
        "irq" => schema_for!(IrqDocument<'_>),
        "article" => schema_for!(ArticlesDocument<'_>),
        "workload" => schema_for!(WorkloadDocument<'_>),
        "links" => schema_for!(LinksDocument<'_>),
        "links-comparison" => schema_for!(LinksComparisonDocument<'_>),
        "maps" => schema_for!(MapsDocument<'_>),
        _ => return None,
    })
}
