//! Tasks of `run`: a command, and where and how it is to run.

use std::ffi::OsString;

use corewise_lab::placement::{PlacementRequest, ThreadSpread};
use corewise_machine::placement::hold::MaskEnforcement;

/// A command, and where it is to run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTask {
    /// Requested placement.
    pub wish: PlacementRequest,
    /// Treatment of threads that set their own cpus.
    pub enforcement: Option<MaskEnforcement>,
    /// Whether the cpus are a preference and not a restriction.
    pub is_soft: bool,
    /// Whether to ask the system not to slow it down to save power.
    pub at_full_speed: bool,
    /// Whether to report what is in force and what was noticed.
    pub verbose: bool,
    /// Program to run.
    pub program: OsString,
    /// Arguments of the program.
    pub arguments: Vec<OsString>,
}

impl RunTask {
    /// Returns true if corewise stays while the command runs, to watch it or to revert something afterwards.
    pub fn is_attended(&self) -> bool {
        self.is_watched() || self.wish.in_group
    }

    /// Returns true if the command's threads are watched while it runs.
    pub fn is_watched(&self) -> bool {
        self.verbose || self.enforcement.is_some() || !matches!(self.wish.spread, ThreadSpread::Together)
    }
}
