//! What a system makes of how a command is to be started.

use corewise_machine::CpuSet;

/// What a command is started with beside its cpus and its memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner<'a> {
    /// The cpus that it is to prefer, with others where the system finds that better; absent where it is restricted to those of the calling
    /// thread.
    pub preferred: Option<&'a CpuSet>,
    /// Whether the system is asked not to slow it down to save power.
    pub at_full_speed: bool,
}

/// What becomes of a part of a [`Manner`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The system does it.
    InForce,
    /// The system accepts it and does nothing, for this reason.
    Nothing(String),
    /// The system has no such thing.
    Unavailable(&'static str),
}
