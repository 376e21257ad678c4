//! Hardware cycle counters of the calling thread, if the kernel and the machine provide them.

use corewise_machine::Gap;
use perf_event::events::Hardware;

/// Counts core cycles of the calling thread: perf_event_open(2), PERF_COUNT_HW_CPU_CYCLES.
#[derive(Debug)]
pub struct CycleCounter {
    counter: perf_event::Counter,
    /// True if cycles in the kernel (including interrupts) are counted too.
    pub counts_kernel: bool,
}

impl CycleCounter {
    /// Starts a counter: with the kernel's cycles if this user may, else for user mode only.
    ///
    /// # Errors
    /// The gap that says why there is none, and what would change that.
    pub fn start_counting() -> Result<Self, Gap> {
        let open = |kernel: bool| {
            let mut builder = perf_event::Builder::new(Hardware::CPU_CYCLES);
            builder.exclude_kernel(!kernel).exclude_hv(true);
            let mut counter = builder.build()?;
            counter.enable()?;
            Ok::<_, std::io::Error>(Self { counter, counts_kernel: kernel })
        };
        open(true).or_else(|_| open(false)).map_err(|error| cycles_gap(&error))
    }

    /// Returns the counted cycles, scaled up if the counter had to share its hardware.
    pub fn read_cycles(&mut self) -> Option<f64> {
        let data = self.counter.read_full().ok()?;
        let count = data.count() as f64;
        match (data.time_enabled(), data.time_running()) {
            (Some(_), Some(running)) if running.is_zero() => None,
            (Some(enabled), Some(running)) => Some(count * enabled.as_secs_f64() / running.as_secs_f64()),
            _ => Some(count),
        }
    }
}

fn cycles_gap(error: &std::io::Error) -> Gap {
    let gap = |why: &str| Gap::new("hardware cycle counters", why);
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            gap("this machine has no performance counters; frequencies are estimated from timed additions")
        }
        Some(libc::EACCES | libc::EPERM) => gap("the kernel does not allow this user to count cycles")
            .cured_by("sudo sysctl kernel.perf_event_paranoid=1"),
        Some(libc::ENOSYS) => gap("this kernel has no perf_event_open"),
        _ => gap(&format!("perf_event_open: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Virtual machines often have no counters; then the words must say so instead.
    #[test]
    fn cycles_rise_or_the_gap_says_why_not() {
        match CycleCounter::start_counting() {
            Ok(mut counter) => {
                let before = counter.read_cycles();
                std::hint::black_box(crate::work::dependent_additions(1_000_000, 1));
                assert!(counter.read_cycles() > before || before.is_none());
            }
            Err(gap) => assert!(!gap.why.is_empty()),
        }
    }
}
