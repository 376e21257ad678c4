//! One experiment at a time: two would measure each other.

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::error::Failure;

/// A name that only one process of this machine can have, of whatever user; it is gone with the process, however that
/// ends. Linux keeps such names apart from files (unix(7), "abstract").
const NAME: &str = "corewise-experiment";

/// Held while an experiment is made.
pub struct Lock(#[allow(dead_code, reason = "held, not used")] Option<UnixListener>);

/// Takes the lock, or says who has it. A system that has no such names has no lock.
pub fn take() -> Result<Lock, Failure> {
    let taken = SocketAddr::from_abstract_name(NAME).and_then(|name| UnixListener::bind_addr(&name));
    match taken {
        Ok(listener) => Ok(Lock(Some(listener))),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            Err(Failure::unavailable("another corewise makes an experiment on this machine")
                .next("Two would measure each other: wait until it has ended (pgrep -a corewise shows it)."))
        }
        Err(_) => Ok(Lock(None)),
    }
}
