//! The picture of `--svg`: a file that is there as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use corewise_model::Artifact as _;
use corewise_model::conducted::{Conducted, ExperimentConclusions};
use corewise_model::trial::Experiment;

use super::screen::{Shown, svg};
use super::task::no_threads;
use crate::shell::failure::Failure;

/// The file that a picture is to be in.
pub struct Drawing {
    path: PathBuf,
    folder: PathBuf,
}

impl Drawing {
    /// Looks whether there can be a picture, without making any file.
    pub fn into_file(typed: &Path) -> Result<Self, Failure> {
        let failed = |why: &dyn std::fmt::Display| {
            Failure::unavailable(format!("--svg {}: {why}", typed.display()))
                .next("Choose a file in a folder that you may write to.")
        };
        let absolute = std::path::absolute(typed).map_err(|error| failed(&error))?;
        // Through a link the file is replaced, not the link.
        let path = if absolute.is_symlink() || absolute.exists() {
            absolute.canonicalize().map_err(|error| failed(&error))?
        } else {
            absolute
        };
        if path.exists() && !path.is_file() {
            return Err(failed(&"it is not a regular file"));
        }
        let folder = path.parent().filter(|folder| folder.is_dir()).map(Path::to_owned);
        match (folder, path.file_name()) {
            (Some(folder), Some(_)) => Ok(Self { path, folder }),
            _ => Err(failed(&"there is no such folder")),
        }
    }

    /// Refuses an experiment without several numbers of threads.
    pub fn can_be_of(&self, experiment: &Experiment) -> Result<(), Failure> {
        let mut counts = experiment.arms.iter().filter_map(|arm| arm.threads);
        let first = counts.next();
        if counts.any(|count| Some(count) != first) { Ok(()) } else { Err(no_threads()) }
    }

    /// Draws how the program of an experiment scales.
    pub fn draw(&self, made: &Conducted, stored: Option<i64>) -> Result<(), Failure> {
        let (Conducted { experiment, trials }, shown) = (made, made.conclude());
        let ExperimentConclusions { standing, threads: report } = shown;
        let shown =
            Shown { experiment, trials, standing: &standing, threads: report.as_ref(), stored, named_store: None };
        let Some(picture) = report.as_ref().and_then(|report| svg(shown, report)) else {
            let what = format!("--svg {}: nothing can be drawn: no number of threads has a value", self.path.display());
            return Err(Failure::unavailable(what).next("`--csv` shows why each run failed."));
        };
        self.write(&picture).map_err(|error| {
            Failure::unavailable(format!("cannot write {}: {error}", self.path.display()))
                .next("Draw it elsewhere with `corewise history show N --svg FILE`.")
        })
    }

    /// Beside its place first, then there: who reads it meanwhile has all of the old one or all of the new.
    fn write(&self, text: &str) -> io::Result<()> {
        let draft = self.folder.join(format!(".corewise-{}.svg", std::process::id()));
        let mut file = File::create_new(&draft)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&draft, &self.path));
        written.inspect_err(|_| drop(fs::remove_file(&draft)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_replaces_a_file_through_a_link_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["a.svg", "link.svg"].map(|name| folder.path().join(name));
        Drawing::into_file(&file).unwrap().write("one").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        Drawing::into_file(&link).unwrap().write("two").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        for wrong in [folder.path().to_owned(), "/dev/null".into(), folder.path().join("none/a.svg")] {
            assert!(Drawing::into_file(&wrong).is_err(), "{}", wrong.display());
        }
    }
}
