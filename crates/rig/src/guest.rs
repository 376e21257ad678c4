//! A booted machine: runs steps one after another, and returns their output.

use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::cpus;
use crate::{RigError, RigMachine};

/// Maximum silence of a machine during a step before it counts as hung. Time in which the host had no cpu for it does not count.
const STEP_LIMIT: Duration = Duration::from_secs(300);
/// Maximum boot time: a part for the kernel, and a part for each cpu.
const BOOT_LIMIT: Duration = Duration::from_secs(180);
const BOOT_LIMIT_PER_CPU: Duration = Duration::from_secs(8);
/// Minimum number of checks for a condition, besides the minimum time of [`STEP_LIMIT`].
const MIN_LOOKS: u32 = 400;
/// Interval at which a wait for bytes is interrupted, to measure the time without a cpu of the host.
const WAIT_SLICE: Duration = Duration::from_secs(1);
/// Number of console lines in an error.
const CONSOLE_LINES: usize = 25;
const READY: &str = "rig ready";

/// Result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOutcome {
    /// Its exit status, as the shell reports it.
    pub code: i32,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: String,
}

impl StepOutcome {
    /// Returns its standard output as text.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// A booted machine. It is turned off on drop.
#[derive(Debug)]
pub struct RigGuest {
    machine: &'static RigMachine,
    emulator: Child,
    steps: ChildStdin,
    answers: Receiver<Vec<u8>>,
    received: Vec<u8>,
    folder: TempDir,
    step_limit: Duration,
    /// A random word in the name of each step, unknown inside the machine.
    secret: u64,
    step_count: u64,
}

impl RigGuest {
    /// Starts the emulator, and waits for the machine.
    pub(crate) fn boot_guest(
        machine: &'static RigMachine,
        mut emulator: Command,
        folder: TempDir,
    ) -> Result<Self, RigError> {
        let failed = |why: String| RigError::Host { program: "the emulator".to_owned(), why };
        let warnings = fs::File::create(folder.path().join("warnings"));
        let warnings = warnings.map_err(|source| RigError::file_error(folder.path(), source))?;
        emulator.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(warnings);
        let mut child = emulator.spawn().map_err(|error| failed(error.to_string()))?;
        let (Some(steps), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no input or output".to_owned()));
        };
        let answers = pump_output(answers);
        let mut guest = Self {
            machine,
            emulator: child,
            steps,
            answers,
            received: Vec::new(),
            folder,
            step_limit: STEP_LIMIT,
            secret: RandomState::new().build_hasher().finish(),
            step_count: 0,
        };
        guest.wait_until_ready()?;
        guest.prepare_guest()?;
        Ok(guest)
    }

    /// Returns the machine's description.
    pub fn machine(&self) -> &'static RigMachine {
        self.machine
    }

    /// Runs a shell script, and waits for its end. Background processes continue.
    ///
    /// # Errors
    ///
    /// [`RigError::Gone`], [`RigError::Silent`] and [`RigError::Garbled`] if the machine does not answer; a failing script is no error.
    pub fn run(&mut self, script: &str) -> Result<StepOutcome, RigError> {
        let during = format!("running `{script}`");
        self.step_count += 1;
        let step = format!("{:016x}-{}", self.secret, self.step_count);
        let digits: String = script.bytes().map(|byte| format!("{byte:02x}")).collect();
        let line = format!("{step} {digits}\n");
        if self.steps.write_all(line.as_bytes()).and_then(|()| self.steps.flush()).is_err() {
            return Err(self.silent_or_gone(Duration::ZERO, &during));
        }
        let mut patience = StepPatience::new(self.step_limit);
        loop {
            match take_answer(&mut self.received, &step) {
                Ok(Some(outcome)) => return Ok(outcome),
                Ok(None) => self.receive_bytes(&mut patience, &during)?,
                Err(line) => return Err(RigError::Garbled { during, line }),
            }
        }
    }

    /// Repeats a script until it succeeds.
    ///
    /// # Errors
    ///
    /// [`RigError::InVain`] if it never does, and errors of [`RigGuest::run`].
    pub fn wait_for(&mut self, what: &str, script: &str) -> Result<StepOutcome, RigError> {
        let mut patience = StepPatience::new(self.step_limit);
        let mut looks = 0;
        loop {
            let (begun, waited) = (Instant::now(), self.time_without_cpu());
            let outcome = self.run(script)?;
            if outcome.code == 0 {
                return Ok(outcome);
            }
            looks += 1;
            patience.spend_time(begun.elapsed(), self.time_without_cpu().saturating_sub(waited));
            if looks >= MIN_LOOKS && patience.is_at_end() {
                let last = format!("exit status {}, {:?}, {:?}", outcome.code, outcome.stdout_text(), outcome.stderr);
                return Err(RigError::InVain { what: what.to_owned(), last });
            }
        }
    }

