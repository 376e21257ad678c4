//! The engine of every session: how long it may go on, in which random order it visits, and how its rounds are divided among probes.
//!
//! A session has a [`Budget`], random orders that come from its seed, and somebody who hears how far it is. What it visits (a cpu, a pair of
//! them, an arm of an experiment) is for its probes to say: each brings its visits, folds what they give, and keeps what could not be had.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use corewise_machine::random::Random;
use corewise_model::clock::Clock as ClockFacts;
use corewise_sys::clock::Clock;

/// How far a session has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What is being measured now: "tail of cpu 3, round 5 of 24".
    pub step: String,
    /// The share that is done, 0 to 1.
    pub done: f64,
    /// The time left.
    pub left: Duration,
}

/// How long a session goes on: until its time is over, or until it is told to stop.
#[derive(Debug)]
pub struct Budget<'a> {
    limit: Option<Duration>,
    grace: Duration,
    stop: &'a AtomicBool,
    began: Instant,
    /// The time that passed, if it is simulated.
    made_up: Option<Duration>,
    visits: u64,
}

impl<'a> Budget<'a> {
    /// A budget that is spent from now on; without a limit it has no end. It is begun when everything is prepared, so that what preparing
    /// takes is not taken from measuring.
    pub fn new(limit: Option<Duration>, stop: &'a AtomicBool) -> Self {
        Self { limit, grace: Duration::ZERO, stop, began: Instant::now(), made_up: None, visits: 0 }
    }

    /// The budget, which is not over before so much more time has passed: what the session does besides takes as long as it takes.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// The flag that ends it.
    pub const fn stop(&self) -> &'a AtomicBool {
        self.stop
    }

    /// Since it began.
    pub fn elapsed(&self) -> Duration {
        self.made_up.unwrap_or_else(|| self.began.elapsed())
    }

    /// What is left; absent where there is no end.
    pub fn left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.elapsed()))
    }

    /// A visit was made that the session is for.
    pub fn visited(&mut self) {
        self.visits += 1;
    }

    /// The time that would have passed, if it is simulated; absent if real time counts.
    pub fn makes_up(&mut self, elapsed: Option<Duration>) {
        self.made_up = elapsed;
    }

    /// Whether it was told to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Whether its time is over. Before the first visit it never is: whoever prepares a session gets something for it.
    pub fn is_spent(&self) -> bool {
        self.visits > 0 && self.limit.is_some_and(|limit| self.elapsed() >= limit + self.grace)
    }

    /// Whether the session is to end.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.is_spent()
    }

    /// What of it each of so many rounds has.
    fn round(&self, rounds: u32) -> Duration {
        self.limit.unwrap_or_default() / rounds.max(1)
    }
}

/// A session in the making.
pub struct Session<'a> {
    /// How long it goes on.
    pub budget: Budget<'a>,
    /// What its random orders come from.
    pub random: Random,
    progress: &'a mut dyn FnMut(&Progress),
}

/// What measures one aspect of a machine in the rounds of a session.
pub trait Probe {
    /// Its share of a round, against those of the session's other probes; 0 where there is nothing for it to visit.
    fn share(&self) -> f64;

    /// Makes its visits of a round, and folds what they give. False where the session ended before the last of them.
    fn visit(&mut self, session: &mut Session<'_>, part: Part) -> bool;
}

/// A probe's part of a round.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Which round, from 0.
    pub round: u32,
    /// Of how many.
    pub rounds: u32,
    /// How long a whole round is.
    pub length: Duration,
    /// When the part is over.
    pub end: Instant,
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "round {} of {}", self.round + 1, self.rounds)
    }
}

impl<'a> Session<'a> {
    /// A session that begins now.
    pub fn new(budget: Budget<'a>, seed: u64, progress: &'a mut dyn FnMut(&Progress)) -> Self {
        Self { budget, random: Random::new(seed), progress }
    }

    /// Says what is being measured.
    pub fn report(&mut self, step: String) {
        let passed = self.budget.elapsed();
        let limit = self.budget.limit.unwrap_or_default();
        let done = (passed.as_secs_f64() / limit.as_secs_f64()).min(1.0);
        (self.progress)(&Progress { step, done, left: limit.saturating_sub(passed) });
    }

    /// Divides the budget into rounds, and each among the probes in their order; how many were made to their end.
    ///
    /// Each round visits all that can be visited in it, so that a drift of the machine (temperature, neighbours, turbo) cannot look like a
    /// property of what is visited.
    pub fn rounds(&mut self, rounds: u32, probes: &mut [&mut dyn Probe]) -> u32 {
        let length = self.budget.round(rounds);
        for round in 0..rounds {
            let over = self.budget.began + length * (round + 1);
            let mut shares: f64 = probes.iter().map(|probe| probe.share()).sum();
            for probe in probes.iter_mut().filter(|probe| probe.share() > 0.0) {
                let end = part_end(over, Duration::ZERO, probe.share() / shares);
                shares -= probe.share();
                if !probe.visit(self, Part { round, rounds, length, end }) {
                    return round;
                }
            }
        }
        rounds
    }
}

