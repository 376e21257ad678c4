//! Observed talk of threads: which thread wakes which, how often, by what, and how long the woken one waited.
//!
//! docs/talk.md says how it is seen. This module does not watch: `lab` does, and a file can replace it.

mod artifact;
pub mod compare;
pub mod conclude;
pub mod costs;
pub mod fold;
pub mod groups;
pub mod import;
pub mod plan;
pub mod waits;

use corewise_machine::{CpuSet, Gap, Machine, vocabulary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::artifact::ArtifactProvenance;
use waits::PlacedWaits;

/// The talk of a program's threads, as `corewise talk` saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TalkGraph {
    /// Its origin.
    pub provenance: ArtifactProvenance,
    /// The machine; absent if a file was imported and its machine is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// The command line that was watched, or that of the first of the running processes; empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The running processes that were watched, by number; empty if a command was started, or if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<u32>,
    /// Time during which wakes were counted, in seconds.
    pub seconds: f64,
    /// How wakes were seen.
    pub source: TalkSource,
    /// Threads, pools of threads, and interrupts.
    pub vertices: Vec<TalkVertex>,
    /// Wakes between two vertices; several edges of one pair differ in `means`.
    pub edges: Vec<TalkEdge>,
    /// Waits by where the waker ran; absent if no thread was woken from its own and from another last-level cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed_waits: Option<PlacedWaits>,
    /// Wakes that were not recorded, because memory was bounded.
    #[serde(default)]
    pub lost: u64,
    /// Facts that could not be seen.
    pub gaps: Vec<Gap>,
}

impl TalkGraph {
    /// Returns the number of wakes that each vertex gives or gets.
    fn vertex_weights(&self) -> Vec<f64> {
        let mut weights = vec![0.0; self.vertices.len()];
        for edge in &self.edges {
            weights[edge.waker] += edge.wakes;
            weights[edge.wakee] += edge.wakes;
        }
        weights
    }
}

impl VertexKind {
    /// Returns true for threads of programs, which can be placed.
    pub const fn is_thread(self) -> bool {
        matches!(self, Self::Thread { .. } | Self::Pool { .. })
    }

    /// Returns the number of threads of programs.
    pub const fn count_threads(self) -> u32 {
        match self {
            Self::Thread { .. } => 1,
            Self::Pool { threads } => threads,
            Self::Interrupt { .. } | Self::Kernel => 0,
        }
    }
}

/// How wakes were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TalkSource {
    /// Each wake, counted in the kernel by a BPF program.
    Bpf,
    /// Each wake, from perf's ring.
    PerfRing,
    /// Guessed from the switches of one's own threads: which thread ran while another waited.
    OwnSwitches,
    /// Read from a file that does not say.
    File,
}

impl TalkSource {
    /// Returns true if the edges are an inference, not a count.
    pub const fn is_guessed(self) -> bool {
        matches!(self, Self::OwnSwitches)
    }
}

/// A thread, pool or interrupt that wakes or is woken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TalkVertex {
    /// Its name as the system gives it: any characters.
    pub name: String,
    /// Its kind.
    pub kind: VertexKind,
    /// Name of the program that its process runs; empty for an interrupt or if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// Share of the time in which it was on a cpu; of a pool, the sum of its threads.
    pub busy_share: f64,
    /// The cpus on which it may run, or that handle the interrupt. Empty if unknown.
    #[serde(default)]
    pub cpus: CpuSet,
}

/// Kind of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum VertexKind {
    /// A thread.
    Thread {
        /// Its process.
        process: u32,
        /// Its number.
        thread: u32,
    },
    /// Threads of one program with names that differ only in numbers.
    Pool {
        /// How many.
        threads: u32,
    },
    /// An interrupt.
    Interrupt {
        /// Its number.
        number: u32,
    },
    /// The kernel: its own threads, its timers.
    Kernel,
}

/// Wakes of one vertex by another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TalkEdge {
    /// Place of the waker among the vertices.
    pub waker: usize,
    /// Place of the woken one.
    pub wakee: usize,
    /// Number of wakes; expected ones if they are guessed.
    pub wakes: f64,
    /// Mean time between a wake and the moment at which the woken thread ran, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_ns: Option<f64>,
    /// By what it woke.
    pub means: WakeMeans,
}

vocabulary! {
    /// By what a thread wakes another.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum WakeMeans {
        Futex "futex": "A lock, a condition or a channel in memory.";
        Pipe "pipe": "A pipe.";
        Socket "socket": "A socket.";
        Poll "poll": "A descriptor on which the woken thread waits with others: epoll, poll, select.";
        Signal "signal": "A signal, or the end of a child.";
        Timer "timer": "A timer.";
        Interrupt "interrupt": "A device.";
        Other "other": "Another system call.";
        Unknown "unknown": "Not seen.";
    }
}

#[cfg(test)]
mod tests;
