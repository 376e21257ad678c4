//! The machine as its placements see it.

use crate::limits::ProcessLimits;
use crate::user_wish::UserWish;

/// State that a machine and its placements share.
#[derive(Debug)]
pub struct PlacedMachine {
    /// Its cpus and caches.
    pub machine: corewise_machine::Machine,
    /// Limits of this process.
    pub limits: ProcessLimits,
    /// Wishes of the person.
    pub wish: UserWish,
    /// False if it was read elsewhere: no thread can be placed then.
    pub is_here: bool,
}
