//! Which process is meant.

use std::io;

use corewise_model::CpuSet;

use super::missing::{answers, missing};
pub use crate::values::process::{Process, Stat};

impl Stat {
    pub fn of(_: u32) -> io::Result<Option<Self>> {
        missing()
    }
}

impl Process {
    pub fn this() -> io::Result<Self> {
        missing()
    }

    pub fn is_alive(&self) -> bool {
        false
    }

    pub fn restrict(&self, _: &CpuSet) -> io::Result<CpuSet> {
        missing()
    }
}

answers! {
    fn process_of(u32) -> io::Result<Option<u32>> = missing();
    fn ticks_since_boot() -> u64 = 0;
    fn boot_id() -> io::Result<String> = missing();
    fn host_name() -> String = String::new();
    fn number_space() -> String = String::new();
    fn sees_all_numbers() -> bool = true;
    fn reads_own_numbers() -> bool = true;
    fn is_root() -> bool = false;
    fn effective_user() -> u32 = 0;
    fn is_descendant_of(u32) -> bool = false;
    fn others_called(&str) -> Vec<(u32, u32)> = Vec::new();
}
