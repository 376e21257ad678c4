//! What a running `keep run` says of itself to the other commands: a file in the folder of journals, and signals.

use std::path::{Path, PathBuf};

use corewise_keep::Status;
use corewise_sys::input::{Input, SETTINGS_BYTES};
use corewise_sys::process::Process;
use corewise_sys::{input, output, signals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shell::failure::Failure;
use crate::shell::settings::Settings;

const STATE: &str = "keep.json";
/// Processes that are to be left alone, a number a line.
const RELEASED: &str = "keep.released";
/// So large a state is read.
const STATE_BYTES: u64 = 64 << 20;

/// A running `keep run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct State {
    /// Its process.
    pub process: u32,
    /// When that started, in clock ticks since the boot.
    pub start_ticks: u64,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: i64,
    /// Whether it keeps the system's rules.
    pub of_system: bool,
    /// How it stands.
    pub status: Status,
}

impl State {
    /// That of the `keep run` that runs with this folder of journals; nothing where none does.
    pub fn read(settings: &Settings) -> Option<Self> {
        let file = settings.journals.as_ref()?.join(STATE);
        let state: Self = input::json(Input::open(&file, STATE_BYTES).ok()?).ok()?;
        state.identity().is_alive().then_some(state)
    }

    /// Writes it.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        output::replace(&folder.join(STATE), &serde_json::to_vec(self)?)
    }

    /// Removes the file at the end.
    pub fn remove(folder: &Path) {
        let _ = input::remove(&folder.join(STATE));
    }

    fn identity(&self) -> Process {
        Process { id: self.process, start_ticks: self.start_ticks }
    }

    /// Lets it read its files again.
    pub fn reload(&self) {
        signals::send_to(&self.identity(), signals::RELOAD);
    }
}

/// Lets the running `keep run` read the rules again, where one runs; whether one does.
pub fn reload(settings: &Settings) -> bool {
    let state = State::read(settings);
    state.iter().for_each(State::reload);
    state.is_some()
}

/// The running `keep run`.
///
/// # Errors
/// Where none runs.
pub fn running(settings: &Settings) -> Result<State, Failure> {
    State::read(settings).ok_or_else(|| {
        Failure::unavailable("no `corewise keep run` of this user runs").next("Start it with `corewise keep run`.")
    })
}

/// Asks the running `keep run` to leave a process alone.
///
/// # Errors
/// Where none runs, or that is not known.
pub fn release(process: u32, settings: &Settings) -> Result<State, Failure> {
    let state = running(settings)?;
    let file = released_in(settings.journal_folder()?);
    let before = input::settings(&file).unwrap_or_default();
    let text = format!("{before}{process}\n");
    output::replace(&file, text.as_bytes())
        .map_err(|error| Failure::unavailable(format!("cannot write {}: {error}", file.display())))?;
    state.reload();
    Ok(state)
}

/// The processes that are to be left alone; asked once.
pub fn take_released(folder: &Path) -> Vec<u32> {
    let file = released_in(folder);
    let text = Input::open(&file, SETTINGS_BYTES).and_then(Input::text).unwrap_or_default();
    let _ = input::remove(&file);
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn released_in(folder: &Path) -> PathBuf {
    folder.join(RELEASED)
}
