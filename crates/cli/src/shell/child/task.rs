//! A command, and where and how it is to run.

use std::ffi::OsString;

use corewise_model::placement::Expression;
use corewise_model::placement::hold::Enforcement;
use corewise_model::placement::memory::MemoryPolicy;
use corewise_model::placement::roles::TypedRole;

/// How threads are spread over the placement.
#[derive(Clone, Debug, PartialEq)]
pub enum Spread {
    /// Each may use all of it.
    Together,
    /// Each on a cpu of its own.
    OnePerThread,
    /// By their names.
    Roles(Vec<TypedRole>),
}

/// A command, and where it is to run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTask {
    /// Where.
    pub on: Expression,
    /// Where its memory comes from; as it is, where nothing is said.
    pub memory: Option<MemoryPolicy>,
    /// How its threads are spread.
    pub spread: Spread,
    /// What is done about threads that set their own cpus.
    pub enforcement: Option<Enforcement>,
    /// Whether a control group holds it too.
    pub cgroup: bool,
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
        self.is_watched() || self.cgroup
    }

    /// Whether something is to be watched while the command runs.
    pub fn is_watched(&self) -> bool {
        self.verbose || self.enforcement.is_some() || !matches!(self.spread, Spread::Together)
    }
}
