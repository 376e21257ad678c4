//! The tail probe in a session: visits every cpu once a round, in a new random order, and folds the visits.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use corewise_machine::{CpuSet, Gap, Machine};
use corewise_model::stall::{CauseSurroundings, StallVisit};
use corewise_model::survey::{CpuObservation, ProbeWork, StallWatch, SurveyScope, WorkKind};
use corewise_statistics::histogram::TickHistogram;
use corewise_statistics::order::median;
use corewise_sys::clock::TickClock;
use corewise_sys::counts::{CountKind, KernelCounts};
use corewise_sys::events::EventRecorder;
use corewise_sys::thread;

use super::schedule::{self, TAIL_SHARE};
use crate::causes::{CauseCollector, SETTLING};
use crate::probe::tail::{TailScratch, TailVisit, visit_cpu};
use crate::probe::{overhead, work};
use crate::session::{ProbeSession, RoundPart, SessionProbe, part_end};

/// Number of visits over which the median overhead is taken, so that one interrupted visit does not shorten the next.
const OVERHEADS: usize = 15;

/// Options of the tail probe.
#[derive(Clone, Debug)]
pub struct TailPlan {
    /// Kind of a piece.
    pub work: WorkKind,
    /// Delay beyond a piece's usual time from which it counts as a stall.
    pub threshold: Duration,
    /// True if the kernel's events are to name the causes, provided that this user may read them.
    pub explain: bool,
    /// True to run before all others (SCHED_FIFO).
    pub first_in_line: bool,
    /// True to keep the visits with all their events.
    pub keep_events: bool,
}

impl TailPlan {
    /// Returns the options that a survey of the machine uses.
    pub const fn for_survey() -> Self {
        Self {
            work: WorkKind::Compute,
            threshold: Duration::from_micros(1),
            explain: true,
            first_in_line: false,
            keep_events: false,
        }
    }
}

/// Findings of the tail probe.
pub struct TailSeen {
    /// Observations of each visited cpu.
    pub cpus: Vec<CpuObservation>,
    /// Settings and sources of the stall watch.
    pub watch: StallWatch,
    /// The data from which the causes were computed, if it was to be kept.
    pub recorded: Option<(CauseSurroundings, Vec<StallVisit>)>,
    /// Facts that were not available.
    pub gaps: Vec<Gap>,
}

/// Tail measurements in progress.
pub struct TailProbe<'a> {
    plan: &'a TailPlan,
    clock: TickClock,
    /// Cpus on which the SCHED_FIFO watchdog may run.
    allowed: CpuSet,
    observations: BTreeMap<u32, CpuObservation>,
    scratch: TailScratch,
    causes: CauseCollector<'a>,
    /// Time of each visit beyond the time it timed, in seconds.
    overheads: Vec<f64>,
    /// Last time that it took to end and to begin watching.
    turning: [Duration; 2],
    /// That time before this part of a round.
    turned: Duration,
    /// Interval, in rounds, at which the kernel's counts are read.
    count_every: u32,
    gaps: Vec<Gap>,
}

impl<'a> TailProbe<'a> {
    /// Prepares the visits to these cpus; watching has not begun.
    pub fn new(
        plan: &'a TailPlan,
        clock: TickClock,
        machine: &Machine,
        cpus: &CpuSet,
        recorder: Option<&'a EventRecorder>,
        count_every: u32,
    ) -> Self {
        let tail = || TickHistogram::new_collecting(clock.nanoseconds_per_tick);
        let observation = |cpu| CpuObservation { cpu, tail: tail(), rounds: vec![], stalls: None };
        Self {
            plan,
            clock,
            allowed: machine.allowed.clone(),
            observations: cpus.iter().map(|cpu| (cpu, observation(cpu))).collect(),
            scratch: TailScratch::new(clock.nanoseconds_per_tick, plan.work),
            causes: CauseCollector::new(recorder, machine, plan.keep_events),
            overheads: Vec::new(),
            turning: [SETTLING; 2],
            turned: Duration::ZERO,
            count_every,
            gaps: recorder.map_or_else(Vec::new, |recorder| recorder.gaps.clone()),
        }
    }

