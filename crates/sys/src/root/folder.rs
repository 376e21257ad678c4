//! A recording as a folder, held open. No symbolic link below it is followed, so that it cannot lead anywhere else.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::disk::{list_folder, read_open_file};
use super::files::RecordedFiles;
use super::paths::CPUID;
use super::read_archive;
use crate::error::SysError;
use crate::input::{InputFile, InputKind};
use crate::os::folder_handle::{FolderHandle, FoundFile};
use crate::values::own_files::LOGICAL_PROCESSORS;

/// Maximum depth of the machine below the given folder: "name/fsroot".
const DEEPEST: usize = 4;

/// Maximum number of folders searched for the machine.
const MOST_FOLDERS: usize = 1_000;

/// Folders and inline files that mark a machine.
const SIGNS: [&str; 5] =
    ["sys/devices/system/cpu", "proc/cpuinfo", LOGICAL_PROCESSORS, "sys/inlinefiles.txt", "inlinefiles.txt"];

/// The folder that holds the machine's `sys` and `proc`.
#[derive(Debug)]
pub struct RecordedFolder {
    base: FolderHandle,
    dump: Option<FolderHandle>,
}

/// Result of searching a folder.
#[derive(Debug)]
pub enum FolderMatch {
    /// A machine's files.
    Folder(RecordedFolder),
    /// The contents of an inline file.
    Files(RecordedFiles),
}

/// Finds the machine in a folder; `path` is the user's path, `real` the resolved one.
pub fn open(path: &Path, real: PathBuf) -> Result<FolderMatch, SysError> {
    let folders = folders_below(&real);
    let dump = folders.iter().find(|folder| is_file(&folder.join("pu0"))).cloned();
    let machines =
        outermost_folders(folders.iter().filter(|folder| SIGNS.iter().any(|sign| is_real(&folder.join(sign)))));
    if machines.len() > 1 {
        return Err(SysError::SeveralRecordings { path: path.to_owned(), names: format_folders(&machines, &real) });
    }
    let base = machines.first().map(|folder| folder.to_path_buf());
    let Some(base) = base.or_else(|| dump.clone()) else {
        let why = "no sys/devices/system/cpu in it".to_owned();
        return Err(SysError::NotARecording { path: path.to_owned(), why });
    };
    let inline = SIGNS[3..].iter().map(|name| base.join(name)).find(|file| is_file(file));
    let read_error = |source| SysError::Read { path: path.to_owned(), source };
    let folder = RecordedFolder::hold_folder(&base, dump.as_deref()).map_err(read_error)?;
    match inline {
        Some(file) => with_inline(&folder, &file).map(FolderMatch::Files),
        None => Ok(FolderMatch::Folder(folder)),
    }
}

/// Drops folders that are below another of them: folders below a machine belong to it.
fn outermost_folders<'a>(folders: impl Iterator<Item = &'a PathBuf>) -> Vec<&'a Path> {
    let mut found: Vec<&Path> = Vec::new();
    for folder in folders {
        if !found.iter().any(|outer| folder.starts_with(outer)) {
            found.push(folder);
        }
    }
    found
}

/// Maximum number of recordings that are named.
const MOST_NAMES: usize = 8;

