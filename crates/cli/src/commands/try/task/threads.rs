//! The numbers of threads to try.

use corewise_lab::experiment::{ThreadCounts, ThreadPinning};
use corewise_model::trial::{LOAD, THREADS_PLACE};

use crate::app::failure::CommandFailure;
use crate::commands::r#try::arguments::TryArguments;
use crate::commands::r#try::task::PartsTask;

/// Maximum number of thread counts. With more, a block would take too long.
const MOST_COUNTS: usize = 32;

/// Interprets `--threads`: placements for one number of threads, or a list of numbers to try.
pub fn read_threads(
    typed: &TryArguments,
    parts: &PartsTask,
) -> Result<(Option<u32>, Option<ThreadCounts>), CommandFailure> {
    let mut counts = typed.threads.clone();
    counts.sort_unstable();
    counts.dedup();
    let typed_words = typed.command.iter().map(|word| word.to_string_lossy());
    let mut words = typed_words.chain(parts.load.iter().map(|word| word.as_str().into()));
    let in_command = words.any(|word| word.contains(THREADS_PLACE));
    let services = parts.parts.iter().flat_map(|parts| &parts.services);
    let mut pinned_roles: Vec<String> = services
        .filter(|service| !typed.threads_as.is_empty() || service.start.contains(THREADS_PLACE))
        .map(|service| service.name.clone())
        .collect();
    let is_told = in_command || !typed.threads_as.is_empty() || !pinned_roles.is_empty();
    if in_command && parts.parts.is_some() {
        pinned_roles.push(LOAD.to_owned());
    }
    match counts[..] {
        [] => return Ok((None, None)),
        [count] if !is_told && parts.parts.is_none() && typed.pinned.is_none() && typed.pins_as.is_empty() => {
            return Ok((Some(count), None));
        }
        _ if !is_told => return Err(no_variable_failure(&counts)),
        _ => {}
    }
    refuse_parts(parts)?;
    if counts.len() > MOST_COUNTS {
        let what =
            format!("--threads: {} numbers were given, and at most {MOST_COUNTS} can be tried at once", counts.len());
        return Err(CommandFailure::usage_error(what).with_hint("Powers of two are enough: 1,2,4,8,16,32"));
    }
    if !(typed.guard.is_empty() && typed.guard_higher.is_empty()) {
        let next = "Try the guard's metric by itself: --metric 'NAME=REGEX'";
        return Err(CommandFailure::usage_error("--guard cannot be combined with a list of threads").with_hint(next));
    }
    let pinned = typed.pinned.map_or(ThreadPinning::Both, ThreadPinning::from);
    if pinned == ThreadPinning::No && !typed.pins_as.is_empty() {
        return Err(CommandFailure::usage_error("--pins-as pins threads, and --pinned no forbids it")
            .with_hint("Leave out one of them."));
    }
    let variables = |option: &str, names: &[String]| {
        names.iter().map(|name| check_variable(option, name)).collect::<Result<_, _>>()
    };
    let (variables, pins) = (variables("--threads-as", &typed.threads_as)?, variables("--pins-as", &typed.pins_as)?);
    Ok((None, Some(ThreadCounts { counts, pinned, variables, pins, pinned_roles })))
}

/// Refuses services that stay, and placements of their own.
fn refuse_parts(parts: &PartsTask) -> Result<(), CommandFailure> {
    if parts.parts.as_ref().is_some_and(|parts| parts.keep_started) {
        let what = "--threads starts the services anew with each number, and --keep-started starts them once";
        return Err(CommandFailure::usage_error(what).with_hint("Leave out --keep-started."));
    }
    if !parts.placements.is_empty() {
        let what = "--threads does not go with the placements in the file of --parts";
        return Err(CommandFailure::usage_error(what).with_hint("Leave out [[placement]], or --threads."));
    }
    Ok(())
}

fn no_variable_failure(counts: &[u32]) -> CommandFailure {
    let list: Vec<String> = counts.iter().map(u32::to_string).collect();
    let what = format!("--threads {}: the program does not get its number of threads", list.join(","));
    CommandFailure::usage_error(what).with_hint(
        "Name the variable that it reads (--threads-as OMP_NUM_THREADS), or write {threads} in the command, or in \
         that of a service: ./app -t {threads}",
    )
}

