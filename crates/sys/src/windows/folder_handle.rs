//! Folders that are held open while they are used, so that they cannot be replaced meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_OPEN_REPARSE_POINT;

use super::files::{held_folder, identity_of, look_at, opened_to_ask, others_with, writers_of};
use super::missing::missing_result;
use crate::access_list;
pub use crate::values::folder_handle::{FileIdentity, FileSharing, FolderError, FoundFile, KernelFiles, ReachOptions};

/// Maximum number of links followed at the end of a path.
const MOST_LINKS: u32 = 40;
/// Time for which a file is replaced again and again while others have it open.
const LONGEST_REPLACING: Duration = Duration::from_secs(2);
/// Pause between two tries to replace a file.
const PAUSE_OF_REPLACING: Duration = Duration::from_millis(2);

/// The folder of a file, held open, and the file's name in it.
#[derive(Debug)]
pub struct ReachedFolder {
    pub folder: FolderHandle,
    pub name: OsString,
    pub path: PathBuf,
    pub strangers: Option<String>,
}

/// A folder, by its path without links, held open so that neither it nor a folder above it can be renamed.
#[derive(Debug)]
pub struct FolderHandle {
    path: PathBuf,
    held: File,
}

impl FolderHandle {
    /// Opens a folder in which no other user may write, and which no other user can replace: no folder above it lets others than this user,
    /// administrators and the system replace its contents.
    pub fn open_private(path: &Path, make: bool) -> Result<Self, FolderError> {
        if make {
            fs::create_dir_all(path)?;
        }
        let folder = Self::open_any(path)?;
        if let Some(why) = folder.other_writers()? {
            return Err(FolderError::Foreign(format!("{} {why}", show_path(&folder.path))));
        }
        match folder.foreign_owners()? {
            Some(why) => Err(FolderError::Foreign(why)),
            None => Ok(folder),
        }
    }

    /// Returns why others may replace this folder.
    fn foreign_owners(&self) -> io::Result<Option<String>> {
        for way in self.path.ancestors().skip(1) {
            let is_top = way.parent().is_none();
            let rights = if is_top { access_list::REPLACE & !access_list::DELETE } else { access_list::REPLACE };
            if let Some(why) = others_with(&opened_to_ask(way, false)?, rights)? {
                return Ok(Some(format!("{} {why}", show_path(way))));
            }
        }
        // If its path still leads to it, the path is the one by which it was reached.
        let is_here = self.path.canonicalize()? == self.path;
        Ok((!is_here).then(|| "another folder was put in its place".to_owned()))
    }

