//! Detection of a file's format, and reading.

use super::error::{ImportError, shown};
use super::{Imported, MAXIMUM_BYTES, mctop, pingpong, samples, table, trb};

/// Reads a file of another tool.
///
/// # Errors
/// If the text has none of the formats, or an error in one: no value is guessed and no row is skipped.
pub fn read(text: &str) -> Result<Imported, ImportError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    check(text)?;
    let read = if samples::is_log(text) {
        samples::read(text)
    } else if mctop::is_description(text) {
        mctop::read(text)
    } else if trb::is_lines(text) {
        trb::read(text)
    } else if pingpong::is_table(text) {
        pingpong::read(text)
    } else {
        table::read(text)
    };
    read?.finish()
}

/// Refuses text that no tool writes.
fn check(text: &str) -> Result<(), ImportError> {
    if text.len() > MAXIMUM_BYTES {
        return Err(ImportError::TooLong { bytes: text.len() });
    }
    if let Some(at) = text.find('\0') {
        return Err(ImportError::Binary { line: text[..at].matches('\n').count() + 1 });
    }
    match text.trim_start().chars().next() {
        None => return Err(ImportError::Empty),
        Some('{' | '[') => return Err(ImportError::Json),
        Some(_) => {}
    }
    match text.lines().enumerate().find(|(_, line)| is_console(line)) {
        Some((index, line)) => Err(ImportError::Console { line: index + 1, found: shown(line) }),
        None => Ok(()),
    }
}

/// Returns true for lines that `core-to-core-latency` prints on the terminal (its standard error), never into its file.
fn is_console(line: &str) -> bool {
    const MARKS: [&str; 7] =
        ["Num cores:", "Num round trips", "Num iterations", "Using RDTSC", " latency: ", "±", "\u{1b}["];
    MARKS.iter().any(|mark| line.contains(mark))
}
