//! Scheduling classes: not available.

use std::io;

use super::missing::{answers, missing_result};

answers! {
    fn run_first() -> io::Result<()> = missing_result();
    fn may_run_first() -> io::Result<()> = missing_result();
    fn may_lower_nice() -> bool = false;
    fn run_as_others(u32) -> io::Result<()> = missing_result();
}

/// Does nothing: see the function of Linux.
pub fn run_soon() {}
