//! Described machines as a source of answers.

use std::time::Duration;

use corewise_machine::{Gap, Machine};
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::clock::ClockRecord;
use corewise_model::memory::plan::{MemoryPlan, MemoryVisit};
use corewise_model::memory::simulated_memory::SimulatedMemory;

use super::{MemoryVisitOutcome, MemoryVisitor};

/// Maximum size of a buffer; a described machine allows any.
const MOST_BYTES: u64 = 1 << 40;
/// Speed of filling a buffer: about a nanosecond for four bytes.
const FILLED_BYTES_A_S: f64 = 4e9;

/// Machine that is only described.
#[derive(Debug)]
pub struct DescribedMemory {
    name: String,
    seed: u64,
    preparing: Duration,
    described: Option<SimulatedMemory>,
}

impl DescribedMemory {
    /// Returns the machine of a name.
    pub const fn new(name: String, seed: u64) -> Self {
        Self { name, seed, preparing: Duration::ZERO, described: None }
    }
}

impl MemoryVisitor for DescribedMemory {
    fn most_bytes(&self, _: &Machine) -> u64 {
        MOST_BYTES
    }

    fn prepare_visits(&mut self, plan: &MemoryPlan, machine: &Machine, visit: Duration) -> Vec<Gap> {
        // Nodes get their buffers at the same time.
        self.preparing = Duration::from_secs_f64(super::BUFFERS * plan.buffer_bytes as f64 / FILLED_BYTES_A_S);
        self.described = Some(SimulatedMemory::new(machine.clone(), visit, self.seed));
        Vec::new()
    }

    fn visit_memory(&mut self, visit: &MemoryVisit) -> MemoryVisitOutcome {
        match &mut self.described {
            Some(described) => MemoryVisitOutcome::Seen(described.make_visit(visit)),
            None => MemoryVisitOutcome::Stopped,
        }
    }

    fn simulated_elapsed(&self) -> Option<Duration> {
        Some(self.preparing + self.described.as_ref().map_or(Duration::ZERO, SimulatedMemory::elapsed))
    }

    fn timing_clock(&self) -> Option<ClockRecord> {
        None
    }

    fn map_origin(&self) -> ArtifactOrigin {
        ArtifactOrigin::Simulated { file: self.name.clone() }
    }
}
