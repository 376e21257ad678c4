//! The screen of a map of memory: levels by working set, latencies, streams, load, and the findings.

mod comparison;
mod figures;
mod heat;
mod latencies;
mod levels;
mod loads;
mod streams;

use corewise_machine::suggested_command;
use corewise_model::links::map::Origin;
use corewise_model::memory::MemoryMap;
use corewise_model::memory::conclude::MemoryConclusions;
use corewise_model::memory::estimate::Estimate;

use crate::draw::findings::{gaps, meaning};
use crate::draw::machine::headline;
use crate::draw::number::{brief, bytes, count, decimal};
use crate::draw::story::StoryRole::{Answer, Details, Evidence, Head, Notes};
use crate::draw::story::{Story, StoryPart};
use crate::draw::suggestion::map_again;
use crate::draw::survey::{Kept, emulated_remark};
use crate::draw::text::{Line, Tone};
use figures::figures;
use latencies::latencies;
use levels::level_lines;
use loads::{load_lines, loads_lines};
use streams::streams;

pub use comparison::comparison;
pub use figures::picture;

/// Composes the story of a map.
pub fn story(map: &MemoryMap, conclusions: &MemoryConclusions, kept: &Kept) -> Story {
    let told = Story::new(map_again(
        &map.provenance,
        suggested_command::memory_import,
        suggested_command::memory_simulated,
        suggested_command::memory,
    ))
    .with(Head, head(map, conclusions, kept))
    .with(Evidence, figures(map, conclusions));
    let told = conclusions.levels.iter().fold(told, |told, levels| told.with(Evidence, level_lines(map, levels)));
    let told = told.with(Evidence, latencies(conclusions)).with(Evidence, streams(map, conclusions));
    let told = match &conclusions.loads[..] {
        [load] => told.with(Evidence, load_lines(load)),
        loads => loads
            .iter()
            .fold(told.with(Evidence, loads_lines(loads)), |told, load| told.with(Details, load_lines(load))),
    };
    let is_measured = !map.is_empty();
    let remark =
        (is_measured && conclusions.findings.is_empty()).then_some("Nothing stands out: leave memory to the system.");
    let says_something = is_measured || !conclusions.findings.is_empty();
    let means = says_something.then(|| meaning(remark, &conclusions.findings, &conclusions.no_difference));
    told.with(Answer, means.unwrap_or_default()).with(Notes, foot(map, conclusions, kept))
}

fn head(map: &MemoryMap, conclusions: &MemoryConclusions, kept: &Kept) -> Vec<StoryPart> {
    let mut lines = Vec::new();
    if map.machine.system.emulated && map.provenance.origin == Origin::Measured {
        lines.push(emulated_remark().hanging(2));
    }
    let mut warn = |text: &str, rest: String| {
        lines.push(Line::new().with(Tone::Warn, text).plain(rest).hanging(2));
    };
    if map.provenance.partial {
        warn(
            "PARTIAL: ended early",
            format!(", after {}; partial results follow.", count(map.rounds as usize, "whole round")),
        );
    }
    if conclusions.is_cache {
        let words = format!(
            "; buffers of {} are less than four times the caches ({}). Latency and bandwidth of nodes are partly those of caches.",
            bytes(map.buffer_bytes),
            bytes(map.caches_bytes)
        );
        warn("CACHE", words);
    }
    if let Kept::Recalled(number, when) = kept {
        lines.push(Line::new().faint(format!("map {number} of memory, made {when}")).hanging(2));
    }
    let seconds = format!("{} s", decimal(map.provenance.elapsed_s, 0));
    let more = match &map.provenance.origin {
        Origin::Simulated { file } => vec![format!("memory of {file}, simulated with made-up costs")],
        Origin::Imported { file, format, .. } => vec![format!("memory by {format}, imported from {file}")],
        Origin::Measured => vec!["memory".to_owned(), seconds],
    };
    lines.push(headline(&map.machine, &more));
    if let Origin::Imported { remarks, .. } = &map.provenance.origin {
        remarks.iter().for_each(|remark| lines.push(Line::new().faint(format!("note: {remark}")).hanging(2)));
    }
    let balancing = map.machine.system.scheduling.get("numa_balancing").filter(|value| *value != "0");
    if balancing.is_some() && map.provenance.origin == Origin::Measured && map.machine.nodes.len() > 1 {
        let words = "note: automatic NUMA balancing is on (kernel.numa_balancing): it may move pages while programs run. The buffers here were \
                     looked up before and after.";
        lines.push(Line::new().faint(words).hanging(2));
    }
    lines
}

fn some(estimate: Option<&Estimate>) -> Line {
    estimate.map_or_else(Line::new, |estimate| Line::new().strong(brief(estimate.median)))
}

/// Formats an interval as "116–124", faint.
fn interval(estimate: Option<&Estimate>) -> Line {
    let words = |estimate: &Estimate| format!("{}–{}", brief(estimate.low), brief(estimate.high));
    estimate.map_or_else(Line::new, |estimate| Line::new().faint(words(estimate)))
}

fn foot(map: &MemoryMap, conclusions: &MemoryConclusions, kept: &Kept) -> Vec<StoryPart> {
    let visits = conclusions.costs.iter().filter_map(|cost| cost.huge_ns).map(|ns| ns.visits).max().unwrap_or(0);
    let mut lines = Vec::new();
    if visits < 6 && visits > 0 && !map.provenance.partial {
        let words = format!(
            "{} only: the ends of intervals are the least and the greatest (--budget)",
            count(map.rounds as usize, "round")
        );
        lines.push(Line::new().faint(words).hanging(2));
    }
    lines.extend(gaps(&map.gaps));
    let mut end = vec![
        format!("buffers of {}", bytes(map.buffer_bytes)),
        count(map.rounds as usize, "round"),
        format!("seed {}", map.provenance.seed),
    ];
    end.extend(map.clock.as_ref().map(|clock| format!("clock {}", clock.source)));
    end.extend(kept.of_map());
    lines.push(Line::new().faint(end.join(", ")).hanging(2));
    lines
}
