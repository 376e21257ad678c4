//! `corewise history import`: stores the results of a page in the history.

use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use corewise_machine::suggested_command;
use corewise_model::timings::{TimingError, join_files, read_timings};
use corewise_sys::input::{InputFile, InputKind};
use corewise_sys::limits::limit_this_process;
use schemars::JsonSchema;
use serde::Serialize;

use super::timings::show_timings;
use crate::app::artifact::ArtifactKind;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::show_result;
use crate::app::page_data::{DocumentElement, PageUnpacker, find_elements};
use crate::app::settings::{HistoryPlace, ProgramSettings};
use crate::app::user_store::to_write;
use crate::commands::KINDS;
use crate::draw::number::format_count;
use crate::draw::printable::{LONGEST_OUTPUT_LINE, printable_prefix};
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::wrap_line;

/// The size limit of a page in bytes: a hundred results of the largest size that a page holds.
const PAGE_BYTES: u64 = 64 << 20;
/// Limit of the address space for reading and showing a page, in bytes: the program's own code, stacks and tables, and 256 MiB.
const ADDRESS_SPACE_BYTES: u64 = 416 << 20;
/// Limit of the processor time for it, in seconds.
const PROCESSOR_S: u64 = 10;

/// The output of `corewise history import --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/import/1")]
pub struct ImportDocument {
    #[schemars(extend("const" = "corewise/import/1"))]
    schema: &'static str,
    /// The new numbers of the results in this history.
    numbers: Vec<i64>,
    /// The numbers of results that were in it before; they are not stored again.
    known: Vec<i64>,
}

/// Imports the results of a page, or describes the timings of other programs' files, all of them together.
pub fn import_files(files: &[PathBuf], settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let read = files.iter().map(|file| Ok((file.display().to_string(), read_input(file)?)));
    let texts = read.collect::<Result<Vec<(String, String)>, CommandFailure>>()?;
    if let Some((name, page)) = texts.iter().find(|(_, text)| find_elements(text).next().is_some()) {
        return match texts.len() {
            1 => import_page(name, page, settings),
            _ => Err(CommandFailure::usage_error(format!("{name} is a page of results"))
                .with_hint("Import pages one at a time.")),
        };
    }
    // The paths of equal names distinguish them.
    let short =
        |name: &str| Path::new(name).file_name().map_or_else(|| name.to_owned(), |name| name.display().to_string());
    let names: BTreeSet<String> = texts.iter().map(|(name, _)| short(name)).collect();
    let is_clear = names.len() == texts.len();
    let timings = texts.into_iter().map(|(name, text)| match read_timings(&text) {
        Ok(file) => Ok((if is_clear { short(&name) } else { name }, file)),
        Err(error) => Err(explain_timing_error(&name, &error)),
    });
    show_timings(&join_files(timings.collect::<Result<_, _>>()?), settings)
}

/// Reads a file, or standard input for `-`.
fn read_input(file: &Path) -> Result<String, CommandFailure> {
    if file != Path::new("-") {
        let text = InputFile::open(file, InputKind::ReportPage).and_then(InputFile::read_text);
        return text.map_err(CommandFailure::unavailable_error);
    }
    let mut text = String::new();
    let read = io::stdin().lock().take(PAGE_BYTES + 1).read_to_string(&mut text);
    let length = read.map_err(|error| CommandFailure::unavailable_error(format!("standard input: {error}")))?;
    match length as u64 > PAGE_BYTES {
        true => {
            Err(CommandFailure::unavailable_error(format!("standard input has more than {} MiB", PAGE_BYTES >> 20)))
        }
        false => Ok(text),
    }
}

fn explain_timing_error(name: &str, error: &TimingError) -> CommandFailure {
    match error {
        TimingError::Unusable(why) => {
            CommandFailure::unavailable_error(format!("{name}: {}", printable_prefix(why, LONGEST_OUTPUT_LINE)))
        }
        TimingError::NoTimings => CommandFailure::unavailable_error(format!("{name} holds no result")).with_hint(format!(
            "A page of {} holds the results that it shows. Timings of hyperfine, Google Benchmark, pyperf and Criterion (JSON) and CSV are \
             described.",
            suggestion::format_mention(&suggested_command::report())
        )),
    }
}

