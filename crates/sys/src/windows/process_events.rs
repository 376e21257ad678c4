//! Events of processes as they happen: not available.

use std::io;
use std::time::Duration;

use corewise_machine::Gap;

use super::missing::{Never, gap};
pub use crate::values::process_events::{Kind, ProcessEvent};

#[derive(Debug)]
pub struct ProcessEvents(Never);

impl ProcessEvents {
    pub fn open(_: &[Kind]) -> Result<Self, Gap> {
        gap("events of processes")
    }

    pub fn wait(&mut self, _: Duration, _: &mut Vec<ProcessEvent>) -> io::Result<()> {
        match self.0 {}
    }
}
