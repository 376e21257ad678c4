//! Signals of a process that waits for another one.

use std::io;
use std::time::Duration;

use super::missing::{Never, missing};
pub use crate::values::signals::{Sender, Signal};

pub const INTERRUPT: i32 = 2;

pub fn is_ignored(_: i32) -> bool {
    false
}

pub fn outlives_terminal() -> bool {
    false
}

pub fn outlive_terminal() {}

#[derive(Debug)]
pub struct Held(Never);

impl Held {
    pub fn new() -> io::Result<Self> {
        missing()
    }

    pub fn next(&self, _: Duration) -> Option<Signal> {
        match self.0 {}
    }

    pub fn is_to_go_on(&self) -> bool {
        match self.0 {}
    }

    pub fn stop(&self, _: i32) {
        match self.0 {}
    }

    pub fn end(&self, _: i32) {
        match self.0 {}
    }
}

pub fn send(_: u32, _: i32) {}

pub fn kill_descendants() {}

pub fn ends(_: i32) -> bool {
    true
}

pub fn is_from_terminal(_: i32) -> bool {
    false
}

pub fn is_meant_for_one(_: i32) -> bool {
    false
}

pub fn is_about_children(_: i32) -> bool {
    false
}

pub fn has_job_control() -> bool {
    false
}
