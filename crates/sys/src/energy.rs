//! Energy use of the processor's packages: the RAPL counters, if this user may read them.

use std::time::{Duration, Instant};

use crate::root::Root;

/// The kernel's folder of the counters (Documentation/power/powercap/powercap.rst); AMD's are called intel-rapl, too.
const FOLDER: &str = "sys/class/powercap";
/// Upper bound on the power of a package, in watts.
const MOST_WATTS: u64 = 4_000;

/// The counters of all packages at one moment.
#[derive(Clone, Debug)]
pub struct EnergyReading {
    at: Instant,
    packages: Vec<PackageEnergy>,
}

#[derive(Clone, Debug)]
struct PackageEnergy {
    name: String,
    used_uj: u64,
    /// Largest value, after which it starts again at zero; zero if unknown.
    range_uj: u64,
}

impl EnergyReading {
    /// Reads the counters. Empty if there are none, or if they may not be read; most kernels reserve them for root.
    pub fn read_now(root: &Root) -> Self {
        let number = |zone: &str, file: &str| root.read_text(&format!("{FOLDER}/{zone}/{file}"))?.trim().parse().ok();
        // Other zones are parts of a package ("core"), or the whole machine with its packages ("psys").
        let is_package = |zone: &String| {
            let name = root.read_text(&format!("{FOLDER}/{zone}/name"));
            zone.starts_with("intel-rapl:") && name.is_some_and(|name| name.starts_with("package-"))
        };
        let package = |zone: String| {
            let range_uj = number(&zone, "max_energy_range_uj").unwrap_or_default();
            Some(PackageEnergy { used_uj: number(&zone, "energy_uj")?, range_uj, name: zone })
        };
        let packages = root.list_folder(FOLDER).into_iter().filter(is_package).filter_map(package).collect();
        Self { at: Instant::now(), packages }
    }

    /// Returns the joules since an earlier moment. `None` if no counter was read at both, or if one may have wrapped twice meanwhile.
    pub fn joules_since(&self, earlier: &Self) -> Option<f64> {
        if self.at.saturating_duration_since(earlier.at) > earlier.longest_interval()? {
            return None;
        }
        let each = self.packages.iter().filter_map(|now| {
            let then = earlier.packages.iter().find(|then| then.name == now.name)?;
            let wrapped = || now.range_uj.saturating_sub(then.used_uj).saturating_add(now.used_uj);
            Some(now.used_uj.checked_sub(then.used_uj).unwrap_or_else(wrapped) as f64 * 1e-6)
        });
        each.reduce(|sum, joules| sum + joules)
    }

    /// Returns the time after which a counter may have wrapped twice: 16 s for the usual range of 65.5 kJ. `None` if there is no counter.
    pub fn longest_interval(&self) -> Option<Duration> {
        let seconds = |package: &PackageEnergy| package.range_uj / (MOST_WATTS * 1_000_000);
        self.packages.iter().map(seconds).min().filter(|seconds| *seconds > 0).map(Duration::from_secs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages, the first of which has used so much; a part of it and the whole machine do not count.
    fn at(begin: Instant, seconds: u64, used_uj: u64) -> EnergyReading {
        let files = [
            ("intel-rapl:0/name", "package-0"),
            ("intel-rapl:0/energy_uj", &used_uj.to_string()),
            ("intel-rapl:0/max_energy_range_uj", "65532610987"),
            ("intel-rapl:0:0/name", "core"),
            ("intel-rapl:0:0/energy_uj", &(used_uj / 2).to_string()),
            ("intel-rapl:1/name", "package-1"),
            ("intel-rapl:1/energy_uj", "5000000"),
            ("intel-rapl:1/max_energy_range_uj", "65532610987"),
            ("intel-rapl:2/name", "psys"),
            ("intel-rapl:2/energy_uj", "7"),
        ];
        let root = Root::from_files(files.map(|(file, text)| (format!("{FOLDER}/{file}"), format!("{text}\n"))));
        EnergyReading { at: begin + Duration::from_secs(seconds), ..EnergyReading::read_now(&root) }
    }

    #[test]
    fn packages_are_added_up_also_where_one_wraps() {
        let begin = Instant::now();
        assert_eq!(at(begin, 3, 9_000_000).joules_since(&at(begin, 0, 8_000_000)), Some(1.0));
        assert_eq!(at(begin, 3, 1_389_013).joules_since(&at(begin, 0, 65_531_000_000)), Some(3.0));
    }

    #[test]
    fn what_may_have_wrapped_twice_is_not_known() {
        let begin = Instant::now();
        assert_eq!(at(begin, 0, 0).longest_interval(), Some(Duration::from_secs(16)));
        assert_eq!(at(begin, 17, 9_000_000).joules_since(&at(begin, 0, 8_000_000)), None);
    }

    #[test]
    fn without_counters_nothing_is_known() {
        let none = EnergyReading::read_now(&Root::from_files([("proc/stat", "")]));
        assert_eq!((none.longest_interval(), none.joules_since(&none)), (None, None));
    }
}
