//! `corewise history import` of timings that another program has measured: described, and not stored.

use corewise_machine::suggested_command;
use corewise_model::timings::{SeriesDescription, TimingFile, describe_series};
use corewise_statistics::experiment::QuestionKind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::failure::CommandFailure;
use crate::app::output::show_result;
use crate::app::settings::ProgramSettings;
use crate::draw::gain::{EffectScale, format_gain, format_size};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{ABSENT, format_count, format_decimal, format_digits, format_duration};
use crate::draw::printable::{LONGEST_OUTPUT_LINE, printable_name, printable_prefix};
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen, TextTone};
use crate::draw::wrap::{glue_numbers, wrap_line};

/// Seed of the drawn experiments, so that a file has one description.
const SEED: u64 = 1;

/// The output of `corewise history import --json` for timings of another program.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/timings/1")]
pub struct TimingsDocument {
    #[schemars(extend("const" = "corewise/timings/1"))]
    schema: &'static str,
    /// The program that wrote them; several are separated by commas.
    format: String,
    /// The descriptions of the series.
    series: Vec<SeriesDescription>,
    /// What was left out or assumed, in sentences.
    notes: Vec<String>,
}

/// Shows what timings can show, and what not.
pub fn show_timings(file: &TimingFile, settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let series = describe_series(&file.series, SEED);
    let format = file.formats.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let screen = || draw_screen(&format, &series, &file.notes, settings.width);
    let document = || TimingsDocument {
        schema: "corewise/timings/1",
        format: format.clone(),
        series: series.clone(),
        notes: file.notes.clone(),
    };
    show_result(settings, document, screen)
}

fn draw_screen(format: &str, series: &[SeriesDescription], notes: &[String], width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    if let Some(answer) = draw_answer(series) {
        screen.extend(wrap_line(&answer, width, 2));
    }
    let plain = |text: &str| StyledLine::new().plain(glue_numbers(text));
    let head = format!("{format}: {} series, measured one after the other. Nothing is stored.", series.len());
    screen.extend(wrap_line(&plain(&head), width, 2));
    screen.extend([StyledLine::new()]);
    screen.extend(draw_table(series).draw_lines(width));
    screen.extend([StyledLine::new()]);
    let notes = notes.iter().map(|note| printable_prefix(note, LONGEST_OUTPUT_LINE));
    for text in notes.chain(series.iter().flat_map(describe_doubts)) {
        screen.extend(wrap_line(&plain(&text), width, 2));
    }
    if series.iter().any(|series| series.against_first.is_some()) {
        let doubt = "What changed between the series (heat, other programs, caches) counts as a difference here, and the intervals do not \
                     know it. Interleaved runs tell the two apart:";
        screen.extend(wrap_line(&plain(doubt), width, 2));
        let command = suggestion::format_typed(&suggested_command::try_variants());
        screen.extend([StyledLine::new().plain("    ").strong(command)]);
    }
    screen
}

/// Returns the answer about the series that looks best; `None` if none can be compared with the first one of its benchmark.
fn draw_answer(series: &[SeriesDescription]) -> Option<StyledLine> {
    let compared = series.iter().filter_map(|found| Some((found, found.against_first?)));
    let (best, against) = compared.max_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio))?;
    let [low, high] = against.ends;
    let (name, size) = (printable_name(&best.name), format_size(against.ratio.ln()));
    let looks = match (low > 1.0, high < 1.0) {
        (true, _) => format!("{size} better than the first"),
        (_, true) => format!("{size} worse than the first"),
        _ => format!("like the first ({}, within the spread of both)", format_gain(against.ratio.ln())),
    };
    let needed = match against.deciding_runs {
        Some(runs) => format!("about {} would decide", format_count(runs as usize, "interleaved run")),
        None => "400 interleaved runs would not decide".to_owned(),
    };
    let sentence = glue_numbers(&format!(" {name} looks {looks}; {needed}."));
    Some(StyledLine::new().with(TextTone::Warn, "Not proven:").plain(sentence))
}

/// Formats a value in its unit: times as durations.
fn format_value(found: &SeriesDescription, value: f64) -> String {
    match found.unit.is_time() {
        true => format_duration(value * 1e9),
        false => format!("{}{}", format_digits(value, 4), printable_name(&found.unit.unit_suffix())),
    }
}

fn draw_table(series: &[SeriesDescription]) -> TextGrid {
    let mut grid = TextGrid::new(vec![
        GridColumn::text("series", 0).shrinking_to(12),
        GridColumn::number("runs", "", 1),
        GridColumn::number("median", "", 0),
        GridColumn::number("spread", "", 2),
        GridColumn::number("vs first", "", 0),
        GridColumn::text("95 % of both", 0),
        GridColumn::number("would decide", "runs", 0),
    ]);
    let plain = |text: String| StyledLine::new().plain(text);
    for (at, found) in series.iter().enumerate() {
        let percent = |share: f64| format!("{} %", format_decimal(100.0 * share, 1));
        let absent = || if at == 0 { String::new() } else { ABSENT.to_owned() };
        let against = found.against_first;
        let scale = |ratio: f64| EffectScale::from_estimate(QuestionKind::Typical, ratio.ln());
        let ends =
            against.map(|against| against.ends.map(|end| scale(against.ratio).format_gain(end.ln())).join(" to "));
        let runs = against.map(|against| against.deciding_runs.map_or("over 400".to_owned(), |runs| runs.to_string()));
        grid.add_row(vec![
            plain(printable_name(&found.name)),
            plain(found.runs.to_string()),
            plain(format_value(found, found.median)),
            plain(found.spread.map_or(ABSENT.to_owned(), percent)),
            plain(against.map_or_else(absent, |against| format_gain(against.ratio.ln()))),
            plain(ends.unwrap_or_default()),
            plain(runs.unwrap_or_default()),
        ]);
    }
    grid
}

/// Describes what speaks against reading a series as runs of one kind.
fn describe_doubts(found: &SeriesDescription) -> Vec<String> {
    let name = printable_name(&found.name);
    let trend = found.trend.map(|trend| {
        let word = if trend > 0.0 { "more" } else { "less" };
        let verb = if found.higher_is_better { "is" } else { "takes" };
        format!(
            "{name}: its second half {verb} {} {word} than its first, in an order that is not chance.",
            format_size(trend.ln_1p())
        )
    });
    let groups = found.groups.map(|[low, high]| {
        let of = if low.runs == high.runs { "neither of them" } else { "one of them" };
        let [around_low, around_high] = [low, high].map(|group| format_value(found, group.median));
        format!(
            "{name}: its runs are in two groups, {} around {around_low} and {} around {around_high}; the median is of {of}.",
            low.runs, high.runs
        )
    });
    trend.into_iter().chain(groups).collect()
}
