use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::random::RandomGenerator;

use super::*;

/// A thread that takes a token from each of its wakers in turn, computes, and gives one to each of its wakees in turn.
struct SimulatedThread {
    wakers: Vec<usize>,
    wakees: Vec<usize>,
    turn: usize,
    /// Mean computing time between two tokens, in nanoseconds.
    mean_ns: usize,
    /// Computing time so far.
    used_ns: u64,
    /// True if its switches are recorded; noise from outside is not.
    is_own: bool,
}

/// A simulated schedule of threads on some cpus.
struct SimulatedSchedule {
    threads: Vec<SimulatedThread>,
    tokens: BTreeMap<(usize, usize), usize>,
    waiting: BTreeSet<usize>,
    ready: Vec<usize>,
    /// Each cpu's thread, and the time when it has computed.
    cpus: Vec<Option<(usize, u64)>>,
    random: RandomGenerator,
    switches: Vec<ThreadSwitch>,
    /// Number of true wakes.
    wakes: BTreeMap<(usize, usize), u32>,
}

/// Four pairs, a star of four leaves, a ring of four, and as noise two pairs that are not recorded. Members compute for different times.
fn planted_threads() -> Vec<SimulatedThread> {
    let thread = |wakers: &[usize], wakees: &[usize], mean_ns, is_own| SimulatedThread {
        wakers: wakers.to_vec(),
        wakees: wakees.to_vec(),
        turn: 0,
        mean_ns,
        used_ns: 0,
        is_own,
    };
    let pairs = (0..4)
        .flat_map(|pair| [2 * pair, 2 * pair + 1].map(|own| thread(&[own ^ 1], &[own ^ 1], 5_000 * (pair + 1), true)));
    let hub = thread(&[9, 10, 11, 12], &[9, 10, 11, 12], 8_000, true);
    let leaves = (0..4).map(|_| thread(&[8], &[8], 12_000, true));
    let ring = (0..4).map(|member| thread(&[13 + (member + 3) % 4], &[13 + (member + 1) % 4], 15_000, true));
    let noise = [18, 17, 20, 19].map(|partner| thread(&[partner], &[partner], 30_000, false));
    pairs.chain([hub]).chain(leaves).chain(ring).chain(noise).collect()
}

impl SimulatedSchedule {
    fn new(cpus: usize, seed: u64) -> Self {
        let threads = planted_threads();
        let waiting = (0..threads.len()).collect();
        let mut schedule = Self {
            threads,
            tokens: BTreeMap::new(),
            waiting,
            ready: Vec::new(),
            cpus: vec![None; cpus],
            random: RandomGenerator::new(seed),
            switches: Vec::new(),
            wakes: BTreeMap::new(),
        };
        // The first of each pair, the hub and the first of the ring begin.
        for first in [0, 2, 4, 6, 8, 13, 17, 19] {
            schedule.tokens.insert((schedule.threads[first].wakers[0], first), 1);
            schedule.waiting.remove(&first);
            schedule.ready.push(first);
        }
        schedule
    }

    fn record(&mut self, at_ns: u64, thread: usize, cpu: usize, step: ThreadStep) {
        if self.threads[thread].is_own {
            self.switches.push(ThreadSwitch { at_ns, thread, cpu: cpu as u32, step });
        }
    }

    fn run_for(&mut self, end_ns: u64) {
        let mut now_ns = 0;
        while now_ns < end_ns {
            for cpu in 0..self.cpus.len() {
                if self.cpus[cpu].is_none()
                    && let Some(thread) = self.take_ready()
                {
                    // The way out of an idle state, and the switch.
                    let begin_ns = now_ns + 1_000 + self.random.next_below(4_000) as u64;
                    self.record(begin_ns, thread, cpu, ThreadStep::Runs);
                    self.begin_turn(thread, cpu, begin_ns);
                }
            }
            let busy = self.cpus.iter().enumerate().filter_map(|(cpu, one)| Some((one.as_ref()?.1, cpu)));
            let Some((until_ns, cpu)) = busy.min() else { return };
            now_ns = until_ns;
            self.end_turn(cpu, until_ns);
        }
        self.switches.sort_by_key(|switch| switch.at_ns);
    }

    /// Takes the ready thread that computed least, as a fair scheduler does.
    fn take_ready(&mut self) -> Option<usize> {
        let place = (0..self.ready.len()).min_by_key(|place| self.threads[self.ready[*place]].used_ns)?;
        Some(self.ready.remove(place))
    }

    fn begin_turn(&mut self, thread: usize, cpu: usize, now_ns: u64) {
        let mean_ns = self.threads[thread].mean_ns;
        let time_ns = (mean_ns / 2 + self.random.next_below(mean_ns)) as u64;
        self.threads[thread].used_ns += time_ns;
        let waker = self.next_waker(thread);
        *self.tokens.get_mut(&(waker, thread)).unwrap() -= 1;
        self.cpus[cpu] = Some((thread, now_ns + time_ns));
    }

    fn next_waker(&self, thread: usize) -> usize {
        let SimulatedThread { wakers, turn, .. } = &self.threads[thread];
        wakers[turn % wakers.len()]
    }

