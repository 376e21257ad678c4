//! Checks that process numbers have the user's meaning here.

use corewise_lab::numbers;

use super::failure::CommandFailure;

/// Makes sure that the named processes are the ones that are placed or watched.
///
/// # Errors
/// If /proc belongs to another pid namespace.
pub fn check_numbers() -> Result<(), CommandFailure> {
    numbers::check_numbers().map_err(|gap| {
        let failure = CommandFailure::unavailable_error(gap.why);
        gap.cure.into_iter().fold(failure, CommandFailure::with_hint)
    })
}
