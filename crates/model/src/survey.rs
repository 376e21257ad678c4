//! Observations of all probes, with the observed machine; no conclusions.

use corewise_machine::counts::EventCounts;
use corewise_machine::event::EventSource;
use corewise_machine::interrupt::plain_name;
use corewise_machine::thread::ThreadUse;
use corewise_machine::{Gap, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub mod conclude;
pub mod devices;

use crate::artifact::{Artifact as _, ArtifactOrigin, check_numbers};
use crate::attribution::{CpuStalls, RecordingPerturbation, divide_stalls, measure_perturbation, settle_visits};
use crate::clock::ClockRecord;
use crate::links::LinkFindings;
use crate::stall::{CauseSurroundings, Stall, StallVisit};
use corewise_statistics::histogram::TickHistogram;
use corewise_statistics::period;

/// One survey: plain observations that print as JSON and from which [`conclude::conclude`] computes the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Survey {
    /// Place and manner of the survey's making.
    pub provenance: SurveyProvenance,
    /// The machine it was made on.
    pub machine: Machine,
    /// The clock that timed everything.
    pub clock: ClockRecord,
    /// The fixed piece of work that was timed.
    pub work: ProbeWork,
    /// Observations of each surveyed cpu, by rising number.
    pub cpus: Vec<CpuObservation>,
    /// Costs of communication between two cpus.
    pub links: LinkFindings,
    /// Method of watching stalls; absent if they were not watched, and in old surveys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<StallWatch>,
    /// Failed measurements.
    pub gaps: Vec<Gap>,
}

impl Survey {
    /// Returns facts about the machine to describe the periods of its stalls: the timer's rate on a busy cpu is in the
    /// kernel's counts.
    pub fn period_surroundings(&self) -> period::PeriodSurroundings {
        let counted = self.cpus.iter().flat_map(|seen| &seen.rounds).filter_map(|round| round.interrupts.as_ref());
        let rates: Vec<f64> = counted
            .filter_map(|counted| {
                let timer = counted.sources.iter().find(|one| plain_name(&one.source) == "timer")?;
                Some(timer.count as f64 / counted.elapsed_s)
            })
            .collect();
        period::PeriodSurroundings::from_timer_rates(self.machine.system.hypervisor.is_some(), &rates)
    }
}

/// Number of time-lines of a cause's longest stalls that a survey keeps.
pub const WORST_OF_SURVEY: usize = 1;
/// The same for a survey of stalls alone.
pub const WORST_OF_TAIL: usize = 10;

/// A survey with the input of its causes, so that they can be recomputed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SurveyRecording {
    /// The survey.
    pub survey: Survey,
    /// Facts needed to name causes.
    pub surroundings: CauseSurroundings,
    /// Every visit to a cpu, with its stalls and the kernel's events.
    pub visits: Vec<StallVisit>,
}

impl SurveyRecording {
    /// Checks a recording that comes from a file.
    ///
    /// # Errors
    /// One sentence about the first problem.
    pub fn check_loaded(&self) -> Result<(), String> {
        self.survey.check_loaded()?;
        check_numbers(&(&self.surroundings, &self.visits))?;
        let is_wrong = |visit: &&StallVisit| {
            let is_backward = |stall: &Stall| stall.begin_ns > stall.end_ns;
            visit.begin_ns > visit.end_ns || visit.stalls.iter().any(is_backward)
        };
        match self.visits.iter().find(is_wrong) {
            Some(visit) => Err(format!("a visit to cpu {} ends before it begins", visit.cpu)),
            None => Ok(()),
        }
    }

    /// Returns the survey with recomputed causes.
    pub fn replay_survey(&self) -> Survey {
        let divided: Vec<_> = self.visits.iter().map(|visit| divide_stalls(visit, &self.surroundings)).collect();
        let worst = if self.survey.provenance.scope.is_machine() { WORST_OF_SURVEY } else { WORST_OF_TAIL };
        let mut survey = self.survey.clone();
        if let Some(watch) = &mut survey.watch {
            watch.perturbation = measure_perturbation(&divided);
        }
        let mut stalls = settle_visits(divided, &self.surroundings, worst);
        survey.cpus.iter_mut().for_each(|seen| seen.stalls = stalls.remove(&seen.cpu));
        survey
    }
}

/// Scope of a survey.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SurveyScope {
    /// Every probe.
    #[default]
    Machine,
    /// Only stalls and their causes: `corewise tail`.
    Tail,
}

impl SurveyScope {
    /// Returns true if every probe was used.
    pub fn is_machine(&self) -> bool {
        *self == Self::Machine
    }
}

/// Method of watching stalls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallWatch {
    /// The source of events, which limits the visible causes.
    #[serde(rename = "rung")]
    pub event_source: EventSource,
    /// Minimum excess of a piece's duration over the usual one for a stall, in nanoseconds.
    pub threshold_ns: f64,
    /// True if the timing thread ran before all others (SCHED_FIFO).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first_in_line: bool,
    /// Cost of watching; absent if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturbation: Option<RecordingPerturbation>,
}

