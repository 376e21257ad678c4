//! State of a running `keep run` for other commands: a file in the folder of journals, and signals.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use corewise_keep::{ReleaseRequest, Status};
use corewise_machine::suggested_command;
use corewise_model::keep::Held;
use corewise_sys::input::{Input, InputKind};
use corewise_sys::process::Process;
use corewise_sys::{input, output, signals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::failure::Failure;
use crate::app::settings::Settings;
use crate::draw::suggestion;

const STATE: &str = "keep.json";
/// File of requests about processes; a number and a word per line.
const WISHES: &str = "keep.wishes";

/// State of a running `keep run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct State<'a> {
    /// Process number.
    pub process: u32,
    /// Start of the process, in clock ticks since boot.
    pub start_ticks: u64,
    /// Start of keeping, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: i64,
    /// The kernel's boot id.
    pub boot: String,
    /// Whether it keeps the system's rules.
    pub of_system: bool,
    /// Current status of the rules and processes.
    pub status: Status<'a>,
}

impl State<'static> {
    /// Reads the state of the `keep run` that runs with this folder of journals; `None` if none runs.
    pub fn read(settings: &Settings) -> Option<Self> {
        Self::in_folder(settings.journals.as_ref()?).filter(|state| state.identity().is_alive())
    }

    fn in_folder(folder: &Path) -> Option<Self> {
        let state = Input::open(&folder.join(STATE), InputKind::KeeperState).ok()?;
        // The writer of the state chooses the process that gets a signal.
        if state.origin().writers().is_some() { None } else { input::json(state).ok() }
    }

    /// Returns the living processes that the previous `keep run` left alone.
    pub fn left_alone(folder: &Path, boot: &str) -> BTreeMap<u32, Held> {
        let state = Self::in_folder(folder).filter(|state| state.boot == boot);
        let is_it = |(id, held): &(u32, Held)| {
            held.is_left_alone() && Process { id: *id, start_ticks: held.start_ticks }.is_alive()
        };
        state.into_iter().flat_map(|state| state.status.processes.into_owned()).filter(is_it).collect()
    }

    /// Writes what the next `keep run` needs: the processes to leave alone. Without any, it removes the file.
    pub fn end(mut self, folder: &Path, left_alone: BTreeMap<u32, Held>) {
        if left_alone.is_empty() {
            let _ = input::remove(&folder.join(STATE));
        } else {
            self.status = Status { processes: Cow::Owned(left_alone), ..Status::default() };
            let _ = self.write(folder);
        }
    }
}

impl State<'_> {
    /// Writes it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        output::replace(&folder.join(STATE), &serde_json::to_vec(self)?)
    }

    fn identity(&self) -> Process {
        Process { id: self.process, start_ticks: self.start_ticks }
    }

    /// Makes it read its files again.
    pub fn reload(&self) {
        signals::send_to(&self.identity(), signals::RELOAD);
    }
}

/// Makes a running `keep run` read the rules again. Returns true if one runs.
pub fn reload(settings: &Settings) -> bool {
    let state = State::read(settings);
    state.iter().for_each(State::reload);
    state.is_some()
}

/// Returns the running `keep run`.
///
/// # Errors
/// If none runs.
pub fn running(settings: &Settings) -> Result<State<'static>, Failure> {
    State::read(settings).ok_or_else(|| {
        let run = suggestion::mention(&suggested_command::keep_run());
        Failure::unavailable(format!("no {run} of this user runs")).next(format!("Start it with {run}."))
    })
}

/// Sends the running `keep run` a request about a process.
///
/// # Errors
/// If none runs, or if the request cannot be written.
pub fn ask(process: u32, request: ReleaseRequest, settings: &Settings) -> Result<(), Failure> {
    let state = running(settings)?;
    let file = wishes_in(settings.journal_folder()?);
    let before = input::read_text(&file, InputKind::KeeperWishes).unwrap_or_default();
    let text = format!("{before}{process} {}\n", word(request));
    output::replace(&file, text.as_bytes())
        .map_err(|error| Failure::unavailable(format!("cannot write {}: {error}", file.display())))?;
    state.reload();
    Ok(())
}

/// Takes the requests about processes and removes their file.
pub fn take_requests(folder: &Path) -> Vec<(u32, ReleaseRequest)> {
    let file = wishes_in(folder);
    let text = input::read_text(&file, InputKind::KeeperWishes).unwrap_or_default();
    let _ = input::remove(&file);
    let request = |line: &str| {
        let (process, asked) = line.split_once(' ')?;
        let request =
            [ReleaseRequest::Release, ReleaseRequest::Hold].into_iter().find(|request| word(*request) == asked)?;
        Some((process.parse().ok()?, request))
    };
    text.lines().filter_map(request).collect()
}

const fn word(request: ReleaseRequest) -> &'static str {
    match request {
        ReleaseRequest::Release => "release",
        ReleaseRequest::Hold => "hold",
    }
}

fn wishes_in(folder: &Path) -> PathBuf {
    folder.join(WISHES)
}
