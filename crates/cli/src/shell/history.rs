//! The store of this user, for whoever reads from it.

use std::path::Path;

use corewise_store::{Store, StoreError};

use super::failure::Failure;
use super::settings::{History, Settings};

/// The store, or what makes one.
pub fn existing(settings: &Settings, first: &str) -> Result<Store, Failure> {
    let what = || Ok::<_, Failure>(format!("there is no history at {}", path(settings)?.display()));
    let next = || format!("{first}, or name another store with --store.");
    opened(settings)?.map_or_else(|| Err(Failure::unavailable(what()?).next(next())), Ok)
}

pub fn opened(settings: &Settings) -> Result<Option<Store>, Failure> {
    Store::open_to_read(path(settings)?).map_err(broken)
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

pub fn broken(error: StoreError) -> Failure {
    Failure::unavailable(format!("the history cannot be read: {error}"))
}
