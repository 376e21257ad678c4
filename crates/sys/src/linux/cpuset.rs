//! The online cpus, and the cpus that the cpuset lets this process use, whatever affinity mask it inherited.

use std::io;
use std::path::Path;

use corewise_machine::CpuSet;

use super::affinity;
use super::proc_files::read_file;
use crate::cgroup::limit::find_limiting_group;
use crate::cgroup::quota::find_quota;
use crate::cgroup::{CpuQuota, LimitingGroup};

/// Maximum number of cpus that Linux is built for; it ignores the rest of a wider mask.
const WIDEST: u32 = 8_192;
/// Mount points of the hierarchies with the controller cpuset, version 2 and 1, and the file with a group's effective cpus.
const EFFECTIVE: [(&str, &str); 2] =
    [("/sys/fs/cgroup", "cpuset.cpus.effective"), ("/sys/fs/cgroup/cpuset", "cpuset.effective_cpus")];

/// Returns the online cpus; empty if the kernel does not report them.
pub fn online_cpus() -> CpuSet {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    CpuSet::parse_list(text.trim()).unwrap_or_default()
}

/// Returns every possible cpu. A thread that asks for all gets its cpuset's, also after the cpuset grows.
pub fn possible_cpus() -> CpuSet {
    CpuSet::first_cpus(WIDEST)
}

/// Returns the cpus that this process may use. A new thread asks for every cpu, and the kernel cuts that to the online cpus of the cpuset
/// (sched_setaffinity(2)). The mask of the calling thread stays as it is.
///
/// # Errors
/// Errors of the kernel, or of starting a thread.
pub fn reachable_cpus() -> io::Result<CpuSet> {
    let ask = || {
        affinity::set_current(&possible_cpus())?;
        affinity::current_affinity()
    };
    let answer = std::thread::Builder::new().spawn(ask)?.join();
    answer.unwrap_or_else(|_| Err(io::Error::other("the thread that requested every cpu ended without an answer")))
}

/// Returns the control group that limits the cpus of a process, in any hierarchy; `None` if it can reach all online cpus.
pub fn limiting_group(process: u32) -> Option<LimitingGroup> {
    let groups = std::fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    find_limiting_group(&groups, &mounts, &online_cpus(), |path| std::fs::read_to_string(path).ok())
}

/// Returns the quota of processor time that limits this process; `None` without one.
pub fn own_quota() -> Option<CpuQuota> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    find_quota(&read(Path::new("/proc/self/cgroup"))?, &read(Path::new("/proc/self/mountinfo"))?, read)
}

/// Returns the online cpus of a process's cpuset: cpuset(7), `cpuset.cpus.effective` of its group or of the nearest above with the
/// controller. All online cpus if no group has it.
pub fn cpuset_of(process: u32) -> CpuSet {
    let text = |path: &str| Some(String::from_utf8_lossy(&read_file(path).ok()?).into_owned());
    let group = text(&format!("/proc/{process}/cpuset")).unwrap_or_default();
    let effective = |(root, file): (&str, &str)| {
        let groups = Path::new(group.trim_end()).ancestors();
        let read = |group: &Path| {
            let group = group.strip_prefix("/").unwrap_or(group);
            let text = text(Path::new(root).join(group).join(file).to_str()?)?;
            CpuSet::parse_list(text.trim()).ok().filter(|cpus| !cpus.is_empty())
        };
        groups.map(read).find_map(|found| found)
    };
    // Few systems mount a hierarchy elsewhere.
    let elsewhere = || limiting_group(process).filter(|_| !group.is_empty()).map(|limit| limit.cpus);
    EFFECTIVE.into_iter().find_map(effective).or_else(elsewhere).unwrap_or_else(online_cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpuset_of_this_process_is_what_it_can_reach() {
        std::thread::spawn(|| assert_eq!(cpuset_of(std::process::id()), reachable_cpus().unwrap())).join().unwrap();
    }

    #[test]
    fn a_narrow_mask_does_not_hide_what_can_be_reached() {
        std::thread::spawn(|| {
            let all = reachable_cpus().unwrap();
            let one = CpuSet::from_cpu(affinity::current_affinity().unwrap().lowest().unwrap());
            affinity::set_current(&one).unwrap();
            assert_eq!(reachable_cpus().unwrap(), all);
            assert_eq!(affinity::current_affinity().unwrap(), one, "the asking left the mask alone");
        })
        .join()
        .unwrap();
    }
}
