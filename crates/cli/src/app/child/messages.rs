//! Messages of `run`: failed starts, what is in force, threads that set their own cpus.

use std::ffi::OsStr;
use std::io::{Error, ErrorKind};
use std::path::Path;

use corewise_lab::placement::ResolvedPlacement;
use corewise_machine::placement::hold::{CORRECTIONS, HoldEvent, HoldSpread, MaskResponse};

use crate::app::child::task::RunTask;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::draw::text::make_printable;

/// Failure of a command that could not be started; exit status as with env(1).
pub fn explain_not_started(program: &OsStr, error: &Error) -> CommandFailure {
    let name = if program.is_empty() { "\"\"".into() } else { program.display().to_string() };
    let what = format!("cannot run {name}: {error}");
    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::OutOfMemory) {
        let next = "No process can be started: there are too many (ulimit -u, pids.max), or no memory is left.";
        return CommandFailure::unavailable_error(what).with_hint(next);
    }
    let folder = Path::new(program).parent().filter(|folder| !folder.as_os_str().is_empty());
    let is_path = folder.is_some() || program.as_encoded_bytes().contains(&b'/');
    if error.kind() == ErrorKind::PermissionDenied && !is_path {
        let next = "This user cannot read a folder of PATH, or cannot execute the file of this name in PATH.";
        return CommandFailure::new(CommandExit::NotExecutable, what).with_hint(next);
    }
    if error.kind() != ErrorKind::NotFound {
        let next = "It exists, but cannot be executed: it is a folder, lacks the permission, or is not a program.";
        return CommandFailure::new(CommandExit::NotExecutable, what).with_hint(next);
    }
    let next = match is_path && Path::new(program).exists() {
        true => "It exists, but its interpreter (the first line of a script) or its loader does not.",
        false if is_path => "There is no such file.",
        false => "It is not in PATH. corewise uses no shell, so built-ins and aliases cannot be run.",
    };
    CommandFailure::new(CommandExit::NotFound, what).with_hint(next)
}

/// Describes what is in force when the command starts.
pub fn describe_in_force(task: &RunTask, place: &ResolvedPlacement) -> String {
    let mut text = format!("corewise: on {} = cpus {}", task.wish.on, place.resolution.cpus);
    if let Some(memory) = &task.wish.memory {
        text.push_str(&format!(", memory {memory}"));
    }
    for out in &place.resolution.left_out {
        text.push_str(&format!("; left out: {} ({})", out.cpus, out.reason.reason_words()));
    }
    for note in &place.resolution.notes {
        text.push_str(&format!("; {}", note.trim_end_matches('.')));
    }
    match &place.threads {
        HoldSpread::Together => {}
        HoldSpread::OnePerThread(_) => text.push_str("; one thread per cpu"),
        HoldSpread::Roles(roles) => {
            for role in roles {
                text.push_str(&format!("; {} on {}", role.name, role.cpus));
            }
        }
    }
    text
}

/// Describes an event of a thread, named as [`describe_thread`] does.
pub fn describe_event(event: &HoldEvent, who: &str) -> String {
    match event {
        HoldEvent::Noticed { cpus, response: MaskResponse::Left, .. } => {
            format!("corewise: {who} changed its cpus to {cpus}; not reset")
        }
        HoldEvent::Noticed { cpus, response: MaskResponse::PutBack(back), .. } => {
            format!("corewise: {who} changed its cpus to {cpus}; reset to {back}")
        }
        HoldEvent::GaveUp { cpus, .. } => {
            format!("corewise: {who} was reset {CORRECTIONS} times and changed its cpus again; it now keeps {cpus}")
        }
        HoldEvent::Refused { why, .. } => format!("corewise: {who} cannot be placed: {why}; it stays where it is"),
    }
}

/// Describes a thread and its process by name: `y-cruncher (812), thread worker (830)`.
pub fn describe_thread(command: &str, process: u32, name: &str, thread: u32) -> String {
    let (command, name) = (make_printable(command), make_printable(name));
    match process == thread {
        true => format!("{command} ({process}), its main thread,"),
        false => format!("{command} ({process}), thread {name} ({thread}),"),
    }
}

/// Summary of the watched threads at the end.
pub fn describe_watched(threads: usize, noticed: usize) -> String {
    format!("corewise: threads seen: {threads}; changed their own cpus: {noticed}")
}

#[cfg(test)]
mod tests {
    use corewise_machine::CpuSet;

    use super::*;

    #[test]
    fn commands_that_cannot_be_started_have_the_status_of_env() {
        let found = |program: &str, kind: ErrorKind| explain_not_started(OsStr::new(program), &Error::from(kind));
        let missing = found("nonsense", ErrorKind::NotFound);
        assert_eq!(
            (missing.exit, missing.what.as_str()),
            (CommandExit::NotFound, "cannot run nonsense: entity not found")
        );
        assert!(missing.next.unwrap().starts_with("It is not in PATH"));
        assert_eq!(found("./nonsense", ErrorKind::NotFound).next.unwrap(), "There is no such file.");
        assert!(found("/proc/self/exe", ErrorKind::NotFound).next.unwrap().contains("interpreter"));
        assert_eq!(found("x/", ErrorKind::NotFound).next.unwrap(), "There is no such file.");
        assert!(found("", ErrorKind::NotFound).what.starts_with("cannot run \"\": "));
        assert_eq!(found("ls", ErrorKind::WouldBlock).exit, CommandExit::Unavailable);
        assert_eq!(found("/", ErrorKind::PermissionDenied).exit, CommandExit::NotExecutable);
    }

    #[test]
    fn events_say_who_did_what_and_what_became_of_it() {
        let cpus = CpuSet::first_cpus(3);
        let main = describe_thread("app", 7, "app", 7);
        let worker = describe_thread("app", 7, "w1", 9);
        let left = HoldEvent::Noticed { process: 7, thread: 7, cpus: cpus.clone(), response: MaskResponse::Left };
        let back = MaskResponse::PutBack(CpuSet::from_cpu(0));
        let back = HoldEvent::Noticed { process: 7, thread: 9, cpus: cpus.clone(), response: back };
        let gave_up = HoldEvent::GaveUp { process: 7, thread: 9, cpus };
        assert_eq!(describe_thread("a", 7, "\u{1b}[31m\u{7}", 9), r"a (7), thread \u{1b}[31m\u{7} (9),");
        assert_eq!(
            describe_event(&left, &main),
            "corewise: app (7), its main thread, changed its cpus to 0-2; not reset"
        );
        assert_eq!(
            describe_event(&back, &worker),
            "corewise: app (7), thread w1 (9), changed its cpus to 0-2; reset to 0"
        );
        let expected =
            "corewise: app (7), thread w1 (9), was reset 10 times and changed its cpus again; it now keeps 0-2";
        assert_eq!(describe_event(&gave_up, &worker), expected);
    }
}