    /// Returns the piece of work that is timed.
    pub fn timed_work(&self) -> ProbeWork {
        let (kind, additions) = (self.plan.work, work::additions_of(self.plan.work));
        ProbeWork { kind, additions, overhead_ns: overhead::overhead_per_piece_ns(&self.clock, kind) }
    }

    /// Begins or ends watching if that is a change. Both take long with many tracepoints: the kernel waits for every cpu.
    pub fn set_watching(&mut self, watched: bool, stop: &AtomicBool) {
        let (begun, was_watched) = (Instant::now(), self.causes.is_watching());
        self.gaps.extend(self.causes.turn_watching(watched, stop));
        self.turned = begun.elapsed();
        if was_watched != self.causes.is_watching() {
            self.turning[usize::from(watched)] = self.turned;
        }
    }

    /// Visits every cpu once, until `end`; false if that was cut short.
    fn sweep_cpus(&mut self, session: &mut ProbeSession<'_>, part: RoundPart, end: Instant) -> bool {
        let mut order: Vec<u32> = self.observations.keys().copied().collect();
        session.random.shuffle(&mut order);
        for (place, &cpu) in order.iter().enumerate() {
            if session.budget.is_over() {
                return false;
            }
            session.report_step(format!("tail of cpu {cpu}, {part}"));
            let left = end.saturating_duration_since(Instant::now());
            let before = self.turned / order.len() as u32;
            let (duration, warm_up) =
                schedule::visit_lengths(left, order.len() - place, self.latest_overhead(), before);
            let plan = self.plan;
            let first_in_line = if plan.first_in_line { self.allowed.iter().find(|&other| other != cpu) } else { None };
            let longest = if first_in_line.is_some() { schedule::FIRST_IN_LINE_AT_MOST } else { Duration::MAX };
            let visit = TailVisit {
                cpu,
                round: part.round,
                place: place as u32,
                duration: duration.min(longest),
                warm_up,
                counting: part.round.is_multiple_of(self.count_every),
                work: plan.work,
                threshold_ns: plan.threshold.as_nanos() as f64,
                first_in_line,
            };
            self.visit_cpu(visit, session);
        }
        !session.budget.is_stopped()
    }

    fn visit_cpu(&mut self, wanted: TailVisit, session: &mut ProbeSession<'_>) {
        let began = Instant::now();
        let is_watched = self.causes.is_watching();
        let stop = session.budget.stop();
        match visit_cpu(&self.clock, wanted, self.causes.watching.as_mut(), stop, &mut self.scratch) {
            // A visit that was cut short has too few pieces to stand beside whole ones; only the merged histogram takes them.
            Ok(visited) => {
                self.gaps.extend(visited.gaps);
                self.causes.add_visit(visited.stalls);
                if let Some(observation) = self.observations.get_mut(&wanted.cpu) {
                    observation.tail.merge_from(&self.scratch.pieces);
                    // Unwatched visits serve only as a comparison: a round has one visit to each cpu.
                    if !session.budget.is_stopped() && (is_watched || !self.causes.can_watch()) {
                        observation.rounds.push(visited.round);
                    }
                }
            }
            Err(gap) => self.gaps.push(gap),
        }
        session.budget.count_visit();
        let overhead = began.elapsed().saturating_sub(wanted.duration + wanted.warm_up);
        self.overheads.push(overhead.as_secs_f64());
    }

    /// Returns the median time of the last visits beyond the time they timed.
    fn latest_overhead(&self) -> Duration {
        let last = &self.overheads[self.overheads.len().saturating_sub(OVERHEADS)..];
        if last.is_empty() { Duration::from_millis(2) } else { Duration::from_secs_f64(median(last)) }
    }

