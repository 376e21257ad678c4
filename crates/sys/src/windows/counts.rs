//! What the kernel has counted for every cpu, read at one moment.

use std::time::Duration;

use super::missing::Never;
pub use crate::values::counts::Happened;

#[derive(Clone, Debug)]
pub struct KernelCounts {
    pub reading: Duration,
}

impl KernelCounts {
    pub fn now() -> Self {
        Self { reading: Duration::ZERO }
    }

    pub fn since(&self, _: &Self, _: u32) -> Happened {
        Happened::default()
    }

    pub fn since_on(&self, _: &Self, cpus: impl Iterator<Item = u32>) -> Vec<Happened> {
        cpus.map(|_| Happened::default()).collect()
    }

    pub fn busy_since(&self, _: &Self, _: Duration) -> Option<f64> {
        None
    }
}

#[derive(Clone, Debug)]
pub struct StolenTime(Never);

impl StolenTime {
    pub fn now() -> Option<Self> {
        None
    }

    pub fn grew_since(&self, _: &Self, _: [u32; 2]) -> bool {
        match self.0 {}
    }
}
