//! Quotas of processor time: a control group that has used its share of a period is stopped on all cpus until the next one (the kernel's
//! Documentation/scheduler/sched-bwc.rst), in version 2 (`cpu.max`) and version 1 (`cpu.cfs_quota_us`).

#[cfg(any(test, target_os = "linux"))]
use std::path::Path;
use std::path::PathBuf;

#[cfg(any(test, target_os = "linux"))]
use super::limit::ControllerHierarchy;

/// A quota of processor time.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuQuota {
    /// The control group that has it: "/docker/4f1e".
    pub group: String,
    /// The time that its processes get, in cpus: 1.5 is 150 ms in each period of 100 ms.
    pub cpus: f64,
    /// The file with its counts.
    counts: PathBuf,
}

impl CpuQuota {
    /// Returns the number of periods in which it stopped its processes; `None` if that cannot be read.
    pub fn read_stops(&self) -> Option<u64> {
        let text = std::fs::read_to_string(&self.counts).ok()?;
        text.lines().find_map(|line| line.strip_prefix("nr_throttled "))?.trim().parse().ok()
    }
}

/// Returns the least quota of a process's group and of those around it, from the texts of /proc/PID/cgroup and /proc/self/mountinfo; `None`
/// without one.
#[cfg(any(test, target_os = "linux"))]
pub(crate) fn find_quota(groups: &str, mounts: &str, read: impl Fn(&Path) -> Option<String>) -> Option<CpuQuota> {
    let hierarchies = mounts.lines().filter_map(|line| ControllerHierarchy::parse(line, "cpu"));
    let quotas = hierarchies.flat_map(|hierarchy| {
        let group = groups.lines().find_map(|line| hierarchy.group_in(line));
        let around = group.map(|group| hierarchy.groups_around(group)).unwrap_or_default();
        let quota = |(group, folder): (String, PathBuf)| {
            let cpus = if hierarchy.is_unified { unified_quota(&folder, &read) } else { split_quota(&folder, &read) };
            Some(CpuQuota { group, cpus: cpus?, counts: folder.join("cpu.stat") })
        };
        around.into_iter().filter_map(quota).collect::<Vec<_>>()
    });
    quotas.min_by(|a, b| a.cpus.total_cmp(&b.cpus))
}

/// Reads "150000 100000"; "max 100000" is no quota.
#[cfg(any(test, target_os = "linux"))]
fn unified_quota(folder: &Path, read: impl Fn(&Path) -> Option<String>) -> Option<f64> {
    let text = read(&folder.join("cpu.max"))?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let (quota, period) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (period > 0.0).then(|| quota / period)
}

/// Reads the two files of version 1; a quota of -1 is none.
#[cfg(any(test, target_os = "linux"))]
fn split_quota(folder: &Path, read: impl Fn(&Path) -> Option<String>) -> Option<f64> {
    let number = |name: &str| read(&folder.join(name))?.trim().parse::<f64>().ok().filter(|number| *number > 0.0);
    Some(number("cpu.cfs_quota_us")? / number("cpu.cfs_period_us")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(groups: &str, mounts: &str, files: &[(&str, &str)]) -> Option<(String, f64)> {
        let read =
            |path: &Path| files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned());
        find_quota(groups, mounts, read).map(|quota| (quota.group, quota.cpus))
    }

    #[test]
    fn the_least_quota_around_a_process_counts_in_both_versions() {
        let unified = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let files = [
            ("/sys/fs/cgroup/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/pod/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/pod/app/cpu.max", "400000 100000\n"),
        ];
        assert_eq!(found("0::/pod/app\n", unified, &files), Some(("/pod".to_owned(), 1.5)));
        assert_eq!(found("0::/\n", unified, &files), None);
        let split = "34 23 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
        let files = [
            ("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "50000\n"),
            ("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ];
        assert_eq!(found("2:cpu,cpuacct:/box\n", split, &files), Some(("/box".to_owned(), 0.5)));
        assert_eq!(found("2:cpu,cpuacct:/\n", split, &files), None);
    }
}
