//! Sockets and pipes between this process and a child or its parent: not available.

use std::io::{self, PipeReader, PipeWriter};
pub use std::net::TcpStream as Socket;
use std::process::{Child, Stdio};

use super::missing::{answers, missing};

answers! {
    fn sockets() -> io::Result<(Socket, Socket)> = missing();
    fn as_input(Socket) -> Stdio = Stdio::null();
    fn own_socket() -> io::Result<Socket> = missing();
    fn own_pipes() -> io::Result<(PipeReader, PipeWriter)> = missing();
    fn pipes_of(&mut Child) -> io::Result<(PipeReader, PipeWriter)> = missing();
    fn error_as_output() -> io::Result<Stdio> = missing();
}