/// Place and manner of a survey's making.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SurveyProvenance {
    /// Measured here, simulated or imported.
    #[serde(default)]
    pub origin: ArtifactOrigin,
    /// Its scope.
    #[serde(default, skip_serializing_if = "SurveyScope::is_machine")]
    pub scope: SurveyScope,
    /// corewise's version.
    pub corewise: String,
    /// The beginning, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: i64,
    /// Duration in seconds.
    pub elapsed_s: f64,
    /// Planned maximum duration in seconds.
    pub budget_s: f64,
    /// The seed of the random orders.
    pub seed: u64,
    /// Number of complete rounds over all cpus.
    pub rounds: u32,
    /// True if it was ended before its plan was complete.
    pub partial: bool,
    /// The share of the machine's cpu time that other programs used during the survey, 0 to 1, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_busy: Option<f64>,
}

/// The fixed piece of work that the tail probe times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeWork {
    /// Kind of a piece.
    #[serde(default, skip_serializing_if = "WorkKind::is_compute")]
    pub kind: WorkKind,
    /// Number of dependent additions of a piece; 0 for other kinds.
    pub additions: u32,
    /// Overhead of the loop for each recorded piece, in nanoseconds (median); every duration includes it.
    pub overhead_ns: f64,
}

/// Kinds of pieces of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkKind {
    /// Only a reading of the clock: the finest resolution of stalls.
    Spin,
    /// A thousand dependent additions.
    #[default]
    Compute,
    /// A walk over a hundred cache lines in random order, in a buffer larger than most L2 caches.
    Memory,
    /// The cheapest call of the system: getppid(2).
    Syscall,
}

impl WorkKind {
    /// Returns true for the additions.
    pub fn is_compute(&self) -> bool {
        *self == Self::Compute
    }

    /// Returns its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Syscall => "syscall",
        }
    }
}

/// Observations of one cpu.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuObservation {
    /// The operating system's number.
    pub cpu: u32,
    /// All pieces of all rounds.
    pub tail: TickHistogram,
    /// Each visit, in order of time.
    pub rounds: Vec<CpuRound>,
    /// Its stalls; absent if they were not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<CpuStalls>,
}

/// Observations of one cpu in one visit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuRound {
    /// Index of the round, from 0.
    pub round: u32,
    /// Its place in the round's random order, from 0.
    pub place: u32,
    /// Timed duration of the visit, in seconds.
    pub elapsed_s: f64,
    /// The durations of the pieces.
    pub tail: TailSummary,
    /// The clock rate of the core while it worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<CoreFrequency>,
    /// Interrupts of this cpu meanwhile, if they were counted on this visit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<EventCounts>,
    /// Soft interrupts of this cpu meanwhile, if they were counted on this visit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softirqs: Option<EventCounts>,
    /// Events of the probe's thread.
    pub thread: ThreadUse,
    /// Time the hypervisor ran something else on this cpu, in seconds (grain 10 ms), if the kernel reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_s: Option<f64>,
}

/// A summary of durations in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailSummary {
    /// Number of pieces.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Median, interpolated within the clock's step.
    pub p50_ns: f64,
    /// 90th percentile, as the median.
    pub p90_ns: f64,
    /// 99th percentile, as the median.
    pub p99_ns: f64,
    /// 99.9th percentile, as the median.
    pub p99_9_ns: f64,
    /// 99.99th percentile.
    pub p99_99_ns: f64,
    /// 99.999th percentile.
    pub p99_999_ns: f64,
    /// The longest.
    pub max_ns: f64,
    /// The share of time lost to stalls: durations of pieces beyond twice the median, over the whole time.
    pub lost: f64,
}

impl TailSummary {
    /// Summarizes a histogram that was filled by a clock with the given step.
    pub fn from_histogram(histogram: &TickHistogram, step_ns: f64) -> Self {
        let within_step = |quantile| histogram.interpolate_ns(quantile, step_ns);
        let at = |quantile| histogram.quantile_ns(quantile);
        Self {
            count: histogram.count(),
            mean_ns: histogram.mean_ns(),
            p50_ns: within_step(0.5),
            p90_ns: within_step(0.9),
            p99_ns: within_step(0.99),
            p99_9_ns: within_step(0.999),
            p99_99_ns: at(0.9999),
            p99_999_ns: at(0.99999),
            max_ns: histogram.max_ns(),
            lost: histogram.lost_beyond(2.0),
        }
    }
}

/// A core's clock rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreFrequency {
    /// Gigahertz.
    pub gigahertz: f64,
    /// Its source.
    pub source: FrequencySource,
}

/// Source of a clock rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FrequencySource {
    /// Hardware cycle counter over the probe thread's time on the cpu, kernel included in both.
    Cycles,
    /// Hardware cycle counter in user mode only (the kernel does not let this user count more) over the probe thread's
    /// time on the cpu, so a little low.
    UserCycles,
    /// Estimated from chains of dependent additions, one cycle each, against the clock.
    Estimate,
}
