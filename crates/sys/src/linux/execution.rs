//! Runs a command as a trial: on its cpus, timed from its first instruction to the end of its last process, watched and counted.

mod command_counters;
mod looks;
mod output;
mod shared_time;
mod supervisor;
mod terminal;
mod tree;
mod visits;

use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use corewise_machine::CpuSet;

use super::affinity;
use super::memory_policy::KernelMemoryPolicy;
use super::signals::{ignore_signal, pipe_was_ignored};
use super::thread::thread_cpu_time;
use crate::input::open_for_command;
use crate::values::execution::VisitPace;
pub use crate::values::execution::{
    ClockProbe, CommandExecution, ExecutionEnd, ExecutionResult, ResourceUsage, SUPERVISOR_NAME, StartListener,
    ThreadObservations, USUAL_GRACE, USUAL_PATIENCE,
};
use command_counters::CommandCounters;
use looks::ThreadLooks;
use output::CapturedOutput;
use shared_time::{SharedTime, monotonic_now};
use supervisor::SupervisorProcess;
use tree::{CommandTree, EndedTree};
use visits::RateVisits;

/// A wake-up later than requested by this much means that this process was stopped meanwhile, as with Ctrl-Z.
const HELD: Duration = Duration::from_millis(250);
/// Upper limit on the time that reading many threads blocks this thread.
const LONGEST_LOOK: Duration = Duration::from_secs(2);

/// Why a command can have no terminal of its own here; `None` if it can.
pub const NO_TERMINAL: Option<&str> = None;
/// Why processes that a command leaves cannot stay; `None` if they can.
pub const NO_LEAVING: Option<&str> = None;

impl CommandExecution<'_> {
    /// Runs the command and waits for its end. It has no input, and a process group of its own. Its output is read in bulk as it comes, and
    /// `receive` gets the bytes, cut anywhere.
    ///
    /// The command's processes are those below a process of its own, its supervisor, which sleeps while the command runs. Other children of
    /// this process are left alone. If this process ends, however it ends, all of the command's processes are killed, except for set-uid
    /// programs of other users.
    ///
    /// # Errors
    /// If it cannot be started, or the kernel refuses the cpus.
    pub fn run(&self, receive: &mut dyn FnMut(&[u8])) -> io::Result<ExecutionResult> {
        if self.at_full_speed {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        // If SIGCHLD is ignored, the kernel discards ended children with their status.
        ignore_signal(libc::SIGCHLD, false);
        let looks = ThreadLooks::new(self.cpus)?;
        let mut counters = CommandCounters::open_counters();
        let start = SharedTime::new()?;
        let (reader, writer) = match self.on_terminal {
            true => terminal::open_terminal()?,
            false => io::pipe().map(|(reader, writer)| (reader.into(), writer.into()))?,
        };
        let output = CapturedOutput::new(reader)?;
        let supervisor = self.spawn_supervised(&start, writer)?;
        if let Some(started) = self.started {
            started.on_start(supervisor.process_id());
        }
        let mut running = RunningTree {
            tree: CommandTree::new(supervisor, self.grace, self.leaves_processes),
            output,
            looks,
            began: start.read_time(),
            seen: start.read_time(),
            computed: thread_cpu_time(),
            was_held: false,
        };
        // The time from the child's first instruction to here.
        running.notice_pause(VisitPace::RAREST + HELD);
        let probe = self.clock.filter(|_| !counters.count_cycles());
        let (ended, estimated_gigahertz) =
            RateVisits::run_during(probe, running.began, |visits| running.attend_command(self, visits, receive));
        running.output.take_rest(receive);
        let (gigahertz, migrations) = counters.read_counters();
        let RunningTree { tree, output, looks, began, was_held, .. } = running;
        let usage = tree.usage;
        let supervisor_s = tree.end_supervisor();
        Ok(ExecutionResult {
            end: ended.end,
            wall: ended.at.saturating_sub(began),
            was_held,
            usage,
            supervisor_s,
            observed: looks.observed,
            migrations,
            gigahertz,
            estimated_gigahertz,
            left_behind: ended.left_behind,
            output_bytes: output.written.bytes,
            output: output.written.into_kept(),
        })
    }

    /// Starts the command on its cpus, below a supervisor that stays on the calling thread's.
    fn spawn_supervised(&self, start: &SharedTime, output: OwnedFd) -> io::Result<SupervisorProcess> {
        let (input, errors) = (self.input.map(open_for_command).transpose()?, output.try_clone()?);
        let usual_input = if self.on_terminal { Stdio::from(output.try_clone()?) } else { Stdio::null() };
        let command = self.build_command(input, usual_input, [output.into(), errors.into()]);
        let on_terminal = self.on_terminal;
        self.cpus.map_or(Ok(()), check_affinity)?;
        let (time, pipe, cpus) = (start.time_writer(), pipe_was_ignored(), self.cpus.cloned());
        let set_memory = self.memory.map(KernelMemoryPolicy::prepare_setting);
        let last = move |parent| {
            if let Some(cpus) = &cpus {
                affinity::set_current(cpus)?;
            }
            if let Some(set_memory) = &set_memory {
                set_memory()?;
            }
            ignore_signal(libc::SIGPIPE, pipe);
            if on_terminal {
                terminal::lead_session()?;
            } else {
                // SAFETY: a call without memory.
                unsafe { libc::setpgid(0, 0) };
            }
            // In case only the supervisor is killed.
            end_with(parent)?;
            time.write_now();
            Ok(())
        };
        SupervisorProcess::start_supervised(command, last)
    }
}

