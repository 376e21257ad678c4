//! The cpus that are online, and those that the cpuset lets this process use, whatever affinity mask it inherited.

use std::io;

use corewise_model::CpuSet;

use super::affinity;

/// Linux is built for at most so many cpus; it passes over the rest of a wider mask.
const WIDEST: u32 = 8_192;

/// The cpus that are online; empty where the kernel does not report them.
pub fn online() -> CpuSet {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    CpuSet::parse_list(text.trim()).unwrap_or_default()
}

/// The cpus that this process may use: a thread of its own asks for every cpu, and the kernel cuts that to the cpuset and to
/// what is online (sched_setaffinity(2)). The mask of the calling thread stays as it is.
///
/// # Errors
/// What the kernel or the start of a thread says.
pub fn reachable() -> io::Result<CpuSet> {
    let ask = || {
        affinity::set_current(&CpuSet::first(WIDEST))?;
        affinity::current()
    };
    let answer = std::thread::Builder::new().spawn(ask)?.join();
    answer.unwrap_or_else(|_| Err(io::Error::other("the thread that requested every cpu ended without an answer")))
}

#[cfg(test)]
mod tests {
    use super::*;

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
