//! Store of this user: opening it, and adding to it.

use std::path::Path;
use std::sync::Once;

use corewise_machine::Machine;
use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::{Artifact, Survey};
use corewise_store::{Store, StoreError};
use corewise_sys::files;

use super::failure::Failure;
use super::output::say;
use super::settings::{History, Settings};
use crate::draw::suggestion;
use crate::draw::survey::Kept;

/// Opens the store. If there is none, the failure suggests `first`.
pub fn existing(settings: &Settings, first: &SuggestedCommand) -> Result<Store, Failure> {
    let what = || Ok::<_, Failure>(format!("there is no history at {}", path(settings)?.display()));
    let next = || format!("Make one with {}, or name another store with --store.", suggestion::mention(first));
    opened(settings)?.map_or_else(|| Err(Failure::unavailable(what()?).next(next())), Ok)
}

/// Opens the store to read from; `None` if there is none.
pub fn opened(settings: &Settings) -> Result<Option<Store>, Failure> {
    to_read(path(settings)?, settings).map_err(broken)
}

/// Opens the store to read from; `None` also if it cannot be read.
pub fn if_readable(settings: &Settings) -> Option<Store> {
    let History::At(path) = &settings.history else { return None };
    to_read(path, settings).ok()?
}

/// Returns the latest survey of this machine that `will_do` accepts.
pub fn latest_survey(machine: &Machine, settings: &Settings, will_do: impl Fn(&Survey) -> bool) -> Option<Survey> {
    if_readable(settings)?.latest(&machine.fingerprint(), will_do).ok()?.map(|(_, survey)| survey)
}

/// Opens the store to add to, and creates it if there is none.
///
/// # Errors
/// Those of the store.
pub fn to_write(path: &Path, settings: &Settings) -> corewise_store::Result<Store> {
    // Checks it as a whole before it is written to.
    to_read(path, settings)?;
    if settings.named_store.is_none() {
        // Earlier versions let other users read it.
        let _ = files::make_private(path);
        static SAID: Once = Once::new();
        if let Some(home) = &settings.foreign_home {
            let (home, path) = (home.display(), path.display());
            SAID.call_once(|| {
                say(&format!("note: {home} is another user's home, so root's own store is used: {path}"))
            });
        }
    }
    Store::open(path)
}

fn to_read(path: &Path, settings: &Settings) -> corewise_store::Result<Option<Store>> {
    let store = Store::open_to_read(path)?;
    if let Some(store) = store.as_ref().filter(|store| is_checked(store, settings)) {
        store.check()?;
    }
    Ok(store)
}

/// Returns true if a store is checked as a whole first: it was named, or others may write to it. The user's own store
/// may be large; `corewise doctor` checks it.
fn is_checked(store: &Store, settings: &Settings) -> bool {
    settings.named_store.is_some() || store.origin().writers().is_some()
}

fn path(settings: &Settings) -> Result<&Path, Failure> {
    match &settings.history {
        History::At(path) => Ok(path),
        History::Off => {
            Err(Failure::usage("the history needs a store, and --no-store disables it").next("Leave out --no-store."))
        }
        History::Homeless => {
            let what = "there is no history: neither XDG_DATA_HOME nor HOME is set";
            Err(Failure::unavailable(what).next("Name it with --store PATH."))
        }
    }
}

/// Failure of reading from the store.
pub fn broken(error: StoreError) -> Failure {
    match error {
        StoreError::Missing { .. } | StoreError::Deleted { .. } | StoreError::OtherKind { .. } => {
            Failure::unavailable(error)
                .next(format!("{} lists everything.", suggestion::mention(&suggested_command::history_all())))
        }
        error => Failure::unavailable(format!("the history cannot be read: {error}")),
    }
}

/// Stores a result. A failure prints a warning; the result is shown all the same.
pub fn keep<T: Artifact>(artifact: &T, settings: &Settings) -> Kept {
    let path = match &settings.history {
        History::At(path) => path,
        History::Off => return Kept::No,
        History::Homeless => {
            say(&format!(
                "warning: the {} result is not stored: neither XDG_DATA_HOME nor HOME is set\n  store it with --store PATH",
                T::KIND
            ));
            return Kept::Failed;
        }
    };
    match to_write(path, settings).and_then(|mut store| store.add(artifact)) {
        Ok(number) => Kept::Stored(number),
        Err(error) => {
            say(&format!(
                "warning: the {} result is not stored: {error}\n  choose another store with --store PATH, or none with --no-store",
                T::KIND
            ));
            Kept::Failed
        }
    }
}
