//! The folder of journals: who may write in it, and the names of the files.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::lines::Header;
use crate::error::SysError;
use crate::os::files;

const SUFFIX: &str = "journal";

/// Makes the folder where it is missing, for this user alone.
pub(super) fn prepare(folder: &Path) -> Result<(), SysError> {
    files::make_private_folder(folder).map_err(|source| SysError::Journal { path: folder.to_owned(), source })?;
    check(folder)
}

/// Whoever can write a journal can have files written by whoever undoes it: both must be the same user.
pub(super) fn check(folder: &Path) -> Result<(), SysError> {
    let refused = |why: String| SysError::JournalRefused { path: folder.to_owned(), why };
    let metadata = fs::metadata(folder).map_err(|source| SysError::Read { path: folder.to_owned(), source })?;
    if !metadata.is_dir() {
        return Err(refused("it is not a folder".into()));
    }
    files::foreign(&metadata).map_or(Ok(()), |why| Err(refused(why)))
}

/// Makes the file of a new journal, under a name that no reader looks at. It tells the boot, the process and its start, so
/// that no two have the same.
pub(super) fn create(folder: &Path, header: &Header) -> io::Result<(PathBuf, File)> {
    let name = format!("{}-{}-{}.new", header.boot, header.process.id, header.process.start_ticks);
    let path = folder.join(name);
    let file = files::create_private(&path)?;
    Ok((path, file))
}

/// Gives a journal the name under which it is found; the name, too, is to outlive a crash of the file system.
pub(super) fn give_name(folder: &Path, nameless: &Path) -> io::Result<PathBuf> {
    let stem = nameless.file_stem().unwrap_or_default();
    let number = |number| if number == 1 { String::new() } else { format!("-{number}") };
    let names = (1..).map(|n| folder.join(format!("{}{}.{SUFFIX}", stem.to_string_lossy(), number(n))));
    let path = names.into_iter().find(|path| !path.exists()).unwrap_or_default();
    fs::rename(nameless, &path)?;
    File::open(folder)?.sync_all()?;
    Ok(path)
}

/// The journals in a folder; none where there is no folder.
pub(super) fn list(folder: &Path) -> Result<Vec<PathBuf>, SysError> {
    let read_error = |source| SysError::Read { path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(read_error)?,
    };
    check(folder)?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(read_error)?.path();
        if path.extension().is_some_and(|extension| extension == SUFFIX) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Opens a journal that is there; no link, and nobody else's.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let file = files::open_itself(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    files::foreign(&metadata).map_or(Ok(file), |why| Err(io::Error::other(why)))
}
