//! Signals of a process that waits for another one.

use std::io;
use std::time::Duration;

use super::missing::{Never, answers, missing};
use super::process::Process;
pub use crate::values::signals::{Sender, Signal};

pub const RELOAD: i32 = 1;
pub const INTERRUPT: i32 = 2;
pub const TERMINATE: i32 = 15;

answers! {
    fn is_ignored(i32) -> bool = false;
    fn outlives_terminal() -> bool = false;
    fn outlive_terminal() -> () = ();
    fn notice_stops() -> () = ();
    fn is_to_stop() -> bool = false;
    fn stop_now() -> () = ();
    fn stop_at_once() -> () = ();
}

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

answers! {
    fn send(u32, i32) -> () = ();
    fn send_to(&Process, i32) -> () = ();
    fn ends(i32) -> bool = true;
    fn is_from_terminal(i32) -> bool = false;
    fn is_meant_for_one(i32) -> bool = false;
    fn is_about_children(i32) -> bool = false;
    fn has_job_control() -> bool = false;
}
