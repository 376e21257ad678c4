//! The one door for files that are written where the user said: never through a link that somebody else may have made.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use crate::os::files;

/// So many links lead on at most, as in the kernel.
const MOST_LINKS: u32 = 40;

/// Where a file is that is to be written: through links only that nobody but this user and root can have made.
///
/// # Errors
/// Where there is no such folder, where a link is not to be followed, and where something else than a file is there.
pub fn place(path: &Path) -> io::Result<PathBuf> {
    let place = resolve(path)?;
    match place.symlink_metadata() {
        Ok(found) if !found.is_file() => Err(io::Error::other("it is not a regular file")),
        Ok(_) => Ok(place),
        Err(_) if place.parent().is_some_and(Path::is_dir) => Ok(place),
        Err(_) => Err(io::Error::other("there is no such folder")),
    }
}

/// Where something is that is to be written, a device perhaps: through links only that nobody but this user and root can have made.
///
/// # Errors
/// Where a link is not to be followed.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    follow(&std::path::absolute(path)?, MOST_LINKS)
}

/// An absolute path without links.
fn follow(path: &Path, links: u32) -> io::Result<PathBuf> {
    let mut at = PathBuf::new();
    for component in path.components() {
        let folder = at.clone();
        if component == Component::ParentDir {
            at.pop()
        } else {
            at.push(component);
            true
        };
        if !at.is_symlink() {
            continue;
        }
        if links == 0 {
            return Err(io::Error::other("there are too many links on the way"));
        }
        if let Some(why) = files::writers(&folder)? {
            let (link, folder) = (at.display(), folder.display());
            return Err(io::Error::other(format!("{link} is a link, and its folder {folder} {why}")));
        }
        at = follow(&folder.join(at.read_link()?), links - 1)?;
    }
    Ok(at)
}

/// Writes a file beside its place first, then moves it there: who reads it meanwhile has all of the old one or all of the new.
///
/// # Errors
/// As [`place`], and what the system says.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = place(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let draft = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let mut file = match File::create_new(&draft) {
        // A process of the same number was killed before it was done.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(&draft)?;
            File::create_new(&draft)?
        }
        other => other?,
    };
    let written = file.write_all(bytes).and_then(|()| fs::rename(&draft, &path));
    written.inspect_err(|_| drop(fs::remove_file(&draft)))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn links_are_followed_where_nobody_else_can_have_made_them() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        replace(&file, b"one").unwrap();
        symlink(&file, &link).unwrap();
        replace(&link, b"two").unwrap();
        assert!(link.is_symlink());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(replace(&link, b"three").unwrap_err().to_string().ends_with("may be written by everybody"));
        assert_eq!(fs::read(&file).unwrap(), b"two");
        fs::write(folder.path().join(format!(".file.{}", std::process::id())), "of one that was killed").unwrap();
        replace(&file, b"four").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"four");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no draft stays");
        let (own, inside) = (tempfile::tempdir().unwrap(), folder.path().join("inside"));
        symlink(own.path(), &inside).unwrap();
        assert!(replace(&inside.join("file"), b"five").is_err(), "others may have made the link to the folder");
        symlink(own.path(), own.path().join("again")).unwrap();
        replace(&own.path().join("again/again/file"), b"five").unwrap();
        symlink("loop", own.path().join("loop")).unwrap();
        assert!(replace(&own.path().join("loop"), b"").is_err());
        for wrong in [folder.path().to_owned(), "/dev/null".into(), folder.path().join("none/file")] {
            assert!(replace(&wrong, b"").is_err(), "{}", wrong.display());
        }
    }
}
