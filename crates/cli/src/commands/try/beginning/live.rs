//! Finds the running processes of an experiment, and checks that this user may place them.

use corewise_keep::ProcessScope;
use corewise_lab::experiment::ProcessesSubject;
use corewise_machine::suggested_command;
use corewise_model::keep::{MatchFit, ObservedProcess, RuleMatch};
use corewise_model::trial::{LiveProcess, LiveWorkload, SlotLength, wash_out_s};
use corewise_sys::process::{effective_user, is_root};
use corewise_sys::processes::ProcessFacts;

use super::super::task::LiveTask;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::numbers::check_numbers;
use crate::draw::number::format_duration;
use crate::draw::printable::printable_name;
use crate::draw::suggestion;

/// Stands for the slot length until it is known, in seconds.
const UNKNOWN_S: f64 = 1.0;

impl LiveTask {
    /// Finds the processes as they are now.
    ///
    /// # Errors
    /// There is no such process, or this user may not place it.
    pub fn find(&self) -> Result<ProcessesSubject, CommandFailure> {
        let live = LiveWorkload {
            processes: identify_processes(&self.processes)?,
            matches: self.matches.clone(),
            source: self.source.clone(),
            slot_s: self.slot.map_or(UNKNOWN_S, |slot| slot.as_secs_f64()),
            limits: self.limits.clone(),
        };
        let processes = find_processes(&live)?;
        Ok(ProcessesSubject { live, processes, has_slot: self.slot.is_some(), thread_roles: self.thread_roles.clone() })
    }
}

/// Identifies processes by their present numbers.
pub fn identify_processes(numbers: &[u32]) -> Result<Vec<LiveProcess>, CommandFailure> {
    check_numbers()?;
    let each = |id: &u32| {
        let found =
            corewise_keep::read_process_by_id(*id, is_root()).ok_or_else(|| no_process(&format!("process {id}")))?;
        Ok(LiveProcess { id: *id, start_ticks: found.start_ticks })
    };
    numbers.iter().map(each).collect()
}

fn no_process(what: &str) -> CommandFailure {
    CommandFailure::unavailable_error(format!("there is no {what} that can be placed")).with_hint(format!(
        "{} shows the cpus of a process, and its limits.",
        suggestion::format_mention(&suggested_command::keep_why("PID"))
    ))
}

/// Returns the processes of an experiment as they are now. Descendants belong to their ancestors.
///
/// # Errors
/// A process has ended, none matches, or this user may not place them.
pub fn find_processes(live: &LiveWorkload) -> Result<Vec<ObservedProcess>, CommandFailure> {
    check_numbers()?;
    let mut found = Vec::new();
    for named in &live.processes {
        let process = corewise_keep::read_process_by_id(named.id, is_root())
            .filter(|process| process.start_ticks == named.start_ticks);
        found.push(process.ok_or_else(|| {
            CommandFailure::unavailable_error(format!("process {} has ended", named.id))
                .with_hint("Begin a new experiment with the process that runs now.")
        })?);
    }
    if !live.matches.is_empty() {
        let matches = RuleMatch::of_texts(&live.matches).map_err(CommandFailure::usage_error)?;
        let scope = if is_root() { ProcessScope::System } else { ProcessScope::User(effective_user()) };
        let matching = corewise_keep::list_processes(scope)
            .into_iter()
            .filter(|process| matches.fit_process(process) == MatchFit::Yes);
        let before = found.len();
        found.extend(
            matching.filter(|process| !live.processes.iter().any(|named| named.id == process.id)).collect::<Vec<_>>(),
        );
        if found.len() == before {
            return Err(no_process(&format!("process with {matches}")));
        }
    }
    let numbers: Vec<u32> = found.iter().map(|process| process.id).collect();
    found.retain(|process| !numbers.contains(&process.parent));
    found.iter().try_for_each(check_permission)?;
    Ok(found)
}

/// Checks sched_setaffinity(2)'s permission: root may place all processes, other users their own.
fn check_permission(process: &ObservedProcess) -> Result<(), CommandFailure> {
    let user = ProcessFacts::read_facts(process.id).ok().flatten().map(|facts| facts.user);
    if is_root() || user == Some(effective_user()) {
        return Ok(());
    }
    let what = format!(
        "process {} ({}) belongs to {}: you may not place it",
        process.id,
        printable_name(&process.name),
        printable_name(&process.user)
    );
    Err(CommandFailure::new(CommandExit::Unavailable, what).with_hint("Run corewise as that user, or as root."))
}

/// Describes the slot length found, such as "slots of 0.3 s, each after 0.1 s that do not count; …".
pub fn describe_slot(found: &SlotLength) -> String {
    let seconds = |seconds: f64| format_duration(seconds * 1e9);
    let noise = match found.noise {
        Some(noise) => format!("with nothing changed two slots in a row differ by {:.1} %", 100.0 * noise),
        None => "too little was read to tell by how much two of them differ".to_owned(),
    };
    format!(
        "note: slots of {}, each after {} that do not count; {noise}",
        seconds(found.slot_s),
        seconds(wash_out_s(found.slot_s)),
    )
}
