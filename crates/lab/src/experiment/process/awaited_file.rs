//! The file that a run writes its metrics to: one name, or the newest of a pattern such as "logs/*.csv".

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use corewise_model::keep::GlobPattern;
use corewise_sys::input;

/// A file that a run is expected to write.
pub struct AwaitedFile<'a> {
    name: &'a Path,
    /// Files that matched the pattern before the run, with the times at which it was written; `None` for a name without wildcards.
    before: Option<BTreeMap<PathBuf, SystemTime>>,
}

impl<'a> AwaitedFile<'a> {
    /// Removes an earlier file of this name, so that the found one is of this run. Files that match a pattern stay.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn begin_run(name: &'a Path) -> io::Result<Self> {
        let has_wildcards = name.file_name().is_some_and(|name| name.to_string_lossy().contains(['*', '?']));
        if has_wildcards {
            return Ok(Self { name, before: Some(list_matching(name)) });
        }
        input::remove_stale(name).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { name, before: None })
    }

    /// Returns the file of this run: of a pattern the newest that is new or written anew, else the name itself.
    pub fn find_written(&self) -> PathBuf {
        let Some(before) = &self.before else { return self.name.to_owned() };
        let written = list_matching(self.name).into_iter().filter(|(path, time)| before.get(path) != Some(time));
        written.max_by_key(|(_, time)| *time).map_or_else(|| self.name.to_owned(), |(path, _)| path)
    }
}

/// Returns the files with names that match the last part of a path, and the times at which they were written.
fn list_matching(pattern: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let folder = pattern.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names = GlobPattern::new(pattern.file_name().unwrap_or_default().to_string_lossy());
    let matches = |path: &PathBuf| path.file_name().is_some_and(|name| names.matches_text(&name.to_string_lossy()));
    let with_time = |path: PathBuf| {
        let time = path.metadata().ok().filter(std::fs::Metadata::is_file)?.modified().ok()?;
        Some((path, time))
    };
    input::list_folder(folder).unwrap_or_default().into_iter().filter(matches).filter_map(with_time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_file_of_a_run_is_found_and_older_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(file(name), text).unwrap();
        write("old.csv", "1");
        let pattern = file("*.csv");
        let awaited = AwaitedFile::begin_run(&pattern).unwrap();
        assert_eq!(awaited.find_written(), pattern, "nothing was written yet");
        write("new.csv", "2");
        write("new.txt", "2");
        assert_eq!(awaited.find_written(), file("new.csv"));
        let again = AwaitedFile::begin_run(&pattern).unwrap();
        assert_eq!(again.find_written(), pattern, "what an earlier run wrote does not count");
        assert!(file("old.csv").exists());
        let named = file("old.csv");
        assert_eq!(AwaitedFile::begin_run(&named).unwrap().find_written(), named);
        assert!(!named.exists(), "one of another run");
    }
}
