//! State of a running `keep run` for other commands: a file in the folder of journals, and signals.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use corewise_keep::{KeepStatus, ReleaseRequest};
use corewise_machine::suggested_command;
use corewise_model::keep::KeptProcess;
use corewise_sys::input::{InputFile, InputKind};
use corewise_sys::process::ProcessIdentity;
use corewise_sys::{input, output, signals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::failure::CommandFailure;
use crate::app::settings::ProgramSettings;
use crate::draw::suggestion;

const STATE: &str = "keep.json";
/// File of requests about processes; a number and a word per line.
const WISHES: &str = "keep.wishes";

/// State of a running `keep run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeeperState<'a> {
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
    pub status: KeepStatus<'a>,
}

impl KeeperState<'static> {
    /// Reads the state of the `keep run` that runs with this folder of journals; `None` if none runs.
    pub fn read_state(settings: &ProgramSettings) -> Option<Self> {
        Self::read_from_folder(settings.journals.as_ref()?).filter(|state| state.process_identity().is_alive())
    }

    fn read_from_folder(folder: &Path) -> Option<Self> {
        let state = InputFile::open(&folder.join(STATE), InputKind::KeeperState).ok()?;
        // The writer of the state chooses the process that gets a signal.
        if state.origin().writers().is_some() { None } else { input::read_json(state).ok() }
    }

    /// Returns the living processes that the previous `keep run` left alone.
    pub fn read_left_alone(folder: &Path, boot: &str) -> BTreeMap<u32, KeptProcess> {
        let state = Self::read_from_folder(folder).filter(|state| state.boot == boot);
        let is_it = |(id, held): &(u32, KeptProcess)| {
            held.is_left_alone() && ProcessIdentity { id: *id, start_ticks: held.start_ticks }.is_alive()
        };
        state.into_iter().flat_map(|state| state.status.processes.into_owned()).filter(is_it).collect()
    }

    /// Writes what the next `keep run` needs: the processes to leave alone. Without any, it removes the file.
    pub fn write_end(mut self, folder: &Path, left_alone: BTreeMap<u32, KeptProcess>) {
        if left_alone.is_empty() {
            let _ = input::remove_stale(&folder.join(STATE));
        } else {
            self.status = KeepStatus { processes: Cow::Owned(left_alone), ..KeepStatus::default() };
            let _ = self.write_state(folder);
        }
    }
}

impl KeeperState<'_> {
    /// Writes it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_state(&self, folder: &Path) -> std::io::Result<()> {
        output::replace_file(&folder.join(STATE), &serde_json::to_vec(self)?)
    }

    fn process_identity(&self) -> ProcessIdentity {
        ProcessIdentity { id: self.process, start_ticks: self.start_ticks }
    }

    /// Makes it read its files again.
    pub fn request_reload(&self) {
        signals::send_to(&self.process_identity(), signals::RELOAD);
    }
}

/// Makes a running `keep run` read the rules again. Returns true if one runs.
pub fn reload_running(settings: &ProgramSettings) -> bool {
    let state = KeeperState::read_state(settings);
    state.iter().for_each(KeeperState::request_reload);
    state.is_some()
}

/// Returns the running `keep run`.
///
/// # Errors
/// If none runs.
pub fn find_running(settings: &ProgramSettings) -> Result<KeeperState<'static>, CommandFailure> {
    KeeperState::read_state(settings).ok_or_else(|| {
        let run = suggestion::format_mention(&suggested_command::keep_run());
        CommandFailure::unavailable_error(format!("no {run} of this user runs"))
            .with_hint(format!("Start it with {run}."))
    })
}

/// Sends the running `keep run` a request about a process.
///
/// # Errors
/// If none runs, or if the request cannot be written.
pub fn ask_running(process: u32, request: ReleaseRequest, settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let state = find_running(settings)?;
    let file = requests_folder(settings.journal_folder()?);
    let before = input::read_text(&file, InputKind::KeeperWishes).unwrap_or_default();
    let text = format!("{before}{process} {}\n", request_word(request));
    output::replace_file(&file, text.as_bytes())
        .map_err(|error| CommandFailure::unavailable_error(format!("cannot write {}: {error}", file.display())))?;
    state.request_reload();
    Ok(())
}

/// Takes the requests about processes and removes their file.
pub fn take_requests(folder: &Path) -> Vec<(u32, ReleaseRequest)> {
    let file = requests_folder(folder);
    let text = input::read_text(&file, InputKind::KeeperWishes).unwrap_or_default();
    let _ = input::remove_stale(&file);
    let request = |line: &str| {
        let (process, asked) = line.split_once(' ')?;
        let request = [ReleaseRequest::Release, ReleaseRequest::Hold]
            .into_iter()
            .find(|request| request_word(*request) == asked)?;
        Some((process.parse().ok()?, request))
    };
    text.lines().filter_map(request).collect()
}

const fn request_word(request: ReleaseRequest) -> &'static str {
    match request {
        ReleaseRequest::Release => "release",
        ReleaseRequest::Hold => "hold",
    }
}

fn requests_folder(folder: &Path) -> PathBuf {
    folder.join(WISHES)
}
