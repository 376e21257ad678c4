//! On which cpus a thread may run, and on which it does.

use std::io;

use corewise_model::CpuSet;

use super::missing::{answers, missing};

answers! {
    fn set_current(&CpuSet) -> io::Result<()> = missing();
    fn set(u32, &CpuSet) -> io::Result<()> = missing();
    fn current() -> io::Result<CpuSet> = missing();
    fn of(u32) -> io::Result<CpuSet> = missing();
    fn has_ended(&io::Error) -> bool = false;
    fn running_on() -> Option<u32> = None;
    fn pin_current(u32) -> io::Result<()> = missing();
    fn check_pinned(u32) -> io::Result<()> = missing();
}
