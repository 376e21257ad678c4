//! Processes that are a `keep run`, of any user.

use std::ffi::OsString;

use corewise_sys::process::ProcessIdentity;
use corewise_sys::processes::{self, ExecutableFile, ProcessFacts};

/// A running `keep run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningKeeper {
    /// Its process.
    pub process: ProcessIdentity,
    /// Its user, by number.
    pub user: u32,
    /// False if only its name says so, since the system does not report its arguments.
    pub is_certain: bool,
}

/// Returns true if a process runs and is a `keep run`: it executes this program's file by name, with these arguments. The name alone counts
/// if the system reports no arguments, not even of this process (Wine 8).
pub fn is_keeper(keeper: ProcessIdentity) -> bool {
    let facts = read_facts(keeper.id).filter(|facts| facts.process == keeper);
    facts.zip(read_facts(std::process::id())).is_some_and(|(facts, this)| may_run_keeper(&facts, &this))
}

/// Returns each process of these users that may be a `keep run`.
pub fn find_keepers(users: &[u32]) -> Vec<RunningKeeper> {
    let Some(this) = read_facts(std::process::id()) else { return Vec::new() };
    let facts = processes::all_processes().into_iter().filter_map(read_facts);
    let keepers = facts.filter(|facts| users.contains(&facts.user) && may_run_keeper(facts, &this));
    let found = |facts: ProcessFacts| RunningKeeper {
        process: facts.process,
        user: facts.user,
        is_certain: !facts.arguments.is_empty(),
    };
    keepers.map(found).collect()
}

fn read_facts(process: u32) -> Option<ProcessFacts> {
    ProcessFacts::read_facts(process).ok().flatten()
}

fn may_run_keeper(facts: &ProcessFacts, this: &ProcessFacts) -> bool {
    let words = facts.arguments.iter().skip_while(|word| *word != "keep");
    let is_unreported = facts.arguments.is_empty() && this.arguments.is_empty();
    executes_same_program(facts, this) && (is_unreported || words.skip(1).any(|word| word == "run"))
}

/// Compares names of files: the keeper may execute an older version, with its file replaced.
fn executes_same_program(facts: &ProcessFacts, this: &ProcessFacts) -> bool {
    match (executed_name(&facts.executable), executed_name(&this.executable)) {
        (Some(name), Some(this)) => name == this,
        // The file of another user's process cannot be read.
        _ => facts.name == this.name,
    }
}

fn executed_name(executable: &ExecutableFile) -> Option<OsString> {
    let ExecutableFile::File { path, .. } = executable else { return None };
    let name = path.file_name()?.to_string_lossy();
    Some(name.strip_suffix(" (deleted)").unwrap_or(&name).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_alone_makes_no_keeper_if_the_system_reports_arguments() {
        let with = |arguments: &[&str]| {
            let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
            ProcessFacts { arguments, ..read_facts(std::process::id()).unwrap() }
        };
        let (this, keeper) = (with(&["corewise", "keep", "reload"]), with(&["corewise", "keep", "--user", "run"]));
        assert!(may_run_keeper(&keeper, &this));
        assert!(!may_run_keeper(&with(&["corewise", "run", "keep"]), &this));
        assert!(!may_run_keeper(&with(&[]), &this), "it has removed its arguments");
        assert!(may_run_keeper(&with(&[]), &with(&[])), "no process has any here");
    }
}
