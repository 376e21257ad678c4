//! The scripts that hosts run, and what their ends mean.

use corewise_machine::suggested_command::quote_word;
use corewise_model::fleet::{NodeProblem, ProblemKind};

use super::super::collected_child::{ChildOutcome, EndedChild};
use super::super::folder::last_line;
use super::super::node_problem;

/// Status of the script if corewise is not there, as a shell's.
const NOT_THERE: i32 = 127;
/// Status of the script if only other versions are there. No status of corewise's.
const OTHER_VERSION: i32 = 97;
/// Status of ssh itself if there was no connection.
const NO_CONNECTION: i32 = 255;
/// Folder of copies, in the home.
const COPIES: &str = ".cache/corewise";

/// Returns the program's path on a host that got a copy.
fn copy_path(version: &str) -> String {
    format!("\"$HOME\"/{COPIES}/corewise-{version}")
}

/// Makes one word for the host's own shell, whichever it is, of a script for sh(1).
fn wrap_script(script: &str) -> String {
    format!("exec sh -c {}", quote_word(script))
}

/// Returns the command that runs corewise of this version on a host: the installed one, or a copy.
pub(super) fn write_job_script(version: &str, arguments: &[String]) -> String {
    let words = arguments.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" ");
    let line = quote_word(&format!("corewise {version}"));
    wrap_script(&format!(
        "o=; for p in corewise {copy}; do v=$(\"$p\" --version 2>/dev/null </dev/null) || continue; \
         if [ \"$v\" = {line} ]; then exec \"$p\" {words}; fi; o=$v; done; \
         [ -z \"$o\" ] && exit {NOT_THERE}; echo \"$o\" >&2; exit {OTHER_VERSION}",
        copy = copy_path(version)
    ))
}

/// Returns the command that stores standard input as corewise of this version, and proves that it runs there.
pub(super) fn write_copy_script(version: &str) -> String {
    let (copy, line) = (copy_path(version), quote_word(&format!("corewise {version}")));
    wrap_script(&format!(
        "umask 077; p={copy}; d=\"$p.$$\"; mkdir -p \"$HOME\"/{COPIES} && cat > \"$d\" && chmod 700 \"$d\" && \
         v=$(\"$d\" --version </dev/null) && [ \"$v\" = {line} ] && mv -f \"$d\" \"$p\" || {{ rm -f \"$d\"; exit 1; }}"
    ))
}

/// Returns the exit status; `None` if there is none.
pub(super) fn read_status(ended: &EndedChild) -> Option<i32> {
    if let ChildOutcome::Exited(status) = ended.outcome { status } else { None }
}

/// Returns true if a job's status means that the host has no corewise, or another version.
pub(super) fn lacks_program(status: i32) -> bool {
    [NOT_THERE, OTHER_VERSION].contains(&status)
}

/// Describes why a job failed.
pub(super) fn describe_failure(ended: &EndedChild, version: &str) -> NodeProblem {
    let said = last_line(&ended.errors);
    match read_status(ended) {
        Some(NO_CONNECTION) => describe_no_connection(&said),
        Some(NOT_THERE) => node_problem(ProblemKind::NotInstalled, "no corewise there: --copy brings it"),
        Some(OTHER_VERSION) => {
            node_problem(ProblemKind::OtherVersion, format!("{said} is there, not {version}: --copy brings it"))
        }
        Some(status) if said.is_empty() => node_problem(ProblemKind::Died, format!("it failed with status {status}")),
        Some(status) => node_problem(ProblemKind::Died, format!("status {status}: {said}")),
        None => node_problem(ProblemKind::Died, "ssh was killed"),
    }
}

/// Describes why there was no connection, with ssh's own words.
fn describe_no_connection(said: &str) -> NodeProblem {
    let refusals = ["Permission denied", "Host key verification failed", "Too many authentication failures"];
    let said = if said.is_empty() { "the connection was lost" } else { said };
    let kind = match () {
        () if refusals.iter().any(|refusal| said.contains(refusal)) => ProblemKind::Refused,
        () if said.contains("timed out") => ProblemKind::TimedOut,
        () => ProblemKind::NotStarted,
    };
    node_problem(kind, format!("ssh: {}", said.trim_start_matches("ssh: ")))
}

