//! The screen of a map of links: cost classes, groups, the heat map, and the findings.

use std::path::Path;

use corewise_machine::{Gap, suggested_command};
use corewise_model::Artifact as _;
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::links::TalkWay;
use corewise_model::links::conclude::{
    CostClass, CostGroups, FilledSeries, KindConclusions, LinkConclusions, PredictionError, nothing_found,
};
use corewise_model::links::doubt::CostDoubt;
use corewise_model::links::map::{CostUnit, LinkMap};

use super::MatrixLayout;
use super::sends::compose_sends;
use crate::draw::findings::{compose_gaps, compose_meaning};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::heat::{HeatMap, SvgText};
use crate::draw::machine::{compose_headline, describe_circumstances, model_name};
use crate::draw::number::{format_brief, format_count, format_decimal, format_whole};
use crate::draw::story::StoryRole::{Answer, Evidence, Head, Notes};
use crate::draw::story::{FigurePicture, Story, StoryFigure, StoryPart, compose_paragraphs};
use crate::draw::suggestion::repeat_map;
use crate::draw::survey::{StorageStatus, emulated_remark};
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::{glue_numbers, glue_words};

/// Maximum height of the heat map in lines.
const MOST_ROWS: usize = 48;
/// Number of groups above which only the first two and the last are listed.
const MANY_GROUPS: usize = 12;
/// Maximum number of doubtful costs listed.
const MOST_DOUBTS: usize = 3;

/// Composes the story of a map, with cpus in the order of their groups or by number.
pub fn compose_story(map: &LinkMap, conclusions: &LinkConclusions, kept: &StorageStatus, by_group: bool) -> Story {
    let remark = describe_remark(conclusions, map.unit);
    Story::new(repeat_map(
        &map.provenance,
        suggested_command::links_import,
        suggested_command::links_simulated,
        suggested_command::links,
    ))
    .with(Head, compose_opening(map, conclusions, kept))
    .with(Evidence, compose_costs(map.unit, &conclusions.kinds))
    .with(Evidence, conclusions.groups.as_ref().map_or_else(Vec::new, group_lines))
    .with(Evidence, compose_sends(map))
    .with(Evidence, compose_drawing(map, conclusions, by_group))
    .with(Answer, compose_meaning(remark.as_deref(), &conclusions.findings, &conclusions.no_difference))
    .with(Notes, compose_footer(map, conclusions, kept))
}

/// Returns the origin of the map, warnings that concern every number, and the title.
fn compose_opening(map: &LinkMap, conclusions: &LinkConclusions, kept: &StorageStatus) -> Vec<StoryPart> {
    let mut parts = Vec::new();
    if let StorageStatus::Recalled(number, when) = kept {
        parts.push(StyledLine::new().faint(format!("map {number}, made {when}")).into_paragraph(2));
    }
    if map.machine.as_ref().is_some_and(|machine| machine.system.emulated)
        && map.provenance.origin == ArtifactOrigin::Measured
    {
        parts.push(emulated_remark().into_paragraph(2));
    }
    if conclusions.unfinished {
        let text = "NOT FINISHED: whether there are groups is not known";
        let line = StyledLine::new().with(TextTone::Warn, text).plain(match map.provenance.budget_s > 0.0 {
            true => "; the search for them takes more time (--budget). Partial results follow.",
            false => "; the search for them was ended. Partial results follow.",
        });
        parts.push(line.into_paragraph(2));
    } else if map.provenance.partial {
        let line = StyledLine::new().with(TextTone::Warn, "PARTIAL: ended early").plain("; partial results follow.");
        parts.push(line.into_paragraph(2));
    }
    parts.extend(compose_title(map));
    parts.extend(compose_doubts(map.unit, &conclusions.kinds));
    parts
}

/// Returns the layout of a picture: by group, if that is requested and groups are known.
fn choose_layout(filled: &FilledSeries, conclusions: &LinkConclusions, unit: CostUnit, by_group: bool) -> MatrixLayout {
    let matrix = &filled.all;
    let layout = match &conclusions.groups {
        Some(groups) if by_group => MatrixLayout::from_groups(matrix, groups.of_several_cores()),
        _ => MatrixLayout::from_numbers(matrix),
    };
    let ends = conclusions.kinds.first().and_then(|kind| cost_ends(&kind.classes));
    MatrixLayout { unit, ends, ..layout }.with_predictions(matrix, &filled.measured)
}

