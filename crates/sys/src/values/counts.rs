//! What a system counts for each cpu.

use corewise_model::survey::Counted;

/// What happened on a cpu between two moments; absent where the kernel does not report it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Happened {
    /// Interrupts taken.
    pub interrupts: Option<Counted>,
    /// Soft interrupts run.
    pub softirqs: Option<Counted>,
    /// Seconds that a hypervisor stole.
    pub stolen_s: Option<f64>,
}
