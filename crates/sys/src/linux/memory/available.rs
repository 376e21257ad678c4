//! Memory available to programs now: of the machine, of each node, and of this process's control groups.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::values::memory::AvailableMemory;

/// Files of a control group: its limit, its usage, and the key in memory.stat of file pages that were not used for long.
type GroupFiles = [&'static str; 3];

/// Of version 2 (Documentation/admin-guide/cgroup-v2.rst of the kernel).
const VERSION_2: GroupFiles = ["memory.max", "memory.current", "inactive_file"];
/// Of version 1 (Documentation/admin-guide/cgroup-v1/memory.rst).
const VERSION_1: GroupFiles = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"];

impl AvailableMemory {
    /// Reads the present state: /proc/meminfo, the meminfo of each node, and the limits of control groups. `None` if /proc/meminfo cannot
    /// be read.
    pub fn read_now() -> Option<Self> {
        let read = |path: &str| fs::read_to_string(path).ok();
        let mut nodes = BTreeMap::new();
        for entry in fs::read_dir(Path::new("/sys/devices/system/node")).into_iter().flatten().flatten() {
            let number = entry.file_name().to_str().and_then(|name| name.strip_prefix("node")?.parse().ok());
            let text = fs::read_to_string(entry.path().join("meminfo")).ok();
            let free = text
                .as_deref()
                .and_then(|text| Some(bytes_of(text, "MemFree:")? + bytes_of(text, "Inactive(file):").unwrap_or(0)));
            nodes.extend(number.zip(free));
        }
        Some(Self { nodes, ..Self::from_meminfo(&read("/proc/meminfo")?, left_by_groups(&read))? })
    }

    /// Computes it from a text of /proc/meminfo and the bytes that control groups leave.
    fn from_meminfo(meminfo: &str, of_groups: Option<u64>) -> Option<Self> {
        let all = bytes_of(meminfo, "MemAvailable:").or_else(|| bytes_of(meminfo, "MemFree:"))?;
        Some(Self {
            all_bytes: of_groups.map_or(all, |left| left.min(all)),
            swapped_bytes: bytes_of(meminfo, "SwapTotal:")?.saturating_sub(bytes_of(meminfo, "SwapFree:")?),
            nodes: BTreeMap::new(),
        })
    }
}

/// Returns a value of a meminfo, which is in kilobytes there.
fn bytes_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.split_once(name))?;
    Some(line.1.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? << 10)
}

/// Returns the least memory that the limits of this process's control group and its ancestors leave; `None` if no group has a limit. A
/// container sees its own group as the root of the hierarchy.
fn left_by_groups(read: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let groups = read("/proc/self/cgroup")?;
    let of_line = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?.to_owned());
        let has_memory = controllers.split(',').any(|name| name == "memory");
        match controllers {
            "" => Some(("/sys/fs/cgroup", path, VERSION_2)),
            _ if has_memory => Some(("/sys/fs/cgroup/memory", path, VERSION_1)),
            _ => None,
        }
    };
    let left = |(mount, path, files): (&str, String, GroupFiles)| {
        let folders = Path::new(&path).ancestors().map(|folder| format!("{mount}{}", folder.display()));
        folders.filter_map(|folder| left_of(folder.trim_end_matches('/'), files, read)).min()
    };
    groups.lines().filter_map(of_line).filter_map(left).min()
}

/// Returns the rest of one group's limit; `None` if it has none.
fn left_of(folder: &str, [limit, usage, inactive]: GroupFiles, read: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |name: &str| read(&format!("{folder}/{name}"))?.trim().parse::<u64>().ok();
    let of_stat = |text: String| text.lines().find_map(|line| line.strip_prefix(inactive)?.trim().parse::<u64>().ok());
    let files = read(&format!("{folder}/memory.stat")).and_then(of_stat).unwrap_or(0);
    Some(number(limit)?.saturating_sub(number(usage)?.saturating_sub(files)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_read_from_either_form() {
        assert_eq!(bytes_of("MemTotal: 9 kB\nMemAvailable:   12 kB\n", "MemAvailable:"), Some(12 << 10));
        assert_eq!(bytes_of("Node 0 MemFree:  7 kB\n", "MemFree:"), Some(7 << 10));
        assert_eq!(bytes_of("MemFree: x kB\n", "MemFree:"), None);
        assert!(AvailableMemory::read_now().is_some_and(|now| now.all_bytes > 0));
    }

    /// From a machine of 24 GB with 8 GB of swap, of which 1.5 GB are used.
    #[test]
    fn what_is_swapped_out_is_read_and_a_limit_is_less_than_the_machine() {
        let meminfo = "MemTotal:       24684184 kB\nMemFree:        22588412 kB\nMemAvailable:   24103436 kB\nSwapCached:        20480 kB\n\
                       SwapTotal:       8388604 kB\nSwapFree:        6815740 kB\n";
        let of =
            |left| AvailableMemory::from_meminfo(meminfo, left).map(|found| (found.all_bytes, found.swapped_bytes));
        assert_eq!(of(None), Some((24_103_436 << 10, 1_572_864 << 10)));
        assert_eq!(of(Some(64 << 20)), Some((64 << 20, 1_572_864 << 10)));
        assert_eq!(of(Some(1 << 60)), of(None));
        assert_eq!(AvailableMemory::from_meminfo("MemTotal: 9 kB\n", None), None);
    }

    #[test]
    fn the_least_of_all_groups_around_is_what_is_left() {
        let left = |files: &[(&str, &str)]| {
            let read = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
            left_by_groups(&read)
        };
        let inner = [
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/b/memory.current", "5000\n"),
            ("/sys/fs/cgroup/a/memory.max", "100000\n"),
            ("/sys/fs/cgroup/a/memory.current", "60000\n"),
            ("/sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 20000\nactive_file 3\n"),
        ];
        assert_eq!(left(&inner), Some(60_000));
        let container = [
            ("/proc/self/cgroup", "0::/\n"),
            ("/sys/fs/cgroup/memory.max", "4096\n"),
            ("/sys/fs/cgroup/memory.current", "8192\n"),
        ];
        assert_eq!(left(&container), Some(0), "more is used than may be, for a moment");
        let version_1 = [
            ("/proc/self/cgroup", "9:cpu,cpuacct:/x\n4:memory:/of/the/host\n0::/\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "400\n"),
            ("/sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 100\n"),
        ];
        assert_eq!(left(&version_1), Some(700));
        assert_eq!(left(&[("/proc/self/cgroup", "0::/\n")]), None);
    }
}
