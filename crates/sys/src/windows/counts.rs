//! The kernel's counts for every cpu, read at one moment: NtQuerySystemInformation.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;
use std::time::{Duration, Instant};

use corewise_machine::Gap;
use corewise_machine::counts::{EventCounts, SourceCount};
use windows_sys::Wdk::System::SystemInformation::NtQuerySystemInformation;
use windows_sys::Win32::System::WindowsProgramming::SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION;

use super::missing::NeverValue;
use super::processors::NUMBERING;
use super::version::wine_version;
use crate::values::counts::busy_share;
pub use crate::values::counts::{CountKind, CountedInterval};

/// SystemProcessorPerformanceInformation.
const TIMES: i32 = 8;
/// SystemInterruptInformation.
const EVENTS: i32 = 23;
/// Unit of the kernel's times.
const SECONDS: f64 = 1e-7;
const MOST_IN_GROUP: usize = 64;

#[link(name = "ntdll", kind = "raw-dylib")]
unsafe extern "system" {
    /// Since Windows 7: the same for the processors of a group; its number is the input.
    fn NtQuerySystemInformationEx(
        class: i32,
        input: *const c_void,
        input_length: u32,
        output: *mut c_void,
        length: u32,
        returned: *mut u32,
    ) -> i32;
}

/// SYSTEM_INTERRUPT_INFORMATION: switches of threads, deferred procedure calls, their rate, the length of a tick, and two counts of calls
/// that were not queued.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct EventNumbers([u32; 6]);

/// The kernel's counts of a cpu. Times are in units of 100 ns; the time in the kernel includes idle time, interrupts and deferred procedure
/// calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct CpuCounters {
    busy: i64,
    in_deferred_calls: i64,
    in_interrupts: i64,
    interrupts: u32,
    deferred_calls: u32,
}

#[derive(Clone, Debug)]
pub struct KernelCounts {
    cpus: BTreeMap<u32, CpuCounters>,
    /// Version of Wine, which reports times of cpus, but zeros for interrupts and random numbers for deferred procedure calls.
    wine: Option<String>,
    at: Instant,
    pub reading: Duration,
}

impl KernelCounts {
    pub fn read_now() -> Self {
        let began = Instant::now();
        let (times, events) =
            (of_all::<SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION>(TIMES), of_all::<EventNumbers>(EVENTS));
        let reading = began.elapsed();
        let of_cpu = |(cpu, times)| (cpu, CpuCounters::new(&times, &events.get(&cpu).copied().unwrap_or_default()));
        let cpus = times.into_iter().map(of_cpu).collect();
        Self { cpus, wine: wine_version(), at: began + reading / 2, reading }
    }

    pub fn counts_since(&self, earlier: &Self, cpu: u32) -> CountedInterval {
        self.since_on(earlier, std::iter::once(cpu)).pop().unwrap_or_default()
    }

    pub fn since_on(&self, earlier: &Self, cpus: impl Iterator<Item = u32>) -> Vec<CountedInterval> {
        let elapsed_s = self.at.saturating_duration_since(earlier.at).as_secs_f64();
        let counted = |source: &str, count: u32, time: i64| {
            let sources = (count > 0).then(|| SourceCount { source: source.to_owned(), count: count.into() });
            let time_s = Some(time.max(0) as f64 * SECONDS);
            Some(EventCounts { elapsed_s, sources: sources.into_iter().collect(), time_s })
        };
        let happened = |cpu| match (self.cpus.get(&cpu), earlier.cpus.get(&cpu)) {
            (Some(now), Some(then)) if self.wine.is_none() => CountedInterval {
                interrupts: counted(
                    "interrupts",
                    now.interrupts.wrapping_sub(then.interrupts),
                    now.in_interrupts - then.in_interrupts,
                ),
                softirqs: counted(
                    "DPC",
                    now.deferred_calls.wrapping_sub(then.deferred_calls),
                    now.in_deferred_calls - then.in_deferred_calls,
                ),
                stolen_s: None,
            },
            _ => CountedInterval::default(),
        };
        cpus.map(happened).collect()
    }

    pub fn busy_since(&self, earlier: &Self, own: Duration) -> Option<f64> {
        let busy = self.cpus.iter().filter_map(|(cpu, now)| Some(now.busy - earlier.cpus.get(cpu)?.busy));
        busy_share(busy.map(|busy| busy as f64 * SECONDS), self.at.saturating_duration_since(earlier.at), own)
    }

    pub fn counting_gap(&self, kind: CountKind) -> Option<Gap> {
        let why = match (kind, &self.wine) {
            (CountKind::StolenTime, _) => "Windows does not report it".to_owned(),
            (_, Some(version)) => format!("Wine {version} does not count them"),
            (_, None) if self.cpus.is_empty() => "Windows refuses NtQuerySystemInformation".to_owned(),
            (_, None) => return None,
        };
        Some(Gap::new(kind.name(), why))
    }
}

