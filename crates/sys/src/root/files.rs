//! Files in memory, by path.

use std::collections::BTreeMap;

/// The texts of files by their relative path.
#[derive(Debug, Default, PartialEq)]
pub struct RecordedFiles {
    texts: BTreeMap<String, String>,
}

impl RecordedFiles {
    pub fn insert_file(&mut self, path: String, text: String) {
        self.texts.insert(path, text);
    }

    /// Takes over the files below a folder of another collection.
    #[cfg(feature = "recordings")]
    pub fn absorb_files(&mut self, other: Self, folder: &str) {
        let below = other.texts.into_iter().filter(|(path, _)| path.starts_with(folder));
        self.texts.extend(below);
    }

    pub fn file_text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    pub fn path_exists(&self, path: &str) -> bool {
        self.texts.contains_key(path) || self.paths_below(path).next().is_some()
    }

    /// Returns the first components of the paths below a folder, sorted.
    pub fn folder_names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for rest in self.paths_below(folder) {
            let name = rest.split('/').next().unwrap_or(rest);
            if names.last().is_none_or(|last| last != name) {
                names.push(name.to_owned());
            }
        }
        // "cpu1", "cpu1-x" and "cpu1/online" sort in this order, so a name may come twice.
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the rests of the paths below a folder, in order.
    fn paths_below<'a>(&'a self, folder: &str) -> impl Iterator<Item = &'a str> {
        let prefix = format!("{}/", folder.trim_end_matches('/'));
        let length = prefix.len();
        let end = format!("{}0", &prefix[..length - 1]); // '0' follows '/' in ASCII
        self.texts.range(prefix..end).map(move |(path, _)| &path[length..])
    }
}

impl FromIterator<(String, String)> for RecordedFiles {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(files: I) -> Self {
        Self { texts: files.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> RecordedFiles {
        paths.iter().map(|path| ((*path).to_owned(), path.to_uppercase())).collect()
    }

    #[test]
    fn a_folder_lists_its_names_once() {
        let files = files(&["a/b/c", "a/b-d", "a/b/e", "a/f", "a0", "b"]);
        assert_eq!(files.folder_names("a"), ["b", "b-d", "f"]);
        assert_eq!(files.folder_names("a/"), ["b", "b-d", "f"]);
        assert_eq!(files.folder_names("a/b"), ["c", "e"]);
        assert_eq!(files.folder_names("a0"), [""; 0]);
    }

    #[test]
    fn files_and_folders_exist() {
        let files = files(&["a/b"]);
        assert!(
            files.path_exists("a") && files.path_exists("a/b") && !files.path_exists("a/c") && !files.path_exists("b")
        );
        assert_eq!(files.file_text("a/b"), Some("A/B"));
        assert_eq!(files.file_text("a"), None);
    }
}
