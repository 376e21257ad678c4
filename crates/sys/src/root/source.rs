//! Interface that readers read from.

use std::borrow::Cow;

/// Files by their paths: a root, or a recorder that passes reads on to a root.
pub trait FileSource {
    /// Reads a file; `None` if it does not exist, is unreadable or not a file.
    fn file_text(&self, path: &str) -> Option<Cow<'_, str>>;
    /// Lists the names in a folder, sorted; empty if there is no such folder.
    fn folder_names(&self, folder: &str) -> Vec<String>;
}
