//! Runs a workload as processes of this machine.

mod awaited_file;
mod escape_filter;
mod metrics;
mod run_totals;

use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_machine::random::RandomGenerator;
use corewise_model::sample::LineSearch;
use corewise_model::trial::{ArmMemory, LOAD, PlacementArm, TrialObservations, TriedWorkload};
use corewise_sys::Root;
use corewise_sys::cgroup::CpuQuota;
use corewise_sys::counts::KernelCounts;
use corewise_sys::cpuset;
use corewise_sys::execution::{ClockProbe, CommandExecution, ExecutionEnd, ExecutionResult, StartListener};
use corewise_sys::input::{InputFile, InputKind};
use corewise_sys::memory_policy::KernelMemoryPolicy;
use corewise_sys::thread::process_cpu_time;

use super::energy::EnergyMeter;
use super::live::arm_places::{ArmPlaces, RolePatterns};
use super::thread_placer::ThreadPlacer;
use super::{RunnerEnd, TrialRequest, TrialResult, TrialRunner};
use crate::LabError;
use crate::probe::frequency::ClockEstimator;
use crate::script::{self, ScriptError};
use awaited_file::AwaitedFile;
use escape_filter::EscapeFilter;
use metrics::{FoundMetric, LONGEST_LAST_SEARCH, LONGEST_SEARCH, MetricSearches};
use run_totals::RunTotals;

/// Maximum bytes of random padding in the environment. The stack's address depends on its size, and speeds depend on
/// that (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!", 2009).
const MOST_PADDING_BYTES: usize = 4_096;
const PADDING: &str = "COREWISE_PADDING";
/// Variable with a random number, for the program and for the script that varies it between blocks.
const VARY: &str = "COREWISE_VARY";
/// Maximum attempts at a trial during which corewise was stopped.
const MOST_ATTEMPTS: u32 = 3;

/// Upper bound of the random numbers; fits into the integers of every language and of the shell.
const MOST_VARY: usize = 1 << 30;

/// Starts the workload's command as a process for each run; other children of this process are left alone.
pub struct ProcessRunner<'a> {
    workload: TriedWorkload,
    timeout: Option<Duration>,
    /// The search for the metric and for each guard; `None` for the wall time.
    searches: Vec<Option<LineSearch>>,
    /// Cpus that this process may use, for arms without their own.
    all: CpuSet,
    seed: u64,
    clock: Option<ClockEstimator>,
    /// The quota of processor time that limits all of it.
    quota: Option<CpuQuota>,
    /// Random number of this block if the workload is varied, and the result of varying it.
    varied: Option<(OsString, Result<(), ScriptError>)>,
    /// Roles of the command's own threads; none if services have them.
    roles: RolePatterns,
    /// Flag that ends a run early as failed, because its services are gone.
    needs_ended: Option<Arc<AtomicBool>>,
    stop: &'a AtomicBool,
}

impl<'a> ProcessRunner<'a> {
    /// Returns a runner for a workload on a machine where all these cpus may be used.
    ///
    /// # Errors
    /// [`LabError::Pattern`] if a metric's pattern is not a regular expression.
    pub fn new(workload: &TriedWorkload, all: CpuSet, seed: u64, stop: &'a AtomicBool) -> Result<Self, LabError> {
        let metrics = std::iter::once(&workload.metric).chain(&workload.guards);
        let searches: Result<Vec<_>, _> = metrics
            .map(|metric| {
                let wrong = |source| LabError::Pattern { metric: metric.name.clone(), source };
                let search = |pattern: &String| LineSearch::for_metric(&metric.name, pattern);
                metric.pattern.as_ref().map(search).transpose().map_err(wrong)
            })
            .collect();
        Ok(Self {
            workload: workload.clone(),
            timeout: workload.run_timeout(),
            searches: searches?,
            all,
            seed,
            clock: None,
            quota: cpuset::own_quota(),
            varied: None,
            roles: RolePatterns::new(if workload.parts.is_none() { &workload.thread_roles } else { &[] })?,
            needs_ended: None,
            stop,
        })
    }

