//! The one door for files written at the user's path: never through a link that someone else may have made.
//!
//! A file's folder is reached step by step and held open. The file is checked, made and replaced in this folder, whatever its path leads to
//! meanwhile.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::file_place::FilePlace;
use crate::os::files;
use crate::os::folder_handle::{FileSharing, FoundFile};

/// The place of an output file: its folder is open.
#[derive(Debug)]
pub struct OutputPlace {
    place: FilePlace,
    /// The path as given.
    path: PathBuf,
}

impl OutputPlace {
    /// Reaches a place, and checks that a file can be there, without making it.
    ///
    /// # Errors
    /// If there is no such folder, a link is not to be followed, or the name is taken by something other than a file.
    pub fn find_place(path: &Path) -> io::Result<Self> {
        let place = Self::reach_place(path)?;
        place.check_file(place.place.find_file()?.as_ref())?;
        Ok(place)
    }

    /// Reaches a place without checking the file.
    ///
    /// # Errors
    /// If there is no such folder, or a link is not to be followed.
    pub fn reach_place(path: &Path) -> io::Result<Self> {
        let place = FilePlace::find_place(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => io::Error::other("there is no such folder"),
            _ => error,
        })?;
        Ok(Self { place, path: path.to_owned() })
    }

    /// Returns the path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses anything but a regular file, and a file of this user's to which others can have led the path.
    fn check_file(&self, found: Option<&FoundFile>) -> io::Result<()> {
        let Some(found) = found else { return Ok(()) };
        if !found.metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        match self.place.strangers() {
            Some(why) if self.place.folder().other_writers()?.is_none() => {
                Err(io::Error::other(format!("it is there already, and others can have led here: {why}")))
            }
            _ => Ok(()),
        }
    }

    /// Writes a temporary file beside it, then renames it: a reader sees all of the old file or all of the new one.
    ///
    /// # Errors
    /// As [`Self::find_place`], and errors of the system.
    pub fn replace_file(&self, bytes: &[u8]) -> io::Result<()> {
        self.replace_by(|file| file.write_all(bytes)).map(drop)
    }

    /// As [`Self::replace_file`]; every user may read the new file, whatever is usual here.
    ///
    /// # Errors
    /// As [`Self::replace_file`].
    pub fn replace_readable_file(&self, bytes: &[u8]) -> io::Result<()> {
        let write = |file: &mut File| file.write_all(bytes).and_then(|()| files::make_readable(file));
        self.replace_by(write).map(drop)
    }

    /// Replaces the file by an empty one. A device, such as /dev/null, stays and is written to.
    ///
    /// # Errors
    /// As [`Self::replace_file`].
    pub fn create_file(&self) -> io::Result<File> {
        let is_device = |found: &FoundFile| files::is_device(found.metadata.file_type());
        if self.place.find_file()?.is_some_and(|found| is_device(&found)) && self.is_own_folder()? {
            return self.place.folder().open_device(self.place.name());
        }
        self.replace_by(|_| Ok(()))
    }

    fn is_own_folder(&self) -> io::Result<bool> {
        Ok(self.place.strangers().is_none() && self.place.folder().other_writers()?.is_none())
    }

    /// Makes a new file.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the name is taken; errors of the system.
    pub fn create_new(&self) -> io::Result<File> {
        self.place.folder().create_as(self.place.name(), FileSharing::Usual)
    }

    /// Removes a file that was made here, unless another one has its name by now.
    pub fn remove_file(&self, file: &File) {
        if self.place.folder().is_name_of(self.place.name(), file) {
            let _ = self.place.folder().remove_file(self.place.name());
        }
    }

    fn replace_by(&self, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<File> {
        self.check_file(self.place.find_file()?.as_ref())?;
        let (folder, name) = (self.place.folder(), self.place.name());
        let mut draft = OsString::from(".");
        draft.push(name);
        draft.push(format!(".{}", std::process::id()));
        let mut file = match folder.create_as(&draft, FileSharing::Usual) {
            // A process of the same number was killed before it was done.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                folder.remove_file(&draft)?;
                folder.create_as(&draft, FileSharing::Usual)?
            }
            other => other?,
        };
        let written = write(&mut file).and_then(|()| folder.replace_file(&draft, name));
        written.inspect_err(|_| drop(folder.remove_file(&draft)))?;
        Ok(file)
    }
}

/// Writes a file as [`OutputPlace::replace_file`] does.
///
/// # Errors
/// As [`OutputPlace::find_place`], and errors of the system.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OutputPlace::reach_place(path)?.replace_file(bytes)
}

/// Puts an empty file at a path as [`OutputPlace::create_file`] does.
///
/// # Errors
/// As [`OutputPlace::find_place`], and errors of the system.
pub fn create_file(path: &Path) -> io::Result<File> {
    OutputPlace::reach_place(path)?.create_file()
}

/// Makes a folder to write in, and its missing parents. Follows only links that this user or root made.
///
/// # Errors
/// Errors of the system, and if the name is taken by something other than a folder.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let place = FilePlace::make_place(path)?;
    match place.folder().make_folder(place.name()) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let is_folder = place.find_file()?.is_some_and(|found| found.metadata.is_dir());
    if is_folder { Ok(()) } else { Err(io::Error::from(io::ErrorKind::NotADirectory)) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn links_are_followed_where_nobody_else_can_have_made_them() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        replace_file(&file, b"one").unwrap();
        symlink(&file, &link).unwrap();
        replace_file(&link, b"two").unwrap();
        assert!(link.is_symlink());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(replace_file(&link, b"three").unwrap_err().to_string().ends_with("may be written by everybody"));
        assert_eq!(fs::read(&file).unwrap(), b"two");
        fs::write(folder.path().join(format!(".file.{}", std::process::id())), "of one that was killed").unwrap();
        replace_file(&file, b"four").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"four");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no draft stays");
        let (own, inside) = (tempfile::tempdir().unwrap(), folder.path().join("inside"));
        symlink(own.path(), &inside).unwrap();
        assert!(replace_file(&inside.join("file"), b"five").is_err(), "others may have made the link to the folder");
        symlink(own.path(), own.path().join("again")).unwrap();
        replace_file(&own.path().join("again/again/file"), b"five").unwrap();
        symlink("loop", own.path().join("loop")).unwrap();
        assert!(replace_file(&own.path().join("loop"), b"").is_err());
        for wrong in [folder.path().to_owned(), "/dev/null".into(), folder.path().join("none/file")] {
            assert!(replace_file(&wrong, b"").is_err(), "{}", wrong.display());
        }
    }
}
