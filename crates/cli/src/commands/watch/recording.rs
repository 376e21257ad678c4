//! The file that moments are recorded in: a line of JSON that says what was watched, then a line for each moment.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use corewise_model::suggested_command;
use corewise_model::watch::{Frame, Header};
use corewise_sys::input::Input;
use serde::Serialize;

use crate::draw::suggestion;
use crate::shell::failure::Failure;

/// So large a file is read: a day of 512 cpus at two moments a second is larger.
const MOST_BYTES: u64 = 1 << 30;

/// What was recorded.
#[derive(Debug)]
pub struct Recording {
    /// What was watched.
    pub header: Header,
    /// The moments, at least one.
    pub frames: Vec<Frame>,
}

impl Recording {
    /// Reads a file.
    ///
    /// # Errors
    /// Where it cannot be read, or is no recording.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = Input::open(path, MOST_BYTES).and_then(Input::text).map_err(Failure::unavailable)?;
        let next = format!("A recording is made with {}.", suggestion::mention(&suggested_command::watch_and_save()));
        Self::parse(&text).map_err(|why| Failure::unavailable(format!("{}: {why}", path.display())).next(next))
    }

    /// A last line that is not whole is passed over: whoever recorded was ended while it was written.
    fn parse(text: &str) -> Result<Self, String> {
        let at = |line: usize, why: &dyn std::fmt::Display| format!("line {}: {why}", line + 1);
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).peekable();
        let (first, line) = lines.next().ok_or("it is empty")?;
        let header: Header = serde_json::from_str(line).map_err(|error| at(first, &error))?;
        header.check().map_err(|why| at(first, &why))?;
        let mut frames = Vec::new();
        while let Some((number, line)) = lines.next() {
            let is_cut = lines.peek().is_none() && !text.ends_with('\n');
            match serde_json::from_str::<Frame>(line) {
                Ok(frame) => frames.push(frame),
                Err(_) if is_cut => {}
                Err(error) => return Err(at(number, &error)),
            }
        }
        if frames.is_empty() { Err("there is no moment in it".to_owned()) } else { Ok(Self { header, frames }) }
    }
}

/// Writes moments as they come.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Recorder {
    /// A new file.
    ///
    /// # Errors
    /// Where there is one of that name, or it cannot be made.
    pub fn create(path: &Path, header: &Header) -> Result<Self, Failure> {
        let file = File::create_new(path);
        let file = file.map_err(|error| Failure::unavailable(format!("cannot create {}: {error}", path.display())))?;
        let mut recorder = Self { path: path.to_owned(), file: BufWriter::new(file) };
        recorder.line(header)?;
        Ok(recorder)
    }

    /// Adds a moment; it is in the file when this returns.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub fn add(&mut self, frame: &Frame) -> Result<(), Failure> {
        self.line(frame)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let written = serde_json::to_writer(&mut self.file, value).map_err(std::io::Error::from);
        let written = written.and_then(|()| self.file.write_all(b"\n")).and_then(|()| self.file.flush());
        written.map_err(|error| Failure::unavailable(format!("cannot write {}: {error}", self.path.display())))
    }
}

#[cfg(test)]
mod tests {
    use corewise_model::{CpuSet, simulate};

    use super::*;

    fn written() -> String {
        let machine = simulate::machine(4, false, &[(CpuSet::first(4), 32)]);
        let header = Header::new("0.1.0", machine, "measured", Some("app".to_owned()), 0.5);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut recorder = Recorder::create(&path, &header).unwrap();
        recorder.add(&Frame { at_unix_ms: 1, ..Frame::default() }).unwrap();
        recorder.add(&Frame { at_unix_ms: 2, ..Frame::default() }).unwrap();
        assert!(Recorder::create(&path, &header).unwrap_err().what.contains("exists"), "it is not written over");
        let read = Recording::read(&path).unwrap();
        assert_eq!((read.header, read.frames.len()), (header, 2));
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_recording_that_was_cut_is_read_as_far_as_it_goes_and_another_file_is_refused() {
        let whole = written();
        let cut = &whole[..whole.len() - 9];
        assert_eq!(Recording::parse(cut).unwrap().frames.len(), 1);
        let wrong = |text: &str| Recording::parse(text).unwrap_err();
        assert!(wrong(&format!("{cut}\n")).starts_with("line 3: "), "a line that ends is whole");
        assert_eq!(wrong(""), "it is empty");
        assert_eq!(wrong(whole.lines().next().unwrap()), "there is no moment in it");
        assert!(wrong("{}\n").starts_with("line 1: missing field"));
        let other = whole.replacen("watch-recording/1", "watch-recording/2", 1);
        assert_eq!(wrong(&other), "line 1: expected \"corewise/watch-recording/1\"");
    }
}
