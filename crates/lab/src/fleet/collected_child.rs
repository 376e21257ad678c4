//! A child process: its output is collected while others run, bounded in size and time.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use corewise_sys::spawn::lead_own_group;

/// Largest kept part of standard error in bytes.
const MOST_ERROR_BYTES: u64 = 64 << 10;
/// Longest wait for the end of the output of a child that has ended: a process that it left behind may hold it open.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// Pause between two looks at a child that is waited for.
const PAUSE: Duration = Duration::from_millis(2);

/// A running child. It is ended when this value is dropped. Ctrl-C on the terminal does not reach it.
#[derive(Debug)]
pub struct CollectedChild {
    child: Child,
    output: OutputReader,
    errors: OutputReader,
    most_bytes: u64,
    deadline: Instant,
    ended: Option<(ExitStatus, Instant)>,
}

/// How a child ended.
#[derive(Debug)]
pub enum ChildOutcome {
    /// It exited with this status, or was killed by a signal: `None`.
    Exited(Option<i32>),
    /// It was ended at its deadline.
    TimedOut,
    /// It was ended because it wrote too much.
    WroteTooMuch,
}

/// A child that has ended, and what it wrote.
#[derive(Debug)]
pub struct EndedChild {
    /// How it ended.
    pub outcome: ChildOutcome,
    /// Standard output.
    pub output: Vec<u8>,
    /// The beginning of standard error.
    pub errors: Vec<u8>,
}

impl CollectedChild {
    /// Starts a command that may run for `limit` and write `most_bytes`.
    ///
    /// # Errors
    /// If it cannot be started, or no thread can be made to read its output.
    pub fn start(command: &mut Command, input: Stdio, most_bytes: u64, limit: Duration) -> io::Result<Self> {
        lead_own_group(command);
        let mut child = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let readers = OutputReader::start(child.stdout.take(), most_bytes.saturating_add(1)).and_then(|output| {
            OutputReader::start(child.stderr.take(), MOST_ERROR_BYTES).map(|errors| (output, errors))
        });
        match readers {
            Ok((output, errors)) => {
                Ok(Self { child, output, errors, most_bytes, deadline: Instant::now() + limit, ended: None })
            }
            Err(error) => {
                end_child(&mut child);
                Err(error)
            }
        }
    }

    /// Looks whether it has ended, without waiting. Ends it if it runs or writes too much.
    pub fn poll_end(&mut self) -> Option<EndedChild> {
        if self.output.len() as u64 > self.most_bytes {
            return Some(self.end_early(ChildOutcome::WroteTooMuch));
        }
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten().map(|status| (status, Instant::now()));
        }
        match self.ended {
            Some((status, at)) if self.is_read() || at.elapsed() > LAST_OUTPUT => {
                Some(self.take_end(ChildOutcome::Exited(status.code())))
            }
            None if Instant::now() > self.deadline => Some(self.end_early(ChildOutcome::TimedOut)),
            _ => None,
        }
    }

    /// Waits for its end.
    pub fn wait_for_end(mut self) -> EndedChild {
        loop {
            if let Some(ended) = self.poll_end() {
                return ended;
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn is_read(&self) -> bool {
        self.output.is_done() && self.errors.is_done()
    }

    fn end_early(&mut self, outcome: ChildOutcome) -> EndedChild {
        end_child(&mut self.child);
        self.take_end(outcome)
    }

    fn take_end(&self, outcome: ChildOutcome) -> EndedChild {
        EndedChild { outcome, output: self.output.take_bytes(), errors: self.errors.take_bytes() }
    }
}

impl Drop for CollectedChild {
    fn drop(&mut self) {
        if self.ended.is_none() {
            end_child(&mut self.child);
        }
    }
}

/// Ends a child that was not waited for, by its handle, and waits for it.
fn end_child(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// A thread that reads one output of a child up to a limit. It ends with the output.
#[derive(Debug)]
struct OutputReader {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl OutputReader {
    fn start(output: Option<impl Read + Send + 'static>, most_bytes: u64) -> io::Result<Self> {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&bytes);
        let thread = Builder::new().stack_size(128 << 10).spawn(move || {
            let Some(output) = output else { return };
            let (mut output, mut piece) = (output.take(most_bytes), [0; 8192]);
            while let Ok(count @ 1..) = output.read(&mut piece) {
                read.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&piece[..count]);
            }
        })?;
        Ok(Self { bytes, thread })
    }

    fn len(&self) -> usize {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn is_done(&self) -> bool {
        self.thread.is_finished()
    }

    fn take_bytes(&self) -> Vec<u8> {
        std::mem::take(&mut *self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
