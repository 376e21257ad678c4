//! Detection of a file's format, and reading.

use super::error::{ImportError, show_text};
use super::{ImportedLinks, MAXIMUM_BYTES, mctop, pingpong, samples, table, trb};

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
        return Err(ImportError::Binary { line: text[..at].matches('\n').count() + 1 });
    }
    match text.trim_start().chars().next() {
        None => return Err(ImportError::Empty),
        Some('{' | '[') => return Err(ImportError::Json),
        Some(_) => {}
    }
    match text.lines().enumerate().find(|(_, line)| is_console(line)) {
        Some((index, line)) => Err(ImportError::Console { line: index + 1, found: show_text(line) }),
        None => Ok(()),
    }
}

/// Returns true for lines that `core-to-core-latency` prints on the terminal (its standard error), never into its file.
fn is_console(line: &str) -> bool {
    const MARKS: [&str; 7] =
        ["Num cores:", "Num round trips", "Num iterations", "Using RDTSC", " latency: ", "±", "\u{1b}["];
    MARKS.iter().any(|mark| line.contains(mark))
}
