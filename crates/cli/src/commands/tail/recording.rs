//! Recordings of stalls with the kernel's events: JSON, packed by gzip.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, IntoInnerError, Write as _};
use std::path::Path;

use corewise_machine::suggested_command;
use corewise_model::survey::SurveyRecording;
use corewise_sys::input::{self, InputFile, InputKind, WeighedJson};
use corewise_sys::output::OutputPlace;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use crate::app::failure::CommandFailure;
use crate::draw::suggestion;

/// The schema named in the file.
const SCHEMA: &str = "corewise/stalls/1";

#[derive(Serialize)]
struct WrittenRecording<'a> {
    schema: &'static str,
    recording: &'a SurveyRecording,
}

#[derive(Deserialize)]
struct ReadRecording {
    schema: String,
    recording: SurveyRecording,
}

/// Creates the file; overwrites nothing.
pub fn create_file(path: &Path) -> Result<(OutputPlace, File), CommandFailure> {
    let made = OutputPlace::reach_place(path).and_then(|place| place.create_new().map(|file| (place, file)));
    made.map_err(|error| {
        let failure = CommandFailure::unavailable_error(format!("cannot write {}: {error}", path.display()));
        match error.kind() {
            ErrorKind::AlreadyExists => {
                failure.with_hint("A recording replaces no file: choose another name, or remove the file.")
            }
            _ => failure.with_hint("Choose a file in a folder that you may write to."),
        }
    })
}

/// Writes a recording.
pub fn write_recording(file: File, recording: &SurveyRecording) -> Result<(), CommandFailure> {
    let failed = |error: &dyn std::fmt::Display| {
        CommandFailure::unavailable_error(format!("cannot write the recording: {error}"))
    };
    // The packer clears 32 KiB for each write, however short, and JSON is written word by word.
    let packer = GzEncoder::new(BufWriter::new(file), Compression::fast());
    let mut buffer = BufWriter::new(WeighedJson::new(packer));
    let written = serde_json::to_writer(&mut buffer, &WrittenRecording { schema: SCHEMA, recording });
    let packed =
        written.map_err(io::Error::from).and_then(|()| buffer.into_inner().map_err(IntoInnerError::into_error));
    let packed = packed.map_err(|error| {
        failed(&error).with_hint("A shorter --budget, fewer --cpus or a higher --threshold makes a smaller recording.")
    })?;
    packed.into_inner().finish().and_then(|mut file| file.flush()).map_err(|error| failed(&error))
}

/// Reads a recording.
pub fn read_recording(path: &Path) -> Result<SurveyRecording, CommandFailure> {
    let file = InputFile::open(path, InputKind::StallRecording).map_err(CommandFailure::unavailable_error)?;
    let found: ReadRecording = input::read_json(GzDecoder::new(BufReader::new(file))).map_err(|error| {
        CommandFailure::unavailable_error(format!("{} is not a recording of stalls: {error}", path.display()))
            .with_hint(format!("Make one with {}.", suggestion::format_mention(&suggested_command::tail_record())))
    })?;
    if found.schema != SCHEMA {
        let what = format!("{} is a different kind of file: {}, not {SCHEMA}", path.display(), found.schema);
        return Err(CommandFailure::unavailable_error(what).with_hint("A newer corewise may read it."));
    }
    found
        .recording
        .check_loaded()
        .map_err(|why| CommandFailure::unavailable_error(format!("{}: {why}", path.display())))?;
    Ok(found.recording)
}