    /// Sets a flag that ends runs as failed once it is true.
    #[must_use]
    pub(super) fn with_end_flag(self, needs_ended: &Arc<AtomicBool>) -> Self {
        Self { needs_ended: Some(Arc::clone(needs_ended)), ..self }
    }

    /// Estimates clock rates if the processor has no cycle counters; takes about 50 ms.
    #[must_use]
    pub fn with_clock_estimates(self) -> Self {
        Self { clock: Some(ClockEstimator::calibrate_clock()), ..self }
    }

    /// Starts the command once, and searches its output or its metric file for the metric and the guards.
    fn run_once(
        &self,
        arm: &PlacementArm,
        environment: &[(OsString, Option<OsString>)],
        request: &TrialRequest,
    ) -> io::Result<(ExecutionResult, Vec<FoundMetric>)> {
        let mut words = self.workload.command_of(arm).into_iter().map(OsString::from);
        let (program, arguments) = (words.next().unwrap_or_default(), words.collect::<Vec<OsString>>());
        let policy = arm.memory_of(LOAD).and_then(kernel_policy);
        let placing = RolePlacing { places: self.roles.places_on(arm, &[]), placer: RefCell::new(None) };
        let stops: Vec<&AtomicBool> = std::iter::once(self.stop).chain(self.needs_ended.as_deref()).collect();
        let execution = CommandExecution {
            input: self.workload.input.as_deref().map(Path::new),
            on_terminal: self.workload.on_terminal,
            leaves_processes: self.workload.leaves_processes,
            environment,
            cpus: arm.cpus_of(LOAD),
            memory: policy.as_ref(),
            at_full_speed: arm.at_full_speed,
            timeout: self.timeout.into_iter().chain(request.time_left()).min(),
            follow: self.workload.follow.as_deref(),
            started: (!placing.places.roles.is_empty()).then_some(&placing as &dyn StartListener),
            clock: self.clock.as_ref().map(|clock| clock as &dyn ClockProbe),
            ..CommandExecution::new(&program, &arguments, &stops)
        };
        let longest_search = || match () {
            () if execution.is_to_end() => Duration::ZERO,
            () if request.is_out_of_time() => LONGEST_LAST_SEARCH,
            () => LONGEST_SEARCH,
        };
        let execute = |receive: &mut dyn FnMut(&[u8])| {
            let mut executed = execution.run(receive)?;
            executed.observed.own_mask.take_if(|mask| placing.places.is_role_mask(mask));
            Ok::<_, io::Error>(executed)
        };
        let mut searches = MetricSearches::new(&self.searches, &longest_search);
        let Some(file) = self.workload.metric_file.as_deref().map(Path::new) else {
            let mut filter = EscapeFilter::default();
            let executed = execute(&mut |bytes| match self.workload.on_terminal {
                true => searches.add_output(&filter.filter_bytes(bytes)),
                false => searches.add_output(bytes),
            })?;
            return Ok((executed, searches.finish_searches()));
        };
        let awaited = AwaitedFile::begin_run(file)?;
        let executed = execute(&mut |_| {})?;
        match InputFile::open(&awaited.find_written(), InputKind::MetricFile).and_then(InputFile::read_bytes) {
            Ok(bytes) => searches.add_output(&bytes),
            Err(error) => return Ok((executed, vec![FoundMetric::Unreadable(error.to_string()); self.searches.len()])),
        }
        Ok((executed, searches.finish_searches()))
    }

