//! Runs command lines of corewise in a process of their own, with the common options of this one.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anstream::ColorChoice;
use corewise_sys::input::{self, InputKind, JSON_BYTES};
use corewise_sys::signals::HeldSignals;
use corewise_sys::spawn;
use serde_json::Value;

use super::child::supervisor::{CommandEnd, CommandObserver, CommandSupervisor, UNWATCHED, take_early_signals};
use super::failure::{CommandExit, CommandFailure};
use super::settings::{HistoryPlace, ProgramSettings};

/// Widths that `--width` accepts.
const WIDTHS: std::ops::RangeInclusive<usize> = 20..=1000;

/// Runs commands of corewise one after another.
pub struct SelfCommand<'a> {
    held: HeldSignals,
    is_interrupted: Cell<bool>,
    settings: &'a ProgramSettings,
}

/// Records that a signal to end came, so that no further command is started.
struct InterruptionObserver<'a>(&'a Cell<bool>);

impl CommandObserver for InterruptionObserver<'_> {
    fn look_once(&mut self) -> Duration {
        UNWATCHED
    }

    fn note_end_request(&mut self) {
        self.0.set(true);
    }
}

impl<'a> SelfCommand<'a> {
    /// Begins to hold signals, which then go to the running command.
    ///
    /// # Errors
    /// If signals cannot be held.
    pub fn new(settings: &'a ProgramSettings) -> Result<Self, CommandFailure> {
        let held = HeldSignals::new().map_err(|error| CommandFailure::new(CommandExit::Internal, error))?;
        Ok(Self { held, is_interrupted: Cell::default(), settings })
    }

    /// Returns true if a signal came that ends a process by default.
    pub fn is_interrupted(&self) -> bool {
        self.is_interrupted.get() || {
            self.is_interrupted.set(take_early_signals(&self.held).is_some());
            self.is_interrupted.get()
        }
    }

    /// Runs a command line; its first word is the command. Returns its exit status, and the document of its result;
    /// null without one.
    ///
    /// # Errors
    /// If no process can be started.
    pub fn run(
        &self,
        words: &[String],
        environment: &BTreeMap<String, String>,
    ) -> Result<(Option<i32>, Value), CommandFailure> {
        let internal = |error| CommandFailure::new(CommandExit::Internal, error);
        let (reader, writer) = io::pipe().map_err(internal)?;
        let folder = tempfile::Builder::new().prefix("corewise-step-").tempdir().map_err(internal)?;
        let copy = folder.path().join("document.json");
        let mut command = self.build_command(words, &copy)?;
        command.envs(environment);
        if self.settings.json {
            command.stdout(writer);
        }
        let child = spawn::start_command(&mut command, &self.held).map_err(internal)?;
        // Closes our copy of the pipe's end; only the child has it now.
        drop(command);
        std::thread::scope(|scope| {
            let document = scope.spawn(|| {
                let mut text = String::new();
                // Unreadable output counts as no document.
                let _ = if self.settings.json { reader.take(JSON_BYTES).read_to_string(&mut text) } else { Ok(0) };
                serde_json::from_str(&text).unwrap_or(Value::Null)
            });
            let end = CommandSupervisor { held: &self.held, child }
                .wait_for_end(Some(&mut InterruptionObserver(&self.is_interrupted)));
            let status = if let CommandEnd::Exited(status) = end { Some(status) } else { None };
            let printed = document.join().unwrap_or(Value::Null);
            Ok((status, if self.settings.json { printed } else { read_copy(&copy) }))
        })
    }

    fn build_command(&self, words: &[String], copy: &Path) -> Result<Command, CommandFailure> {
        let program = std::env::current_exe().map_err(|error| CommandFailure::new(CommandExit::Internal, error))?;
        let mut command = Command::new(&program);
        command.args(words.first()).args(self.common_options());
        if !self.settings.json {
            command.arg("--document-copy").arg(copy);
        }
        command.args(words.iter().skip(1));
        // Lets the tried programs find this corewise, wherever it lies.
        let folders = program.parent().map(OsString::from).into_iter();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = folders.map(Into::into).chain(std::env::split_paths(&path).collect::<Vec<_>>());
        if let Ok(joined) = std::env::join_paths(folders) {
            command.env("PATH", joined);
        }
        command.stdin(Stdio::null());
        Ok(command)
    }

    /// Options that every command shares with this one.
    fn common_options(&self) -> Vec<OsString> {
        let width = self.settings.width.clamp(*WIDTHS.start(), *WIDTHS.end());
        let mut words: Vec<OsString> = vec!["--width".into(), width.to_string().into()];
        // "auto" is the default.
        match self.settings.color {
            ColorChoice::Always | ColorChoice::AlwaysAnsi => words.extend(["--color".into(), "always".into()]),
            ColorChoice::Never => words.extend(["--color".into(), "never".into()]),
            ColorChoice::Auto => {}
        }
        match &self.settings.history {
            HistoryPlace::At(path) => words.extend(["--store".into(), path.into()]),
            HistoryPlace::Off => words.push("--no-store".into()),
            HistoryPlace::Homeless => {}
        }
        if self.settings.json {
            words.push("--json".into());
        }
        words
    }
}

/// Returns the document that a command wrote to its copy; null if it wrote none.
fn read_copy(copy: &Path) -> Value {
    let text = input::read_text(copy, InputKind::StepDocument);
    text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null)
}
