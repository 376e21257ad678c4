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

/// Returns true if a process runs and is a `keep run`: it executes this program's file by name, with these arguments. A system that does not
/// report the arguments of processes (Wine 8) leaves the name alone.
pub fn is_keeper(keeper: ProcessIdentity) -> bool {
    let facts = ProcessFacts::read_facts(keeper.id).ok().flatten();
    facts.is_some_and(|facts| facts.process == keeper && may_run_keeper(&facts))
}

/// Returns each process of these users that may be a `keep run`.
pub fn find_keepers(users: &[u32]) -> Vec<RunningKeeper> {
    let facts = processes::all_processes().into_iter().filter_map(|id| ProcessFacts::read_facts(id).ok().flatten());
    let keepers = facts.filter(|facts| users.contains(&facts.user) && may_run_keeper(facts));
    let found = |facts: ProcessFacts| RunningKeeper {
        process: facts.process,
        user: facts.user,
        is_certain: !facts.arguments.is_empty(),
    };
    keepers.map(found).collect()
}

fn may_run_keeper(facts: &ProcessFacts) -> bool {
    let words = facts.arguments.iter().skip_while(|word| *word != "keep");
    is_this_program(facts) && (facts.arguments.is_empty() || words.skip(1).any(|word| word == "run"))
}

/// Compares names of files: the keeper may execute an older version, whose file was replaced.
fn is_this_program(facts: &ProcessFacts) -> bool {
    let this = ProcessFacts::read_facts(std::process::id()).ok().flatten();
    this.is_some_and(|this| match (executed_name(&facts.executable), executed_name(&this.executable)) {
        (Some(name), Some(this)) => name == this,
        // The file of another user's process cannot be read.
        _ => facts.name == this.name,
    })
}

fn executed_name(executable: &ExecutableFile) -> Option<OsString> {
    let ExecutableFile::File { path, .. } = executable else { return None };
    let name = path.file_name()?.to_string_lossy();
    Some(name.strip_suffix(" (deleted)").unwrap_or(&name).into())
}
