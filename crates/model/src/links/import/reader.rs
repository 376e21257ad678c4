//! Detection of a file's format, and reading.

use memchr::memmem;

use super::error::{ImportError, show_text};
use super::{ImportedLinks, MAXIMUM_BYTES, mctop, pingpong, samples, table, trb};

/// Marks of lines that `core-to-core-latency` prints on the terminal (its standard error), never into its file.
const CONSOLE_MARKS: [&str; 7] =
    ["Num cores:", "Num round trips", "Num iterations", "Using RDTSC", " latency: ", "±", "\u{1b}["];

/// Reads a file of another tool.
///
/// # Errors
/// If the text has none of the formats, or an error in one: no value is guessed and no row is skipped.
pub fn read_links(text: &str) -> Result<ImportedLinks, ImportError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    check_text(text)?;
    let read = if samples::is_log(text) {
        samples::read_samples(text)
    } else if mctop::is_description(text) {
        mctop::read_mctop(text)
    } else if trb::is_lines(text) {
        trb::read_trb(text)
    } else if pingpong::is_table(text) {
        pingpong::read_pingpong(text)
    } else {
        table::read_table(text)
    };
    read?.into_import()
}

/// Refuses text that no tool writes.
fn check_text(text: &str) -> Result<(), ImportError> {
    if text.len() > MAXIMUM_BYTES {
        return Err(ImportError::TooLong { bytes: text.len() });
    }
    if let Some(at) = text.find('\0') {
        return Err(ImportError::Binary { line: line_at(text, at) });
    }
    match text.trim_start().chars().next() {
        None => return Err(ImportError::Empty),
        Some('{' | '[') => return Err(ImportError::Json),
        Some(_) => {}
    }
    let marks = CONSOLE_MARKS.iter().filter_map(|mark| memmem::find(text.as_bytes(), mark.as_bytes()));
    match marks.min().map(|at| line_at(text, at)) {
        Some(line) => {
            Err(ImportError::Console { line, found: show_text(text.lines().nth(line - 1).unwrap_or_default()) })
        }
        None => Ok(()),
    }
}

/// Returns the number of the line at a place in a text.
fn line_at(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}
