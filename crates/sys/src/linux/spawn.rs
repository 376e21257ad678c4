//! Starting a command: in this program's place, or as a child.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::signals::{HeldSignals, ignore_signal, pipe_was_ignored};
use super::{standard_files, task};
pub use crate::values::signals::StateChange;
pub use crate::values::spawn::{MannerEffect, SpawnManner};

/// Replaces this program by a command: execvp(3). The command gets signals as this program found them. Returns only on failure.
pub fn replace_program(command: &mut Command) -> io::Error {
    let is_ignored = pipe_was_ignored();
    let give_back = move || {
        ignore_signal(libc::SIGPIPE, is_ignored);
        standard_files::close_those_that_were();
        Ok(())
    };
    // SAFETY: signal(2) and fcntl(2) may be called between fork(2) and execve(2).
    unsafe { command.pre_exec(give_back) };
    command.exec()
}

/// Returns the effect of preferred cpus for a command.
pub fn effect_of_preferred() -> MannerEffect {
    MannerEffect::Unavailable("Linux has no cpus that a program prefers, only masks, which restrict it")
}

/// Returns the effect of requesting that a command is not slowed down to save power.
pub fn effect_of_full_speed() -> MannerEffect {
    MannerEffect::Unavailable("Linux slows no program down by itself, only cpus")
}

/// Replaces this program by a command, in a manner that this system does not have.
pub fn replace_in(_: &mut Command, _: SpawnManner<'_>) -> io::Error {
    io::Error::from(io::ErrorKind::Unsupported)
}

/// Starts a command as a child of the same process group, with the affinity and memory policy of the calling thread and with the signals
/// that this program found. Returns its number.
///
/// # Errors
/// Those of execve(2): the command does not exist or may not be executed. Or no process can be made.
pub fn start_command(command: &mut Command, held: &HeldSignals) -> io::Result<u32> {
    let (before, pipe, child) = (held.held_before(), pipe_was_ignored(), held.child_was_ignored());
    let give_back = move || {
        ignore_signal(libc::SIGPIPE, pipe);
        ignore_signal(libc::SIGCHLD, child);
        standard_files::close_those_that_were();
        before.hold_signals();
        Ok(())
    };
    // SAFETY: signal(2), fcntl(2) and pthread_sigmask(3) may be called between fork(2) and execve(2).
    unsafe { command.pre_exec(give_back) };
    command.spawn().map(|child| child.id())
}

/// Puts a command that is not started yet into a process group of its own, which keys on the terminal do not reach.
pub fn lead_own_group(command: &mut Command) {
    command.process_group(0);
}

/// Makes orphaned descendants children of this process: prctl(2), PR_SET_CHILD_SUBREAPER. If it fails, only orphans are not found.
pub fn adopt_orphans() {
    // SAFETY: a call without memory.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Returns the next change of a child that was not waited for yet, without waiting: waitpid(2). `None` if there is none.
pub fn change_of(child: u32) -> Option<StateChange> {
    let status = wait_for_child(child, libc::WUNTRACED | libc::WCONTINUED)?.0;
    let change = if libc::WIFEXITED(status) {
        StateChange::Exited(libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        StateChange::Killed(libc::WTERMSIG(status))
    } else if libc::WIFSTOPPED(status) {
        StateChange::Stopped(libc::WSTOPSIG(status))
    } else {
        StateChange::Continued
    };
    Some(change)
}

/// Reaps all ended children but one: adopted ones would otherwise stay as long as this process.
pub fn reap_all_but(child: u32) {
    for other in task::child_processes(std::process::id()).into_iter().filter(|other| *other != child) {
        wait_for_child(other, 0);
    }
}

/// Returns the status of a child that has changed, and its resource use if it has ended: wait4(2). It never waits for arbitrary children,
/// so that other code still gets the status of its own.
pub(super) fn wait_for_child(child: u32, options: i32) -> Option<(i32, libc::rusage)> {
    let child = libc::pid_t::try_from(child).ok().filter(|child| *child > 0)?;
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: the kernel fills both; zeros are a valid usage.
    let (changed, usage) = unsafe {
        let changed = libc::wait4(child, &raw mut status, libc::WNOHANG | options, usage.as_mut_ptr());
        (changed, usage.assume_init())
    };
    (changed == child).then_some((status, usage))
}
