//! Store of this user: opening it, and adding to it.

use std::path::Path;
use std::sync::Once;

use corewise_machine::Machine;
use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::Artifact;
use corewise_store::{ArtifactStore, StoreError, StoredEntry};
use corewise_sys::files;
use jiff::tz::TimeZone;

use super::failure::{CommandExit, CommandFailure};
use super::output::print_message;
use super::settings::{HistoryPlace, ProgramSettings};
use crate::draw::number::format_time;
use crate::draw::suggestion;
use crate::draw::survey::StorageStatus;

/// Maximum number of stored results that are read in search of a copy.
const MOST_COPIES_SEARCHED: usize = 20;

/// Opens the store. If there is none, the failure suggests `first`.
pub fn open_existing_store(
    settings: &ProgramSettings,
    first: &SuggestedCommand,
) -> Result<ArtifactStore, CommandFailure> {
    let what = || Ok::<_, CommandFailure>(format!("there is no history at {}", store_path(settings)?.display()));
    let next = || format!("Make one with {}, or name another store with --store.", suggestion::format_mention(first));
    open_store(settings)?.map_or_else(|| Err(CommandFailure::unavailable_error(what()?).with_hint(next())), Ok)
}

/// Opens the store to read from; `None` if there is none.
pub fn open_store(settings: &ProgramSettings) -> Result<Option<ArtifactStore>, CommandFailure> {
    to_read(store_path(settings)?, settings).map_err(explain_store_error)
}

/// Opens the store to read from; `None` also if it cannot be read.
pub fn open_if_readable(settings: &ProgramSettings) -> Option<ArtifactStore> {
    let HistoryPlace::At(path) = &settings.history else { return None };
    to_read(path, settings).ok()?
}

/// Returns the latest result of a kind that was measured on a machine and that `will_do` accepts, with its number; `None`
/// also if the store cannot be read.
pub fn latest_own<T: Artifact>(
    machine: &Machine,
    settings: &ProgramSettings,
    will_do: impl Fn(&T) -> bool,
) -> Option<(i64, T)> {
    open_if_readable(settings)?.latest_own(machine, will_do).ok()?
}

/// Opens the store to add to, and creates it if there is none.
///
/// # Errors
/// Those of the store.
pub fn to_write(path: &Path, settings: &ProgramSettings) -> corewise_store::StoreResult<ArtifactStore> {
    // Checks it as a whole before it is written to.
    to_read(path, settings)?;
    if settings.named_store.is_none() {
        // Earlier versions let other users read it.
        let _ = files::make_private(path);
        static SAID: Once = Once::new();
        if let Some(home) = &settings.foreign_home {
            let (home, path) = (home.display(), path.display());
            SAID.call_once(|| {
                print_message(&format!("note: {home} is another user's home, so root's own store is used: {path}"))
            });
        }
    }
    ArtifactStore::open(path)
}

fn to_read(path: &Path, settings: &ProgramSettings) -> corewise_store::StoreResult<Option<ArtifactStore>> {
    let store = ArtifactStore::open_to_read(path)?;
    if let Some(store) = store.as_ref().filter(|store| is_checked(store, settings)) {
        store.check_database()?;
    }
    Ok(store)
}

/// Returns true if a store is checked as a whole first: it was named, or others may write to it. The user's own store
/// may be large; `corewise doctor` checks it.
fn is_checked(store: &ArtifactStore, settings: &ProgramSettings) -> bool {
    settings.named_store.is_some() || store.origin().writers().is_some()
}

fn store_path(settings: &ProgramSettings) -> Result<&Path, CommandFailure> {
    match &settings.history {
        HistoryPlace::At(path) => Ok(path),
        HistoryPlace::Off => Err(CommandFailure::usage_error("the history needs a store, and --no-store disables it")
            .with_hint("Leave out --no-store.")),
        HistoryPlace::Homeless => {
            let what = "there is no history: neither XDG_DATA_HOME nor HOME is set";
            Err(CommandFailure::unavailable_error(what).with_hint("Name it with --store PATH."))
        }
    }
}

/// Failure of reading from the store.
pub fn explain_store_error(error: StoreError) -> CommandFailure {
    match error {
        StoreError::Missing { .. } | StoreError::Deleted { .. } | StoreError::OtherKind { .. } => {
            CommandFailure::unavailable_error(error).with_hint(format!(
                "{} lists everything.",
                suggestion::format_mention(&suggested_command::history_all())
            ))
        }
        error => CommandFailure::unavailable_error(format!("the history cannot be read: {error}")),
    }
}

/// Stores a result. A failure prints a warning; the result is shown all the same.
pub fn store_artifact<T: Artifact>(artifact: &T, settings: &ProgramSettings) -> StorageStatus {
    let path = match &settings.history {
        HistoryPlace::At(path) => path,
        HistoryPlace::Off => return StorageStatus::No,
        HistoryPlace::Homeless => {
            print_message(&format!(
                "warning: the {} result is not stored: neither XDG_DATA_HOME nor HOME is set\n  store it with --store PATH",
                T::KIND
            ));
            return StorageStatus::No;
        }
    };
    match to_write(path, settings).and_then(|mut store| store.add_artifact(artifact)) {
        Ok(number) => StorageStatus::Stored(number),
        Err(error) => {
            print_message(&format!(
                "warning: the {} result is not stored: {error}\n  choose another store with --store PATH, or none with --no-store",
                T::KIND
            ));
            StorageStatus::Failed
        }
    }
}

/// Stores a result, unless the history has an equal one, by `is_same`, among the latest of its kind with the same line in lists: a
/// command that only reads what an earlier run left makes no second copy.
pub fn store_artifact_once<T: Artifact>(
    artifact: &T,
    is_same: impl Fn(&T) -> bool,
    settings: &ProgramSettings,
) -> StorageStatus {
    match find_copy(artifact, is_same, settings) {
        Some(entry) => StorageStatus::Recalled(entry.number, format_time(entry.started_unix_ms, &TimeZone::system())),
        None => store_artifact(artifact, settings),
    }
}

fn find_copy<T: Artifact>(
    artifact: &T,
    is_same: impl Fn(&T) -> bool,
    settings: &ProgramSettings,
) -> Option<StoredEntry> {
    let (store, what) = (open_if_readable(settings)?, artifact.describe_contents());
    let mut entries = store.list_entries().ok()?;
    let is_alike = |entry: &StoredEntry| entry.summary.as_ref().is_some_and(|summary| summary.what == what);
    entries.retain(|entry| entry.kind == T::KIND && is_alike(entry));
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.number));
    let mut latest = entries.into_iter().take(MOST_COPIES_SEARCHED);
    latest.find(|entry| store.get_artifact::<T>(entry.number).is_ok_and(|stored| is_same(&stored)))
}

/// Returns the exit status of a command that made a result: if it could not be stored, that is a failure, though it was shown.
pub fn exit_after_storing(kept: &StorageStatus, exit: CommandExit) -> CommandExit {
    match kept {
        StorageStatus::Failed if exit == CommandExit::Done => CommandExit::Unavailable,
        _ => exit,
    }
}
