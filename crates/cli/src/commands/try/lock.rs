//! One experiment at a time: two would measure each other.

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::shell::failure::Failure;

/// Held while an experiment is made.
pub struct Lock(#[allow(dead_code, reason = "held, not used")] Option<UnixListener>);

/// Takes the lock, or says who has it: a name that only one process of this machine can have, of whatever user. It is gone with the
/// process, however that ends. Linux keeps such names apart from files (unix(7), "abstract"); a system without them has no lock.
pub fn take(name: &str) -> Result<Lock, Failure> {
    let taken = SocketAddr::from_abstract_name(name).and_then(|name| UnixListener::bind_addr(&name));
    match taken {
        Ok(listener) => Ok(Lock(Some(listener))),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            Err(Failure::unavailable("another corewise makes an experiment on this machine")
                .next("Two would measure each other: wait until it has ended (pgrep -a corewise shows it)."))
        }
        Err(_) => Ok(Lock(None)),
    }
}
