//! The clock: the cheapest reliable source of ticks, the cost of a reading, and the length of a tick.

use std::time::{Duration, Instant};

/// A source of ticks that counts upwards. A reading is taken after all earlier instructions are done.
pub trait TickSource: Copy + Send + Sync {
    /// Returns the present count.
    fn read_ticks(self) -> u64;
}

/// The processor's own counter: the TSC on x86-64 (`lfence; rdtsc`), CNTVCT_EL0 on arm64 (`isb; mrs`).
#[derive(Clone, Copy, Debug)]
pub struct OrderedCounter(());

impl TickSource for OrderedCounter {
    #[inline(always)]
    fn read_ticks(self) -> u64 {
        architecture::counter()
    }
}

impl OrderedCounter {
    /// Returns the same counter, read without waiting for earlier instructions. It takes a third of the time, for loops with nothing to
    /// wait for.
    pub const fn to_unordered(self) -> UnorderedCounter {
        UnorderedCounter(())
    }
}

/// The processor's counter without the ordering of [`OrderedCounter`].
#[derive(Clone, Copy, Debug)]
pub struct UnorderedCounter(());

impl TickSource for UnorderedCounter {
    #[inline(always)]
    fn read_ticks(self) -> u64 {
        architecture::unordered_counter()
    }
}

/// The operating system's monotonic clock, in nanoseconds since this value was made.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    base: Instant,
}

impl TickSource for SystemClock {
    #[inline]
    fn read_ticks(self) -> u64 {
        self.base.elapsed().as_nanos() as u64
    }
}

/// The source of ticks on this machine.
#[derive(Clone, Copy, Debug)]
pub enum ClockSource {
    /// The processor's counter, which runs at a constant rate.
    Counter(OrderedCounter),
    /// The operating system's clock.
    System(SystemClock),
}

/// A source of ticks and its measured properties.
#[derive(Clone, Copy, Debug)]
pub struct TickClock {
    /// The source.
    pub source: ClockSource,
    /// "invariant TSC", "CNTVCT_EL0" or "operating system clock".
    pub name: &'static str,
    /// The length of a tick in nanoseconds.
    pub nanoseconds_per_tick: f64,
    /// Cost of one reading in nanoseconds: the mean distance of consecutive readings.
    pub reading_ns: f64,
    /// The smallest step between two different readings, in nanoseconds.
    pub step_ns: f64,
}

/// Time for which the counter is compared with the operating system's clock. A pair of readings is exact to about 30 ns, so the rate is
/// exact to about one millionth.
const CALIBRATION: Duration = Duration::from_millis(40);

impl TickClock {
    /// Finds the best source of this machine and calibrates it; takes about 50 ms.
    pub fn calibrate_best() -> Self {
        match architecture::constant_rate_counter() {
            Some(name) => Self::of_counter(name),
            None => Self::of_system(),
        }
    }

    fn of_counter(name: &'static str) -> Self {
        let counter = OrderedCounter(());
        let first = paired_reading(counter);
        std::thread::sleep(CALIBRATION);
        let last = paired_reading(counter);
        let nanoseconds = last.1.duration_since(first.1).as_nanos() as f64;
        let ticks = last.0.saturating_sub(first.0);
        if ticks == 0 {
            return Self::of_system();
        }
        Self::measure_source(ClockSource::Counter(counter), counter, name, nanoseconds / ticks as f64)
    }

    fn of_system() -> Self {
        let system = SystemClock { base: Instant::now() };
        Self::measure_source(ClockSource::System(system), system, "operating system clock", 1.0)
    }

    fn measure_source(
        source: ClockSource,
        ticks: impl TickSource,
        name: &'static str,
        nanoseconds_per_tick: f64,
    ) -> Self {
        let steps = quietest_steps(ticks);
        let reading = steps.iter().sum::<u64>() as f64 / steps.len() as f64;
        let smallest = steps.iter().copied().find(|&step| step > 0).unwrap_or(1);
        Self {
            source,
            name,
            nanoseconds_per_tick,
            reading_ns: reading * nanoseconds_per_tick,
            step_ns: smallest.min(greatest_common_divisor(&steps)) as f64 * nanoseconds_per_tick,
        }
    }

