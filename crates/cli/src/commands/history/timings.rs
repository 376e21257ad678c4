//! `corewise history import` of timings that another program has measured: described, and not stored.

use corewise_machine::suggested_command;
use corewise_model::timings::{SeriesDescription, TimingFormat, TimingSeries, describe_series};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::failure::CommandFailure;
use crate::app::output::show_result;
use crate::app::settings::ProgramSettings;
use crate::draw::gain::{format_gain, format_size};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{ABSENT, format_decimal, format_digits, format_duration};
use crate::draw::printable::printable_name;
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::{glue_numbers, wrap_line};

/// Seed of the drawn experiments, so that a file has one description.
const SEED: u64 = 1;

/// The output of `corewise history import --json` for timings of another program.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/timings/1")]
pub struct TimingsDocument {
    #[schemars(extend("const" = "corewise/timings/1"))]
    schema: &'static str,
    /// The program that wrote them.
    format: String,
    /// The descriptions of the series.
    series: Vec<SeriesDescription>,
}

/// Shows what timings can show, and what not.
pub fn show_timings(
    format: TimingFormat,
    all: &[TimingSeries],
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    let series = describe_series(all, SEED);
    let screen = || draw_screen(format, &series, settings.width);
    show_result(
        settings,
        || TimingsDocument { schema: "corewise/timings/1", format: format.to_string(), series: series.clone() },
        screen,
    )
}

fn draw_screen(format: TimingFormat, series: &[SeriesDescription], width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    let plain = |text: &str| StyledLine::new().plain(glue_numbers(text));
    let head = format!("{format}: {} series, measured one after the other. Nothing is stored.", series.len());
    screen.extend(wrap_line(&plain(&head), width, 2));
    screen.extend([StyledLine::new()]);
    screen.extend(draw_table(format, series).draw_lines(width));
    screen.extend([StyledLine::new()]);
    for text in series.iter().flat_map(describe_doubts) {
        screen.extend(wrap_line(&plain(&text), width, 2));
    }
    if series.len() > 1 {
        let doubt = "What changed between the series (heat, other programs, caches) counts as a difference here, and the intervals do not \
                     know it. Interleaved runs tell the two apart:";
        screen.extend(wrap_line(&plain(doubt), width, 2));
        let command = suggestion::format_typed(&suggested_command::try_variants());
        screen.extend([StyledLine::new().plain("    ").strong(command)]);
    }
    screen
}

fn draw_table(format: TimingFormat, series: &[SeriesDescription]) -> TextGrid {
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
        let value = |seconds: f64| match format.is_in_seconds() {
            true => format_duration(seconds * 1e9),
            false => format_digits(seconds, 4),
        };
        let percent = |share: f64| format!("{} %", format_decimal(100.0 * share, 1));
        let absent = || if at == 0 { String::new() } else { ABSENT.to_owned() };
        let against = found.against_first;
        let ends = against.map(|against| against.ends.map(|end| format_gain(end.ln())).join(" to "));
        let runs = against.map(|against| against.deciding_runs.map_or("over 400".to_owned(), |runs| runs.to_string()));
        grid.add_row(vec![
            plain(printable_name(&found.name)),
            plain(found.runs.to_string()),
            plain(value(found.median)),
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
        format!(
            "{name}: its second half takes {} {word} than its first, in an order that is not chance.",
            format_size(trend.ln_1p())
        )
    });
    let modes =
        (found.modes > 1).then(|| format!("{name}: its runs are in two groups, and the median is of one of them."));
    trend.into_iter().chain(modes).collect()
}
