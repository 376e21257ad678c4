//! Files of rules that a command means, and the failures of reading them.

use std::path::Path;

use corewise_keep::{RuleFiles, RuleFilesError};

use super::failure::{Exit, Failure};
use super::machine::unread_machine;
use super::settings::Settings;
use crate::draw::suggestion;

/// Finds the named rules, or else the rules of the system or of this user.
///
/// # Errors
/// As [`RuleFiles::find`].
pub fn find_rules(named: Option<&Path>, of_system: bool, settings: &Settings) -> Result<RuleFiles, Failure> {
    Ok(RuleFiles::find(named, of_system, settings.config.as_deref())?)
}

impl From<RuleFilesError> for Failure {
    fn from(error: RuleFilesError) -> Self {
        let hint = error.hint(suggestion::mention);
        match error {
            RuleFilesError::UnreadMachine(error) => unread_machine(error),
            _ => {
                let exit = if error.is_usage() { Exit::Usage } else { Exit::Unavailable };
                hint.into_iter().fold(Self::new(exit, error), Self::next)
            }
        }
    }
}
