//! The screen of a map of links: cost classes, groups, the heat map, and the findings.

use std::path::Path;

use corewise_machine::{Gap, suggested_command};
use corewise_model::links::What;
use corewise_model::links::conclude::{
    CostClass, Filled, Groups, HeldOut, KindConclusions, LinkConclusions, nothing_found,
};
use corewise_model::links::doubt::Doubt;
use corewise_model::links::map::{LinkMap, Origin, Unit};

use super::Layout;
use super::sends::sends;
use crate::draw::findings::{gaps, meaning};
use crate::draw::grid::{Column, Grid};
use crate::draw::heat::{HeatMap, SvgText};
use crate::draw::machine::{headline, made_by, model_name};
use crate::draw::number::{brief, count, decimal, whole};
use crate::draw::story::StoryRole::{Answer, Evidence, Head, Notes};
use crate::draw::story::{FigurePicture, Story, StoryFigure, StoryPart, paragraphs};
use crate::draw::suggestion::map_again;
use crate::draw::survey::{Kept, emulated_remark};
use crate::draw::text::{Line, Tone};
use crate::draw::wrap::{glued, unbroken};

/// Maximum height of the heat map in lines.
const MOST_ROWS: usize = 48;
/// Number of groups above which only the first two and the last are listed.
const MANY_GROUPS: usize = 12;
/// Maximum number of doubtful costs listed.
const MOST_DOUBTS: usize = 3;

/// Composes the story of a map, with cpus in the order of their groups or by number.
pub fn story(map: &LinkMap, conclusions: &LinkConclusions, kept: &Kept, by_group: bool) -> Story {
    let remark = remark(conclusions, map.unit);
    Story::new(map_again(
        &map.provenance,
        suggested_command::links_import,
        suggested_command::links_simulated,
        suggested_command::links,
    ))
    .with(Head, opening(map, conclusions, kept))
    .with(Evidence, costs(map.unit, &conclusions.kinds))
    .with(Evidence, conclusions.groups.as_ref().map_or_else(Vec::new, group_lines))
    .with(Evidence, sends(map))
    .with(Evidence, drawn(map, conclusions, by_group))
    .with(Answer, meaning(remark.as_deref(), &conclusions.findings, &conclusions.no_difference))
    .with(Notes, footer(map, conclusions, kept))
}

/// Returns the origin of the map, warnings that concern every number, and the title.
fn opening(map: &LinkMap, conclusions: &LinkConclusions, kept: &Kept) -> Vec<StoryPart> {
    let mut parts = Vec::new();
    if let Kept::Recalled(number, when) = kept {
        parts.push(Line::new().faint(format!("map {number}, made {when}")).hanging(2));
    }
    if map.machine.as_ref().is_some_and(|machine| machine.system.emulated) && map.provenance.origin == Origin::Measured
    {
        parts.push(emulated_remark().hanging(2));
    }
    if conclusions.unfinished {
        let text = "NOT FINISHED: whether there are groups is not known";
        let line = Line::new().with(Tone::Warn, text).plain(match map.provenance.budget_s > 0.0 {
            true => "; the search for them takes more time (--budget). Partial results follow.",
            false => "; the search for them was ended. Partial results follow.",
        });
        parts.push(line.hanging(2));
    } else if map.provenance.partial {
        let line = Line::new().with(Tone::Warn, "PARTIAL: ended early").plain("; partial results follow.");
        parts.push(line.hanging(2));
    }
    parts.extend(title(map));
    parts.extend(doubts(map.unit, &conclusions.kinds));
    parts
}

/// Returns the layout of a picture: by group, if that is requested and groups are known.
fn layout(filled: &Filled, conclusions: &LinkConclusions, unit: Unit, by_group: bool) -> Layout {
    let matrix = &filled.all;
    let layout = match &conclusions.groups {
        Some(groups) if by_group => Layout::by_group(matrix, groups.of_several_cores()),
        _ => Layout::by_number(matrix),
    };
    let ends = conclusions.kinds.first().and_then(|kind| ends(&kind.classes));
    Layout { unit, ends, ..layout }.with_predictions(matrix, &filled.measured)
}

