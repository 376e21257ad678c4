//! The screen of a map of memory: levels by working set, latencies, streams, load, and the findings.

mod comparison;
mod figures;
mod heat;
mod latencies;
mod levels;
mod loads;
mod streams;

use corewise_machine::suggested_command;
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::memory::MemoryMap;
use corewise_model::memory::conclude::MemoryConclusions;
use corewise_model::memory::estimate::VisitEstimate;

use crate::draw::findings::{compose_gaps, compose_meaning};
use crate::draw::machine::compose_headline;
use crate::draw::number::{format_brief, format_bytes, format_count, format_decimal};
use crate::draw::story::StoryRole::{Answer, Details, Evidence, Head, Notes};
use crate::draw::story::{Story, StoryPart};
use crate::draw::suggestion::repeat_map;
use crate::draw::survey::{StorageStatus, emulated_remark};
use crate::draw::text::{StyledLine, TextTone};
use figures::compose_figures;
use latencies::compose_latencies;
use levels::level_lines;
use loads::{load_lines, loads_lines};
use streams::compose_streams;

pub use comparison::compose_comparison;
pub use figures::draw_picture;

/// Composes the story of a map.
pub fn compose_story(map: &MemoryMap, conclusions: &MemoryConclusions, kept: &StorageStatus) -> Story {
    let told = Story::new(repeat_map(
        &map.provenance,
        suggested_command::memory_import,
        suggested_command::memory_simulated,
        suggested_command::memory,
    ))
    .with(Head, compose_head(map, conclusions, kept))
    .with(Evidence, compose_figures(map, conclusions));
    let told = conclusions.levels.iter().fold(told, |told, levels| told.with(Evidence, level_lines(map, levels)));
    let told = told.with(Evidence, compose_latencies(conclusions)).with(Evidence, compose_streams(map, conclusions));
    let told = match &conclusions.loads[..] {
        [load] => told.with(Evidence, load_lines(load)),
        loads => loads
            .iter()
            .fold(told.with(Evidence, loads_lines(loads)), |told, load| told.with(Details, load_lines(load))),
    };
    let is_measured = !map.is_empty();
    let remark = (is_measured && conclusions.findings.is_empty()).then_some(match map.rounds {
        0 => "The time was too short to say where memory should lie.",
        _ => "Nothing stands out: leave memory to the system.",
    });
    let says_something = is_measured || !conclusions.findings.is_empty();
    let means = says_something.then(|| compose_meaning(remark, &conclusions.findings, &conclusions.no_difference));
    told.with(Answer, means.unwrap_or_default()).with(Notes, compose_foot(map, conclusions, kept))
}

fn compose_head(map: &MemoryMap, conclusions: &MemoryConclusions, kept: &StorageStatus) -> Vec<StoryPart> {
    let mut lines = Vec::new();
    if map.machine.system.emulated && map.provenance.origin == ArtifactOrigin::Measured {
        lines.push(emulated_remark().into_paragraph(2));
    }
    let mut warn = |text: &str, rest: String| {
        lines.push(StyledLine::new().with(TextTone::Warn, text).plain(rest).into_paragraph(2));
    };
    if map.provenance.partial {
        warn(
            "PARTIAL: ended early",
            format!(", after {}; partial results follow.", format_count(map.rounds as usize, "whole round")),
        );
    }
    if conclusions.is_cache {
        let words = format!(
            "; buffers of {} are less than four times the caches ({}). Latency and bandwidth of nodes are partly those of caches.",
            format_bytes(map.buffer_bytes),
            format_bytes(map.caches_bytes)
        );
        warn("CACHE", words);
    }
    if let StorageStatus::Recalled(number, when) = kept {
        lines.push(StyledLine::new().faint(format!("map {number} of memory, made {when}")).into_paragraph(2));
    }
    let seconds = format!("{} s", format_decimal(map.provenance.elapsed_s, 0));
    let more = match &map.provenance.origin {
        ArtifactOrigin::Simulated { file } => vec![format!("memory of {file}, simulated with made-up costs")],
        ArtifactOrigin::Imported { file, format, .. } => vec![format!("memory by {format}, imported from {file}")],
        ArtifactOrigin::Measured => vec!["memory".to_owned(), seconds],
    };
    lines.push(compose_headline(&map.machine, &more));
    if let ArtifactOrigin::Imported { remarks, .. } = &map.provenance.origin {
        remarks
            .iter()
            .for_each(|remark| lines.push(StyledLine::new().faint(format!("note: {remark}")).into_paragraph(2)));
    }
    let balancing = map.machine.system.scheduling.get("numa_balancing").filter(|value| *value != "0");
    if balancing.is_some() && map.provenance.origin == ArtifactOrigin::Measured && map.machine.nodes.len() > 1 {
        let words = "note: automatic NUMA balancing is on (kernel.numa_balancing): it may move pages while programs run. The buffers here were \
                     looked up before and after.";
        lines.push(StyledLine::new().faint(words).into_paragraph(2));
    }
    lines
}

fn draw_median(estimate: Option<&VisitEstimate>) -> StyledLine {
    estimate.map_or_else(StyledLine::new, |estimate| StyledLine::new().strong(format_brief(estimate.median)))
}

/// Formats an interval as "116–124", faint.
fn draw_interval(estimate: Option<&VisitEstimate>) -> StyledLine {
    let words = |estimate: &VisitEstimate| format!("{}–{}", format_brief(estimate.low), format_brief(estimate.high));
    estimate.map_or_else(StyledLine::new, |estimate| StyledLine::new().faint(words(estimate)))
}

fn compose_foot(map: &MemoryMap, conclusions: &MemoryConclusions, kept: &StorageStatus) -> Vec<StoryPart> {
    let visits = conclusions.costs.iter().filter_map(|cost| cost.huge_ns).map(|ns| ns.visits).max().unwrap_or(0);
    let mut lines = Vec::new();
    if visits < 6 && visits > 0 && !map.provenance.partial {
        let words = format!(
            "{} only: the ends of intervals are the least and the greatest (--budget)",
            format_count(map.rounds as usize, "round")
        );
        lines.push(StyledLine::new().faint(words).into_paragraph(2));
    }
    lines.extend(compose_gaps(&map.gaps));
    let mut end = vec![
        format!("buffers of {}", format_bytes(map.buffer_bytes)),
        format_count(map.rounds as usize, "round"),
        format!("seed {}", map.provenance.seed),
    ];
    end.extend(map.clock.as_ref().map(|clock| format!("clock {}", clock.source)));
    end.extend(kept.describe_stored_map());
    lines.push(StyledLine::new().faint(end.join(", ")).into_paragraph(2));
    lines
}