/// Returns the scale from the cheapest pairs of the cheapest class to the dearest pairs of the dearest class. A class
/// of few pairs contributes only its median.
fn cost_ends(classes: &[CostClass]) -> Option<[f64; 2]> {
    const FEW: u64 = 20;
    let of = |class: &CostClass| match class.pairs + class.predicted < FEW {
        true => [class.median_ns; 2],
        false => [class.low_ns, class.high_ns],
    };
    let all: Vec<[f64; 2]> = classes.iter().map(of).collect();
    let (low, high) = (
        all.iter().map(|ends| ends[0]).min_by(f64::total_cmp)?,
        all.iter().map(|ends| ends[1]).max_by(f64::total_cmp)?,
    );
    (low > 0.0 && high.is_finite()).then_some([low, high])
}

/// Formats the number of pairs, such as "338 of 1,128 pairs".
pub fn format_pairs(map: &LinkMap) -> String {
    let Some(series) = map.series.first() else { return "no pairs".to_owned() };
    let measured = (series.links.pairs.len() + series.held_out.len()) as u64;
    let possible = series.links.possible_pairs;
    if measured < possible {
        format!("{} of {} pairs", format_whole(measured), format_whole(possible))
    } else {
        format_count(measured as usize, "pair")
    }
}

fn compose_title(map: &LinkMap) -> Vec<StoryPart> {
    let seconds = if map.provenance.elapsed_s < 9.95 { 1 } else { 0 };
    let took = format!("{} s", format_decimal(map.provenance.elapsed_s, seconds));
    let mut lines = Vec::new();
    let more = match &map.provenance.origin {
        ArtifactOrigin::Measured => vec!["links".to_owned(), took, format_pairs(map)],
        ArtifactOrigin::Simulated { file } => {
            vec![format!("simulated from {file}"), format!("{took} simulated"), format_pairs(map)]
        }
        ArtifactOrigin::Imported { file, .. } => vec![format!("imported from {file}"), format_pairs(map)],
    };
    match &map.machine {
        Some(machine) => lines.push(compose_headline(machine, &more)),
        None => {
            let mut line = StyledLine::new().strong(glue_words(&format_count(map.cpus.len(), "cpu")));
            for item in &more {
                line = line.faint(" · ").plain(glue_numbers(item));
            }
            lines.push(line.into_paragraph(2));
        }
    }
    if let ArtifactOrigin::Imported { format, remarks, .. } = &map.provenance.origin {
        lines.push(StyledLine::new().faint(glue_numbers(format)).into_paragraph(2));
        for remark in remarks {
            lines.push(StyledLine::new().with(TextTone::Warn, "! ").plain(glue_numbers(remark)).into_paragraph(2));
        }
    }
    lines
}

/// Lists costs that contradict the others and are left out of the conclusions.
fn compose_doubts(unit: CostUnit, kinds: &[KindConclusions]) -> Vec<StoryPart> {
    let doubts: Vec<&CostDoubt> = kinds.iter().flat_map(|kind| &kind.doubts).collect();
    let mut lines: Vec<String> = doubts
        .iter()
        .take(MOST_DOUBTS)
        .map(|doubt| format!("{}; left out", doubt.describe_doubt(unit.word())))
        .collect();
    if let Some(more) = doubts.len().checked_sub(MOST_DOUBTS + 1) {
        lines.push(format!("{} like these were left out, too", format_count(more + 1, "more cost")));
    }
    lines
        .iter()
        .map(|text| StyledLine::new().with(TextTone::Warn, "! ").plain(glue_numbers(text)).into_paragraph(2))
        .collect()
}

fn compose_costs(unit: CostUnit, kinds: &[KindConclusions]) -> Vec<StoryPart> {
    let moves_bytes = kinds.iter().any(|kind| kind.what.moved_bytes().is_some());
    let mut columns = vec![
        GridColumn::text("costs", 0).shrinking_to(8),
        GridColumn::text("pairs of cpus", 0).shrinking_to(6),
        GridColumn::number("median", unit.word(), 0),
        GridColumn::number("5 %", unit.word(), 3),
        GridColumn::number("95 %", unit.word(), 3),
        GridColumn::number("measured", "", 4),
        GridColumn::number("predicted", "", 5),
        GridColumn::number("error", "% median/p95", 6),
    ];
    if moves_bytes {
        columns.insert(3, GridColumn::number("moves", "MB/s", 1));
    }
    let mut grid = TextGrid::new(columns);
    for kind in kinds {
        for (place, class) in kind.classes.iter().enumerate() {
            // One pair has no percentiles.
            let percentile = |value: f64| if class.pairs > 1 { format_brief(value) } else { String::new() };
            // On two lines, to leave room for the classes.
            let name = match place {
                0 if kind.classes.len() > 1 => format!("{},", kind.what.describe_way()),
                0 => format!("{}, {}", kind.what.describe_way(), kind.what.unit_of_time()),
                1 => kind.what.unit_of_time().to_owned(),
                _ => String::new(),
            };
            let mut row = vec![
                StyledLine::new().strong(name),
                StyledLine::new().plain(&class.words),
                StyledLine::new().strong(format_brief(class.median_ns)),
                StyledLine::new().faint(percentile(class.low_ns)),
                StyledLine::new().faint(percentile(class.high_ns)),
                StyledLine::new().faint(format_whole(class.pairs)),
                StyledLine::new().faint(if class.predicted > 0 {
                    format_whole(class.predicted)
                } else {
                    String::new()
                }),
                StyledLine::new().plain(class_error(class)),
            ];
            if moves_bytes {
                let rate = kind.what.megabytes_per_s(class.median_ns);
                row.insert(
                    3,
                    StyledLine::new().plain(rate.map_or(String::new(), |rate| format_whole(rate.round() as u64))),
                );
            }
            grid.add_row(row);
        }
    }
    vec![grid.into()]
}