/// Returns the scale from the cheapest pairs of the cheapest class to the dearest pairs of the dearest class. A class
/// of few pairs contributes only its median.
fn ends(classes: &[CostClass]) -> Option<[f64; 2]> {
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
pub fn pairs_words(map: &LinkMap) -> String {
    let Some(series) = map.series.first() else { return "no pairs".to_owned() };
    let measured = (series.links.pairs.len() + series.held_out.len()) as u64;
    let possible = series.links.possible_pairs;
    if measured < possible {
        format!("{} of {} pairs", whole(measured), whole(possible))
    } else {
        count(measured as usize, "pair")
    }
}

fn title(map: &LinkMap) -> Vec<StoryPart> {
    let seconds = if map.provenance.elapsed_s < 9.95 { 1 } else { 0 };
    let took = format!("{} s", decimal(map.provenance.elapsed_s, seconds));
    let mut lines = Vec::new();
    let more = match &map.provenance.origin {
        Origin::Measured => vec!["links".to_owned(), took, pairs_words(map)],
        Origin::Simulated { file } => {
            vec![format!("simulated from {file}"), format!("{took} simulated"), pairs_words(map)]
        }
        Origin::Imported { file, .. } => vec![format!("imported from {file}"), pairs_words(map)],
    };
    match &map.machine {
        Some(machine) => lines.push(headline(machine, &more)),
        None => {
            let mut line = Line::new().strong(unbroken(&count(map.cpus.len(), "cpu")));
            for item in &more {
                line = line.faint(" · ").plain(glued(item));
            }
            lines.push(line.hanging(2));
        }
    }
    if let Origin::Imported { format, remarks, .. } = &map.provenance.origin {
        lines.push(Line::new().faint(glued(format)).hanging(2));
        for remark in remarks {
            lines.push(Line::new().with(Tone::Warn, "! ").plain(glued(remark)).hanging(2));
        }
    }
    lines
}

/// Lists costs that contradict the others and are left out of the conclusions.
fn doubts(unit: Unit, kinds: &[KindConclusions]) -> Vec<StoryPart> {
    let doubts: Vec<&Doubt> = kinds.iter().flat_map(|kind| &kind.doubts).collect();
    let mut lines: Vec<String> =
        doubts.iter().take(MOST_DOUBTS).map(|doubt| format!("{}; left out", doubt.words(unit.word()))).collect();
    if let Some(more) = doubts.len().checked_sub(MOST_DOUBTS + 1) {
        lines.push(format!("{} like these were left out, too", count(more + 1, "more cost")));
    }
    lines.iter().map(|text| Line::new().with(Tone::Warn, "! ").plain(glued(text)).hanging(2)).collect()
}

fn costs(unit: Unit, kinds: &[KindConclusions]) -> Vec<StoryPart> {
    let moves_bytes = kinds.iter().any(|kind| kind.what.bytes().is_some());
    let mut columns = vec![
        Column::text("costs", 0).shrinking_to(8),
        Column::text("pairs of cpus", 0).shrinking_to(6),
        Column::number("median", unit.word(), 0),
        Column::number("5 %", unit.word(), 3),
        Column::number("95 %", unit.word(), 3),
        Column::number("measured", "", 4),
        Column::number("predicted", "", 5),
        Column::number("error", "% median/p95", 6),
    ];
    if moves_bytes {
        columns.insert(3, Column::number("moves", "MB/s", 1));
    }
    let mut grid = Grid::new(columns);
    for kind in kinds {
        for (place, class) in kind.classes.iter().enumerate() {
            // One pair has no percentiles.
            let percentile = |value: f64| if class.pairs > 1 { brief(value) } else { String::new() };
            // On two lines, to leave room for the classes.
            let name = match place {
                0 if kind.classes.len() > 1 => format!("{},", kind.what.words()),
                0 => format!("{}, {}", kind.what.words(), kind.what.unit()),
                1 => kind.what.unit().to_owned(),
                _ => String::new(),
            };
            let mut row = vec![
                Line::new().strong(name),
                Line::new().plain(&class.words),
                Line::new().strong(brief(class.median_ns)),
                Line::new().faint(percentile(class.low_ns)),
                Line::new().faint(percentile(class.high_ns)),
                Line::new().faint(whole(class.pairs)),
                Line::new().faint(if class.predicted > 0 { whole(class.predicted) } else { String::new() }),
                Line::new().plain(class_error(class)),
            ];
            if moves_bytes {
                let rate = kind.what.megabytes_per_s(class.median_ns);
                row.insert(3, Line::new().plain(rate.map_or(String::new(), |rate| whole(rate.round() as u64))));
            }
            grid.row(row);
        }
    }
    vec![grid.into()]
}

/// Formats the median and 95th percentile of a class's errors in percent, such as "1.2/4.0"; "unknown" if pairs are
/// predicted and none was held out.
fn class_error(class: &CostClass) -> String {
    match class.held_out {
        Some(error) => [error.median, error.p95].map(|share| decimal(share * 100.0, 1)).join("/"),
        None if class.predicted > 0 => "unknown".into(),
        None => String::new(),
    }
}

fn group_lines(groups: &Groups) -> Vec<StoryPart> {
    let mut lines = vec![Line::new().strong("Groups").plain("  ").plain(groups.words()).hanging(2)];
    let all = groups.of_several_cores();
    let shown: Vec<usize> = if all.len() > MANY_GROUPS { vec![0, 1, all.len() - 1] } else { (0..all.len()).collect() };
    let label = |index: usize| format!("group:{index}");
    let margin = shown.iter().map(|&index| label(index).len()).max().unwrap_or(0);
    for (place, &index) in shown.iter().enumerate() {
        if place > 0 && index > shown[place - 1] + 1 {
            lines.push(Line::new().faint(format!("  {:margin$}  …", "")).hanging(2));
        }
        let line = Line::new().faint(format!("  {:margin$}  ", label(index))).plain(all[index].to_string());
        lines.push(line.hanging(margin + 4));
    }
    for outer in &groups.outer {
        lines.push(Line::new().faint(format!("  above them {}", outer.words("cpu"))).hanging(4));
    }
    lines
}

/// Returns the heat map of the first way to talk, for the terminal and as a figure.
fn drawn(map: &LinkMap, conclusions: &LinkConclusions, by_group: bool) -> Vec<StoryPart> {
    let Some(series) = map.series.first() else { return Vec::new() };
    let filled = Filled::of(series, map);
    let (heat, text) = picture(map, &filled, conclusions, by_group);
    let what = format!("{}, {} {}", series.what.words(), map.unit.word(), series.what.unit());
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
        parts.push(Line::new().strong("Map").plain("  ").faint(what).hanging(2));
        parts.push(StoryPart::drawing(move |width, depth| heat.lines(depth, width, MOST_ROWS)));
    }
    parts.push(StoryPart::Figure(figure));
    parts
}