    /// Converts a duration to ticks.
    pub fn ticks_of(&self, duration: Duration) -> u64 {
        (duration.as_nanos() as f64 / self.nanoseconds_per_tick) as u64
    }
}

/// One moment on two clocks: ours, and the clock of the kernel's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockMoment {
    /// Ticks of the clock's source.
    pub ticks: u64,
    /// Nanoseconds of CLOCK_MONOTONIC_RAW.
    pub raw_ns: u64,
}

impl TickClock {
    /// Reads both clocks at one moment, exact to about 30 ns. Of several tries it keeps the one with the least time between the two
    /// readings of the source around the other clock's.
    pub fn take_moment(&self) -> ClockMoment {
        match self.source {
            ClockSource::Counter(counter) => closest_moment(counter),
            ClockSource::System(system) => closest_moment(system),
        }
    }
}

fn closest_moment(ticks: impl TickSource) -> ClockMoment {
    let one = || {
        let before = ticks.read_ticks();
        let raw_ns = crate::os::thread::monotonic_raw_ns();
        let window = ticks.read_ticks().saturating_sub(before);
        (window, ClockMoment { ticks: before + window / 2, raw_ns })
    };
    let best = (0..32).map(|_| one()).min_by_key(|(window, _)| *window);
    best.map_or(ClockMoment { ticks: 0, raw_ns: 0 }, |(_, moment)| moment)
}

/// A straight line through two moments; converts ticks between them to nanoseconds of CLOCK_MONOTONIC_RAW.
#[derive(Clone, Copy, Debug)]
pub struct ClockTranslation {
    begin: ClockMoment,
    nanoseconds_per_tick: f64,
}

impl ClockTranslation {
    /// Creates the line through two moments. If the second is not later, the line goes through the first with the given slope.
    pub fn new(begin: ClockMoment, end: ClockMoment, nanoseconds_per_tick: f64) -> Self {
        let (ticks, raw_ns) = (end.ticks.saturating_sub(begin.ticks), end.raw_ns.saturating_sub(begin.raw_ns));
        let slope = raw_ns as f64 / ticks as f64;
        Self { begin, nanoseconds_per_tick: if ticks > 0 && raw_ns > 0 { slope } else { nanoseconds_per_tick } }
    }

    /// Converts ticks to nanoseconds of CLOCK_MONOTONIC_RAW.
    pub fn raw_ns(&self, ticks: u64) -> u64 {
        let since = ticks as i64 - self.begin.ticks as i64;
        self.begin.raw_ns.saturating_add_signed((since as f64 * self.nanoseconds_per_tick).round() as i64)
    }
}

/// Returns the distances of consecutive readings. Of several runs it keeps the shortest, so that it contains no interruption.
fn quietest_steps(ticks: impl TickSource) -> Vec<u64> {
    let run = || {
        let mut last = ticks.read_ticks();
        let mut step = || {
            let before = std::mem::replace(&mut last, ticks.read_ticks());
            last.saturating_sub(before)
        };
        (0..1024).map(|_| step()).collect::<Vec<u64>>()
    };
    (0..8).map(|_| run()).min_by_key(|steps| steps.iter().sum::<u64>()).unwrap_or_default()
}

/// Reads the counter and the operating system's clock at one moment. Of several tries it keeps the one with the least time between the two
/// counter readings around the clock's.
fn paired_reading(counter: OrderedCounter) -> (u64, Instant) {
    let mut best = (u64::MAX, 0, Instant::now());
    for _ in 0..64 {
        let before = counter.read_ticks();
        let clock = Instant::now();
        let after = counter.read_ticks();
        if after.saturating_sub(before) < best.0 {
            best = (after.saturating_sub(before), before + after.saturating_sub(before) / 2, clock);
        }
    }
    (best.1, best.2)
}

/// Returns the greatest common divisor, which is above one for counters that advance by more than one at a time (Zen's TSC, a 25 MHz CNTVCT
/// scaled up).
fn greatest_common_divisor(steps: &[u64]) -> u64 {
    let divisor = steps.iter().copied().filter(|&step| step > 0).fold(0, |mut a, mut b| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    });
    divisor.max(1)
}

#[cfg(target_arch = "x86_64")]
mod architecture {
    use std::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