    /// Returns the last lines of the machine's console.
    pub fn console_tail(&self) -> String {
        let text = fs::read(self.console_path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(CONSOLE_LINES)..].join("\n")
    }

    fn console_path(&self) -> PathBuf {
        self.folder.path().join("console")
    }

    fn wait_until_ready(&mut self) -> Result<(), RigError> {
        let cpus = self.machine.cpu_places().len() as u32;
        let mut patience = StepPatience::new(BOOT_LIMIT + BOOT_LIMIT_PER_CPU * cpus);
        let during = format!("booting {}", self.machine.name);
        while self.read_line(&mut patience, &during)? != READY {}
        Ok(())
    }

    /// Applies the description's settings after booting.
    fn prepare_guest(&mut self) -> Result<(), RigError> {
        let online = cpus::parse(&self.machine.expected_machine().online);
        let mut script = "set -e\n".to_owned();
        // The first cpu has no such file. Cpus already in the right state are left alone.
        for cpu in self.machine.present_cpus().iter().filter(|cpu| **cpu > 0) {
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

    /// Returns the next line, without its end.
    fn read_line(&mut self, patience: &mut StepPatience, during: &str) -> Result<String, RigError> {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            self.receive_bytes(patience, during)?;
        }
    }

    /// Receives more bytes, which reset the patience.
    fn receive_bytes(&mut self, patience: &mut StepPatience, during: &str) -> Result<(), RigError> {
        loop {
            let (begun, waited) = (Instant::now(), self.time_without_cpu());
            match self.answers.recv_timeout(WAIT_SLICE) {
                Ok(bytes) => {
                    patience.spent = Duration::ZERO;
                    self.received.extend(bytes);
                    return Ok(());
                }
                Err(RecvTimeoutError::Timeout) => {
                    patience.spend_time(begun.elapsed(), self.time_without_cpu().saturating_sub(waited));
                    if patience.is_at_end() {
                        return Err(self.silent_or_gone(patience.limit, during));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.silent_or_gone(patience.limit, during)),
            }
        }
    }

    /// Returns the time for which the emulator's busiest thread was runnable without a cpu of the host, or zero if the host does not report
    /// it.
    fn time_without_cpu(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.emulator.id())).into_iter().flatten().flatten();
        let waited = |task: fs::DirEntry| {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
        };
        tasks.filter_map(waited).max().unwrap_or_default()
    }

    fn silent_or_gone(&mut self, limit: Duration, during: &str) -> RigError {
        let during = during.to_owned();
        // An emulator with closed output is ending; wait for its status.
        let ended = (0..50).find_map(|_| {
            let status = self.emulator.try_wait().ok().flatten();
            if status.is_none() {
                std::thread::sleep(Duration::from_millis(20));
            }
            status
        });
        match ended {
            Some(status) => RigError::Gone { status, during, console: self.last_words() },
            None => RigError::Silent { seconds: limit.as_secs(), during, console: self.console_tail() },
        }
    }

