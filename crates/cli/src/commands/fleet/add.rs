//! `corewise fleet add`: visits that were made by other means, as files, as lines, or as pdsh and kubectl print them.

use std::path::Path;

use corewise_lab::session::unix_ms;
use corewise_model::artifact::{ArtifactOrigin, ArtifactProvenance};
use corewise_model::fleet::visit_report::check_node_name;
use corewise_model::fleet::{Fleet, NodeProblem, ProblemKind};
use corewise_sys::input::{InputFile, InputKind};

use super::arguments::FleetAddArguments;
use super::conclude_fleet;
use super::reports::read_report;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::print_message;
use crate::app::settings::ProgramSettings;
use crate::app::standard_input::read_standard_input;

/// Format in the origin of the fleet.
const FORMAT: &str = "reports of visits";
/// Line in which pdsh says that a command failed: "pdsh@admin: n3: ssh exited with exit code 127".
const PDSH: &str = "pdsh@";

impl FleetAddArguments {
    /// Reads the files, stores the fleet and shows it.
    pub fn add_files(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let file = self.files.iter().map(|file| file.display().to_string()).next().unwrap_or_default();
        let origin = ArtifactOrigin::Imported { file, format: FORMAT.to_owned(), remarks: Vec::new() };
        let mut reader = ReportReader::new(origin);
        for file in &self.files {
            reader.add_text(&read_file(file)?, &file_name(file));
        }
        for remark in reader.remarks() {
            print_message(&remark);
        }
        let fleet = reader.fleet;
        if fleet.nodes.is_empty() {
            let what = "there is no report of a visit in the input";
            return Err(CommandFailure::unavailable_error(what).with_hint(
                "Expected is the output of `fleet visit` on each machine: one file each, or one line each.",
            ));
        }
        conclude_fleet(&fleet, false, settings)
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

/// Returns the name of a file as it may name a node: without its ending and the number of the visit.
fn file_name(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match name.rsplit_once('.') {
        Some((node, visit)) if visit.bytes().all(|byte| byte.is_ascii_digit()) => node.to_owned(),
        _ => name,
    }
}

/// Makes a fleet of texts.
struct ReportReader {
    fleet: Fleet,
    /// Number of reports that were there already.
    repeated: usize,
    /// Number of lines that are no reports.
    others: usize,
}

impl ReportReader {
    fn new(origin: ArtifactOrigin) -> Self {
        let provenance = ArtifactProvenance {
            origin,
            corewise: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_ms: unix_ms(),
            elapsed_s: 0.0,
            budget_s: 0.0,
            seed: 0,
            partial: false,
        };
        Self { fleet: Fleet::new(provenance), repeated: 0, others: 0 }
    }

    /// Adds a text that is one report, or has one a line. `name` names the node of a text that is a damaged report.
    fn add_text(&mut self, text: &[u8], name: &str) {
        let text = text.trim_ascii();
        match read_report(text) {
            Ok(report) => self.repeated += usize::from(!self.fleet.add_visit(&report)),
            Err(why) if is_one_report(text) => self.add_damaged(name, why),
            Err(_) => text.split(is_line_end).for_each(|line| self.add_line(line)),
        }
    }

    /// Adds a line: a report, with the node's name before it if other tools printed that.
    fn add_line(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        let Some(begin) = line.iter().position(|byte| *byte == b'{') else { return self.add_other_line(line) };
        let (before, json) = line.split_at(begin);
        match read_report(json) {
            Ok(report) => self.repeated += usize::from(!self.fleet.add_visit(&report)),
            Err(why) => {
                let name = String::from_utf8_lossy(before);
                self.add_damaged(name.trim().trim_end_matches(':'), why);
            }
        }
    }

    fn add_other_line(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let failed = line.strip_prefix(PDSH).and_then(|line| line.split_once(": ")?.1.split_once(": "));
        match failed {
            Some((node, reason)) if check_node_name(node).is_ok() => {
                self.add_problem(node, NodeProblem { kind: ProblemKind::Died, reason: reason.to_owned() });
            }
            _ => self.others += usize::from(!line.is_empty()),
        }
    }

    fn add_damaged(&mut self, name: &str, reason: String) {
        match check_node_name(name) {
            Ok(()) => self.add_problem(name, NodeProblem { kind: ProblemKind::Unreadable, reason }),
            Err(_) => self.others += 1,
        }
    }

    /// Notes a problem, unless the node has a report.
    fn add_problem(&mut self, node: &str, problem: NodeProblem) {
        if !self.fleet.nodes.iter().any(|known| known.name == node && !known.visits.is_empty()) {
            self.fleet.add_problem(node, problem);
        }
    }

    fn remarks(&self) -> Vec<String> {
        let repeated = match self.repeated {
            0 => None,
            1 => Some("note: 1 report was there twice, and counts once".to_owned()),
            many => Some(format!("note: {many} reports were there twice, and count once")),
        };
        let others = match self.others {
            0 => None,
            1 => Some("note: 1 line is no report of a visit".to_owned()),
            many => Some(format!("note: {many} lines are no reports of visits")),
        };
        repeated.into_iter().chain(others).collect()
    }
}

/// Returns true if a text was meant to be one report: a single line, or indented lines behind a brace of its own.
fn is_one_report(text: &[u8]) -> bool {
    let mut lines = text.split(is_line_end);
    let first = lines.next().unwrap_or_default().trim_ascii_end();
    first == b"{" || first.starts_with(b"{") && lines.next().is_none()
}

const fn is_line_end(byte: &u8) -> bool {
    *byte == b'\n'
}
