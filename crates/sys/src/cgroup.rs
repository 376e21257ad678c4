//! A control group of version 2 that holds a command on cpus and memory nodes, where the controller cpuset is delegated.
//!
//! The rules are those of Documentation/admin-guide/cgroup-v2.rst of the kernel. Our own group has processes in it: corewise
//! and whoever started it. Below a group with processes the kernel accepts threaded groups alone, for threaded controllers
//! alone, of which cpuset is one; only the root of the hierarchy is exempt.

mod facts;
mod place;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use corewise_machine::CpuSet;

use crate::change::{Change, Journal, Undone};
use crate::error::SysError;
use crate::os::entrance;
pub use crate::values::cgroup::CgroupRefusal;
pub use entrance::Entry;
pub use facts::{Facts, Plan};
pub use place::locate;

/// How many groups one process may have at a time.
const MOST_GROUPS: u32 = 1000;

/// A control group of our own, empty until a command enters it.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
    entrance: File,
    /// The numbers of the changes in the journal, in the order in which they were made.
    changes: Vec<u32>,
}

impl Cgroup {
    /// Makes a group below the one this process is in, that may use these cpus and, where they are given, these memory
    /// nodes only. All changes go through the journal; where something fails, all is put back before this returns.
    ///
    /// # Errors
    /// [`SysError::Cgroup`] where there can be no such group or the kernel gives it less; [`SysError::Journal`],
    /// [`SysError::JournalRefused`] and [`SysError::Change`] as [`Journal::make`].
    pub fn prepare(journal: &mut Journal, cpus: &CpuSet, nodes: Option<&CpuSet>) -> Result<Self, SysError> {
        if cfg!(windows) {
            return Err(CgroupRefusal::None.into());
        }
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let home = locate(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))?;
        Self::prepare_in(&home, journal, cpus, nodes)
    }

    /// As [`Cgroup::prepare`], below a given group.
    fn prepare_in(home: &Path, journal: &mut Journal, cpus: &CpuSet, nodes: Option<&CpuSet>) -> Result<Self, SysError> {
        let refused = |source| CgroupRefusal::NotPermitted { path: home.to_owned(), source };
        // Until all is checked: another corewise that ends here might turn the controller off again.
        let held = journal.hold_groups()?;
        let plan = Facts::read(home).map_err(refused)?.plan(home)?;
        check_writable(home)?;
        let mut changes = Vec::new();
        let prepared = enabled(home, plan, journal, &mut changes)
            .and_then(|()| made(home, journal, &mut changes))
            .and_then(|path| filled(path, plan, cpus, nodes));
        match prepared {
            Ok((path, entrance)) => Ok(Self { path, entrance, changes }),
            Err(error) => {
                // Undoing takes the lock itself.
                drop(held);
                changes.iter().rev().for_each(|change| drop(journal.undo(*change)));
                Err(error)
            }
        }
    }

    /// The folder of the group.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a command enter the group before its first instruction; its children are born into it. What restricts the
    /// command's affinity must be asked for after this: on many kernels entering sets it to the group's cpus.
    ///
    /// # Errors
    /// When there are no file numbers left.
    pub fn hold(&self, command: &mut Command) -> io::Result<Entry> {
        entrance::enter_first(command, self.entrance.try_clone()?)
    }

    /// Removes the group and puts everything back, the last change first. Processes that the command left behind go back
    /// to the group they came from.
    pub fn finish(self, journal: &mut Journal) -> Vec<Undone> {
        self.changes.iter().rev().filter_map(|change| journal.undo(*change)).collect()
    }
}

/// Opening for writing changes nothing, and the kernel checks what it would check then.
fn check_writable(home: &Path) -> Result<(), CgroupRefusal> {
    for name in ["cgroup.procs", "cgroup.subtree_control"] {
        let path = home.join(name);
        let opened = OpenOptions::new().write(true).open(&path);
        opened.map_err(|source| CgroupRefusal::NotPermitted { path, source })?;
    }
    Ok(())
}

/// Turns the controller on, where it is off; where another corewise turned it on, turning it off is shared.
fn enabled(home: &Path, plan: Plan, journal: &mut Journal, changes: &mut Vec<u32>) -> Result<(), SysError> {
    let change = Change::controller(home, "cpuset");
    if plan.enable || journal.is_held_elsewhere(&change)? {
        changes.push(journal.make(change)?);
    }
    Ok(())
}

/// Makes the group's folder, under a name that tells whose it is.
fn made(home: &Path, journal: &mut Journal, changes: &mut Vec<u32>) -> Result<PathBuf, SysError> {
    let own = std::process::id();
    let mut names = (1..=MOST_GROUPS).map(|number| match number {
        1 => home.join(format!("corewise-{own}")),
        _ => home.join(format!("corewise-{own}-{number}")),
    });
    let path = names.find(|path| !path.exists()).unwrap_or_else(|| home.join(format!("corewise-{own}")));
    changes.push(journal.make(Change::folder(&path, home))?);
    Ok(path)
}

/// What is written inside our own folder goes with it, and needs no entry in the journal.
fn filled(path: PathBuf, plan: Plan, cpus: &CpuSet, nodes: Option<&CpuSet>) -> Result<(PathBuf, File), SysError> {
    if plan.threaded {
        put(&path, "cgroup.type", "threaded")?;
    }
    restrict(&path, "cpuset.cpus", "cpus", cpus)?;
    if let Some(nodes) = nodes {
        restrict(&path, "cpuset.mems", "memory nodes", nodes)?;
    }
    let entrance = path.join("cgroup.procs");
    let opened = OpenOptions::new().write(true).open(&entrance);
    let opened = opened.map_err(|source| CgroupRefusal::NotPermitted { path: entrance, source })?;
    Ok((path, opened))
}

fn put(group: &Path, file: &str, value: &str) -> Result<(), SysError> {
    let path = group.join(file);
    let what = format!("file {}: \"{value}\"", path.display());
    let mut opened =
        OpenOptions::new().write(true).open(&path).map_err(|source| SysError::Change { what: what.clone(), source })?;
    opened.write_all(value.as_bytes()).map_err(|source| SysError::Change { what, source })
}

/// Writes what is wanted and reads what takes effect: the kernel cuts it to what the groups above have, and where nothing
/// of it remains it takes all of theirs.
fn restrict(group: &Path, file: &str, what: &'static str, wanted: &CpuSet) -> Result<(), SysError> {
    put(group, file, &wanted.to_string())?;
    let path = group.join(format!("{file}.effective"));
    let text = fs::read_to_string(&path).map_err(|source| SysError::Read { path: path.clone(), source })?;
    let given = CpuSet::parse_list(&text).unwrap_or_default();
    if given == *wanted {
        return Ok(());
    }
    Err(CgroupRefusal::GivesLess { what, wanted: wanted.clone(), given }.into())
}
