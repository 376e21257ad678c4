//! The one door for files that somebody else may have written: recordings, matrices, suites, articles, machine files, replays.
//!
//! What comes through it is a regular file of bounded size, so that nothing waits for the other end of a pipe or reads a device without
//! end. No link is followed in a folder that others may write in. JSON is bounded by its number of values, too: a few characters of it
//! may become a large value in memory.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::error::SysError;
use crate::os::files;

/// The largest file of settings or of commands that is read, in bytes: machine files, suites, articles.
pub const SETTINGS_BYTES: u64 = 1 << 20;

/// The most values of a JSON file that are read: commas, brackets and braces count. Together with [`JSON_BYTES`] it keeps what becomes of
/// any file below 256 MB of memory (tests/memory.rs).
pub const JSON_VALUES: u64 = 3_000_000;

/// The largest JSON file that is read, unpacked, in bytes.
pub const JSON_BYTES: u64 = 64 << 20;

/// A file that was opened, to be read up to a number of bytes. Reading more is an error, [`io::ErrorKind::FileTooLarge`].
#[derive(Debug)]
pub struct Input {
    file: File,
    path: PathBuf,
    most_bytes: u64,
    left: u64,
}

impl Input {
    /// Opens a file.
    ///
    /// # Errors
    /// [`SysError::Read`] where it cannot be opened, is no regular file, is larger, or is a link in a folder that others may write in.
    pub fn open(path: &Path, most_bytes: u64) -> Result<Self, SysError> {
        let failed = |source| SysError::Read { path: path.to_owned(), source };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let follow = folder.metadata().is_ok_and(|folder| files::writers(&folder).is_none());
        let file = files::open_to_read(path, follow).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            let what = if metadata.is_dir() { "it is a folder" } else { files::special(metadata.file_type()) };
            return Err(failed(io::Error::other(what)));
        }
        if metadata.len() > most_bytes {
            return Err(failed(too_large(most_bytes)));
        }
        Ok(Self { file, path: path.to_owned(), most_bytes, left: most_bytes })
    }

    /// Who else may have written it, in a sentence: the file, or the folder that it lies in, belongs to somebody else, or others may write
    /// there. Nothing where only this user and root may: what it says may be executed.
    pub fn writers(&self) -> Option<String> {
        let of = |what: &str, metadata: io::Result<std::fs::Metadata>| match metadata {
            Ok(metadata) => files::writers(&metadata).map(|why| format!("{what} {why}")),
            Err(error) => Some(format!("{what} cannot be looked at: {error}")),
        };
        let folder = self.path.canonicalize().and_then(|path| path.parent().unwrap_or(Path::new("/")).metadata());
        of("the file", self.file.metadata()).or_else(|| of("its folder", folder))
    }

    /// The whole text.
    ///
    /// # Errors
    /// [`SysError::Read`] where it is too large or not UTF-8.
    pub fn text(mut self) -> Result<String, SysError> {
        let mut text = String::new();
        match self.read_to_string(&mut text) {
            Ok(_) => Ok(text),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(SysError::Read {
                path: self.path,
                source: io::Error::other("it is not UTF-8 text: save it as UTF-8"),
            }),
            Err(source) => Err(SysError::Read { path: self.path, source }),
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| too_large(self.most_bytes))?;
        Ok(count)
    }
}

/// The text of a file of settings or commands.
///
/// # Errors
/// As [`Input::open`] and [`Input::text`].
pub fn settings(path: &Path) -> Result<String, SysError> {
    Input::open(path, SETTINGS_BYTES)?.text()
}

/// A value of JSON that comes from outside, within [`JSON_BYTES`] and [`JSON_VALUES`].
///
/// # Errors
/// What is wrong with it, or that it is too large.
pub fn json<T: DeserializeOwned>(reader: impl Read) -> serde_json::Result<T> {
    serde_json::from_reader(BufReader::new(Values::new(reader)))
}

fn too_large(most: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {most} bytes"))
}

/// A reader or writer of JSON that ends in an error where it has more values, or more bytes, than [`json`] reads.
#[derive(Debug)]
pub struct Values<T> {
    inner: T,
    values: u64,
    bytes: u64,
}

impl<T> Values<T> {
    /// Nothing yet.
    pub fn new(inner: T) -> Self {
        Self { inner, values: JSON_VALUES, bytes: JSON_BYTES }
    }

    /// What it reads from or writes to.
    pub fn into_inner(self) -> T {
        self.inner
    }

    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        let values = bytes.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        let too_many = || io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {JSON_VALUES} values"));
        self.values = self.values.checked_sub(values as u64).ok_or_else(too_many)?;
        self.bytes = self.bytes.checked_sub(bytes.len() as u64).ok_or_else(|| too_large(JSON_BYTES))?;
        Ok(())
    }
}

impl<R: Read> Read for Values<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.pass(&buffer[..count])?;
        Ok(count)
    }
}

impl<W: Write> Write for Values<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.pass(buffer)?;
        self.inner.write_all(buffer)?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