    /// Returns gaps for counts that no visit has: the kernel's file is missing or empty, or reading it takes long. `cure` is the option
    /// that gives more time.
    fn count_gaps(&self, cure: &str) -> Vec<Gap> {
        let rounds = || self.observations.values().flat_map(|seen| &seen.rounds);
        let counts = KernelCounts::read_now();
        let unlisted = |kind: CountKind| Gap::new(kind.name(), "the system does not report them for these cpus");
        let gap = |kind| counts.counting_gap(kind).unwrap_or_else(|| unlisted(kind));
        let all = [
            (rounds().all(|round| round.interrupts.is_none()), gap(CountKind::Interrupts)),
            (rounds().all(|round| round.softirqs.is_none()), gap(CountKind::SoftInterrupts)),
            (rounds().all(|round| round.stolen_s.is_none()), gap(CountKind::StolenTime)),
            (
                !thread::IS_ACCOUNTED,
                Gap::new("switches of threads", "this system does not count them for a thread; 0 stands for unknown"),
            ),
        ];
        let missing = all.into_iter().filter(|(is_missing, _)| *is_missing && rounds().next().is_some());
        let mut gaps: Vec<Gap> = missing.map(|(_, gap)| gap).collect();
        if self.count_every > 1 {
            let why = "reading them for all cpus takes too long here for every visit";
            let what = format!("interrupts in {} of {} rounds", self.count_every - 1, self.count_every);
            gaps.push(Gap::new(what, why).cured_by(cure));
        }
        gaps
    }

    /// Ends a session of this scope; `cure` is the option that would have given it more time.
    pub fn finish_probe(mut self, scope: SurveyScope, cure: &str) -> TailSeen {
        self.gaps.extend(self.count_gaps(cure));
        let causes = self.causes.settle_causes(scope);
        // If the system does not account for a thread's lost time, stalls would be divided by meaningless numbers.
        for (cpu, stalls) in causes.by_cpu.into_iter().filter(|_| thread::IS_ACCOUNTED) {
            self.observations.entry(cpu).and_modify(|seen| seen.stalls = Some(stalls));
        }
        TailSeen {
            cpus: self.observations.into_values().filter(|seen| seen.tail.count() > 0).collect(),
            watch: StallWatch {
                event_source: causes.event_source,
                threshold_ns: self.plan.threshold.as_nanos() as f64,
                first_in_line: self.plan.first_in_line,
                perturbation: causes.perturbation,
            },
            recorded: causes.recorded,
            gaps: self.gaps,
        }
    }
}

impl SessionProbe for TailProbe<'_> {
    fn round_share(&self) -> f64 {
        TAIL_SHARE
    }

    fn visit_part(&mut self, session: &mut ProbeSession<'_>, part: RoundPart) -> bool {
        self.sweep_cpus(session, part, part.end)
    }
}

/// The tail probe alone: each round visits every cpu watched and unwatched, which shows the cost of watching.
pub struct WatchedAndUnwatched<'p, 'a>(pub &'p mut TailProbe<'a>);

impl SessionProbe for WatchedAndUnwatched<'_, '_> {
    fn round_share(&self) -> f64 {
        1.0
    }

    fn visit_part(&mut self, session: &mut ProbeSession<'_>, part: RoundPart) -> bool {
        let mut parts = schedule::watched_parts(self.0.causes.can_watch(), part.length);
        // Alternate order: drift affects both alike, and a round has one change between them.
        if part.round % 2 == 1 {
            parts.reverse();
        }
        let mut share_left = 1.0;
        let mut parts = parts.into_iter().peekable();
        while let Some((watched, share)) = parts.next() {
            self.0.set_watching(watched, session.budget.stop());
            let later = parts.peek().map_or(Duration::ZERO, |(watched, _)| self.0.turning[usize::from(*watched)]);
            let end = part_end(part.end, later, share / share_left);
            share_left -= share;
            if !self.0.sweep_cpus(session, part, end) {
                return false;
            }
        }
        true
    }
}
