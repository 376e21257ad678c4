//! The machine's description of itself: entirely in files.

/// Root folder of a machine's files.
pub const FOLDER: Option<&str> = Some("/");

/// Text described by calls instead of files: always `None`.
pub fn described_text(_: &str) -> Option<String> {
    None
}
