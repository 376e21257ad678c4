//! Engine of every session: its time limit, the random order of its visits, and the division of its rounds among
//! probes.
//!
//! A session has a [`SessionBudget`], random orders from its seed, and a receiver of its progress. Its probes decide what to
//! visit: a cpu, a pair of cpus, an arm of an experiment. Each probe brings its visits, folds their results, and keeps
//! its gaps.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use corewise_machine::random::RandomGenerator;
use corewise_model::clock::ClockRecord as ClockFacts;
use corewise_sys::clock::TickClock;

/// Progress of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct StepProgress {
    /// Current step: "tail of cpu 3, round 5 of 24".
    pub step: String,
    /// Share that is done, 0 to 1.
    pub done: f64,
    /// Remaining time.
    pub left: Duration,
}

/// Limit of a session: until its time is over, or until it is stopped.
#[derive(Debug)]
pub struct SessionBudget<'a> {
    limit: Option<Duration>,
    grace: Duration,
    stop: &'a AtomicBool,
    began: Instant,
    /// Time that passed, if it is simulated.
    made_up: Option<Duration>,
    visits: u64,
}

impl<'a> SessionBudget<'a> {
    /// Returns a budget that begins now; without a limit it has no end. Create it after all preparation, so that this
    /// takes no time from measuring.
    pub fn new(limit: Option<Duration>, stop: &'a AtomicBool) -> Self {
        Self { limit, grace: Duration::ZERO, stop, began: Instant::now(), made_up: None, visits: 0 }
    }

    /// Adds a grace period before the budget counts as spent.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Returns the flag that ends it.
    pub const fn stop(&self) -> &'a AtomicBool {
        self.stop
    }

    /// Returns the time since it began.
    pub fn elapsed_time(&self) -> Duration {
        self.made_up.unwrap_or_else(|| self.began.elapsed())
    }

    /// Returns the limit; `None` if there is none.
    pub const fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// Returns the remaining time; `None` if there is no limit.
    pub fn time_left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.elapsed_time()))
    }

    /// Adds time to the limit.
    pub fn extend_limit(&mut self, time: Duration) {
        self.limit = self.limit.map(|limit| limit + time);
    }

    /// Counts a visit.
    pub fn count_visit(&mut self) {
        self.visits += 1;
    }

    /// Sets the time that passed if it is simulated; `None` if real time counts.
    pub fn set_simulated_elapsed(&mut self, elapsed: Option<Duration>) {
        self.made_up = elapsed;
    }

    /// Returns true if it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Returns true if its time is over. Before the first visit it never is, so that every session has a result.
    pub fn is_spent(&self) -> bool {
        self.visits > 0 && self.limit.is_some_and(|limit| self.elapsed_time() >= limit + self.grace)
    }

    /// Returns true if the session should end.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.is_spent()
    }

    /// Returns the length of one round.
    fn round_length(&self, rounds: u32) -> Duration {
        self.limit.unwrap_or_default() / rounds.max(1)
    }
}

/// Session in progress.
pub struct ProbeSession<'a> {
    /// Limit of the session.
    pub budget: SessionBudget<'a>,
    /// Source of its random orders.
    pub random: RandomGenerator,
    progress: &'a mut dyn FnMut(&StepProgress),
}

/// Measures one aspect of a machine in the rounds of a session.
pub trait SessionProbe {
    /// Returns its share of a round, relative to the session's other probes; 0 if it has no visits.
    fn round_share(&self) -> f64;

    /// Makes its visits of a round, and folds their results. Returns false if the session ended before the last of
    /// them.
    fn visit_part(&mut self, session: &mut ProbeSession<'_>, part: RoundPart) -> bool;
}

/// A probe's part of a round.
#[derive(Clone, Copy, Debug)]
pub struct RoundPart {
    /// Index of the round, from 0.
    pub round: u32,
    /// Number of rounds.
    pub rounds: u32,
    /// Length of a whole round.
    pub length: Duration,
    /// End of the part.
    pub end: Instant,
}

impl fmt::Display for RoundPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "round {} of {}", self.round + 1, self.rounds)
    }
}

