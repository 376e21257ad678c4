//! A workload, its placements, and their trials.

mod arm;
mod coarseness;
mod design;
mod first_run;
mod gate;
mod guards;
mod length;
mod live;
mod measurement;
mod numbered;
mod open_points;
mod parts;
mod session_trend;
mod threads;
mod timing;
mod units;
mod value_groups;
mod variants;
mod workload;

use std::collections::BTreeSet;

use corewise_machine::{CpuSet, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::artifact::{ArtifactOrigin, read_origin};
use crate::sample::{MetricReading, MetricSource};
pub use arm::{ArmMemory, MEMORY_SIGN, PlacementArm, RolePlace, WITHOUT_ECO_QOS};
use corewise_statistics::experiment::{
    BlockRun, ExperimentStanding, JudgingPolicy, PlacementRace, QuestionKind, RunBlock,
};
use corewise_statistics::quantity::QuantityUnit;
pub use design::{TrialDesign, experiment_standing};
pub use first_run::{FirstRun, compare_first_run};
pub use gate::{GateVerdict, judge_arm, judge_gate};
pub use length::{FEWEST_VALUES, RareMetric, SlotLength, count_values, shortest_slot, slot_length};
pub use live::{
    LiveProcess, LiveSource, LiveWorkload, MetricLimit, SLOTS_S, policy_of_kept, policy_of_slots, wash_out_s,
};
pub use open_points::{LEAST_SPAN_S, span_of_trials};
pub use parts::{LOAD, REST, ServiceParts, ThreadRole, WorkloadService};
pub(crate) use session_trend::trend_probability;
pub use session_trend::{SessionTrend, find_trend};
pub use threads::{ThreadOccupancy, ThreadsReport, threads_report};
pub use timing::{LONGEST_TRIAL, SHORTEST_TRIAL, revise_repeats, usual_repeats, usual_rest};
pub use units::{UnitLedger, metric_unit, metric_units};
pub use variants::{CommandVariant, VARIANT_PLACE, VARIANT_VARIABLE, VariantError, check_variants};
pub use workload::{FolderText, TriedWorkload};

/// Placeholder for the number of threads in the words of a command.
pub const THREADS_PLACE: &str = "{threads}";

/// Longest time limit of a run, in seconds: a year.
pub const LONGEST_TIMEOUT_S: f64 = 31_536_000.0;

/// Default margin for rare values, which vary much more from run to run.
const MARGIN_OF_TAILS: f64 = 0.10;

/// A workload and the placements to try it on; with its trials, the whole input of a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// corewise's version.
    pub corewise: String,
    /// The beginning, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: i64,
    /// The seed of the random orders.
    pub seed: u64,
    /// The machine it was begun on.
    pub machine: Machine,
    /// The command, and its metrics.
    pub workload: TriedWorkload,
    /// The placements: the operating system's choice first, the others from the least to the most restrictive; numbers
    /// of threads in the order of [`corewise_statistics::experiment::arrange`].
    pub arms: Vec<PlacementArm>,
    /// Rules by which it is judged.
    pub policy: JudgingPolicy,
    /// The suite that it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuitePart>,
    /// Consecutive runs of each trial, if it confirms another experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stretch: Option<ConfirmationStretch>,
    /// Measured here, simulated or imported. The commands of an imported one have another author.
    #[serde(
        default,
        alias = "imported",
        deserialize_with = "read_origin",
        skip_serializing_if = "ArtifactOrigin::is_measured"
    )]
    pub origin: ArtifactOrigin,
}

/// A confirmation: the winner and the baseline again, in stretches so that after-effects of one on the other wear off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfirmationStretch {
    /// Number of consecutive runs.
    pub runs: u32,
    /// Number of first runs, which do not count.
    pub skipped: u32,
    /// The number of the confirmed experiment, if it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<i64>,
    /// The win that is tried again; absent in experiments of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub won: Option<FirstWin>,
}

/// The win that a confirmation tries again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstWin {
    /// Number of the experiment's runs.
    pub runs: u32,
    /// Time from its first run to the end of its last, in seconds.
    pub span_s: f64,
    /// Time from its beginning to that of the confirmation, in seconds.
    pub after_s: f64,
}

/// How long the stretches of a confirmation are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StretchLength {
    /// Two runs, or as many as take a second: what one run does to the next wears off.
    Short,
    /// 20 runs, or as many as take 5 s: slow effects such as heat build up.
    Long,
}

