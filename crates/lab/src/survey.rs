//! The survey: every probe on every allowed cpu within a budget of time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use corewise_model::histogram::Histogram;
use corewise_model::links::{Links, Pair};
use corewise_model::stats::random::Random;
use corewise_model::survey::{Clock as ClockFacts, CpuObservation, Provenance, Work};
use corewise_model::{CpuSet, Gap, Machine, Survey};
use corewise_sys::clock::Clock;
use corewise_sys::linux::counts::KernelCounts;
use corewise_sys::linux::thread::process_cpu_time;

use crate::probe::{links, overhead, tail};
use crate::schedule::{self, Sweeps};

/// What to survey, and within what time.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cpus to visit; those that are not allowed become gaps.
    pub cpus: CpuSet,
    /// How long it may take.
    pub budget: Duration,
    /// The seed of the random orders.
    pub seed: u64,
    /// corewise's version, for the record.
    pub corewise: &'static str,
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
pub fn survey(plan: &Plan, machine: Machine, stop: &AtomicBool, progress: &mut dyn FnMut(&Progress)) -> Survey {
    let mut running = Running::begin(plan, machine, stop, progress);
    for round in 0..running.rounds {
        if running.is_stopped() {
            break;
        }
        running.tail_round(round);
        running.link_round(round);
        running.rounds_done += u32::from(!running.is_stopped());
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
    started_unix_ms: i64,
    counts: KernelCounts,
    cpu_time: Duration,
    rounds: u32,
    rounds_done: u32,
    observations: BTreeMap<u32, CpuObservation>,
    scratch: Histogram,
    /// What a tail visit costs beyond the time it times, as last seen.
    visit_overhead: Duration,
    sweeps: Sweeps,
    visits: BTreeMap<(u32, u32), Vec<f64>>,
    link_gaps: BTreeMap<(u32, u32), Gap>,
    gaps: Vec<Gap>,
}

impl<'a> Running<'a> {
    fn begin(plan: &'a Plan, machine: Machine, stop: &'a AtomicBool, progress: &'a mut dyn FnMut(&Progress)) -> Self {
        let started = Instant::now();
        let started_unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
        progress(&Progress { step: "calibrating the clock".into(), done: 0.0, left: plan.budget });
        let (counts, cpu_time) = (KernelCounts::now(), process_cpu_time().unwrap_or_default());
        let clock = Clock::calibrated();
        let mut random = Random::new(plan.seed);
        let cpus = plan.cpus.intersection(&machine.allowed);
        let pairs = schedule::pairs(&machine, &cpus, &mut random);
        let observation =
            |cpu| CpuObservation { cpu, tail: Histogram::new(clock.nanoseconds_per_tick), rounds: vec![] };
        Self {
            plan,
            stop,
            progress,
            random,
            clock,
            overhead_ns: overhead::per_piece_ns(&clock),
            started,
            started_unix_ms,
            counts,
            cpu_time,
            rounds: schedule::rounds(plan.budget, cpus.len()),
            rounds_done: 0,
            observations: cpus.iter().map(|cpu| (cpu, observation(cpu))).collect(),
            scratch: Histogram::new(clock.nanoseconds_per_tick),
            visit_overhead: Duration::from_millis(2),
            sweeps: Sweeps::new(pairs),
            visits: BTreeMap::new(),
            link_gaps: BTreeMap::new(),
            gaps: not_allowed(&plan.cpus, &machine),
            machine,
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// When a round should be over, so that the last one ends with the budget.
    fn end_of(&self, round: u32) -> Instant {
        self.started + self.plan.budget.mul_f64(f64::from(round + 1) / f64::from(self.rounds))
    }

    fn report(&mut self, what: &str, round: u32) {
        let passed = self.started.elapsed();
        let done = (passed.as_secs_f64() / self.plan.budget.as_secs_f64()).min(1.0);
        let step = format!("{what}, round {} of {}", round + 1, self.rounds);
        (self.progress)(&Progress { step, done, left: self.plan.budget.saturating_sub(passed) });
    }

    fn tail_round(&mut self, round: u32) {
        let mut order: Vec<u32> = self.observations.keys().copied().collect();
        self.random.shuffle(&mut order);
        let with_links = order.len() > 1;
        for (place, &cpu) in order.iter().enumerate() {
            if self.is_stopped() {
                return;
            }
            self.report(&format!("tail of cpu {cpu}"), round);
            let left = self.end_of(round).saturating_duration_since(Instant::now());
            // Links come after all tail visits of the round: their share is left out of what is divided here.
            let links =
                if with_links { self.round_length().mul_f64(1.0 - schedule::TAIL_SHARE) } else { Duration::ZERO };
            let waiting = order.len() - place;
            let (duration, warm_up) = schedule::visit_lengths(left.saturating_sub(links), waiting, self.visit_overhead);
            self.tail_visit(tail::Visit { cpu, round, place: place as u32, duration, warm_up });
        }
    }

    fn round_length(&self) -> Duration {
        self.plan.budget / self.rounds
    }

    fn tail_visit(&mut self, visit: tail::Visit) {
        let began = Instant::now();
        match tail::visit(&self.clock, visit, self.stop, &mut self.scratch) {
            // A visit that was cut short has too few pieces to stand beside whole ones; the merged histogram takes them.
            Ok(visited) => {
                self.gaps.extend(visited.gaps);
                if let Some(observation) = self.observations.get_mut(&visit.cpu) {
                    observation.tail.merge(&self.scratch);
                    if !self.stop.load(Ordering::Relaxed) {
                        observation.rounds.push(visited.round);
                    }
                }
            }
            Err(gap) => self.gaps.push(gap),
        }
        self.visit_overhead = began.elapsed().saturating_sub(visit.duration + visit.warm_up);
    }

    fn link_round(&mut self, round: u32) {
        self.report("links", round);
        while Instant::now() < self.end_of(round) && !self.is_stopped() {
            let Some((a, b)) = self.sweeps.next(&mut self.random) else { return };
            match links::visit(&self.clock, a, b, &mut self.random, self.stop) {
                Ok(Some(one_way_ns)) => self.visits.entry((a, b)).or_default().push(one_way_ns),
                Ok(None) => {}
                Err(gap) => _ = self.link_gaps.insert((a, b), gap),
            }
        }
    }

    fn finish(mut self) -> Survey {
        let cpus: CpuSet = self.observations.keys().copied().collect();
        let partial = self.is_stopped();
        self.gaps.sort();
        self.gaps.dedup();
        Survey {
            provenance: Provenance {
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
            work: Work { additions: tail::ADDITIONS, overhead_ns: self.overhead_ns },
            links: links_of(self.visits, self.link_gaps, cpus.len()),
            cpus: self.observations.into_values().filter(|seen| seen.tail.count() > 0).collect(),
            machine: self.machine,
            gaps: self.gaps,
        }
    }

    /// The share of all cpus' time that others used: /proc/stat's busy time less this process's own.
    fn others_busy(&self) -> Option<f64> {
        let now = KernelCounts::now();
        let own = process_cpu_time().ok()?.saturating_sub(self.cpu_time).as_secs_f64();
        let all = self.started.elapsed().as_secs_f64() * now.times.len() as f64;
        (all > 0.0).then(|| ((now.busy_since(&self.counts) - own) / all).clamp(0.0, 1.0))
    }
}

fn not_allowed(wanted: &CpuSet, machine: &Machine) -> Vec<Gap> {
    let missing = wanted.difference(&machine.allowed);
    if missing.is_empty() {
        return Vec::new();
    }
    let why = "this process may not use them (its cpuset or affinity mask), or they are offline";
    vec![Gap::new(format!("cpus {missing}"), why)]
}

/// Pairs that were measured at least once, and why the others were not.
fn links_of(visits: BTreeMap<(u32, u32), Vec<f64>>, gaps: BTreeMap<(u32, u32), Gap>, cpus: usize) -> Links {
    let possible_pairs = (cpus * cpus.saturating_sub(1) / 2) as u64;
    let mut gaps: Vec<Gap> =
        gaps.into_iter().filter(|(pair, _)| !visits.contains_key(pair)).map(|(_, gap)| gap).collect();
    if cpus < 2 {
        let why = format!("links need two cpus; {cpus} may be used here");
        gaps.push(Gap::new("links between cpus", why).cured_by("allow this process another cpu (taskset, cpuset)"));
    }
    let pairs = visits.into_iter().map(|((a, b), visits_ns)| Pair { a, b, visits_ns }).collect();
    Links { pairs, possible_pairs, gaps }
}