    #[inline(always)]
    pub fn counter() -> u64 {
        // SAFETY: LFENCE and RDTSC exist on every x86-64 processor and touch no memory. RDTSC can be switched off for a process; then
        // `constant_rate_counter` finds no counter, and no `Counter` is made.
        unsafe {
            _mm_lfence();
            _rdtsc()
        }
    }

    #[inline(always)]
    pub fn unordered_counter() -> u64 {
        // SAFETY: as above.
        unsafe { _rdtsc() }
    }

    /// Detects an invariant TSC: CPUID leaf 0x80000007, EDX bit 8 (AMD APM volume 3, appendix E; Intel SDM volume 2, CPUID), on which the
    /// operating system relies too.
    pub fn constant_rate_counter() -> Option<&'static str> {
        // SAFETY: every x86-64 processor has CPUID, and leaf 0x80000000 says if 0x80000007 exists.
        #[allow(unused_unsafe)]
        let invariant = unsafe { __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0 };
        (invariant && crate::os::timekeeping::tsc_is_trusted()).then_some("invariant TSC")
    }
}

#[cfg(target_arch = "aarch64")]
mod architecture {
    #[inline(always)]
    pub fn counter() -> u64 {
        let ticks: u64;
        // SAFETY: Linux lets user mode read CNTVCT_EL0 (its own vdso clock does); ISB touches no memory.
        unsafe {
            std::arch::asm!("isb", "mrs {ticks}, cntvct_el0", ticks = out(reg) ticks, options(nomem, nostack));
        }
        ticks
    }

    #[inline(always)]
    pub fn unordered_counter() -> u64 {
        let ticks: u64;
        // SAFETY: as above.
        unsafe {
            std::arch::asm!("mrs {ticks}, cntvct_el0", ticks = out(reg) ticks, options(nomem, nostack));
        }
        ticks
    }

    /// Returns the generic timer's virtual count, which runs at a constant rate by definition (Arm ARM, D12).
    pub fn constant_rate_counter() -> Option<&'static str> {
        Some("CNTVCT_EL0")
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod architecture {
    pub fn counter() -> u64 {
        0
    }

    pub fn unordered_counter() -> u64 {
        0
    }

    pub fn constant_rate_counter() -> Option<&'static str> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No time is asserted: both clocks are read as one moment on either side of a pause, however long that takes.
    #[test]
    fn the_counter_and_the_system_clock_agree_about_a_pause() {
        let clock = TickClock::calibrate_best();
        if !matches!(clock.source, ClockSource::Counter(_)) {
            return println!("skipped: this machine's clock is no counter");
        }
        let (begun, ended) =
            (clock.take_moment(), (std::thread::sleep(Duration::from_millis(30)), clock.take_moment()).1);
        let counted_ns = (ended.ticks - begun.ticks) as f64 * clock.nanoseconds_per_tick;
        let ratio = counted_ns / (ended.raw_ns - begun.raw_ns) as f64;
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
    }

    /// Every 64-bit Arm has it, and Linux lets everyone read it.
    #[cfg(target_arch = "aarch64")]
    #[test]
    fn arm_has_its_counter() {
        assert_eq!(TickClock::calibrate_best().name, "CNTVCT_EL0");
    }

    #[test]
    fn a_moment_is_translated_into_the_other_clocks_time() {
        let clock = TickClock::calibrate_best();
        let (begin, between) =
            (clock.take_moment(), (std::thread::sleep(Duration::from_millis(5)), clock.take_moment()).1);
        std::thread::sleep(Duration::from_millis(5));
        let line = ClockTranslation::new(begin, clock.take_moment(), clock.nanoseconds_per_tick);
        assert_eq!(line.raw_ns(begin.ticks), begin.raw_ns);
        // Generous: a virtual cpu may lose its processor between two readings.
        assert!(line.raw_ns(between.ticks).abs_diff(between.raw_ns) < 1_000_000);
        let early = ClockMoment { ticks: 100, raw_ns: 5_000 };
        assert_eq!(ClockTranslation::new(early, early, 0.5).raw_ns(90), 4_995);
    }

    #[test]
    fn common_divisor_ignores_zero_steps() {
        assert_eq!(greatest_common_divisor(&[0, 26, 52, 39]), 13);
        assert_eq!(greatest_common_divisor(&[0, 0]), 1);
    }
}
