//! Described machines as a source of answers.

use std::time::Duration;

use corewise_machine::{Gap, Machine};
use corewise_model::clock::Clock;
use corewise_model::links::map::Origin;
use corewise_model::memory::described::Described;
use corewise_model::memory::plan::{Plan, Visit};

use super::{Answers, Outcome};

/// Maximum size of a buffer; a described machine allows any.
const MOST_BYTES: u64 = 1 << 40;
/// Speed of filling a buffer: about a nanosecond for four bytes.
const FILLED_BYTES_A_S: f64 = 4e9;

/// Machine that is only described.
#[derive(Debug)]
pub struct Simulated {
    name: String,
    seed: u64,
    preparing: Duration,
    described: Option<Described>,
}

impl Simulated {
    /// Returns the machine of a name.
    pub const fn new(name: String, seed: u64) -> Self {
        Self { name, seed, preparing: Duration::ZERO, described: None }
    }
}

impl Answers for Simulated {
    fn most_bytes(&self, _: &Machine) -> u64 {
        MOST_BYTES
    }

    fn prepare(&mut self, plan: &Plan, machine: &Machine, visit: Duration) -> Vec<Gap> {
        // Nodes get their buffers at the same time.
        self.preparing = Duration::from_secs_f64(super::BUFFERS * plan.buffer_bytes as f64 / FILLED_BYTES_A_S);
        self.described = Some(Described::new(machine.clone(), visit, self.seed));
        Vec::new()
    }

    fn visit(&mut self, visit: &Visit) -> Outcome {
        match &mut self.described {
            Some(described) => Outcome::Seen(described.visit(visit)),
            None => Outcome::Stopped,
        }
    }

    fn made_up(&self) -> Option<Duration> {
        Some(self.preparing + self.described.as_ref().map_or(Duration::ZERO, Described::elapsed))
    }

    fn clock(&self) -> Option<Clock> {
        None
    }

    fn origin(&self) -> Origin {
        Origin::Simulated { file: self.name.clone() }
    }
}
