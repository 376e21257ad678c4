//! Runs a command as a trial: in a job, on its cpus, timed from its first instruction to the end of its last process.

use std::io::{self, PipeReader, Read as _};
use std::os::windows::io::AsRawHandle as _;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use windows_sys::Win32::System::Threading::GetProcessTimes;

use super::handle::KernelHandle;
use super::job::KernelJob;
use super::memory_policy::KernelMemoryPolicy;
use super::missing::unavailable_error;
use super::opened_task::{OpenedTask, one_mask};
use super::processors::group_masks;
use super::spawn::{SpawnStart, start_in};
use super::thread::used_times;
use super::{cpuset, snapshot};
use crate::input::open_for_command;
use crate::values::execution::VisitPace;
pub use crate::values::execution::{
    ClockProbe, CommandExecution, ExecutionEnd, ExecutionResult, ResourceUsage, SUPERVISOR_NAME, StartListener,
    ThreadObservations, USUAL_GRACE, USUAL_PATIENCE,
};
use crate::values::output_ends::OutputEnds;

/// Interval of passing on the output. The end of the command is noticed at once.
const LOOK: Duration = Duration::from_millis(20);
/// Interval of checks for the end of all processes that outlive the command.
const SOON: Duration = Duration::from_millis(1);
/// A wake-up later than requested by this much means that this process was stopped meanwhile.
const HELD: Duration = Duration::from_millis(250);
const READ_BYTES: usize = 64 << 10;
/// Maximum time for reading the pipe after its writers were killed.
const LAST_READ: Duration = Duration::from_secs(2);

/// Why a command can have no terminal of its own here; `None` if it can.
pub const NO_TERMINAL: Option<&str> = Some("Windows has no terminal whose output can be read as it is written");
/// Why processes that a command leaves cannot stay; `None` if they can.
pub const NO_LEAVING: Option<&str> = Some("on Windows the processes of a run end with it");

impl CommandExecution<'_> {
    /// Runs the command. On Windows the cpus of threads are not observed, no clock rate is estimated, and processes are killed without a
    /// request to end.
    pub fn run(&self, receive: &mut dyn FnMut(&[u8])) -> io::Result<ExecutionResult> {
        if self.follow.is_some() || self.on_terminal || self.leaves_processes {
            return Err(unavailable_error());
        }
        self.memory.map_or(Ok(()), KernelMemoryPolicy::check_accepted)?;
        let (job, (reader, writer)) = (KernelJob::new()?, io::pipe()?);
        let (sender, written) = channel();
        let (input, output) = (self.input.map(open_for_command).transpose()?, writer.try_clone()?);
        let mut command = self.build_command(input, Stdio::null(), [output.into(), writer.into()]);
        let looks = JobLooks::new(self.cpus)?;
        let start = SpawnStart { cpus: self.cpus, at_full_speed: self.at_full_speed, ..SpawnStart::default() };
        let child = start_in(&mut command, &job, start)?;
        let began = Instant::now();
        if let Some(started) = self.started {
            started.on_start(child.id());
        }
        // With it go its ends of the pipe.
        drop(command);
        thread::spawn(move || read_output(reader, &sender));
        let mut running =
            RunningJob { child, job, written, text: OutputEnds::default(), began, was_held: false, looks };
        let (end, wall) = running.attend_command(self, receive)?;
        let left_behind = running.job.process_count();
        running.job.end_processes();
        while let Ok(bytes) = running.written.recv_timeout(LAST_READ) {
            running.add_output(&bytes, receive);
        }
        Ok(ExecutionResult {
            end,
            wall,
            was_held: running.was_held,
            usage: running.job_usage(),
            supervisor_s: 0.0,
            observed: std::mem::take(&mut running.looks.observed),
            migrations: None,
            gigahertz: None,
            estimated_gigahertz: Vec::new(),
            left_behind,
            output_bytes: running.text.bytes,
            output: running.text.into_kept(),
        })
    }
}

/// Reads to the end, or until the receiver is gone.
fn read_output(mut reader: PipeReader, sender: &Sender<Vec<u8>>) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(size) = reader.read(&mut buffer) {
        if size == 0 || sender.send(buffer[..size].to_vec()).is_err() {
            return;
        }
    }
}

/// Observations of the threads in the job, from snapshots of all threads of the system.
struct JobLooks {
    observed: ThreadObservations,
    given: CpuSet,
    pace: VisitPace,
    last: Instant,
}