/// Describes why the program could not be copied.
pub(super) fn describe_failed_copy(ended: &EndedChild) -> NodeProblem {
    let said = last_line(&ended.errors);
    match read_status(ended) {
        Some(NO_CONNECTION) => describe_no_connection(&said),
        _ if said.is_empty() => node_problem(ProblemKind::NotInstalled, "the copy of corewise does not run there"),
        _ => node_problem(ProblemKind::NotInstalled, format!("corewise cannot be copied there: {said}")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Output, Stdio};

    use super::*;

    /// Runs a script as a host would, in a home of its own.
    fn run_script(script: &str, home: &std::path::Path, input: &[u8]) -> Output {
        let path = format!("{}/bin:/usr/bin:/bin", home.display());
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("HOME", home).env("PATH", path);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A script that does not read its input may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    fn program(version: &str) -> Vec<u8> {
        format!("#!/bin/sh\nif [ \"$1\" = --version ]; then echo corewise {version}; else printf '%s|' \"$@\"; fi\n")
            .into_bytes()
    }

    #[test]
    fn a_host_runs_its_own_program_or_a_copy_and_no_other_version() {
        let home = tempfile::tempdir().unwrap();
        let words = ["fleet", "it's  $HOME"].map(str::to_owned);
        let run = |version: &str| run_script(&write_job_script(version, &words), home.path(), b"");
        assert_eq!(run("2.0").status.code(), Some(NOT_THERE));
        let copied = run_script(&write_copy_script("2.0"), home.path(), &program("2.0"));
        assert_eq!(copied.status.code(), Some(0), "{}", String::from_utf8_lossy(&copied.stderr));
        assert_eq!(run("2.0").stdout, b"fleet|it's  $HOME|");
        assert_eq!(run("3.0").status.code(), Some(NOT_THERE), "copies have their versions in their names");
        std::fs::create_dir(home.path().join("bin")).unwrap();
        let installed = home.path().join("bin/corewise");
        std::fs::write(&installed, program("1.0")).unwrap();
        assert!(Command::new("chmod").arg("755").arg(&installed).status().unwrap().success());
        let other = run("3.0");
        assert_eq!((other.status.code(), other.stderr), (Some(OTHER_VERSION), b"corewise 1.0\n".to_vec()));
        assert_eq!(run("2.0").stdout, b"fleet|it's  $HOME|", "the copy is found behind another version");
        assert_eq!(run("1.0").stdout, b"fleet|it's  $HOME|");
    }

    #[test]
    fn a_copy_that_does_not_run_there_is_removed() {
        let home = tempfile::tempdir().unwrap();
        for bytes in [&b"not a program"[..], &program("1.0")] {
            assert_eq!(run_script(&write_copy_script("2.0"), home.path(), bytes).status.code(), Some(1));
        }
        assert_eq!(std::fs::read_dir(home.path().join(COPIES)).unwrap().count(), 0);
    }

    #[test]
    fn a_failure_of_ssh_is_said_in_its_words() {
        let ended = |status, errors: &str| EndedChild {
            outcome: ChildOutcome::Exited(Some(status)),
            output: Vec::new(),
            errors: errors.into(),
        };
        let problem = |status, errors| describe_failure(&ended(status, errors), "2.0");
        let refused = problem(255, "alice@a: Permission denied (publickey).\n");
        assert_eq!(
            (refused.kind, refused.reason.as_str()),
            (ProblemKind::Refused, "ssh: alice@a: Permission denied (publickey).")
        );
        assert_eq!(problem(255, "ssh: connect to host a port 22: Connection timed out").kind, ProblemKind::TimedOut);
        assert_eq!(problem(255, "ssh: Could not resolve hostname a").reason, "ssh: Could not resolve hostname a");
        assert_eq!(problem(3, "note\nerror: busy\n  Wait until it has ended.\n").reason, "status 3: busy");
        assert_eq!(problem(1, "note\nkilled\n\n").reason, "status 1: killed");
        assert_eq!(problem(97, "corewise 1.0\n").kind, ProblemKind::OtherVersion);
    }
}
