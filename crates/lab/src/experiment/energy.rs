//! What the processor's packages use: the counters of RAPL, where this user may read them.

use std::fs;
use std::path::PathBuf;

/// The counters of all packages at one moment: /sys/class/powercap/intel-rapl:N/energy_uj (AMD's too).
#[derive(Debug, Default)]
pub struct Energy(Vec<(PathBuf, u64)>);

impl Energy {
    /// The counters now; empty where there are none, or where they may not be read, which most kernels keep to root.
    pub fn now() -> Self {
        let zones = fs::read_dir("/sys/class/powercap").into_iter().flatten().flatten().map(|entry| entry.path());
        // Others are parts of a package ("core"), or the whole machine with its packages ("psys").
        let is_package = |path: &PathBuf| {
            let folder = path.file_name().unwrap_or_default().to_string_lossy();
            let name = fs::read_to_string(path.join("name")).unwrap_or_default();
            folder.starts_with("intel-rapl:") && name.starts_with("package-")
        };
        let read = |zone: PathBuf| number(&zone, "energy_uj").map(|value| (zone, value));
        Self(zones.filter(is_package).filter_map(read).collect())
    }

    /// The joules since an earlier moment; nothing where no counter was read at both.
    pub fn since(&self, earlier: &Self) -> Option<f64> {
        let each = self.0.iter().filter_map(|(zone, now)| {
            let (_, then) = earlier.0.iter().find(|(other, _)| other == zone)?;
            // The counter begins again at zero behind its range.
            let range = number(zone, "max_energy_range_uj").unwrap_or_default();
            let used = now.checked_sub(*then).unwrap_or_else(|| (range - then.min(&range)) + now);
            Some(used as f64 * 1e-6)
        });
        each.reduce(|sum, joules| sum + joules)
    }
}

fn number(zone: &std::path::Path, name: &str) -> Option<u64> {
    fs::read_to_string(zone.join(name)).ok()?.trim().parse().ok()
}