impl JobLooks {
    fn new(given: Option<&CpuSet>) -> io::Result<Self> {
        let given = given.cloned().map_or_else(cpuset::reachable_cpus, Ok)?;
        Ok(Self { observed: ThreadObservations::default(), given, pace: VisitPace::new(), last: Instant::now() })
    }

    fn look_in_time(&mut self, job: &KernelJob) {
        if self.last.elapsed() < self.pace.pause {
            return;
        }
        let (began, processes) = (Instant::now(), job.process_numbers());
        let all = snapshot::list_threads().unwrap_or_default().into_iter();
        let threads: Vec<u32> = all.filter(|(owner, _)| processes.contains(owner)).map(|(_, thread)| thread).collect();
        let given = group_masks(&self.given);
        // A thread without a mask of its own has all given cpus of the one group that it is in.
        let is_own = |mask: &CpuSet| !mask.is_empty() && !one_mask(mask).is_ok_and(|mask| given.contains(&mask));
        let own =
            || threads.iter().filter_map(|thread| OpenedTask::to_look(*thread).ok()?.read_mask().ok()).find(is_own);
        let seen = &mut self.observed;
        seen.own_mask = seen.own_mask.take().or_else(own);
        seen.most_threads = seen.most_threads.max(threads.len());
        self.pace.after_visit(began.elapsed());
        self.last = Instant::now();
    }
}

struct RunningJob {
    looks: JobLooks,
    child: Child,
    job: KernelJob,
    written: Receiver<Vec<u8>>,
    text: OutputEnds,
    began: Instant,
    was_held: bool,
}

impl RunningJob {
    /// Waits for the end of the command, and for its descendants up to the patience; returns how it ended, and its duration.
    fn attend_command(
        &mut self,
        execution: &CommandExecution<'_>,
        receive: &mut dyn FnMut(&[u8]),
    ) -> io::Result<(ExecutionEnd, Duration)> {
        let deadline = execution.timeout.map(|timeout| self.began + timeout);
        let early = || {
            if execution.is_to_end() {
                return Some(ExecutionEnd::Interrupted);
            }
            deadline.filter(|deadline| *deadline <= Instant::now()).map(|_| ExecutionEnd::TimedOut)
        };
        loop {
            let before = Instant::now();
            let has_ended = KernelHandle::of_child(&self.child).has_ended(LOOK);
            self.was_held |= before.elapsed() > LOOK + HELD;
            let at = self.began.elapsed();
            if has_ended {
                let status = self.child.wait()?.code().unwrap_or(-1);
                let wall = self.wait_for_others(at, execution.patience.max(at / 10), &early, receive);
                return Ok((ExecutionEnd::Exited(status), wall));
            }
            self.take_output(receive);
            self.looks.look_in_time(&self.job);
            if let Some(why) = early() {
                self.job.end_processes();
                self.child.wait()?;
                return Ok((why, self.began.elapsed()));
            }
        }
    }

    /// Returns the time at which the last process ended; the command's end if others stay longer than the patience.
    fn wait_for_others(
        &mut self,
        command: Duration,
        patience: Duration,
        is_over: &dyn Fn() -> Option<ExecutionEnd>,
        receive: &mut dyn FnMut(&[u8]),
    ) -> Duration {
        let mut last = command;
        while self.job.process_count() > 0 {
            if self.began.elapsed() > command + patience || is_over().is_some() {
                return command;
            }
            thread::sleep(SOON);
            self.take_output(receive);
            last = self.began.elapsed();
        }
        last
    }

    fn take_output(&mut self, receive: &mut dyn FnMut(&[u8])) {
        while let Ok(bytes) = self.written.try_recv() {
            self.add_output(&bytes, receive);
        }
    }

    fn add_output(&mut self, bytes: &[u8], receive: &mut dyn FnMut(&[u8])) {
        self.text.add_bytes(bytes);
        receive(bytes);
    }

    /// Returns the job's accounts; the command's alone for values that a job lacks.
    fn job_usage(&self) -> ResourceUsage {
        let process = self.child.as_raw_handle();
        let times = |created: *mut _, ended: *mut _, system: *mut _, user: *mut _| {
            // SAFETY: the kernel fills the four times.
            unsafe { GetProcessTimes(process, created, ended, system, user) }
        };
        let (system, user) = used_times(times).unwrap_or_default();
        let (user_s, system_s) = self.job.times_s();
        ResourceUsage {
            user_s: user_s.max(user.as_secs_f64()),
            system_s: system_s.max(system.as_secs_f64()),
            peak_memory_bytes: self.job.peak_memory_bytes(),
            minor_faults: self.job.page_faults(),
            ..ResourceUsage::default()
        }
    }
}
