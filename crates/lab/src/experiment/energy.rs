//! Energy of the processor's packages during a trial.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

use corewise_sys::Root;
use corewise_sys::energy::EnergyReading;

/// Sums the energy until it is read. A thread reads the counters often enough that none wraps unseen.
#[derive(Debug)]
pub struct EnergyMeter {
    thread: Option<(Sender<()>, JoinHandle<Option<f64>>)>,
}

impl EnergyMeter {
    /// Begins with the counters of a machine; without a thread if this user may not read any.
    pub fn begin_reading(root: Root) -> Self {
        let mut last = EnergyReading::read_now(&root);
        let Some(longest) = last.longest_interval() else { return Self { thread: None } };
        let (end, ended) = channel::<()>();
        let add = move || {
            let mut joules = Some(0.0);
            loop {
                let is_over = ended.recv_timeout(longest / 2) != Err(RecvTimeoutError::Timeout);
                let now = EnergyReading::read_now(&root);
                joules = joules.zip(now.joules_since(&last)).map(|(sum, more)| sum + more);
                last = now;
                if is_over {
                    return joules;
                }
            }
        };
        let thread = std::thread::Builder::new().name("energy".to_owned()).spawn(add);
        Self { thread: thread.ok().map(|thread| (end, thread)) }
    }

    /// Returns the joules since the beginning; `None` if no counter was read, or not often enough.
    pub fn end_reading(self) -> Option<f64> {
        let (end, thread) = self.thread?;
        drop(end);
        thread.join().ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_was_used_meanwhile_is_added_up_also_over_the_end_of_a_counter() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("sys/class/powercap/intel-rapl:0");
        let used = |joules: u32| fs::write(package.join("energy_uj"), format!("{joules}000000\n")).unwrap();
        fs::create_dir_all(&package).unwrap();
        fs::create_dir_all(folder.path().join("sys/devices/system/cpu")).unwrap();
        fs::write(package.join("name"), "package-0\n").unwrap();
        fs::write(package.join("max_energy_range_uj"), "65532000000\n").unwrap();
        used(65_530);
        let meter = EnergyMeter::begin_reading(Root::open(folder.path()).unwrap());
        used(5);
        assert_eq!(meter.end_reading(), Some(7.0));
        assert_eq!(EnergyMeter::begin_reading(Root::from_files([("proc/stat", "")])).end_reading(), None);
    }
}
