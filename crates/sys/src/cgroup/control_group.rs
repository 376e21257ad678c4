//! A control group of version 2 that holds a command on cpus and memory nodes, if the controller cpuset is delegated.
//!
//! The rules are those in the kernel's Documentation/admin-guide/cgroup-v2.rst. Our own group contains processes: corewise and its parent.
//! Below a group with processes the kernel accepts only threaded groups, for threaded controllers, of which cpuset is one. Only the root of
//! the hierarchy is exempt.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use corewise_machine::CpuSet;

use super::facts::{CgroupFacts, CgroupPlan};
use super::place::locate_group;
use super::{CgroupRefusal, GroupEntry};
use crate::change::{Change, ChangeJournal, UndoneChange};
use crate::error::SysError;
use crate::os::group_entry;

/// Maximum number of groups of one process.
const MOST_GROUPS: u32 = 1000;

/// A control group of our own, empty until a command enters it.
#[derive(Debug)]
pub struct ControlGroup {
    path: PathBuf,
    entrance: File,
    /// Journal numbers of the changes, in the order in which they were made.
    changes: Vec<u32>,
}

impl ControlGroup {
    /// Makes a group below this process's own group, restricted to these cpus and, if given, these memory nodes. All changes go through the
    /// journal; on failure all are undone before this returns.
    ///
    /// # Errors
    /// [`SysError::Cgroup`] if no such group is possible or the kernel gives it less; [`SysError::Journal`], [`SysError::JournalRefused`]
    /// and [`SysError::Change`] as [`ChangeJournal::make_change`].
    pub fn make_group(journal: &mut ChangeJournal, cpus: &CpuSet, nodes: Option<&CpuSet>) -> Result<Self, SysError> {
        if cfg!(windows) {
            return Err(CgroupRefusal::None.into());
        }
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let home = locate_group(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))?;
        Self::prepare_in(&home, journal, cpus, nodes)
    }

    /// As [`ControlGroup::make_group`], below `home`.
    fn prepare_in(
        home: &Path,
        journal: &mut ChangeJournal,
        cpus: &CpuSet,
        nodes: Option<&CpuSet>,
    ) -> Result<Self, SysError> {
        let refused = |source| CgroupRefusal::NotPermitted { path: home.to_owned(), source };
        // Held until all is checked: another corewise that ends now might turn the controller off again.
        let held = journal.hold_groups()?;
        let plan = CgroupFacts::read_group(home).map_err(refused)?.plan_group(home)?;
        check_writable(home)?;
        let mut changes = Vec::new();
        let prepared = enable_controller(home, plan, journal, &mut changes)
            .and_then(|()| make_folder(home, journal, &mut changes))
            .and_then(|path| fill_group(path, plan, cpus, nodes));
        match prepared {
            Ok((path, entrance)) => Ok(Self { path, entrance, changes }),
            Err(error) => {
                // Undoing takes the lock itself.
                drop(held);
                changes.iter().rev().for_each(|change| drop(journal.undo_change(*change)));
                Err(error)
            }
        }
    }

    /// The folder of the group.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a command enter the group before its first instruction; its children are born into it. Restrict the command's affinity only
    /// after this call: on many kernels entering a group sets it to the group's cpus.
    ///
    /// # Errors
    /// If no file descriptor is left.
    pub fn hold_command(&self, command: &mut Command) -> io::Result<GroupEntry> {
        group_entry::enter_first(command, self.entrance.try_clone()?)
    }

    /// Removes the group and undoes everything, the last change first. Processes that the command left behind return to the group they came
    /// from.
    pub fn remove_group(self, journal: &mut ChangeJournal) -> Vec<UndoneChange> {
        self.changes.iter().rev().filter_map(|change| journal.undo_change(*change)).collect()
    }
}

/// Checks that the group's files may be written. Opening them for writing changes nothing, and makes the kernel check the permissions.
fn check_writable(home: &Path) -> Result<(), CgroupRefusal> {
    for name in ["cgroup.procs", "cgroup.subtree_control"] {
        let path = home.join(name);
        let opened = OpenOptions::new().write(true).open(&path);
        opened.map_err(|source| CgroupRefusal::NotPermitted { path, source })?;
    }
    Ok(())
}

/// Turns the controller on if it is off. If another corewise turned it on, takes a share in turning it off.
fn enable_controller(
    home: &Path,
    plan: CgroupPlan,
    journal: &mut ChangeJournal,
    changes: &mut Vec<u32>,
) -> Result<(), SysError> {
    let change = Change::for_controller(home, "cpuset");
    if plan.enable || journal.is_held_elsewhere(&change)? {
        changes.push(journal.make_change(change)?);
    }
    Ok(())
}

/// Makes the group's folder; its name contains this process's number.
fn make_folder(home: &Path, journal: &mut ChangeJournal, changes: &mut Vec<u32>) -> Result<PathBuf, SysError> {
    let own = std::process::id();
    let mut names = (1..=MOST_GROUPS).map(|number| match number {
        1 => home.join(format!("corewise-{own}")),
        _ => home.join(format!("corewise-{own}-{number}")),
    });
    let path = names.find(|path| !path.exists()).unwrap_or_else(|| home.join(format!("corewise-{own}")));
    changes.push(journal.make_change(Change::for_folder(&path, home))?);
    Ok(path)
}

/// Sets the group's type, cpus and nodes. Files inside our own folder vanish with it and need no entry in the journal.
fn fill_group(
    path: PathBuf,
    plan: CgroupPlan,
    cpus: &CpuSet,
    nodes: Option<&CpuSet>,
) -> Result<(PathBuf, File), SysError> {
    if plan.threaded {
        write_value(&path, "cgroup.type", "threaded")?;
    }
    restrict_group(&path, "cpuset.cpus", "cpus", cpus)?;
    if let Some(nodes) = nodes {
        restrict_group(&path, "cpuset.mems", "memory nodes", nodes)?;
    }
    let entrance = path.join("cgroup.procs");
    let opened = OpenOptions::new().write(true).open(&entrance);
    let opened = opened.map_err(|source| CgroupRefusal::NotPermitted { path: entrance, source })?;
    Ok((path, opened))
}

fn write_value(group: &Path, file: &str, value: &str) -> Result<(), SysError> {
    let path = group.join(file);
    let what = format!("file {}: \"{value}\"", path.display());
    let mut opened =
        OpenOptions::new().write(true).open(&path).map_err(|source| SysError::Change { what: what.clone(), source })?;
    opened.write_all(value.as_bytes()).map_err(|source| SysError::Change { what, source })
}

/// Writes the wanted set and reads the effective one. The kernel cuts it to the sets of the groups above; if nothing remains, it takes all
/// of theirs.
fn restrict_group(group: &Path, file: &str, what: &'static str, wanted: &CpuSet) -> Result<(), SysError> {
    write_value(group, file, &wanted.to_string())?;
    let path = group.join(format!("{file}.effective"));
    let text = fs::read_to_string(&path).map_err(|source| SysError::Read { path: path.clone(), source })?;
    let given = CpuSet::parse_list(&text).unwrap_or_default();
    if given == *wanted {
        return Ok(());
    }
    Err(CgroupRefusal::GivesLess { what, wanted: wanted.clone(), given }.into())
}
