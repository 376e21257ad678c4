//! Reading of texts that have reports of visits, beside whatever else other tools print.

use corewise_model::fleet::visit_report::{VisitReport, check_node_name};
use corewise_model::fleet::{Fleet, NodeProblem, ProblemKind};

use super::super::reports::read_report;
use super::shared_names::SharedNames;
use crate::draw::number::format_count;

/// Beginning of a line in which pdsh says that a command failed: "pdsh@admin: n3: ssh exited with exit code 127".
const PDSH: &str = "pdsh@";
/// Programs and words that stand before a message, in the place of a node's name.
const SPEAKERS: [&str; 11] =
    ["error", "warning", "note", "hint", "sh", "bash", "zsh", "ssh", "srun", "slurmstepd", "corewise"];
/// Maximum number of damaged places that are named in notes.
const MOST_NAMED: usize = 5;
/// Maximum characters of a reason.
const LONGEST_REASON: usize = 300;

/// The place that a text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportSource {
    /// The file's path, or "standard input".
    pub place: String,
    /// The node that the file is named for, if it is a file.
    pub node: Option<String>,
}

/// Makes a fleet of texts.
pub struct ReportReader {
    fleet: Fleet,
    /// Number of reports that were there already.
    repeated: usize,
    /// Problems of nodes, with the places that they were read from. They count if the node has no report anywhere.
    problems: Vec<(String, NodeProblem, String)>,
    /// Places that have no report and name no node.
    nameless: Vec<String>,
    shared: SharedNames,
}

impl ReportReader {
    /// Creates a reader that adds to a fleet.
    pub fn new(fleet: Fleet) -> Self {
        Self { fleet, repeated: 0, problems: Vec::new(), nameless: Vec::new(), shared: SharedNames::default() }
    }

    /// Adds a text that is one report, or has one a line.
    pub fn add_text(&mut self, text: &[u8], source: &ReportSource) {
        let trimmed = text.trim_ascii();
        match read_report(trimmed) {
            Ok(report) => return self.add_report(report),
            Err(_) if trimmed.is_empty() => return self.add_damaged(source, "it is empty".to_owned()),
            Err(why) if is_one_report(trimmed) => return self.add_damaged(source, why),
            Err(_) => {}
        }
        let mut nameless = Vec::new();
        let mut has_row = false;
        for (number, line) in text.split(is_line_end).enumerate().filter(|(_, line)| !line.trim_ascii().is_empty()) {
            let place = format!("{} line {}", source.place, number + 1);
            match self.add_line(line.trim_ascii(), &place) {
                true => has_row = true,
                false => nameless.push(place),
            }
        }
        let first = trimmed.split(is_line_end).next().unwrap_or_default();
        match &source.node {
            Some(_) if !has_row => self.add_damaged(source, shorten_reason(&String::from_utf8_lossy(first))),
            _ => self.nameless.extend(nameless),
        }
    }

    /// Adds a line: a report, with the node's name before it if other tools printed that, or a node's name with the reason why it has
    /// none. Returns false if it has no report and names no node.
    fn add_line(&mut self, line: &[u8], place: &str) -> bool {
        let begin = line.iter().position(|byte| *byte == b'{').unwrap_or(line.len());
        let (before, json) = line.split_at(begin);
        let before = String::from_utf8_lossy(before);
        let before = before.trim();
        let name = before.strip_suffix(':').unwrap_or(before).trim_end();
        let name = Some(name).filter(|name| is_name(name));
        match (read_report(json), name) {
            (Ok(report), name) => {
                self.add_report(VisitReport { node: name.map_or(report.node, str::to_owned), ..report })
            }
            (Err(reason), Some(name)) if !json.is_empty() => {
                self.note_problem(name, ProblemKind::Unreadable, &reason, place);
            }
            _ => return self.add_words(&String::from_utf8_lossy(line), place),
        }
        true
    }

    /// Adds a line "NAME: words", or what pdsh says of a node. Returns false if it is neither.
    fn add_words(&mut self, line: &str, place: &str) -> bool {
        let failed = line.strip_prefix(PDSH).and_then(|line| line.split_once(": ")?.1.split_once(": "));
        if let Some((node, reason)) = failed.filter(|(node, _)| is_name(node)) {
            // The node's own words are better.
            if !self.problems.iter().any(|(known, ..)| known == node) {
                self.note_problem(node, ProblemKind::Died, reason, place);
            }
            return true;
        }
        let (node, words) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, ""))).unwrap_or_default();
        let words = shorten_reason(words);
        let is_named = is_name(node);
        if is_named {
            let reason = if words.is_empty() { "it printed nothing" } else { &words };
            self.note_problem(node, ProblemKind::Died, reason, place);
        }
        is_named
    }

    fn add_report(&mut self, report: VisitReport) {
        if self.fleet.add_visit(&report) {
            self.shared.add_report(report);
        } else {
            self.repeated += 1;
        }
    }

    /// Notes a file that holds no report, by the name of the file.
    fn add_damaged(&mut self, source: &ReportSource, reason: String) {
        match source.node.as_deref().filter(|node| check_node_name(node).is_ok()) {
            Some(node) => self.note_problem(node, ProblemKind::Unreadable, &reason, &source.place),
            None => self.nameless.push(format!("{} ({reason})", source.place)),
        }
    }

    /// Notes a problem; that of a later line replaces an earlier one.
    fn note_problem(&mut self, node: &str, kind: ProblemKind, reason: &str, place: &str) {
        let reason = reason.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.problems.push((node.to_owned(), NodeProblem { kind, reason }, place.to_owned()));
    }

    /// Returns the fleet, and what to say about the input.
    pub fn finish(mut self) -> (Fleet, Vec<String>) {
        let has_visits = |fleet: &Fleet, node: &str| {
            let place = fleet.nodes.binary_search_by(|known| known.name.as_str().cmp(node));
            place.is_ok_and(|place| !fleet.nodes[place].visits.is_empty())
        };
        let mut damaged = Vec::new();
        for (node, problem, place) in std::mem::take(&mut self.problems) {
            if !has_visits(&self.fleet, &node) {
                self.fleet.add_problem(&node, problem);
            } else if problem.kind == ProblemKind::Unreadable {
                damaged.push(format!("{place} (of {node}, which has others)"));
            }
        }
        let repeated = match self.repeated {
            0 => None,
            1 => Some("note: 1 report was there twice, and counts once".to_owned()),
            many => Some(format!("note: {many} reports were there twice, and count once")),
        };
        let places = [("no report, and names no node", &self.nameless), ("a damaged report", &damaged)];
        let places = places.into_iter().filter_map(|(what, places)| describe_places(what, places));
        let remarks = repeated.into_iter().chain(places).chain(self.shared.describe_shared()).collect();
        (self.fleet, remarks)
    }
}

/// Returns true if a text can be a node's name before a colon.
fn is_name(text: &str) -> bool {
    check_node_name(text).is_ok() && !SPEAKERS.contains(&text)
}

fn shorten_reason(words: &str) -> String {
    words.trim().chars().take(LONGEST_REASON).collect()
}

fn describe_places(what: &str, places: &[String]) -> Option<String> {
    let named = places.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = places.len().saturating_sub(MOST_NAMED);
    let more = if more == 0 { String::new() } else { format!(", and {}", format_count(more, "other place")) };
    (!places.is_empty()).then(|| format!("note: {what}: {named}{more}"))
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

#[cfg(test)]
mod tests;
