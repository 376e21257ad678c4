//! A name that only one process of this machine can have at a time.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

/// The name, held; given back with this value, or with the process, however that ends.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "held, not used")] UnixListener);

/// Takes a name, of whatever user; nothing where another process has it. Linux keeps such names apart from files: unix(7), "abstract".
///
/// # Errors
/// When this process may make no socket.
pub fn take(name: &str) -> io::Result<Option<Lock>> {
    let taken = SocketAddr::from_abstract_name(name).and_then(|name| UnixListener::bind_addr(&name));
    match taken {
        Ok(listener) => Ok(Some(Lock(listener))),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
        Err(error) => Err(error),
    }
}
