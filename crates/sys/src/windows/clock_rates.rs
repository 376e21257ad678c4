//! The clock of each cpu.

use std::path::Path;

#[derive(Debug, Default)]
pub struct ClockRates(Vec<Option<u32>>);

impl ClockRates {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn in_root(_: &Path) -> Self {
        Self::default()
    }

    pub fn read_rates(&mut self, cpus: usize) -> &[Option<u32>] {
        self.0.resize(cpus, None);
        &self.0
    }
}
