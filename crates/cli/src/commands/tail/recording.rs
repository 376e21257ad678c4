//! Recordings of stalls with the kernel's events: JSON, packed by gzip.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, ErrorKind, Read as _, Write as _};
use std::path::Path;

use corewise_model::survey::Recording;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use crate::shell::failure::Failure;

/// What the file says it is.
const SCHEMA: &str = "corewise/stalls/1";
/// No recording is larger, unpacked, in bytes.
const LARGEST_BYTES: u64 = 4 << 30;

#[derive(Serialize)]
struct Written<'a> {
    schema: &'static str,
    recording: &'a Recording,
}

#[derive(Deserialize)]
struct Found {
    schema: String,
    recording: Recording,
}

/// Makes the file; nothing is overwritten.
pub fn create(path: &Path) -> Result<File, Failure> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| {
        let failure = Failure::unavailable(format!("cannot write {}: {error}", path.display()));
        match error.kind() {
            ErrorKind::AlreadyExists => {
                failure.next("corewise overwrites nothing: choose another name, or remove the file.")
            }
            _ => failure.next("Choose a file in a folder that you may write to."),
        }
    })
}

/// Writes a recording.
pub fn write(file: File, recording: &Recording) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::unavailable(format!("cannot write the recording: {error}"));
    let mut packed = GzEncoder::new(BufWriter::new(file), Compression::fast());
    serde_json::to_writer(&mut packed, &Written { schema: SCHEMA, recording }).map_err(|error| failed(&error))?;
    packed.finish().and_then(|mut file| file.flush()).map_err(|error| failed(&error))
}

/// Reads a recording.
pub fn read(path: &Path) -> Result<Recording, Failure> {
    let file =
        File::open(path).map_err(|error| Failure::unavailable(format!("cannot read {}: {error}", path.display())))?;
    let unpacked = GzDecoder::new(BufReader::new(file)).take(LARGEST_BYTES);
    let found: Found = serde_json::from_reader(BufReader::new(unpacked)).map_err(|error| {
        Failure::unavailable(format!("{} is not a recording of stalls: {error}", path.display()))
            .next("Make one with `corewise tail --explain --record FILE`.")
    })?;
    if found.schema != SCHEMA {
        let what = format!("{} is a different kind of file: {}, not {SCHEMA}", path.display(), found.schema);
        return Err(Failure::unavailable(what).next("A newer corewise may read it."));
    }
    Ok(found.recording)
}
