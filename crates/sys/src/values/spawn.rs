//! Options for starting a command, and their effects on a system.

use corewise_machine::CpuSet;

/// Options for starting a command besides its cpus and its memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpawnManner<'a> {
    /// Cpus to prefer; the system may use others if it finds that better. `None` if the command is restricted to the calling thread's cpus.
    pub preferred: Option<&'a CpuSet>,
    /// True to ask the system not to slow it down to save power.
    pub at_full_speed: bool,
}

/// Effect of one option of [`SpawnManner`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MannerEffect {
    /// The system applies it.
    InForce,
    /// The system accepts it without effect; holds the reason.
    Nothing(String),
    /// The system has no such option; holds the reason.
    Unavailable(&'static str),
}
