//! A controller that is turned on for the groups below a control group of version 2.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::file;
use super::look::Look;

const FILE: &str = "cgroup.subtree_control";
/// How often, and how far apart, a group that another corewise holds is asked for: three seconds in all.
const ATTEMPTS: u32 = 300;
const BETWEEN: Duration = Duration::from_millis(10);

/// A controller turned on for the groups below a group.
///
/// Groups that others make there meanwhile come to depend on it, so it is only turned off again where no group is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerChange {
    /// The folder of the group.
    pub group: PathBuf,
    /// The controller: "cpuset".
    pub name: String,
}

impl ControllerChange {
    pub(super) fn make(&self) -> io::Result<()> {
        file::write(&self.group.join(FILE), &format!("+{}", self.name))?;
        self.check(true)
    }

    /// Looks how it stands; `going` are groups that will be gone by the time that it is undone.
    pub(super) fn look(&self, going: &[PathBuf]) -> io::Result<Look> {
        match self.is_on() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Look::AsBefore("the group is gone")),
            Err(error) => return Err(error),
            Ok(false) => return Ok(Look::AsBefore("it is off")),
            Ok(true) => {}
        }
        Ok(match groups_in(&self.group)?.iter().find(|group| !going.contains(group)) {
            None => Look::InForce,
            Some(group) => Look::Changed(format!("the group {} may depend on it", group.display())),
        })
    }

    pub(super) fn revert(&self) -> io::Result<()> {
        file::write(&self.group.join(FILE), &format!("-{}", self.name))?;
        self.check(false)
    }

    /// Whether the controller is on now.
    fn is_on(&self) -> io::Result<bool> {
        Ok(file::read(&self.group.join(FILE))?.split_whitespace().any(|name| name == self.name))
    }

    fn check(&self, wanted: bool) -> io::Result<()> {
        match self.is_on()? == wanted {
            true => Ok(()),
            false => Err(io::Error::other("the kernel accepted the change but did not apply it")),
        }
    }
}

impl fmt::Display for ControllerChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "controller {} enabled for the groups in {}", self.name, self.group.display())
    }
}

/// The folders of the groups in a group, in order.
pub(super) fn groups_in(group: &Path) -> io::Result<Vec<PathBuf>> {
    let mut groups = Vec::new();
    for entry in fs::read_dir(group)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            groups.push(entry.path());
        }
    }
    groups.sort();
    Ok(groups)
}

/// Keeps other corewise processes, whoever runs them, from changing what is in a group while the answer lives.
pub(crate) fn hold(group: &Path) -> io::Result<File> {
    let folder = File::open(group)?;
    for _ in 0..ATTEMPTS {
        match folder.try_lock() {
            Ok(()) => return Ok(folder),
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::other(format!("another process holds the lock on {}", group.display())))
}
