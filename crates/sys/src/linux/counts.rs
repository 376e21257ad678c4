//! The kernel's counts for every cpu, read at one moment.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use corewise_machine::Gap;
use corewise_machine::counts::EventCounts;

use super::stat;
use crate::interrupts::InterruptTable;
use crate::values::counts::busy_share;
pub use crate::values::counts::{CountKind, CountedInterval};

/// Advice if a file of counts cannot be read.
const CURE: &str = "run on a system with the kernel's own /proc (many sandboxes hide it), or as a user who may read it";

/// The texts of /proc/interrupts, /proc/softirqs and /proc/stat at one moment; `None` if they could not be read.
///
/// They are kept as texts, since parsing takes longer than reading and can wait until no measurement runs.
#[derive(Clone, Debug)]
pub struct KernelCounts {
    interrupts: Option<String>,
    softirqs: Option<String>,
    stat: Option<String>,
    at: Instant,
    /// Duration of the reading.
    pub reading: Duration,
}

impl KernelCounts {
    /// Reads the running kernel's counts now.
    pub fn read_now() -> Self {
        let read = |path| std::fs::read_to_string(path).ok();
        let began = Instant::now();
        let interrupts = read("/proc/interrupts");
        let softirqs = read("/proc/softirqs");
        let reading = began.elapsed();
        Self { interrupts, softirqs, stat: read("/proc/stat"), at: began + reading / 2, reading }
    }

    /// Returns the events on a cpu since an earlier moment.
    pub fn counts_since(&self, earlier: &Self, cpu: u32) -> CountedInterval {
        self.since_on(earlier, std::iter::once(cpu)).pop().unwrap_or_default()
    }

    /// Returns the events on each of several cpus since an earlier moment; the texts are parsed once.
    pub fn since_on(&self, earlier: &Self, cpus: impl Iterator<Item = u32>) -> Vec<CountedInterval> {
        let elapsed_s = self.at.saturating_duration_since(earlier.at).as_secs_f64();
        let parsed = |text: &Option<String>| text.as_ref().map(|text| InterruptTable::parse(text));
        let both = |now, then| parsed(now).zip(parsed(then));
        let interrupts = both(&self.interrupts, &earlier.interrupts);
        let softirqs = both(&self.softirqs, &earlier.softirqs);
        let times = |counts: &Self| counts.stat.as_ref().map(|text| stat::parse(text));
        let (times_now, times_then) = (times(self), times(earlier));
        let counted = |both: &Option<(InterruptTable, InterruptTable)>, cpu| {
            let (now, then) = both.as_ref()?;
            Some(EventCounts { elapsed_s, sources: now.counts_since(then, cpu)?, time_s: None })
        };
        let stolen_s = |cpu| {
            let of = |times: &Option<BTreeMap<u32, stat::CpuTime>>| Some(times.as_ref()?.get(&cpu)?.stolen_s);
            Some((of(&times_now)? - of(&times_then)?).max(0.0))
        };
        cpus.map(|cpu| CountedInterval {
            interrupts: counted(&interrupts, cpu),
            softirqs: counted(&softirqs, cpu),
            stolen_s: stolen_s(cpu),
        })
        .collect()
    }

    /// Returns the share of all cpus' time that programs used since an earlier moment, without `own` seconds of it; between 0 and 1. Cpus
    /// that were not online at both moments do not count.
    pub fn busy_since(&self, earlier: &Self, own: Duration) -> Option<f64> {
        let (now, then) = (stat::parse(self.stat.as_ref()?), stat::parse(earlier.stat.as_ref()?));
        let busy_s = now.iter().filter_map(|(cpu, time)| Some(time.busy_s - then.get(cpu)?.busy_s));
        busy_share(busy_s, self.at.saturating_duration_since(earlier.at), own)
    }

    /// Returns why a kind is not counted here; `None` if it is counted.
    pub fn counting_gap(&self, kind: CountKind) -> Option<Gap> {
        let has_cpus =
            |text: &Option<String>| text.as_ref().is_some_and(|text| !InterruptTable::parse(text).cpus.is_empty());
        let (is_counted, file) = match kind {
            CountKind::Interrupts => (has_cpus(&self.interrupts), "/proc/interrupts"),
            CountKind::SoftInterrupts => (has_cpus(&self.softirqs), "/proc/softirqs"),
            CountKind::StolenTime => {
                (self.stat.as_ref().is_some_and(|text| !stat::parse(text).is_empty()), "/proc/stat")
            }
        };
        (!is_counted).then(|| Gap::new(kind.name(), format!("{file} cannot be read")).cured_by(CURE))
    }
}