/// Formats the median and 95th percentile of a class's errors in percent, such as "1.2/4.0"; "unknown" if pairs are
/// predicted and none was held out.
fn class_error(class: &CostClass) -> String {
    match class.held_out {
        Some(error) => [error.median, error.p95].map(|share| format_decimal(share * 100.0, 1)).join("/"),
        None if class.predicted > 0 => "unknown".into(),
        None => String::new(),
    }
}

fn group_lines(groups: &CostGroups) -> Vec<StoryPart> {
    let mut lines =
        vec![StyledLine::new().strong("Groups").plain("  ").plain(groups.describe_groups()).into_paragraph(2)];
    let all = groups.of_several_cores();
    let shown: Vec<usize> = if all.len() > MANY_GROUPS { vec![0, 1, all.len() - 1] } else { (0..all.len()).collect() };
    let label = |index: usize| format!("group:{index}");
    let margin = shown.iter().map(|&index| label(index).len()).max().unwrap_or(0);
    for (place, &index) in shown.iter().enumerate() {
        if place > 0 && index > shown[place - 1] + 1 {
            lines.push(StyledLine::new().faint(format!("  {:margin$}  …", "")).into_paragraph(2));
        }
        let line = StyledLine::new().faint(format!("  {:margin$}  ", label(index))).plain(all[index].to_string());
        lines.push(line.into_paragraph(margin + 4));
    }
    for outer in &groups.outer {
        lines.push(StyledLine::new().faint(format!("  above them {}", outer.describe_level("cpu"))).into_paragraph(4));
    }
    lines
}

/// Returns the heat map of the first way to talk, for the terminal and as a figure.
fn compose_drawing(map: &LinkMap, conclusions: &LinkConclusions, by_group: bool) -> Vec<StoryPart> {
    let Some(series) = map.series.first() else { return Vec::new() };
    let filled = FilledSeries::from_series(series, map);
    let (heat, text) = make_picture(map, &filled, conclusions, by_group);
    let what = format!("{}, {} {}", series.what.describe_way(), map.unit.word(), series.what.unit_of_time());
    let caption = "A row and a column for each cpu. Cpus that talk cheaply among themselves make a square of one colour along the diagonal. \
                   Predicted costs are pale.";
    let figure = StoryFigure {
        name: "map",
        title: "Cost of talking between each two cpus".to_owned(),
        caption: caption.to_owned(),
        picture: FigurePicture::Heat(Box::new(heat.clone()), text),
    };
    let mut parts = Vec::new();
    if filled.all.len() >= 2 {
        parts.push(StyledLine::new().strong("Map").plain("  ").faint(what).into_paragraph(2));
        parts.push(StoryPart::from_drawing(move |width, depth| heat.draw_lines(depth, width, MOST_ROWS)));
    }
    parts.push(StoryPart::Figure(figure));
    parts
}

/// Returns the heat map of a map, and the text around its picture.
pub fn make_picture(
    map: &LinkMap,
    filled: &FilledSeries,
    conclusions: &LinkConclusions,
    by_group: bool,
) -> (HeatMap, SvgText) {
    let what = map.series.first().map(|series| series.what).unwrap_or_default();
    let source = describe_circumstances(&map.circumstances(), map.origin());
    let cpus = format_count(map.cpus.len(), "cpu");
    let title = match (&map.machine, &map.provenance.origin) {
        (Some(machine), _) => format!("{}, {cpus}", model_name(machine)),
        (None, ArtifactOrigin::Simulated { file } | ArtifactOrigin::Imported { file, .. }) => {
            let name =
                Path::new(file).file_stem().map_or_else(|| file.clone(), |stem| stem.to_string_lossy().into_owned());
            format!("{name}, {cpus}")
        }
        (None, ArtifactOrigin::Measured) => cpus,
    };
    let mut subtitle =
        vec![format!("{}, {}", what.describe_way(), what.unit_of_time()), format!("{} measured", format_pairs(map))];
    if filled.predicted > 0 {
        let error = filled.held_out.map_or_else(|| "unknown".to_owned(), format_error);
        subtitle.push(format!("{} predicted, error {error}", format_whole(filled.predicted)));
    }
    subtitle.extend(conclusions.groups.as_ref().map(|groups| groups.describe_groups()));
    let text = SvgText { title, subtitle: subtitle.join(" · "), source };
    (choose_layout(filled, conclusions, map.unit, by_group).heat_map(&filled.all), text)
}

