//! The cpus that are online, and those that the cpuset lets this process use, whatever affinity mask it inherited.

use std::io;
use std::path::Path;

use corewise_machine::CpuSet;

use super::affinity;

/// Linux is built for at most so many cpus; it passes over the rest of a wider mask.
const WIDEST: u32 = 8_192;
/// Where the hierarchies with the controller cpuset are mounted, version 2 and 1, and which file has what a group really gets.
const EFFECTIVE: [(&str, &str); 2] =
    [("/sys/fs/cgroup", "cpuset.cpus.effective"), ("/sys/fs/cgroup/cpuset", "cpuset.effective_cpus")];

/// The cpus that are online; empty where the kernel does not report them.
pub fn online() -> CpuSet {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    CpuSet::parse_list(text.trim()).unwrap_or_default()
}

/// Every cpu that there may ever be: a thread that asks for all gets what its cpuset has, also when that grows.
pub fn every() -> CpuSet {
    CpuSet::first(WIDEST)
}

/// The cpus that this process may use: a thread of its own asks for every cpu, and the kernel cuts that to the cpuset and to
/// what is online (sched_setaffinity(2)). The mask of the calling thread stays as it is.
///
/// # Errors
/// What the kernel or the start of a thread says.
pub fn reachable() -> io::Result<CpuSet> {
    let ask = || {
        affinity::set_current(&every())?;
        affinity::current()
    };
    let answer = std::thread::Builder::new().spawn(ask)?.join();
    answer.unwrap_or_else(|_| Err(io::Error::other("the thread that requested every cpu ended without an answer")))
}

/// The cpus that the cpuset of a process has and that are online: cpuset(7), `cpuset.cpus.effective` of its group or of the nearest above
/// that has the controller. All that are online where none has.
pub fn of(process: u32) -> CpuSet {
    let group = std::fs::read_to_string(format!("/proc/{process}/cpuset")).unwrap_or_default();
    let effective = |(root, file): (&str, &str)| {
        let groups = Path::new(group.trim_end()).ancestors();
        let read = |group: &Path| {
            let group = group.strip_prefix("/").unwrap_or(group);
            let text = std::fs::read_to_string(Path::new(root).join(group).join(file)).ok()?;
            CpuSet::parse_list(text.trim()).ok().filter(|cpus| !cpus.is_empty())
        };
        groups.map(read).find_map(|found| found)
    };
    EFFECTIVE.into_iter().find_map(effective).unwrap_or_else(online)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpuset_of_this_process_is_what_it_can_reach() {
        std::thread::spawn(|| assert_eq!(of(std::process::id()), reachable().unwrap())).join().unwrap();
    }

    #[test]
    fn a_narrow_mask_does_not_hide_what_can_be_reached() {
        std::thread::spawn(|| {
            let all = reachable().unwrap();
            let one = CpuSet::of(affinity::current().unwrap().lowest().unwrap());
            affinity::set_current(&one).unwrap();
            assert_eq!(reachable().unwrap(), all);
            assert_eq!(affinity::current().unwrap(), one, "the asking left the mask alone");
        })
        .join()
        .unwrap();
    }
}