/// Minimum runs of a stretch, and minimum seconds.
const SHORT_STRETCH: (u32, f64) = (2, 1.0);
const LONG_STRETCH: (u32, f64) = (20, 5.0);
/// Maximum runs of a stretch.
const LONGEST_STRETCH: u32 = 10_000;

impl ConfirmationStretch {
    /// Creates a stretch for runs of this length in seconds. A quarter of it, but at least one run, does not count.
    pub fn of_runs(length: StretchLength, seconds: f64) -> Self {
        let (fewest, least_s) = match length {
            StretchLength::Short => SHORT_STRETCH,
            StretchLength::Long => LONG_STRETCH,
        };
        let runs = (least_s / seconds).ceil().clamp(f64::from(fewest), f64::from(LONGEST_STRETCH)) as u32;
        Self { runs, skipped: (runs / 4).max(1), of: None, won: None }
    }

    /// Creates a stretch of two runs, of which one counts: the mean of several would hide the slow ones.
    pub fn of_single_runs() -> Self {
        Self { runs: SHORT_STRETCH.0, skipped: 1, of: None, won: None }
    }
}

impl Experiment {
    /// Returns what all arms are compared with: "the OS default", or the name of the first variant.
    pub fn baseline_words(&self) -> String {
        let name = self.arms.first().map_or_else(String::new, PlacementArm::spoken_name);
        if self.workload.variants.is_empty() { format!("the {name}") } else { name }
    }

    /// Checks an experiment that comes from a file.
    pub(crate) fn check_loaded(&self) -> Result<(), String> {
        self.machine.check_consistency()?;
        self.policy.check_loaded()?;
        let timeout = self.workload.timeout_s.unwrap_or(1.0);
        match () {
            () if self.arms.is_empty() || self.arms.len() > MOST_ARMS => {
                Err("it has no placements, or too many".to_owned())
            }
            () if self
                .arms
                .iter()
                .flat_map(PlacementArm::memory_policies)
                .any(|memory| memory.policy_mode().is_none()) =>
            {
                Err("one of its memory policies is impossible".to_owned())
            }
            () if self.workload.command.is_empty() => Err("it has no command".to_owned()),
            () if self.arms.iter().any(|arm| arm.variant.is_some() && self.workload.variant_of(arm).is_none()) => {
                Err("one of its variants is not described".to_owned())
            }
            () if self
                .stretch
                .is_some_and(|stretch| stretch.runs > LONGEST_STRETCH || stretch.skipped >= stretch.runs) =>
            {
                Err("its stretches are impossible".to_owned())
            }
            () if !(timeout > 0.0 && timeout <= LONGEST_TIMEOUT_S) => Err("its time limit is impossible".to_owned()),
            () => {
                self.workload.parts.as_ref().map_or(Ok(()), ServiceParts::check_loaded)?;
                self.workload.live.as_ref().map_or(Ok(()), LiveWorkload::check_loaded)
            }
        }
    }
}

/// Maximum number of placements of an experiment.
const MOST_ARMS: usize = 1_000;

/// Membership of an experiment in a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuitePart {
    /// The suite's name.
    pub suite: String,
    /// Start of the suite, in milliseconds since 1970-01-01 UTC: the same for all parts.
    pub begun_unix_ms: i64,
    /// The benchmark's name.
    pub benchmark: String,
    /// Its category.
    pub category: String,
    /// The script that was run before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// The suite's policy, which a benchmark may override.
    pub policy: JudgingPolicy,
}

/// One number of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialMetric {
    /// Its name: "wall time", or the user's.
    pub name: String,
    /// A regular expression: its first group, or its whole match, is the number. Absent for the wall time in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// True if a higher number is better.
    pub higher_is_better: bool,
    /// Way of reading it from running processes; absent if a command is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<MetricSource>,
}

impl TrialMetric {
    /// Returns the metric of a run's duration.
    pub fn wall_time() -> Self {
        Self { name: "wall time".to_owned(), pattern: None, higher_is_better: false, reading: None }
    }

    /// Returns true for the metric of a run's duration.
    pub fn is_wall_time(&self) -> bool {
        self.pattern.is_none() && self.reading.is_none()
    }

