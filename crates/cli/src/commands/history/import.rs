//! `corewise history import`: stores the results of a page in the history.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use corewise_machine::suggested_command;
use corewise_sys::input::{Input, InputKind};
use corewise_sys::limits::limit_this_process;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::artifact::Kind;
use crate::app::embedded::{Element, Unpacker, elements};
use crate::app::failure::{Exit, Failure};
use crate::app::history::to_write;
use crate::app::output::show;
use crate::app::settings::{History, Settings};
use crate::commands::KINDS;
use crate::draw::number::count;
use crate::draw::suggestion;
use crate::draw::text::{Line, Screen};
use crate::draw::wrap::wrap;

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
}

/// Imports the results of a page into this user's history. Imports nothing if one of them is broken, unknown, or too large to show.
pub fn import(file: &Path, settings: &Settings) -> Result<(), Failure> {
    let name = file.display().to_string();
    let History::At(path) = &settings.history else {
        return Err(Failure::usage("a history is needed to import into").next("Name one with --store PATH."));
    };
    let page = Input::open(file, InputKind::ReportPage).and_then(Input::text).map_err(Failure::unavailable)?;
    if elements(&page).next().is_none() {
        return Err(Failure::unavailable(format!("{name} holds no result")).next(format!(
            "A page of {} holds the results that it shows.",
            suggestion::mention(&suggested_command::report())
        )));
    }
    let refused = |why: String| Failure::unavailable(format!("{name}: {why}")).next("Nothing was imported.");
    rehearse_apart(&page)?.map_err(refused)?;
    let mut store =
        to_write(path, settings).map_err(|error| Failure::unavailable(format!("cannot import: {error}")))?;
    let mut unpacker = Unpacker::new();
    let stored = |element: Element<'_>| {
        let number =
            kind_of(element.schema).and_then(|kind| (kind.import)(&mut store, &mut unpacker.open(&element), &name));
        number.map_err(|why| {
            Failure::unavailable(format!("cannot import {name}: {why}")).next(format!(
                "Earlier results are kept; {} lists them.",
                suggestion::mention(&suggested_command::history())
            ))
        })
    };
    let numbers = elements(&page).map(stored).collect::<Result<Vec<i64>, Failure>>()?;
    let screen = || {
        let listed: Vec<String> = numbers.iter().map(i64::to_string).collect();
        let what = format!("{} imported: {}", count(numbers.len(), "result"), listed.join(", "));
        let mut screen = Screen::new();
        screen.extend(wrap(&Line::new().plain(what), settings.width, 2));
        screen
    };
    show(settings, || ImportDocument { schema: "corewise/import/1", numbers: numbers.clone() }, screen)
}

fn kind_of(schema: &str) -> Result<&'static Kind, String> {
    let known = KINDS.iter().find(|kind| kind.schema == schema);
    known.ok_or_else(|| format!("it holds a document {schema}, which this corewise does not know"))
}

/// Prints the results of a page in every form, in a separate process with limited memory and time.
fn rehearse_apart(page: &str) -> Result<Result<(), String>, Failure> {
    let internal = |error| Failure::new(Exit::Internal, error);
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
        Some(code) if code == Exit::Done as i32 => Ok(()),
        Some(code) if code == Exit::Unavailable as i32 => {
            Err(said.trim_end().split_once("error: ").map_or(&*said, |(_, why)| why).to_owned())
        }
        _ => Err(format!(
            "it cannot be shown with {} MiB of memory and in {PROCESSOR_S} s of processor time",
            ADDRESS_SPACE_BYTES >> 20
        )),
    })
}

/// Reads a page from standard input and prints its results in every form, within the limits of [`rehearse_apart`].
pub fn rehearse(settings: &Settings) -> Result<(), Failure> {
    // Some systems have no such limits; the size limits of the input apply there too.
    let _ = limit_this_process(ADDRESS_SPACE_BYTES, PROCESSOR_S);
    let mut page = String::new();
    io::stdin().lock().take(PAGE_BYTES).read_to_string(&mut page).map_err(Failure::unavailable)?;
    let mut unpacker = Unpacker::new();
    elements(&page).try_for_each(|element| {
        let kind = kind_of(element.schema).map_err(Failure::unavailable)?;
        (kind.rehearse)(&mut unpacker.open(&element), settings).map_err(Failure::unavailable)
    })
}
