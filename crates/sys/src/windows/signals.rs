//! What a process hears that waits for another one: keys of the console, which the command gets itself, and the command's end.

use std::io;
use std::sync::Mutex;
use std::time::Duration;

use windows_sys::Win32::Foundation::TRUE;
use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;

use super::attended;
use super::handle::checked;
use super::missing::answers;
use super::process::Process;
pub use crate::values::signals::{Sender, Signal};

pub const RELOAD: i32 = 1;
pub const INTERRUPT: i32 = 2;
pub const STOP: i32 = 20;
pub const TERMINATE: i32 = 15;
/// A child has ended.
const CHILD: i32 = 17;

answers! {
    fn is_ignored(i32) -> bool = false;
    fn outlives_terminal() -> bool = false;
    fn outlive_terminal() -> () = ();
    fn notice_stops() -> () = ();
    fn is_to_stop() -> bool = false;
    fn stop_now() -> () = ();
    fn stop_at_once() -> () = ();
}

/// Leaves keys of the console to the command from now on. Without it this program would end first, and the shell would not wait for the
/// command.
pub(super) fn leave_to_the_command() -> io::Result<()> {
    static IS_LEFT: Mutex<bool> = Mutex::new(false);
    let mut is_left = IS_LEFT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !*is_left {
        // SAFETY: the handler touches no memory, and stays as long as the program.
        checked(unsafe { SetConsoleCtrlHandler(Some(is_dealt_with), TRUE) })?;
        *is_left = true;
    }
    Ok(())
}

unsafe extern "system" fn is_dealt_with(_: u32) -> i32 {
    TRUE
}

#[derive(Debug)]
pub struct Held(());

impl Held {
    pub fn new() -> io::Result<Self> {
        leave_to_the_command().map(|()| Self(()))
    }

    /// Waits for the end of the command; nothing where none was started.
    pub fn next(&self, timeout: Duration) -> Option<Signal> {
        attended::has_ended(timeout).then_some(Signal { number: CHILD, sender: Sender::Kernel })
    }

    pub fn is_to_go_on(&self) -> bool {
        false
    }

    pub fn stop(&self, _: i32) {}

    pub fn end(&self, _: i32) {}
}

answers! {
    fn send(u32, i32) -> () = ();
    fn send_to(&Process, i32) -> () = ();
    fn ends(i32) -> bool = true;
    fn is_from_terminal(i32) -> bool = false;
    fn is_meant_for_one(i32) -> bool = false;
    fn has_job_control() -> bool = false;
}

pub fn is_about_children(signal: i32) -> bool {
    signal == CHILD
}
