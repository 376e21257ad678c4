//! Runs a workload as processes of this machine.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corewise_model::CpuSet;
use corewise_model::quantity::{MeasuredQuantity, QuantityError, QuantityUnit, QuotedQuantity, UnitChange};
use corewise_model::sample::{Finder, MetricReading};
use corewise_model::stats::random::Random;
use corewise_model::trial::{Arm, ArmMemory, LOAD, Observed, Outcome, Workload};
use corewise_sys::Root;
use corewise_sys::counts::KernelCounts;
use corewise_sys::execution::{ClockProbe, End, Executed, Execution};
use corewise_sys::input::{self, Input, METRIC_BYTES};
use corewise_sys::memory_policy::Policy;

use super::energy::Meter;
use super::{Ended, Ran, Runner};
use crate::LabError;
use crate::probe::frequency::Estimator;
use crate::script::{self, Trouble, last_lines};

/// The environment has up to so many bytes more, at random: where the stack begins depends on its size, and speeds depend
/// on that (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!", 2009).
const MOST_PADDING_BYTES: usize = 4_096;
const PADDING: &str = "COREWISE_PADDING";
/// A random number for what varies the program between blocks, and for the program.
const VARY: &str = "COREWISE_VARY";
/// A trial during which corewise was stopped is made so often at most.
const MOST_ATTEMPTS: u32 = 3;

/// The random numbers are below this, which fits into the integers of every language and of the shell.
const MOST_VARY: usize = 1 << 30;

/// Starts the workload's command as a process for each run; other children of this process are left alone.
pub struct ProcessRunner<'a> {
    workload: Workload,
    timeout: Option<Duration>,
    finders: Vec<Option<Finder>>,
    /// The cpus that this process may use: those of an arm without its own.
    all: CpuSet,
    seed: u64,
    clock: Option<Estimator>,
    /// The random number of this block, where the workload is varied, and what went wrong with that.
    varied: Option<(OsString, Result<(), Trouble>)>,
    /// Ends a run early, which has failed then: what it needs is gone.
    needs_ended: Option<Arc<AtomicBool>>,
    stop: &'a AtomicBool,
}

impl<'a> ProcessRunner<'a> {
    /// A runner for a workload, on a machine of which all these cpus may be used.
    ///
    /// # Errors
    /// [`LabError::Pattern`] where a metric's regular expression is none.
    pub fn new(workload: &Workload, all: CpuSet, seed: u64, stop: &'a AtomicBool) -> Result<Self, LabError> {
        let metrics = std::iter::once(&workload.metric).chain(&workload.guards);
        let finders: Result<Vec<_>, _> = metrics
            .map(|metric| {
                let wrong = |source| LabError::Pattern { metric: metric.name.clone(), source };
                let finder = |pattern: &String| Finder::for_metric(&metric.name, pattern);
                metric.pattern.as_ref().map(finder).transpose().map_err(wrong)
            })
            .collect();
        Ok(Self {
            workload: workload.clone(),
            timeout: workload.timeout(),
            finders: finders?,
            all,
            seed,
            clock: None,
            varied: None,
            needs_ended: None,
            stop,
        })
    }

    /// The runner, whose runs are ended and have failed once this is true.
    #[must_use]
    pub(super) fn ended_with(self, needs_ended: &Arc<AtomicBool>) -> Self {
        Self { needs_ended: Some(Arc::clone(needs_ended)), ..self }
    }

    /// The runner, which estimates clock rates where the processor shows no cycle counters; takes about 50 ms.
    #[must_use]
    pub fn estimating_clock(self) -> Self {
        Self { clock: Some(Estimator::calibrated()), ..self }
    }

