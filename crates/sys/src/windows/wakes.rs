//! Wakes of tasks: not available.

use std::io;

use corewise_machine::{CpuSet, Gap};

use super::missing::{NeverValue, answers, missing_gap};
pub use crate::values::wakes::{CallKind, DescriptorKind, WakeCount, WakeCounts, WakeOrigin, WakeTask, WakeWait};

#[derive(Debug)]
pub struct WakeCounter(NeverValue);

impl WakeCounter {
    pub fn open(_: &[CpuSet]) -> Result<Self, Gap> {
        missing_gap("wakes counted in the kernel")
    }

    pub fn watch_process(&self, _: u32) -> io::Result<()> {
        match self.0 {}
    }

    pub fn watch_children_of(&self, _: u32) -> io::Result<()> {
        match self.0 {}
    }

    pub fn start_counting(&mut self) -> io::Result<()> {
        match self.0 {}
    }

    pub fn time_waits(&mut self, _: bool) -> io::Result<()> {
        match self.0 {}
    }

    pub fn read_waits(&self) -> Vec<WakeWait> {
        match self.0 {}
    }

    pub fn stop_counting(&mut self) {
        match self.0 {}
    }

    pub fn take_counts(self) -> WakeCounts {
        match self.0 {}
    }
}

answers! {
    fn descriptor_kinds(u32, usize) -> Vec<(u32, DescriptorKind)> = Vec::new();
    fn waiting_call(u32, u32) -> Option<(CallKind, Option<u32>)> = None;
}