/// Time that hypervisors have stolen from every cpu, read at one moment: /proc/stat alone, for short visits.
#[derive(Clone, Debug)]
pub struct StolenTime(String);

impl StolenTime {
    /// Reads the running kernel's count now; `None` if it cannot be read.
    pub fn read_now() -> Option<Self> {
        std::fs::read_to_string("/proc/stat").ok().map(Self)
    }

    /// Returns true if time was stolen from one of some cpus since an earlier moment; the kernel counts in steps of 10 ms.
    pub fn grew_since(&self, earlier: &Self, cpus: [u32; 2]) -> bool {
        let (now, then) = (stat::parse(&self.0), stat::parse(&earlier.0));
        let of = |times: &BTreeMap<u32, stat::CpuTime>, cpu| times.get(&cpu).map(|time| time.stolen_s);
        cpus.into_iter().any(|cpu| of(&now, cpu).zip(of(&then, cpu)).is_some_and(|(now, then)| now > then))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stolen_from_either_cpu_is_seen() {
        let at = |steal: [u32; 3]| {
            let line = |(cpu, steal): (usize, u32)| format!("cpu{cpu} 100 0 50 300 4 1 2 {steal} 0 0\n");
            StolenTime(steal.into_iter().enumerate().map(line).collect())
        };
        let (then, now) = (at([7, 3, 0]), at([7, 4, 0]));
        assert!(now.grew_since(&then, [0, 1]) && now.grew_since(&then, [1, 2]));
        assert!(!now.grew_since(&then, [0, 2]) && !then.grew_since(&then, [0, 1]));
    }

    fn moment(interrupts: Option<&str>, stat: &str, second: u64) -> KernelCounts {
        KernelCounts {
            interrupts: interrupts.map(str::to_owned),
            softirqs: None,
            stat: Some(stat.to_owned()),
            at: Instant::now() + Duration::from_secs(second),
            reading: Duration::ZERO,
        }
    }

    #[test]
    fn rates_are_over_the_time_between_the_readings() {
        let before = moment(Some("CPU0 CPU1\nLOC: 10 20 timer\n"), "cpu0 0 0 0 0 0 0 0 5\ncpu1 0 0 0 0\n", 0);
        let after = moment(Some("CPU0 CPU1\nLOC: 510 20 timer\n"), "cpu0 100 0 0 0 0 0 0 8\ncpu1 60 0 0 0\n", 2);
        let happened = after.counts_since(&before, 0);
        let rate = happened.interrupts.unwrap().per_second();
        assert!((rate - 250.0).abs() < 1.0, "{rate}");
        assert!((happened.stolen_s.unwrap() - 0.03).abs() < 1e-9);
        assert_eq!(happened.softirqs, None, "what could not be read is absent, not zero");
        let busy = after.busy_since(&before, Duration::from_millis(400)).unwrap();
        assert!((busy - (1.6 - 0.4) / 4.0).abs() < 0.01, "{busy}");
    }

    #[test]
    fn what_cannot_be_read_or_is_empty_is_a_gap() {
        let why = |moment: &KernelCounts| CountKind::ALL.map(|kind| moment.counting_gap(kind).map(|gap| gap.why));
        let unreadable = |file: &str| Some(format!("{file} cannot be read"));
        let all = ["/proc/interrupts", "/proc/softirqs", "/proc/stat"].map(unreadable);
        assert_eq!(why(&moment(None, "", 0)), all);
        assert_eq!(why(&moment(Some("\n"), "", 0)), all);
        let [_, softirqs, _] = all;
        assert_eq!(why(&moment(Some("           CPU0\n"), "cpu0 1 2 3 4\n", 0)), [None, softirqs, None]);
    }

    #[test]
    fn an_empty_file_or_a_cpu_without_a_column_counts_nothing() {
        let empty = moment(Some(""), "", 0);
        assert_eq!(moment(Some(""), "", 1).counts_since(&empty, 0), CountedInterval::default());
        let text = Some("CPU0\nLOC: 1 timer\n");
        assert_eq!(moment(text, "", 1).counts_since(&moment(text, "", 0), 1).interrupts, None);
        assert_eq!(moment(text, "", 1).counts_since(&moment(text, "", 0), 0).interrupts.unwrap().total_count(), 0);
    }
}
