//! Recordings of stalls with the kernel's events: JSON, packed by gzip.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Write as _};
use std::path::Path;

use corewise_machine::suggested_command;
use corewise_model::survey::Recording;
use corewise_sys::input::{self, Input, InputKind, Weighed};
use corewise_sys::output::OutputPlace;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use crate::app::failure::Failure;
use crate::draw::suggestion;

/// The schema named in the file.
const SCHEMA: &str = "corewise/stalls/1";

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

/// Creates the file; overwrites nothing.
pub fn create(path: &Path) -> Result<(OutputPlace, File), Failure> {
    let made = OutputPlace::reach(path).and_then(|place| place.create_new().map(|file| (place, file)));
    made.map_err(|error| {
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
    let mut packed = Weighed::new(GzEncoder::new(BufWriter::new(file), Compression::fast()));
    serde_json::to_writer(&mut packed, &Written { schema: SCHEMA, recording }).map_err(|error| {
        failed(&error).next("A shorter --budget, fewer --cpus or a higher --threshold makes a smaller recording.")
    })?;
    packed.into_inner().finish().and_then(|mut file| file.flush()).map_err(|error| failed(&error))
}

/// Reads a recording.
pub fn read(path: &Path) -> Result<Recording, Failure> {
    let file = Input::open(path, InputKind::StallRecording).map_err(Failure::unavailable)?;
    let found: Found = input::json(GzDecoder::new(BufReader::new(file))).map_err(|error| {
        Failure::unavailable(format!("{} is not a recording of stalls: {error}", path.display()))
            .next(format!("Make one with {}.", suggestion::mention(&suggested_command::tail_record())))
    })?;
    if found.schema != SCHEMA {
        let what = format!("{} is a different kind of file: {}, not {SCHEMA}", path.display(), found.schema);
        return Err(Failure::unavailable(what).next("A newer corewise may read it."));
    }
    found.recording.check().map_err(|why| Failure::unavailable(format!("{}: {why}", path.display())))?;
    Ok(found.recording)
}
