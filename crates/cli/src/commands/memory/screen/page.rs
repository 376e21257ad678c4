//! A map of memory on a page: the answer first, then what it rests on.

use corewise_machine::suggested_command;
use corewise_model::links::map::Origin;
use corewise_model::memory::MemoryMap;
use corewise_model::memory::conclude::{Load, MemoryConclusions};
use corewise_model::stats::order::median;

use super::heat::rows;
use super::latencies::error_words;
use super::{foot, head, heat, latencies, level_lines, load_lines, streams};
use crate::draw::findings::meaning;
use crate::draw::heat::depth::Depth;
use crate::draw::heat::{HeatMap, SvgText};
use crate::draw::machine::{made_by, model_name};
use crate::draw::number::{bytes, count};
use crate::draw::page::{Block, Figure, Story, WIDTH};
use crate::draw::plot::{Axis, Mark, Plot, Scale, Series};
use crate::draw::suggestion::words_in_shell;
use crate::draw::survey::Kept;

/// What a page says of a map.
pub fn story(map: &MemoryMap, conclusions: &MemoryConclusions, kept: &Kept) -> Story {
    let remark = conclusions.findings.is_empty().then_some("Nothing stands out: leave memory to the system.");
    let heat_maps = [latency(map, conclusions), bandwidth(map, conclusions)];
    let figures = heat_maps.into_iter().chain([staircase(map), loaded(&conclusions.loads)]).flatten();
    let mut evidence: Vec<Block> = figures.map(Block::Figure).collect();
    evidence.extend(conclusions.levels.iter().map(|levels| Block::Lines(level_lines(map, levels, WIDTH))));
    evidence.push(Block::Lines(latencies(conclusions, Depth::NoColour, WIDTH)));
    evidence.push(Block::Lines(streams(map, conclusions, WIDTH)));
    evidence.extend(conclusions.loads.iter().map(|load| Block::Lines(load_lines(load, WIDTH))));
    Story {
        head: head(map, conclusions, kept, WIDTH),
        answer: meaning(remark, &conclusions.findings, &conclusions.no_difference, WIDTH),
        evidence,
        besides: foot(map, conclusions, kept, WIDTH),
        command: words_in_shell(
            match &map.provenance.origin {
                Origin::Imported { file, .. } => suggested_command::memory_import(file),
                Origin::Simulated { file } => suggested_command::memory_simulated(file, map.provenance.seed),
                Origin::Measured => suggested_command::memory(),
            }
            .words(),
        ),
    }
}

/// The picture of a map: the latency of each node, and of one node that by working set. Nothing where neither is known.
pub fn picture(map: &MemoryMap, conclusions: &MemoryConclusions) -> Option<String> {
    Some(latency(map, conclusions).or_else(|| staircase(map))?.svg)
}

fn latency(map: &MemoryMap, conclusions: &MemoryConclusions) -> Option<Figure> {
    let title = "Latency of each node's memory";
    let mut words = "a dependent load in huge pages, idle".to_owned();
    if conclusions.costs.iter().any(|cost| cost.predicted) {
        words = format!("{words} · some predicted, {}", error_words(conclusions));
    }
    Some(Figure {
        name: "latency",
        title: title.to_owned(),
        caption: "A row for the cpus of each last-level cache, a column for each node with memory. Cpus that are near a node's memory have a \
                  dark cell there. Predicted costs are pale."
            .to_owned(),
        svg: drawn(&heat::latency(&rows(conclusions))?, title, words, map),
    })
}

fn bandwidth(map: &MemoryMap, conclusions: &MemoryConclusions) -> Option<Figure> {
    let title = "Bandwidth from each node's memory";
    let words = "what all cores of a last-level cache read together".to_owned();
    Some(Figure {
        name: "bandwidth",
        title: title.to_owned(),
        caption: "The same rows and columns: a light cell is much bandwidth.".to_owned(),
        svg: drawn(&heat::bandwidth(map, &rows(conclusions))?, title, words, map),
    })
}

fn drawn(heat: &HeatMap, title: &str, words: String, map: &MemoryMap) -> String {
    let subtitle = format!("{}, {} · {words}", model_name(&map.machine), count(map.cpus.len(), "cpu"));
    heat.svg(&SvgText { title: title.to_owned(), subtitle, source: made_by(&map.provenance) })
}

fn staircase(map: &MemoryMap) -> Option<Figure> {
    let line = |staircase: &corewise_model::memory::Staircase| {
        let of = |step: &corewise_model::memory::Step| [step.bytes as f64, median(&step.visits_ns)];
        let points: Vec<[f64; 2]> = staircase.steps.iter().filter(|step| !step.visits_ns.is_empty()).map(of).collect();
        let dots = points.iter().map(|at| Mark::Dot(*at)).collect::<Vec<_>>();
        Series { name: format!("cpu {}", staircase.cpu), marks: [vec![Mark::Line(points)], dots].concat() }
    };
    let sizes = (12..40).step_by(2).map(|power| (2_f64.powi(power), bytes(1 << power)));
    let most = map.staircases.iter().flat_map(|staircase| &staircase.steps).map(|step| step.bytes).max()?;
    let plot = Plot {
        title: "Latency by working set".to_owned(),
        subtitle: "of a load that depends on the one before it".to_owned(),
        across: Axis::of("working set", Scale::Logarithmic)
            .named(sizes.filter(|(size, _)| *size <= most as f64).collect()),
        up: Axis::of("ns a load", Scale::Logarithmic),
        series: map.staircases.iter().map(line).collect(),
        ..Plot::default()
    };
    Some(Figure {
        name: "working-sets",
        title: plot.title.clone(),
        caption:
            "Each step is a level of the memory: as long as the working set fits into a cache, a load costs the same."
                .to_owned(),
        svg: plot.svg()?,
    })
}

fn loaded(loads: &[Load]) -> Option<Figure> {
    let line = |load: &Load| {
        let points: Vec<[f64; 2]> = load.points.iter().map(|point| [point.gb_s, point.ns.median]).collect();
        let dots = points.iter().map(|at| Mark::Dot(*at)).collect::<Vec<_>>();
        Series {
            name: format!("cpu {} and node {}", load.cpu, load.node),
            marks: [vec![Mark::Line(points)], dots].concat(),
        }
    };
    let plot = Plot {
        title: "Latency under load".to_owned(),
        subtitle: "of a load of one cpu while others read from the same node".to_owned(),
        across: Axis::of("what the others read, GB/s", Scale::Linear),
        up: Axis::of("ns a load", Scale::Linear),
        series: loads.iter().map(line).collect(),
        ..Plot::default()
    };
    Some(Figure {
        name: "under-load",
        title: plot.title.clone(),
        caption:
            "Where the line turns upwards the node's bandwidth is used up: more threads that read only wait longer."
                .to_owned(),
        svg: plot.svg()?,
    })
}
