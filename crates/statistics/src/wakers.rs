//! Guesses which thread woke which from switches alone, by expectation and maximization.
//!
//! The waker of a wait is one of the threads that ran while the other waited. Each run of a thread may have ended the wait, with a chance that
//! this pair of threads has: a partner that answers each time has a chance near 1, while a thread that ran ten times meanwhile and woke
//! nobody has a small one. Chances and wakers are estimated in turn (competing risks with unknown causes).

use std::collections::{BTreeMap, HashMap};

/// Most threads that may have ended a wait: the last ones that ran.
const MOST_CANDIDATES: usize = 32;
/// Most waits that are used; of more, every second, third and so on.
const MOST_WAITS: usize = 100_000;
/// Most rounds of the estimate, and the smallest change of a chance that is worth another.
const MOST_ROUNDS: usize = 60;
const SMALLEST_CHANGE: f64 = 1e-3;
/// Largest chance, so that its odds are finite.
const LARGEST_CHANCE: f64 = 0.999;
/// Factor for each candidate that ran later: of two that explain a wait equally well, the later one is the waker. A smaller factor would
/// decide more than ties, and wrongly (0.985 does on eight simulated cpus).
const TIE_BREAKER: f64 = 0.997;

/// A thread begins or ceases to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSwitch {
    /// Time in nanoseconds.
    pub at_ns: u64,
    /// The thread's place among the threads.
    pub thread: usize,
    /// The cpu.
    pub cpu: u32,
    /// Its new state.
    pub step: ThreadStep,
}

/// Change of a thread's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadStep {
    /// It runs.
    Runs,
    /// It begins to wait for something.
    Waits,
    /// It was preempted.
    Preempted,
    /// It ended.
    Ends,
}

/// An expected number of wakes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GuessedWakes {
    /// The waker's place among the threads.
    pub waker: usize,
    /// The woken thread's place.
    pub wakee: usize,
    /// Number of wakes.
    pub wakes: f64,
}

/// A thread that may have ended a wait.
#[derive(Clone, Copy, Debug)]
struct WakeCandidate {
    /// Its place among the wakee's candidates.
    place: usize,
    /// Number of its runs during the wait.
    runs: f64,
}

/// The waits of one thread.
#[derive(Debug, Default)]
struct WaitsOfThread {
    /// Threads that are candidates of any wait.
    threads: Vec<usize>,
    places: HashMap<usize, usize>,
    /// Candidates of all waits, one after the other.
    candidates: Vec<WakeCandidate>,
    /// End of each wait's candidates.
    ends: Vec<usize>,
}

/// Guesses the wakers from switches in order of time.
pub fn guess_wakers(switches: &[ThreadSwitch]) -> Vec<GuessedWakes> {
    let waits = switches.iter().filter(|switch| switch.step == ThreadStep::Waits).count();
    let stride = waits.div_ceil(MOST_WAITS).max(1);
    let mut collector = WaitCollector { stride, ..WaitCollector::default() };
    switches.iter().for_each(|switch| collector.take_switch(switch));
    collector.waits.iter().flat_map(|(wakee, of)| of.guess_wakes(*wakee, stride as f64)).collect()
}

/// Collects waits with their candidates.
#[derive(Debug, Default)]
struct WaitCollector {
    stride: usize,
    seen: usize,
    running: BTreeMap<u32, usize>,
    /// Threads that stopped last, with the time, the latest first.
    stopped: Vec<(usize, u64)>,
    /// Begin of each thread's present wait.
    waiting_since_ns: HashMap<usize, u64>,
    /// Begins of each thread's runs, without continuations after a preemption.
    runs_ns: HashMap<usize, Vec<u64>>,
    preempted: HashMap<usize, bool>,
    waits: BTreeMap<usize, WaitsOfThread>,
}

