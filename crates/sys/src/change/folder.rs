//! A folder that is made and removed again: a control group, with the group to which its members return.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::controller::groups_in;
use super::kernel_file;
use super::standing::ChangeStanding;
use crate::os::affinity;
use crate::os::folder_handle::FolderHandle;

/// Maximum attempts to remove a group, and the longest wait between two. The kernel releases a group a moment after its last process;
/// processes may also fork while they are moved.
const ATTEMPTS: u32 = 40;
const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// A new folder. Files inside a control group vanish with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderChange {
    /// The folder.
    pub path: PathBuf,
    /// The control group that its processes came from, and return to.
    pub home: PathBuf,
}

impl FolderChange {
    pub(super) fn apply_change(&self) -> io::Result<()> {
        let (home, name) = self.open()?;
        home.make_folder(&name)
    }

    pub(super) fn read_standing(&self) -> io::Result<ChangeStanding> {
        match self.open().and_then(|(home, name)| home.open_folder(&name)) {
            Ok(group) => self.check_that_it_has_no_groups(&group).map(|()| ChangeStanding::InForce),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(ChangeStanding::AsBefore("it is gone")),
            Err(error) => Err(error),
        }
    }

    /// Opens the group that it lies in; returns it and the folder's name there.
    fn open(&self) -> io::Result<(FolderHandle, OsString)> {
        let name = kernel_file::own_group(&self.path, &self.home)?;
        Ok((kernel_file::open_group(&self.home)?, name))
    }

    /// Moves the remaining members home and removes the folder. It retries for a bounded time, since members may fork meanwhile.
    pub(super) fn revert_change(&self) -> io::Result<Option<String>> {
        let (home, name) = self.open()?;
        let group = match home.open_folder(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let mut moved = BTreeSet::new();
        let mut wait = Duration::from_millis(1);
        for attempt in 1.. {
            self.check_that_it_has_no_groups(&group)?;
            let stuck = send_home(&group, &home, &mut moved).err();
            match home.remove_folder(&name) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) if error.kind() != io::ErrorKind::ResourceBusy || attempt == ATTEMPTS => {
                    return Err(stuck.unwrap_or(error));
                }
                Err(_) => std::thread::sleep(wait),
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
        Ok(describe_members(&moved).map(|these| format!("{these} moved back to {}", self.home.display())))
    }

    /// Fails if others made groups inside. Those are theirs, and the kernel removes no group that has any.
    fn check_that_it_has_no_groups(&self, group: &FolderHandle) -> io::Result<()> {
        let inside = groups_in(group).unwrap_or_default();
        inside.first().map_or(Ok(()), |name| {
            let group = self.path.join(name);
            Err(io::Error::other(format!("the group {} was made inside; remove it first", group.display())))
        })
    }
}

/// Moves the members of a group back to their home group. A threaded group lists threads instead of processes.
fn send_home(group: &FolderHandle, home: &FolderHandle, moved: &mut BTreeSet<MovedMember>) -> io::Result<()> {
    let (mut members, mut member): (_, fn(u32) -> MovedMember) = ("cgroup.procs", MovedMember::Process);
    let mut read = group.read_file(members);
    if read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Unsupported) {
        (members, member) = ("cgroup.threads", MovedMember::Thread);
        read = group.read_file(members);
    }
    let list = match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for number in list.split_whitespace() {
        match home.write_file(members, number) {
            Ok(()) => moved.extend(number.parse().map(member)),
            // It has ended by itself.
            Err(error) if affinity::has_ended(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A process or thread that was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MovedMember {
    Process(u32),
    Thread(u32),
}

impl MovedMember {
    fn member_parts(self) -> (&'static str, &'static str, u32) {
        match self {
            Self::Process(number) => ("process", "processes", number),
            Self::Thread(number) => ("thread", "threads", number),
        }
    }
}

/// Formats the members moved: "process 7 was", "threads 7 to 12, 3 in all, were". `None` if there were none.
fn describe_members(moved: &BTreeSet<MovedMember>) -> Option<String> {
    let (one, many, first) = moved.first()?.member_parts();
    let (_, _, last) = moved.last()?.member_parts();
    Some(match moved.len() {
        1 => format!("{one} {first} was"),
        count => format!("{many} {first} to {last}, {count} in all, were"),
    })
}

impl FolderChange {
    /// Describes how to undo it.
    pub fn way_back(&self) -> String {
        format!("remove control group {}", self.path.display())
    }
}

impl fmt::Display for FolderChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "control group {} made", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_were_moved_are_told_in_the_order_of_their_numbers() {
        let words = |members: &[MovedMember]| describe_members(&members.iter().copied().collect());
        assert_eq!(words(&[]), None);
        assert_eq!(words(&[MovedMember::Thread(7)]).unwrap(), "thread 7 was");
        let processes = [MovedMember::Process(1000), MovedMember::Process(999), MovedMember::Process(1000)];
        assert_eq!(words(&processes).unwrap(), "processes 999 to 1000, 2 in all, were");
    }
}