/// Makes the calling process end with its parent: prctl(2), PR_SET_PDEATHSIG. Safe to call between fork(2) and execve(2).
///
/// # Errors
/// If the parent has ended already: no signal will come.
fn end_with(parent: u32) -> io::Result<()> {
    // SAFETY: calls without memory.
    let is_there = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        u32::try_from(libc::getppid()) == Ok(parent)
    };
    if is_there { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
}

/// Checks that the kernel gives all of the cpus to the calling thread; restores its mask.
fn check_affinity(cpus: &CpuSet) -> io::Result<()> {
    let before = affinity::current_affinity()?;
    let given = affinity::set_current(cpus).and_then(|()| affinity::current_affinity());
    // On every path: the next child inherits this mask.
    affinity::set_current(&before)?;
    match given? {
        given if given == *cpus => Ok(()),
        given => Err(io::Error::other(format!("the kernel gives cpus {given} of {cpus}"))),
    }
}

struct RunningTree {
    tree: CommandTree,
    output: CapturedOutput,
    looks: ThreadLooks,
    began: Duration,
    /// Time at which this process was last known to run.
    seen: Duration,
    /// The cpu time of the calling thread at that moment.
    computed: Duration,
    was_held: bool,
}

impl RunningTree {
    /// Records that this process runs. It was stopped if more than `longest` passed without computing. Returns the time.
    fn notice_pause(&mut self, longest: Duration) -> Duration {
        let (now, computed) = (monotonic_now(), thread_cpu_time());
        let idle = now.saturating_sub(self.seen).saturating_sub(computed.saturating_sub(self.computed));
        self.was_held |= idle > longest;
        (self.seen, self.computed) = (now, computed);
        now
    }

    /// Waits for the end, reads the output, and looks at the threads meanwhile.
    fn attend_command(
        &mut self,
        execution: &CommandExecution<'_>,
        visits: &mut RateVisits,
        receive: &mut dyn FnMut(&[u8]),
    ) -> EndedTree {
        let deadline = execution.timeout.map(|timeout| self.began + timeout);
        let mut pace = VisitPace::new();
        let mut next_look = self.began + pace.pause;
        loop {
            let woken = self.notice_pause(LONGEST_LOOK);
            let wait = next_look.min(deadline.unwrap_or(next_look)).saturating_sub(woken).min(VisitPace::RAREST);
            self.tree.wait_for_change(&self.output, wait);
            self.notice_pause(VisitPace::RAREST + HELD);
            // The end is checked first: reading the output may take time.
            if let Some((end, at)) = self.tree.reap_command() {
                let is_over = || execution.is_to_end() || deadline.is_some_and(|deadline| deadline <= monotonic_now());
                let patience = execution.patience.max(at.saturating_sub(self.began) / 10);
                if let Some(name) = execution.follow.filter(|_| end == ExecutionEnd::Exited(0)) {
                    let why = || if execution.is_to_end() { ExecutionEnd::Interrupted } else { ExecutionEnd::TimedOut };
                    return self
                        .tree
                        .follow_name(name, &|| is_over().then(why), &mut || self.output.take_output(receive));
                }
                return self.tree.see_off(end, at, patience, &is_over, &mut || self.output.take_output(receive));
            }
            self.output.take_output(receive);
            let why = if execution.is_to_end() {
                Some(ExecutionEnd::Interrupted)
            } else if self.tree.is_stopped {
                Some(ExecutionEnd::Stopped)
            } else {
                deadline.filter(|deadline| *deadline <= monotonic_now()).map(|_| ExecutionEnd::TimedOut)
            };
            if let Some(why) = why {
                return self.tree.end_tree(why);
            }
            if next_look <= monotonic_now() {
                let before = monotonic_now();
                self.looks.observe_threads(self.tree.all_descendants());
                visits.visit_if_due(&self.looks.observed.computing);
                pace.after_visit(monotonic_now().saturating_sub(before));
                next_look = monotonic_now() + pace.pause;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn who_has_lost_its_parent_does_not_begin() {
        use std::os::unix::process::CommandExt as _;
        let begin = |parent: u32| {
            let mut command = Command::new("true");
            // SAFETY: prctl(2) and getppid(2) may be called between fork(2) and execve(2).
            unsafe { command.pre_exec(move || end_with(parent)) };
            command.status()
        };
        assert!(begin(std::process::id()).unwrap().success());
        assert_eq!(begin(u32::MAX).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
