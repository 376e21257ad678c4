//! A booted machine: runs steps one after another, and brings back what they wrote.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::cpus;
use crate::{Description, RigError};

/// How long a step may take before the machine counts as hung. Nothing is measured by it: a loaded host emulates slowly.
const STEP_LIMIT: Duration = Duration::from_secs(300);
/// How long a machine may take to boot: a part for the kernel, and a part for each cpu.
const BOOT_LIMIT: Duration = Duration::from_secs(180);
const BOOT_LIMIT_PER_CPU: Duration = Duration::from_secs(8);
/// How often a fact is looked for. Every look is a step, so this bounds the time as well.
const LOOKS: u32 = 400;
/// How many lines of the console an error shows.
const CONSOLE_LINES: usize = 25;
const READY: &str = "rig ready";

/// What a step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its exit status, as the shell gives it.
    pub code: i32,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Outcome {
    /// What it wrote to standard output, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// A booted machine. It is turned off when it is dropped.
#[derive(Debug)]
pub struct Guest {
    machine: &'static Description,
    emulator: Child,
    steps: ChildStdin,
    answers: Receiver<Vec<u8>>,
    received: Vec<u8>,
    folder: TempDir,
}

impl Guest {
    /// Starts the emulator, and waits for the machine.
    pub(crate) fn boot(
        machine: &'static Description,
        mut emulator: Command,
        folder: TempDir,
    ) -> Result<Self, RigError> {
        let failed = |why: String| RigError::Host { program: "the emulator".to_owned(), why };
        let warnings = fs::File::create(folder.path().join("warnings"));
        let warnings = warnings.map_err(|source| RigError::file(folder.path(), source))?;
        emulator.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(warnings);
        let mut child = emulator.spawn().map_err(|error| failed(error.to_string()))?;
        let (Some(steps), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no input or output".to_owned()));
        };
        let answers = pump(answers);
        let mut guest = Self { machine, emulator: child, steps, answers, received: Vec::new(), folder };
        guest.wait_until_ready()?;
        guest.prepare()?;
        Ok(guest)
    }

    /// The machine's description.
    pub fn machine(&self) -> &'static Description {
        self.machine
    }

    /// Runs a shell script, and waits for its end. What it leaves in the background runs on.
    ///
    /// # Errors
    ///
    /// [`RigError::Gone`], [`RigError::Silent`] and [`RigError::Garbled`] where the machine does not answer; that the
    /// script fails is no error.
    pub fn run(&mut self, script: &str) -> Result<Outcome, RigError> {
        let during = format!("running `{script}`");
        let mut line: String = script.bytes().map(|byte| format!("{byte:02x}")).collect();
        line.push('\n');
        if self.steps.write_all(line.as_bytes()).and_then(|()| self.steps.flush()).is_err() {
            return Err(self.silent_or_gone(Duration::ZERO, &during));
        }
        let deadline = Deadline::after(STEP_LIMIT);
        let answer = self.line(&deadline, &during)?;
        let Some([code, out, err]) = numbers(&answer) else {
            return Err(RigError::Garbled { during, line: answer });
        };
        let stdout = self.take(out as usize, &deadline, &during)?;
        let stderr = self.take(err as usize, &deadline, &during)?;
        Ok(Outcome { code: code as i32, stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() })
    }

    /// Runs a script again and again until it succeeds.
    ///
    /// # Errors
    ///
    /// [`RigError::InVain`] where it never does, and those of [`Guest::run`].
    pub fn wait_for(&mut self, what: &str, script: &str) -> Result<Outcome, RigError> {
        let mut last = String::new();
        for _ in 0..LOOKS {
            let outcome = self.run(script)?;
            if outcome.code == 0 {
                return Ok(outcome);
            }
            last = format!("exit status {}, {:?}, {:?}", outcome.code, outcome.text(), outcome.stderr);
        }
        Err(RigError::InVain { what: what.to_owned(), last })
    }

    /// The last lines that the machine wrote to its console.
    pub fn console(&self) -> String {
        let text = fs::read(self.console_path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(CONSOLE_LINES)..].join("\n")
    }

    fn console_path(&self) -> PathBuf {
        self.folder.path().join("console")
    }

    fn wait_until_ready(&mut self) -> Result<(), RigError> {
        let cpus = self.machine.places().len() as u32;
        let deadline = Deadline::after(BOOT_LIMIT + BOOT_LIMIT_PER_CPU * cpus);
        let during = format!("booting {}", self.machine.name);
        while self.line(&deadline, &during)? != READY {}
        Ok(())
    }

    /// Does what the description asks for after booting.
    fn prepare(&mut self) -> Result<(), RigError> {
        let online = cpus::parse(&self.machine.expected().online);
        let mut script = "set -e\n".to_owned();
        // The first cpu has no such file. Those that are as they should be are left alone.
        for cpu in self.machine.present().iter().filter(|cpu| **cpu > 0) {
            let (file, on) = (format!("/sys/devices/system/cpu/cpu{cpu}/online"), u8::from(online.contains(cpu)));
            script.push_str(&format!("[ $(cat {file}) = {on} ] || echo {on} >{file}\n"));
        }
        if !self.machine.cpuset.is_empty() {
            let cpuset = self.machine.cpuset;
            script.push_str(&format!(
                "cd /sys/fs/cgroup\nmkdir container\necho {cpuset} >container/cpuset.cpus\n\
                 echo 1 >container/cgroup.procs\n"
            ));
        }
        let outcome = self.run(&script)?;
        if outcome.code == 0 {
            return Ok(());
        }
        let line = format!("exit status {}: {}", outcome.code, outcome.stderr);
        Err(RigError::Garbled { during: format!("preparing {}", self.machine.name), line })
    }

    /// The next line, without its end.
    fn line(&mut self, deadline: &Deadline, during: &str) -> Result<String, RigError> {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            self.receive(deadline, during)?;
        }
    }

    fn take(&mut self, size: usize, deadline: &Deadline, during: &str) -> Result<Vec<u8>, RigError> {
        while self.received.len() < size {
            self.receive(deadline, during)?;
        }
        Ok(self.received.drain(..size).collect())
    }

    fn receive(&mut self, deadline: &Deadline, during: &str) -> Result<(), RigError> {
        match self.answers.recv_timeout(deadline.left()) {
            Ok(bytes) => {
                self.received.extend(bytes);
                Ok(())
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Err(self.silent_or_gone(deadline.limit, during))
            }
        }
    }

    fn silent_or_gone(&mut self, limit: Duration, during: &str) -> RigError {
        let during = during.to_owned();
        // An emulator whose output has ended is ending; it is given the time to have a status.
        let ended = (0..50).find_map(|_| {
            let status = self.emulator.try_wait().ok().flatten();
            if status.is_none() {
                std::thread::sleep(Duration::from_millis(20));
            }
            status
        });
        match ended {
            Some(status) => RigError::Gone { status, during, console: self.last_words() },
            None => RigError::Silent { seconds: limit.as_secs(), during, console: self.console() },
        }
    }

    /// The console's end, and what the emulator itself had to say.
    fn last_words(&self) -> String {
        let warnings = fs::read_to_string(self.folder.path().join("warnings")).unwrap_or_default();
        let warnings = warnings.lines().filter(|line| !line.contains("warning: TCG doesn't support"));
        [self.console()].into_iter().chain(warnings.map(str::to_owned)).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // It has nothing to save: its memory is all it has.
        let _ = self.emulator.kill();
        let _ = self.emulator.wait();
    }
}

/// A point in time after which something counts as hung.
struct Deadline {
    limit: Duration,
    at: Instant,
}

impl Deadline {
    fn after(limit: Duration) -> Self {
        Self { limit, at: Instant::now() + limit }
    }

    fn left(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }
}

/// Reads in a thread of its own, since a pipe cannot be read with a time limit.
fn pump(mut output: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(size @ 1..) = output.read(&mut buffer) {
            if sender.send(buffer[..size].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The numbers of an answer, "rig 0 12 0".
fn numbers(answer: &str) -> Option<[u32; 3]> {
    let numbers: Vec<u32> = answer.strip_prefix("rig ")?.split(' ').map_while(|word| word.parse().ok()).collect();
    numbers.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_answers_are_answers() {
        assert_eq!(numbers("rig 127 12 0"), Some([127, 12, 0]));
        for line in ["rig 1 2", "rig 1 2 3 4", "rig a 2 3", "ready", ""] {
            assert_eq!(numbers(line), None, "{line}");
        }
    }
}
