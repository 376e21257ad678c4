//! Runs a command as a trial: in a job, on its cpus, timed from its first instruction to the end of its last process.

use std::io::{self, PipeReader, Read as _};
use std::os::windows::io::AsRawHandle as _;
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use windows_sys::Win32::System::Threading::GetProcessTimes;

use super::handle::Handle;
use super::job::Job;
use super::memory_policy::Policy;
use super::missing::unavailable;
use super::opened::{Opened, one_mask};
use super::processors::masks;
use super::spawn::{Start, start_in};
use super::thread::used;
use super::{cpuset, snapshot};
use crate::values::execution::Pace;
pub use crate::values::execution::{
    ClockProbe, End, Executed, Execution, Observed, Started, USUAL_GRACE, USUAL_PATIENCE, Usage,
};
use crate::values::written::Written;

/// Interval of passing on the output. The end of the command is noticed at once.
const LOOK: Duration = Duration::from_millis(20);
/// Interval of checks for the end of all processes that outlive the command.
const SOON: Duration = Duration::from_millis(1);
/// A wake-up later than requested by this much means that this process was stopped meanwhile.
const HELD: Duration = Duration::from_millis(250);
const READ_BYTES: usize = 64 << 10;
/// Maximum time for reading the pipe after its writers were killed.
const LAST_READ: Duration = Duration::from_secs(2);

impl Execution<'_> {
    /// Runs the command. On Windows the cpus of threads are not observed, no clock rate is estimated, and processes are killed without a
    /// request to end.
    pub fn run(&self, receive: &mut dyn FnMut(&[u8])) -> io::Result<Executed> {
        if self.follow.is_some() {
            return Err(unavailable());
        }
        self.memory.map_or(Ok(()), Policy::check)?;
        let (job, (reader, writer)) = (Job::new()?, io::pipe()?);
        let (sender, written) = channel();
        let mut command = self.command(writer)?;
        let looks = Looks::new(self.cpus)?;
        let start = Start { cpus: self.cpus, at_full_speed: self.at_full_speed, ..Start::default() };
        let child = start_in(&mut command, &job, start)?;
        let began = Instant::now();
        if let Some(started) = self.started {
            started.started(child.id());
        }
        // With it go its ends of the pipe.
        drop(command);
        thread::spawn(move || read(reader, &sender));
        let mut running = Running { child, job, written, text: Written::default(), began, was_held: false, looks };
        let (end, wall) = running.attend(self, receive)?;
        let left_behind = running.job.processes();
        running.job.end();
        while let Ok(bytes) = running.written.recv_timeout(LAST_READ) {
            running.add(&bytes, receive);
        }
        Ok(Executed {
            end,
            wall,
            was_held: running.was_held,
            usage: running.usage(),
            supervisor_s: 0.0,
            observed: std::mem::take(&mut running.looks.observed),
            migrations: None,
            gigahertz: None,
            estimated_gigahertz: Vec::new(),
            left_behind,
            output_bytes: running.text.bytes,
            output: running.text.kept(),
        })
    }
}

/// Reads to the end, or until the receiver is gone.
fn read(mut reader: PipeReader, sender: &Sender<Vec<u8>>) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(size) = reader.read(&mut buffer) {
        if size == 0 || sender.send(buffer[..size].to_vec()).is_err() {
            return;
        }
    }
}

/// Observations of the threads in the job, from snapshots of all threads of the system.
struct Looks {
    observed: Observed,
    given: CpuSet,
    pace: Pace,
    last: Instant,
}

impl Looks {
    fn new(given: Option<&CpuSet>) -> io::Result<Self> {
        let given = given.cloned().map_or_else(cpuset::reachable, Ok)?;
        Ok(Self { observed: Observed::default(), given, pace: Pace::new(), last: Instant::now() })
    }

