//! What all probes observed, with the machine they observed it on. Nothing in here is a conclusion.

use corewise_machine::counts::Counted;
use corewise_machine::event::EventSource;
use corewise_machine::interrupt::plain_name;
use corewise_machine::thread::ThreadUse;
use corewise_machine::{Gap, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub mod conclude;
pub mod devices;

use crate::artifact::{Artifact as _, check_numbers};
use crate::attribution::{CpuStalls, Perturbation, divide, perturbation, settle};
use crate::clock::Clock;
use crate::histogram::Histogram;
use crate::links::Links;
use crate::period;
use crate::stall::{Stall, Surroundings, Visit};

/// One survey: plain observations that print as JSON and from which [`conclude::conclude`] computes the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// How stalls were watched; absent in surveys of corewise before it did, and where they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
    /// What could not be measured.
    pub gaps: Vec<Gap>,
}

impl Survey {
    /// What is known of the machine, to describe the periods of its stalls: how often the timer strikes a cpu while it is busy is in the
    /// kernel's counts.
    pub fn surroundings(&self) -> period::Surroundings {
        let counted = self.cpus.iter().flat_map(|seen| &seen.rounds).filter_map(|round| round.interrupts.as_ref());
        let rates: Vec<f64> = counted
            .filter_map(|counted| {
                let timer = counted.sources.iter().find(|one| plain_name(&one.source) == "timer")?;
                Some(timer.count as f64 / counted.elapsed_s)
            })
            .collect();
        period::Surroundings::of(self.machine.system.hypervisor.is_some(), &rates)
    }
}

/// How many time-lines of a cause's longest stalls a survey keeps.
pub const WORST_OF_SURVEY: usize = 1;
/// How many a look at stalls alone keeps.
pub const WORST_OF_TAIL: usize = 10;

/// A survey with what its causes were computed from, so that they can be computed again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recording {
    /// The survey.
    pub survey: Survey,
    /// What has to be known to name causes.
    pub surroundings: Surroundings,
    /// Every visit to a cpu, with its stalls and the kernel's events.
    pub visits: Vec<Visit>,
}

impl Recording {
    /// Says what is wrong with a recording that comes from a file.
    ///
    /// # Errors
    /// One sentence.
    pub fn check(&self) -> Result<(), String> {
        self.survey.check()?;
        check_numbers(&(&self.surroundings, &self.visits))?;
        let is_wrong = |visit: &&Visit| {
            let is_backward = |stall: &Stall| stall.begin_ns > stall.end_ns;
            visit.begin_ns > visit.end_ns || visit.stalls.iter().any(is_backward)
        };
        match self.visits.iter().find(is_wrong) {
            Some(visit) => Err(format!("a visit to cpu {} ends before it begins", visit.cpu)),
            None => Ok(()),
        }
    }

    /// The survey, with the causes computed anew.
    pub fn replayed(&self) -> Survey {
        let divided: Vec<_> = self.visits.iter().map(|visit| divide(visit, &self.surroundings)).collect();
        let worst = if self.survey.provenance.scope.is_machine() { WORST_OF_SURVEY } else { WORST_OF_TAIL };
        let mut survey = self.survey.clone();
        if let Some(watch) = &mut survey.watch {
            watch.perturbation = perturbation(&divided);
        }
        let mut stalls = settle(divided, &self.surroundings, worst);
        survey.cpus.iter_mut().for_each(|seen| seen.stalls = stalls.remove(&seen.cpu));
        survey
    }
}

/// What a survey is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Every probe.
    #[default]
    Machine,
    /// Only stalls and their causes: `corewise tail`.
    Tail,
}

impl Scope {
    /// Whether every probe was used.
    pub fn is_machine(&self) -> bool {
        *self == Self::Machine
    }
}

/// How stalls were watched for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Watch {
    /// How much could be seen of their causes.
    #[serde(rename = "rung")]
    pub event_source: EventSource,
    /// A piece that takes this much longer than usual is a stall, in nanoseconds.
    pub threshold_ns: f64,
    /// Whether the thread that timed ran before all others (SCHED_FIFO).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first_in_line: bool,
    /// What watching cost; absent where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturbation: Option<Perturbation>,
}

/// Where and how a survey was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// What it is of.
    #[serde(default, skip_serializing_if = "Scope::is_machine")]
    pub scope: Scope,
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

/// The fixed piece of work that the tail probe times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// What a piece is.
    #[serde(default, skip_serializing_if = "WorkKind::is_compute")]
    pub kind: WorkKind,
    /// How many dependent additions a piece is; 0 where it is something else.
    pub additions: u32,
    /// What the loop costs for each recorded piece beyond the work itself, in nanoseconds (median); it is part of every
    /// duration and subtracted from none.
    pub overhead_ns: f64,
}

/// Kinds of pieces of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkKind {
    /// Nothing but reading the clock: the finest look at stalls.
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
    /// Whether it is the additions.
    pub fn is_compute(&self) -> bool {
        *self == Self::Compute
    }

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Syscall => "syscall",
        }
    }
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
    /// What stalled it; absent where stalls were not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<CpuStalls>,
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
    /// Time the hypervisor ran something else on this cpu, in seconds (grain 10 ms), if the kernel reports it.
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
    /// 99.999th percentile.
    pub p99_999_ns: f64,
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
            p99_999_ns: at(0.99999),
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
