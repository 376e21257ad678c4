//! State of a running `keep run` for other commands: a file in the folder of journals, and signals.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use corewise_keep::{KeepStatus, ReleaseRequest, RuleFiles};
use corewise_machine::suggested_command;
use corewise_model::keep::KeptProcess;
use corewise_sys::input::{InputFile, InputKind};
use corewise_sys::process::{self, ProcessIdentity};
use corewise_sys::{files, input, output, signals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::failure::CommandFailure;
use crate::app::keeper_process::{self, RunningKeeper};
use crate::app::settings::ProgramSettings;
use crate::draw::suggestion;

/// Beginning and end of the name of the state's file; between them stands the boot, since machines may share the folder.
const STATE: [&str; 2] = ["keep-", ".json"];
/// Begin of the names of files that are requests: an empty file for each, so that none is lost when many are made at the same time.
const REQUEST: &str = "keep.request";

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
    /// Path of its file of rules, or of their folder.
    #[serde(default)]
    pub rules: String,
    /// Current status of the rules and processes.
    pub status: KeepStatus<'a>,
}

impl KeeperState<'static> {
    /// Reads the state of the `keep run` that runs with this folder of journals; `None` if none runs.
    pub fn read_state(settings: &ProgramSettings) -> Option<Self> {
        Self::read_from_folder(settings.journals.as_ref()?).filter(Self::is_of_running_keeper)
    }

    fn read_from_folder(folder: &Path) -> Option<Self> {
        let state = InputFile::open(&state_file(folder, &process::boot_id().ok()?), InputKind::KeeperState).ok()?;
        // The writer of the state chooses the process that gets a signal.
        if state.origin().writers().is_some() { None } else { input::read_json(state).ok() }
    }

    /// Finds the state that a keeper writes, to show it: with this user's journals, the system's, or in the home of the keeper's user. `None`
    /// if it is elsewhere, or this user may not read it.
    pub fn read_to_show(keeper: &RunningKeeper, settings: &ProgramSettings) -> Option<Self> {
        let of_user = files::home_of_user(keeper.user).map(|home| home.join(".local/state/corewise"));
        let folders = [settings.journals.clone(), Some(ProgramSettings::system_runtime().to_owned()), of_user];
        let boot = process::boot_id().ok()?;
        let is_its = |state: &Self| state.process_identity() == keeper.process && state.boot == boot;
        let read = |folder: PathBuf| {
            input::read_json::<Self>(InputFile::open(&state_file(&folder, &boot), InputKind::KeeperState).ok()?).ok()
        };
        folders.into_iter().flatten().filter_map(read).find(is_its)
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
            let _ = input::remove_stale(&state_file(folder, &self.boot));
        } else {
            self.status = KeepStatus { processes: Cow::Owned(left_alone), ..KeepStatus::default() };
            let _ = self.write_state(folder);
        }
    }
}

impl KeeperState<'_> {
    /// Writes it. Every user may read that of the system, as /proc shows what it names; a user's own lies in a folder of that user's alone.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_state(&self, folder: &Path) -> std::io::Result<()> {
        let (place, bytes) =
            (output::OutputPlace::reach_place(&state_file(folder, &self.boot))?, serde_json::to_vec(self)?);
        if self.of_system { place.replace_readable_file(&bytes) } else { place.replace_file(&bytes) }
    }

    /// Returns the process that wrote it.
    pub fn process_identity(&self) -> ProcessIdentity {
        ProcessIdentity { id: self.process, start_ticks: self.start_ticks }
    }

    /// Returns true if the process that wrote it runs, and is a `keep run` of this boot.
    fn is_of_running_keeper(&self) -> bool {
        process::boot_id().is_ok_and(|boot| boot == self.boot) && keeper_process::is_keeper(self.process_identity())
    }

    /// Returns true if it keeps these rules in force.
    pub fn keeps_rules(&self, rules: &RuleFiles) -> bool {
        self.of_system == rules.of_system && self.rules == rules_path(rules)
    }

    /// Makes it read its files again.
    pub fn request_reload(&self) {
        signals::send_to(&self.process_identity(), signals::RELOAD);
    }
}

fn state_file(folder: &Path, boot: &str) -> PathBuf {
    folder.join(format!("{}{boot}{}", STATE[0], STATE[1]))
}