impl CpuCounters {
    fn new(times: &SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION, events: &EventNumbers) -> Self {
        let [in_deferred_calls, in_interrupts] = times.Reserved1;
        Self {
            busy: times.KernelTime + times.UserTime - times.IdleTime,
            in_deferred_calls,
            in_interrupts,
            interrupts: times.Reserved2,
            deferred_calls: events.0[1],
        }
    }
}

/// Returns a structure of plain numbers for each cpu; none for groups that the kernel refuses.
fn of_all<T: Copy + Default>(class: i32) -> BTreeMap<u32, T> {
    let groups = 0..NUMBERING.groups.len() as u16;
    let of_group =
        |group| of_group::<T>(class, group).into_iter().zip(0_u8..).map(move |(of_cpu, index)| (group, index, of_cpu));
    let all = groups.flat_map(of_group);
    all.filter_map(|(group, index, of_cpu)| Some((NUMBERING.cpu_number(group, index)?, of_cpu))).collect()
}

/// Returns the structures of a group's processors, in their order. The call without a group answers for the calling thread's group.
fn of_group<T: Copy + Default>(class: i32, group: u16) -> Vec<T> {
    let mut filled = vec![T::default(); MOST_IN_GROUP];
    let (output, mut returned) = (filled.as_mut_ptr().cast(), 0);
    let length = size_of_val(filled.as_slice()) as u32;
    // SAFETY: the kernel writes at most `length` bytes of plain numbers; the group's number outlives the call.
    let status = unsafe {
        if NUMBERING.groups.len() == 1 {
            NtQuerySystemInformation(class, output, length, &raw mut returned)
        } else {
            let input = ptr::from_ref(&group).cast();
            NtQuerySystemInformationEx(class, input, size_of::<u16>() as u32, output, length, &raw mut returned)
        }
    };
    filled.truncate(if status >= 0 { returned as usize / size_of::<T>() } else { 0 });
    filled
}

#[derive(Clone, Debug)]
pub struct StolenTime(NeverValue);

impl StolenTime {
    pub fn read_now() -> Option<Self> {
        None
    }

    pub fn grew_since(&self, _: &Self, _: [u32; 2]) -> bool {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(of_cpu: CpuCounters, wine: Option<&str>, second: u64) -> KernelCounts {
        KernelCounts {
            cpus: BTreeMap::from([(3, of_cpu)]),
            wine: wine.map(str::to_owned),
            at: Instant::now() + Duration::from_secs(second),
            reading: Duration::ZERO,
        }
    }

    #[test]
    fn counts_and_times_are_those_between_the_readings() {
        let times =
            |idle, kernel, user, of_calls, of_interrupts, interrupts| SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION {
                IdleTime: idle,
                KernelTime: kernel,
                UserTime: user,
                Reserved1: [of_calls, of_interrupts],
                Reserved2: interrupts,
            };
        let events = |deferred_calls| EventNumbers([0, deferred_calls, 0, 0, 0, 0]);
        // The counters are of 32 bits, and begin again.
        let then = CpuCounters::new(&times(0, 0, 0, 0, 0, u32::MAX - 9), &events(7));
        let now = CpuCounters::new(&times(15_000_000, 17_000_000, 3_000_000, 200_000, 400_000, 90), &events(57));
        let (before, after) = (moment(then, None, 0), moment(now, None, 2));
        let happened = after.counts_since(&before, 3);
        let (interrupts, calls) = (happened.interrupts.unwrap(), happened.softirqs.unwrap());
        assert_eq!((interrupts.total_count(), calls.total_count()), (100, 50));
        assert_eq!((interrupts.time_s, calls.time_s), (Some(0.04), Some(0.02)));
        assert_eq!(happened.stolen_s, None);
        let busy = after.busy_since(&before, Duration::from_millis(100)).unwrap();
        assert!((busy - 0.2).abs() < 0.01, "{busy}");
        assert_eq!(after.counts_since(&before, 4), CountedInterval::default(), "another cpu");
    }

    #[test]
    fn what_wine_counts_is_not_believed() {
        let (before, after) = (moment(CpuCounters::default(), None, 0), moment(CpuCounters::default(), Some("8.0"), 1));
        assert_eq!(after.counts_since(&before, 3), CountedInterval::default());
        let why = |moment: &KernelCounts| CountKind::ALL.map(|kind| moment.counting_gap(kind).map(|gap| gap.why));
        let [wine, stolen] =
            ["Wine 8.0 does not count them", "Windows does not report it"].map(|why| Some(why.to_owned()));
        assert_eq!(why(&after), [wine.clone(), wine, stolen.clone()]);
        assert_eq!(why(&before), [None, None, stolen]);
    }

    #[test]
    fn every_cpu_has_times() {
        let now = KernelCounts::read_now();
        assert_eq!(now.cpus.keys().copied().collect::<corewise_machine::CpuSet>(), NUMBERING.online_cpus());
    }
}
