//! `corewise record`: writes a recording of this machine's topology, and of what was measured on it if requested.

pub mod document;
mod measured;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};
use corewise_machine::suggested_command;
use corewise_model::digest::MachineDigest;
use corewise_sys::Root;
use corewise_sys::output::OutputPlace;
use corewise_sys::record::{RecordingPacking, record_machine};

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::{show_result, write_bytes};
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::draw::json::to_json_line;
use crate::draw::number::format_bytes;
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::wrap_line;
use document::{DigestDocument, RecordDocument};
use measured::digest_machine;

/// Name of the digest in the archive.
const DIGEST_FILE: &str = "digest.json";

/// Record this machine's topology, to show it elsewhere with `topology --machine`
#[derive(Clone, Debug, Parser)]
pub struct RecordArguments {
    /// File to write; it must not exist yet. `-` writes to standard output, which must not be a terminal
    #[arg(short, long, value_name = "FILE", default_value = "machine.tar.xz")]
    pub output: PathBuf,
    /// Add a digest of the latest survey, link map and memory map of this machine; a survey or link map that the history does not have is
    /// measured first (5 s each, more above 32 cpus)
    #[arg(long)]
    pub survey: bool,
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

impl RunnableCommand for RecordArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[
        command_document::<RecordDocument>("record", &["record -o here.tar.xz"]),
        command_document::<DigestDocument<'_>>("digest", &[]),
    ];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let output = self.output.as_path();
        let packing = self.packing.map(|name| match name {
            PackingName::Tar => RecordingPacking::Tar,
            PackingName::Gzip => RecordingPacking::Gzip,
            PackingName::Xz => RecordingPacking::Xz,
        });
        if output == Path::new("-") {
            return self.to_standard_output(packing.unwrap_or(RecordingPacking::Tar), settings);
        }
        let packing = packing.unwrap_or_else(|| RecordingPacking::from_path(output));
        let (place, file) = create_file(output)?;
        let written = self.digest_if_asked(settings).and_then(|digest| {
            let size_bytes = write_recording(&file, digest.as_ref(), packing)?;
            Ok((size_bytes, digest))
        });
        // Half a recording is useless, and this process created the file.
        let (size_bytes, digest) = written.inspect_err(|_| place.remove_file(&file))?;
        let name = output.display().to_string();
        let has_digest = digest.is_some();
        show_result(
            settings,
            || RecordDocument::new(name.clone(), size_bytes, digest),
            || draw_screen(&name, size_bytes, has_digest, settings.width),
        )?;
        Ok(CommandExit::Done)
    }
}

impl RecordArguments {
    fn digest_if_asked(&self, settings: &ProgramSettings) -> Result<Option<MachineDigest>, CommandFailure> {
        self.survey.then(|| digest_machine(settings)).transpose()
    }

    /// Writes only the recording to standard output.
    fn to_standard_output(
        &self,
        packing: RecordingPacking,
        settings: &ProgramSettings,
    ) -> Result<CommandExit, CommandFailure> {
        if settings.json {
            let what = "--json and the recording would both go to standard output";
            return Err(CommandFailure::usage_error(what).with_hint("Name a file with -o, or leave out --json."));
        }
        if settings.stdout_is_terminal {
            let what = "standard output is a terminal, and a recording is not text";
            return Err(CommandFailure::usage_error(what).with_hint(format!(
                "Name a file with -o, or use a pipe: {} | ssh …",
                suggestion::format_typed(&suggested_command::record_to_pipe())
            )));
        }
        let notes = notes_of(self.digest_if_asked(settings)?.as_ref())?;
        let mut bytes = Vec::new();
        record_machine(&Root::this_machine(), &notes, &mut bytes, packing)
            .map_err(CommandFailure::unavailable_error)?;
        write_bytes(&bytes)?;
        Ok(CommandExit::Done)
    }
}

/// Returns the files of the archive beside the machine's.
fn notes_of(digest: Option<&MachineDigest>) -> Result<BTreeMap<String, String>, CommandFailure> {
    let text = |digest| to_json_line(&DigestDocument::new(digest)).map(|json| (DIGEST_FILE.to_owned(), json + "\n"));
    let note = digest.map(text).transpose().map_err(|error| CommandFailure::new(CommandExit::Internal, error))?;
    Ok(note.into_iter().collect())
}

fn create_file(output: &Path) -> Result<(OutputPlace, File), CommandFailure> {
    let made = OutputPlace::reach_place(output).and_then(|place| place.create_new().map(|file| (place, file)));
    made.map_err(|error| {
        let failure = CommandFailure::unavailable_error(format!("cannot write {}: {error}", output.display()));
        match error.kind() {
            ErrorKind::AlreadyExists => {
                failure.with_hint("A recording replaces no file: choose another name, or remove the file.")
            }
            _ => failure.with_hint("Choose a file in a folder that you may write to."),
        }
    })
}

fn write_recording(
    file: &File,
    digest: Option<&MachineDigest>,
    packing: RecordingPacking,
) -> Result<u64, CommandFailure> {
    let mut writer = BufWriter::new(file);
    record_machine(&Root::this_machine(), &notes_of(digest)?, &mut writer, packing)
        .map_err(CommandFailure::unavailable_error)?;
    let size = writer.flush().and_then(|()| writer.get_ref().metadata()).map(|metadata| metadata.len());
    size.map_err(|error| CommandFailure::unavailable_error(format!("cannot write the recording: {error}")))
}

fn draw_screen(name: &str, size_bytes: u64, has_digest: bool, width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    let line = StyledLine::new()
        .plain(format!("recorded in {name} ({}); show it on any machine:  ", format_bytes(size_bytes)));
    screen.extend(wrap_line(&line.strong(suggestion::format_typed(&suggested_command::topology_of(name))), width, 2));
    if has_digest {
        let digest = format!("{DIGEST_FILE} in it has what was measured; it holds no names of hosts, users or tasks");
        screen.extend(wrap_line(&StyledLine::new().plain(digest), width, 2));
    }
    screen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::settings::ProgramEnvironment;

    #[test]
    fn a_terminal_gets_no_recording() {
        let failure = |json| {
            let environment = ProgramEnvironment { stdout_is_terminal: true, ..ProgramEnvironment::default() };
            let settings = ProgramSettings { json, ..ProgramSettings::from_environment(&environment) };
            RecordArguments { output: "-".into(), survey: false, packing: None }.run(&settings).unwrap_err()
        };
        assert_eq!(failure(false).exit, CommandExit::Usage);
        assert_eq!(
            failure(false).to_string(),
            "error: standard output is a terminal, and a recording is not text\n  Name a file with -o, or use a pipe: \
                corewise record -o - | ssh …"
        );
        assert_eq!(failure(true).what, "--json and the recording would both go to standard output");
    }
}
