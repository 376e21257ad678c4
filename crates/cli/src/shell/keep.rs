//! Keeping what was measured in the history.

use std::path::Path;

use corewise_model::Survey;
use corewise_store::Store;

use super::output::say;
use super::settings::{History, Settings};
use crate::draw::survey::Kept;

/// Stores the survey. A history that fails is said once, and the survey is shown all the same.
pub fn keep(survey: &Survey, settings: &Settings) -> Kept {
    kept(settings, "survey", |path| Store::open(path).and_then(|mut store| store.add(survey)))
}

/// Stores what was made, a survey or a map. A history that fails is said once.
pub fn kept(settings: &Settings, what: &str, store: impl FnOnce(&Path) -> corewise_store::Result<i64>) -> Kept {
    let path = match &settings.history {
        History::At(path) => path,
        History::Off => return Kept::No,
        History::Homeless => {
            say(&format!(
                "warning: the {what} is not stored: neither XDG_DATA_HOME nor HOME is set\n  store it with --store PATH"
            ));
            return Kept::Failed;
        }
    };
    match store(path) {
        Ok(number) => Kept::Stored(number),
        Err(error) => {
            say(&format!(
                "warning: the {what} is not stored: {error}\n  choose another store with --store PATH, or none with \
                    --no-store"
            ));
            Kept::Failed
        }
    }
}
