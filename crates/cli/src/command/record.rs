//! `corewise record`: writes a recording of this machine's topology.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::Path;

use corewise_sys::Root;
use corewise_sys::record::{Packing, record};

use crate::document::RecordDocument;
use crate::error::{Exit, Failure};
use crate::output::show;
use crate::settings::Settings;
use crate::view::number::bytes;
use crate::view::text::{Line, Screen};
use crate::view::wrap::wrap;

/// Records this machine in a new file.
pub fn run(output: &Path, settings: &Settings) -> Result<Exit, Failure> {
    let file = created(output)?;
    let size_bytes = written(file, Packing::of(output)).inspect_err(|_| {
        // Half a recording is of no use; it was created here a moment ago.
        let _ = fs::remove_file(output);
    })?;
    let name = output.display().to_string();
    show(settings, || RecordDocument::new(name.clone(), size_bytes), || screen(&name, size_bytes, settings.width))?;
    Ok(Exit::Done)
}

fn created(output: &Path) -> Result<File, Failure> {
    OpenOptions::new().write(true).create_new(true).open(output).map_err(|error| {
        let failure = Failure::unavailable(format!("cannot write {}: {error}", output.display()));
        match error.kind() {
            ErrorKind::AlreadyExists => {
                failure.next("Nothing is overwritten: choose another name, or remove the file.")
            }
            _ => failure.next("Choose a file in a folder that you may write to."),
        }
    })
}

fn written(file: File, packing: Packing) -> Result<u64, Failure> {
    let mut writer = BufWriter::new(file);
    record(&Root::live(), &mut writer, packing).map_err(Failure::unavailable)?;
    let size = writer.flush().and_then(|()| writer.get_ref().metadata()).map(|metadata| metadata.len());
    size.map_err(|error| Failure::unavailable(format!("cannot write the recording: {error}")))
}

fn screen(name: &str, size_bytes: u64, width: usize) -> Screen {
    let mut screen = Screen::new();
    let line = Line::new().plain(format!("recorded in {name} ({}); show it anywhere:  ", bytes(size_bytes)));
    screen.extend(wrap(&line.strong(format!("corewise topology --root {name}")), width, 2));
    screen
}
