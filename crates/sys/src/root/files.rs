//! Files in memory, by path.

use std::collections::BTreeMap;

/// The texts of files by their relative path.
#[derive(Debug, Default, PartialEq)]
pub struct Files {
    texts: BTreeMap<String, String>,
}

impl Files {
    pub fn insert(&mut self, path: String, text: String) {
        self.texts.insert(path, text);
    }

    /// Takes over the files below a folder of another collection.
    #[cfg(feature = "recordings")]
    pub fn absorb(&mut self, other: Self, folder: &str) {
        let below = other.texts.into_iter().filter(|(path, _)| path.starts_with(folder));
        self.texts.extend(below);
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    pub fn exists(&self, path: &str) -> bool {
        self.texts.contains_key(path) || self.below(path).next().is_some()
    }

    /// Returns the first components of the paths below a folder, sorted.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for rest in self.below(folder) {
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
    fn below<'a>(&'a self, folder: &str) -> impl Iterator<Item = &'a str> {
        let prefix = format!("{}/", folder.trim_end_matches('/'));
        let length = prefix.len();
        let end = format!("{}0", &prefix[..length - 1]); // '0' follows '/' in ASCII
        self.texts.range(prefix..end).map(move |(path, _)| &path[length..])
    }
}

impl FromIterator<(String, String)> for Files {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(files: I) -> Self {
        Self { texts: files.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> Files {
        paths.iter().map(|path| ((*path).to_owned(), path.to_uppercase())).collect()
    }

    #[test]
    fn a_folder_lists_its_names_once() {
        let files = files(&["a/b/c", "a/b-d", "a/b/e", "a/f", "a0", "b"]);
        assert_eq!(files.names("a"), ["b", "b-d", "f"]);
        assert_eq!(files.names("a/"), ["b", "b-d", "f"]);
        assert_eq!(files.names("a/b"), ["c", "e"]);
        assert_eq!(files.names("a0"), [""; 0]);
    }

    #[test]
    fn files_and_folders_exist() {
        let files = files(&["a/b"]);
        assert!(files.exists("a") && files.exists("a/b") && !files.exists("a/c") && !files.exists("b"));
        assert_eq!(files.text("a/b"), Some("A/B"));
        assert_eq!(files.text("a"), None);
    }
}
