//! A service's reports to its service manager: sd_notify(3), without its library.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Sends a state, such as `READY=1`, to the socket in `NOTIFY_SOCKET`: a path, or `@` and a name without a file.
///
/// # Errors
/// The system's error: no listener, or it is no socket.
pub fn notify_service(socket: &OsStr, state: &str) -> io::Result<()> {
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    let sent = UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
    if sent == state.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Returns the command that makes another command start at each logon of this user; `None` on systems with systemd units.
pub fn at_logon(_program: &str, _arguments: &str) -> Option<String> {
    None
}

/// Returns true if standard error goes to the journal of the service manager. The check compares the file with `JOURNAL_STREAM`,
/// "DEVICE:INODE" (systemd.exec(5)), since a program started with the variable may have been given another file.
pub fn logs_to_journal() -> bool {
    let file = std::fs::metadata("/proc/self/fd/2").map(|file| format!("{}:{}", file.dev(), file.ino()));
    std::env::var("JOURNAL_STREAM").ok().zip(file.ok()).is_some_and(|(stream, file)| stream == file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_arrives_at_a_path_and_at_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let name = format!("corewise-test-{}", std::process::id());
        let by_path = UnixDatagram::bind(&path).unwrap();
        let by_name = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        for (socket, words) in [(by_path, path.into_os_string()), (by_name, format!("@{name}").into())] {
            notify_service(&words, "READY=1").unwrap();
            let mut buffer = [0; 64];
            let length = socket.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], b"READY=1");
        }
        assert!(notify_service(OsStr::new("/nowhere/notify"), "READY=1").is_err());
    }
}