impl WaitCollector {
    fn take_switch(&mut self, switch: &ThreadSwitch) {
        let ThreadSwitch { at_ns, thread, cpu, step } = *switch;
        if step == ThreadStep::Runs {
            if let Some(since_ns) = self.waiting_since_ns.remove(&thread) {
                self.end_wait(switch, since_ns);
            }
            if !self.preempted.insert(thread, false).unwrap_or(false) {
                self.runs_ns.entry(thread).or_default().push(at_ns);
            }
            // If its last switch was lost, another cpu has it still.
            self.running.retain(|_, running| *running != thread);
            self.running.insert(cpu, thread);
            return;
        }
        self.running.remove(&cpu);
        self.stopped.retain(|(stopped, _)| *stopped != thread);
        self.stopped.truncate(MOST_CANDIDATES);
        self.stopped.insert(0, (thread, at_ns));
        self.preempted.insert(thread, step == ThreadStep::Preempted);
        if step == ThreadStep::Waits {
            self.waiting_since_ns.insert(thread, at_ns);
        }
    }

    fn end_wait(&mut self, switch: &ThreadSwitch, since_ns: u64) {
        self.seen += 1;
        if !self.seen.is_multiple_of(self.stride) {
            return;
        }
        // On its own cpu a record may be missing: then that thread does not run any more.
        let running = self.running.iter().filter(|(cpu, _)| **cpu != switch.cpu).map(|(_, thread)| *thread);
        let stopped = self.stopped.iter().take_while(|(_, at_ns)| *at_ns > since_ns).map(|(thread, _)| *thread);
        let mut threads: Vec<usize> = running.chain(stopped).filter(|thread| *thread != switch.thread).collect();
        threads.truncate(MOST_CANDIDATES);
        let waits = self.waits.entry(switch.thread).or_default();
        for thread in threads {
            let begun = self.runs_ns.get(&thread).map_or(&[][..], Vec::as_slice);
            // A thread that ran already when the wait began ran once.
            let runs = (begun.len() - begun.partition_point(|at_ns| *at_ns <= since_ns)).max(1);
            waits.add_candidate(thread, runs);
        }
        waits.ends.push(waits.candidates.len());
    }
}

impl WaitsOfThread {
    fn add_candidate(&mut self, thread: usize, runs: usize) {
        let place = *self.places.entry(thread).or_insert_with(|| {
            self.threads.push(thread);
            self.threads.len() - 1
        });
        self.candidates.push(WakeCandidate { place, runs: runs as f64 });
    }

    /// Divides the waits among the candidates. `stride` is the number of waits that each stands for.
    fn guess_wakes(&self, wakee: usize, stride: f64) -> Vec<GuessedWakes> {
        let mut runs = vec![0.0; self.threads.len()];
        self.candidates.iter().for_each(|one| runs[one.place] += one.runs);
        let mut chances = vec![0.5; self.threads.len()];
        let mut wakes = Vec::new();
        for _ in 0..MOST_ROUNDS {
            wakes = self.divide_waits(&chances);
            let mut change: f64 = 0.0;
            for (place, chance) in chances.iter_mut().enumerate() {
                let new = (wakes[place] / runs[place].max(1.0)).min(LARGEST_CHANCE);
                change = change.max((new - *chance).abs());
                *chance = new;
            }
            if change < SMALLEST_CHANGE {
                break;
            }
        }
        let guessed = self.threads.iter().zip(wakes).map(|(waker, wakes)| (*waker, wakes * stride));
        // Less than one wake is none.
        let mut guessed: Vec<GuessedWakes> = guessed
            .filter(|(_, wakes)| *wakes >= 1.0)
            .map(|(waker, wakes)| GuessedWakes { waker, wakee, wakes })
            .collect();
        guessed.sort_by_key(|guessed| guessed.waker);
        guessed
    }

    /// Returns the expected number of waits that each candidate ended: by the odds that its last run did.
    fn divide_waits(&self, chances: &[f64]) -> Vec<f64> {
        let mut wakes = vec![0.0; chances.len()];
        let odds = |(later, one): (usize, &WakeCandidate)| {
            chances[one.place] / (1.0 - chances[one.place]) * TIE_BREAKER.powi(later as i32)
        };
        let mut begin = 0;
        for end in &self.ends {
            let candidates = &self.candidates[begin..*end];
            begin = *end;
            let total: f64 = candidates.iter().enumerate().map(odds).sum();
            if total > 0.0 {
                candidates.iter().enumerate().for_each(|candidate| wakes[candidate.1.place] += odds(candidate) / total);
            }
        }
        wakes
    }
}

#[cfg(test)]
mod tests;
