//! What the operating system has counted for the calling thread, for this process and for a child.

use std::io;
use std::time::Duration;

use corewise_model::survey::ThreadUse;

use super::missing::{Never, answers, missing};
pub use crate::values::thread::{Glance, Switches};

#[derive(Clone, Copy, Debug)]
pub struct ThreadMoment(Never);

impl ThreadMoment {
    pub fn now() -> io::Result<Self> {
        missing()
    }

    pub fn since(&self, _: &Self) -> ThreadUse {
        match self.0 {}
    }
}

impl Glance {
    pub fn now() -> Self {
        Self::default()
    }
}

impl Switches {
    pub fn now() -> Self {
        Self::default()
    }
}

answers! {
    fn own_number() -> u32 = 0;
    fn parent_number() -> u32 = 0;
    fn monotonic_raw_ns() -> u64 = 0;
    fn monotonic_ns() -> u64 = 0;
    fn process_cpu_time() -> io::Result<Duration> = missing();
}
