//! Time spent per cpu: not available.

use std::io;
use std::path::Path;

use corewise_machine::worth::Ticks;

use super::missing::{Never, missing};

#[derive(Debug)]
pub struct ProcessorTime(Never);

impl ProcessorTime {
    pub fn open() -> io::Result<Self> {
        missing()
    }

    pub fn in_folder(_: &Path) -> io::Result<Self> {
        missing()
    }

    pub fn read(&mut self) -> io::Result<&[Option<Ticks>]> {
        match self.0 {}
    }

    pub fn counters(&mut self) -> (&[Option<Ticks>], &[Option<u32>]) {
        match self.0 {}
    }
}
