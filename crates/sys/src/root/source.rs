//! What readers read from.

use std::borrow::Cow;

/// Files by their paths: a root, or a recorder that stands between a reader and a root and learns what is read.
pub trait Source {
    /// The text of a file; nothing where it is absent, unreadable or not a file.
    fn text(&self, path: &str) -> Option<Cow<'_, str>>;
    /// The names in a folder, sorted; empty where it is absent.
    fn names(&self, folder: &str) -> Vec<String>;
}