    /// One run, with the values that were found in what it wrote.
    fn once(&self, arm: &Arm, environment: &[(OsString, Option<OsString>)]) -> io::Result<(Executed, Vec<Found>)> {
        let mut words = self.workload.command_of(arm).into_iter().map(OsString::from);
        let (program, arguments) = (words.next().unwrap_or_default(), words.collect::<Vec<OsString>>());
        let policy = arm.memory_of(LOAD).and_then(policy);
        let stops: Vec<&AtomicBool> = std::iter::once(self.stop).chain(self.needs_ended.as_deref()).collect();
        let execution = Execution {
            environment,
            cpus: arm.cpus_of(LOAD),
            memory: policy.as_ref(),
            at_full_speed: arm.at_full_speed,
            timeout: self.timeout,
            follow: self.workload.follow.as_deref(),
            clock: self.clock.as_ref().map(|clock| clock as &dyn ClockProbe),
            ..Execution::new(&program, &arguments, &stops)
        };
        let mut found = vec![Found::Nothing; self.finders.len()];
        let Some(file) = self.workload.metric_file.as_deref().map(Path::new) else {
            let executed = execution.run(&mut |line| self.look(line, &mut found))?;
            return Ok((executed, found));
        };
        // What lies there afterwards was written in this run.
        input::remove(file).map_err(|error| io::Error::other(error.to_string()))?;
        let executed = execution.run(&mut |_| {})?;
        match Input::open(file, METRIC_BYTES).and_then(Input::lines) {
            Ok(lines) => lines.iter().for_each(|line| self.look(line, &mut found)),
            Err(error) => found = vec![Found::Unreadable(error.to_string()); self.finders.len()],
        }
        Ok((executed, found))
    }

    /// Looks for the numbers in a line.
    fn look(&self, line: &[u8], found: &mut [Found]) {
        let line = String::from_utf8_lossy(line);
        for (finder, found) in self.finders.iter().zip(found) {
            // The last counts: programs report as they go.
            if let Some(quantity) = finder.as_ref().and_then(|finder| finder.find(&line)) {
                *found = quantity.map_or_else(Found::Refused, Found::Quantity);
            }
        }
    }

    /// Why a number is not there that was looked for, if it is not.
    fn missing(&self, what: &str, found: &Found) -> Option<String> {
        let file = self.workload.metric_file.as_deref();
        match found {
            Found::Quantity(_) => None,
            Found::Refused(why) => Some(format!("{what} is {why}")),
            Found::Unreadable(why) => Some(format!("the metric file was not written, or cannot be read: {why}")),
            Found::Nothing => Some(format!("{what} is not in {}", file.unwrap_or("its output"))),
        }
    }
}

/// What the kernel is asked for where an arm has a memory policy.
pub(super) fn policy(memory: &ArmMemory) -> Option<Policy> {
    Some(Policy::new(memory.mode()?, memory.nodes.iter().collect()))
}

/// The random numbers of a trial, or of a block.
fn drawn(seed: u64, number: u64) -> Random {
    Random::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// What a metric's pattern found.
#[derive(Clone, Debug)]
enum Found {
    Nothing,
    /// There is no file to look in.
    Unreadable(String),
    Refused(QuantityError),
    Quantity(QuotedQuantity),
}

impl Runner for ProcessRunner<'_> {
    fn begin_block(&mut self, block: u32) {
        let Some(script) = &self.workload.vary else { return };
        let number = drawn(self.seed, u64::from(block)).below(MOST_VARY).to_string();
        let environment = [(VARY.into(), Some(number.clone().into()))];
        self.varied = Some((number.into(), script::run("the script of --vary", script, &environment, self.stop)));
    }

    fn run(&mut self, arm: &Arm, _: usize, repeats: u32, trial: u64) -> Result<Ran, Ended> {
        for attempt in 1.. {
            match self.attempt(arm, repeats, trial, attempt < MOST_ATTEMPTS) {
                Attempt::Ended(ran) => return ran.map(|ran| *ran).ok_or(Ended::Stopped),
                Attempt::Held => {}
            }
        }
        Err(Ended::Stopped)
    }
}

/// What became of making a trial.
enum Attempt {
    /// It is over; nothing came of it where it was interrupted.
    Ended(Option<Box<Ran>>),
    /// Corewise was stopped meanwhile: how long it took is not known, and it has to be made again.
    Held,
}

