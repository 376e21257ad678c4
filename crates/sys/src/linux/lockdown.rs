//! Refusals of a kernel that is locked down.

use corewise_machine::Gap;

use super::proc_files::read_file;
use crate::values::lockdown::{HIDES_ALL, LOCKDOWN_STATE, UNLOCK, parse_lockdown};

/// Puts the lockdown in front of a refusal, if the kernel shows nothing of itself: no right changes that.
pub fn explain_lockdown(gap: Gap) -> Gap {
    let state = read_file(&format!("/{LOCKDOWN_STATE}")).unwrap_or_default();
    if parse_lockdown(&String::from_utf8_lossy(&state)) != Some(HIDES_ALL) {
        return gap;
    }
    let why = format!("this kernel is locked down ({HIDES_ALL}): {}", gap.why);
    Gap { why, ..gap }.cured_by(UNLOCK)
}
