//! A change that turns a controller on for the groups below a control group of version 2.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::kernel_file;
use super::standing::ChangeStanding;
use crate::lock::{self, FileLock, LockAttempt};
use crate::os::folder_handle::FolderHandle;
use crate::os::process::boot_id;

const FILE: &str = "cgroup.subtree_control";
/// The controllers that corewise turns on.
const CONTROLLERS: [&str; 1] = ["cpuset"];
/// Number and distance of the attempts to lock a group that another corewise holds: three seconds in all.
const ATTEMPTS: u32 = 300;
const BETWEEN: Duration = Duration::from_millis(10);

/// A controller turned on for the groups below a group.
///
/// Groups that others make there meanwhile come to depend on it, so it is only turned off again if no group is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerChange {
    /// The folder of the group.
    pub group: PathBuf,
    /// The controller: "cpuset".
    pub name: String,
}

impl ControllerChange {
    pub(super) fn apply_change(&self) -> io::Result<()> {
        self.switch_controller(true)
    }

    /// Reads its state; `going` are groups that will be gone by the time it is undone.
    pub(super) fn read_standing(&self, going: &[PathBuf]) -> io::Result<ChangeStanding> {
        let group = match self.open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(ChangeStanding::AsBefore("the group is gone"));
            }
            other => other?,
        };
        if !self.is_on(&group)? {
            return Ok(ChangeStanding::AsBefore("it is off"));
        }
        let groups = groups_in(&group)?.into_iter().map(|name| self.group.join(name));
        Ok(match groups.into_iter().find(|group| !going.contains(group)) {
            None => ChangeStanding::InForce,
            Some(group) => ChangeStanding::Changed(format!("the group {} may depend on it", group.display())),
        })
    }

    pub(super) fn revert_change(&self) -> io::Result<()> {
        self.switch_controller(false)
    }

    fn open(&self) -> io::Result<FolderHandle> {
        match CONTROLLERS.contains(&self.name.as_str()) {
            true => kernel_file::open_group(&self.group),
            false => Err(io::Error::other(format!("{} is no controller that corewise changes", self.name))),
        }
    }

    /// Returns true if the controller is on now.
    fn is_on(&self, group: &FolderHandle) -> io::Result<bool> {
        Ok(group.read_file(FILE)?.split_whitespace().any(|name| name == self.name))
    }

    fn switch_controller(&self, wanted: bool) -> io::Result<()> {
        let group = self.open()?;
        group.write_file(FILE, &format!("{}{}", if wanted { '+' } else { '-' }, self.name))?;
        match self.is_on(&group)? == wanted {
            true => Ok(()),
            false => Err(io::Error::other("the kernel accepted the change but did not apply it")),
        }
    }
}

impl ControllerChange {
    /// Describes how to undo it.
    pub fn way_back(&self) -> String {
        format!("disable controller {} for the groups in {}", self.name, self.group.display())
    }
}

impl fmt::Display for ControllerChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "controller {} enabled for the groups in {}", self.name, self.group.display())
    }
}

/// Returns the names of the groups in a group, sorted.
pub(super) fn groups_in(group: &FolderHandle) -> io::Result<Vec<OsString>> {
    let names = group.list_names()?.into_iter().filter(|(_, is_folder)| *is_folder);
    let mut groups: Vec<OsString> = names.map(|(name, _)| name).collect();
    groups.sort();
    Ok(groups)
}

/// Lock file of any corewise that reads control groups in order to change them.
const LOCK: &str = "groups.lock";

/// Keeps other corewise processes of this user from changing control groups while the returned lock lives. The lock file lies in the folder
/// of journals, since any user that can open a group could hold a lock on the group itself.
pub(super) fn lock_groups(journals: &FolderHandle) -> io::Result<FileLock> {
    // Machines that share the folder have groups of their own.
    let name = format!("{LOCK}.{}", boot_id().unwrap_or_default());
    for _ in 0..ATTEMPTS {
        match lock::take_in(journals, &name)? {
            LockAttempt::Ours(lock) => return Ok(lock),
            LockAttempt::Held(_) => std::thread::sleep(BETWEEN),
        }
    }
    Err(io::Error::other("another corewise changes control groups, and does not end"))
}
