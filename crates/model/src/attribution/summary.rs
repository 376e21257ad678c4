//! Time that each cause took on a cpu, with its longest stalls.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::senders::InterruptSender;
use super::{CausePhase, DividedStall, DividedVisit, StallCause, StallPart};
use corewise_statistics::histogram::TickHistogram;
use corewise_statistics::period;

/// Stalls of one cpu.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuStalls {
    /// Time for which the cpu was watched for causes, in seconds.
    pub watched_s: f64,
    /// Number of stalls in that time.
    pub count: u64,
    /// Total time lost, in seconds, without the work that was done meanwhile.
    pub lost_s: f64,
    /// Number of stalls named by a kernel event or by the switch to another task.
    pub named: u64,
    /// Number of stalls counted with a cause: a named one, the host, or a period from outside this system.
    pub explained: u64,
    /// Causes, those with most time first; their times add up to `lost_s`.
    pub causes: Vec<CauseSummary>,
    /// Periods from outside this system's kernel; [`StallCause::Periodic`] counts them.
    pub periods: Vec<period::PeriodicSource>,
    /// Senders of interrupts to this cpu, most first.
    pub senders: Vec<InterruptSender>,
    /// Stalls for which there was no room: only the histogram has them.
    pub not_kept: u64,
    /// Events that were lost because the buffers were full.
    pub events_lost: u64,
}

/// Stalls and time of one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseSummary {
    /// The cause.
    #[serde(flatten)]
    pub cause: StallCause,
    /// Number of stalls counted with this cause; each stall counts with one cause.
    pub count: u64,
    /// Number of stalls with a part of this cause.
    pub took_part: u64,
    /// Time in all stalls, in seconds.
    pub time_s: f64,
    /// Time in the handler or while the task ran, in seconds; the rest are the ways in and out.
    pub running_s: f64,
    /// Its share of the time that all causes took, 0 to 1.
    pub share: f64,
    /// The lengths of the stalls that are counted with it, in ticks of a nanosecond.
    pub lengths: TickHistogram,
    /// The longest of these, longest first.
    pub worst: Vec<StallTimeline>,
}

/// One stall from its beginning to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StallTimeline {
    /// Begin, in nanoseconds since the first visit to this cpu began.
    pub begin_ns: u64,
    /// Index of its round.
    pub round: u32,
    /// Length in nanoseconds.
    pub length_ns: u64,
    /// Its parts; they add up to its length.
    pub parts: Vec<StallPart>,
}

impl CpuStalls {
    /// Returns the time for which the cpu was away from this system, in seconds: stolen, periodic from outside the
    /// kernel, or not named by an event. It needs the kernel's events. In a virtual machine this is its host's share.
    pub fn outside_s(&self) -> f64 {
        let is_outside = |cause: &StallCause| {
            matches!(cause, StallCause::Stolen | StallCause::Periodic { .. } | StallCause::Unknown)
        };
        self.causes.iter().filter(|summary| is_outside(&summary.cause)).map(|summary| summary.time_s).sum()
    }
}

