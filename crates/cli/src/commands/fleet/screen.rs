//! The report of a fleet: which nodes answered, the nodes to drain with reasons, how even each model is, which settings differ.

pub mod changes;
mod tables;
#[cfg(test)]
mod tests;
mod wording;

use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::fleet::Fleet;
use corewise_model::fleet::conclude::{DeviatingNode, FleetConclusions, ProblemGroup};
use corewise_model::fleet::node_list::format_node_list;

use crate::draw::number::{format_count, format_whole};
use crate::draw::printable::{make_printable, printable_prefix};
use crate::draw::story::StoryRole::{Answer, Details, Evidence, Head, Notes};
use crate::draw::story::{Story, StoryPart};
use crate::draw::survey::StorageStatus;
use crate::draw::text::{StyledLine, TextTone};
use tables::{draw_drift, draw_models, draw_nodes, draw_problems, draw_racks};
use wording::{
    ChangeWording, SLOW_WORDS, describe_deviation, describe_outlook, describe_spread, drain_reason, is_slurm_name,
};

/// Maximum rows of a table on a terminal.
const MOST_ROWS: usize = 20;
/// Maximum number of drain commands on the screen.
const MOST_DRAINED: usize = 20;
/// Maximum columns of a list of nodes in a sentence.
const LONGEST_LIST: usize = 200;

/// Composes the story of a fleet.
pub fn compose_story(fleet: &Fleet, found: &FleetConclusions, kept: &StorageStatus) -> Story {
    let rest = |title: &'static str, story: Story, nodes: &[DeviatingNode], describe: ChangeWording| {
        let is_cut = nodes.len() > MOST_ROWS;
        let parts = if is_cut { vec![draw_nodes(nodes, describe, usize::MAX).into()] } else { Vec::new() };
        story.with_titled(Details, title, parts)
    };
    let story = Story::new(suggest_again(fleet))
        .with(Head, compose_head(fleet, found, kept))
        .with(Answer, compose_answer(fleet, found))
        .with(Answer, compose_steps(found))
        .with(Evidence, compose_nodes("Worse than their peers", &found.outliers, describe_deviation))
        .with(Evidence, compose_nodes("Uneven from visit to visit", &found.noisy, describe_spread))
        .with(Evidence, compose_nodes("Not proven, but closest to it", &found.suspects, describe_deviation))
        .with(Evidence, compose_table("Models of machine", draw_models(found, MOST_ROWS), found.models.len()))
        .with(Evidence, compose_racks(found))
        .with(Evidence, compose_drift(found))
        .with(Evidence, compose_problems(&found.problems));
    let story = rest("All nodes that are worse than their peers", story, &found.outliers, describe_deviation);
    rest("All uneven nodes", story, &found.noisy, describe_spread).with(Notes, compose_notes(found, kept))
}

/// Returns the command that makes such a fleet again.
fn suggest_again(fleet: &Fleet) -> SuggestedCommand {
    match &fleet.made_by[..] {
        [] => suggested_command::fleet_survey_hosts("hosts.txt"),
        words => suggested_command::fleet_again(words),
    }
}

fn compose_head(fleet: &Fleet, found: &FleetConclusions, kept: &StorageStatus) -> Vec<StoryPart> {
    let mut lines = Vec::new();
    if fleet.provenance.partial {
        let text = StyledLine::new().with(TextTone::Warn, "PARTIAL: ended early").plain("; partial results follow.");
        lines.push(text.into_paragraph(2));
    }
    if let StorageStatus::Recalled(number, when) = kept {
        lines.push(StyledLine::new().faint(format!("fleet {number}, made {when}")).into_paragraph(2));
    }
    let answered = format!("{} answered", format_whole(found.answered as u64));
    let counts = [format_count(found.asked, "node"), answered, format_count(found.visits, "visit")];
    lines.push(StyledLine::new().strong(counts.join(" · ")).into_paragraph(2));
    lines
}

fn compose_answer(fleet: &Fleet, found: &FleetConclusions) -> Vec<StoryPart> {
    let sentence = |text: String| StyledLine::new().plain(format!(" {text}")).into_paragraph(1);
    let mut parts = vec![StyledLine::new().strong("What this means").into_paragraph(0)];
    parts.push(sentence(describe_outliers(found)));
    // A survey that is complete visited all nodes again that could be proven.
    let is_complete = fleet.provenance.origin.is_measured() && !fleet.provenance.partial;
    if let Some(outlook) = found.outlook.as_ref().filter(|_| !is_complete) {
        parts.extend(describe_outlook(outlook, &SLOW_WORDS).into_iter().map(sentence));
        if outlook.needs_visits() {
            parts.push(sentence(describe_more_visits(fleet)));
        }
    }
    if let Some(first) = found.outliers.first() {
        parts.push(sentence(format!("The surest: {}.", wording::describe_node(first))));
    }
    if !found.noisy.is_empty() {
        let (count, list) = (format_count(found.noisy.len(), "node"), list_nodes(&found.noisy));
        let verb = if found.noisy.len() == 1 {
            "differs from visit to visit more than its peers"
        } else {
            "differ from visit to visit more than their peers"
        };
        parts.push(sentence(format!("{count} {verb}: {list}.")));
    }
    let missing = found.asked - found.answered;
    if missing > 0 {
        parts.push(sentence(format!("{} gave no result; the reasons are below.", format_count(missing, "node"))));
    }
    parts
}