impl ProcessRunner<'_> {
    /// A trial that nobody slept through, or `may_fail` is false: it seemed to take longer then, never less.
    fn attempt(&self, arm: &Arm, repeats: u32, trial: u64, may_fail: bool) -> Attempt {
        let padding = drawn(self.seed, trial).below(MOST_PADDING_BYTES);
        let told = self.workload.environment_of(arm).into_iter();
        let told = told.map(|(name, value)| (OsString::from(name), value.map(OsString::from)));
        let environment = told.chain([(PADDING.into(), Some("x".repeat(padding).into()))]);
        let varied = self.varied.iter().map(|(number, _)| (VARY.into(), Some(number.clone())));
        let environment: Vec<_> = environment.chain(varied).collect();
        let mut sum = Sum::new(self.finders.len());
        let (before, meter, begun) = (KernelCounts::now(), Meter::begin(Root::live()), Instant::now());
        let lost = self.repeat(arm, &environment, repeats, may_fail, &mut sum);
        let (energy, took) = (meter.end(), begun.elapsed());
        if let Some(attempt) = lost {
            return attempt;
        }
        let mut ran = sum.ran(repeats);
        self.add_counts(&mut ran.observed, arm, &before);
        ran.observed.energy_joules = energy;
        ran.observed.energy_s = energy.map(|_| took.as_secs_f64());
        Attempt::Ended(Some(Box::new(ran)))
    }

    /// Runs so often in a row, or until one fails; what came of it where no trial did.
    fn repeat(
        &self,
        arm: &Arm,
        environment: &[(OsString, Option<OsString>)],
        repeats: u32,
        may_fail: bool,
        sum: &mut Sum,
    ) -> Option<Attempt> {
        if let Some((_, Err(Trouble::Failed { why, output }))) = &self.varied {
            sum.fail(why.clone(), output.clone());
            return None;
        }
        for _ in 0..repeats {
            let once = self.once(arm, environment);
            // Whoever ends corewise may end all that it started (a service manager, a batch system): that is no failure of the run.
            if self.stop.load(Ordering::SeqCst) {
                return Some(Attempt::Ended(None));
            }
            match once {
                Ok((executed, _)) if executed.was_held && may_fail => return Some(Attempt::Held),
                Ok((executed, found)) => sum.add(&executed, &found, self),
                Err(error) => sum.fail(not_started(&error), String::new()),
            }
            if sum.failure.is_some() {
                break;
            }
        }
        None
    }

    /// What the kernel counted for the arm's cpus meanwhile.
    fn add_counts(&self, observed: &mut Observed, arm: &Arm, before: &KernelCounts) {
        let now = KernelCounts::now();
        let cpus = arm.cpus.as_ref().unwrap_or(&self.all);
        let happened = now.since_on(before, cpus.iter());
        let interrupts = happened.iter().map(|of_cpu| {
            let counted = of_cpu.interrupts.as_ref()?;
            Some(counted.sources.iter().map(|source| source.count).sum::<u64>())
        });
        observed.interrupts = interrupts.sum::<Option<u64>>();
        observed.stolen_s = happened.iter().map(|of_cpu| of_cpu.stolen_s).sum::<Option<f64>>();
        let own = Duration::from_secs_f64((observed.user_s + observed.system_s).max(0.0));
        observed.others_busy = now.busy_since(before, own);
    }

    /// Why a run has no value, though it was started.
    fn failure(&self, executed: &Executed, found: &[Found]) -> Option<String> {
        let seconds = self.timeout.unwrap_or_default().as_secs_f64();
        match executed.end {
            End::Exited(0) => {}
            End::Exited(status) => return Some(format!("exit status {status}")),
            End::Killed(signal) => return Some(format!("killed by signal {signal}")),
            End::TimedOut => return Some(format!("took longer than {seconds} s")),
            End::Stopped => return Some("stopped by a signal: it may need the terminal".to_owned()),
            End::Interrupted => return Some("interrupted".to_owned()),
            End::NothingToFollow => {
                let name = self.workload.follow.as_deref().unwrap_or_default();
                return Some(format!("it left no process named {name} behind (--follow)"));
            }
        }
        for (guard, found) in self.workload.guards.iter().zip(&found[1..]) {
            if let Some(why) = self.missing(&format!("its guard {}", guard.name), found) {
                return Some(why);
            }
        }
        match (&self.finders[0], &found[0]) {
            // What it left to others may be most of its work, and nobody knows how long they would have taken.
            (None, _) if executed.left_behind > 0 => {
                Some("it left running processes behind, so its time is unknown".to_owned())
            }
            (None, _) => None,
            (_, Found::Quantity(run)) if self.workload.metric.judged(run.quantity.value).is_some() => None,
            (_, Found::Quantity(run)) => {
                let least = if self.workload.metric.higher_is_better { "be above zero" } else { "not be below zero" };
                Some(format!("its metric is {}, and must {least}: \"{}\"", run.quantity, run.line))
            }
            (_, found) => self.missing(&format!("its metric {}", self.workload.metric.name), found),
        }
    }
}

/// Runs in a row, added up.
struct Sum {
    observed: Observed,
    wall_s: f64,
    /// The runs of the metric, and of each guard.
    runs: Vec<Vec<QuotedQuantity>>,
    gigahertz: Vec<f64>,
    failure: Option<(String, String)>,
}

