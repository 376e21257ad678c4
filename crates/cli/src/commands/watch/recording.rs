//! The file of recorded moments: a header as a line of JSON, then a line for each moment.

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use corewise_machine::suggested_command;
use corewise_model::watch::{WatchFrame, WatchHeader};
use corewise_sys::input::{self, InputFile, InputKind};
use corewise_sys::output::OutputPlace;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::app::failure::CommandFailure;
use crate::draw::json::to_json_line;
use crate::draw::suggestion;

/// The longest line that is read, in bytes: a moment of 512 cpus and 10,000 threads takes 3 MB.
const LONGEST_LINE_BYTES: u64 = 16 << 20;
/// Maximum number of moments of a recording: 23 days at the usual interval.
const MOST_MOMENTS: usize = 4_000_000;

/// An open recording. Its moments stay in the file; only one at a time is in memory.
#[derive(Debug)]
pub struct WatchRecording {
    /// The header.
    pub header: WatchHeader,
    path: PathBuf,
    file: BufReader<InputFile>,
    /// Offset of each moment in the file; at least one.
    moments: Vec<u64>,
}

impl WatchRecording {
    /// Opens a file, and reads all of it once.
    ///
    /// # Errors
    /// The file cannot be read, or is not a recording.
    pub fn open(path: &Path) -> Result<Self, CommandFailure> {
        let input = InputFile::open(path, InputKind::WatchRecording).map_err(CommandFailure::unavailable_error)?;
        let mut lines = LineReader::new(BufReader::new(input));
        let (header, moments) = index_moments(&mut lines).map_err(|why| refuse_recording(path, &why))?;
        Ok(Self { header, path: path.to_owned(), file: lines.file, moments })
    }

    /// Returns the number of moments, at least one.
    pub fn len(&self) -> usize {
        self.moments.len()
    }

    /// Reads a moment, or the last one if the number is too large.
    ///
    /// # Errors
    /// The file cannot be read, or was changed meanwhile.
    pub fn read_frame(&mut self, number: usize) -> Result<WatchFrame, CommandFailure> {
        let number = number.min(self.moments.len() - 1);
        let read = self.frame_at(self.moments[number]);
        read.map_err(|why| refuse_recording(&self.path, &format!("moment {}: {why}", number + 1)))
    }

    fn frame_at(&mut self, place: u64) -> Result<WatchFrame, String> {
        // Discards bytes that were read ahead, which belong to another moment.
        self.file.consume(self.file.buffer().len());
        self.file.get_mut().seek_to(place).map_err(|error| error.to_string())?;
        let mut line = Vec::new();
        read_line(&mut self.file, &mut line)?;
        parse_line(&line)
    }
}

fn refuse_recording(path: &Path, why: &str) -> CommandFailure {
    CommandFailure::unavailable_error(format!("{}: {why}", path.display())).with_hint(format!(
        "A recording is made with {}.",
        suggestion::format_mention(&suggested_command::watch_and_save())
    ))
}

/// Reads the header, and finds the offset of each moment. Ignores an incomplete last line: the recorder was ended while writing it.
fn index_moments(lines: &mut LineReader<impl std::io::BufRead>) -> Result<(WatchHeader, Vec<u64>), String> {
    let at = |lines: usize, why: &dyn std::fmt::Display| format!("line {lines}: {why}");
    let mut header: Option<WatchHeader> = None;
    let mut moments = Vec::new();
    while let Some(place) = lines.read_line()? {
        if lines.line.trim_ascii().is_empty() {
            continue;
        }
        if header.is_none() {
            let found: WatchHeader = parse_line(&lines.line).map_err(|why| at(lines.count, &why))?;
            found.check_loaded().map_err(|why| at(lines.count, &why))?;
            header = Some(found);
            continue;
        }
        match parse_line::<WatchFrame>(&lines.line) {
            Ok(_) if moments.len() == MOST_MOMENTS => return Err(format!("it has more than {MOST_MOMENTS} moments")),
            Ok(_) => moments.push(place),
            Err(_) if !lines.line.ends_with(b"\n") => {}
            Err(why) => return Err(at(lines.count, &why)),
        }
    }
    let header = header.ok_or("it is empty")?;
    if moments.is_empty() { Err("there is no moment in it".to_owned()) } else { Ok((header, moments)) }
}

/// The lines of a file, one in memory at a time.
struct LineReader<R> {
    file: R,
    line: Vec<u8>,
    /// Offset of the next line.
    place: u64,
    /// Number of lines read.
    count: usize,
}

impl<R: std::io::BufRead> LineReader<R> {
    fn new(file: R) -> Self {
        Self { file, line: Vec::new(), place: 0, count: 0 }
    }