fn describe_outliers(found: &FleetConclusions) -> String {
    let judged = format_count(found.judged, "node");
    match found.outliers.len() {
        _ if found.judged == 0 => "No node can be compared with its peers yet.".to_owned(),
        0 => format!("None of {judged} is proven to be worse than its peers."),
        1 => format!("1 of {judged} is worse than its peers: {}.", list_nodes(&found.outliers)),
        count => {
            let list = list_nodes(&found.outliers);
            format!("{} of {judged} are worse than their peers: {list}.", format_whole(count as u64))
        }
    }
}

/// Says how more visits are made and added to this fleet's.
fn describe_more_visits(fleet: &Fleet) -> String {
    let again = suggest_again(fleet).quoted_line();
    match fleet.made_by.first().map(String::as_str) {
        Some("add") => format!(
            "More visits: visit all nodes again as before, then {again} with the earlier files and the new ones."
        ),
        _ => format!("More visits: {again}; the same command goes on with an unfinished survey."),
    }
}

/// Returns the names of nodes as a short list.
fn list_nodes(nodes: &[DeviatingNode]) -> String {
    let list = format_node_list(nodes.iter().map(|node| node.node.as_str()));
    printable_prefix(&make_printable(&list), LONGEST_LIST)
}

/// Composes the commands to paste. Nothing is done to a node by itself.
fn compose_steps(found: &FleetConclusions) -> Vec<StoryPart> {
    let drained: Vec<&DeviatingNode> = found.outliers.iter().filter(|node| is_slurm_name(&node.node)).collect();
    if drained.is_empty() {
        return Vec::new();
    }
    let verbatim = |text: String| StyledLine::new().strong(format!("    {text}")).into_paragraph(8);
    let advice = "With Slurm, drain them, or leave them out of a job:";
    let mut parts = vec![StyledLine::new().plain(advice).into_paragraph(0)];
    for node in drained.iter().take(MOST_DRAINED) {
        let reason = drain_reason(node);
        parts.push(verbatim(format!("scontrol update NodeName={} State=DRAIN Reason=\"{reason}\"", node.node)));
    }
    let all = format_node_list(drained.iter().map(|node| node.node.as_str()));
    if drained.len() > MOST_DRAINED {
        let reason = format!("corewise: among {} slow nodes", drained.len());
        parts.push(verbatim(format!("scontrol update NodeName={all} State=DRAIN Reason=\"{reason}\"")));
    }
    parts.push(verbatim(format!("--exclude={all}")));
    parts
}

fn compose_nodes(title: &str, nodes: &[DeviatingNode], describe: ChangeWording) -> Vec<StoryPart> {
    compose_table(title, draw_nodes(nodes, describe, MOST_ROWS), nodes.len())
}

/// Composes a table under its title, with the number of rows that are left out; empty without rows.
fn compose_table(title: &str, table: crate::draw::grid::TextGrid, rows: usize) -> Vec<StoryPart> {
    if rows == 0 {
        return Vec::new();
    }
    let mut parts = vec![StyledLine::new().strong(title).into_paragraph(0), table.into()];
    if rows > MOST_ROWS {
        let more = format!("and {} more", format_whole((rows - MOST_ROWS) as u64));
        parts.push(StyledLine::new().faint(more).into_paragraph(2));
    }
    parts
}

fn compose_racks(found: &FleetConclusions) -> Vec<StoryPart> {
    let racks: usize = found.models.iter().map(|model| model.racks.len()).sum();
    compose_table("Racks at another speed than their model", draw_racks(found, MOST_ROWS), racks)
}

fn compose_drift(found: &FleetConclusions) -> Vec<StoryPart> {
    compose_table("Settings that differ within a model", draw_drift(&found.drift, MOST_ROWS), found.drift.len())
}

fn compose_problems(problems: &[ProblemGroup]) -> Vec<StoryPart> {
    compose_table("Nodes without a result", draw_problems(problems, MOST_ROWS), problems.len())
}

fn compose_notes(found: &FleetConclusions, kept: &StorageStatus) -> Vec<StoryPart> {
    let faint = |text: String| StyledLine::new().faint(text).into_paragraph(2);
    let mut lines: Vec<StoryPart> = found.caveats.iter().map(|caveat| faint(make_printable(caveat))).collect();
    if !found.outliers.is_empty() || !found.noisy.is_empty() {
        let bound = "Of each list at most 5 % are there by chance, and each end of an interval is wrong for at most 5 % of the nodes.";
        lines.push(faint(bound.to_owned()));
    }
    let has_causes = found.outliers.iter().any(|node| !node.causes.is_empty());
    if has_causes {
        lines.push(faint("A setting that differs may be the cause; nothing here proves it.".to_owned()));
    }
    let stored = match kept {
        StorageStatus::Stored(number) => Some(format!("stored as fleet {number}")),
        StorageStatus::No => Some("not stored".to_owned()),
        StorageStatus::Failed | StorageStatus::Recalled(..) => None,
    };
    lines.extend(stored.map(faint));
    lines
}