/// Returns the heat map of a map, and the text around its picture.
pub fn picture(map: &LinkMap, filled: &Filled, conclusions: &LinkConclusions, by_group: bool) -> (HeatMap, SvgText) {
    let what = map.series.first().map(|series| series.what).unwrap_or_default();
    let source = made_by(&map.provenance);
    let cpus = count(map.cpus.len(), "cpu");
    let title = match (&map.machine, &map.provenance.origin) {
        (Some(machine), _) => format!("{}, {cpus}", model_name(machine)),
        (None, Origin::Simulated { file } | Origin::Imported { file, .. }) => {
            let name =
                Path::new(file).file_stem().map_or_else(|| file.clone(), |stem| stem.to_string_lossy().into_owned());
            format!("{name}, {cpus}")
        }
        (None, Origin::Measured) => cpus,
    };
    let mut subtitle = vec![format!("{}, {}", what.words(), what.unit()), format!("{} measured", pairs_words(map))];
    if filled.predicted > 0 {
        let error = filled.held_out.map_or_else(|| "unknown".to_owned(), error_words);
        subtitle.push(format!("{} predicted, error {error}", whole(filled.predicted)));
    }
    subtitle.extend(conclusions.groups.as_ref().map(|groups| groups.words()));
    let text = SvgText { title, subtitle: subtitle.join(" · "), source };
    (layout(filled, conclusions, map.unit, by_group).heat_map(&filled.all), text)
}

