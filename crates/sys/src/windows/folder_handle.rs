//! Folders that are opened once and then used by handle.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use super::missing::{Never, missing};
pub use crate::values::folder_handle::{FolderError, KernelFiles};

#[derive(Debug)]
pub struct FolderHandle(Never);

/// Methods of a value that there never is.
macro_rules! never {
    ($(fn $name:ident($($kind:ty),*) -> $answer:ty;)*) => {
        $(pub fn $name(&self, $(_: $kind),*) -> $answer {
            match self.0 {}
        })*
    };
}

impl FolderHandle {
    pub fn own(_: &Path, _: bool) -> Result<Self, FolderError> {
        Err(FolderError::Foreign("its owner cannot be determined on this system yet".to_owned()))
    }

    pub fn of_kernel(_: &Path, _: KernelFiles) -> io::Result<Self> {
        missing()
    }

    pub fn any(_: &Path) -> io::Result<Self> {
        missing()
    }

    never! {
        fn open_own(&OsStr) -> io::Result<File>;
        fn let_through() -> io::Result<()>;
        fn create(&OsStr) -> io::Result<File>;
        fn read(&str) -> io::Result<String>;
        fn write(&str, &str) -> io::Result<()>;
        fn make_folder(&OsStr) -> io::Result<()>;
        fn folder(&OsStr) -> io::Result<Self>;
        fn remove_folder(&OsStr) -> io::Result<()>;
        fn remove(&OsStr) -> io::Result<()>;
        fn rename(&OsStr, &OsStr) -> io::Result<()>;
        fn is_name_of(&OsStr, &File) -> bool;
        fn has(&OsStr) -> bool;
        fn names() -> io::Result<Vec<(OsString, bool)>>;
    }
}
