//! Which cpus this process may use: its affinity mask, or where that is not recorded, its cpuset.

use corewise_model::CpuSet;

use super::reader::Reader;

/// The names of a cpuset's effective cpus, and of the configured ones for kernels that do not tell the effective.
const FILES: [&str; 4] = ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus", "cpus"];

/// The cpus this process may use, where the source tells. The kernel has cut the affinity mask to the cpuset already.
pub fn allowed(reader: &Reader) -> Option<CpuSet> {
    let status = reader.text("proc/self/status").and_then(|text| of_status(&text));
    status.or_else(|| of_cpuset(reader)).filter(|set| !set.is_empty())
}

/// The `Cpus_allowed_list` of /proc/PID/status.
fn of_status(text: &str) -> Option<CpuSet> {
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    CpuSet::parse_list(list).ok()
}

/// The cpus of the nearest control group, from the process's own outwards, that has a cpuset.
fn of_cpuset(reader: &Reader) -> Option<CpuSet> {
    let mounts = mounts(&reader.text("proc/mounts").unwrap_or_default());
    let groups = groups(reader);
    mounts.iter().find_map(|mount| {
        let group = groups.iter().find(|(unified, _)| *unified == mount.unified).or(groups.first())?;
        nearest(reader, &mount.folder, &group.1)
    })
}

fn nearest(reader: &Reader, mount: &str, group: &str) -> Option<CpuSet> {
    let mut group = group.trim_matches('/');
    loop {
        let folder = if group.is_empty() { mount.to_owned() } else { format!("{mount}/{group}") };
        let found =
            FILES.iter().find_map(|file| reader.list(&format!("{folder}/{file}")).filter(|set| !set.is_empty()));
        if found.is_some() || group.is_empty() {
            return found;
        }
        group = group.rsplit_once('/').map_or("", |(outer, _)| outer);
    }
}

/// A mounted hierarchy that may hold cpusets.
#[derive(Debug, PartialEq)]
struct Mount {
    /// Version 2 rather than version 1.
    unified: bool,
    /// Where, without the leading slash.
    folder: String,
}

/// The hierarchies with cpusets in /proc/mounts: version 2, version 1 with the cpuset controller, the cpuset file
/// system of old kernels. Version 1 comes first: where it has the controller, version 2 has not.
fn mounts(text: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let (folder, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        let cpuset = kind == "cpuset" || (kind == "cgroup" && options.split(',').any(|option| option == "cpuset"));
        let unified = kind == "cgroup2";
        (cpuset || unified).then(|| Mount { unified, folder: folder.trim_matches('/').to_owned() })
    };
    let mut mounts: Vec<Mount> = text.lines().filter_map(mount).collect();
    mounts.sort_by_key(|mount| mount.unified);
    mounts
}

/// The process's control group in each hierarchy: whether of version 2, and its path.
fn groups(reader: &Reader) -> Vec<(bool, String)> {
    let mut groups = Vec::new();
    for line in reader.text("proc/self/cgroup").unwrap_or_default().lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        if controllers.is_empty() || controllers.split(',').any(|name| name == "cpuset") {
            groups.push((controllers.is_empty(), path.to_owned()));
        }
    }
    groups.extend(reader.word("proc/self/cpuset").map(|path| (false, path)));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    fn found(files: &[(&str, &str)]) -> Option<String> {
        let root = Root::from_files(files.iter().copied());
        allowed(&Reader::new(&root)).map(|set| set.to_string())
    }

    #[test]
    fn the_affinity_mask_comes_first() {
        let status = "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,6\n";
        let mounts = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n";
        let cpuset = ("sys/fs/cgroup/cpuset.cpus.effective", "0-7\n");
        assert_eq!(found(&[("proc/self/status", status), ("proc/mounts", mounts), cpuset]).as_deref(), Some("0-3,6"));
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn the_nearest_group_with_a_cpuset_is_asked() {
        let mounts = ("proc/mounts", "x /sys/fs/cgroup cgroup2 rw 0 0\n");
        let group = ("proc/self/cgroup", "0::/a/b/c\n");
        let outer = ("sys/fs/cgroup/a/cpuset.cpus.effective", "1-2\n");
        let empty = ("sys/fs/cgroup/a/b/cpuset.cpus.effective", "\n");
        assert_eq!(found(&[mounts, group, outer, empty]).as_deref(), Some("1,2"));
    }

    #[test]
    fn version_one_and_odd_places_are_known() {
        let mounts = ("proc/mounts", "x /cgroup/unified cgroup2 rw 0 0\nx /cgroup/cpuset cgroup rw,cpuset 0 0\n");
        let group = ("proc/self/cgroup", "4:cpuset:/job\n0::/other\n");
        let version_1 = [
            mounts,
            group,
            ("cgroup/cpuset/job/cpuset.cpus", "0-7\n"),
            ("cgroup/cpuset/job/cpuset.effective_cpus", "0-3\n"),
            ("cgroup/unified/other/cpuset.cpus.effective", "5\n"),
        ];
        assert_eq!(found(&version_1).as_deref(), Some("0-3"), "what takes effect, not what is configured");
        let version_2 = [
            ("proc/mounts", "x /cgroup/unified cgroup2 rw 0 0\n"),
            ("proc/self/cpuset", "/job/step\n"),
            ("cgroup/unified/job/step/cpuset.cpus.effective", "5\n"),
        ];
        assert_eq!(found(&version_2).as_deref(), Some("5"));
    }
}
