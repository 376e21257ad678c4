//! Description of a periodic source in a sentence: its frequency, strength, and probable cause.

use super::PeriodicSource;
use crate::order::median;

/// Known facts about the machine of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PeriodSurroundings {
    /// True if a hypervisor runs this system.
    pub under_hypervisor: bool,
    /// Frequency of this system's own timer interrupt (the kernel's HZ), if known.
    pub own_tick_hz: Option<f64>,
}

impl PeriodSurroundings {
    /// Derives the surroundings from the observed timer rates of a machine's cpus.
    pub fn from_timer_rates(under_hypervisor: bool, timer_rates: &[f64]) -> Self {
        let rate = median(timer_rates);
        // Counts of a visit are slightly off; Linux has only a few rates.
        let own_tick_hz = LINUX_TICKS.into_iter().find(|known| (rate / known - 1.0).abs() < 0.1);
        Self { under_hypervisor, own_tick_hz }
    }

    /// Returns true if a frequency is that of the system's own timer.
    pub fn is_own_tick(&self, hertz: f64) -> bool {
        self.own_tick_hz.is_some_and(|own| is_same(hertz, own))
    }
}

/// Relative difference below which frequencies are equal: clocks differ by some parts in a million, and a few pulses
/// give a frequency to some parts in a thousand.
const SAME: f64 = 0.003;
/// The rates of the timer interrupt that Linux can be built with (`kernel/Kconfig.hz`); FreeBSD and Xen use the first and
/// the last, too.
const LINUX_TICKS: [f64; 4] = [100.0, 250.0, 300.0, 1000.0];
/// The rate of the timer interrupt of Windows unless a program requests a faster one: once in 15.625 ms.
const WINDOWS_TICK: f64 = 64.0;
/// Rate of the kernel's housekeeping, which also runs on idle cpus.
const ONCE_A_SECOND: f64 = 1.0;

/// Describes a source: "100.0 Hz, R 0.98: a periodic source outside this system, probably the host's tick".
pub fn describe_source(source: &PeriodicSource, surroundings: PeriodSurroundings) -> String {
    let hertz = source.hertz;
    let frequency = if hertz >= 9.995 { format!("{hertz:.1}") } else { format!("{hertz:.2}") };
    format!("{frequency} Hz, R {:.2}: {}", source.vector_strength, probable_cause(hertz, surroundings))
}

fn is_same(hertz: f64, rate: f64) -> bool {
    (hertz / rate - 1.0).abs() < SAME
}

fn probable_cause(hertz: f64, surroundings: PeriodSurroundings) -> &'static str {
    let is = |rate: f64| is_same(hertz, rate);
    let own = surroundings.is_own_tick(hertz);
    match surroundings.under_hypervisor {
        true if own => "this system's own timer, or the host's tick at the same rate",
        false if own => "this system's own timer",
        true if LINUX_TICKS.into_iter().any(is) => "a periodic source outside this system, probably the host's tick",
        true if is(WINDOWS_TICK) => "a periodic source outside this system, probably the tick of a Windows host",
        true if is(ONCE_A_SECOND) => "a periodic source outside this system, probably the host's work of every second",
        true => "a periodic source outside this system",
        false => "a periodic source that this kernel does not report: firmware (SMI), or a device without an event",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(hertz: f64, under_hypervisor: bool, own_tick_hz: Option<f64>) -> String {
        let source = PeriodicSource {
            hertz,
            vector_strength: 0.981,
            tested: 120,
            on_phase: 100,
            by_chance: 0.4,
            window: 0.02,
            false_alarm: 1e-9,
            coherent: false,
        };
        describe_source(&source, PeriodSurroundings { under_hypervisor, own_tick_hz })
    }

    #[test]
    fn a_source_is_named_by_its_rate_and_place() {
        let told = [
            told(100.02, true, Some(250.0)),
            told(1000.4, true, None),
            told(64.0, true, None),
            told(137.5, true, Some(250.0)),
            told(249.99, false, Some(250.0)),
            told(250.01, true, Some(250.0)),
            told(100.0, false, Some(250.0)),
            told(1.001, true, None),
        ];
        insta::assert_snapshot!(told.join("\n"), @r"
        100.0 Hz, R 0.98: a periodic source outside this system, probably the host's tick
        1000.4 Hz, R 0.98: a periodic source outside this system, probably the host's tick
        64.0 Hz, R 0.98: a periodic source outside this system, probably the tick of a Windows host
        137.5 Hz, R 0.98: a periodic source outside this system
        250.0 Hz, R 0.98: this system's own timer
        250.0 Hz, R 0.98: this system's own timer, or the host's tick at the same rate
        100.0 Hz, R 0.98: a periodic source that this kernel does not report: firmware (SMI), or a device without an event
        1.00 Hz, R 0.98: a periodic source outside this system, probably the host's work of every second
        ");
    }
}