    /// Reaches the folder of a file and holds it. Follows no link that others can have made.
    pub fn reach_folder(path: &Path, options: ReachOptions) -> io::Result<ReachedFolder> {
        let mut path = std::path::absolute(path)?;
        for _ in 0..MOST_LINKS {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
                let folder = Self::open_any(&path)?;
                return Ok(ReachedFolder { folder, name: ".".into(), path, strangers: None });
            };
            check_links(folder)?;
            if options.make.is_some() {
                fs::create_dir_all(folder)?;
            }
            let folder = Self::open_any(folder)?;
            let place = folder.path.join(name);
            if !options.follows_last || !place.is_symlink() {
                let (name, strangers) = (name.to_owned(), folder.foreign_owners()?);
                return Ok(ReachedFolder { folder, name, path: dunce::simplified(&place).to_owned(), strangers });
            }
            check_links(&place)?;
            path = folder.path.join(place.read_link()?);
        }
        Err(io::Error::other("there are too many links on the way"))
    }

    pub fn open_any(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let held = held_folder(&path)?;
        match held.metadata()?.is_dir() {
            true => Ok(Self { path, held }),
            false => Err(io::Error::from(io::ErrorKind::NotADirectory)),
        }
    }

    pub fn of_kernel(_: &Path, _: KernelFiles) -> io::Result<Self> {
        missing_result()
    }

    pub fn let_through(&self) -> io::Result<()> {
        Ok(())
    }

    pub fn open_own(&self, name: &OsStr) -> io::Result<File> {
        let file = open_options().open(self.path.join(name))?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        writers_of(&file)?.map_or(Ok(file), |why| Err(io::Error::other(format!("it {why}"))))
    }

    pub fn create_file(&self, name: &OsStr) -> io::Result<File> {
        self.create_as(name, FileSharing::Private)
    }

    /// Makes a file. It gets the access list of its folder.
    pub fn create_as(&self, name: &OsStr, _: FileSharing) -> io::Result<File> {
        open_options().create_new(true).open(self.path.join(name))
    }

    pub fn open_to_read(&self, name: &OsStr) -> io::Result<File> {
        let opened =
            OpenOptions::new().read(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(self.path.join(name))?;
        match opened.metadata()?.is_symlink() {
            true => Err(io::Error::other("it is a link in a folder that others may write in")),
            false => Ok(opened),
        }
    }

    pub fn open_device(&self, _: &OsStr) -> io::Result<File> {
        Err(io::Error::other("it is not a regular file"))
    }

    pub fn other_writers(&self) -> io::Result<Option<String>> {
        writers_of(&self.held)
    }

    pub fn find_file(&self, name: &OsStr) -> io::Result<Option<FoundFile>> {
        match opened_to_ask(&self.path.join(name), false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => look_at(&found?).map(Some),
        }
    }

    pub fn read_file(&self, name: &str) -> io::Result<String> {
        fs::read_to_string(self.path.join(name))
    }

    pub fn write_file(&self, name: &str, value: &str) -> io::Result<()> {
        fs::write(self.path.join(name), value)
    }

    pub fn make_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::create_dir(self.path.join(name))
    }

    /// Opens a folder in it; a link is not followed.
    pub fn open_folder(&self, name: &OsStr) -> io::Result<Self> {
        let place = self.path.join(name);
        let folder = Self::open_any(&place)?;
        if place.is_symlink() { Err(io::Error::from(io::ErrorKind::NotADirectory)) } else { Ok(folder) }
    }

    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_dir(self.path.join(name))
    }

    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    pub fn rename_durably(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.replace_file(from, to)
    }

    /// Puts a file in the place of another. While somebody reads the other one, Windows may refuse: tries again for a while.
    pub fn replace_file(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let begun = Instant::now();
        loop {
            match fs::rename(self.path.join(from), self.path.join(to)) {
                Err(error)
                    if error.kind() == io::ErrorKind::PermissionDenied && begun.elapsed() < LONGEST_REPLACING =>
                {
                    thread::sleep(PAUSE_OF_REPLACING);
                }
                result => return result,
            }
        }
    }

    /// Returns true if a name is that of an open file.
    pub fn is_name_of(&self, name: &OsStr, file: &File) -> bool {
        let named = opened_to_ask(&self.path.join(name), false);
        named.and_then(|named| Ok(identity_of(&named)? == identity_of(file)?)).unwrap_or(false)
    }

    pub fn has_name(&self, name: &OsStr) -> bool {
        self.path.join(name).symlink_metadata().is_ok()
    }

    pub fn list_names(&self) -> io::Result<Vec<(OsString, bool)>> {
        let name = |entry: io::Result<fs::DirEntry>| {
            let entry = entry?;
            Ok((entry.file_name(), entry.file_type()?.is_dir()))
        };
        fs::read_dir(&self.path)?.map(name).collect()
    }
}

/// Refuses a path with a link in a folder that others may write in.
fn check_links(path: &Path) -> io::Result<()> {
    for link in path.ancestors().filter(|way| way.is_symlink()) {
        let Some(folder) = link.parent() else { continue };
        if let Some(why) = writers_of(&opened_to_ask(folder, true)?)? {
            let (link, folder) = (show_path(link), show_path(folder));
            return Err(io::Error::other(format!(
                "{link} is a link in a folder that others may write in: {folder} {why}"
            )));
        }
    }
    Ok(())
}

/// Formats a path without the prefix of extended paths.
fn show_path(path: &Path) -> String {
    let path = path.display().to_string();
    path.strip_prefix(r"\\?\").map_or(path.clone(), str::to_owned)
}

fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    options
}