/// Returns the sentence before the findings.
fn describe_remark(conclusions: &LinkConclusions, unit: CostUnit) -> Option<String> {
    if conclusions.unfinished {
        return Some("Too short to conclude groups: not all pairs were visited. Use a larger --budget.".into());
    }
    let is_empty = conclusions.findings.is_empty() && conclusions.groups.is_none();
    is_empty.then(|| nothing_found(conclusions, unit.word()))
}

fn compose_footer(map: &LinkMap, conclusions: &LinkConclusions, kept: &StorageStatus) -> Vec<StoryPart> {
    let errors = conclusions.kinds.iter().filter_map(held_out);
    let mut lines = compose_paragraphs(errors.chain(draw_sampling(map)).collect(), 2);
    let all: Vec<Gap> =
        map.gaps.iter().chain(map.series.iter().flat_map(|series| &series.links.gaps)).cloned().collect();
    lines.extend(compose_gaps(&all));
    let mut end = match map.provenance.origin {
        ArtifactOrigin::Imported { .. } => Vec::new(),
        _ => vec![format!("seed {}", map.provenance.seed)],
    };
    end.extend(map.clock.as_ref().map(|clock| format!("clock {}", clock.source)));
    end.extend(kept.describe_stored_map());
    lines.push(StyledLine::new().faint(end.join(", ")).into_paragraph(2));
    lines
}

/// Describes the error of predictions, which a reader of a mostly predicted map wants to know first.
fn held_out(kind: &KindConclusions) -> Option<StyledLine> {
    let held_out = kind.held_out?;
    let what = if kind.what == TalkWay::Cas { String::new() } else { format!(" ({})", kind.what.describe_way()) };
    let text = format!(
        "held-out error{what}: {}, over {} not used for the prediction",
        format_error(held_out),
        format_count(held_out.pairs as usize, "pair")
    );
    Some(StyledLine::new().plain(glue_numbers(&text)))
}

/// Formats an error as "median 1.2 %, 95th percentile 4.0 %".
fn format_error(error: PredictionError) -> String {
    let percent = |share: f64| format!("{} %", format_decimal(share * 100.0, 1));
    format!("median {}, 95th percentile {}", percent(error.median), percent(error.p95))
}

/// Describes discarded samples, pairs measured at the same time, and the clock rates of the cpus.
fn draw_sampling(map: &LinkMap) -> Option<StyledLine> {
    let mut items = Vec::new();
    let spoiled = map.spoiled;
    if spoiled.samples > 0 {
        let thrown = spoiled.switched + spoiled.interrupted + spoiled.stolen;
        let share = thrown as f64 / spoiled.samples as f64 * 100.0;
        items.push(format!(
            "{} samples, {} % discarded ({} switched, {} interrupted, {} stolen)",
            format_whole(spoiled.samples),
            format_decimal(share, 1),
            format_whole(spoiled.switched),
            format_whole(spoiled.interrupted),
            format_whole(spoiled.stolen)
        ));
    }
    if let Some(parallel) = &map.parallel {
        let (low, high) = parallel.interval;
        let ratio =
            format!("{} [{}, {}]", format_decimal(parallel.ratio, 2), format_decimal(low, 2), format_decimal(high, 2));
        items.push(if parallel.at_a_time > 1 {
            format!("{} pairs at a time, at {ratio} times the cost of one", parallel.at_a_time)
        } else {
            format!("pairs one by one: together they cost {ratio} times as much")
        });
    }
    let rates: Vec<f64> = map.clocks.iter().map(|clock| clock.gigahertz).collect();
    if !rates.is_empty() {
        let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let high = rates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let range = if format_decimal(low, 2) == format_decimal(high, 2) {
            format_decimal(low, 2)
        } else {
            format!("{} to {}", format_decimal(low, 2), format_decimal(high, 2))
        };
        items.push(format!("cpus at ~{range} GHz"));
    }
    (!items.is_empty()).then(|| StyledLine::new().faint(glue_numbers(&items.join("; "))))
}
