//! Time spent per cpu: not available.

use std::io;
use std::path::Path;

use corewise_machine::worth::CpuTicks;

use super::missing::{NeverValue, missing_result};

#[derive(Debug)]
pub struct ProcessorTime(NeverValue);

impl ProcessorTime {
    pub fn open() -> io::Result<Self> {
        missing_result()
    }

    pub fn in_folder(_: &Path) -> io::Result<Self> {
        missing_result()
    }

    pub fn read_counters(&mut self) -> io::Result<&[Option<CpuTicks>]> {
        match self.0 {}
    }

    pub fn last_counters(&mut self) -> (&[Option<CpuTicks>], &[Option<u32>]) {
        match self.0 {}
    }
}
