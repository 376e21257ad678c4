//! Events of processes as they happen: not available.

use std::io;
use std::time::Duration;

use corewise_machine::Gap;

use super::missing::{NeverValue, missing_gap};
pub use crate::values::process_events::{ProcessEvent, ProcessEventKind};

#[derive(Debug)]
pub struct ProcessEvents(NeverValue);

impl ProcessEvents {
    pub fn open(_: &[ProcessEventKind]) -> Result<Self, Gap> {
        missing_gap("events of processes")
    }

    pub fn wait_for_events(&mut self, _: Duration, _: &mut Vec<ProcessEvent>) -> io::Result<()> {
        match self.0 {}
    }
}
