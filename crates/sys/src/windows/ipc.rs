//! Sockets and pipes between this process and a child or its parent: not available.

use std::io::{self, PipeReader, PipeWriter};
pub use std::net::TcpStream as Socket;
use std::process::{Child, Stdio};

use super::missing::{answers, missing_result};

answers! {
    fn socket_pair() -> io::Result<(Socket, Socket)> = missing_result();
    fn as_input(Socket) -> Stdio = Stdio::null();
    fn own_socket() -> io::Result<Socket> = missing_result();
    fn own_pipes() -> io::Result<(PipeReader, PipeWriter)> = missing_result();
    fn pipes_of(&mut Child) -> io::Result<(PipeReader, PipeWriter)> = missing_result();
    fn error_as_output() -> io::Result<Stdio> = missing_result();
}
