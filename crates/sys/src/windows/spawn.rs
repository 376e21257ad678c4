//! Starting a command: instead of this program, or as a child. The mask is in force before its first instruction.

use std::collections::HashSet;
use std::io;
use std::os::windows::process::CommandExt as _;
use std::process::{Child, Command};
use std::time::Duration;

use corewise_machine::CpuSet;
use windows_sys::Win32::System::Threading::{CREATE_NEW_PROCESS_GROUP, CREATE_SUSPENDED};

use super::attended::attended_command;
use super::handle::KernelHandle;
use super::job::KernelJob;
use super::missing::answers;
use super::preferred_sets::PreferredSets;
use super::signals::HeldSignals;
use super::version::wine_version;
use super::{affinity, signals, snapshot, throttling};
pub use crate::values::signals::StateChange;
pub use crate::values::spawn::{MannerEffect, SpawnManner};

/// Interval of searching for new processes of a command that prefers cpus.
const LOOK: Duration = Duration::from_millis(20);

/// Returns the effect of preferred cpus for a command.
pub fn effect_of_preferred() -> MannerEffect {
    but_for_wine("cpu sets")
}

/// Returns the effect of requesting that a command is not slowed down to save power.
pub fn effect_of_full_speed() -> MannerEffect {
    but_for_wine("the setting of power throttling")
}

fn but_for_wine(what: &str) -> MannerEffect {
    let nothing = |version| MannerEffect::Nothing(format!("Wine {version} accepts {what}, and does nothing with it"));
    wine_version().map_or(MannerEffect::InForce, nothing)
}

/// Runs a command in place of this program. Windows cannot replace a program, so this one waits and ends with the same status. The command
/// gets keys of the console itself. If this program is killed, the command ends too.
pub fn replace_program(command: &mut Command) -> io::Error {
    replace_in(command, SpawnManner::default())
}

/// As [`replace_program`], with options. Processes that the command starts do not inherit preferred cpus: they are found by polling, and prefer
/// them from then on.
pub fn replace_in(command: &mut Command, manner: SpawnManner<'_>) -> io::Error {
    match run(command, manner) {
        Ok(status) => std::process::exit(status),
        Err(error) => error,
    }
}

/// Puts a command that is not started yet into a process group of its own, which keys on the console do not reach.
pub fn lead_own_group(command: &mut Command) {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

fn run(command: &mut Command, manner: SpawnManner<'_>) -> io::Result<i32> {
    let job = KernelJob::new()?;
    let preferred = manner.preferred.map(PreferredSets::new).transpose()?;
    let own = if preferred.is_none() { Some(affinity::current_affinity()?) } else { None };
    signals::leave_to_the_command()?;
    let start = SpawnStart { cpus: own.as_ref(), preferred: preferred.as_ref(), at_full_speed: manner.at_full_speed };
    let mut child = start_in(command, &job, start)?;
    if let Some(preferred) = &preferred {
        attend_child(&child, &job, preferred);
    }
    let status = child.wait()?;
    // Processes that it has left behind continue.
    job.let_go();
    Ok(status.code().unwrap_or(1))
}

/// Places the processes that a command starts, until it ends.
fn attend_child(child: &Child, job: &KernelJob, preferred: &PreferredSets) {
    let mut known = HashSet::from([child.id()]);
    while !KernelHandle::of_child(child).has_ended(LOOK) {
        let processes = job.process_numbers();
        for process in processes.iter().filter(|process| !known.contains(process)) {
            // Fails harmlessly for a process that has ended meanwhile, or that this user may not place.
            let _ = preferred.set_by_number(*process);
        }
        known = processes.into_iter().collect();
    }
}

/// Options of starting a command: cpus of one group, preferred cpus, and never slowed down to save power.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpawnStart<'a> {
    pub cpus: Option<&'a CpuSet>,
    pub preferred: Option<&'a PreferredSets>,
    pub at_full_speed: bool,
}

/// Starts a command in a job; all options hold before its first instruction.
pub(super) fn start_in(command: &mut Command, job: &KernelJob, start: SpawnStart<'_>) -> io::Result<Child> {
    let mut child = command.creation_flags(CREATE_SUSPENDED).spawn()?;
    let process = KernelHandle::of_child(&child);
    let started = || {
        job.hold_process(&process, start.cpus)?;
        start.preferred.map_or(Ok(()), |preferred| preferred.set_preferred(&process))?;
        if start.at_full_speed {
            throttling::disable_throttling(&process)?;
        }
        snapshot::resume_process(child.id())
    };
    if let Err(error) = started() {
        let _ = child.kill();
        let _ = child.wait();
        return Err(error);
    }
    Ok(child)
}

pub fn start_command(command: &mut Command, _: &HeldSignals) -> io::Result<u32> {
    let job = KernelJob::new()?;
    let cpus = affinity::current_affinity()?;
    let child = start_in(command, &job, SpawnStart { cpus: Some(&cpus), ..SpawnStart::default() })?;
    let id = child.id();
    *attended_command() = Some((child, job));
    Ok(id)
}

/// Returns the end of the command, once; processes that it has left behind continue.
pub fn change_of(child: u32) -> Option<StateChange> {
    let mut attended = attended_command();
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
