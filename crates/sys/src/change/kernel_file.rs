//! The files and folders that may be changed: only what corewise changes, wherever a journal comes from.
//!
//! A path must match one of a few patterns, and must lie on one of the kernel's own file systems when it is opened.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path};

use crate::os::folder_handle::{FolderHandle, KernelFiles};

/// The files of an interrupt that may be written.
const INTERRUPT_FILES: [&str; 2] = ["smp_affinity", "smp_affinity_list"];
/// Prefix of the names of our own groups.
const OWN_GROUP: &str = "corewise-";

/// A kernel file that may be written.
#[derive(Debug)]
pub(super) struct KernelFile {
    folder: FolderHandle,
    name: &'static str,
}

impl KernelFile {
    /// Opens the folder of a file: /proc/irq/NUMBER/smp_affinity or smp_affinity_list.
    pub fn open_folder_of(path: &Path) -> io::Result<Self> {
        let names: Option<Vec<&str>> =
            path_names(path).map(|names| names.into_iter().filter_map(OsStr::to_str).collect());
        let name = match names.as_deref() {
            Some(["proc", "irq", number, file]) if number.parse::<u32>().is_ok() => {
                INTERRUPT_FILES.into_iter().find(|name| name == file)
            }
            _ => None,
        };
        #[cfg(test)]
        let name = name.or_else(|| names.as_ref().and_then(|_| ground::kernel_file_name(path)));
        let name = name.ok_or_else(|| refusal_error(path, "is no file that corewise changes"))?;
        let folder = of_kernel(path.parent().unwrap_or(path), KernelFiles::Processes)?;
        Ok(Self { folder, name })
    }

    pub fn read_value(&self) -> io::Result<String> {
        self.folder.read_file(self.name)
    }

    pub fn write_value(&self, value: &str) -> io::Result<()> {
        self.folder.write_file(self.name, value)
    }
}

/// Opens a control group of version 2.
pub(super) fn open_group(path: &Path) -> io::Result<FolderHandle> {
    if path_names(path).is_none() {
        return Err(refusal_error(path, "is no control group"));
    }
    of_kernel(path, KernelFiles::Groups)
}

/// Returns the name of a group of our own, which must lie in `home`.
pub(super) fn own_group(path: &Path, home: &Path) -> io::Result<OsString> {
    let name = path.file_name().filter(|_| path_names(path).is_some() && path.parent() == Some(home));
    let name = name.filter(|name| name.as_encoded_bytes().starts_with(OWN_GROUP.as_bytes()) || is_ground(path));
    name.map(OsStr::to_owned).ok_or_else(|| refusal_error(path, "is no control group of corewise's"))
}

fn of_kernel(folder: &Path, files: KernelFiles) -> io::Result<FolderHandle> {
    if is_ground(folder) { FolderHandle::open_any(folder) } else { FolderHandle::of_kernel(folder, files) }
}

/// Returns the names in an absolute path; `None` if it is relative or contains "..".
fn path_names(path: &Path) -> Option<Vec<&OsStr>> {
    let mut components = path.components();
    if components.next() != Some(Component::RootDir) {
        return None;
    }
    let name = |component| if let Component::Normal(name) = component { Some(name) } else { None };
    components.map(name).collect()
}

fn refusal_error(path: &Path, why: &str) -> io::Error {
    io::Error::other(format!("{} {why}", path.display()))
}

/// Returns true if a test uses this folder in place of the machine.
fn is_ground(_path: &Path) -> bool {
    #[cfg(test)]
    return ground::holds_path(_path);
    #[cfg(not(test))]
    false
}

/// A folder of files that stands for the machine, in tests of this crate only.
#[cfg(test)]
pub(crate) mod ground {
    use std::cell::RefCell;
    use std::path::{Path, PathBuf};

    thread_local! {
        static FOLDER: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
    }

    /// Makes a folder stand for the machine on the calling thread.
    pub(crate) fn lay_machine(folder: &Path) {
        FOLDER.set(Some(folder.to_owned()));
    }

    pub(super) fn holds_path(path: &Path) -> bool {
        FOLDER.with_borrow(|folder| folder.as_ref().is_some_and(|folder| path.starts_with(folder)))
    }

    pub(super) fn kernel_file_name(path: &Path) -> Option<&'static str> {
        let name = path.file_name().filter(|_| holds_path(path))?.to_str()?;
        ["file-0", "file-1", "file-2", "smp_affinity_list"].into_iter().find(|known| *known == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_corewise_changes_is_opened() {
        let refused = |path: &str| KernelFile::open_folder_of(Path::new(path)).unwrap_err().to_string();
        for path in [
            "/etc/shadow",
            "/proc/irq/../../etc/shadow",
            "/proc/sys/kernel/core_pattern",
            "/proc/irq/x/smp_affinity",
            "/proc/irq/1/../1/smp_affinity",
            "proc/irq/1/smp_affinity",
            "/tmp/proc/irq/1/smp_affinity",
            "/sys/fs/cgroup/cgroup.procs",
            "",
        ] {
            assert!(refused(path).ends_with("is no file that corewise changes"), "{path}: {}", refused(path));
        }
        let gone = KernelFile::open_folder_of(Path::new("/proc/irq/4000000000/smp_affinity")).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_group_lies_on_the_file_system_of_groups() {
        let place = tempfile::tempdir().unwrap();
        let error = open_group(place.path()).unwrap_err().to_string();
        assert!(error.ends_with("does not lie on the kernel's own file system"), "{error}");
        assert!(open_group(Path::new("/proc/../tmp")).unwrap_err().to_string().ends_with("is no control group"));
        let name = |path: &str, home: &str| own_group(Path::new(path), Path::new(home)).ok();
        assert_eq!(name("/g/corewise-7", "/g"), Some("corewise-7".into()));
        for (path, home) in [("/g/init.scope", "/g"), ("/g/corewise-7", "/h"), ("/g/x/../corewise-7", "/g/x/..")] {
            assert_eq!(name(path, home), None, "{path}");
        }
    }
}
