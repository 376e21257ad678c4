//! The second of a pair as a process of its own: this program begun again, or any that calls [`answer`].

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_sys::{affinity, ipc};

use super::By;
use super::line::{End, OVER};
use crate::Error;

/// What a partner says first, so that whatever its program prints before is no number.
const GREETING: &[u8; 16] = b"corewise-partner";
/// How long a partner may take to end once its line was ended.
const GRACE: Duration = Duration::from_secs(1);

/// A process that answers; killed where it does not end by itself.
pub struct Partner(Child);

impl Partner {
    /// Begins this program again with some arguments, on a cpu where one is given, and gives the end of the line to it.
    ///
    /// # Errors
    /// [`Error::Input`] for a word, which two processes have not in common; [`Error::System`] where it cannot be begun or pinned.
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

    /// Kills it: its end of the line goes with it.
    pub fn kill(&mut self) {
        // One that has ended needs no killing.
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
    // The command holds the other's socket, and must not for longer than the child.
    command.stdin(Stdio::null());
    Ok((child, End::Socket(own)))
}

/// Reads what the partner's program prints up to and with its greeting; false where it ends before.
///
/// # Errors
/// When the operating system fails.
pub fn await_greeting(end: &mut End) -> io::Result<bool> {
    let mut last = [0; GREETING.len()];
    while &last != GREETING {
        last.rotate_left(1);
        let [.., newest] = &mut last;
        let read = match end {
            // Nobody prints into a word.
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

/// Answers whoever began this program as its partner, over its standard input (a socket), or that and its standard output (pipes), until
/// the line is ended. Nothing else must read or write these.
///
/// # Errors
/// [`Error::Input`] for a futex; [`Error::System`] when the operating system fails.
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

/// Says that what comes next are numbers.
///
/// # Errors
/// When the operating system fails.
pub fn greet(end: &mut End) -> io::Result<()> {
    match end {
        End::Futex(_) => Ok(()),
        End::Pipe(_, writer) => writer.write_all(GREETING),
        End::Socket(stream) => stream.write_all(GREETING),
    }
}

/// Answers until the line is ended; how often.
///
/// # Errors
/// When the operating system fails.
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
