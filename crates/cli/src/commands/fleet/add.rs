//! `corewise fleet add`: visits that were made by other means, as files, as lines, or as pdsh and kubectl print them.

mod reader;
mod shared_names;

use std::path::{Path, PathBuf};

use corewise_lab::session::unix_ms;
use corewise_machine::suggested_command;
use corewise_model::artifact::{ArtifactOrigin, ArtifactProvenance};
use corewise_model::fleet::Fleet;
use corewise_sys::input::{InputFile, InputKind};

use super::arguments::FleetAddArguments;
use super::conclude_fleet;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::print_message;
use crate::app::settings::ProgramSettings;
use crate::app::standard_input::read_standard_input;
use crate::draw::number::format_count;
use crate::draw::suggestion;
use reader::{ReportReader, ReportSource};

/// Format in the origin of the fleet.
const FORMAT: &str = "reports of visits";
/// Maximum number of files that are part of the command that makes the fleet again.
const MOST_NAMED_FILES: usize = 16;

impl FleetAddArguments {
    /// Reads the files, stores the fleet and shows it.
    pub fn add_files(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let mut reader = ReportReader::new(self.new_fleet());
        for file in &self.files {
            reader.add_text(&read_file(file)?, &name_source(file));
        }
        let (fleet, remarks) = reader.finish();
        for remark in &remarks {
            print_message(remark);
        }
        if fleet.nodes.is_empty() {
            let what = "there is no report of a visit in the input";
            let visit = suggestion::format_mention(&suggested_command::fleet_visit(std::time::Duration::from_secs(30)));
            return Err(CommandFailure::unavailable_error(what).with_hint(format!(
                "Expected is the output of {visit} on each machine: one file each, or one line each with NAME: before it."
            )));
        }
        conclude_fleet(&fleet, false, settings)
    }

    fn new_fleet(&self) -> Fleet {
        let origin = ArtifactOrigin::Imported {
            file: describe_files(&self.files),
            format: FORMAT.to_owned(),
            remarks: Vec::new(),
        };
        let mut fleet = Fleet::new(ArtifactProvenance {
            origin,
            corewise: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_ms: unix_ms(),
            elapsed_s: 0.0,
            budget_s: 0.0,
            seed: 0,
            partial: false,
        });
        let files = self.files.iter().map(|file| file.display().to_string());
        let files: Vec<String> =
            if self.files.len() > MOST_NAMED_FILES { vec!["FILE".to_owned()] } else { files.collect() };
        fleet.made_by = ["add".to_owned()].into_iter().chain(files).collect();
        fleet
    }
}

/// Describes the files in a few words: "16 files, visits/n0.1.json and others".
fn describe_files(files: &[PathBuf]) -> String {
    let first = files.first().map(|file| name_source(file).place).unwrap_or_default();
    match files.len() {
        0 | 1 => first,
        several => format!("{}, {first} and others", format_count(several, "file")),
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, CommandFailure> {
    if path == Path::new("-") {
        return read_standard_input(InputKind::FleetReports.most_bytes());
    }
    InputFile::open(path, InputKind::FleetReports)
        .and_then(InputFile::read_bytes)
        .map_err(CommandFailure::unavailable_error)
}

/// Returns what a file is called in notes, and the node that it may be named for: its name without its ending and the number of the visit.
fn name_source(path: &Path) -> ReportSource {
    if path == Path::new("-") {
        return ReportSource { place: "standard input".to_owned(), node: None };
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let node = match name.rsplit_once('.') {
        Some((node, visit)) if visit.bytes().all(|byte| byte.is_ascii_digit()) => node.to_owned(),
        _ => name,
    };
    ReportSource { place: path.display().to_string(), node: Some(node) }
}
