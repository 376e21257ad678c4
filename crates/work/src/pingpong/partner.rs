//! The second of a pair as a process of its own: this program started again, or any program that calls [`answer`].

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_sys::{affinity, ipc};

use super::By;
use super::line::{End, OVER};
use crate::Error;

/// First message of a partner, so that earlier output of its program is not read as numbers.
const GREETING: &[u8; 16] = b"corewise-partner";
/// Time that a partner may take to end after its line was ended.
const GRACE: Duration = Duration::from_secs(1);

/// A process that answers; killed if it does not end by itself.
pub struct Partner(Child);

impl Partner {
    /// Starts this program again with some arguments, on `cpu` if given, and returns this side's end of the line.
    ///
    /// # Errors
    /// [`Error::Input`] for [`By::Futex`], since two processes share no memory here; [`Error::System`] if it cannot be started or pinned.
    pub fn begin(by: By, arguments: &[OsString], cpu: Option<u32>) -> Result<(Self, End), Error> {
        let program = std::env::current_exe().map_err(Error::system("looking for this program"))?;
        let mut command = Command::new(program);
        command.args(arguments);
        let (child, end) = match by {
            By::Futex => {
                let why = "is only for threads: two processes share no memory here";
                return Err(Error::Input { what: "futex".into(), why: why.into() });
            }
            By::Pipe => over_pipes(&mut command),
            By::Socket => over_socket(&mut command),
        }
        .map_err(Error::system("starting a partner"))?;
        let partner = Self(child);
        if let Some(cpu) = cpu {
            let pinned = affinity::set(partner.0.id(), &[cpu].into_iter().collect::<CpuSet>());
            pinned.map_err(Error::system(format!("pinning a partner to cpu {cpu}")))?;
        }
        Ok((partner, end))
    }

    /// Kills the process, which closes its end of the line.
    pub fn kill(&mut self) {
        // Fails if it has already ended.
        drop(self.0.kill());
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        let until = Instant::now() + GRACE;
        while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.kill();
        drop(self.0.wait());
    }
}

fn over_pipes(command: &mut Command) -> io::Result<(Child, End)> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (reader, writer) = ipc::pipes_of(&mut child)?;
    Ok((child, End::Pipe(reader, writer)))
}

fn over_socket(command: &mut Command) -> io::Result<(Child, End)> {
    let (own, other) = ipc::sockets()?;
    let child = command.stdin(ipc::as_input(other)).stdout(Stdio::null()).spawn()?;
    // The command holds the other socket, and must not do so for longer than the child.
    command.stdin(Stdio::null());
    Ok((child, End::Socket(own)))
}

/// Reads the partner's output up to the end of its greeting; false if it ends before.
///
/// # Errors
/// If the operating system fails.
pub fn await_greeting(end: &mut End) -> io::Result<bool> {
    let mut last = [0; GREETING.len()];
    while &last != GREETING {
        last.rotate_left(1);
        let [.., newest] = &mut last;
        let read = match end {
            // No program prints into a word.
            End::Futex(_) => return Ok(true),
            End::Pipe(reader, _) => reader.read(std::slice::from_mut(newest))?,
            End::Socket(stream) => stream.read(std::slice::from_mut(newest))?,
        };
        if read == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Answers the process that started this one as its partner, until the line is ended. The line is standard input (a socket), or standard
/// input and standard output (pipes). Nothing else may read or write these.
///
/// # Errors
/// [`Error::Input`] for a futex; [`Error::System`] if the operating system fails.
pub fn answer(by: By) -> Result<(), Error> {
    let failed = |error| Error::System { what: "answering as a partner".into(), error };
    let mut end = match by {
        By::Futex => return Err(Error::Input { what: "futex".into(), why: "is only for threads".into() }),
        By::Pipe => {
            let (input, output) = ipc::own_pipes().map_err(failed)?;
            End::Pipe(input, output)
        }
        By::Socket => End::Socket(ipc::own_socket().map_err(failed)?),
    };
    greet(&mut end).and_then(|()| answer_all(&mut end)).map(drop).map_err(failed)
}

/// Sends the greeting: numbers follow.
///
/// # Errors
/// If the operating system fails.
pub fn greet(end: &mut End) -> io::Result<()> {
    match end {
        End::Futex(_) => Ok(()),
        End::Pipe(_, writer) => writer.write_all(GREETING),
        End::Socket(stream) => stream.write_all(GREETING),
    }
}

/// Answers until the line is ended; returns the number of answers.
///
/// # Errors
/// If the operating system fails.
pub fn answer_all(end: &mut End) -> io::Result<u64> {
    let (mut said, mut answers) = (0, 0);
    loop {
        let heard = end.hear_after(said)?;
        if heard == OVER || !end.say_after(heard)? {
            return Ok(answers);
        }
        said = super::line::after(heard);
        answers += 1;
    }
}