    /// Returns true for rare values, by its name: "p99", "p99.9 latency", "max", "worst". These vary more from run to
    /// run than a mean.
    pub fn is_tail(&self) -> bool {
        let name = self.name.to_lowercase();
        let mut words = name.split(|character: char| !character.is_alphanumeric() && character != '.');
        let is_high_percentile = |word: &str| {
            word.strip_prefix('p').and_then(|number| number.parse::<f64>().ok()).is_some_and(|number| number >= 90.0)
        };
        words.any(|word| is_high_percentile(word) || ["tail", "max", "maximum", "worst"].contains(&word))
    }

    /// Returns the default margin of an experiment on it: that of the question, or a larger one for the typical run of
    /// rare values.
    pub fn usual_margin(&self, policy: &JudgingPolicy) -> f64 {
        match policy.what {
            _ if policy.margin != JudgingPolicy::default().margin => policy.margin,
            QuestionKind::Typical if self.is_tail() => MARGIN_OF_TAILS,
            what => what.usual_margin(),
        }
    }

    /// Returns the unit of values in a trial without one: seconds for the wall time, the unit in the name for all
    /// others.
    pub fn usual_unit(&self) -> QuantityUnit {
        if self.is_wall_time() { QuantityUnit::seconds() } else { QuantityUnit::of_name(&self.name) }
    }

    /// Converts a value for judgement: its logarithm, turned so that lower is better. Zero is the best value if less is
    /// better (no errors, no retries); otherwise it has no logarithm.
    pub fn judged_value(&self, value: f64) -> Option<f64> {
        let is_best = !self.higher_is_better && value == 0.0;
        let logarithm = if is_best { f64::MIN_POSITIVE.ln() } else { value.ln() };
        let x = if self.higher_is_better { -logarithm } else { logarithm };
        x.is_finite().then_some(x)
    }

    /// Converts `x` back to a value: the inverse of [`TrialMetric::judged_value`].
    pub fn metric_value(&self, x: f64) -> f64 {
        match () {
            () if self.higher_is_better => (-x).exp(),
            () if x <= f64::MIN_POSITIVE.ln() => 0.0,
            () => x.exp(),
        }
    }
}

/// One run of the workload on one placement, or the mean of several consecutive short runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Its block, from 1; 0 for the runs before the first block, which do not count.
    #[serde(flatten, with = "numbered")]
    #[schemars(with = "numbered::NumberedBlock")]
    pub block: u32,
    /// Its place in the block, from 0.
    pub place: u32,
    /// Index of the experiment's arm, from 0.
    pub arm: usize,
    /// Start, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: i64,
    /// A hash of the boot, which shows only whether two trials of an experiment are of the same boot; absent if
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<u32>,
    /// Number of its consecutive runs.
    pub repeats: u32,
    /// Its outcome.
    pub outcome: TrialOutcome,
    /// The guards' values, in the order of [`TriedWorkload::guards`]; absent if one was not found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<Option<f64>>,
    /// Readings of the metric, and then of each guard: the units of these values, and the lines. Empty if nothing was
    /// read, as for the wall time alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<MetricReading>,
    /// Further measurements.
    pub observed: TrialObservations,
}

impl Trial {
    /// Creates a single run with an outcome and no other data.
    pub fn new(block: u32, place: u32, arm: usize, outcome: TrialOutcome) -> Self {
        Self {
            block,
            place,
            arm,
            started_unix_ms: 0,
            boot: None,
            repeats: 1,
            outcome,
            guards: Vec::new(),
            readings: Vec::new(),
            observed: TrialObservations::default(),
        }
    }

    /// Returns the mean power of the packages while it ran, in watts.
    pub fn mean_watts(&self) -> Option<f64> {
        let watts = self.observed.energy_joules? / self.observed.energy_s?;
        watts.is_finite().then_some(watts)
    }
}

/// Outcome of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrialOutcome {
    /// The metric's value.
    Value(f64),
    /// It has no value.
    Failed {
        /// The reason: "exit status 1", "killed by signal 9", "took longer than 30 s".
        why: String,
        /// The end of its output.
        output: String,
    },
}

