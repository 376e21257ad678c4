//! The survey: every probe on every allowed cpu within a budget of time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use corewise_model::histogram::Histogram;
use corewise_model::links::{Links, Pair, What};
use corewise_model::stats::order::median;
use corewise_model::stats::random::Random;
use corewise_model::survey::{
    Clock as ClockFacts, CpuObservation, Provenance, Recording, Scope, Watch, Work, WorkKind,
};
use corewise_model::{CpuSet, Gap, Level, Machine, Survey};
use corewise_sys::clock::Clock;
use corewise_sys::counts::KernelCounts;
use corewise_sys::cpuset;
use corewise_sys::events::Recorder;
use corewise_sys::thread::process_cpu_time;

use crate::causes::{Causes, SETTLING};
use crate::probe::{links, overhead, tail, work};
use crate::schedule::{self, Sweeps};
use crate::watch;

/// What to survey, and within what time.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cpus to visit, whatever mask this process inherited; those that cannot be had become gaps.
    pub cpus: CpuSet,
    /// How long it may take.
    pub budget: Duration,
    /// The seed of the random orders.
    pub seed: u64,
    /// corewise's version, for the record.
    pub corewise: &'static str,
    /// Which probes, and how stalls are watched.
    pub tail: TailPlan,
}

/// How the tail probe is used.
#[derive(Clone, Debug)]
pub struct TailPlan {
    /// Every probe, or this one alone.
    pub scope: Scope,
    /// What a piece is.
    pub work: WorkKind,
    /// A piece that takes this much longer than usual is a stall.
    pub threshold: Duration,
    /// Whether the kernel's events are to name the causes, where this user may have them.
    pub explain: bool,
    /// Whether to run before all others (SCHED_FIFO).
    pub first_in_line: bool,
    /// Whether the visits with all their events are to be kept.
    pub keep_events: bool,
}

impl TailPlan {
    /// As a survey of the machine uses it.
    pub const fn of_survey() -> Self {
        Self {
            scope: Scope::Machine,
            work: WorkKind::Compute,
            threshold: Duration::from_micros(1),
            explain: true,
            first_in_line: false,
            keep_events: false,
        }
    }
}

/// A survey, and what it was made from.
#[derive(Debug)]
pub struct Surveyed {
    /// The survey.
    pub survey: Survey,
    /// What its causes are computed from, where that was to be kept.
    pub recording: Option<Recording>,
}

/// How far a survey has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What is being measured now: "tail of cpu 3, round 5 of 24".
    pub step: String,
    /// The share that is done, 0 to 1.
    pub done: f64,
    /// The time left.
    pub left: Duration,
}

/// Surveys the machine. Ends early, with what there is and marked as partial, within half a second of `stop` becoming
/// true.
///
/// Rounds visit the cpus in fresh random order, and link visits follow in each round, so that a drift of the machine
/// (temperature, neighbours, turbo) cannot look like a property of a cpu.
pub fn survey(plan: &Plan, machine: Machine, stop: &AtomicBool, progress: &mut dyn FnMut(&Progress)) -> Surveyed {
    let recorder = plan.tail.explain.then(watch::recorder);
    let (recorder, refused) = match recorder {
        Some(Ok(recorder)) => (Some(recorder), None),
        Some(Err(gap)) => (None, Some(gap)),
        None => (None, None),
    };
    let mut running = Running::begin(plan, machine, recorder.as_ref(), stop, progress);
    running.gaps.extend(refused);
    running.gaps.extend(recorder.iter().flat_map(|recorder| recorder.gaps.clone()));
    if plan.tail.scope.is_machine() {
        // All of it is watched: what that costs is measured by a look at stalls alone.
        let gap = running.causes.turn(true, stop);
        running.gaps.extend(gap);
    }
    running.measuring_from = Instant::now();
    for round in 0..running.rounds {
        if !running.round(round) {
            break;
        }
        running.rounds_done += 1;
    }
    running.finish()
}

