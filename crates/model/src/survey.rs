//! What all probes observed, with the machine they observed it on. Nothing in here is a conclusion.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::links::Links;
use crate::{Gap, Machine};

/// One survey: plain observations that print as JSON and from which [`crate::finding::conclude`] computes the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Survey {
    /// Where and how the survey was made.
    pub provenance: Provenance,
    /// The machine it was made on.
    pub machine: Machine,
    /// The clock that timed everything.
    pub clock: Clock,
    /// The fixed piece of work that was timed.
    pub work: Work,
    /// What each surveyed cpu showed, by rising number.
    pub cpus: Vec<CpuObservation>,
    /// What talking between two cpus costs.
    pub links: Links,
    /// What could not be measured.
    pub gaps: Vec<Gap>,
}

/// Where and how a survey was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// corewise's version.
    pub corewise: String,
    /// The beginning, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: i64,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// How long it was meant to take at most, in seconds.
    pub budget_s: f64,
    /// The seed of the random orders.
    pub seed: u64,
    /// How many whole rounds over all cpus were made.
    pub rounds: u32,
    /// Whether it was ended before its plan was.
    pub partial: bool,
    /// The share of the machine's cpu time that others used while the survey ran, 0 to 1, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_busy: Option<f64>,
}

/// The clock that timed everything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// "invariant TSC", "CNTVCT_EL0" or "operating system clock".
    pub source: String,
    /// The length of a tick in nanoseconds.
    pub nanoseconds_per_tick: f64,
    /// What one reading costs, in nanoseconds (mean of many).
    pub reading_ns: f64,
    /// The smallest step between two different readings, in nanoseconds.
    pub step_ns: f64,
}

/// The fixed piece of work that the tail probe times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// How many dependent additions a piece is.
    pub additions: u32,
    /// What the loop costs for each recorded piece beyond the work itself, in nanoseconds (median); it is part of every
    /// duration and subtracted from none.
    pub overhead_ns: f64,
}

/// What one cpu showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuObservation {
    /// The operating system's number.
    pub cpu: u32,
    /// All pieces of all rounds.
    pub tail: Histogram,
    /// Each visit, in order of time.
    pub rounds: Vec<CpuRound>,
}

/// What one cpu showed in one visit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuRound {
    /// Which round, from 0.
    pub round: u32,
    /// Its place in the round's random order, from 0.
    pub place: u32,
    /// How long the visit was timed for, in seconds.
    pub elapsed_s: f64,
    /// The durations of the pieces.
    pub tail: Tail,
    /// The clock rate of the core while it worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Frequency>,
    /// Interrupts this cpu took meanwhile, where they were counted on this visit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<Counted>,
    /// Soft interrupts this cpu ran meanwhile, where they were counted on this visit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softirqs: Option<Counted>,
    /// What happened to the probe's thread.
    pub thread: ThreadUse,
    /// Time the hypervisor ran something else on this cpu, in seconds (grain 10 ms), where the kernel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_s: Option<f64>,
}

/// A summary of durations in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tail {
    /// How many pieces.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Median, interpolated within the clock's step.
    pub p50_ns: f64,
    /// 90th percentile.
    pub p90_ns: f64,
    /// 99th percentile.
    pub p99_ns: f64,
    /// 99.9th percentile.
    pub p99_9_ns: f64,
    /// 99.99th percentile.
    pub p99_99_ns: f64,
    /// The longest.
    pub max_ns: f64,
    /// The share of time lost to stalls: what pieces took beyond twice the median, over the whole time.
    pub lost: f64,
}

impl Tail {
    /// The summary of a histogram that was filled by a clock with the given step.
    pub fn of(histogram: &Histogram, step_ns: f64) -> Self {
        let at = |quantile| histogram.quantile_ns(quantile);
        Self {
            count: histogram.count(),
            mean_ns: histogram.mean_ns(),
            p50_ns: histogram.median_ns(step_ns),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p99_9_ns: at(0.999),
            p99_99_ns: at(0.9999),
            max_ns: histogram.max_ns(),
            lost: histogram.lost_beyond(2.0),
        }
    }
}

/// A core's clock rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Frequency {
    /// Gigahertz.
    pub gigahertz: f64,
    /// How it was had.
    pub source: FrequencySource,
}

/// How a clock rate was had.
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

/// What was counted on a cpu between two readings of the kernel's counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    /// The time between the two readings, in seconds; a little longer than what was timed between them.
    pub elapsed_s: f64,
    /// By source, those above zero, most first.
    pub sources: Vec<Count>,
}

impl Counted {
    /// How often all sources struck together.
    pub fn total(&self) -> u64 {
        self.sources.iter().map(|source| source.count).sum()
    }

    /// How often all sources struck together, a second.
    pub fn per_second(&self) -> f64 {
        self.total() as f64 / self.elapsed_s
    }
}

/// A source and how often it struck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// "LOC", "36 virtio1-req.0", "TIMER".
    pub source: String,
    /// How often.
    pub count: u64,
}

/// What the operating system says of the probe's thread during a visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadUse {
    /// Seconds in user mode.
    pub user_s: f64,
    /// Seconds in the kernel.
    pub system_s: f64,
    /// Seconds in which the thread was not on a cpu (preempted, or the virtual cpu was not running).
    pub off_cpu_s: f64,
    /// Times it gave the cpu up.
    pub voluntary_switches: u64,
    /// Times the cpu was taken from it.
    pub involuntary_switches: u64,
}