/// Formats folders relative to the given one, up to the maximum.
fn format_folders(folders: &[&Path], top: &Path) -> String {
    let name = |folder: &&Path| folder.strip_prefix(top).unwrap_or(folder).join("").display().to_string();
    let shown = folders.iter().take(MOST_NAMES).map(name).collect::<Vec<_>>().join(", ");
    match folders.len().saturating_sub(MOST_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Reads an inline file, and the few files beside it.
fn with_inline(folder: &RecordedFolder, file: &Path) -> Result<RecordedFiles, SysError> {
    let mut files = read_archive(file, InputFile::open(file, InputKind::MachineArchive)?)?;
    for path in ["proc/cpuinfo", "proc/version", "proc/self/status", "proc/meminfo"] {
        if let Some(text) = folder.read_text(path) {
            files.insert_file(path.to_owned(), text);
        }
    }
    Ok(files)
}

/// Returns the folder itself and those below it, nearest first, without links.
fn folders_below(top: &Path) -> Vec<PathBuf> {
    let mut found = vec![top.to_owned()];
    let mut level = 0..1;
    for _ in 0..DEEPEST {
        let begin = found.len();
        for at in level {
            let below = list_folder(&found[at]).into_iter().map(|name| found[at].join(name));
            let below: Vec<PathBuf> =
                below.filter(|path| is_folder(path)).take(MOST_FOLDERS - begin.min(MOST_FOLDERS)).collect();
            found.extend(below);
            if found.len() >= MOST_FOLDERS {
                return found;
            }
        }
        level = begin..found.len();
    }
    found
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

fn is_real(path: &Path) -> bool {
    is_folder(path) || is_file(path)
}

impl RecordedFolder {
    fn hold_folder(base: &Path, dump: Option<&Path>) -> io::Result<Self> {
        let dump = dump.map(FolderHandle::open_any).transpose()?;
        Ok(Self { base: FolderHandle::open_any(base)?, dump })
    }

    pub fn read_text(&self, path: &str) -> Option<String> {
        let place = self.reach_place(path)?;
        let file = place.folder().open_to_read(place.name?).ok()?;
        if file.metadata().ok()?.is_file() { read_open_file(file) } else { None }
    }

    pub fn list_folder(&self, path: &str) -> Vec<String> {
        let listed = || {
            let place = self.reach_place(path)?;
            let inner = place.name.map(|name| place.folder().open_folder(name)).transpose().ok()?;
            inner.as_ref().unwrap_or(place.folder()).list_names().ok()
        };
        let names = listed().unwrap_or_default().into_iter();
        let mut names: Vec<String> = names.filter_map(|(name, _)| name.into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    pub fn path_exists(&self, path: &str) -> bool {
        let Some(place) = self.reach_place(path) else { return false };
        let found = place.name.map_or(Ok(None), |name| place.folder().find_file(name));
        let is_real = |found: FoundFile| found.metadata.is_dir() || found.metadata.is_file();
        place.name.is_none() || found.is_ok_and(|found| found.is_some_and(is_real))
    }

    /// Opens the folder of a path, one folder in the other: no link leads out of the base.
    fn reach_place<'a>(&'a self, path: &'a str) -> Option<RecordedPlace<'a>> {
        let (base, path) = match (&self.dump, path.strip_prefix(CPUID)) {
            (Some(dump), Some(rest)) => (dump, rest),
            _ => (&self.base, path),
        };
        let mut place = RecordedPlace { base, inner: None, name: None };
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if name == ".." || name == "." {
                return None;
            }
            if let Some(folder) = place.name.replace(OsStr::new(name)) {
                place.inner = Some(place.folder().open_folder(folder).ok()?);
            }
        }
        Some(place)
    }
}

/// A path in a recording: its folder and its name there; the name is `None` for the base itself.
struct RecordedPlace<'a> {
    base: &'a FolderHandle,
    inner: Option<FolderHandle>,
    name: Option<&'a OsStr>,
}

impl RecordedPlace<'_> {
    fn folder(&self) -> &FolderHandle {
        self.inner.as_ref().unwrap_or(self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, path: &str, text: &str) {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn machine() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "name/fsroot/sys/devices/system/cpu/online", "0-1\n");
        write(folder.path(), "name/fsroot/sys/devices/system/cpu/cpu0/topology/core_id", "0\n");
        folder
    }

    fn opened(folder: &Path) -> RecordedFolder {
        match open(folder, folder.to_owned()).unwrap() {
            FolderMatch::Folder(folder) => folder,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_machine_may_be_in_a_folder_below() {
        let folder = machine();
        let opened = opened(folder.path());
        assert_eq!(opened.read_text("sys/devices/system/cpu/online").as_deref(), Some("0-1\n"));
        assert_eq!(opened.list_folder("sys/devices/system/cpu"), ["cpu0", "online"]);
        assert!(
            opened.path_exists("sys/devices/system/cpu/cpu0") && !opened.path_exists("sys/devices/system/cpu/cpu1")
        );
        assert_eq!(opened.read_text("sys/devices/system/cpu"), None, "a folder has no text");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_dots_do_not_lead_out() {
        let folder = machine();
        write(folder.path(), "secret", "text");
        let base = folder.path().join("name/fsroot");
        std::os::unix::fs::symlink(folder.path(), base.join("out")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), base.join("file")).unwrap();
        let opened = opened(folder.path());
        assert!(base.join("out/secret").exists(), "the link itself works");
        assert_eq!(opened.read_text("out/secret"), None);
        assert_eq!(opened.read_text("file"), None);
        assert_eq!(opened.read_text("../../secret"), None);
        assert_eq!(opened.read_text("/../../secret"), None);
        assert_eq!(opened.list_folder("out"), [""; 0]);
    }

    #[test]
    fn a_dump_of_cpuid_is_found_by_its_files() {
        let folder = machine();
        write(folder.path(), "name/cpuid/pu0", "1 0");
        let opened = opened(folder.path());
        assert_eq!(
            (opened.list_folder("cpuid"), opened.read_text("cpuid/pu0").as_deref()),
            (vec!["pu0".to_owned()], Some("1 0"))
        );
        assert_eq!(opened.read_text("cpuid/../../secret"), None);
    }

    #[test]
    fn of_several_machines_none_is_chosen() {
        let folder = machine();
        write(folder.path(), "other/sys/devices/system/cpu/online", "0-3\n");
        write(folder.path(), "other/sys/proc/cpuinfo", "what is below a machine is part of it");
        let error = open(Path::new("there"), folder.path().to_owned()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "several machines are in there: other{0}, name{0}fsroot{0}; name one of these folders",
                std::path::MAIN_SEPARATOR
            )
        );
        assert!(open(Path::new("other"), folder.path().join("other")).is_ok());
    }

    #[test]
    fn a_folder_without_a_machine_is_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let error = open(Path::new("there"), folder.path().to_owned()).unwrap_err();
        assert_eq!(error.to_string(), "there is not a recorded machine: no sys/devices/system/cpu in it");
    }

    #[test]
    fn an_inline_file_in_a_folder_is_read_with_its_cpuinfo() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "m/sys/inlinefiles.txt", "ro|/sys/devices/system/cpu/online|0\n");
        write(folder.path(), "m/proc/cpuinfo", "processor : 0\n");
        let FolderMatch::Files(files) = open(folder.path(), folder.path().to_owned()).unwrap() else { panic!() };
        assert_eq!(files.file_text("sys/devices/system/cpu/online"), Some("0"));
        assert_eq!(files.file_text("proc/cpuinfo"), Some("processor : 0\n"));
    }
}
