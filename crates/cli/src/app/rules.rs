//! Finds the rules files that a command works on, and reports failures to read them.

use std::path::Path;

use corewise_keep::{RuleFiles, RuleFilesError};

use super::failure::{CommandExit, CommandFailure};
use super::machine::explain_unread_machine;
use super::settings::ProgramSettings;
use crate::draw::suggestion;

/// Finds the rules files at the given path; without one, those of the system or of this user.
///
/// # Errors
/// As [`RuleFiles::find_files`].
pub fn find_rules(
    named: Option<&Path>,
    of_system: bool,
    settings: &ProgramSettings,
) -> Result<RuleFiles, CommandFailure> {
    Ok(RuleFiles::find_files(named, of_system, settings.config.as_deref())?)
}

impl From<RuleFilesError> for CommandFailure {
    fn from(error: RuleFilesError) -> Self {
        let hint = error.suggest_hint(suggestion::format_mention);
        match error {
            RuleFilesError::UnreadMachine(error) => explain_unread_machine(error),
            _ => {
                let exit = if error.is_usage() { CommandExit::Usage } else { CommandExit::Unavailable };
                hint.into_iter().fold(Self::new(exit, error), Self::with_hint)
            }
        }
    }
}