/// Imports the results of a page into this user's history. Imports nothing if one of them is broken, unknown, or too large to show.
fn import_page(name: &str, page: &str, settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let HistoryPlace::At(path) = &settings.history else {
        return Err(
            CommandFailure::usage_error("a history is needed to import into").with_hint("Name one with --store PATH.")
        );
    };
    let refused =
        |why: String| CommandFailure::unavailable_error(format!("{name}: {why}")).with_hint("Nothing was imported.");
    rehearse_in_child(page)?.map_err(refused)?;
    let mut store = to_write(path, settings)
        .map_err(|error| CommandFailure::unavailable_error(format!("cannot import: {error}")))?;
    let mut unpacker = PageUnpacker::new();
    let stored = |element: DocumentElement<'_>| {
        let number =
            find_kind(element.schema).and_then(|kind| (kind.import)(&mut store, &mut unpacker.open(&element), name));
        number.map_err(|why| {
            CommandFailure::unavailable_error(format!("cannot import {name}: {why}")).with_hint(format!(
                "Earlier results are kept; {} lists them.",
                suggestion::format_mention(&suggested_command::history())
            ))
        })
    };
    let results = find_elements(page).map(stored).collect::<Result<Vec<_>, CommandFailure>>()?;
    let (new, known): (Vec<_>, Vec<_>) = results.into_iter().partition(|result| result.is_new);
    let [numbers, known] = [new, known].map(|results| results.iter().map(|result| result.number).collect::<Vec<i64>>());
    let screen = || {
        let mut screen = TextScreen::new();
        for (what, numbers) in [("imported", &numbers), ("in the history already", &known)] {
            if !numbers.is_empty() {
                let listed: Vec<String> = numbers.iter().map(i64::to_string).collect();
                let line = format!("{} {what}: {}", format_count(numbers.len(), "result"), listed.join(", "));
                screen.extend(wrap_line(&StyledLine::new().plain(line), settings.width, 2));
            }
        }
        screen
    };
    let (numbers, known) = (numbers.clone(), known.clone());
    show_result(settings, || ImportDocument { schema: "corewise/import/1", numbers, known }, screen)
}

fn find_kind(schema: &str) -> Result<&'static ArtifactKind, String> {
    let known = KINDS.iter().find(|kind| kind.schema == schema);
    known.ok_or_else(|| format!("it holds a document {schema}, which this corewise does not know"))
}

/// Prints the results of a page in every form, in a separate process with limited memory and time.
fn rehearse_in_child(page: &str) -> Result<Result<(), String>, CommandFailure> {
    let internal = |error| CommandFailure::new(CommandExit::Internal, error);
    let mut command = Command::new(std::env::current_exe().map_err(internal)?);
    command.args(["history", "import", "--rehearse", "-", "--no-store", "--color", "never"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(internal)?;
    if let Some(mut pipe) = child.stdin.take() {
        // A process that has ended no longer reads; its own message says why.
        let _ = pipe.write_all(page.as_bytes());
    }
    let done = child.wait_with_output().map_err(internal)?;
    let said = String::from_utf8_lossy(&done.stderr);
    Ok(match done.status.code() {
        Some(code) if code == CommandExit::Done as i32 => Ok(()),
        Some(code) if code == CommandExit::Unavailable as i32 => {
            Err(said.trim_end().split_once("error: ").map_or(&*said, |(_, why)| why).to_owned())
        }
        _ => Err(format!(
            "it cannot be shown with {} MiB of memory and in {PROCESSOR_S} s of processor time",
            ADDRESS_SPACE_BYTES >> 20
        )),
    })
}

/// Reads a result of a schema from JSON and prints it in every form.
pub fn rehearse_result(schema: &str, mut json: &[u8], settings: &ProgramSettings) -> Result<(), String> {
    (find_kind(schema)?.rehearse)(&mut json, settings)
}

/// Reads a page from standard input and prints its results in every form, within the limits of [`rehearse_in_child`].
pub fn rehearse_page(settings: &ProgramSettings) -> Result<(), CommandFailure> {
    // Some systems have no such limits; the size limits of the input apply there too.
    let _ = limit_this_process(ADDRESS_SPACE_BYTES, PROCESSOR_S);
    let mut page = String::new();
    io::stdin().lock().take(PAGE_BYTES).read_to_string(&mut page).map_err(CommandFailure::unavailable_error)?;
    let mut unpacker = PageUnpacker::new();
    find_elements(&page).try_for_each(|element| {
        let kind = find_kind(element.schema).map_err(CommandFailure::unavailable_error)?;
        (kind.rehearse)(&mut unpacker.open(&element), settings).map_err(CommandFailure::unavailable_error)
    })
}

#[cfg(test)]
mod tests;