impl<'a> ProbeSession<'a> {
    /// Returns a session that begins now.
    pub fn new(budget: SessionBudget<'a>, seed: u64, progress: &'a mut dyn FnMut(&StepProgress)) -> Self {
        Self { budget, random: RandomGenerator::new(seed), progress }
    }

    /// Reports the current step.
    pub fn report_step(&mut self, step: String) {
        let passed = self.budget.elapsed_time();
        let limit = self.budget.limit.unwrap_or_default();
        let done = (passed.as_secs_f64() / limit.as_secs_f64()).min(1.0);
        (self.progress)(&StepProgress { step, done, left: limit.saturating_sub(passed) });
    }

    /// Divides the budget into rounds, and each round among the probes in order. Returns the number of complete
    /// rounds.
    ///
    /// Each round visits everything that fits in it, so that a drift (temperature, neighbours, turbo) cannot look like
    /// a property of a cpu.
    pub fn run_rounds(&mut self, rounds: u32, probes: &mut [&mut dyn SessionProbe]) -> u32 {
        let length = self.budget.round_length(rounds);
        for round in 0..rounds {
            let over = self.budget.began + length * (round + 1);
            let mut shares: f64 = probes.iter().map(|probe| probe.round_share()).sum();
            for probe in probes.iter_mut().filter(|probe| probe.round_share() > 0.0) {
                let end = part_end(over, Duration::ZERO, probe.round_share() / shares);
                shares -= probe.round_share();
                if !probe.visit_part(self, RoundPart { round, rounds, length, end }) {
                    return round;
                }
            }
        }
        rounds
    }
}

/// Returns the end of a share of the time until `until`, less the time that is kept for later.
pub fn part_end(until: Instant, kept: Duration, share: f64) -> Instant {
    let now = Instant::now();
    now + until.saturating_duration_since(now).saturating_sub(kept).mul_f64(share.clamp(0.0, 1.0))
}

/// Returns the current time in milliseconds since 1970-01-01 UTC, for the record.
pub fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the default seed: microseconds since 1970. Unlike nanoseconds they stay below 2^53, so a seed survives
/// readers of JSON that use doubles.
pub fn seed_from_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or_default()
}

/// Describes a clock, for the record.
pub fn clock_facts(clock: &TickClock) -> ClockFacts {
    ClockFacts {
        source: clock.name.to_owned(),
        nanoseconds_per_tick: clock.nanoseconds_per_tick,
        reading_ns: clock.reading_ns,
        step_ns: clock.step_ns,
    }
}

/// Endless walk over all that can be visited: sweep after sweep, each in fresh random order.
#[derive(Debug)]
pub struct RandomSweeps<T> {
    all: Vec<T>,
    next: usize,
}

impl<T: Copy + PartialEq> RandomSweeps<T> {
    /// Returns a walk that has not begun.
    pub fn new(all: Vec<T>) -> Self {
        let next = all.len();
        Self { all, next }
    }

    /// Removes an item from the walk.
    pub fn leave_out(&mut self, one: T) {
        if let Some(place) = self.all.iter().position(|other| *other == one) {
            self.all.remove(place);
            self.next -= usize::from(place < self.next);
        }
    }

    /// Counts the items for which `is_done` is false.
    pub fn count_without(&self, is_done: impl Fn(&T) -> bool) -> usize {
        self.all.iter().filter(|one| !is_done(one)).count()
    }

