//! `corewise record`: writes a recording of this machine's topology.

pub mod document;

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};
use corewise_machine::suggested_command;
use corewise_sys::Root;
use corewise_sys::output::OutputPlace;
use corewise_sys::record::{Packing, record};

use crate::app::failure::{Exit, Failure};
use crate::app::output::{show, write_bytes};
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use crate::draw::number::bytes;
use crate::draw::suggestion;
use crate::draw::text::{Line, Screen};
use crate::draw::wrap::wrap;
use document::RecordDocument;

/// Record this machine's topology, to show it elsewhere with `topology --machine`
#[derive(Clone, Debug, Parser)]
#[command(name = "record")]
pub struct RecordArguments {
    /// File to write; it must not exist yet. `-` writes to standard output, which must not be a terminal
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Compression [default: by the file's ending (.tar, .tar.gz, .tgz), else xz; tar for `-`]
    #[arg(long, value_enum, ignore_case = true, value_name = "HOW")]
    pub packing: Option<PackingName>,
}

/// Compression of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PackingName {
    /// A plain tar.
    Tar,
    /// A tar in gzip.
    Gzip,
    /// A tar in xz.
    Xz,
}

impl Run for RecordArguments {
    const DOCUMENTS: &'static [Document] = &[document::<RecordDocument>(&["record -o here.tar.xz"])];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        let output = self.output.as_path();
        let packing = self.packing.map(|name| match name {
            PackingName::Tar => Packing::Tar,
            PackingName::Gzip => Packing::Gzip,
            PackingName::Xz => Packing::Xz,
        });
        if output == Path::new("-") {
            return to_standard_output(packing.unwrap_or(Packing::Tar), settings);
        }
        let (place, file) = created(output)?;
        let size_bytes = written(&file, packing.unwrap_or_else(|| Packing::of(output))).inspect_err(|_| {
            // Half a recording is useless, and this process created the file.
            place.remove(&file);
        })?;
        let name = output.display().to_string();
        show(settings, || RecordDocument::new(name.clone(), size_bytes), || screen(&name, size_bytes, settings.width))?;
        Ok(Exit::Done)
    }
}

/// Writes only the recording to standard output.
fn to_standard_output(packing: Packing, settings: &Settings) -> Result<Exit, Failure> {
    if settings.json {
        let what = "--json and the recording would both go to standard output";
        return Err(Failure::usage(what).next("Name a file with -o, or leave out --json."));
    }
    if settings.stdout_is_terminal {
        let what = "standard output is a terminal, and a recording is not text";
        return Err(Failure::usage(what).next(format!(
            "Name a file with -o, or use a pipe: {} | ssh …",
            suggestion::typed(&suggested_command::record_to_pipe())
        )));
    }
    let mut bytes = Vec::new();
    record(&Root::live(), &mut bytes, packing).map_err(Failure::unavailable)?;
    write_bytes(&bytes)?;
    Ok(Exit::Done)
}

fn created(output: &Path) -> Result<(OutputPlace, File), Failure> {
    let made = OutputPlace::reach(output).and_then(|place| place.create_new().map(|file| (place, file)));
    made.map_err(|error| {
        let failure = Failure::unavailable(format!("cannot write {}: {error}", output.display()));
        match error.kind() {
            ErrorKind::AlreadyExists => {
                failure.next("corewise overwrites nothing: choose another name, or remove the file.")
            }
            _ => failure.next("Choose a file in a folder that you may write to."),
        }
    })
}

fn written(file: &File, packing: Packing) -> Result<u64, Failure> {
    let mut writer = BufWriter::new(file);
    record(&Root::live(), &mut writer, packing).map_err(Failure::unavailable)?;
    let size = writer.flush().and_then(|()| writer.get_ref().metadata()).map(|metadata| metadata.len());
    size.map_err(|error| Failure::unavailable(format!("cannot write the recording: {error}")))
}

fn screen(name: &str, size_bytes: u64, width: usize) -> Screen {
    let mut screen = Screen::new();
    let line = Line::new().plain(format!("recorded in {name} ({}); show it on any machine:  ", bytes(size_bytes)));
    screen.extend(wrap(&line.strong(suggestion::typed(&suggested_command::topology_of(name))), width, 2));
    screen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::settings::Environment;

    #[test]
    fn a_terminal_gets_no_recording() {
        let failure = |json| {
            let environment = Environment { stdout_is_terminal: true, ..Environment::default() };
            let settings = Settings { json, ..Settings::of_environment(&environment) };
            RecordArguments { output: "-".into(), packing: None }.run(&settings).unwrap_err()
        };
        assert_eq!(failure(false).exit, Exit::Usage);
        assert_eq!(
            failure(false).to_string(),
            "error: standard output is a terminal, and a recording is not text\n  Name a file with -o, or use a pipe: \
                corewise record -o - | ssh …"
        );
        assert_eq!(failure(true).what, "--json and the recording would both go to standard output");
    }
}
