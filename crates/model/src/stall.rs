//! Stalls of a cpu as they were observed: a stretch of time in which a loop that never waits did not get on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Event;

/// One stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// The last reading of the clock before it, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub begin_ns: u64,
    /// The first reading after it.
    pub end_ns: u64,
    /// How much of the time since the stall before it the thread was not on the cpu, in nanoseconds, at most its own length:
    /// time that passed less the thread's cpu time.
    pub off_cpu_ns: u64,
    /// How often the cpu was taken from the thread since the stall before it.
    pub involuntary_switches: u32,
}

impl Stall {
    /// How long it took, in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}

/// What one visit to one cpu observed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Visit {
    /// The cpu.
    pub cpu: u32,
    /// Which round, from 0.
    pub round: u32,
    /// Whether the kernel's events were recorded meanwhile.
    pub armed: bool,
    /// When timing began, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What a piece takes that nothing interrupts, in nanoseconds: so much of a stall is work that was done.
    pub piece_ns: u64,
    /// The thread that timed: its number in the system as a whole, 0 where it is not known.
    pub own_task: u32,
    /// The stalls, in order of time.
    pub stalls: Vec<Stall>,
    /// Stalls for which there was no room: they are in the histogram of pieces alone.
    pub not_kept: u64,
    /// The events of the cpu, and what others sent it, in order of time.
    pub events: Vec<Event>,
    /// Events that the kernel had no room for.
    pub events_lost: u64,
}

impl Visit {
    /// How long it was timed, in seconds.
    pub fn elapsed_s(&self) -> f64 {
        self.end_ns.saturating_sub(self.begin_ns) as f64 * 1e-9
    }
}

/// How much could be seen of the causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// What a thread is told about itself: its cpu time and its involuntary switches. Anyone may.
    Thread,
    /// The kernel's tracepoints, through perf_event_open(2).
    Perf,
    /// The kernel's tracepoints, through an instance of ftrace.
    Ftrace,
}

/// What has to be known of a machine to name causes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Surroundings {
    /// Whether a hypervisor could take time.
    pub has_hypervisor: bool,
    /// The devices of the interrupts, by number: "virtio1-req.0".
    pub devices: BTreeMap<u32, String>,
    /// The names of tasks that sent interrupts to a visited cpu, by number.
    pub tasks: BTreeMap<u32, String>,
}
