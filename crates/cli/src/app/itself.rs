//! Command lines of corewise that corewise runs, as a user would: in a process of its own, with the options that all commands have.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use anstream::ColorChoice;
use corewise_sys::signals::Held;
use corewise_sys::spawn;
use serde_json::Value;

use super::child::supervise::{End, Look, Supervisor, UNWATCHED, came_early};
use super::failure::{Exit, Failure};
use super::settings::{History, Settings};

/// The widths that can be asked for.
const WIDTHS: std::ops::RangeInclusive<usize> = 20..=1000;

/// Runs one after another.
pub struct Itself<'a> {
    held: Held,
    is_interrupted: Cell<bool>,
    settings: &'a Settings,
}

/// Takes note that no other is to follow the one that runs.
struct Told<'a>(&'a Cell<bool>);

impl Look for Told<'_> {
    fn look(&mut self) -> Duration {
        UNWATCHED
    }

    fn told_to_end(&mut self) {
        self.0.set(true);
    }
}

impl<'a> Itself<'a> {
    /// From now on signals go to the command that runs.
    ///
    /// # Errors
    /// Where signals cannot be held.
    pub fn new(settings: &'a Settings) -> Result<Self, Failure> {
        let held = Held::new().map_err(|error| Failure::new(Exit::Internal, error))?;
        Ok(Self { held, is_interrupted: Cell::default(), settings })
    }

    /// Whether a signal came that ends who does nothing about it.
    pub fn is_interrupted(&self) -> bool {
        self.is_interrupted.get() || {
            self.is_interrupted.set(came_early(&self.held).is_some());
            self.is_interrupted.get()
        }
    }

    /// Runs a command line, of which the first word is the command: its exit status, and its document where that is wanted.
    ///
    /// # Errors
    /// Where no process can be started.
    pub fn run(
        &self,
        words: &[String],
        environment: &BTreeMap<String, String>,
    ) -> Result<(Option<i32>, Value), Failure> {
        let internal = |error| Failure::new(Exit::Internal, error);
        let (mut reader, writer) = io::pipe().map_err(internal)?;
        let mut command = self.command(words)?;
        command.envs(environment);
        if self.settings.json {
            command.stdout(writer);
        }
        let child = spawn::start(&mut command, &self.held).map_err(internal)?;
        // Its end of the pipe is the child's alone.
        drop(command);
        std::thread::scope(|scope| {
            let document = scope.spawn(|| {
                let mut text = String::new();
                // What cannot be read is no document.
                let _ = if self.settings.json { reader.read_to_string(&mut text) } else { Ok(0) };
                serde_json::from_str(&text).unwrap_or(Value::Null)
            });
            let end = Supervisor { held: &self.held, child }.wait(Some(&mut Told(&self.is_interrupted)));
            let status = if let End::Exited(status) = end { Some(status) } else { None };
            Ok((status, document.join().unwrap_or(Value::Null)))
        })
    }

    fn command(&self, words: &[String]) -> Result<Command, Failure> {
        let program = std::env::current_exe().map_err(|error| Failure::new(Exit::Internal, error))?;
        let mut command = Command::new(&program);
        command.args(words.first()).args(self.common()).args(words.iter().skip(1));
        // So that the programs that it tries find this one as `corewise`, wherever it lies.
        let folders = program.parent().map(OsString::from).into_iter();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = folders.map(Into::into).chain(std::env::split_paths(&path).collect::<Vec<_>>());
        if let Ok(joined) = std::env::join_paths(folders) {
            command.env("PATH", joined);
        }
        command.stdin(Stdio::null());
        Ok(command)
    }

    /// The options that every command shares with this one.
    fn common(&self) -> Vec<OsString> {
        let width = self.settings.width.clamp(*WIDTHS.start(), *WIDTHS.end());
        let mut words: Vec<OsString> = vec!["--width".into(), width.to_string().into()];
        // "auto" is what it does by itself.
        match self.settings.color {
            ColorChoice::Always | ColorChoice::AlwaysAnsi => words.extend(["--color".into(), "always".into()]),
            ColorChoice::Never => words.extend(["--color".into(), "never".into()]),
            ColorChoice::Auto => {}
        }
        match &self.settings.history {
            History::At(path) => words.extend(["--store".into(), path.into()]),
            History::Off => words.push("--no-store".into()),
            History::Homeless => {}
        }
        if self.settings.json {
            words.push("--json".into());
        }
        words
    }
}
