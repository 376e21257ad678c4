//! Clock rate of each cpu as cpufreq reports it: /sys/devices/system/cpu/cpuN/cpufreq/scaling_cur_freq.

use std::path::{Path, PathBuf};

/// Number of cpus read at a time: each is a file of its own, and the kernel may have to ask the cpu.
const AT_A_TIME: u32 = 16;

/// A reader that reads a few cpus each time.
#[derive(Debug)]
pub struct ClockRates {
    folder: PathBuf,
    mhz: Vec<Option<u32>>,
    next: u32,
    is_there: bool,
}

impl ClockRates {
    /// Reads this machine.
    pub fn new() -> Self {
        Self::in_root(Path::new("/"))
    }

    /// Reads another machine's files, which lie in a folder as they do in its root.
    pub fn in_root(root: &Path) -> Self {
        let folder = root.join("sys/devices/system/cpu");
        Self { mhz: Vec::new(), next: 0, is_there: folder.join("cpufreq").exists(), folder }
    }

    /// Returns the clock rates in MHz of cpus 0 to `cpus` - 1; `None` if not reported.
    pub fn read_rates(&mut self, cpus: usize) -> &[Option<u32>] {
        self.mhz.resize(cpus, None);
        let cpus = if self.is_there { cpus as u32 } else { 0 };
        for _ in 0..AT_A_TIME.min(cpus) {
            self.next %= cpus;
            let path = self.folder.join(format!("cpu{}/cpufreq/scaling_cur_freq", self.next));
            let khz: Option<u32> = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
            self.mhz[self.next as usize] = khz.map(|khz| khz / 1_000);
            self.next += 1;
        }
        &self.mhz
    }
}

impl Default for ClockRates {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_cpus_are_asked_in_turn_and_none_where_there_is_no_cpufreq() {
        let folder = tempfile::tempdir().unwrap();
        for cpu in (0..40).filter(|cpu| *cpu != 1) {
            let own = folder.path().join(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq"));
            std::fs::create_dir_all(&own).unwrap();
            std::fs::write(own.join("scaling_cur_freq"), format!("{}\n", 3_000_000 + cpu * 1_000)).unwrap();
        }
        let mut without = ClockRates::in_root(folder.path());
        assert_eq!(without.read_rates(2), [None, None]);
        std::fs::create_dir(folder.path().join("sys/devices/system/cpu/cpufreq")).unwrap();
        let mut rates = ClockRates::in_root(folder.path());
        let first = rates.read_rates(40).to_vec();
        assert_eq!((first[0], first[1], first[15], first[16]), (Some(3_000), None, Some(3_015), None));
        rates.read_rates(40);
        let all = rates.read_rates(40).to_vec();
        assert!((0..40).all(|cpu| (cpu == 1) == all[cpu].is_none()), "{all:?}");
        assert_eq!(rates.read_rates(3).len(), 3, "cpus that are gone are forgotten");
    }
}
