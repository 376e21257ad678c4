//! The survey: every probe on every allowed cpu within a budget of time.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corewise_model::{CpuSet, Machine, Survey};

/// What to survey, and within what time.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cpus to visit; those that are not allowed become gaps.
    pub cpus: CpuSet,
    /// How long it may take.
    pub budget: Duration,
    /// The seed of the random orders.
    pub seed: u64,
    /// corewise's version, for the record.
    pub corewise: &'static str,
}

/// How far a survey has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What is being measured now: "tail of cpu 3, round 5 of 24".
    pub step: String,
    /// The share that is done, 0 to 1.
    pub done: f64,
    /// The time left.
    pub left: Duration,
}

/// Surveys the machine. Ends early, with what there is and marked as partial, within half a second of `stop` becoming
/// true.
pub fn survey(plan: &Plan, machine: Machine, stop: &AtomicBool, progress: &mut dyn FnMut(&Progress)) -> Survey {
    let _ = (plan, machine, stop, progress);
    todo!()
}
