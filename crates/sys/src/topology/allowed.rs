//! Cpus and memory nodes that this process may use: from its affinity mask, or its cpuset if the mask is not recorded.

use corewise_machine::cpu_set::CpuSetError;
use corewise_machine::{CpuSet, Gap};

use super::reader::ValueReader;

/// Cpus and nodes that this process may use; `None` if the source does not say.
#[derive(Debug, Default)]
pub struct AllowedParts {
    /// Cpus. The kernel has already cut the affinity mask to the cpuset.
    pub cpus: Option<CpuSet>,
    /// Numbers of nodes.
    pub memory: Option<CpuSet>,
}

/// The files that hold the same facts for cpus, or for memory.
struct AllowedFiles {
    /// File names of the effective value in a cpuset, and of the configured one for kernels that do not report the effective one.
    of_cpuset: [&'static str; 4],
    /// Name of the mask in /proc/PID/status; that of the list ends in "_list".
    in_status: &'static str,
}

const CPUS: AllowedFiles = AllowedFiles {
    of_cpuset: ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus", "cpus"],
    in_status: "Cpus_allowed",
};
const MEMORY: AllowedFiles = AllowedFiles {
    of_cpuset: ["cpuset.mems.effective", "cpuset.effective_mems", "cpuset.mems", "mems"],
    in_status: "Mems_allowed",
};

/// The file of this process with its allowed cpus and nodes.
const STATUS: &str = "proc/self/status";

/// Returns the cpus and the memory that this process may use, if the source says.
pub fn read_allowed(reader: &ValueReader) -> AllowedParts {
    let status = reader.read_text(STATUS);
    if status.as_deref().is_some_and(|text| !text.is_empty() && !text.ends_with('\n')) {
        reader.add_doubt(Gap::new("what this process may use", format!("{STATUS} is cut off")));
    }
    let of = |files: &AllowedFiles| {
        let told = status.as_deref().and_then(|text| of_status(reader, text, files));
        told.or_else(|| of_cpuset(reader, files)).filter(|set| !set.is_empty())
    };
    AllowedParts { cpus: of(&CPUS), memory: of(&MEMORY) }
}

/// Adds a gap if the status of this process says nothing of its cpus, or of its memory although there are several nodes: then all are
/// allowed.
pub fn doubt_silence(reader: &ValueReader, node_count: usize) {
    let Some(status) = reader.read_text(STATUS).filter(|text| !text.is_empty()) else { return };
    for AllowedFiles { in_status, .. } in [CPUS].into_iter().chain((node_count > 1).then_some(MEMORY)) {
        let has_value = |line: &str| {
            let pair = line.strip_prefix(in_status).and_then(|rest| rest.split_once(':'));
            pair.is_some_and(|(end, value)| ["", "_list"].contains(&end) && !value.trim().is_empty())
        };
        if !status.lines().any(has_value) {
            let why = format!("{STATUS} does not have it, so all count as allowed");
            reader.add_doubt(Gap::new(format!("{in_status} of this process"), why));
        }
    }
}

/// Returns the list in /proc/PID/status, or the mask beside it if the list is malformed.
fn of_status(reader: &ValueReader, text: &str, files: &AllowedFiles) -> Option<CpuSet> {
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let doubt = |what: String| reader.add_doubt(Gap::new(format!("{} of this process", files.in_status), what));
    let parsed = |value: Option<&str>, parse: fn(&str) -> Result<CpuSet, CpuSetError>| match parse(value?.trim()) {
        Ok(set) => Some(set),
        Err(error) => {
            doubt(format!("{STATUS}: {error}"));
            None
        }
    };
    let list = parsed(value(&format!("{}_list", files.in_status)), CpuSet::parse_list);
    let mask = parsed(value(files.in_status), CpuSet::parse_mask);
    if list.is_none() && mask.is_some() {
        doubt(format!("{STATUS} has the mask without the list"));
    }
    if let (Some(list), Some(mask)) = (&list, &mask)
        && list != mask
    {
        doubt(format!("{STATUS} contradicts itself: the list is {list}, the mask {mask}"));
    }
    list.or(mask)
}

/// Returns the set of the nearest control group with a cpuset, from the process's own outwards.
fn of_cpuset(reader: &ValueReader, files: &AllowedFiles) -> Option<CpuSet> {
    let mounts = parse_mounts(&reader.read_text("proc/mounts").unwrap_or_default());
    let groups = own_groups(reader);
    mounts.iter().find_map(|mount| {
        let group = groups.iter().find(|(unified, _)| *unified == mount.unified).or(groups.first())?;
        nearest_value(reader, &mount.folder, &group.1, files)
    })
}

fn nearest_value(reader: &ValueReader, mount: &str, group: &str, files: &AllowedFiles) -> Option<CpuSet> {
    let mut group = group.trim_matches('/');
    loop {
        let folder = if group.is_empty() { mount.to_owned() } else { format!("{mount}/{group}") };
        let read = |file: &&str| reader.read_list(&format!("{folder}/{file}")).filter(|set| !set.is_empty());
        let found = files.of_cpuset.iter().find_map(read);
        if found.is_some() || group.is_empty() {
            return found;
        }
        group = group.rsplit_once('/').map_or("", |(outer, _)| outer);
    }
}

/// A mounted hierarchy that may hold cpusets.
#[derive(Debug, PartialEq)]
struct CpusetMount {
    /// True for version 2, false for version 1.
    unified: bool,
    /// Mount point, without the leading slash.
    folder: String,
}

/// Returns the hierarchies with cpusets in /proc/mounts: version 2, version 1 with the cpuset controller, the cpuset file system of old
/// kernels. Version 1 comes first: if it has the controller, version 2 does not.
fn parse_mounts(text: &str) -> Vec<CpusetMount> {
    let mount = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let (folder, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        let cpuset = kind == "cpuset" || (kind == "cgroup" && options.split(',').any(|option| option == "cpuset"));
        let unified = kind == "cgroup2";
        (cpuset || unified).then(|| CpusetMount { unified, folder: folder.trim_matches('/').to_owned() })
    };
    let mut mounts: Vec<CpusetMount> = text.lines().filter_map(mount).collect();
    mounts.sort_by_key(|mount| mount.unified);
    mounts
}

/// Returns the process's control group in each hierarchy: true for version 2, and its path.
fn own_groups(reader: &ValueReader) -> Vec<(bool, String)> {
    let mut groups = Vec::new();
    for line in reader.read_text("proc/self/cgroup").unwrap_or_default().lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        if controllers.is_empty() || controllers.split(',').any(|name| name == "cpuset") {
            groups.push((controllers.is_empty(), path.to_owned()));
        }
    }
    groups.extend(reader.read_word("proc/self/cpuset").map(|path| (false, path)));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    fn found(files: &[(&str, &str)]) -> Option<String> {
        let root = Root::from_files(files.iter().copied());
        read_allowed(&ValueReader::new(&root)).cpus.map(|set| set.to_string())
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
    fn memory_is_told_by_the_status_or_the_cpuset() {
        let found = |files: &[(&str, &str)]| {
            let root = Root::from_files(files.iter().copied());
            let reader = ValueReader::new(&root);
            let memory = read_allowed(&reader).memory.map(|set| set.to_string()).unwrap_or_default();
            (memory, reader.into_gaps().into_iter().map(|gap| gap.why).collect::<String>())
        };
        let status = |text| [("proc/self/status", text)];
        assert_eq!(found(&status("Mems_allowed:\t00000000,00000005\nMems_allowed_list:\t0,2\n")).0, "0,2");
        assert_eq!(found(&status("Mems_allowed:\t00000000,00000005\n")).0, "0,2");
        let (memory, gap) = found(&status("Mems_allowed:\t5\nMems_allowed_list:\t0,3\n"));
        assert_eq!((memory.as_str(), gap.contains("proc/self/status contradicts itself")), ("0,3", true));
        let mounts = ("proc/mounts", "x /sys/fs/cgroup cgroup2 rw 0 0\n");
        let group = ("proc/self/cgroup", "0::/a\n");
        assert_eq!(found(&[mounts, group, ("sys/fs/cgroup/a/cpuset.mems.effective", "0-5\n")]).0, "0-5");
    }

    #[test]
    fn a_status_without_a_line_is_a_gap_if_it_could_say_something() {
        let gaps = |text: &str, node_count| {
            let root = Root::from_files([("proc/self/status", text)]);
            let reader = ValueReader::new(&root);
            doubt_silence(&reader, node_count);
            reader.into_gaps().into_iter().map(|gap| gap.what).collect::<Vec<_>>()
        };
        let memory = ["Mems_allowed of this process"];
        for misspelt in ["Mems_alllowed_list:\t0\n", "Mems_allowed_lost:\t0\n", "Mems_allowed_list:\t\n", ""] {
            let status = format!("Cpus_allowed_list:\t0-3\n{misspelt}");
            assert_eq!(gaps(&status, 2), memory, "{misspelt}");
            assert_eq!(gaps(&status, 1), [""; 0], "there is no other node");
        }
        assert_eq!(gaps("Cpus_allowed:\tf\nMems_allowed:\t1\n", 2), [""; 0]);
        assert_eq!(gaps("Name:\tx\n", 1), ["Cpus_allowed of this process"]);
        assert_eq!(gaps("", 2), [""; 0], "no status");
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
