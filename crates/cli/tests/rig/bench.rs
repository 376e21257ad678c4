//! Boots machines, some at a time, and runs the scenarios of each one after another.

use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use corewise_rig::{Rig, RigError, RigGuest, RigMachine};
use libtest_mimic::{Completion, Failed};

use crate::{Scenario, ScenarioOutcome};

/// What scenarios may change and have to put back: which cpus are on, control groups, who handles interrupts, what is
/// traced; files in /tmp, and processes that they start and have to end. What the kernel itself runs are children of process
/// 2.
const LOOK: &str = "
cat /sys/devices/system/cpu/online
find /sys/fs/cgroup -type d | sort
grep . /proc/irq/*/smp_affinity_list
cat /sys/kernel/tracing/set_event
find /tmp -type f | sort
ps -o ppid,pid,stat,comm |
    awk -v own=$$ 'NR > 1 && $2 > 2 && $1 != 2 && $1 != own && $2 != own && $3 !~ /Z/ { print \"process\", $2, $4 }'
true";

/// An emulator keeps one cpu of the host busy. More than a few would take much memory.
const MOST_AT_ONCE: usize = 4;

/// Number of the longest scenarios that are named.
const LONGEST: usize = 6;

/// A machine, and what is to be done on it in one boot.
pub struct MachineJob {
    pub machine: &'static RigMachine,
    pub scenarios: Vec<&'static Scenario>,
}

/// What booting takes, or what of it is missing.
pub enum RigParts {
    There(Rig),
    Missing(String),
}

/// Finds the program under test, this test program as the actor that it runs, and what booting takes.
pub fn parts() -> Result<RigParts, RigError> {
    let own = std::env::current_exe().map_err(|source| RigError::File { path: "/proc/self/exe".into(), source })?;
    match Rig::new(&[(Path::new(env!("CARGO_BIN_EXE_corewise")), "corewise"), (&own, "actor")]) {
        Ok(rig) => Ok(RigParts::There(rig)),
        Err(missing @ RigError::Missing { .. }) => Ok(RigParts::Missing(missing.to_string())),
        Err(error) => Err(error),
    }
}

/// Machines and scenarios, by their names.
type ReportedPairs = HashSet<(&'static str, &'static str)>;

/// What came of the scenarios so far.
#[derive(Default)]
pub struct RigBench {
    outcomes: Mutex<HashMap<(&'static str, &'static str), ScenarioOutcome>>,
    /// All that were said, taken or not.
    told: Mutex<ReportedPairs>,
    news: Condvar,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

impl RigBench {
    /// Begins with the jobs, the longest first, so that none is left alone at the end; as many at a time as the host has cpus.
    pub fn start(self: &Arc<Self>, parts: &Arc<RigParts>, mut jobs: Vec<MachineJob>) {
        // An emulated cpu costs something even where it idles.
        jobs.sort_by_key(|job| std::cmp::Reverse(job.scenarios.len() * (16 + job.machine.cpu_places().len())));
        let workers = thread::available_parallelism().map_or(1, usize::from).min(MOST_AT_ONCE).min(jobs.len());
        let jobs = Arc::new(Mutex::new(VecDeque::from(jobs)));
        for _ in 0..workers {
            let (bench, parts, jobs) = (Arc::clone(self), Arc::clone(parts), Arc::clone(&jobs));
            let worker = thread::spawn(move || {
                while let Some(job) = { lock(&jobs).pop_front() } {
                    match &*parts {
                        RigParts::There(rig) => {
                            // What panics in the rig itself ends this machine, not the wait for its outcomes.
                            let _ = catch_unwind(AssertUnwindSafe(|| bench.work(rig, &job)));
                            bench.tell_all(&job, || Err("the rig panicked, as said above".into()));
                        }
                        RigParts::Missing(what) => bench.tell_all(&job, || Ok(Completion::ignored_with(what.clone()))),
                    }
                }
            });
            lock(&self.workers).push(worker);
        }
    }

    /// Waits until every machine is turned off: a program that ends before leaves emulators and their files.
    pub fn end(&self) {
        let workers = std::mem::take(&mut *lock(&self.workers));
        workers.into_iter().for_each(|worker| drop(worker.join()));
    }

    /// Waits for what came of a scenario.
    pub fn outcome(&self, machine: &RigMachine, scenario: &Scenario) -> ScenarioOutcome {
        let key = (machine.name, scenario.name);
        let mut outcomes = lock(&self.outcomes);
        loop {
            if let Some(outcome) = outcomes.remove(&key) {
                return outcome;
            }
            outcomes = self.news.wait(outcomes).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A scenario finds the machine as the one before did, or a fresh one where that failed.
    fn work(&self, rig: &Rig, job: &MachineJob) {
        let begun = Instant::now();
        let mut booted = None;
        let mut took = Vec::new();
        for scenario in &job.scenarios {
            let mut machine = match booted.take().map_or_else(|| Booted::boot(rig, job.machine), Ok) {
                Ok(machine) => machine,
                Err(failed) => {
                    self.tell(job.machine, scenario, Err(failed));
                    return self.tell_all(job, || Err("the machine did not boot, as said above".into()));
                }
            };
            let run = Instant::now();
            let outcome = machine.run(scenario);
            took.push((run.elapsed().as_secs(), scenario.name));
            booted = outcome.is_ok().then_some(machine);
            self.tell(job.machine, scenario, outcome);
        }
        took.sort_unstable_by_key(|(seconds, _)| std::cmp::Reverse(*seconds));
        let longest: Vec<String> =
            took.iter().take(LONGEST).map(|(seconds, name)| format!("{name} {seconds} s")).collect();
        let (machine, count, seconds) = (job.machine.name, job.scenarios.len(), begun.elapsed().as_secs());
        eprintln!("{machine}: {count} scenarios in {seconds} s; {}", longest.join(", "));
    }

    fn tell(&self, machine: &RigMachine, scenario: &Scenario, outcome: ScenarioOutcome) {
        lock(&self.told).insert((machine.name, scenario.name));
        lock(&self.outcomes).insert((machine.name, scenario.name), outcome);
        self.news.notify_all();
    }

    /// For those scenarios of a job of which nothing was told yet.
    fn tell_all(&self, job: &MachineJob, outcome: impl Fn() -> ScenarioOutcome) {
        for scenario in &job.scenarios {
            let is_new = lock(&self.told).insert((job.machine.name, scenario.name));
            if is_new {
                lock(&self.outcomes).insert((job.machine.name, scenario.name), outcome());
            }
        }
        self.news.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Booted {
    guest: RigGuest,
    /// What a look showed before the first scenario.
    at_first: String,
}

impl Booted {
    fn boot(rig: &Rig, machine: &'static RigMachine) -> Result<Self, Failed> {
        let mut guest = rig.boot_machine(machine)?;
        let at_first = look(&mut guest)?;
        Ok(Self { guest, at_first })
    }

    /// A scenario has to leave the machine as it found it.
    fn run(&mut self, scenario: &Scenario) -> ScenarioOutcome {
        let outcome = catch_unwind(AssertUnwindSafe(|| (scenario.run)(&mut self.guest)));
        let outcome = outcome.unwrap_or_else(|_| Err("it panicked, as said above".into()))?;
        let now = look(&mut self.guest)?;
        if now == self.at_first {
            return Ok(outcome);
        }
        Err(format!("not left as it was found; before\n{}\nafter\n{now}", self.at_first).into())
    }
}

fn look(guest: &mut RigGuest) -> Result<String, Failed> {
    let outcome = guest.run(LOOK)?;
    Ok(outcome.stdout_text() + &outcome.stderr)
}