/// Returns the path of rules, the same in every folder in which it is asked for.
pub fn rules_path(rules: &RuleFiles) -> String {
    let absolute = || std::path::absolute(&rules.place).unwrap_or_else(|_| rules.place.clone());
    rules.place.canonicalize().unwrap_or_else(|_| absolute()).to_string_lossy().into_owned()
}

/// Makes a running `keep run` of these rules read them again. Returns true if one runs.
pub fn reload_running(rules: &RuleFiles, settings: &ProgramSettings) -> bool {
    let state = KeeperState::read_state(settings).filter(|state| state.keeps_rules(rules));
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
pub fn ask_running(
    process: ProcessIdentity,
    request: ReleaseRequest,
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    let state = find_running(settings)?;
    let file = settings.journal_folder()?.join(request_name(&state.boot, process, request));
    output::replace_file(&file, b"")
        .map_err(|error| CommandFailure::unavailable_error(format!("cannot write {}: {error}", file.display())))?;
    state.request_reload();
    Ok(())
}

/// Takes the requests about processes of this boot and removes their files.
pub fn take_requests(folder: &Path, boot: &str) -> Vec<(ProcessIdentity, ReleaseRequest)> {
    let take = |file: PathBuf| {
        let request = parse_request(file.file_name()?.to_str()?, boot)?;
        input::remove_stale(&file).ok()?;
        Some(request)
    };
    input::list_folder(folder).unwrap_or_default().into_iter().filter_map(take).collect()
}

fn request_name(boot: &str, ProcessIdentity { id, start_ticks }: ProcessIdentity, request: ReleaseRequest) -> String {
    format!("{REQUEST}-{boot}-{id}-{start_ticks}-{}", request_word(request))
}

fn parse_request(name: &str, boot: &str) -> Option<(ProcessIdentity, ReleaseRequest)> {
    let mut parts = name.strip_prefix(REQUEST)?.strip_prefix('-')?.strip_prefix(boot)?.strip_prefix('-')?.split('-');
    let process = ProcessIdentity { id: parts.next()?.parse().ok()?, start_ticks: parts.next()?.parse().ok()? };
    let all = [ReleaseRequest::Release, ReleaseRequest::Hold];
    let request =
        all.into_iter().find(|request| Some(request_name(boot, process, *request)).as_deref() == Some(name))?;
    Some((process, request))
}

const fn request_word(request: ReleaseRequest) -> &'static str {
    match request {
        ReleaseRequest::Release => "release",
        ReleaseRequest::Hold => "hold",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_are_made_at_the_same_time_are_all_taken() {
        let folder = tempfile::tempdir().unwrap();
        let ask = |id: u32, request| {
            let process = ProcessIdentity { id, start_ticks: u64::from(id) + 7 };
            output::replace_file(&folder.path().join(request_name("boot-1", process, request)), b"").unwrap();
        };
        std::thread::scope(|scope| {
            for id in 1..=20 {
                scope.spawn(move || ask(id, ReleaseRequest::Release));
            }
        });
        ask(21, ReleaseRequest::Hold);
        for other in [
            "keep-boot-1.json",
            "keep.request-boot-1-1",
            "keep.request-boot-1-1-2-release-3",
            "keep.request-boot-2-1-2-release",
        ] {
            std::fs::write(folder.path().join(other), "").unwrap();
        }
        let mut taken = take_requests(folder.path(), "boot-1");
        taken.sort_by_key(|(process, _)| process.id);
        let expected = |id: u32| {
            let request = if id == 21 { ReleaseRequest::Hold } else { ReleaseRequest::Release };
            (ProcessIdentity { id, start_ticks: u64::from(id) + 7 }, request)
        };
        assert_eq!(taken, (1..=21).map(expected).collect::<Vec<_>>());
        assert_eq!(take_requests(folder.path(), "boot-1"), []);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4, "what is no request of this machine stays");
    }

    /// A number and a start time of this boot are not enough: any process has some.
    #[test]
    fn a_state_is_believed_only_if_a_keeper_of_this_boot_wrote_it() {
        let this = ProcessIdentity::this_process().unwrap();
        let state = KeeperState {
            process: this.id,
            start_ticks: this.start_ticks,
            started_unix_ms: 0,
            boot: process::boot_id().unwrap(),
            of_system: false,
            rules: String::new(),
            status: KeepStatus::default(),
        };
        assert!(!state.is_of_running_keeper(), "this process is no keep run");
    }
}
