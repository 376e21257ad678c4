//! Sleeping until a word changes, and waking who sleeps so, within one process.

use std::io;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use super::missing::{answers, missing};
pub use crate::values::thread::Waited;

answers! {
    fn wait(&AtomicU32, u32, Duration) -> io::Result<Waited> = missing();
    fn wake(&AtomicU32) -> bool = false;
}
