//! The one door for files that someone else may have written: recordings, matrices, suites, articles, machine files, replays.
//!
//! Every input is a regular file of bounded size, so that reading waits for no pipe and ends. No link is followed in a folder that others
//! may write in. JSON is also bounded by its estimated size in memory, since a few characters may become a large value.

mod kind;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::SysError;
use crate::file_place::{FileOrigin, FilePlace};
use crate::os::files;

pub use kind::{InputKind, JSON_BYTES, describe_input_kinds};

/// Maximum memory of a JSON file's value, in bytes, by an estimate made while its text is read. Strings and numbers take more memory than
/// space in a file; the largest survey of a thousand cpus takes some 30 MB.
pub const JSON_MEMORY_BYTES: u64 = 128 << 20;

/// An opened file, to be read up to a number of bytes. Reading more is an error, [`io::ErrorKind::FileTooLarge`].
#[derive(Debug)]
pub struct InputFile {
    file: File,
    path: PathBuf,
    origin: FileOrigin,
    most_bytes: u64,
    left: u64,
}

impl InputFile {
    /// Opens a file.
    ///
    /// # Errors
    /// [`SysError::Read`] if it cannot be opened, is no regular file, is larger than its kind allows, or is reached by a link that others
    /// can have made.
    pub fn open(path: &Path, kind: InputKind) -> Result<Self, SysError> {
        let failed = |source| SysError::Read { path: path.to_owned(), source };
        let (file, origin) = FilePlace::find_place(path).and_then(|place| place.open_to_read()).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            let what = if metadata.is_dir() { "it is a folder" } else { files::special_kind(metadata.file_type()) };
            return Err(failed(io::Error::other(what)));
        }
        let most_bytes = kind.most_bytes();
        if metadata.len() > most_bytes {
            return Err(failed(too_large(most_bytes)));
        }
        Ok(Self { file, path: path.to_owned(), origin, most_bytes, left: most_bytes })
    }

    /// Returns the file's identity, and the other users that may have written it.
    pub fn origin(&self) -> &FileOrigin {
        &self.origin
    }

    /// Seeks to a position in the file, from which as much may be read as from its beginning.
    ///
    /// # Errors
    /// The system's error.
    pub fn seek_to(&mut self, place: u64) -> io::Result<()> {
        self.left = self.most_bytes;
        self.file.seek(SeekFrom::Start(place)).map(drop)
    }

    /// Reads the whole text; returns it with the origin of its file.
    ///
    /// # Errors
    /// As [`Self::read_text`].
    pub fn text_with_origin(self) -> Result<(String, FileOrigin), SysError> {
        let origin = self.origin.clone();
        Ok((self.read_text()?, origin))
    }

    /// Reads all lines, including lines that are not UTF-8.
    ///
    /// # Errors
    /// [`SysError::Read`] if it is too large or cannot be read.
    pub fn read_lines(self) -> Result<Vec<Vec<u8>>, SysError> {
        Ok(self.read_bytes()?.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect())
    }

    /// Reads all of its bytes.
    ///
    /// # Errors
    /// [`SysError::Read`] if it is too large or cannot be read.
    pub fn read_bytes(mut self) -> Result<Vec<u8>, SysError> {
        let mut bytes = Vec::new();
        match self.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(source) => Err(SysError::Read { path: self.path, source }),
        }
    }

    /// Reads the whole text.
    ///
    /// # Errors
    /// [`SysError::Read`] if it is too large or not UTF-8.
    pub fn read_text(mut self) -> Result<String, SysError> {
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

impl Read for InputFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| too_large(self.most_bytes))?;
        Ok(count)
    }
}

