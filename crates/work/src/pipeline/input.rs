//! Input lines of the pipeline.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use corewise_sys::input::{InputFile, InputKind};

use super::generate;
use super::stage::parse;
use crate::WorkError;

const LONGEST_LINE_BYTES: usize = 64 << 10;

/// Lines of JSON in memory, at least one.
#[derive(Debug)]
pub struct PipelineInput {
    text: Vec<u8>,
    lines: Vec<InputLine>,
    /// Name of the file, or `None` if the lines are generated.
    file: Option<String>,
}

/// Position of a line. Stores the line number in the file, because blank lines are skipped.
#[derive(Clone, Copy, Debug)]
struct InputLine {
    begin: u32,
    end: u32,
    number: u32,
}

impl PipelineInput {
    /// Generates [`super::EVENTS`] events from a seed.
    pub fn from_seed(seed: u64) -> Self {
        Self::new(generate::generate_text(seed), None)
            .unwrap_or_else(|_| unreachable!("there are generated events, and none is too long"))
    }

    /// Reads the lines of a file; blank ones are left out.
    ///
    /// # Errors
    /// If the file cannot be read, is larger than 256 MiB or has only blank lines; or if a line is longer than 64 KiB or is not a JSON
    /// object (the error then names the line).
    pub fn read_file(path: &Path, stop: &AtomicBool) -> Result<Self, WorkError> {
        let name = path.display().to_string();
        let input_error = |why: String| WorkError::Input { what: name.clone(), why };
        let text = InputFile::open(path, InputKind::WorkloadLines).and_then(InputFile::read_bytes);
        let text = text.map_err(|error| input_error(error.to_string()))?;
        let input = Self::new(text, Some(name))?;
        for line in 0..input.line_count() {
            parse(input.line_at(line)).map_err(|error| input.broken_line(line, &error))?;
            if stop.load(Ordering::Relaxed) {
                return Err(WorkError::Stopped);
            }
        }
        Ok(input)
    }

    /// Splits a text into lines, without checking that they are JSON.
    pub(super) fn new(text: Vec<u8>, file: Option<String>) -> Result<Self, WorkError> {
        let what = || file.clone().unwrap_or_default();
        let (mut lines, mut begin) = (Vec::new(), 0);
        for (number, line) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            if line.len() > LONGEST_LINE_BYTES {
                let why = format!("longer than {} KiB", LONGEST_LINE_BYTES >> 10);
                return Err(WorkError::Input { what: format!("{}, line {number}", what()), why });
            }
            if !line.trim_ascii().is_empty() {
                lines.push(InputLine { begin, end: begin + line.len() as u32, number });
            }
            begin += line.len() as u32 + 1;
        }
        if lines.is_empty() {
            return Err(WorkError::Input { what: what(), why: "it is empty, or has only blank lines".into() });
        }
        Ok(Self { text, lines, file })
    }

    /// Returns the number of lines.
    pub const fn line_count(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Returns the number of bytes in all lines, without line ends.
    pub fn total_bytes(&self) -> u64 {
        self.lines.iter().map(|line| u64::from(line.end - line.begin)).sum()
    }

    /// Returns true if the lines were generated.
    pub const fn is_generated(&self) -> bool {
        self.file.is_none()
    }

    /// Returns a line without its end; an index past the last line starts again at the first.
    pub fn line_at(&self, position: u64) -> &[u8] {
        let line = self.line_place(position);
        &self.text[line.begin as usize..line.end as usize]
    }

    /// Returns the error for an invalid line.
    pub(super) fn broken_line(&self, position: u64, error: &serde_json::Error) -> WorkError {
        let file = self.file.as_deref().unwrap_or("generated events");
        // Each line is parsed alone, so serde always reports line 1.
        let why = error.to_string().replace(" at line 1 column ", " at column ");
        WorkError::Input { what: format!("{file}, line {}", self.line_place(position).number), why }
    }

    fn line_place(&self, position: u64) -> InputLine {
        self.lines[(position % self.line_count()) as usize]
    }
}
