//! Signals of a process. With a command: the command's end, while the command gets the keys of the console itself. Without one: those keys,
//! the end of the session, and requests of another corewise.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use windows_sys::Win32::Foundation::{FALSE, TRUE, WAIT_OBJECT_0};
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::Win32::System::Threading::{
    CreateEventW, EVENT_MODIFY_STATE, OpenEventW, SetEvent, WaitForSingleObject,
};

use super::attended::{self, attended_command};
use super::handle::{KernelHandle, check_result};
use super::missing::answers;
use super::process::ProcessIdentity;
use super::text::to_wide;
pub use crate::values::signals::{ReceivedSignal, SignalSender};

pub const RELOAD: i32 = 1;
pub const INTERRUPT: i32 = 2;
pub const STOP: i32 = 20;
pub const TERMINATE: i32 = 15;
/// Signal of a child's end.
const CHILD: i32 = 17;
/// Time after which Windows kills a process after its console was closed, unless it has ended itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// The last key, or the end of the session, as a signal; 0 if none is pending.
static PRESSED: AtomicI32 = AtomicI32::new(0);
/// Set when a signal is pending: [`PRESSED`], or else a request to read all again.
static CALLED: OnceLock<KernelHandle> = OnceLock::new();

answers! {
    fn is_ignored(i32) -> bool = false;
    fn outlives_terminal() -> bool = false;
    fn outlive_terminal() -> () = ();
    fn notice_stops() -> () = ();
    fn is_to_stop() -> bool = false;
    fn stop_now() -> () = ();
    fn stop_at_once() -> () = ();
}

/// Leaves keys of the console to the command from now on. Otherwise this program would end first, and the shell would not wait for the
/// command.
pub(super) fn leave_to_the_command() -> io::Result<()> {
    static IS_LEFT: Mutex<bool> = Mutex::new(false);
    let mut is_left = IS_LEFT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !*is_left {
        // SAFETY: the handler touches no memory, and lives as long as the program.
        check_result(unsafe { SetConsoleCtrlHandler(Some(is_dealt_with), TRUE) })?;
        *is_left = true;
    }
    Ok(())
}

/// Handles a console event. It runs in a thread of its own, and the process ends when it returns from anything but a key.
unsafe extern "system" fn is_dealt_with(what: u32) -> i32 {
    let is_key = [CTRL_C_EVENT, CTRL_BREAK_EVENT].contains(&what);
    PRESSED.store(if is_key { INTERRUPT } else { TERMINATE }, Ordering::SeqCst);
    call_handler(CALLED.get());
    if !is_key {
        std::thread::sleep(PATIENCE);
    }
    TRUE
}

fn call_handler(event: Option<&KernelHandle>) {
    if let Some(event) = event {
        // SAFETY: the handle is an event's.
        unsafe { SetEvent(event.as_raw()) };
    }
}

/// Returns the name of a process's event, in the session of its user.
fn name_of_event(process: &ProcessIdentity) -> Vec<u16> {
    to_wide(&format!(r"Local\corewise-{}-{}", process.id, process.start_ticks))
}

#[derive(Debug)]
pub struct HeldSignals(());

impl HeldSignals {
    pub fn new() -> io::Result<Self> {
        let name = name_of_event(&ProcessIdentity::this_process()?);
        // SAFETY: the name ends with a zero; the event gets the default access list of this user's objects.
        let event = KernelHandle::new(unsafe { CreateEventW(ptr::null(), FALSE, FALSE, name.as_ptr()) })?;
        CALLED.get_or_init(|| event);
        leave_to_the_command().map(|()| Self(()))
    }

    /// Waits for the end of the command; without a command, for keys, the end of the session, and requests.
    pub fn next(&self, timeout: Duration) -> Option<ReceivedSignal> {
        let of_kernel = |number| ReceivedSignal { number, sender: SignalSender::Kernel };
        if attended_command().is_some() {
            return attended::has_ended(timeout).then_some(of_kernel(CHILD));
        }
        let milliseconds = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX).min(u32::MAX - 1);
        // SAFETY: the handle is an event's, which lives as long as the program.
        let is_called = unsafe { WaitForSingleObject(CALLED.get()?.as_raw(), milliseconds) } == WAIT_OBJECT_0;
        match PRESSED.swap(0, Ordering::SeqCst) {
            0 => is_called.then_some(of_kernel(RELOAD)),
            pressed => Some(of_kernel(pressed)),
        }
    }

    pub fn is_to_go_on(&self) -> bool {
        false
    }

    pub fn stop_self(&self, _: i32) {}

    pub fn end_self(&self, _: i32) {}
}

/// Makes a process read all again; other signals are not sent.
pub fn send_to(process: &ProcessIdentity, signal: i32) {
    if signal == RELOAD {
        let name = name_of_event(process);
        // SAFETY: the name ends with a zero.
        call_handler(KernelHandle::new(unsafe { OpenEventW(EVENT_MODIFY_STATE, FALSE, name.as_ptr()) }).ok().as_ref());
    }
}

answers! {
    fn send_signal(u32, i32) -> () = ();
    fn ends_process(i32) -> bool = true;
    fn is_from_terminal(i32) -> bool = false;
    fn is_meant_for_one(i32) -> bool = false;
    fn has_job_control() -> bool = false;
}

pub fn is_about_children(signal: i32) -> bool {
    signal == CHILD
}
