//! `corewise run --pid`: moves a running process to other cpus, through the journal.

use std::collections::HashSet;
use std::io::ErrorKind;

use corewise_lab::placement::resolve_for_process;
use corewise_machine::CpuSet;
use corewise_machine::placement::PlacementExpression;
use corewise_machine::suggested_command;
use corewise_sys::SysError;
use corewise_sys::affinity::{self, has_ended};
use corewise_sys::change::{AffinityChange, Change, ChangeJournal};
use corewise_sys::process::{ProcessIdentity, process_of};
use corewise_sys::processes::{ExecutableFile, ProcessFacts, process_threads};
use corewise_sys::task::thread_count;

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::this_machine;
use crate::app::output::{print_message, print_text};
use crate::app::settings::ProgramSettings;
use crate::draw::suggestion;

/// The first process of a system, whose descendants are all others.
const FIRST_PROCESS: u32 = 1;

/// Maximum number of passes over a process that keeps starting threads.
const MOST_LOOKS: usize = 100;

/// Moves all threads of a process to the cpus of an expression, and prints the equivalent command of the system.
pub fn place_process(
    process: u32,
    on: &PlacementExpression,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let facts = find_process(process)?;
    let cpus = resolve_for_process(on, &this_machine()?, process, settings)?.cpus;
    let mut journal = ChangeJournal::in_folder(settings.journal_folder()?);
    // On failure, the journal reverts the earlier changes.
    let (placed, seen) = place_all(&facts, &cpus, &mut journal)?;
    let pid = facts.process.id;
    journal.keep_changes(&suggested_command::run_process(&on.to_string(), pid).shell_line());
    if process == FIRST_PROCESS {
        print_message(&format!(
            "note: {} ({process}) starts the services of this system: all that start from now on inherit cpus {cpus}",
            facts.name
        ));
    }
    let threads = match thread_count(pid).unwrap_or(seen).max(seen) {
        1 => "1 thread".to_owned(),
        several => format!("{several} threads"),
    };
    let already = match placed {
        0 => "; all were there already".to_owned(),
        _ if placed == seen => String::new(),
        _ => format!("; {} were there already", seen - placed),
    };
    print_text(&format!(
        "{} ({pid}): {threads} on cpus {cpus}{already}\nThe same by hand:  {}\nTo take it back:   {}",
        facts.name,
        affinity::by_hand(pid, &cpus),
        suggestion::format_typed(&suggested_command::undo())
    ))?;
    Ok(CommandExit::Done)
}

fn find_process(process: u32) -> Result<ProcessFacts, CommandFailure> {
    let unreadable = |error| CommandFailure::unavailable_error(format!("cannot look at process {process}: {error}"));
    let missing = || CommandFailure::unavailable_error(format!("there is no process {process}"));
    match process_of(process).map_err(unreadable)? {
        Some(owner) if owner != process => {
            let what = format!("{process} is a thread of process {owner}");
            Err(CommandFailure::usage_error(what).with_hint(format!("All of its threads:  --pid {owner}")))
        }
        None => Err(missing()),
        Some(_) => match ProcessFacts::read_facts(process).map_err(unreadable)?.ok_or_else(missing)? {
            facts if facts.executable == ExecutableFile::Kernel => Err(CommandFailure::unavailable_error(format!(
                "{} ({process}) is a thread of the kernel's",
                facts.name
            ))),
            facts => Ok(facts),
        },
    }
}

/// Places threads until every new one has these cpus, which its own children then inherit. Returns the number of
/// threads placed, and of all threads seen.
fn place_all(
    facts: &ProcessFacts,
    cpus: &CpuSet,
    journal: &mut ChangeJournal,
) -> Result<(usize, usize), CommandFailure> {
    let mut seen: HashSet<ProcessIdentity> = HashSet::new();
    let mut placed = 0;
    for _ in 0..MOST_LOOKS {
        let new: Vec<_> =
            process_threads(facts.process.id).into_iter().filter(|thread| seen.insert(thread.identity)).collect();
        let to_place: Vec<_> = new.into_iter().filter(|thread| thread.cpus != *cpus).collect();
        if to_place.is_empty() && !seen.is_empty() {
            return Ok((placed, seen.len()));
        }
        // Threads that have ended meanwhile are skipped.
        let change = |thread: ProcessIdentity| AffinityChange::new(facts.process, thread, cpus.clone()).ok();
        let changes = to_place.into_iter().filter_map(|thread| change(thread.identity)).map(Change::Affinity).collect();
        for made in journal.make_all(changes).map_err(|error| explain_not_journalled(&error))? {
            match made {
                Ok(_) => placed += 1,
                Err(SysError::Change { source, .. }) if has_ended(&source) => {}
                Err(error) => return Err(explain_refusal(facts, &error)),
            }
        }
        if !facts.process.is_alive() {
            return Err(CommandFailure::unavailable_error(format!("{} ({}) has ended", facts.name, facts.process.id)));
        }
    }
    let what = format!("{} ({}) starts threads faster than they can be placed", facts.name, facts.process.id);
    Err(CommandFailure::unavailable_error(what).with_hint(format!(
        "Its cpus are as before. Start it with:  {}",
        suggestion::format_typed(&suggested_command::run_somewhere())
    )))
}

fn explain_not_journalled(error: &SysError) -> CommandFailure {
    CommandFailure::unavailable_error(error).with_hint("Changes need a journal, so that they can be undone.")
}

fn explain_refusal(facts: &ProcessFacts, error: &SysError) -> CommandFailure {
    let failure =
        CommandFailure::unavailable_error(format!("{} ({}) stays where it is: {error}", facts.name, facts.process.id));
    match error {
        SysError::Change { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            failure.with_hint(format!("It has other rights: {} may place it.", affinity::WHO_PLACES_OTHERS))
        }
        _ => failure,
    }
}