impl Sum {
    fn new(metrics: usize) -> Self {
        Self {
            observed: Observed { migrations: Some(0), ..Observed::default() },
            wall_s: 0.0,
            runs: vec![Vec::new(); metrics],
            gigahertz: Vec::new(),
            failure: None,
        }
    }

    fn fail(&mut self, why: String, output: String) {
        self.failure = Some((why, output));
    }

    fn add(&mut self, executed: &Executed, found: &[Found], runner: &ProcessRunner<'_>) {
        self.account(executed);
        if let Some(why) = runner.failure(executed, found) {
            return self.fail(why, last_lines(&executed.output));
        }
        for at in 0..found.len() {
            let run = match &found[at] {
                Found::Quantity(run) => run.clone(),
                _ => wall_time(executed),
            };
            if let Err(change) = self.add_run(at, run) {
                let why = format!("{} {change}", runner.workload.describe_metric(at));
                return self.fail(why, last_lines(&executed.output));
            }
        }
    }

    /// Adds a run of a metric, in the unit of the first one.
    fn add_run(&mut self, at: usize, mut run: QuotedQuantity) -> Result<(), UnitChange> {
        if let Some(first) = self.runs[at].first() {
            let value = run.in_unit_of(first)?;
            run.quantity = MeasuredQuantity { value, unit: first.quantity.unit.clone() };
        }
        self.runs[at].push(run);
        Ok(())
    }

    fn account(&mut self, executed: &Executed) {
        let (sum, usage, seen) = (&mut self.observed, &executed.usage, &executed.observed);
        self.wall_s += executed.wall.as_secs_f64();
        sum.user_s += usage.user_s;
        sum.system_s += usage.system_s;
        sum.peak_memory_bytes = sum.peak_memory_bytes.max(usage.peak_memory_bytes);
        sum.voluntary_switches += usage.voluntary_switches;
        sum.involuntary_switches += usage.involuntary_switches;
        sum.minor_faults += usage.minor_faults;
        sum.major_faults += usage.major_faults;
        sum.migrations = sum.migrations.zip(executed.migrations).map(|(sum, more)| sum + more);
        let estimate = mean(&executed.estimated_gigahertz).filter(|_| executed.gigahertz.is_none());
        sum.gigahertz_is_estimate |= estimate.is_some();
        self.gigahertz.extend(executed.gigahertz.or(estimate));
        sum.used = sum.used.union(&seen.used);
        sum.own_mask = sum.own_mask.take().or_else(|| seen.own_mask.clone());
        sum.most_threads = sum.most_threads.max(seen.most_threads);
        sum.left_behind += executed.left_behind;
        sum.output_bytes += executed.output_bytes;
    }

    fn ran(self, repeats: u32) -> Ran {
        let means: Vec<Option<f64>> = self.runs.iter().map(|runs| mean_of_runs(runs)).collect();
        let made = if self.failure.is_some() { self.runs[0].len() as f64 + 1.0 } else { f64::from(repeats) };
        let readings: Option<Vec<MetricReading>> =
            self.runs.iter().map(|runs| MetricReading::from_runs(runs)).collect();
        let are_lines = |readings: &Vec<MetricReading>| readings.iter().any(|reading| !reading.runs.is_empty());
        let mut observed = self.observed;
        observed.wall_s = self.wall_s / made;
        observed.gigahertz = mean(&self.gigahertz);
        let outcome = match self.failure {
            Some((why, output)) => Outcome::Failed { why, output },
            None => means[0].map_or_else(
                || Outcome::Failed { why: "it was not run".to_owned(), output: String::new() },
                Outcome::Value,
            ),
        };
        Ran { outcome, guards: means[1..].to_vec(), readings: readings.filter(are_lines).unwrap_or_default(), observed }
    }
}

/// The wall time as a quantity, which is in no line.
fn wall_time(executed: &Executed) -> QuotedQuantity {
    let quantity = MeasuredQuantity { value: executed.wall.as_secs_f64(), unit: QuantityUnit::seconds() };
    QuotedQuantity { quantity, line: String::new() }
}

fn mean_of_runs(runs: &[QuotedQuantity]) -> Option<f64> {
    mean(&runs.iter().map(|run| run.quantity.value).collect::<Vec<f64>>())
}

/// Why there is no process; what to do where the system has none to give.
fn not_started(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            format!("cannot be started: no more processes are allowed (ulimit -u, pids.max): {error}")
        }
        _ => format!("cannot be started: {error}"),
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
