//! Starting a command: instead of this program, or as a child that is waited for. The mask is in force before its first instruction.

use std::io;
use std::os::windows::io::AsRawHandle as _;
use std::os::windows::process::CommandExt as _;
use std::process::{Child, Command};

use corewise_model::CpuSet;
use windows_sys::Win32::System::Threading::CREATE_SUSPENDED;

use super::attended::attended;
use super::handle::Handle;
use super::job::Job;
use super::missing::answers;
use super::signals::Held;
use super::{affinity, signals, snapshot};
pub use crate::values::signals::StateChange;

/// Runs a command in the place of this program: Windows cannot replace a program, so this one waits and ends with the same status. Keys of
/// the console are the command's, which gets them itself. If this program is killed, the command ends too.
pub fn replace(command: &mut Command) -> io::Error {
    match run(command) {
        Ok(status) => std::process::exit(status),
        Err(error) => error,
    }
}

fn run(command: &mut Command) -> io::Result<i32> {
    let job = Job::new()?;
    signals::leave_to_the_command()?;
    let mut child = start_in(command, &job, &affinity::current()?)?;
    let status = child.wait()?;
    // Those that it has left behind go on.
    job.let_go();
    Ok(status.code().unwrap_or(1))
}

/// Starts a command in a job, on cpus of one group.
pub(super) fn start_in(command: &mut Command, job: &Job, cpus: &CpuSet) -> io::Result<Child> {
    let mut child = command.creation_flags(CREATE_SUSPENDED).spawn()?;
    let process = Handle::constant(child.as_raw_handle());
    let started = job.take(&process, cpus).and_then(|()| snapshot::resume(child.id()));
    if let Err(error) = started {
        let _ = child.kill();
        let _ = child.wait();
        return Err(error);
    }
    Ok(child)
}

pub fn start(command: &mut Command, _: &Held) -> io::Result<u32> {
    let job = Job::new()?;
    let child = start_in(command, &job, &affinity::current()?)?;
    let id = child.id();
    *attended() = Some((child, job));
    Ok(id)
}

/// The end of the command, once; those that it has left behind go on.
pub fn change_of(child: u32) -> Option<StateChange> {
    let mut attended = attended();
    let (command, job) = attended.as_mut().filter(|(command, _)| command.id() == child)?;
    let status = command.try_wait().ok()??;
    job.let_go();
    *attended = None;
    Some(StateChange::Exited(status.code().unwrap_or(1)))
}

answers! {
    fn adopt_orphans() -> () = ();
    fn reap_all_but(u32) -> () = ();
}