/// Returns the sentence before the findings.
fn remark(conclusions: &LinkConclusions, unit: Unit) -> Option<String> {
    if conclusions.unfinished {
        return Some("Too short to conclude groups: not all pairs were visited. Use a larger --budget.".into());
    }
    let is_empty = conclusions.findings.is_empty() && conclusions.groups.is_none();
    is_empty.then(|| nothing_found(conclusions, unit.word()))
}

fn footer(map: &LinkMap, conclusions: &LinkConclusions, kept: &Kept) -> Vec<StoryPart> {
    let errors = conclusions.kinds.iter().filter_map(held_out);
    let mut lines = paragraphs(errors.chain(sampling(map)).collect(), 2);
    let all: Vec<Gap> =
        map.gaps.iter().chain(map.series.iter().flat_map(|series| &series.links.gaps)).cloned().collect();
    lines.extend(gaps(&all));
    let mut end = match map.provenance.origin {
        Origin::Imported { .. } => Vec::new(),
        _ => vec![format!("seed {}", map.provenance.seed)],
    };
    end.extend(map.clock.as_ref().map(|clock| format!("clock {}", clock.source)));
    end.extend(kept.of_map());
    lines.push(Line::new().faint(end.join(", ")).hanging(2));
    lines
}

/// Describes the error of predictions, which a reader of a mostly predicted map wants to know first.
fn held_out(kind: &KindConclusions) -> Option<Line> {
    let held_out = kind.held_out?;
    let what = if kind.what == What::Cas { String::new() } else { format!(" ({})", kind.what.words()) };
    let text = format!(
        "held-out error{what}: {}, over {} not used for the prediction",
        error_words(held_out),
        count(held_out.pairs as usize, "pair")
    );
    Some(Line::new().plain(glued(&text)))
}

/// Formats an error as "median 1.2 %, 95th percentile 4.0 %".
fn error_words(error: HeldOut) -> String {
    let percent = |share: f64| format!("{} %", decimal(share * 100.0, 1));
    format!("median {}, 95th percentile {}", percent(error.median), percent(error.p95))
}

/// Describes discarded samples, pairs measured at the same time, and the clock rates of the cpus.
fn sampling(map: &LinkMap) -> Option<Line> {
    let mut items = Vec::new();
    let spoiled = map.spoiled;
    if spoiled.samples > 0 {
        let thrown = spoiled.switched + spoiled.interrupted + spoiled.stolen;
        let share = thrown as f64 / spoiled.samples as f64 * 100.0;
        items.push(format!(
            "{} samples, {} % discarded ({} switched, {} interrupted, {} stolen)",
            whole(spoiled.samples),
            decimal(share, 1),
            whole(spoiled.switched),
            whole(spoiled.interrupted),
            whole(spoiled.stolen)
        ));
    }
    if let Some(parallel) = &map.parallel {
        let (low, high) = parallel.interval;
        let ratio = format!("{} [{}, {}]", decimal(parallel.ratio, 2), decimal(low, 2), decimal(high, 2));
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
        let range = if decimal(low, 2) == decimal(high, 2) {
            decimal(low, 2)
        } else {
            format!("{} to {}", decimal(low, 2), decimal(high, 2))
        };
        items.push(format!("cpus at ~{range} GHz"));
    }
    (!items.is_empty()).then(|| Line::new().faint(glued(&items.join("; "))))
}
