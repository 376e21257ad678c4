//! The control group that decides which cpus a process can reach, in any hierarchy with cpusets: version 2, version 1, or the cpuset file
//! system of old kernels.

use std::path::{Path, PathBuf};

use corewise_machine::CpuSet;

use super::LimitingGroup;
use super::place::unescape_mount;

/// Names of a group's list of cpus, the effective one first: version 2, version 1, the cpuset file system.
const NAMES: [&str; 5] = ["cpuset.cpus.effective", "cpuset.effective_cpus", "effective_cpus", "cpuset.cpus", "cpus"];

/// Returns the group that limits a process most, from the texts of /proc/PID/cgroup and /proc/self/mountinfo: the outermost group around it
/// that has no more cpus than its own. `None` if it can reach all online cpus.
pub fn find_limiting_group(
    groups: &str,
    mounts: &str,
    online: &CpuSet,
    read: impl Fn(&Path) -> Option<String>,
) -> Option<LimitingGroup> {
    let hierarchies = mounts.lines().filter_map(|line| ControllerHierarchy::parse(line, "cpuset"));
    let limits = hierarchies.filter_map(|hierarchy| {
        let group = groups.lines().find_map(|line| hierarchy.group_in(line))?;
        hierarchy.outermost_like(group, &read)
    });
    limits.filter(|limit| limit.cpus != *online).min_by_key(|limit| limit.cpus.len())
}

/// A mounted hierarchy that may have a controller.
pub(super) struct ControllerHierarchy<'a> {
    controller: &'a str,
    pub(super) is_unified: bool,
    /// The mounted group.
    top: String,
    folder: PathBuf,
}

impl<'a> ControllerHierarchy<'a> {
    /// Parses a line of mountinfo; `None` for other mounts.
    pub(super) fn parse(line: &str, controller: &'a str) -> Option<Self> {
        let (mount, source) = line.split_once(" - ")?;
        let mut about = source.split(' ');
        let (kind, options) = (about.next()?, about.nth(1).unwrap_or_default());
        let has_controller =
            kind == controller || (kind == "cgroup" && options.split(',').any(|name| name == controller));
        let is_unified = kind == "cgroup2";
        let mut fields = mount.split(' ').skip(3);
        let (top, folder) = (unescape_mount(fields.next()?), unescape_mount(fields.next()?).into());
        (has_controller || is_unified).then_some(Self { controller, is_unified, top, folder })
    }

    /// Returns the group in a line "ID:CONTROLLERS:PATH" if it is of this hierarchy.
    pub(super) fn group_in<'b>(&self, line: &'b str) -> Option<&'b str> {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, group) = (fields.next()?, fields.next()?, fields.next()?);
        let is_own = match self.is_unified {
            true => controllers.is_empty(),
            false => controllers.split(',').any(|name| name == self.controller),
        };
        is_own.then_some(group)
    }

    /// Returns the outermost group around `group` that has the same cpus.
    fn outermost_like(&self, group: &str, read: impl Fn(&Path) -> Option<String>) -> Option<LimitingGroup> {
        let below = self.below_top(group);
        let cpus_of = |inner: &Path| {
            let folder = self.folder.join(inner);
            let parse = |name: &&str| CpuSet::parse_list(read(&folder.join(name))?.trim()).ok();
            NAMES.iter().find_map(parse).filter(|cpus| !cpus.is_empty())
        };
        let mut around = below.ancestors().filter_map(|inner| Some((inner, cpus_of(inner)?))).peekable();
        let cpus = around.peek()?.1.clone();
        let (inner, _) = around.take_while(|(_, own)| *own == cpus).last()?;
        Some(LimitingGroup { group: self.group_of(inner), cpus })
    }

    /// Returns a group relative to the mounted one.
    fn below_top<'b>(&self, group: &'b str) -> &'b Path {
        Path::new(group).strip_prefix(&self.top).unwrap_or(Path::new(""))
    }

    /// Returns the path of a group in its hierarchy from one relative to the mounted one.
    fn group_of(&self, inner: &Path) -> String {
        [self.top.trim_end_matches('/'), &inner.to_string_lossy()].join("/")
    }

    /// Returns the group and those around it, each with its folder.
    pub(super) fn groups_around(&self, group: &str) -> Vec<(String, PathBuf)> {
        let inner = self.below_top(group).ancestors();
        inner.map(|inner| (self.group_of(inner), self.folder.join(inner))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFIED: &str = "31 23 0:28 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    const HYBRID: &str = "32 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                          33 23 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                          34 23 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";

    fn found(groups: &str, mounts: &str, files: &[(&str, &str)]) -> String {
        let read = |path: &Path| {
            let file = files.iter().find(|(name, _)| Path::new(name) == path);
            file.map(|(_, text)| (*text).to_owned())
        };
        let limit = find_limiting_group(groups, mounts, &CpuSet::first_cpus(8), read);
        limit.map_or_else(|| "nothing".to_owned(), |limit| format!("{} {}", limit.group, limit.cpus))
    }

    #[test]
    fn a_cpuset_of_version_one_is_read_beside_version_two() {
        let groups = "4:cpuset:/slurm/uid_0/job_42/step_0\n2:cpu,cpuacct:/other\n0::/\n";
        let files = [
            ("/sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-7\n"),
            ("/sys/fs/cgroup/cpuset/slurm/cpuset.effective_cpus", "0-7\n"),
            ("/sys/fs/cgroup/cpuset/slurm/uid_0/cpuset.effective_cpus", "0-7\n"),
            ("/sys/fs/cgroup/cpuset/slurm/uid_0/job_42/cpuset.effective_cpus", "1\n"),
            ("/sys/fs/cgroup/cpuset/slurm/uid_0/job_42/step_0/cpuset.effective_cpus", "1\n"),
        ];
        assert_eq!(found(groups, HYBRID, &files), "/slurm/uid_0/job_42 1", "the step has what its job has");
        assert_eq!(found("0::/\n", HYBRID, &files), "nothing");
    }

    #[test]
    fn the_nearest_group_with_the_controller_counts_in_version_two() {
        let slice = ("/sys/fs/cgroup/system.slice/cpuset.cpus.effective", "0-3\n");
        let groups = "0::/system.slice/docker-1.scope/init\n";
        assert_eq!(found(groups, UNIFIED, &[slice]), "/system.slice 0-3");
        let scope = ("/sys/fs/cgroup/system.slice/docker-1.scope/cpuset.cpus.effective", "2\n");
        assert_eq!(found(groups, UNIFIED, &[slice, scope]), "/system.slice/docker-1.scope 2");
        assert_eq!(found(groups, UNIFIED, &[("/sys/fs/cgroup/cpuset.cpus.effective", "0-7")]), "nothing");
    }

    #[test]
    fn a_part_of_the_hierarchy_and_the_old_file_system_are_read() {
        let part = "33 23 0:30 /box/7 /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";
        let file = [("/sys/fs/cgroup/cpuset/work/cpuset.cpus", "4-5")];
        assert_eq!(found("4:cpuset:/box/7/work\n", part, &file), "/box/7/work 4,5");
        let old = "33 23 0:30 / /dev/cpuset rw - cpuset none rw\n";
        assert_eq!(found("4:cpuset:/job\n", old, &[("/dev/cpuset/job/cpus", "3")]), "/job 3");
    }
}
