//! Runs a command as a trial: on its cpus, timed from its first instruction to the end of its last process, watched and counted.

mod counted;
mod looks;
mod output;
mod shared_time;
mod supervisor;
mod tree;
mod visits;

use std::io;
use std::time::Duration;

use corewise_machine::CpuSet;

use super::affinity;
use super::memory_policy::Policy;
use super::signals::{ignore, pipe_was_ignored};
use super::thread::thread_cpu_time;
use crate::values::execution::Pace;
pub use crate::values::execution::{
    ClockProbe, End, Executed, Execution, Observed, Started, USUAL_GRACE, USUAL_PATIENCE, Usage,
};
use counted::Counters;
use looks::Looks;
use output::Output;
use shared_time::{SharedTime, now};
use supervisor::Supervisor;
use tree::{Ended, Tree};
use visits::Visits;

/// A wake-up later than requested by this much means that this process was stopped meanwhile, as with Ctrl-Z.
const HELD: Duration = Duration::from_millis(250);
/// Upper limit on the time that reading many threads blocks this thread.
const LONGEST_LOOK: Duration = Duration::from_secs(2);

impl Execution<'_> {
    /// Runs the command and waits for its end. It has no input, and a process group of its own. Its output is read in bulk as it comes, and
    /// `receive` gets the bytes, cut anywhere.
    ///
    /// The command's processes are those below a process of its own, its supervisor, which sleeps while the command runs. Other children of
    /// this process are left alone. If this process ends, however it ends, all of the command's processes are killed, except for set-uid
    /// programs of other users.
    ///
    /// # Errors
    /// If it cannot be started, or the kernel refuses the cpus.
    pub fn run(&self, receive: &mut dyn FnMut(&[u8])) -> io::Result<Executed> {
        if self.at_full_speed {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        // If SIGCHLD is ignored, the kernel discards ended children with their status.
        ignore(libc::SIGCHLD, false);
        let looks = Looks::new(self.cpus)?;
        let mut counters = Counters::prepare();
        let start = SharedTime::new()?;
        let (reader, writer) = io::pipe()?;
        let output = Output::new(reader)?;
        let supervisor = self.spawn(&start, writer)?;
        if let Some(started) = self.started {
            started.started(supervisor.id());
        }
        let mut running = Running {
            tree: Tree::new(supervisor, self.grace),
            output,
            looks,
            began: start.get(),
            seen: start.get(),
            computed: thread_cpu_time(),
            was_held: false,
        };
        // The time from the child's first instruction to here.
        running.notice(Pace::RAREST + HELD);
        let probe = self.clock.filter(|_| !counters.count_cycles());
        let (ended, estimated_gigahertz) =
            Visits::during(probe, running.began, |visits| running.attend(self, visits, receive));
        running.output.take_rest(receive);
        let (gigahertz, migrations) = counters.read();
        let Running { tree, output, looks, began, was_held, .. } = running;
        let usage = tree.usage;
        let supervisor_s = tree.end_supervisor();
        Ok(Executed {
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
            output: output.written.kept(),
        })
    }

    /// Starts the command on its cpus, below a supervisor that stays on the calling thread's.
    fn spawn(&self, start: &SharedTime, output: io::PipeWriter) -> io::Result<Supervisor> {
        let command = self.command(output)?;
        self.cpus.map_or(Ok(()), check)?;
        let (time, pipe, cpus) = (start.writer(), pipe_was_ignored(), self.cpus.cloned());
        let set_memory = self.memory.map(Policy::prepared);
        let last = move |parent| {
            if let Some(cpus) = &cpus {
                affinity::set_current(cpus)?;
            }
            if let Some(set_memory) = &set_memory {
                set_memory()?;
            }
            ignore(libc::SIGPIPE, pipe);
            // In case only the supervisor is killed.
            end_with(parent)?;
            time.write_now();
            Ok(())
        };
        Supervisor::start(command, last)
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
fn check(cpus: &CpuSet) -> io::Result<()> {
    let before = affinity::current()?;
    let given = affinity::set_current(cpus).and_then(|()| affinity::current());
    // On every path: the next child inherits this mask.
    affinity::set_current(&before)?;
    match given? {
        given if given == *cpus => Ok(()),
        given => Err(io::Error::other(format!("the kernel gives cpus {given} of {cpus}"))),
    }
}

struct Running {
    tree: Tree,
    output: Output,
    looks: Looks,
    began: Duration,
    /// Time at which this process was last known to run.
    seen: Duration,
    /// The cpu time of the calling thread at that moment.
    computed: Duration,
    was_held: bool,
}

impl Running {
    /// Records that this process runs. It was stopped if more than `longest` passed without computing. Returns the time.
    fn notice(&mut self, longest: Duration) -> Duration {
        let (now, computed) = (now(), thread_cpu_time());
        let idle = now.saturating_sub(self.seen).saturating_sub(computed.saturating_sub(self.computed));
        self.was_held |= idle > longest;
        (self.seen, self.computed) = (now, computed);
        now
    }

    /// Waits for the end, reads the output, and looks at the threads meanwhile.
    fn attend(&mut self, execution: &Execution<'_>, visits: &mut Visits, receive: &mut dyn FnMut(&[u8])) -> Ended {
        let deadline = execution.timeout.map(|timeout| self.began + timeout);
        let mut pace = Pace::new();
        let mut next_look = self.began + pace.pause;
        loop {
            let woken = self.notice(LONGEST_LOOK);
            let wait = next_look.min(deadline.unwrap_or(next_look)).saturating_sub(woken).min(Pace::RAREST);
            self.tree.wait(&self.output, wait);
            self.notice(Pace::RAREST + HELD);
            // The end is checked first: reading the output may take time.
            if let Some((end, at)) = self.tree.reap() {
                let is_over = || execution.is_to_end() || deadline.is_some_and(|deadline| deadline <= now());
                let patience = execution.patience.max(at.saturating_sub(self.began) / 10);
                if let Some(name) = execution.follow.filter(|_| end == End::Exited(0)) {
                    let why = || if execution.is_to_end() { End::Interrupted } else { End::TimedOut };
                    return self.tree.follow(name, &|| is_over().then(why), &mut || self.output.take(receive));
                }
                return self.tree.see_off(end, at, patience, &is_over, &mut || self.output.take(receive));
            }
            self.output.take(receive);
            let why = if execution.is_to_end() {
                Some(End::Interrupted)
            } else if self.tree.is_stopped {
                Some(End::Stopped)
            } else {
                deadline.filter(|deadline| *deadline <= now()).map(|_| End::TimedOut)
            };
            if let Some(why) = why {
                return self.tree.end(why);
            }
            if next_look <= now() {
                let before = now();
                self.looks.look(self.tree.descendants());
                visits.look(&self.looks.observed.computing);
                pace.looked(now().saturating_sub(before));
                next_look = now() + pace.pause;
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
