//! Sleeping until a word changes, and waking who sleeps so, within one process.

use std::io;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use super::missing::missing;
pub use crate::values::thread::Waited;

pub fn wait(_: &AtomicU32, _: u32, _: Duration) -> io::Result<Waited> {
    missing()
}

pub fn wake(_: &AtomicU32) -> bool {
    false
}
