//! Scheduling classes: not available.

use std::io;

use super::missing::{answers, missing};

answers! {
    fn run_first() -> io::Result<()> = missing();
    fn run_as_others(u32) -> io::Result<()> = missing();
}
