//! What processes talk over: sockets and pipes between this process and one that it starts, or that started it.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
pub use std::os::unix::net::UnixStream as Socket;
use std::process::{Child, Stdio};

/// A connected pair of stream sockets of the local kind: socketpair(2).
///
/// # Errors
/// When there are no file numbers left.
pub fn sockets() -> io::Result<(Socket, Socket)> {
    Socket::pair()
}

/// A socket as the standard input of a command.
pub fn as_input(socket: Socket) -> Stdio {
    OwnedFd::from(socket).into()
}

/// This process's standard input, which is a socket; a second handle of it.
///
/// # Errors
/// When there are no file numbers left.
pub fn own_socket() -> io::Result<Socket> {
    again(io::stdin()).map(Socket::from)
}

/// Standard input and standard output of this process, which are pipes; second handles of them.
///
/// # Errors
/// When there are no file numbers left.
pub fn own_pipes() -> io::Result<(PipeReader, PipeWriter)> {
    Ok((again(io::stdin())?.into(), again(io::stdout())?.into()))
}

/// Takes a child's standard output and standard input, which are pipes.
///
/// # Errors
/// When they are not.
pub fn pipes_of(child: &mut Child) -> io::Result<(PipeReader, PipeWriter)> {
    let missing = || io::Error::other("a child without its pipes");
    let reader = OwnedFd::from(child.stdout.take().ok_or_else(missing)?);
    let writer = OwnedFd::from(child.stdin.take().ok_or_else(missing)?);
    Ok((reader.into(), writer.into()))
}

/// Standard error, as the standard output of a command.
///
/// # Errors
/// When there are no file numbers left.
pub fn error_as_output() -> io::Result<Stdio> {
    again(io::stderr()).map(Stdio::from)
}

fn again(file: impl AsFd) -> io::Result<OwnedFd> {
    file.as_fd().try_clone_to_owned()
}
