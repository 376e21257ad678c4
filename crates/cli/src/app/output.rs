//! Printing: the only place that writes to standard output and standard error.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use corewise_sys::output::replace_file;
use corewise_sys::standard_files::output_was_closed;
use serde::Serialize;

use super::failure::{CommandExit, CommandFailure};
use super::settings::ProgramSettings;
use crate::draw::heat::depth::ColourDepth;
use crate::draw::json;
use crate::draw::printable::{printable_lines, printable_prefix};
use crate::draw::story::Story;
use crate::draw::text::TextScreen;

/// Maximum columns of a line on standard error, whatever it repeats.
const LONGEST_LINE: usize = 4000;

/// Prints a document as JSON or a screen as text, depending on the settings; makes only that form, unless the document
/// goes to a file too.
pub fn show_result<D: Serialize>(
    settings: &ProgramSettings,
    document: impl FnOnce() -> D,
    screen: impl FnOnce() -> TextScreen,
) -> Result<(), CommandFailure> {
    if settings.json {
        return print_json(&document());
    }
    if let Some(file) = &settings.document_copy {
        let text = write_json(&document())?;
        let failed = |error| CommandFailure::unavailable_error(format!("cannot write {}: {error}", file.display()));
        replace_file(file, text.as_bytes()).map_err(failed)?;
    }
    print_screen(&screen(), settings)
}

/// Prints a result as JSON or as its screen.
pub fn show_story<D: Serialize>(
    settings: &ProgramSettings,
    document: impl FnOnce() -> D,
    story: &Story,
) -> Result<(), CommandFailure> {
    show_result(settings, document, || story.to_screen(settings.width, stdout_colours(settings)))
}

fn print_screen(screen: &TextScreen, settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let mut stream = AutoStream::new(lock_stdout()?, settings.color);
    accept_closed_pipe(stream.write_all(screen.to_styled().as_bytes()).and_then(|()| stream.flush()))
}

/// Returns the colours that standard output supports.
pub fn stdout_colours(settings: &ProgramSettings) -> ColourDepth {
    let of = |name: &str| std::env::var(name).ok();
    let is_wanted = match settings.color {
        ColorChoice::Never => false,
        ColorChoice::Always | ColorChoice::AlwaysAnsi => true,
        ColorChoice::Auto => {
            io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    };
    let term = of("TERM");
    ColourDepth::from_terminal(
        of("COLORTERM").as_deref(),
        term.as_deref(),
        is_wanted && term.as_deref() != Some("dumb"),
    )
}

/// Prints a document as JSON on standard output, or a screen as text on standard error. Used if a command that runs at
/// the same time has standard output. Failures on standard error are ignored.
pub fn show_beside<D: Serialize>(
    settings: &ProgramSettings,
    document: impl FnOnce() -> D,
    screen: impl FnOnce() -> TextScreen,
) -> Result<(), CommandFailure> {
    if settings.json {
        return print_json(&document());
    }
    let mut stream = AutoStream::new(io::stderr().lock(), settings.color);
    let _ = stream.write_all(screen().to_styled().as_bytes()).and_then(|()| stream.flush());
    Ok(())
}

/// Prints a value as JSON, one line per part.
pub fn print_json(value: &impl Serialize) -> Result<(), CommandFailure> {
    print_form(&write_json(value)?)
}

fn write_json(value: &impl Serialize) -> Result<String, CommandFailure> {
    json::to_json(value).map_err(|error| CommandFailure::new(CommandExit::Internal, error))
}

/// Prints text, each line [printable](crate::draw::printable), and a line end.
pub fn print_text(text: &str) -> Result<(), CommandFailure> {
    print_form(&printable_lines(text))
}

/// Prints text in a form with its own escapes (JSON, CSV, SVG, Markdown), and a line end.
pub fn print_form(text: &str) -> Result<(), CommandFailure> {
    let mut stream = lock_stdout()?;
    accept_closed_pipe(writeln!(stream, "{text}").and_then(|()| stream.flush()))
}

/// Writes binary data to standard output.
pub fn write_bytes(bytes: &[u8]) -> Result<(), CommandFailure> {
    let mut stream = lock_stdout()?;
    accept_closed_pipe(stream.write_all(bytes).and_then(|()| stream.flush()))
}

/// Returns standard output, or fails if it is closed: Rust opens it as /dev/null then.
fn lock_stdout() -> Result<StdoutLock<'static>, CommandFailure> {
    match output_was_closed() {
        true => Err(CommandFailure::unavailable_error("cannot write to standard output: it is closed")),
        false => Ok(io::stdout().lock()),
    }
}

/// Whether the reader of standard output has gone.
static HAS_READ_ENOUGH: AtomicBool = AtomicBool::new(false);

/// Converts the result of writing. A reader that has read enough (`corewise | head -1`) is no failure.
pub fn accept_closed_pipe(result: io::Result<()>) -> Result<(), CommandFailure> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            HAS_READ_ENOUGH.store(true, Ordering::Relaxed);
            Ok(())
        }
        other => other
            .map_err(|error| CommandFailure::unavailable_error(format!("cannot write to standard output: {error}"))),
    }
}

/// Returns true if the reader of standard output has gone. Repeated printing ends then.
pub fn has_no_reader() -> bool {
    HAS_READ_ENOUGH.load(Ordering::Relaxed)
}

/// Prints a message on standard error. Failures are ignored.
pub fn print_message(message: &impl Display) {
    let _ = writeln!(io::stderr().lock(), "{}", format_message(message));
}

/// Makes a message printable and bounds its lines, since it may repeat what was typed or read.
pub fn format_message(message: &impl Display) -> String {
    let lines: Vec<String> = message.to_string().split('\n').map(|line| printable_prefix(line, LONGEST_LINE)).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_was_typed_steers_the_terminal() {
        let failure = CommandFailure::usage_error("cannot run \u{1b}[31mx\n    here\u{202e}").with_hint("or\u{7}");
        assert_eq!(format_message(&failure), "error: cannot run \\u{1b}[31mx\n    here\\u{202e}\n  or\\u{7}");
        assert!(format_message(&"a\u{9b}".repeat(1_000_000)).len() <= LONGEST_LINE + '…'.len_utf8());
    }
}
