//! Switches of one's own threads: not available.

use corewise_machine::Gap;

use super::missing::missing_gap;
pub use crate::values::switches::{OwnSwitch, SwitchBatch, SwitchChange};

#[derive(Debug, Default)]
pub struct SwitchFollower;

impl SwitchFollower {
    pub fn new() -> Self {
        Self
    }

    pub fn follow_thread(&mut self, _: u32) -> Result<(), Gap> {
        missing_gap("switches of one's own threads")
    }

    pub fn drain_switches(&mut self) -> SwitchBatch {
        SwitchBatch::default()
    }
}
