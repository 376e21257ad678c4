//! Where this machine describes itself: in files, all of them.

/// The folder that the paths of a machine's files begin in.
pub const FOLDER: Option<&str> = Some("/");

/// What is described by calls: nothing.
pub fn text(_: &str) -> Option<String> {
    None
}
