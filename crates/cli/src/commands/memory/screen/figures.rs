//! Figures of a map of memory.

use corewise_model::Artifact as _;
use corewise_model::memory::MemoryMap;
use corewise_model::memory::conclude::{LatencyUnderLoad, MemoryConclusions};
use corewise_statistics::order::median;

use super::heat;
use super::heat::group_rows;
use super::latencies::format_error;
use crate::draw::heat::{HeatMap, SvgText};
use crate::draw::machine::{describe_circumstances, model_name};
use crate::draw::number::{format_bytes, format_count};
use crate::draw::plot::{AxisScale, FigurePlot, PlotAxis, PlotMark, PlotSeries};
use crate::draw::story::{FigurePicture, StoryFigure, StoryPart};

/// Returns the figures: latency and bandwidth of nodes, levels, and load, as far as known.
pub fn compose_figures(map: &MemoryMap, conclusions: &MemoryConclusions) -> Vec<StoryPart> {
    let heat_maps = [latency_figure(map, conclusions), bandwidth_figure(map, conclusions)];
    let figures = heat_maps.into_iter().chain([staircase_figure(map), load_figure(&conclusions.loads)]);
    figures.flatten().map(StoryPart::Figure).collect()
}

/// Returns the picture of a map: the latency of each node, or by working set on a machine with one node. `None` if neither is known.
pub fn draw_picture(map: &MemoryMap, conclusions: &MemoryConclusions) -> Option<String> {
    let mut figure = latency_figure(map, conclusions).or_else(|| staircase_figure(map))?;
    figure.set_source(&describe_circumstances(&map.circumstances(), map.origin()));
    Some(figure.to_svg())
}

fn latency_figure(map: &MemoryMap, conclusions: &MemoryConclusions) -> Option<StoryFigure> {
    let title = "Latency of each node's memory";
    let mut words = "a dependent load in huge pages, idle".to_owned();
    if conclusions.costs.iter().any(|cost| cost.predicted) {
        words = format!("{words} · some predicted, {}", format_error(conclusions));
    }
    Some(StoryFigure {
        name: "latency",
        title: title.to_owned(),
        caption: "A row for the cpus of each last-level cache, a column for each node with memory. Cpus that are near a node's memory have a \
                  dark cell there. Predicted costs are pale."
            .to_owned(),
        picture: heat_picture(heat::latency_map(&group_rows(conclusions))?, title, words, map),
    })
}

fn bandwidth_figure(map: &MemoryMap, conclusions: &MemoryConclusions) -> Option<StoryFigure> {
    let title = "Bandwidth from each node's memory";
    let words = "read by all cores of a last-level cache together".to_owned();
    Some(StoryFigure {
        name: "bandwidth",
        title: title.to_owned(),
        caption: "The same rows and columns: a light cell is much bandwidth.".to_owned(),
        picture: heat_picture(heat::bandwidth_map(map, &group_rows(conclusions))?, title, words, map),
    })
}

fn heat_picture(heat: HeatMap, title: &str, words: String, map: &MemoryMap) -> FigurePicture {
    let subtitle = format!("{}, {} · {words}", model_name(&map.machine), format_count(map.cpus.len(), "cpu"));
    let text = SvgText { title: title.to_owned(), subtitle, source: String::new() };
    FigurePicture::Heat(Box::new(heat), text)
}

fn staircase_figure(map: &MemoryMap) -> Option<StoryFigure> {
    let line = |staircase: &corewise_model::memory::LatencyStaircase| {
        let of = |step: &corewise_model::memory::StaircaseStep| [step.bytes as f64, median(&step.visits_ns)];
        let points: Vec<[f64; 2]> = staircase.steps.iter().filter(|step| !step.visits_ns.is_empty()).map(of).collect();
        let dots = points.iter().map(|at| PlotMark::Dot(*at)).collect::<Vec<_>>();
        PlotSeries { name: format!("cpu {}", staircase.cpu), marks: [vec![PlotMark::Line(points)], dots].concat() }
    };
    let sizes = (12..40).step_by(2).map(|power| (2_f64.powi(power), format_bytes(1 << power)));
    let most = map.staircases.iter().flat_map(|staircase| &staircase.steps).map(|step| step.bytes).max()?;
    let plot = FigurePlot {
        title: "Latency by working set".to_owned(),
        subtitle: "of a load that depends on the one before it".to_owned(),
        across: PlotAxis::new("working set", AxisScale::Logarithmic)
            .with_names(sizes.filter(|(size, _)| *size <= most as f64).collect()),
        up: PlotAxis::new("ns a load", AxisScale::Logarithmic),
        series: map.staircases.iter().map(line).collect(),
        ..FigurePlot::default()
    };
    StoryFigure::from_plot(
        "working-sets",
        plot,
        "Each step is a level of the memory: as long as the working set fits into a cache, a load costs the same.",
    )
}

fn load_figure(loads: &[LatencyUnderLoad]) -> Option<StoryFigure> {
    let line = |load: &LatencyUnderLoad| {
        let points: Vec<[f64; 2]> = load.points.iter().map(|point| [point.gb_s, point.ns.median]).collect();
        let dots = points.iter().map(|at| PlotMark::Dot(*at)).collect::<Vec<_>>();
        PlotSeries {
            name: format!("cpu {} and node {}", load.cpu, load.node),
            marks: [vec![PlotMark::Line(points)], dots].concat(),
        }
    };
    let plot = FigurePlot {
        title: "Latency under load".to_owned(),
        subtitle: "of a load of one cpu while others read from the same node".to_owned(),
        across: PlotAxis::new("read by the others, GB/s", AxisScale::Linear),
        up: PlotAxis::new("ns a load", AxisScale::Linear),
        series: loads.iter().map(line).collect(),
        ..FigurePlot::default()
    };
    StoryFigure::from_plot(
        "under-load",
        plot,
        "Where the line turns upwards the node's bandwidth is used up: more threads that read only wait longer.",
    )
}