    /// Describes why a number was not found; `None` if it was.
    fn explain_missing(&self, what: &str, found: &FoundMetric) -> Option<String> {
        let file = self.workload.metric_file.as_deref();
        match found {
            FoundMetric::Quantity(_) => None,
            FoundMetric::Refused(why) => Some(format!("{what} is {why}")),
            FoundMetric::Unusable(why) => Some(format!("{what} {why}")),
            FoundMetric::Unreadable(why) => Some(format!("the metric file was not written, or cannot be read: {why}")),
            FoundMetric::Nothing(others) => {
                let there = format!("; these numbers are: {}", others.join(", "));
                let there = if others.is_empty() { "" } else { &there };
                Some(format!("{what} is not in {}{there}", file.unwrap_or("its output")))
            }
            FoundMetric::Unknown => {
                let seconds = LONGEST_SEARCH.as_secs();
                let found = format!("{what} was not found in {} within {seconds} s", file.unwrap_or("its output"));
                Some(format!("{found}: the regular expression is too slow, or the program writes too much"))
            }
        }
    }
}

/// Places the command's threads by their names while it runs.
#[derive(Debug)]
struct RolePlacing<'a> {
    places: ArmPlaces<'a>,
    placer: RefCell<Option<ThreadPlacer>>,
}

impl StartListener for RolePlacing<'_> {
    fn on_start(&self, process: u32) {
        self.placer.replace(Some(ThreadPlacer::hold_threads(&self.places, vec![process])));
    }
}

/// Returns the kernel's form of an arm's memory policy.
pub(super) fn kernel_policy(memory: &ArmMemory) -> Option<KernelMemoryPolicy> {
    Some(KernelMemoryPolicy::new(memory.policy_mode()?, memory.nodes.iter().collect()))
}

/// Returns an arm's changes to the environment: variables with their values, or `None` to remove one.
pub(super) fn arm_environment(workload: &TriedWorkload, arm: &PlacementArm) -> Vec<(OsString, Option<OsString>)> {
    let told = workload.environment_of(arm).into_iter();
    told.map(|(name, value)| (OsString::from(name), value.map(OsString::from))).collect()
}

/// Returns the random numbers of a trial or of a block.
fn trial_random(seed: u64, number: u64) -> RandomGenerator {
    RandomGenerator::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

impl TrialRunner for ProcessRunner<'_> {
    fn begin_block(&mut self, block: u32) {
        let Some(script) = &self.workload.vary else { return };
        let number = trial_random(self.seed, u64::from(block)).next_below(MOST_VARY).to_string();
        let environment = [(VARY.into(), Some(number.clone().into()))];
        self.varied = Some((number.into(), script::run("the script of --vary", script, &environment, self.stop)));
    }

    fn run(&mut self, arm: &PlacementArm, _: usize, request: TrialRequest) -> Result<TrialResult, RunnerEnd> {
        for _ in 1..MOST_ATTEMPTS {
            match self.attempt_trial(arm, &request, true) {
                TrialAttempt::Ended(ran) => return ran.map(|ran| *ran),
                TrialAttempt::Held if request.is_out_of_time() => return Err(RunnerEnd::OutOfTime),
                TrialAttempt::Held => {}
            }
        }
        match self.attempt_trial(arm, &request, false) {
            TrialAttempt::Ended(ran) => ran.map(|ran| *ran),
            TrialAttempt::Held => Err(RunnerEnd::Stopped),
        }
    }
}

/// Result of an attempt at a trial.
enum TrialAttempt {
    /// It is over.
    Ended(Result<Box<TrialResult>, RunnerEnd>),
    /// Corewise was stopped meanwhile, so its duration is unknown and it must be repeated.
    Held,
}

