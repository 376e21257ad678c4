//! The screen: levels by working set, what each group of cpus pays for each node, streams, load, and what it means.

mod comparison;
mod heat;
mod latencies;
mod levels;
mod loads;
mod page;
mod streams;

use corewise_model::links::map::Origin;
use corewise_model::memory::MemoryMap;
use corewise_model::memory::conclude::MemoryConclusions;
use corewise_model::memory::estimate::Estimate;

use crate::draw::findings::{gaps, meaning};
use crate::draw::heat::depth::Depth;
use crate::draw::machine::headline;
use crate::draw::number::{brief, bytes, count, decimal};
use crate::draw::survey::Kept;
use crate::draw::text::{Line, Screen, Tone};
use crate::draw::wrap::wrap;
use latencies::latencies;
use levels::level_lines;
use loads::{load_lines, loads_lines};
use streams::streams;

pub use comparison::comparison;
pub use page::{picture, story};

/// The whole screen of a map.
pub fn screen(map: &MemoryMap, conclusions: &MemoryConclusions, kept: &Kept, depth: Depth, width: usize) -> Screen {
    let mut screen = Screen::new();
    screen.extend(head(map, conclusions, kept, width));
    for levels in &conclusions.levels {
        screen.block(level_lines(map, levels, width));
    }
    screen.block(latencies(conclusions, depth, width));
    screen.block(streams(map, conclusions, width));
    match &conclusions.loads[..] {
        [load] => screen.block(load_lines(load, width)),
        loads => screen.block(loads_lines(loads, width)),
    }
    let is_measured = !map.is_empty();
    let remark =
        (is_measured && conclusions.findings.is_empty()).then_some("Nothing stands out: leave memory to the system.");
    let says_something = is_measured || !conclusions.findings.is_empty();
    screen.block(if says_something {
        meaning(remark, &conclusions.findings, &conclusions.no_difference, width)
    } else {
        Vec::new()
    });
    screen.block(foot(map, conclusions, kept, width));
    screen
}

fn head(map: &MemoryMap, conclusions: &MemoryConclusions, kept: &Kept, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut warn = |text: &str, rest: String| {
        lines.extend(wrap(&Line::new().with(Tone::Warn, text).plain(rest), width, 2));
    };
    if map.machine.system.emulated && map.provenance.origin == Origin::Measured {
        warn("EMULATED: every instruction of this machine is emulated", "; the times below mean nothing.".into());
    }
    if map.provenance.partial {
        warn(
            "PARTIAL: ended early",
            format!(", after {}; partial results follow.", count(map.rounds as usize, "whole round")),
        );
    }
    if conclusions.is_cache {
        let words = format!(
            "; buffers of {} are less than four times the caches ({}). Latency and bandwidth of nodes are those of caches in part.",
            bytes(map.buffer_bytes),
            bytes(map.caches_bytes)
        );
        warn("CACHE", words);
    }
    if let Kept::Recalled(number, when) = kept {
        lines.extend(wrap(&Line::new().faint(format!("map {number} of memory, made {when}")), width, 2));
    }
    let seconds = format!("{} s", decimal(map.provenance.elapsed_s, 0));
    let more = match &map.provenance.origin {
        Origin::Simulated { file } => vec![format!("memory of {file}, simulated with made-up costs")],
        Origin::Imported { file, format, .. } => vec![format!("memory by {format}, imported from {file}")],
        Origin::Measured => vec!["memory".to_owned(), seconds],
    };
    lines.extend(headline(&map.machine, &more, width));
    if let Origin::Imported { remarks, .. } = &map.provenance.origin {
        remarks.iter().for_each(|remark| lines.extend(wrap(&Line::new().faint(format!("note: {remark}")), width, 2)));
    }
    let balancing = map.machine.system.scheduling.get("numa_balancing").filter(|value| *value != "0");
    if balancing.is_some() && map.provenance.origin == Origin::Measured && map.machine.nodes.len() > 1 {
        let words = "note: automatic NUMA balancing is on (kernel.numa_balancing): it may move pages while programs run. The buffers here were \
                     looked up before and after.";
        lines.extend(wrap(&Line::new().faint(words), width, 2));
    }
    lines
}

fn some(estimate: Option<&Estimate>) -> Line {
    estimate.map_or_else(Line::new, |estimate| Line::new().strong(brief(estimate.median)))
}

/// "116–124": faint.
fn interval(estimate: Option<&Estimate>) -> Line {
    let words = |estimate: &Estimate| format!("{}–{}", brief(estimate.low), brief(estimate.high));
    estimate.map_or_else(Line::new, |estimate| Line::new().faint(words(estimate)))
}

fn foot(map: &MemoryMap, conclusions: &MemoryConclusions, kept: &Kept, width: usize) -> Vec<Line> {
    let visits = conclusions.costs.iter().filter_map(|cost| cost.huge_ns).map(|ns| ns.visits).max().unwrap_or(0);
    let mut lines = Vec::new();
    if visits < 6 && visits > 0 && !map.provenance.partial {
        let words = format!(
            "{} only: the ends of intervals are the least and the greatest (--budget)",
            count(map.rounds as usize, "round")
        );
        lines.extend(wrap(&Line::new().faint(words), width, 2));
    }
    lines.extend(gaps(&map.gaps, width));
    let mut end = vec![
        format!("buffers of {}", bytes(map.buffer_bytes)),
        count(map.rounds as usize, "round"),
        format!("seed {}", map.provenance.seed),
    ];
    end.extend(map.clock.as_ref().map(|clock| format!("clock {}", clock.source)));
    end.extend(match kept {
        Kept::Stored(number) => Some(format!("stored as map {number}")),
        Kept::No => Some("not stored".to_owned()),
        Kept::Failed | Kept::Recalled(..) => None,
    });
    lines.extend(wrap(&Line::new().faint(end.join(", ")), width, 2));
    lines
}