/// Measurements of a trial besides its metric: the sum, or the mean for rates, over its runs. Absent values could not
/// be measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialObservations {
    /// Time from the first instruction to the end of the last process, in seconds, for one run.
    pub wall_s: f64,
    /// Time computing in user mode, in seconds.
    pub user_s: f64,
    /// Time in the kernel, in seconds.
    pub system_s: f64,
    /// The largest memory of a process, in bytes.
    pub peak_memory_bytes: u64,
    /// Number of times a thread gave up its cpu.
    pub voluntary_switches: u64,
    /// Number of preemptions of its threads.
    pub involuntary_switches: u64,
    /// Pages mapped without reading.
    pub minor_faults: u64,
    /// Pages that had to be read.
    pub major_faults: u64,
    /// Number of moves of a thread to another cpu.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrations: Option<u64>,
    /// The mean clock rate while it computed, in GHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gigahertz: Option<f64>,
    /// True for an estimate: the mean of some moments on busy cpus; otherwise it is counted by the processor.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gigahertz_is_estimate: bool,
    /// The cpus on which a thread was seen.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub used: CpuSet,
    /// A mask that the program set itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_mask: Option<CpuSet>,
    /// The largest number of threads seen at once.
    pub most_threads: usize,
    /// For a slot of running processes, the metric in its first half and in its second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halves: Option<[f64; 2]>,
    /// Interrupts of its cpus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<u64>,
    /// Time that a hypervisor stole from its cpus, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_s: Option<f64>,
    /// Periods in which the quota of a control group stopped the program; absent without a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_stops: Option<u64>,
    /// The share of the machine's time that other programs used, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_busy: Option<f64>,
    /// Energy that the packages used while it ran, in joules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_joules: Option<f64>,
    /// Time in which they used it, in seconds: all runs of the trial, with the gaps between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_s: Option<f64>,
    /// Number of processes that it left running, which were then ended.
    pub left_behind: u32,
    /// Size of its output, in bytes.
    pub output_bytes: u64,
}

/// Returns the number of boots of the machine over which counted trials were made; `None` if it is unknown for some.
pub fn count_boots(trials: &[Trial]) -> Option<usize> {
    let boots = trials.iter().filter(|trial| trial.block > 0).map(|trial| trial.boot);
    boots.collect::<Option<BTreeSet<u32>>>().map(|boots| boots.len()).filter(|boots| *boots > 0)
}

/// Returns the trials of each block, in order. A block without trials, ended before its first, is empty: the next has
/// its own order.
pub fn in_blocks(trials: &[Trial]) -> Vec<Vec<&Trial>> {
    let last = trials.iter().map(|trial| trial.block).max().unwrap_or_default();
    let mut blocks = vec![Vec::new(); last as usize];
    for trial in trials.iter().filter(|trial| trial.block > 0) {
        blocks[trial.block as usize - 1].push(trial);
    }
    blocks
}

fn block_of(trials: &[&Trial], judged: impl Fn(&Trial) -> Option<f64>) -> RunBlock {
    RunBlock { runs: trials.iter().map(|trial| BlockRun { arm: trial.arm, x: judged(trial) }).collect() }
}

/// Returns the seconds spent on placements that look worse than the baseline, and on all.
pub fn worse_s(trials: &[Trial], standing: &ExperimentStanding) -> [f64; 2] {
    let looks_worse = |arm: usize| {
        standing.arms.get(arm).and_then(|arm| arm.effect.as_ref()).is_some_and(|effect| effect.estimate < 0.0)
    };
    let sum =
        |is: &dyn Fn(&Trial) -> bool| trials.iter().filter(|trial| is(trial)).map(|trial| trial.observed.wall_s).sum();
    [sum(&|trial| trial.block > 0 && looks_worse(trial.arm)), sum(&|_| true)]
}

/// Returns the blocks of trials, in order, for judgement.
pub fn trial_blocks(trials: &[Trial], metric: &TrialMetric) -> Vec<RunBlock> {
    let judged = |trial: &Trial| match trial.outcome {
        TrialOutcome::Value(value) => metric.judged_value(value),
        TrialOutcome::Failed { .. } => None,
    };
    in_blocks(trials).iter().map(|block| block_of(block, judged)).collect()
}

/// Returns the race between placements after the trials of an experiment.
pub fn race_of_trials(experiment: &Experiment, trials: &[Trial]) -> PlacementRace {
    let mut race = PlacementRace::new(experiment.arms.len().saturating_sub(1), &experiment.policy);
    trial_blocks(trials, &experiment.workload.metric).iter().for_each(|block| race.add_block(block));
    race
}

#[cfg(test)]
mod tests;