/// Removes a file that is about to be written anew, so that old contents are not taken for new. Does nothing if there is none.
///
/// # Errors
/// [`SysError::Read`] if it is no regular file, such as a link, or cannot be removed.
pub fn remove_stale(path: &Path) -> Result<(), SysError> {
    let removed = FilePlace::find_itself(path).and_then(|place| match place.find_file()? {
        Some(found) if !found.metadata.is_file() => Err(io::Error::other("it is no regular file, and is not replaced")),
        Some(_) => place.folder().remove_file(place.name()),
        None => Ok(()),
    });
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(SysError::Read { path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// Opens a file that a command of the user reads, of any size.
///
/// # Errors
/// Errors of the system.
pub fn open_for_command(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Lists the contents of a folder, in no order. Opening these paths checks the files anew.
///
/// # Errors
/// Errors of the system, and a link that is not followed.
pub fn list_folder(path: &Path) -> io::Result<Vec<PathBuf>> {
    let place = FilePlace::find_place(path)?;
    let names = place.folder().open_folder(place.name())?.list_names()?;
    Ok(names.into_iter().map(|(name, _)| path.join(name)).collect())
}

/// Reads the text of a file.
///
/// # Errors
/// As [`InputFile::open`] and [`InputFile::read_text`].
pub fn read_text(path: &Path, kind: InputKind) -> Result<String, SysError> {
    InputFile::open(path, kind)?.read_text()
}

/// Reads a JSON value from outside, within [`JSON_BYTES`] and [`JSON_MEMORY_BYTES`].
///
/// # Errors
/// If it is malformed or too large.
#[cfg(feature = "changes")]
pub fn read_json<T: serde::de::DeserializeOwned>(mut reader: impl Read) -> serde_json::Result<T> {
    // One type of reader for all: serde compiles the reading of every type once for each.
    let reader: &mut dyn Read = &mut reader;
    serde_json::from_reader(io::BufReader::new(WeighedJson::new(reader)))
}

fn too_large(most: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {most} bytes"))
}

/// A reader or writer of JSON that fails as soon as the value exceeds the limits of [`read_json`].
#[derive(Debug)]
pub struct WeighedJson<T> {
    inner: T,
    bytes: u64,
    memory: u64,
    place: JsonPlace,
}

/// State of the reader in a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JsonPlace {
    Outside,
    InString,
    Escaped,
    /// After a string, which may be a name: names take no memory.
    Behind,
}

/// Maximum memory of a number, a list or an object.
const VALUE_BYTES: u64 = 10;
/// Maximum memory of an empty string, or an empty set of cpus.
const STRING_BYTES: u64 = 48;
/// Maximum memory per byte of a string, as in a list of cpus.
const CHARACTER_BYTES: u64 = 4;

impl<T> WeighedJson<T> {
    /// Starts with nothing read or written.
    pub fn new(inner: T) -> Self {
        Self { inner, bytes: JSON_BYTES, memory: JSON_MEMORY_BYTES, place: JsonPlace::Outside }
    }

    /// Returns the underlying reader or writer.
    pub fn into_inner(self) -> T {
        self.inner
    }

    fn weigh_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut memory = 0;
        for byte in bytes {
            memory += match (self.place, byte) {
                (JsonPlace::InString, b'\"' | b'\\') | (JsonPlace::Escaped, _) => 0,
                (JsonPlace::InString, _) => CHARACTER_BYTES,
                (JsonPlace::Behind, b',' | b'[' | b'{') => STRING_BYTES + VALUE_BYTES,
                (JsonPlace::Behind, b']' | b'}') => STRING_BYTES,
                (_, b',' | b'[' | b'{') => VALUE_BYTES,
                _ => 0,
            };
            self.place = match (self.place, byte) {
                (JsonPlace::InString, b'\\') => JsonPlace::Escaped,
                (JsonPlace::InString, b'"') => JsonPlace::Behind,
                (JsonPlace::InString | JsonPlace::Escaped, _) | (_, b'"') => JsonPlace::InString,
                (JsonPlace::Behind, b' ' | b'\n' | b'\r' | b'\t') => JsonPlace::Behind,
                _ => JsonPlace::Outside,
            };
        }
        let too_much = || {
            let most = JSON_MEMORY_BYTES >> 20;
            io::Error::new(io::ErrorKind::FileTooLarge, format!("it would take more than {most} MiB of memory"))
        };
        self.memory = self.memory.checked_sub(memory).ok_or_else(too_much)?;
        self.bytes = self.bytes.checked_sub(bytes.len() as u64).ok_or_else(|| too_large(JSON_BYTES))?;
        Ok(())
    }
}

impl<R: Read> Read for WeighedJson<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.weigh_bytes(&buffer[..count])?;
        Ok(count)
    }
}

impl<W: Write> Write for WeighedJson<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.weigh_bytes(buffer)?;
        self.inner.write_all(buffer)?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(text: &str) -> u64 {
        let mut weighed = WeighedJson::new(io::sink());
        // In pieces, as files come.
        text.as_bytes().chunks(3).for_each(|piece| weighed.weigh_bytes(piece).unwrap());
        JSON_MEMORY_BYTES - weighed.memory
    }

    #[test]
    fn names_weigh_nothing_and_strings_what_they_may_become() {
        assert_eq!(weight("1"), 0);
        assert_eq!(weight("[1,2]"), 2 * VALUE_BYTES);
        assert_eq!(weight(r#"{"name": 1}"#), VALUE_BYTES + 4 * CHARACTER_BYTES);
        assert_eq!(weight(r#"["", ""]"#), 2 * (VALUE_BYTES + STRING_BYTES));
        assert_eq!(weight(r#"["a\"]," ]"#), VALUE_BYTES + STRING_BYTES + 3 * CHARACTER_BYTES);
    }

    #[test]
    fn what_would_become_too_large_is_refused_by_readers_and_writers_alike() {
        let large = vec![String::new(); 3_000_000];
        let error = serde_json::to_writer(WeighedJson::new(io::sink()), &large).unwrap_err();
        assert!(error.to_string().contains("more than 128 MiB of memory"), "{error}");
        let text = serde_json::to_vec(&large).unwrap();
        assert!(read_json::<Vec<String>>(text.as_slice()).is_err());
        assert_eq!(read_json::<Vec<String>>(&b"[\"\"]"[..]).unwrap(), [""]);
    }
}
