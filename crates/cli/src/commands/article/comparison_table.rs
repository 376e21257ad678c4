//! The table at an article's end: published, here, and whether it is reproduced.

use corewise_model::article::comparison::{ComparedRow, FoundRatio, ReproducedAnswer};
use corewise_statistics::experiment::BaselineEffect;

use crate::draw::gain::{format_gain, format_interval};
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::{glue_numbers, wrap_line};

/// Titles of the columns, and the share of the width that each has, in percent.
const COLUMNS: [(&str, usize); 4] = [("", 28), ("published", 22), ("here", 18), ("reproduced", 32)];
/// Columns of a table in a pipe, which has no width.
const WIDEST: usize = 140;
/// Narrower tables have a line for each cell.
const NARROWEST: usize = 72;
const GAP: usize = 2;

/// Returns the lines of the table; none without rows.
pub fn draw_table(table: &[ComparedRow], width: usize) -> Vec<StyledLine> {
    if table.is_empty() {
        return Vec::new();
    }
    let width = width.min(WIDEST);
    let rows = table.iter().map(row_cells);
    if width < NARROWEST {
        return rows.flat_map(|cells| stack_cells(cells, width)).collect();
    }
    let titles = COLUMNS.map(|(title, _)| StyledLine::new().strong(title));
    std::iter::once(titles).chain(rows).flat_map(|cells| join_cells(cells, width)).collect()
}

fn row_cells(row: &ComparedRow) -> [StyledLine; 4] {
    let tone = match row.reproduced {
        ReproducedAnswer::Yes => TextTone::Good,
        ReproducedAnswer::No => TextTone::Warn,
        ReproducedAnswer::CannotBeSeen => TextTone::Plain,
    };
    let here = row.here.as_ref().map_or_else(|| "–".to_owned(), format_ratio);
    let answer = StyledLine::new().with(tone, row.reproduced.word()).plain(format!(": {}", row.why));
    [
        StyledLine::new().plain(&row.what),
        StyledLine::new().plain(&row.published),
        StyledLine::new().plain(glue_numbers(&here)),
        answer,
    ]
}

/// Formats a ratio with its interval as a gain: "+4.6 % [2.1, 7.4]", "2.4x [2.1, 2.8]".
fn format_ratio(found: &FoundRatio) -> String {
    let FoundRatio { ratio, low, high } = *found;
    let effect = BaselineEffect { estimate: ratio.ln(), low: low.map(f64::ln), high: high.map(f64::ln) };
    format!("{} {}", format_gain(effect.estimate), format_interval(&effect))
}

/// Wraps each cell within its column.
fn join_cells(cells: [StyledLine; 4], width: usize) -> Vec<StyledLine> {
    let widths = COLUMNS.map(|(_, share)| (width - GAP * 3) * share / 100);
    let wrapped: Vec<Vec<StyledLine>> =
        cells.iter().zip(widths).map(|(cell, width)| wrap_line(cell, width, 0)).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let line = |place: usize| {
        let mut line = StyledLine::new();
        for (column, lines) in wrapped.iter().enumerate() {
            let Some(cell) = lines.get(place).filter(|cell| !cell.is_empty()) else { continue };
            let start: usize = widths[..column].iter().map(|width| width + GAP).sum();
            let pad = start.saturating_sub(line.width());
            line = line.plain(" ".repeat(pad)).then(cell.clone());
        }
        line
    };
    (0..height).map(line).collect()
}

/// Puts each cell on lines of its own, under the first.
fn stack_cells(cells: [StyledLine; 4], width: usize) -> Vec<StyledLine> {
    let [what, rest @ ..] = cells;
    let titled = rest.into_iter().zip(&COLUMNS[1..]).map(|(cell, (title, _))| {
        wrap_line(&StyledLine::new().plain("  ").faint(format!("{title} ")).then(cell), width, 4)
    });
    std::iter::once(wrap_line(&what, width, 2)).chain(titled).flatten().collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A table with each answer, with these texts.
    pub fn sample_table(what: &str, published: &str, why: &str) -> Vec<ComparedRow> {
        let row = |reproduced, here| ComparedRow {
            what: what.to_owned(),
            published: published.to_owned(),
            range: None,
            here,
            reproduced,
            why: why.to_owned(),
        };
        let found = |ratio: f64, low, high| Some(FoundRatio { ratio, low, high });
        vec![
            row(ReproducedAnswer::Yes, found(1.12, Some(1.05), Some(1.2))),
            row(ReproducedAnswer::No, found(2.41, Some(2.1), None)),
            row(ReproducedAnswer::CannotBeSeen, None),
        ]
    }

    fn draw_text(width: usize) -> String {
        let table = sample_table("one thread a module against two", "10 to 20 % faster", "a reason of several words");
        let lines = draw_table(&table, width);
        assert!(lines.iter().all(|line| line.width() <= width));
        lines.iter().map(|line| line.to_plain() + "\n").collect()
    }

    #[test]
    fn a_row_has_what_was_published_and_found_and_whether_it_is_reproduced() {
        insta::assert_snapshot!(draw_text(100), @r"
                                    published             here              reproduced
        one thread a module         10 to 20 % faster     +12.0 % [5.0,     yes: a reason of several words
        against two                                       20.0]
        one thread a module         10 to 20 % faster     2.4x [2.1, …]     no: a reason of several words
        against two
        one thread a module         10 to 20 % faster     –                 cannot be seen here: a reason
        against two                                                         of several words
        ");
    }

    #[test]
    fn a_narrow_table_has_a_line_for_each_cell() {
        insta::assert_snapshot!(draw_text(40), @r"
        one thread a module against two
          published 10 to 20 % faster
          here +12.0 % [5.0, 20.0]
          reproduced yes: a reason of several
            words
        one thread a module against two
          published 10 to 20 % faster
          here 2.4x [2.1, …]
          reproduced no: a reason of several
            words
        one thread a module against two
          published 10 to 20 % faster
          here –
          reproduced cannot be seen here: a
            reason of several words
        ");
    }
}