    /// Returns the console's end, and the emulator's own messages.
    fn last_words(&self) -> String {
        let warnings = fs::read_to_string(self.folder.path().join("warnings")).unwrap_or_default();
        let warnings = warnings.lines().filter(|line| !line.contains("warning: TCG doesn't support"));
        [self.console_tail()].into_iter().chain(warnings.map(str::to_owned)).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for RigGuest {
    fn drop(&mut self) {
        // It has no state to save besides its memory.
        let _ = self.emulator.kill();
        let _ = self.emulator.wait();
    }
}

/// Time that may pass without a sign of life.
struct StepPatience {
    limit: Duration,
    spent: Duration,
}

impl StepPatience {
    fn new(limit: Duration) -> Self {
        Self { limit, spent: Duration::ZERO }
    }

    /// Counts time that passed, less the part in which the host had no cpu.
    fn spend_time(&mut self, passed: Duration, without_cpu: Duration) {
        self.spent += passed.saturating_sub(without_cpu);
    }

    fn is_at_end(&self) -> bool {
        self.spent >= self.limit
    }
}

/// Reads in a thread of its own, since a pipe cannot be read with a time limit.
fn pump_output(mut output: ChildStdout) -> Receiver<Vec<u8>> {
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

/// Takes the whole answer to a step from the received bytes, with all bytes before it, which belong to answers to earlier steps. `None`
/// until it is complete.
///
/// # Errors
///
/// The malformed line, or the bytes after the answer.
fn take_answer(received: &mut Vec<u8>, step: &str) -> Result<Option<StepOutcome>, String> {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let begin = format!("\nrig {step} ").into_bytes();
    let Some(start) = received.windows(begin.len()).position(|window| window == begin) else { return Ok(None) };
    let numbers_start = start + begin.len();
    let Some(length) = received[numbers_start..].iter().position(|byte| *byte == b'\n') else { return Ok(None) };
    let line = shown(&received[numbers_start..numbers_start + length]);
    let Some([code, out_bytes, err_bytes]) = parse_numbers(&line) else { return Err(line) };
    let out_start = numbers_start + length + 1;
    let err_start = out_start + out_bytes;
    let err_end = err_start + err_bytes;
    let end = format!("\nend {step}\n").into_bytes();
    let Some(last) = received.get(err_end..err_end + end.len()) else { return Ok(None) };
    if last != end {
        return Err(shown(last));
    }
    let outcome = StepOutcome {
        code: code as i32,
        stdout: received[out_start..err_start].to_vec(),
        stderr: shown(&received[err_start..err_end]),
    };
    received.drain(..err_end + end.len());
    Ok(Some(outcome))
}

/// Parses the numbers of an answer, "0 12 0".
fn parse_numbers(line: &str) -> Option<[usize; 3]> {
    let numbers: Option<Vec<usize>> = line.trim_end().split(' ').map(|word| word.parse().ok()).collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_when_it_is_complete_and_not_before() {
        let whole = b"\nrig 7-2 127 12 5\n{\n \"a\": 1 }\noh no\nend 7-2\n".to_vec();
        let outcome = StepOutcome { code: 127, stdout: b"{\n \"a\": 1 }\n".to_vec(), stderr: "oh no".to_owned() };
        for length in 0..whole.len() {
            let mut received = whole[..length].to_vec();
            assert_eq!(take_answer(&mut received, "7-2"), Ok(None), "{length}");
            received.extend(&whole[length..]);
            assert_eq!(take_answer(&mut received, "7-2"), Ok(Some(outcome.clone())), "{length}");
            assert!(received.is_empty());
        }
    }

    #[test]
    fn what_other_programs_and_earlier_steps_wrote_is_no_answer() {
        let mut received = b"{\nrig 0 2 0\nrig 7-1 0 2 0\nok\nend 7-1\n\nrig 7-2 3 0 0\n\nend 7-2\nrest".to_vec();
        assert_eq!(take_answer(&mut received, "7-3"), Ok(None));
        let outcome = take_answer(&mut received, "7-2").unwrap().unwrap();
        assert_eq!((outcome.code, outcome.stdout.len(), received.as_slice()), (3, 0, &b"rest"[..]));
    }

    #[test]
    fn an_answer_of_other_sizes_than_it_says_is_garbled() {
        for answer in ["\nrig 7 0 1 0\nok\nend 7\n", "\nrig 7 0 a 0\n", "\nrig 7 0 1\n", "\nrig 7 0 1 2 3\n"] {
            assert!(take_answer(&mut answer.as_bytes().to_vec(), "7").is_err(), "{answer}");
        }
    }

    #[test]
    fn time_without_a_cpu_does_not_count() {
        let second = Duration::from_secs(1);
        let mut patience = StepPatience::new(3 * second);
        patience.spend_time(100 * second, 98 * second);
        patience.spend_time(second, 2 * second);
        assert!(!patience.is_at_end());
        patience.spend_time(second, Duration::ZERO);
        assert!(patience.is_at_end());
    }

    /// A shell plays the emulator: half of an answer comes before the machine counts as hung, and the rest before the next one.
    #[test]
    fn an_answer_that_comes_too_late_is_not_taken_for_the_next_one() {
        let script = r#"echo "rig ready"
            answer() { printf '\nrig %s 0 %s 0\n%s\nend %s\n' "$1" "${#2}" "$2" "$1"; }
            read number script; answer "$number" ""
            read late script; printf '\nrig %s 0 15 0\n{\n' "$late"
            read next script; printf '"late": true}\nend %s\n' "$late"; answer "$next" whole
            read end"#;
        let mut emulator = Command::new("sh");
        emulator.args(["-c", script]);
        let machine = crate::find_machine("fx-8150").unwrap();
        let mut guest = RigGuest::boot_guest(machine, emulator, tempfile::tempdir().unwrap()).unwrap();
        guest.step_limit = Duration::ZERO;
        assert!(matches!(guest.run("first"), Err(RigError::Silent { .. })));
        guest.step_limit = STEP_LIMIT;
        assert_eq!(guest.run("second").unwrap().stdout_text(), "whole");
    }
}
