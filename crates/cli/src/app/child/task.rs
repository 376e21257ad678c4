//! A command, and where and how it is to run.

use std::ffi::OsString;

use corewise_lab::placing::{Spread, Wish};
use corewise_machine::placement::hold::Enforcement;

/// A command, and where it is to run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTask {
    /// Where.
    pub wish: Wish,
    /// What is done about threads that set their own cpus.
    pub enforcement: Option<Enforcement>,
    /// Whether it prefers its cpus, and is not restricted to them.
    pub is_soft: bool,
    /// Whether the system is asked not to slow it down to save power.
    pub at_full_speed: bool,
    /// Whether to say what is in force, and what was noticed.
    pub verbose: bool,
    /// The command.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl RunTask {
    /// Whether corewise stays while the command runs: to watch it, or to put something back when it has ended.
    pub fn is_attended(&self) -> bool {
        self.is_watched() || self.wish.in_group
    }

    /// Whether something is to be watched while the command runs.
    pub fn is_watched(&self) -> bool {
        self.verbose || self.enforcement.is_some() || !matches!(self.wish.spread, Spread::Together)
    }
}