/// Checks that an environment variable can have this name.
fn check_variable(option: &str, name: &str) -> Result<String, CommandFailure> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(CommandFailure::usage_error(format!("{option}: \"{name}\" cannot be the name of a variable"))
            .with_hint("For example: --threads-as OMP_NUM_THREADS --pins-as GOMP_CPU_AFFINITY"));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::run::parse_typed;

    fn understood(words: &[&str]) -> Result<(Option<u32>, Option<ThreadCounts>), String> {
        let typed = parse_typed(&[&["try"], words].concat())?;
        PartsTask::new(&typed).and_then(|parts| read_threads(&typed, &parts)).map_err(|failure| failure.what)
    }

    fn table(
        counts: &[u32],
        pinned: ThreadPinning,
        variables: &[&str],
    ) -> Result<(Option<u32>, Option<ThreadCounts>), String> {
        let variables = variables.iter().map(|name| (*name).to_owned()).collect();
        Ok((
            None,
            Some(ThreadCounts {
                counts: counts.to_vec(),
                pinned,
                variables,
                pins: Vec::new(),
                pinned_roles: Vec::new(),
            }),
        ))
    }

    #[test]
    fn one_number_plans_and_a_place_for_it_tries() {
        assert_eq!(understood(&["--", "ls"]), Ok((None, None)));
        assert_eq!(understood(&["--threads", "4", "--", "ls"]), Ok((Some(4), None)));
        assert_eq!(understood(&["--threads", "4", "--", "ls", "-j{threads}"]), table(&[4], ThreadPinning::Both, &[]));
        assert_eq!(
            understood(&["--threads", "4", "--threads-as", "N", "ls"]),
            table(&[4], ThreadPinning::Both, &["N"])
        );
    }

    #[test]
    fn parts_that_have_the_number_are_pinned() {
        let pinned = |words: &[&str]| {
            let parts = ["--threads", "1,2", "--start", "a=./a {threads}", "--start", "b=./b"];
            understood(&[&parts[..], words].concat()).unwrap().1.unwrap().pinned_roles
        };
        assert_eq!(pinned(&["--", "ls"]), ["a"]);
        assert_eq!(pinned(&["--", "ls", "{threads}"]), ["a", "load"]);
        assert_eq!(pinned(&["--threads-as", "N", "--", "ls"]), ["a", "b"]);
    }

    #[test]
    fn numbers_are_sorted_and_tried_once() {
        let words = ["--threads", "8,1,2,8", "--threads-as", "A", "--threads-as", "B", "--pinned", "no", "ls"];
        assert_eq!(understood(&words), table(&[1, 2, 8], ThreadPinning::No, &["A", "B"]));
    }

    #[test]
    fn what_cannot_be_tried_is_said() {
        let list: Vec<String> = (1..=33).map(|count: u32| count.to_string()).collect();
        let many = list.join(",");
        let cases: [(&[&str], &str); 15] = [
            (&["--threads", "1,2", "ls"], "the program does not get its number"),
            (&["--threads", "2", "--pinned", "yes", "ls"], "the program does not get its number"),
            (&["--threads", &many, "--threads-as", "N", "ls"], "33 numbers"),
            (&["--threads", "1,2", "--threads-as", "A=B", "ls"], "cannot be the name"),
            (&["--threads", "1,2", "--guard", "a=b", "--", "ls", "{threads}"], "--guard"),
            (&["--threads", "1,2", "--on", "0", "--", "ls", "{threads}"], "cannot be used with"),
            (&["--threads", "0,2", "--", "ls", "{threads}"], "0 is not in"),
            (&["--threads", "2", "--start", "a=b", "ls"], "the program does not get its number"),
            (&["--threads", "1,2", "--keep-started", "--start", "a=b {threads}", "ls"], "--keep-started"),
            (&["--threads-as", "N", "ls"], "--threads"),
            (&["--pinned", "no", "ls"], "--threads"),
            (&["--pins-as", "N", "ls"], "--threads"),
            (&["--threads", "4", "--pins-as", "N", "ls"], "the program does not get its number"),
            (&["--threads", "1,2", "--pins-as", "A", "--pinned", "no", "--", "ls", "{threads}"], "--pinned no"),
            (&["--threads", "1,2", "--pins-as", "", "--", "ls", "{threads}"], "--pins-as: \"\" cannot be the name"),
        ];
        for (words, expected) in cases {
            let told = understood(words).unwrap_err();
            assert!(told.contains(expected), "{words:?}: {told}");
        }
    }
}
