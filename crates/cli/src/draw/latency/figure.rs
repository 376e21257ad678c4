//! Figures of latency: percentiles of each cpu, and the cpus side by side.

use crate::draw::survey_row::SurveyRow;

use crate::draw::plot::{AxisScale, FigurePlot, PlotAxis, PlotMark, PlotSeries};
use crate::draw::story::{StoryFigure, StoryPart};

/// Percentiles as 1 in n pieces that take longer, with their names.
const PERCENTILES: [(f64, &str); 5] =
    [(2.0, "50 %"), (10.0, "90 %"), (100.0, "99 %"), (1e3, "99.9 %"), (1e4, "99.99 %")];
/// Maximum number of cpus that are named one by one.
const FEW: usize = 32;
/// Maximum number of lines that can be distinguished; more are drawn alike.
const MANY: usize = 6;

/// Returns the figures that have data.
pub fn compose_figures(rows: &[SurveyRow]) -> Vec<StoryPart> {
    [percentiles_figure(rows), comparison_figure(rows)].into_iter().flatten().map(StoryPart::Figure).collect()
}

fn percentiles_figure(rows: &[SurveyRow]) -> Option<StoryFigure> {
    let line = |row: &SurveyRow| {
        let tail = &row.tail;
        let values = [tail.p50_ns, tail.p90_ns, tail.p99_ns, tail.p99_9_ns, tail.p99_99_ns];
        let points = PERCENTILES.iter().zip(values).map(|((of, _), ns)| [*of, ns]).filter(|at| at[1] > 0.0).collect();
        let name = if rows.len() <= MANY { format!("cpu {}", row.cpus) } else { String::new() };
        PlotSeries { name, marks: vec![PlotMark::Line(points)] }
    };
    let names = PERCENTILES.iter().map(|(of, name)| (*of, (*name).to_owned())).collect();
    let plot = FigurePlot {
        title: "Latency by percentile".to_owned(),
        subtitle: format!(
            "of the fixed piece of work; {}",
            if rows.len() <= MANY { "a line for each cpu" } else { "a line for each cpu or for several alike" }
        ),
        across: PlotAxis::new("share of the pieces up to this duration", AxisScale::Logarithmic).with_names(names),
        up: PlotAxis::new("ns", AxisScale::Logarithmic),
        series: rows.iter().map(line).collect(),
        ..FigurePlot::default()
    };
    StoryFigure::from_plot(
        "percentiles",
        plot,
        "Lower is better. Lines that coincide are cpus that are alike. A line that rises earlier belongs to a cpu with more \
         interruptions, and a line that rises higher to a cpu with longer ones.",
    )
}

fn comparison_figure(rows: &[SurveyRow]) -> Option<StoryFigure> {
    let of = |name: &str, value: fn(&SurveyRow) -> f64| PlotSeries {
        name: name.to_owned(),
        marks: rows
            .iter()
            .flat_map(|row| row.cpus.iter().map(move |cpu| PlotMark::Dot([f64::from(cpu), value(row)])))
            .filter(|mark| matches!(mark, PlotMark::Dot([_, ns]) if *ns > 0.0))
            .collect(),
    };
    let cpus: Vec<u32> = rows.iter().flat_map(|row| row.cpus.iter()).collect();
    let numbers = cpus.iter().map(|cpu| (f64::from(*cpu), cpu.to_string())).collect();
    let plot = FigurePlot {
        title: "The cpus beside each other".to_owned(),
        subtitle: "percentiles of the fixed piece of work".to_owned(),
        across: PlotAxis::new("cpu", AxisScale::Linear).with_names(if cpus.len() <= FEW {
            numbers
        } else {
            Vec::new()
        }),
        up: PlotAxis::new("ns", AxisScale::Logarithmic),
        series: vec![
            of("p50", |row| row.tail.p50_ns),
            of("p99", |row| row.tail.p99_ns),
            of("p99.9", |row| row.tail.p99_9_ns),
            of("p99.99", |row| row.tail.p99_99_ns),
        ],
        ..FigurePlot::default()
    };
    StoryFigure::from_plot(
        "cpus",
        plot,
        "A dot for each cpu and percentile; lower is better. A cpu that stands out in one percentile only is named above if a test \
                  supports it.",
    )
}
