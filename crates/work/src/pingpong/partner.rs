//! The second of a pair as a process of its own: this program started again, or any program that calls [`answer_starter`].

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_sys::ipc;
use corewise_sys::process::ProcessIdentity;

use super::WakeupMeans;
use super::line::{LineEnd, OVER};
use crate::WorkError;

/// First message of a partner, so that earlier output of its program is not read as numbers.
const GREETING: &[u8; 16] = b"corewise-partner";
/// Time that a partner may take to end after its line was ended.
const GRACE: Duration = Duration::from_secs(1);

/// A process that answers; killed if it does not end by itself.
pub struct PartnerProcess(Child);

impl PartnerProcess {
    /// Starts this program again with some arguments, on `cpu` if given, and returns this side's end of the line.
    ///
    /// # Errors
    /// [`WorkError::Input`] for [`WakeupMeans::Futex`], since two processes share no memory here; [`WorkError::System`] if it cannot be started or pinned.
    pub fn start_partner(
        by: WakeupMeans,
        arguments: &[OsString],
        cpu: Option<u32>,
    ) -> Result<(Self, LineEnd), WorkError> {
        let program = std::env::current_exe().map_err(WorkError::from_system("looking for this program"))?;
        let mut command = Command::new(program);
        command.args(arguments);
        let (child, end) = match by {
            WakeupMeans::Futex => {
                let why = "is only for threads: two processes share no memory here";
                return Err(WorkError::Input { what: "futex".into(), why: why.into() });
            }
            WakeupMeans::Pipe => start_over_pipes(&mut command),
            WakeupMeans::Socket => start_over_socket(&mut command),
        }
        .map_err(WorkError::from_system("starting a partner"))?;
        let partner = Self(child);
        if let Some(cpu) = cpu {
            let pinned = ProcessIdentity::find_task(partner.0.id())
                .and_then(|partner| partner.restrict_thread(&CpuSet::from_cpu(cpu)));
            pinned.map_err(WorkError::from_system(format!("pinning a partner to cpu {cpu}")))?;
        }
        Ok((partner, end))
    }

    /// Kills the process, which closes its end of the line.
    pub fn kill_partner(&mut self) {
        // Fails if it has already ended.
        drop(self.0.kill());
    }
}

impl Drop for PartnerProcess {
    fn drop(&mut self) {
        let until = Instant::now() + GRACE;
        while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.kill_partner();
        drop(self.0.wait());
    }
}

fn start_over_pipes(command: &mut Command) -> io::Result<(Child, LineEnd)> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (reader, writer) = ipc::pipes_of(&mut child)?;
    Ok((child, LineEnd::Pipe(reader, writer)))
}

fn start_over_socket(command: &mut Command) -> io::Result<(Child, LineEnd)> {
    let (own, other) = ipc::socket_pair()?;
    let child = command.stdin(ipc::as_input(other)).stdout(Stdio::null()).spawn()?;
    // The command holds the other socket, and must not do so for longer than the child.
    command.stdin(Stdio::null());
    Ok((child, LineEnd::Socket(own)))
}

/// Reads the partner's output up to the end of its greeting; false if it ends before.
///
/// # Errors
/// If the operating system fails.
pub fn await_greeting(end: &mut LineEnd) -> io::Result<bool> {
    let mut last = [0; GREETING.len()];
    while &last != GREETING {
        last.rotate_left(1);
        let [.., newest] = &mut last;
        let read = match end {
            // No program prints into a word.
            LineEnd::Futex(_) => return Ok(true),
            LineEnd::Pipe(reader, _) => reader.read(std::slice::from_mut(newest))?,
            LineEnd::Socket(stream) => stream.read(std::slice::from_mut(newest))?,
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
/// [`WorkError::Input`] for a futex; [`WorkError::System`] if the operating system fails.
pub fn answer_starter(by: WakeupMeans) -> Result<(), WorkError> {
    let failed = |error| WorkError::System { what: "answering as a partner".into(), error };
    let mut end = match by {
        WakeupMeans::Futex => return Err(WorkError::Input { what: "futex".into(), why: "is only for threads".into() }),
        WakeupMeans::Pipe => {
            let (input, output) = ipc::own_pipes().map_err(failed)?;
            LineEnd::Pipe(input, output)
        }
        WakeupMeans::Socket => LineEnd::Socket(ipc::own_socket().map_err(failed)?),
    };
    greet_starter(&mut end).and_then(|()| answer_all(&mut end)).map(drop).map_err(failed)
}

/// Sends the greeting: numbers follow.
///
/// # Errors
/// If the operating system fails.
pub fn greet_starter(end: &mut LineEnd) -> io::Result<()> {
    match end {
        LineEnd::Futex(_) => Ok(()),
        LineEnd::Pipe(_, writer) => writer.write_all(GREETING),
        LineEnd::Socket(stream) => stream.write_all(GREETING),
    }
}

/// Answers until the line is ended; returns the number of answers.
///
/// # Errors
/// If the operating system fails.
pub fn answer_all(end: &mut LineEnd) -> io::Result<u64> {
    let (mut said, mut answers) = (0, 0);
    loop {
        let heard = end.hear_after(said)?;
        if heard == OVER || !end.say_after(heard)? {
            return Ok(answers);
        }
        said = super::line::number_after(heard);
        answers += 1;
    }
}
