//! Location of this process's control group, from /proc/self/cgroup and the mounts.

use std::path::{Path, PathBuf};

use crate::values::cgroup::CgroupRefusal;

/// Returns the folder of this process's group of version 2, from the texts of /proc/self/cgroup and /proc/self/mountinfo.
///
/// # Errors
/// [`CgroupRefusal::NotMounted`], [`CgroupRefusal::VersionOne`], [`CgroupRefusal::OutOfSight`].
pub fn locate_group(groups: &str, mounts: &str) -> Result<PathBuf, CgroupRefusal> {
    if groups.lines().any(is_cpuset_of_version_one) {
        return Err(CgroupRefusal::VersionOne);
    }
    let group = groups.lines().find_map(|line| line.strip_prefix("0::")).ok_or(CgroupRefusal::NotMounted)?;
    let mounts: Vec<CgroupMount> = mounts.lines().filter_map(CgroupMount::parse).collect();
    if mounts.is_empty() {
        return Err(CgroupRefusal::NotMounted);
    }
    let out_of_sight = || CgroupRefusal::OutOfSight { group: group.to_owned() };
    mounts.iter().find_map(|mount| mount.folder_of(group)).ok_or_else(out_of_sight)
}

/// Returns true for a line "ID:CONTROLLERS:PATH" of version 1 that contains cpuset.
fn is_cpuset_of_version_one(line: &str) -> bool {
    line.split(':').nth(1).is_some_and(|controllers| controllers.split(',').any(|name| name == "cpuset"))
}

/// A mount of the hierarchy of version 2.
#[derive(Debug, PartialEq)]
struct CgroupMount {
    /// The mounted group, "/" for the uppermost that this process can see.
    top: String,
    /// The mount point.
    folder: PathBuf,
}

impl CgroupMount {
    /// Parses a line of mountinfo: id, parent, device, root, mount point, options, tags, "-", type, source, options.
    fn parse(line: &str) -> Option<Self> {
        let (mount, kind) = line.split_once(" - ")?;
        if kind.split(' ').next()? != "cgroup2" {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        Some(Self { top: unescape_mount(fields.next()?), folder: unescape_mount(fields.next()?).into() })
    }

    /// Returns the folder of a group, or `None` if this mount does not show it.
    fn folder_of(&self, group: &str) -> Option<PathBuf> {
        let below = Path::new(group).strip_prefix(&self.top).ok()?;
        // The kernel writes a group outside of this process's cgroup namespace as "/../other".
        let is_inside = !below.components().any(|part| part.as_os_str() == "..");
        is_inside.then(|| if below.as_os_str().is_empty() { self.folder.clone() } else { self.folder.join(below) })
    }
}

/// Decodes octal escapes: blanks, tabs, line ends and backslashes in mount points are three octal digits.
pub fn unescape_mount(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFIED: &str = "24 1 0:22 / /proc rw - proc proc rw\n\
                           31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

    fn located(groups: &str, mounts: &str) -> String {
        match locate_group(groups, mounts) {
            Ok(path) => path.display().to_string(),
            Err(refusal) => refusal.to_string(),
        }
    }

    #[test]
    fn the_group_lies_below_the_mount() {
        let scope = "0::/user.slice/user-1000.slice/session-3.scope\n";
        assert_eq!(located(scope, UNIFIED), "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope");
        assert_eq!(located("0::/\n", UNIFIED), "/sys/fs/cgroup");
        assert_eq!(located("0::/a", &UNIFIED.replace("/sys/fs/cgroup", "/my\\040groups")), "/my groups/a");
    }

    #[test]
    fn a_part_of_the_hierarchy_may_be_mounted() {
        let part = UNIFIED.replace("/ /sys/fs/cgroup", "/box/7 /sys/fs/cgroup");
        assert_eq!(located("0::/box/7/work", &part), "/sys/fs/cgroup/work");
        let outside = "the control group of this process, /box/8, is outside the mounted hierarchy";
        assert_eq!(located("0::/box/8", &part), outside);
        assert!(located("0::/../other", UNIFIED).contains("/../other, is outside"));
    }

    #[test]
    fn version_one_is_told_apart() {
        let hybrid = "3:cpuset:/\n1:cpu,cpuacct:/\n0::/\n";
        assert_eq!(located(hybrid, UNIFIED), "the controller cpuset is attached to cgroup v1 here");
        assert_eq!(located("1:cpu:/\n0::/x\n", UNIFIED), "/sys/fs/cgroup/x");
        assert_eq!(located("", UNIFIED), "cgroup v2 is not mounted here");
        assert_eq!(located("0::/x\n", ""), "cgroup v2 is not mounted here");
    }
}