    fn end_turn(&mut self, cpu: usize, now_ns: u64) {
        let Some((thread, _)) = self.cpus[cpu].take() else { return };
        self.threads[thread].turn += 1;
        let SimulatedThread { wakees, turn, .. } = &self.threads[thread];
        let wakee = wakees[turn % wakees.len()];
        *self.tokens.entry((thread, wakee)).or_default() += 1;
        if self.waiting.contains(&wakee) && self.next_waker(wakee) == thread {
            self.waiting.remove(&wakee);
            self.ready.push(wakee);
            *self.wakes.entry((thread, wakee)).or_default() += 1;
        }
        if self.tokens.get(&(self.next_waker(thread), thread)).is_some_and(|tokens| *tokens > 0) {
            self.begin_turn(thread, cpu, now_ns);
            return;
        }
        self.record(now_ns + 200, thread, cpu, ThreadStep::Waits);
        self.waiting.insert(thread);
    }
}

/// Returns the share of the guessed weight on true edges, and for how many threads the strongest waker is a true one.
fn judge_guess(schedule: &SimulatedSchedule) -> (f64, usize) {
    let guessed = guess_wakers(&schedule.switches);
    let is_true = |one: &&GuessedWakes| schedule.wakes.contains_key(&(one.waker, one.wakee));
    let right: f64 = guessed.iter().filter(is_true).map(|one| one.wakes).sum();
    let all: f64 = guessed.iter().map(|one| one.wakes).sum();
    let strongest =
        |wakee: usize| guessed.iter().filter(|one| one.wakee == wakee).max_by(|a, b| a.wakes.total_cmp(&b.wakes));
    let right_strongest = (0..17).filter(|wakee| strongest(*wakee).is_some_and(|one| is_true(&one)));
    (right / all, right_strongest.count())
}

#[test]
fn most_of_the_weight_is_on_planted_edges_on_few_and_on_many_cpus() {
    for cpus in [2, 4, 8, 32] {
        let mut schedule = SimulatedSchedule::new(cpus, 47);
        schedule.run_for(400_000_000);
        let (right, strongest) = judge_guess(&schedule);
        println!("{cpus} cpus: {right:.3} right, strongest waker right for {strongest} of 17");
        assert!(right >= 0.8, "{right} on {cpus} cpus");
        assert!(strongest >= 12, "{strongest} on {cpus} cpus");
    }
}

#[test]
fn all_waits_that_a_thread_can_have_ended_are_divided() {
    let mut schedule = SimulatedSchedule::new(4, 48);
    schedule.run_for(50_000_000);
    let all: f64 = guess_wakers(&schedule.switches).iter().map(|one| one.wakes).sum();
    let waits: u32 = schedule.wakes.iter().filter(|((waker, _), _)| *waker < 17).map(|(_, wakes)| wakes).sum();
    assert!((all / f64::from(waits) - 1.0).abs() < 0.05, "{all} of {waits}");
}

#[test]
fn a_partner_that_answers_each_time_beats_one_that_runs_more_often() {
    // 0 and 1 alternate; 2 runs three times during each wait of 0, and last.
    let mut switches = Vec::new();
    let mut run = |thread, cpu, begin: u64, end: u64| {
        switches.push(ThreadSwitch { at_ns: begin, thread, cpu, step: ThreadStep::Runs });
        switches.push(ThreadSwitch { at_ns: end, thread, cpu, step: ThreadStep::Waits });
    };
    for round in (0..1_000_u64).map(|round| round * 100) {
        run(0, 0, round, round + 10);
        run(2, 1, round + 15, round + 20);
        run(1, 0, round + 30, round + 40);
        run(2, 1, round + 45, round + 50);
        run(2, 1, round + 60, round + 70);
    }
    let guessed = guess_wakers(&switches);
    let by_partner = guessed.iter().find(|one| (one.waker, one.wakee) == (1, 0)).unwrap();
    assert!(by_partner.wakes > 900.0, "{guessed:?}");
}

#[test]
fn a_thread_that_has_ended_or_runs_elsewhere_wakes_nobody() {
    let run = |at_ns, thread, cpu| ThreadSwitch { at_ns, thread, cpu, step: ThreadStep::Runs };
    let end = |step, run: ThreadSwitch| ThreadSwitch { at_ns: run.at_ns + 10, step, ..run };
    // Thread 2 ends on cpu 1, and 3 leaves cpu 2 without a record; then 0 and 1 alternate on cpu 0.
    let mut switches = vec![run(0, 2, 1), end(ThreadStep::Ends, run(0, 2, 1)), run(20, 3, 2)];
    switches.extend([run(25, 3, 3), end(ThreadStep::Waits, run(25, 3, 3))]);
    for at_ns in (0..1_000_u64).map(|round| 40 + 40 * round) {
        let [one, other] = [run(at_ns, 0, 0), run(at_ns + 20, 1, 0)];
        switches.extend([one, end(ThreadStep::Waits, one), other, end(ThreadStep::Waits, other)]);
    }
    let guessed = guess_wakers(&switches);
    let pairs: Vec<(usize, usize)> = guessed.iter().map(|one| (one.waker, one.wakee)).collect();
    assert_eq!(pairs, [(1, 0), (0, 1)], "{guessed:?}");
}

#[test]
fn no_switches_and_threads_alone_have_no_wakers() {
    assert_eq!(guess_wakers(&[]), []);
    let step = |at_ns, step| ThreadSwitch { at_ns, thread: 0, cpu: 0, step };
    let alone = [step(1, ThreadStep::Runs), step(2, ThreadStep::Waits), step(3, ThreadStep::Runs)];
    assert_eq!(guess_wakers(&alone), []);
}