/// Sums up the visits to a cpu.
pub fn of_cpu(visits: Vec<DividedVisit>, periods: Vec<period::PeriodicSource>, worst: usize) -> CpuStalls {
    let zero_ns = visits.iter().map(|visit| visit.begin_ns).min().unwrap_or(0);
    let mut sums: BTreeMap<StallCause, CauseSum> = BTreeMap::new();
    let mut senders: BTreeMap<InterruptSender, u64> = BTreeMap::new();
    let (mut count, mut named, mut explained) = (0, 0, 0);
    for visit in &visits {
        for stall in &visit.stalls {
            let main = stall.main();
            count += 1;
            named += u64::from(stall.has_events || main.is_task());
            explained += u64::from(!matches!(main, StallCause::Unknown | StallCause::Interrupted));
            add_stall(&mut sums, stall, main, visit, zero_ns, worst);
        }
        for sender in &visit.senders {
            *senders.entry(InterruptSender { count: 0, ..sender.clone() }).or_default() += sender.count;
        }
    }
    let lost_ns: u64 = sums.values().map(|sum| sum.time_ns).sum();
    let mut causes: Vec<CauseSummary> = sums.into_iter().map(|(cause, sum)| sum.into_summary(cause, lost_ns)).collect();
    causes.sort_by(|a, b| b.time_s.total_cmp(&a.time_s).then_with(|| a.cause.cmp(&b.cause)));
    let mut senders: Vec<InterruptSender> =
        senders.into_iter().map(|(sender, count)| InterruptSender { count, ..sender }).collect();
    senders.sort_by_key(|sender| std::cmp::Reverse(sender.count));
    CpuStalls {
        watched_s: visits.iter().map(|visit| visit.end_ns.saturating_sub(visit.begin_ns) as f64 * 1e-9).sum(),
        count,
        lost_s: lost_ns as f64 * 1e-9,
        named,
        explained,
        causes,
        periods,
        senders,
        not_kept: visits.iter().map(|visit| visit.not_kept).sum(),
        events_lost: visits.iter().map(|visit| visit.events_lost).sum(),
    }
}

/// Running sums of one cause.
struct CauseSum {
    count: u64,
    took_part: u64,
    time_ns: u64,
    running_ns: u64,
    lengths: TickHistogram,
    worst: Vec<StallTimeline>,
}

fn add_stall(
    sums: &mut BTreeMap<StallCause, CauseSum>,
    stall: &DividedStall,
    main: &StallCause,
    visit: &DividedVisit,
    zero_ns: u64,
    worst: usize,
) {
    for (cause, length_ns) in stall.cause_sums() {
        if *cause == StallCause::Work {
            continue;
        }
        let sum = sums.entry(kept_cause(sums, cause)).or_insert_with(CauseSum::new);
        sum.took_part += 1;
        sum.time_ns += length_ns;
        let is_running = |part: &&StallPart| part.cause == *cause && part.phase == CausePhase::Running;
        sum.running_ns += stall.parts.iter().filter(is_running).map(|part| part.length_ns).sum::<u64>();
    }
    let sum = sums.entry(kept_cause(sums, main)).or_insert_with(CauseSum::new);
    sum.count += 1;
    sum.lengths.record_ticks(stall.stall.length_ns());
    sum.keep_timeline(stall, visit, zero_ns, worst);
}

/// Returns the cause to add a sum to. During a build new tasks appear all the time; those beyond `MOST` causes are
/// merged.
fn kept_cause(sums: &BTreeMap<StallCause, CauseSum>, cause: &StallCause) -> StallCause {
    const MOST: usize = 1000;
    let is_one_more = cause.is_task() && sums.len() >= MOST && !sums.contains_key(cause);
    if is_one_more { StallCause::OtherTask } else { cause.clone() }
}

impl CauseSum {
    fn new() -> Self {
        let lengths = TickHistogram::new_collecting(1.0);
        Self { count: 0, took_part: 0, time_ns: 0, running_ns: 0, lengths, worst: Vec::new() }
    }

    fn keep_timeline(&mut self, stall: &DividedStall, visit: &DividedVisit, zero_ns: u64, worst: usize) {
        let length_ns = stall.stall.length_ns();
        let place = self.worst.partition_point(|kept| kept.length_ns >= length_ns);
        if place < worst {
            let begin_ns = stall.stall.begin_ns.saturating_sub(zero_ns);
            let line = StallTimeline { begin_ns, round: visit.round, length_ns, parts: stall.parts.clone() };
            self.worst.insert(place, line);
            self.worst.truncate(worst);
        }
    }

    fn into_summary(self, cause: StallCause, lost_ns: u64) -> CauseSummary {
        CauseSummary {
            cause,
            count: self.count,
            took_part: self.took_part,
            time_s: self.time_ns as f64 * 1e-9,
            running_s: self.running_ns as f64 * 1e-9,
            share: if lost_ns == 0 { 0.0 } else { self.time_ns as f64 / lost_ns as f64 },
            lengths: self.lengths,
            worst: self.worst,
        }
    }
}
