//! The store of this user: opened, and added to.

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

/// The store, or what makes one.
pub fn existing(settings: &Settings, first: &SuggestedCommand) -> Result<Store, Failure> {
    let what = || Ok::<_, Failure>(format!("there is no history at {}", path(settings)?.display()));
    let next = || format!("Make one with {}, or name another store with --store.", suggestion::mention(first));
    opened(settings)?.map_or_else(|| Err(Failure::unavailable(what()?).next(next())), Ok)
}

/// The store to read from; nothing where there is none.
pub fn opened(settings: &Settings) -> Result<Option<Store>, Failure> {
    to_read(path(settings)?, settings).map_err(broken)
}

/// The same for whoever does without it where it cannot be read.
pub fn if_readable(settings: &Settings) -> Option<Store> {
    let History::At(path) = &settings.history else { return None };
    to_read(path, settings).ok()?
}

/// The latest survey of this machine that will do.
pub fn latest_survey(machine: &Machine, settings: &Settings, will_do: impl Fn(&Survey) -> bool) -> Option<Survey> {
    if_readable(settings)?.latest(&machine.fingerprint(), will_do).ok()?.map(|(_, survey)| survey)
}

/// The store to add to; created where there is none.
///
/// # Errors
/// Those of the store.
pub fn to_write(path: &Path, settings: &Settings) -> corewise_store::Result<Store> {
    // Read as a whole before it is written to.
    to_read(path, settings)?;
    if settings.named_store.is_none() {
        // Made by a corewise that let others read it.
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

/// Whether a store is read as a whole before anything else: one that was named, or that others may write. The user's own at its
/// usual place is checked by `corewise doctor`, since it may be large.
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

/// What keeps the store from giving what was asked for.
pub fn broken(error: StoreError) -> Failure {
    match error {
        StoreError::Missing { .. } | StoreError::Deleted { .. } | StoreError::OtherKind { .. } => {
            Failure::unavailable(error)
                .next(format!("{} lists everything.", suggestion::mention(&suggested_command::history_all())))
        }
        error => Failure::unavailable(format!("the history cannot be read: {error}")),
    }
}

/// Stores what was made. A history that fails is said once, and what was made is shown all the same.
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