impl ProcessRunner<'_> {
    /// Makes a trial. With `may_fail`, it is given up if corewise was stopped meanwhile; otherwise it may only seem
    /// too long, never too short.
    fn attempt_trial(&self, arm: &PlacementArm, request: &TrialRequest, may_fail: bool) -> TrialAttempt {
        let padding = trial_random(self.seed, request.trial).next_below(MOST_PADDING_BYTES);
        let environment = arm_environment(&self.workload, arm)
            .into_iter()
            .chain([(PADDING.into(), Some("x".repeat(padding).into()))]);
        let varied = self.varied.iter().map(|(number, _)| (VARY.into(), Some(number.clone())));
        let environment: Vec<_> = environment.chain(varied).collect();
        let mut sum = RunTotals::new(self.searches.len());
        let stops = || self.quota.as_ref().and_then(CpuQuota::read_stops);
        let (stops_before, before, own_time) = (stops(), KernelCounts::read_now(), OwnTime::begin_timing());
        let (meter, begun) = (EnergyMeter::begin_reading(Root::this_machine()), Instant::now());
        let lost = self.repeat_runs(arm, &environment, request, may_fail, &mut sum);
        let (energy, took) = (meter.end_reading(), begun.elapsed());
        if let Some(attempt) = lost {
            return attempt;
        }
        let own = own_time.end_timing(&sum);
        let mut ran = sum.into_result();
        self.add_counts(&mut ran.observed, arm, &before, own);
        ran.observed.quota_stops = stops().zip(stops_before).map(|(now, before)| now.saturating_sub(before));
        ran.observed.energy_joules = energy;
        ran.observed.energy_s = energy.map(|_| took.as_secs_f64());
        TrialAttempt::Ended(Ok(Box::new(ran)))
    }

    /// Makes the runs of a trial, until one fails. Returns what ended it if there is no trial.
    fn repeat_runs(
        &self,
        arm: &PlacementArm,
        environment: &[(OsString, Option<OsString>)],
        request: &TrialRequest,
        may_fail: bool,
        sum: &mut RunTotals,
    ) -> Option<TrialAttempt> {
        if let Some((_, Err(ScriptError::Failed { why, output }))) = &self.varied {
            sum.set_failure(why.clone(), output.clone());
            return None;
        }
        let began = Instant::now();
        for made in 0.. {
            match request.needs_run(made, began) {
                Ok(true) => {}
                Ok(false) => break,
                Err(ended) => return Some(TrialAttempt::Ended(Err(ended))),
            }
            if let Some(script) = &self.workload.prepare {
                match script::run("the script of --prepare", script, environment, self.stop) {
                    Ok(()) => {}
                    Err(ScriptError::Interrupted) => return Some(TrialAttempt::Ended(Err(RunnerEnd::Stopped))),
                    Err(ScriptError::Failed { why, output }) => {
                        sum.set_failure(why, output);
                        return None;
                    }
                }
            }
            let once = self.run_once(arm, environment, request);
            // A service manager or batch system may end all processes at once: that is not a failure of the run.
            if self.stop.load(Ordering::SeqCst) {
                return Some(TrialAttempt::Ended(Err(RunnerEnd::Stopped)));
            }
            match once {
                Ok((executed, _)) if executed.was_held && may_fail => return Some(TrialAttempt::Held),
                // The budget has ended the run, or its search.
                Ok((executed, found))
                    if request.is_out_of_time()
                        && (executed.end == ExecutionEnd::TimedOut || found.contains(&FoundMetric::Unknown)) =>
                {
                    return Some(TrialAttempt::Ended(Err(RunnerEnd::OutOfTime)));
                }
                Ok((executed, found)) => sum.add_executed(&executed, &found, self),
                Err(error) => sum.set_failure(explain_not_started(&error), String::new()),
            }
            if sum.failure.is_some() {
                break;
            }
        }
        None
    }

    /// Adds the kernel's counts for the arm's cpus. `own` is the cpu time of the trial, as opposed to other programs.
    fn add_counts(&self, observed: &mut TrialObservations, arm: &PlacementArm, before: &KernelCounts, own: Duration) {
        let now = KernelCounts::read_now();
        let cpus = arm.cpus.as_ref().unwrap_or(&self.all);
        let happened = now.since_on(before, cpus.iter());
        let interrupts = happened.iter().map(|of_cpu| {
            let counted = of_cpu.interrupts.as_ref()?;
            Some(counted.sources.iter().map(|source| source.count).sum::<u64>())
        });
        observed.interrupts = interrupts.sum::<Option<u64>>();
        observed.stolen_s = happened.iter().map(|of_cpu| of_cpu.stolen_s).sum::<Option<f64>>();
        observed.others_busy = now.busy_since(before, own);
    }

    /// Returns the reason why a run that was started has no value.
    fn explain_failure(&self, executed: &ExecutionResult, found: &[FoundMetric]) -> Option<String> {
        let seconds = self.timeout.unwrap_or_default().as_secs_f64();
        match executed.end {
            ExecutionEnd::Exited(status) if self.workload.accepts_status(status) => {}
            ExecutionEnd::Exited(status) => return Some(format!("exit status {status}")),
            ExecutionEnd::Killed(signal) => return Some(format!("killed by signal {signal}")),
            ExecutionEnd::TimedOut => return Some(format!("took longer than {seconds} s")),
            ExecutionEnd::Stopped => return Some("stopped by a signal: it may need a terminal (--tty)".to_owned()),
            ExecutionEnd::Interrupted => return Some("interrupted".to_owned()),
            ExecutionEnd::NothingToFollow => {
                let name = self.workload.follow.as_deref().unwrap_or_default();
                return Some(format!("it left no process named {name} behind (--follow)"));
            }
        }
        for (guard, found) in self.workload.guards.iter().zip(&found[1..]) {
            if let Some(why) = self.explain_missing(&format!("its guard {}", guard.name), found) {
                return Some(why);
            }
        }
        match (&self.searches[0], &found[0]) {
            // The processes it left behind may do most of its work, and their duration is unknown.
            (None, _) if executed.left_behind > 0 => {
                Some("it left running processes behind, so its time is unknown".to_owned())
            }
            (None, _) => None,
            (_, FoundMetric::Quantity(run)) if self.workload.metric.judged_value(run.quantity.value).is_some() => None,
            (_, FoundMetric::Quantity(run)) => {
                let least = if self.workload.metric.higher_is_better { "be above zero" } else { "not be below zero" };
                Some(format!("its metric is {}, and must {least}: \"{}\"", run.quantity, run.line))
            }
            (_, found) => self.explain_missing(&format!("its metric {}", self.workload.metric.name), found),
        }
    }
}

