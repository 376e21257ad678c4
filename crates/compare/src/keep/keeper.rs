//! A keeper of placements, as a process: corewise, or a poller.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use corewise_sys::signals;
use corewise_sys::task;

use super::{ACTOR, ComparisonStage};

/// Kind of keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeeperKind {
    Corewise,
    /// Another build of corewise.
    Other,
    /// The minimal listener to kernel events: the machine's part of corewise's times.
    Listener,
    /// A poller with this interval in milliseconds.
    Poller(u32),
}

impl KeeperKind {
    /// Returns true if it polls instead of listening to events.
    pub const fn is_poller(self) -> bool {
        matches!(self, Self::Poller(_))
    }

    pub fn keeper_name(self) -> String {
        match self {
            Self::Corewise => "corewise keep run".to_owned(),
            Self::Other => "the other build".to_owned(),
            Self::Listener => "bare listener".to_owned(),
            Self::Poller(interval_ms) => format!("poller, {:.1} s", f64::from(interval_ms) / 1e3),
        }
    }
}

/// A running keeper.
pub struct RunningKeeper(pub Child);

impl RunningKeeper {
    /// Starts it, and waits until it has begun.
    pub fn start_keeper(kind: KeeperKind, stage: &ComparisonStage) -> Result<Self> {
        let mut command = match kind {
            KeeperKind::Corewise => stage.corewise_keep(&["run"]),
            KeeperKind::Other => stage.keep_by_other(&["run"])?,
            KeeperKind::Listener => {
                let mut command = Command::new(std::env::current_exe()?);
                command.args([ACTOR, "listen"]).arg(stage.file_path("")).arg(stage.one.to_string());
                command
            }
            KeeperKind::Poller(interval_ms) => {
                let mut command = Command::new(std::env::current_exe()?);
                command
                    .args([ACTOR, "poll"])
                    .arg(stage.file_path(""))
                    .args([stage.one.to_string(), interval_ms.to_string()]);
                command
            }
        };
        match kind {
            KeeperKind::Corewise | KeeperKind::Other => command.stderr(Stdio::piped()).stdout(Stdio::null()),
            KeeperKind::Listener | KeeperKind::Poller(_) => command.stdout(Stdio::piped()),
        };
        let mut child = command.stdin(Stdio::null()).spawn()?;
        let mut line = String::new();
        match kind {
            KeeperKind::Corewise | KeeperKind::Other => {
                let mut log = BufReader::new(child.stderr.take().context("it has no log")?);
                while !line.contains("processes are seen") {
                    ensure!(log.read_line(&mut line)? > 0, "it ended: {line}");
                }
                // The rest is discarded, so that the pipe does not block it.
                std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
            }
            KeeperKind::Listener | KeeperKind::Poller(_) => {
                BufReader::new(child.stdout.take().context("it has no output")?).read_line(&mut line)?;
            }
        }
        Ok(Self(child))
    }

    /// Returns the processor time of all its threads, from the scheduler's accounts (schedstat), in nanoseconds.
    pub fn cpu_time(&self) -> Duration {
        let of = |thread: u32| -> Option<u64> {
            let text = std::fs::read_to_string(format!("/proc/{}/task/{thread}/schedstat", self.0.id())).ok()?;
            text.split(' ').next()?.parse().ok()
        };
        Duration::from_nanos(task::thread_numbers(self.0.id()).into_iter().filter_map(of).sum())
    }

    /// Returns its peak resident memory and its private memory, in bytes.
    pub fn memory_bytes(&self) -> Result<(u64, u64)> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let of = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1_024)
        };
        of("VmHWM:").zip(of("RssAnon:")).context("its status has no memory")
    }

    /// Ends it by SIGTERM.
    pub fn stop_keeper(mut self) -> Result<()> {
        signals::send_signal(self.0.id(), signals::TERMINATE);
        self.0.wait()?;
        Ok(())
    }

    /// Kills it.
    pub fn kill_keeper(mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for RunningKeeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Processes with some sleeping threads.
pub struct SleeperCrowd(pub Vec<Child>);

impl SleeperCrowd {
    /// Starts a process with `threads` sleeping threads, and waits until they are there.
    pub fn add_sleeper(&mut self, stage: &ComparisonStage, program: &str, threads: usize) -> Result<u32> {
        let mut command = Command::new(stage.file_path(program));
        command.args([ACTOR, "sleep", &threads.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut ready = [0; 6];
        child.stdout.as_mut().context("it has no output")?.read_exact(&mut ready)?;
        let number = child.id();
        self.0.push(child);
        Ok(number)
    }

    /// Ends the first of them.
    pub fn end_one(&mut self) -> Result<()> {
        if !self.0.is_empty() {
            let mut child = self.0.remove(0);
            let killed = child.kill();
            child.wait()?;
            killed?;
        }
        Ok(())
    }
}

impl Drop for SleeperCrowd {
    fn drop(&mut self) {
        while !self.0.is_empty() && self.end_one().is_ok() {}
    }
}