    /// Returns the next item; `None` if there are none.
    pub fn next_visit(&mut self, random: &mut RandomGenerator) -> Option<T> {
        if self.next == self.all.len() {
            random.shuffle(&mut self.all);
            self.next = 0;
        }
        self.next += 1;
        self.all.get(self.next - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sweep_visits_everything_once() {
        let mut random = RandomGenerator::new(3);
        let mut sweeps = RandomSweeps::new(vec![(0, 1), (0, 2), (1, 2)]);
        for _ in 0..4 {
            let mut sweep: Vec<_> = (0..3).filter_map(|_| sweeps.next_visit(&mut random)).collect();
            sweep.sort_unstable();
            assert_eq!(sweep, [(0, 1), (0, 2), (1, 2)]);
        }
        assert_eq!(RandomSweeps::<u32>::new(Vec::new()).next_visit(&mut random), None);
    }

    #[test]
    fn what_is_left_out_is_not_visited_again() {
        let mut random = RandomGenerator::new(3);
        let mut sweeps = RandomSweeps::new(vec![(0, 1), (0, 2), (1, 2)]);
        let first = sweeps.next_visit(&mut random).unwrap();
        sweeps.leave_out(first);
        for _ in 0..8 {
            assert_ne!(sweeps.next_visit(&mut random), Some(first));
        }
        assert_eq!(sweeps.count_without(|pair| pair.0 == 0), usize::from(first != (1, 2)));
    }

    /// Notes in which rounds it was asked, and how many of the visits that it wants it made.
    struct Noting {
        share: f64,
        wanted: u32,
        rounds: Vec<u32>,
        visits: u32,
    }

    impl Noting {
        fn new(share: f64, wanted: u32) -> Self {
            Self { share, wanted, rounds: Vec::new(), visits: 0 }
        }
    }

    impl SessionProbe for Noting {
        fn round_share(&self) -> f64 {
            self.share
        }

        fn visit_part(&mut self, session: &mut ProbeSession<'_>, part: RoundPart) -> bool {
            self.rounds.push(part.round);
            for visit in 0..self.wanted {
                if session.budget.is_over() {
                    return false;
                }
                session.report_step(format!("visit {visit}, {part}"));
                session.budget.count_visit();
                self.visits += 1;
            }
            true
        }
    }

    #[test]
    fn a_round_has_a_part_for_each_probe_that_has_a_share() {
        let stop = AtomicBool::new(false);
        let mut steps = Vec::new();
        let mut hears = |progress: &StepProgress| steps.push(progress.step.clone());
        let mut session = ProbeSession::new(SessionBudget::new(Some(Duration::from_secs(3_600)), &stop), 1, &mut hears);
        let (mut one, mut none, mut other) = (Noting::new(0.7, 1), Noting::new(0.0, 1), Noting::new(0.3, 0));
        assert_eq!(session.run_rounds(2, &mut [&mut one, &mut none, &mut other]), 2);
        assert_eq!((one.rounds, none.rounds, other.rounds), (vec![0, 1], vec![], vec![0, 1]));
        assert_eq!(steps, ["visit 0, round 1 of 2", "visit 0, round 2 of 2"]);
    }

    #[test]
    fn a_budget_that_is_over_at_once_has_one_visit_and_a_session_that_is_stopped_none() {
        for (stopped, visits) in [(false, 1), (true, 0)] {
            let stop = AtomicBool::new(stopped);
            let mut hears = |_: &StepProgress| {};
            let mut session = ProbeSession::new(SessionBudget::new(Some(Duration::ZERO), &stop), 1, &mut hears);
            let mut probe = Noting::new(1.0, 5);
            assert_eq!(session.run_rounds(4, &mut [&mut probe]), 0);
            assert_eq!(probe.visits, visits);
        }
    }

    #[test]
    fn time_that_is_made_up_is_the_time_that_counts() {
        let stop = AtomicBool::new(false);
        let mut budget = SessionBudget::new(Some(Duration::from_secs(60)), &stop);
        budget.count_visit();
        budget.set_simulated_elapsed(Some(Duration::from_secs(59)));
        assert_eq!((budget.time_left(), budget.is_spent()), (Some(Duration::from_secs(1)), false));
        budget.set_simulated_elapsed(Some(Duration::from_secs(60)));
        assert!(budget.is_spent() && !budget.with_grace(Duration::from_secs(1)).is_over());
    }
}