/// Cpu time of a trial: of the program, of the processes that supervise it, and of corewise itself.
struct OwnTime {
    before: Duration,
}

impl OwnTime {
    fn begin_timing() -> Self {
        Self { before: process_cpu_time().unwrap_or_default() }
    }

    /// Returns the time since the beginning, in which the runs of the sum were made.
    fn end_timing(&self, sum: &RunTotals) -> Duration {
        let corewise = process_cpu_time().unwrap_or_default().saturating_sub(self.before);
        let program_s = sum.observed.user_s + sum.observed.system_s;
        corewise + Duration::from_secs_f64((program_s + sum.supervisors_s).max(0.0))
    }
}

/// Describes why there is no process, and what to do if the system allows no more.
fn explain_not_started(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            format!("cannot be started: no more processes are allowed (ulimit -u, pids.max): {error}")
        }
        _ => format!("cannot be started: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_corewise_and_of_its_supervisors_is_no_other_programs() {
        let observed = TrialObservations { user_s: 1.0, system_s: 0.5, ..TrialObservations::default() };
        let mut sum = RunTotals::new(1);
        (sum.observed, sum.supervisors_s) = (observed, 0.25);
        let (own_time, before) = (OwnTime::begin_timing(), process_cpu_time().unwrap());
        let computed = Duration::from_millis(50);
        while process_cpu_time().unwrap() < before + computed {
            std::hint::spin_loop();
        }
        let own = own_time.end_timing(&sum);
        assert!(own >= Duration::from_millis(1_750) + computed, "{own:?}");
    }
}
