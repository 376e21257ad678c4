//! On which cpus a thread may run, and on which it does.

use std::io;

use corewise_model::CpuSet;

use super::missing::missing;

pub fn set_current(_: &CpuSet) -> io::Result<()> {
    missing()
}

pub fn set(_: u32, _: &CpuSet) -> io::Result<()> {
    missing()
}

pub fn current() -> io::Result<CpuSet> {
    missing()
}

pub fn of(_: u32) -> io::Result<CpuSet> {
    missing()
}

pub fn has_ended(_: &io::Error) -> bool {
    false
}

pub fn running_on() -> Option<u32> {
    None
}

pub fn pin_current(_: u32) -> io::Result<()> {
    missing()
}

pub fn check_pinned(_: u32) -> io::Result<()> {
    missing()
}