/// A survey in the making.
struct Running<'a> {
    plan: &'a Plan,
    machine: Machine,
    stop: &'a AtomicBool,
    progress: &'a mut dyn FnMut(&Progress),
    random: Random,
    clock: Clock,
    overhead_ns: f64,
    started: Instant,
    /// When the first round began: calibrating and beginning to watch take a while.
    measuring_from: Instant,
    started_unix_ms: i64,
    counts: KernelCounts,
    cpu_time: Duration,
    rounds: u32,
    rounds_done: u32,
    observations: BTreeMap<u32, CpuObservation>,
    scratch: tail::Scratch,
    causes: Causes<'a>,
    /// What each tail visit cost beyond the time it timed.
    visit_overheads: Vec<f64>,
    /// How long it took last to end and to begin watching.
    turning: [Duration; 2],
    /// The kernel's counts are read in every round that this divides.
    count_every: u32,
    sweeps: Sweeps,
    warmth: links::Warmth,
    visits: BTreeMap<(u32, u32), Pair>,
    link_gaps: BTreeMap<(u32, u32), (u32, Gap)>,
    gaps: Vec<Gap>,
}

impl<'a> Running<'a> {
    fn begin(
        plan: &'a Plan,
        machine: Machine,
        recorder: Option<&'a Recorder>,
        stop: &'a AtomicBool,
        progress: &'a mut dyn FnMut(&Progress),
    ) -> Self {
        let started = Instant::now();
        let started_unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
        progress(&Progress { step: "calibrating the clock".into(), done: 0.0, left: plan.budget });
        let (counts, cpu_time) = (KernelCounts::now(), process_cpu_time().unwrap_or_default());
        let clock = Clock::calibrated();
        let random = Random::new(plan.seed);
        let reachable = cpuset::reachable().unwrap_or_else(|_| machine.allowed.clone());
        let cpus = plan.cpus.intersection(&reachable);
        let pairs = match plan.tail.scope {
            Scope::Machine => schedule::pairs(&machine, &cpus),
            Scope::Tail => Vec::new(),
        };
        let rounds = match plan.tail.scope {
            Scope::Machine => schedule::rounds(plan.budget, cpus.len()),
            Scope::Tail => schedule::tail_rounds(plan.budget, cpus.len(), plan.tail.first_in_line),
        };
        let tail = || Histogram::collecting(clock.nanoseconds_per_tick);
        let observation = |cpu| CpuObservation { cpu, tail: tail(), rounds: vec![], stalls: None };
        Self {
            plan,
            stop,
            progress,
            random,
            clock,
            overhead_ns: overhead::per_piece_ns(&clock, plan.tail.work),
            started,
            measuring_from: started,
            started_unix_ms,
            cpu_time,
            rounds,
            rounds_done: 0,
            observations: cpus.iter().map(|cpu| (cpu, observation(cpu))).collect(),
            scratch: tail::Scratch::new(clock.nanoseconds_per_tick, plan.tail.work),
            causes: Causes::new(recorder, &machine, plan.tail.keep_events),
            visit_overheads: Vec::new(),
            turning: [SETTLING; 2],
            count_every: schedule::count_every(counts.reading, plan.budget, cpus.len()),
            sweeps: Sweeps::new(pairs),
            warmth: links::Warmth::default(),
            visits: BTreeMap::new(),
            link_gaps: BTreeMap::new(),
            gaps: out_of_reach(&plan.cpus.difference(&reachable)).into_iter().collect(),
            machine,
            counts,
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn is_out_of_time(&self) -> bool {
        // The rounds of a look at stalls also begin and end to watch, which takes as long as it takes.
        let grace = if self.plan.tail.scope.is_machine() { Duration::ZERO } else { Duration::from_secs(1) };
        self.started.elapsed() >= self.plan.budget + grace
    }

    /// When a round should be over, so that the last one ends with the budget.
    fn end_of(&self, round: u32) -> Instant {
        self.measuring_from + self.round_length() * (round + 1)
    }

    fn report(&mut self, what: &str, round: u32) {
        let passed = self.started.elapsed();
        let done = (passed.as_secs_f64() / self.plan.budget.as_secs_f64()).min(1.0);
        let step = format!("{what}, round {} of {}", round + 1, self.rounds);
        (self.progress)(&Progress { step, done, left: self.plan.budget.saturating_sub(passed) });
    }

    /// One round; false when it was cut short.
    fn round(&mut self, round: u32) -> bool {
        let parts = match self.plan.tail.scope {
            // The links' share is left out of what is divided among the tail visits.
            Scope::Machine if self.observations.len() > 1 => vec![(true, schedule::TAIL_SHARE)],
            Scope::Machine => vec![(true, 1.0)],
            Scope::Tail => {
                let mut parts = schedule::watched_parts(self.causes.can_watch(), self.round_length());
                // Watched and not, not and watched: what drifts meets both alike, and a round has one change between them.
                if round % 2 == 1 {
                    parts.reverse();
                }
                parts
            }
        };
        let mut share_left = 1.0;
        let mut parts = parts.into_iter().peekable();
        while let Some((watched, share)) = parts.next() {
            self.turn(watched);
            let later = parts.peek().map_or(Duration::ZERO, |(watched, _)| self.turning[usize::from(*watched)]);
            let begin = Instant::now();
            let left = self.end_of(round).saturating_duration_since(begin).saturating_sub(later);
            let end = begin + left.mul_f64((share / share_left).clamp(0.0, 1.0));
            share_left -= share;
            if !self.tail_round(round, end) {
                return false;
            }
        }
        if self.plan.tail.scope.is_machine() {
            self.link_round(round);
        }
        true
    }

    /// Begins or ends to watch, where that is a change. Both take long where there are many tracepoints: the kernel waits for every cpu.
    fn turn(&mut self, watched: bool) {
        let (begun, was_watched) = (Instant::now(), self.causes.is_watching());
        self.gaps.extend(self.causes.turn(watched, self.stop));
        if was_watched != self.causes.is_watching() {
            self.turning[usize::from(watched)] = begun.elapsed();
        }
    }

    /// Visits every cpu once until a time; false when that was cut short.
    fn tail_round(&mut self, round: u32, end: Instant) -> bool {
        let mut order: Vec<u32> = self.observations.keys().copied().collect();
        self.random.shuffle(&mut order);
        for (place, &cpu) in order.iter().enumerate() {
            if self.is_stopped() || self.is_out_of_time() {
                return false;
            }
            self.report(&format!("tail of cpu {cpu}"), round);
            let left = end.saturating_duration_since(Instant::now());
            let waiting = order.len() - place;
            let (duration, warm_up) = schedule::visit_lengths(left, waiting, self.visit_overhead());
            let tail = &self.plan.tail;
            let first_in_line =
                if tail.first_in_line { self.machine.allowed.iter().find(|&other| other != cpu) } else { None };
            self.tail_visit(tail::Visit {
                cpu,
                round,
                place: place as u32,
                duration: if first_in_line.is_some() {
                    duration.min(schedule::FIRST_IN_LINE_AT_MOST)
                } else {
                    duration
                },
                warm_up,
                counting: round.is_multiple_of(self.count_every),
                work: tail.work,
                threshold_ns: tail.threshold.as_nanos() as f64,
                first_in_line,
            });
        }
        !self.is_stopped()
    }

    fn round_length(&self) -> Duration {
        let before = self.measuring_from.saturating_duration_since(self.started);
        self.plan.budget.saturating_sub(before) / self.rounds
    }

    fn tail_visit(&mut self, visit: tail::Visit) {
        let began = Instant::now();
        let is_watched = self.causes.is_watching();
        match tail::visit(&self.clock, visit, self.causes.watching.as_mut(), self.stop, &mut self.scratch) {
            // A visit that was cut short has too few pieces to stand beside whole ones; the merged histogram takes them.
            Ok(visited) => {
                self.gaps.extend(visited.gaps);
                self.causes.add(visited.stalls);
                if let Some(observation) = self.observations.get_mut(&visit.cpu) {
                    observation.tail.merge(&self.scratch.pieces);
                    // Unwatched visits are there to compare with: a round has one visit to each cpu.
                    if !self.stop.load(Ordering::Relaxed) && (is_watched || !self.causes.can_watch()) {
                        observation.rounds.push(visited.round);
                    }
                }
            }
            Err(gap) => self.gaps.push(gap),
        }
        let overhead = began.elapsed().saturating_sub(visit.duration + visit.warm_up);
        self.visit_overheads.push(overhead.as_secs_f64());
    }

    /// What the last visits cost beyond the time they timed: their median, so that one interrupted visit does not shorten
    /// the next.
    fn visit_overhead(&self) -> Duration {
        let last = &self.visit_overheads[self.visit_overheads.len().saturating_sub(15)..];
        if last.is_empty() { Duration::from_millis(2) } else { Duration::from_secs_f64(median(last)) }
    }

    fn link_round(&mut self, round: u32) {
        self.report("links", round);
        while Instant::now() < self.end_of(round) && !self.is_stopped() {
            let Some((a, b)) = self.sweeps.next(&mut self.random) else { return };
            let back = self.turn_back(a, b);
            let (first, second) = if back { (b, a) } else { (a, b) };
            let (home, limit) = (links::Home::First, links::LIMIT);
            let visit = links::Visit { what: What::Cas, first, second, home, limit };
            match links::visit(&self.clock, &visit, &self.warmth, &mut self.random, self.stop) {
                Ok(Some(visited)) => {
                    let pair = self.visits.entry((a, b)).or_insert_with(|| Pair::new(a, b, Vec::new()));
                    if back { &mut pair.back_ns } else { &mut pair.visits_ns }.push(visited.cost_ns);
                }
                Ok(None) => {}
                Err(gap) => self.link_failed((a, b), gap),
            }
        }
    }

    /// Whether the higher cpu begins: between nodes they take turns, since it matters there on which of them the memory lies.
    fn turn_back(&self, a: u32, b: u32) -> bool {
        let node = |cpu| self.machine.index_of(Level::Node, cpu);
        let seen = self.visits.get(&(a, b));
        node(a) != node(b) && seen.is_some_and(|pair| pair.visits_ns.len() > pair.back_ns.len())
    }

    /// A pair that fails again and again is not visited any more: each try takes two threads and up to 250 ms.
    fn link_failed(&mut self, pair: (u32, u32), gap: Gap) {
        const TRIES: u32 = 3;
        let failed = self.link_gaps.entry(pair).or_insert((0, gap));
        failed.0 += 1;
        if failed.0 >= TRIES {
            self.sweeps.leave_out(pair);
        }
    }

    fn finish(mut self) -> Surveyed {
        let cpus: CpuSet = self.observations.keys().copied().collect();
        let tail = &self.plan.tail;
        let causes = std::mem::take(&mut self.causes).finish(tail.scope);
        for (cpu, stalls) in causes.by_cpu {
            self.observations.entry(cpu).and_modify(|seen| seen.stalls = Some(stalls));
        }
        let watch = Watch {
            rung: causes.rung,
            threshold_ns: tail.threshold.as_nanos() as f64,
            first_in_line: tail.first_in_line,
            perturbation: causes.perturbation,
        };
        let partial = self.rounds_done < self.rounds;
        self.gaps.extend(self.budget_gaps());
        self.gaps.extend(self.count_gaps());
        self.gaps.sort();
        self.gaps.dedup();
        let survey = Survey {
            provenance: Provenance {
                scope: tail.scope,
                corewise: self.plan.corewise.to_owned(),
                started_unix_ms: self.started_unix_ms,
                elapsed_s: self.started.elapsed().as_secs_f64(),
                budget_s: self.plan.budget.as_secs_f64(),
                seed: self.plan.seed,
                rounds: self.rounds_done,
                partial,
                others_busy: self.others_busy(),
            },
            clock: ClockFacts {
                source: self.clock.name.to_owned(),
                nanoseconds_per_tick: self.clock.nanoseconds_per_tick,
                reading_ns: self.clock.reading_ns,
                step_ns: self.clock.step_ns,
            },
            work: Work { kind: tail.work, additions: work::additions(tail.work), overhead_ns: self.overhead_ns },
            links: match tail.scope {
                Scope::Machine => links_of(self.visits, self.link_gaps, cpus.len()),
                Scope::Tail => Links::default(),
            },
            watch: Some(watch),
            cpus: self.observations.into_values().filter(|seen| seen.tail.count() > 0).collect(),
            machine: self.machine,
            gaps: self.gaps,
        };
        let recorded = causes.recorded.map(|(surroundings, visits)| (surroundings, visits, survey.clone()));
        let recording = recorded.map(|(surroundings, visits, survey)| Recording { survey, surroundings, visits });
        Surveyed { survey, recording }
    }

    /// Counts that no visit could have, because the kernel's file is not there or is empty.
    fn count_gaps(&self) -> Vec<Gap> {
        let rounds = || self.observations.values().flat_map(|seen| &seen.rounds);
        let gap = |what: &str, why: &str| Gap::new(what, format!("{why}, or tells nothing of these cpus"));
        let all = [
            (rounds().all(|round| round.interrupts.is_none()), gap("interrupts", "/proc/interrupts cannot be read")),
            (rounds().all(|round| round.softirqs.is_none()), gap("soft interrupts", "/proc/softirqs cannot be read")),
            (rounds().all(|round| round.stolen_s.is_none()), gap("stolen time", "/proc/stat cannot be read")),
        ];
        all.into_iter().filter(|(is_missing, _)| *is_missing && rounds().next().is_some()).map(|(_, gap)| gap).collect()
    }

    /// What the budget was too short for.
    fn budget_gaps(&self) -> Vec<Gap> {
        let option = if self.plan.tail.scope.is_machine() { "--budget" } else { "--for" };
        let cure = format!("{option} {}s", (self.plan.budget.as_secs_f64() * 2.0).ceil());
        let mut gaps = Vec::new();
        if !self.is_stopped() && self.rounds_done < self.rounds {
            let what = format!("{} of {} rounds", self.rounds - self.rounds_done, self.rounds);
            gaps.push(Gap::new(what, "the budget ended before").cured_by(&cure));
        }
        let waiting =
            self.sweeps.count_without(|pair| self.visits.contains_key(pair) || self.link_gaps.contains_key(pair));
        if !self.is_stopped() && waiting > 0 {
            gaps.push(Gap::new(format!("links of {waiting} pairs"), "the budget ended before").cured_by(&cure));
        }
        if self.count_every > 1 {
            let why = "reading them for all cpus takes too long here to do it on every visit";
            let what = format!("interrupts in {} of {} rounds", self.count_every - 1, self.count_every);
            gaps.push(Gap::new(what, why).cured_by(cure));
        }
        gaps
    }

    /// The share of all cpus' time that other programs used: /proc/stat's busy time less this process's own.
    fn others_busy(&self) -> Option<f64> {
        let own = process_cpu_time().ok()?.saturating_sub(self.cpu_time);
        KernelCounts::now().busy_since(&self.counts, own)
    }
}

fn out_of_reach(missing: &CpuSet) -> Option<Gap> {
    let why = "this process may not use them (its cpuset), or they are offline";
    (!missing.is_empty()).then(|| Gap::new(format!("cpus {missing}"), why))
}

/// Pairs that were measured at least once, and why the others were not.
fn links_of(visits: BTreeMap<(u32, u32), Pair>, gaps: BTreeMap<(u32, u32), (u32, Gap)>, cpus: usize) -> Links {
    let possible_pairs = (cpus * cpus.saturating_sub(1) / 2) as u64;
    let mut gaps: Vec<Gap> =
        gaps.into_iter().filter(|(pair, _)| !visits.contains_key(pair)).map(|(_, (_, gap))| gap).collect();
    if cpus < 2 {
        let why = format!("links need two cpus; {cpus} was surveyed");
        gaps.push(Gap::new("links between cpus", why).cured_by("survey two cpus, and allow this process two"));
    }
    Links { pairs: visits.into_values().collect(), possible_pairs, gaps }
}
