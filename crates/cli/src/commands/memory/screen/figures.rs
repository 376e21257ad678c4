//! Figures of a map of memory.

use corewise_model::memory::MemoryMap;
use corewise_model::memory::conclude::{Load, MemoryConclusions};
use corewise_model::stats::order::median;

use super::heat;
use super::heat::rows;
use super::latencies::error_words;
use crate::draw::heat::{HeatMap, SvgText};
use crate::draw::machine::{made_by, model_name};
use crate::draw::number::{bytes, count};
use crate::draw::plot::{Axis, Mark, Plot, Scale, Series};
use crate::draw::story::{FigurePicture, StoryFigure, StoryPart};

/// Returns the figures: latency and bandwidth of nodes, levels, and load, as far as known.
pub fn figures(map: &MemoryMap, conclusions: &MemoryConclusions) -> Vec<StoryPart> {
    let heat_maps = [latency(map, conclusions), bandwidth(map, conclusions)];
    let figures = heat_maps.into_iter().chain([staircase(map), loaded(&conclusions.loads)]);
    figures.flatten().map(StoryPart::Figure).collect()
}

/// Returns the picture of a map: the latency of each node, or by working set on a machine with one node. `None` if neither is known.
pub fn picture(map: &MemoryMap, conclusions: &MemoryConclusions) -> Option<String> {
    Some(latency(map, conclusions).or_else(|| staircase(map))?.svg())
}

fn latency(map: &MemoryMap, conclusions: &MemoryConclusions) -> Option<StoryFigure> {
    let title = "Latency of each node's memory";
    let mut words = "a dependent load in huge pages, idle".to_owned();
    if conclusions.costs.iter().any(|cost| cost.predicted) {
        words = format!("{words} · some predicted, {}", error_words(conclusions));
    }
    Some(StoryFigure {
        name: "latency",
        title: title.to_owned(),
        caption: "A row for the cpus of each last-level cache, a column for each node with memory. Cpus that are near a node's memory have a \
                  dark cell there. Predicted costs are pale."
            .to_owned(),
        picture: drawn(heat::latency(&rows(conclusions))?, title, words, map),
    })
}

fn bandwidth(map: &MemoryMap, conclusions: &MemoryConclusions) -> Option<StoryFigure> {
    let title = "Bandwidth from each node's memory";
    let words = "read by all cores of a last-level cache together".to_owned();
    Some(StoryFigure {
        name: "bandwidth",
        title: title.to_owned(),
        caption: "The same rows and columns: a light cell is much bandwidth.".to_owned(),
        picture: drawn(heat::bandwidth(map, &rows(conclusions))?, title, words, map),
    })
}

fn drawn(heat: HeatMap, title: &str, words: String, map: &MemoryMap) -> FigurePicture {
    let subtitle = format!("{}, {} · {words}", model_name(&map.machine), count(map.cpus.len(), "cpu"));
    let text = SvgText { title: title.to_owned(), subtitle, source: made_by(&map.provenance) };
    FigurePicture::Heat(Box::new(heat), text)
}

fn staircase(map: &MemoryMap) -> Option<StoryFigure> {
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
    StoryFigure::from_plot(
        "working-sets",
        plot,
        "Each step is a level of the memory: as long as the working set fits into a cache, a load costs the same.",
    )
}

fn loaded(loads: &[Load]) -> Option<StoryFigure> {
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
        across: Axis::of("read by the others, GB/s", Scale::Linear),
        up: Axis::of("ns a load", Scale::Linear),
        series: loads.iter().map(line).collect(),
        ..Plot::default()
    };
    StoryFigure::from_plot(
        "under-load",
        plot,
        "Where the line turns upwards the node's bandwidth is used up: more threads that read only wait longer.",
    )
}
