//! A system's counts for each cpu.

use std::time::Duration;

use corewise_machine::counts::EventCounts;

/// A quantity that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountKind {
    /// Interrupts of devices, timers and other cpus.
    Interrupts,
    /// Work that interrupts defer: soft interrupts, deferred procedure calls.
    SoftInterrupts,
    /// Time that a hypervisor took.
    StolenTime,
}

impl CountKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Interrupts, Self::SoftInterrupts, Self::StolenTime];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interrupts => "interrupts",
            Self::SoftInterrupts => "soft interrupts",
            Self::StolenTime => "stolen time",
        }
    }
}

/// Events on a cpu between two moments; `None` if the kernel does not report them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CountedInterval {
    /// Interrupts taken.
    pub interrupts: Option<EventCounts>,
    /// Soft interrupts run.
    pub softirqs: Option<EventCounts>,
    /// Seconds that a hypervisor stole.
    pub stolen_s: Option<f64>,
}

/// Returns the share of all cpus' time that others used, 0 to 1. `busy_s` are the busy seconds of each cpu, of which `own` are not others'.
pub fn busy_share(busy_s: impl Iterator<Item = f64>, elapsed: Duration, own: Duration) -> Option<f64> {
    let (busy_s, cpus) = busy_s.fold((0.0, 0), |(sum, cpus), busy_s| (sum + busy_s.max(0.0), cpus + 1));
    let all_s = elapsed.as_secs_f64() * f64::from(cpus);
    (all_s > 0.0).then(|| ((busy_s - own.as_secs_f64()) / all_s).clamp(0.0, 1.0))
}