    fn look_in_time(&mut self, job: &Job) {
        if self.last.elapsed() < self.pace.pause {
            return;
        }
        let (began, processes) = (Instant::now(), job.numbers());
        let all = snapshot::threads().unwrap_or_default().into_iter();
        let threads: Vec<u32> = all.filter(|(owner, _)| processes.contains(owner)).map(|(_, thread)| thread).collect();
        let given = masks(&self.given);
        // A thread without a mask of its own has all given cpus of the one group that it is in.
        let is_own = |mask: &CpuSet| !mask.is_empty() && !one_mask(mask).is_ok_and(|mask| given.contains(&mask));
        let own = || threads.iter().filter_map(|thread| Opened::to_look(*thread).ok()?.mask().ok()).find(is_own);
        let seen = &mut self.observed;
        seen.own_mask = seen.own_mask.take().or_else(own);
        seen.most_threads = seen.most_threads.max(threads.len());
        self.pace.looked(began.elapsed());
        self.last = Instant::now();
    }
}

struct Running {
    looks: Looks,
    child: Child,
    job: Job,
    written: Receiver<Vec<u8>>,
    text: Written,
    began: Instant,
    was_held: bool,
}

impl Running {
    /// Waits for the end of the command, and for its descendants up to the patience; returns how it ended, and its duration.
    fn attend(&mut self, execution: &Execution<'_>, receive: &mut dyn FnMut(&[u8])) -> io::Result<(End, Duration)> {
        let deadline = execution.timeout.map(|timeout| self.began + timeout);
        let early = || {
            if execution.is_to_end() {
                return Some(End::Interrupted);
            }
            deadline.filter(|deadline| *deadline <= Instant::now()).map(|_| End::TimedOut)
        };
        loop {
            let before = Instant::now();
            let has_ended = Handle::of(&self.child).has_ended(LOOK);
            self.was_held |= before.elapsed() > LOOK + HELD;
            let at = self.began.elapsed();
            if has_ended {
                let status = self.child.wait()?.code().unwrap_or(-1);
                let wall = self.outlived(at, execution.patience.max(at / 10), &early, receive);
                return Ok((End::Exited(status), wall));
            }
            self.take(receive);
            self.looks.look_in_time(&self.job);
            if let Some(why) = early() {
                self.job.end();
                self.child.wait()?;
                return Ok((why, self.began.elapsed()));
            }
        }
    }

    /// Returns the time at which the last process ended; the command's end if others stay longer than the patience.
    fn outlived(
        &mut self,
        command: Duration,
        patience: Duration,
        is_over: &dyn Fn() -> Option<End>,
        receive: &mut dyn FnMut(&[u8]),
    ) -> Duration {
        let mut last = command;
        while self.job.processes() > 0 {
            if self.began.elapsed() > command + patience || is_over().is_some() {
                return command;
            }
            thread::sleep(SOON);
            self.take(receive);
            last = self.began.elapsed();
        }
        last
    }

    fn take(&mut self, receive: &mut dyn FnMut(&[u8])) {
        while let Ok(bytes) = self.written.try_recv() {
            self.add(&bytes, receive);
        }
    }

    fn add(&mut self, bytes: &[u8], receive: &mut dyn FnMut(&[u8])) {
        self.text.add(bytes);
        receive(bytes);
    }

    /// Returns the job's accounts; the command's alone for values that a job lacks.
    fn usage(&self) -> Usage {
        let process = self.child.as_raw_handle();
        let times = |created: *mut _, ended: *mut _, system: *mut _, user: *mut _| {
            // SAFETY: the kernel fills the four times.
            unsafe { GetProcessTimes(process, created, ended, system, user) }
        };
        let (system, user) = used(times).unwrap_or_default();
        let (user_s, system_s) = self.job.times_s();
        Usage {
            user_s: user_s.max(user.as_secs_f64()),
            system_s: system_s.max(system.as_secs_f64()),
            peak_memory_bytes: self.job.peak_memory_bytes(),
            minor_faults: self.job.page_faults(),
            ..Usage::default()
        }
    }
}
