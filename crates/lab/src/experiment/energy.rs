//! What the processor's packages use while something runs: the counters of RAPL, where this user may read them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::scope;
use std::time::Duration;

/// No package uses more, in watts: so often a counter is read that it cannot have run through its range twice in between.
const MOST_WATTS: f64 = 2_000.0;

/// The counter of a package at one moment: /sys/class/powercap/intel-rapl:N/energy_uj (AMD's too).
#[derive(Clone, Debug, PartialEq, Eq)]
struct Counter {
    zone: PathBuf,
    microjoules: u64,
    /// It begins again at zero behind this.
    range: u64,
}

/// What was used since the first of several readings, at least one of each range.
#[derive(Debug, Default)]
struct Meter {
    last: Vec<Counter>,
    /// Absent where no counter was read twice.
    microjoules: Option<u64>,
}

/// Does something; the joules that all packages used meanwhile are absent where there are no counters, or where they may not be read,
/// which most kernels keep to root.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, Option<f64>) {
    let mut meter = Meter { last: counters(), microjoules: None };
    let Some(interval) = meter.interval() else { return (work(), None) };
    scope(|scope| {
        let (working, is_over) = channel::<()>();
        let reading = scope.spawn(move || {
            while is_over.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                meter.add(counters());
            }
            meter.add(counters());
            meter.microjoules
        });
        let made = work();
        drop(working);
        let used = reading.join().ok().flatten();
        (made, used.map(|microjoules| microjoules as f64 * 1e-6))
    })
}

impl Meter {
    /// How often the counters have to be read; absent where there are none.
    fn interval(&self) -> Option<Duration> {
        let range = self.last.iter().map(|counter| counter.range).min()?;
        Some(Duration::from_secs_f64((range as f64 * 1e-6 / MOST_WATTS).max(1.0)))
    }

    fn add(&mut self, now: Vec<Counter>) {
        for counter in &now {
            let Some(last) = self.last.iter().find(|last| last.zone == counter.zone) else { continue };
            let used = match counter.microjoules.checked_sub(last.microjoules) {
                Some(used) => used,
                None => counter.range.saturating_sub(last.microjoules) + counter.microjoules,
            };
            self.microjoules = Some(self.microjoules.unwrap_or_default() + used);
        }
        self.last = now;
    }
}

/// The counters now.
fn counters() -> Vec<Counter> {
    let zones = fs::read_dir("/sys/class/powercap").into_iter().flatten().flatten().map(|entry| entry.path());
    // Others are parts of a package ("core"), or the whole machine with its packages ("psys").
    let is_package = |path: &PathBuf| {
        let folder = path.file_name().unwrap_or_default().to_string_lossy();
        let name = fs::read_to_string(path.join("name")).unwrap_or_default();
        folder.starts_with("intel-rapl:") && name.starts_with("package-")
    };
    let read = |zone: PathBuf| {
        let (microjoules, range) = (number(&zone, "energy_uj")?, number(&zone, "max_energy_range_uj")?);
        Some(Counter { zone, microjoules, range })
    };
    zones.filter(is_package).filter_map(read).collect()
}

fn number(zone: &Path, name: &str) -> Option<u64> {
    fs::read_to_string(zone.join(name)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package with the usual range of 65.5 kJ, after it used so many joules.
    fn after(joules: u64) -> Vec<Counter> {
        let range = 65_532_610_987;
        vec![Counter { zone: "intel-rapl:0".into(), microjoules: joules * 1_000_000 % range, range }]
    }

    #[test]
    fn counters_that_begin_again_twice_lose_nothing() {
        let mut meter = Meter { last: after(60_000), microjoules: None };
        // Ten minutes at 400 W, read as often as the meter wants.
        let interval_s = meter.interval().unwrap().as_secs();
        assert!((10..82).contains(&interval_s), "{interval_s}");
        for second in (0..600).step_by(interval_s as usize).chain([600]) {
            meter.add(after(60_000 + 400 * second));
        }
        assert_eq!(meter.microjoules, Some(400 * 600 * 1_000_000));
    }

    #[test]
    fn what_was_read_once_tells_nothing() {
        let mut meter = Meter::default();
        assert_eq!(meter.interval(), None);
        meter.add(after(1));
        assert_eq!(meter.microjoules, None);
    }
}
