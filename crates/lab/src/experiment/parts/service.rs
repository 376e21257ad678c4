//! Services that are started for a command: each runs in a thread until it is ended, together with all processes it
//! started.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_model::trial::WorkloadService;
use corewise_sys::execution::{CommandExecution, ExecutionEnd, ExecutionResult, StartListener};
use corewise_sys::memory_policy::KernelMemoryPolicy;
use corewise_sys::process::ProcessIdentity;

use crate::script::{ScriptError, last_lines};

/// Time that a service gets to end on its own, since it may have data to write.
const GRACE: Duration = Duration::from_secs(10);
/// Time after which a service without a check counts as ready.
const READY_UNASKED: Duration = Duration::from_millis(500);
/// Maximum time of a check for readiness.
const LONGEST_QUESTION: Duration = Duration::from_secs(5);
/// Interval between two checks.
const PAUSE: Duration = Duration::from_millis(20);

/// Parameters of starting a service.
pub struct ServiceStart<'a> {
    /// Changes to the environment: variables with their values, or `None` to remove one.
    pub environment: &'a [(OsString, Option<OsString>)],
    /// Cpus of the service; unchanged if `None`.
    pub cpus: Option<&'a CpuSet>,
    /// Memory policy; unchanged if `None`.
    pub memory: Option<KernelMemoryPolicy>,
    /// Flag that is set when it ends.
    pub any_ended: &'a Arc<AtomicBool>,
}

/// Running service; dropping it ends it.
#[derive(Debug)]
pub struct RunningService {
    service: WorkloadService,
    begun: Instant,
    stop: Arc<AtomicBool>,
    process: Arc<ProcessNumber>,
    thread: Option<JoinHandle<io::Result<ExecutionResult>>>,
}

/// Number of a process, 0 before it is started.
#[derive(Debug, Default)]
struct ProcessNumber(AtomicU32);

impl StartListener for ProcessNumber {
    fn on_start(&self, process: u32) {
        self.0.store(process, Ordering::SeqCst);
    }
}

impl RunningService {
    /// Starts a service. A failure to execute it appears as an early end in [`RunningService::wait_until_ready`].
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start_service(service: &WorkloadService, beginning: &ServiceStart<'_>) -> io::Result<Self> {
        let (stop, process) = (Arc::new(AtomicBool::new(false)), Arc::new(ProcessNumber::default()));
        let (script, cpus, memory) = (service.start.clone(), beginning.cpus.cloned(), beginning.memory.clone());
        let environment = beginning.environment.to_vec();
        let (own_stop, number, any_ended) = (Arc::clone(&stop), Arc::clone(&process), Arc::clone(beginning.any_ended));
        let run = move || {
            let (program, arguments, stops) = (OsString::from("sh"), ["-c".into(), script.into()], [&*own_stop]);
            let execution = CommandExecution {
                environment: &environment,
                cpus: cpus.as_ref(),
                memory: memory.as_ref(),
                // A program that goes to the background stays a service.
                patience: Duration::MAX,
                grace: GRACE,
                started: Some(&*number),
                ..CommandExecution::new(&program, &arguments, &stops)
            };
            let ran = execution.run(&mut |_| {});
            any_ended.store(true, Ordering::SeqCst);
            ran
        };
        let thread = std::thread::Builder::new().name("service".to_owned()).spawn(run)?;
        Ok(Self { service: service.clone(), begun: Instant::now(), stop, process, thread: Some(thread) })
    }

    /// Returns the process that all of it descends from; `None` if it is not known yet or has ended.
    pub fn root_process(&self) -> Option<ProcessIdentity> {
        let number = self.process.0.load(Ordering::SeqCst);
        corewise_sys::process::ProcessStat::read_stat(number)
            .ok()
            .flatten()
            .map(|stat| ProcessIdentity { id: number, start_ticks: stat.start_ticks })
    }

    /// Returns true if it has ended.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// If it ends first, or is not ready within this time; then it is ended.
    pub fn wait_until_ready(&mut self, within: Duration, stop: &AtomicBool) -> Result<(), ScriptError> {
        let mut answer = String::new();
        loop {
            if stop.load(Ordering::SeqCst) {
                return Err(ScriptError::Interrupted);
            }
            let is_ready = match &self.service.ready {
                Some(script) => ask_script(script, stop).map_err(|said| answer = said).is_ok(),
                None => self.begun.elapsed() >= READY_UNASKED,
            };
            // If it has ended, another program answered the check.
            if self.has_ended() {
                return Err(self.explain_end("before it was ready"));
            }
            if is_ready {
                return Ok(());
            }
            if self.begun.elapsed() > within {
                let question = self.service.ready.as_deref().unwrap_or_default();
                let why = format!(
                    "{} was not ready within {} s: `{question}` {answer}",
                    self.service.name,
                    within.as_secs_f64()
                );
                return Err(ScriptError::Failed {
                    why,
                    output: self.end_service().map_or_else(String::new, |ran| last_lines(&ran.output)),
                });
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Describes the failure of a service that has ended.
    pub fn explain_end(&mut self, when: &str) -> ScriptError {
        let name = self.service.name.clone();
        let Some(thread) = self.thread.take() else {
            return ScriptError::Failed { why: format!("{name} has ended {when}"), output: String::new() };
        };
        match thread.join() {
            Ok(Ok(ran)) => {
                let how = match ran.end {
                    ExecutionEnd::Exited(status) => format!("exit status {status}"),
                    ExecutionEnd::Killed(signal) => format!("killed by signal {signal}"),
                    ExecutionEnd::Stopped => "it tried to use the terminal".to_owned(),
                    ExecutionEnd::TimedOut | ExecutionEnd::Interrupted | ExecutionEnd::NothingToFollow => {
                        "it was ended".to_owned()
                    }
                };
                ScriptError::Failed { why: format!("{name} ended {when}: {how}"), output: last_lines(&ran.output) }
            }
            Ok(Err(error)) => {
                ScriptError::Failed { why: format!("{name} could not be started: {error}"), output: String::new() }
            }
            Err(_) => ScriptError::Failed { why: format!("{name} was lost"), output: String::new() },
        }
    }

    /// Asks it to end, then kills it; returns its result.
    pub fn end_service(&mut self) -> Option<ExecutionResult> {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take()?.join().ok()?.ok()
    }
}

impl Drop for RunningService {
    fn drop(&mut self) {
        self.end_service();
    }
}

/// Runs a check for readiness.
///
/// # Errors
/// How it ended, with the last line of its output.
pub fn ask_script(script: &str, stop: &AtomicBool) -> Result<(), String> {
    let (program, arguments) = (OsString::from("sh"), ["-c".into(), script.into()]);
    let stops = [stop];
    let execution =
        CommandExecution { timeout: Some(LONGEST_QUESTION), ..CommandExecution::new(&program, &arguments, &stops) };
    let ran = execution.run(&mut |_| {}).map_err(|error| format!("cannot be started: {error}"))?;
    let said = last_lines(&ran.output);
    let last = said.lines().last().map_or_else(String::new, |line| format!(" ({line})"));
    match ran.end {
        ExecutionEnd::Exited(0) => Ok(()),
        ExecutionEnd::Exited(status) => Err(format!("has exit status {status}{last}")),
        ExecutionEnd::TimedOut => Err(format!("takes longer than {} s", LONGEST_QUESTION.as_secs())),
        _ => Err(format!("was ended{last}")),
    }
}