    /// Reads the next line and returns its offset; `None` at the end.
    fn read_line(&mut self) -> Result<Option<u64>, String> {
        let place = self.place;
        self.line.clear();
        self.count += 1;
        let bytes = read_line(&mut self.file, &mut self.line).map_err(|why| format!("line {}: {why}", self.count))?;
        self.place += bytes as u64;
        Ok((bytes > 0).then_some(place))
    }
}

fn read_line(file: &mut impl std::io::BufRead, line: &mut Vec<u8>) -> Result<usize, String> {
    let bytes = file.take(LONGEST_LINE_BYTES).read_until(b'\n', line).map_err(|error| error.to_string())?;
    match bytes as u64 == LONGEST_LINE_BYTES && !line.ends_with(b"\n") {
        true => Err(format!("it is longer than {LONGEST_LINE_BYTES} bytes")),
        false => Ok(bytes),
    }
}

fn parse_line<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    input::read_json(line).map_err(|error| error.to_string())
}

/// Writes moments as they come.
#[derive(Debug)]
pub struct WatchRecorder {
    path: PathBuf,
    file: BufWriter<File>,
}

impl WatchRecorder {
    /// Creates a new file.
    ///
    /// # Errors
    /// The file exists, or cannot be created.
    pub fn create_file(path: &Path, header: &WatchHeader) -> Result<Self, CommandFailure> {
        let file = OutputPlace::reach_place(path).and_then(|place| place.create_new());
        let file = file
            .map_err(|error| CommandFailure::unavailable_error(format!("cannot create {}: {error}", path.display())))?;
        let mut recorder = Self { path: path.to_owned(), file: BufWriter::new(file) };
        recorder.write_line(header)?;
        Ok(recorder)
    }

    /// Adds a moment, and flushes it to the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_frame(&mut self, frame: &WatchFrame) -> Result<(), CommandFailure> {
        self.write_line(frame)
    }

    fn write_line(&mut self, value: &impl Serialize) -> Result<(), CommandFailure> {
        let line = to_json_line(value).map_err(std::io::Error::from);
        let written = line.and_then(|line| writeln!(self.file, "{line}")).and_then(|()| self.file.flush());
        written.map_err(|error| {
            CommandFailure::unavailable_error(format!("cannot write {}: {error}", self.path.display()))
        })
    }
}

#[cfg(test)]
mod tests {
    use corewise_machine::{CpuSet, generate};

    use super::*;

    fn written() -> String {
        let machine = generate::one_package_machine(4, false, &[(CpuSet::first_cpus(4), 32)]);
        let header = WatchHeader::new("0.1.0", machine, "measured", Some("app".to_owned()), 0.5);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut recorder = WatchRecorder::create_file(&path, &header).unwrap();
        recorder.add_frame(&WatchFrame { at_unix_ms: 1, ..WatchFrame::default() }).unwrap();
        recorder.add_frame(&WatchFrame { at_unix_ms: 2, ..WatchFrame::default() }).unwrap();
        assert!(
            WatchRecorder::create_file(&path, &header).unwrap_err().what.contains("exists"),
            "it is not written over"
        );
        let mut read = WatchRecording::open(&path).unwrap();
        let frames: Vec<i64> = [1, 0, 1].map(|number| read.read_frame(number).unwrap().at_unix_ms).to_vec();
        assert_eq!((&read.header, read.len(), frames), (&header, 2, vec![2, 1, 2]));
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap().replace("at_unix_ms", "changed_ms")).unwrap();
        assert!(read.read_frame(1).unwrap_err().what.contains("moment 2: missing field"), "it was changed meanwhile");
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap().replace("changed_ms", "at_unix_ms")).unwrap();
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_recording_that_was_cut_is_read_as_far_as_it_goes_and_another_file_is_refused() {
        let whole = written();
        let cut = &whole[..whole.len() - 9];
        let parse = |text: &str| index_moments(&mut LineReader::new(text.as_bytes()));
        assert_eq!(parse(cut).unwrap().1.len(), 1);
        let wrong = |text: &str| parse(text).unwrap_err();
        assert!(wrong(&format!("{cut}\n")).starts_with("line 3: "), "a line that ends is whole");
        assert_eq!(wrong(""), "it is empty");
        assert_eq!(wrong(whole.lines().next().unwrap()), "there is no moment in it");
        assert!(wrong("{}\n").starts_with("line 1: missing field"));
        let other = whole.replacen("watch-recording/1", "watch-recording/2", 1);
        assert_eq!(wrong(&other), "line 1: expected \"corewise/watch-recording/1\"");
    }
}
