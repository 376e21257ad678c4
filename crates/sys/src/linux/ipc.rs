//! Sockets and pipes between this process and a child or its parent.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
pub use std::os::unix::net::UnixStream as Socket;
use std::process::{Child, Stdio};

/// Makes a connected pair of local stream sockets: socketpair(2).
///
/// # Errors
/// If no file descriptor is left.
pub fn socket_pair() -> io::Result<(Socket, Socket)> {
    Socket::pair()
}

/// Converts a socket to the standard input of a command.
pub fn as_input(socket: Socket) -> Stdio {
    OwnedFd::from(socket).into()
}

/// Returns a second handle of this process's standard input, which must be a socket.
///
/// # Errors
/// If no file descriptor is left.
pub fn own_socket() -> io::Result<Socket> {
    duplicate_descriptor(io::stdin()).map(Socket::from)
}

/// Returns second handles of this process's standard input and output, which must be pipes.
///
/// # Errors
/// If no file descriptor is left.
pub fn own_pipes() -> io::Result<(PipeReader, PipeWriter)> {
    Ok((duplicate_descriptor(io::stdin())?.into(), duplicate_descriptor(io::stdout())?.into()))
}

/// Takes a child's standard output and standard input, which must be pipes.
///
/// # Errors
/// If they are not pipes.
pub fn pipes_of(child: &mut Child) -> io::Result<(PipeReader, PipeWriter)> {
    let missing = || io::Error::other("a child without its pipes");
    let reader = OwnedFd::from(child.stdout.take().ok_or_else(missing)?);
    let writer = OwnedFd::from(child.stdin.take().ok_or_else(missing)?);
    Ok((reader.into(), writer.into()))
}

/// Returns standard error as the standard output of a command.
///
/// # Errors
/// If no file descriptor is left.
pub fn error_as_output() -> io::Result<Stdio> {
    duplicate_descriptor(io::stderr()).map(Stdio::from)
}

fn duplicate_descriptor(file: impl AsFd) -> io::Result<OwnedFd> {
    file.as_fd().try_clone_to_owned()
}