/// When a share of the time is over that is left until a time, of which something is kept for what comes after.
pub fn part_end(until: Instant, kept: Duration, share: f64) -> Instant {
    let now = Instant::now();
    now + until.saturating_duration_since(now).saturating_sub(kept).mul_f64(share.clamp(0.0, 1.0))
}

/// Now, in milliseconds since 1970-01-01 UTC, for the record.
pub fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A seed for who gives none: microseconds since 1970. Unlike nanoseconds they stay below 2^53, so that a seed survives readers of JSON
/// that use doubles.
pub fn seed_of_the_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or_default()
}

/// A clock, for the record.
pub fn clock_facts(clock: &Clock) -> ClockFacts {
    ClockFacts {
        source: clock.name.to_owned(),
        nanoseconds_per_tick: clock.nanoseconds_per_tick,
        reading_ns: clock.reading_ns,
        step_ns: clock.step_ns,
    }
}

/// An endless walk over what can be visited: sweep after sweep, each in fresh random order.
#[derive(Debug)]
pub struct Sweeps<T> {
    all: Vec<T>,
    next: usize,
}

impl<T: Copy + PartialEq> Sweeps<T> {
    /// A walk that has not begun.
    pub fn new(all: Vec<T>) -> Self {
        let next = all.len();
        Self { all, next }
    }

    /// Leaves one out from now on.
    pub fn leave_out(&mut self, one: T) {
        if let Some(place) = self.all.iter().position(|other| *other == one) {
            self.all.remove(place);
            self.next -= usize::from(place < self.next);
        }
    }

    /// How many are not among those that `is_done` knows.
    pub fn count_without(&self, is_done: impl Fn(&T) -> bool) -> usize {
        self.all.iter().filter(|one| !is_done(one)).count()
    }

    /// The next; absent where there are none.
    pub fn next(&mut self, random: &mut Random) -> Option<T> {
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
        let mut random = Random::new(3);
        let mut sweeps = Sweeps::new(vec![(0, 1), (0, 2), (1, 2)]);
        for _ in 0..4 {
            let mut sweep: Vec<_> = (0..3).filter_map(|_| sweeps.next(&mut random)).collect();
            sweep.sort_unstable();
            assert_eq!(sweep, [(0, 1), (0, 2), (1, 2)]);
        }
        assert_eq!(Sweeps::<u32>::new(Vec::new()).next(&mut random), None);
    }

    #[test]
    fn what_is_left_out_is_not_visited_again() {
        let mut random = Random::new(3);
        let mut sweeps = Sweeps::new(vec![(0, 1), (0, 2), (1, 2)]);
        let first = sweeps.next(&mut random).unwrap();
        sweeps.leave_out(first);
        for _ in 0..8 {
            assert_ne!(sweeps.next(&mut random), Some(first));
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

    impl Probe for Noting {
        fn share(&self) -> f64 {
            self.share
        }

        fn visit(&mut self, session: &mut Session<'_>, part: Part) -> bool {
            self.rounds.push(part.round);
            for visit in 0..self.wanted {
                if session.budget.is_over() {
                    return false;
                }
                session.report(format!("visit {visit}, {part}"));
                session.budget.visited();
                self.visits += 1;
            }
            true
        }
    }

    #[test]
    fn a_round_has_a_part_for_each_probe_that_has_a_share() {
        let stop = AtomicBool::new(false);
        let mut steps = Vec::new();
        let mut hears = |progress: &Progress| steps.push(progress.step.clone());
        let mut session = Session::new(Budget::new(Some(Duration::from_secs(3_600)), &stop), 1, &mut hears);
        let (mut one, mut none, mut other) = (Noting::new(0.7, 1), Noting::new(0.0, 1), Noting::new(0.3, 0));
        assert_eq!(session.rounds(2, &mut [&mut one, &mut none, &mut other]), 2);
        assert_eq!((one.rounds, none.rounds, other.rounds), (vec![0, 1], vec![], vec![0, 1]));
        assert_eq!(steps, ["visit 0, round 1 of 2", "visit 0, round 2 of 2"]);
    }

    #[test]
    fn a_budget_that_is_over_at_once_has_one_visit_and_a_session_that_is_stopped_none() {
        for (stopped, visits) in [(false, 1), (true, 0)] {
            let stop = AtomicBool::new(stopped);
            let mut hears = |_: &Progress| {};
            let mut session = Session::new(Budget::new(Some(Duration::ZERO), &stop), 1, &mut hears);
            let mut probe = Noting::new(1.0, 5);
            assert_eq!(session.rounds(4, &mut [&mut probe]), 0);
            assert_eq!(probe.visits, visits);
        }
    }

    #[test]
    fn time_that_is_made_up_is_the_time_that_counts() {
        let stop = AtomicBool::new(false);
        let mut budget = Budget::new(Some(Duration::from_secs(60)), &stop);
        budget.visited();
        budget.makes_up(Some(Duration::from_secs(59)));
        assert_eq!((budget.left(), budget.is_spent()), (Some(Duration::from_secs(1)), false));
        budget.makes_up(Some(Duration::from_secs(60)));
        assert!(budget.is_spent() && !budget.with_grace(Duration::from_secs(1)).is_over());
    }
}
