//! Lines printed by trb: a send from one cpu to another, through a channel with a bound (B) and one without (U).

use super::LinkFileFormat;
use super::cells::{CellPosition, cpu_at, is_unknown, parse_cost};
use super::collect::CostCollector;
use super::error::{ImportError, show_text};
use super::format_match::FormatMatch;
use crate::links::TalkWay;

/// trb prints ten thousand million divided by the sends of a second and calls it microseconds; the unit is tenths of
/// nanoseconds.
const NANOSECONDS: f64 = 0.1;
const UNIT: &str = "us/send";
/// The bound of its bounded channel.
const BOUND: u32 = 64;

/// Returns true if a text is output of trb.
pub fn is_lines(text: &str) -> bool {
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| split_parts(line).is_some())
}

/// Reads the lines; empty ones are skipped.
pub fn read_trb(text: &str) -> Result<FormatMatch, ImportError> {
    let mut collector = CostCollector::default();
    for (index, text) in text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        let line = index + 1;
        let (what, ends, cell) =
            split_parts(text).ok_or_else(|| ImportError::Header { line, found: show_text(text) })?;
        let [first, second] = ends.map(|cell| cpu_at(cell, line));
        let (first, second) = (first?, second?);
        collector.name_cpu(first);
        collector.name_cpu(second);
        let known = if is_unknown(cell) { None } else { parse_cost(cell, CellPosition { line, column: 3 })? };
        if let Some(tenths) = known.filter(|_| first != second) {
            let kind = collector.kind_place(what);
            collector.add_kind(kind, first, second, tenths * NANOSECONDS);
        }
    }
    let remark = "trb calls its numbers microseconds, but they are tenths of nanoseconds, and were read as that";
    Ok(FormatMatch {
        format: LinkFileFormat::Trb,
        collector,
        names_cpus: true,
        in_cycles: false,
        remarks: vec![remark.into()],
    })
}

/// Splits "B 0 -  1: 818us/send" into its parts.
fn split_parts(line: &str) -> Option<(TalkWay, [&str; 2], &str)> {
    let (head, cell) = line.trim().split_once(':')?;
    let (letter, pair) = head.split_once(' ')?;
    let bound = match letter {
        "B" => Some(BOUND),
        "U" => None,
        _ => return None,
    };
    let (first, second) = pair.split_once('-')?;
    let cell = cell.trim();
    let number = cell.strip_suffix(UNIT).or((cell == "-").then_some(cell))?;
    Some((TalkWay::Channel { bound }, [first.trim(), second.trim()], number.trim()))
}

#[cfg(test)]
mod tests {
    use super::super::read_links as read_any;
    use super::*;

    /// Lines of a published run on a Threadripper 3960X.
    const PRINTED: &str = "B 0 -  0: -\nB 0 -  1: 818us/send\nB 0 -  2: 673us/send\nB 0 -  3: 2839us/send\n\nB 0 - 24: 487us/send\nU 0 -  1: 120us/send\n";

    #[test]
    fn sends_are_tenths_of_nanoseconds() {
        let imported = read_any(PRINTED).unwrap();
        assert_eq!((imported.format, imported.cpus.to_string()), (LinkFileFormat::Trb, "0-3,24".to_owned()));
        let whats: Vec<TalkWay> = imported.series.iter().map(|series| series.what).collect();
        assert_eq!(whats, [TalkWay::Channel { bound: Some(64) }, TalkWay::Channel { bound: None }]);
        let costs: Vec<(u32, u32, f64)> =
            imported.series[0].links.pairs.iter().map(|pair| (pair.a, pair.b, pair.one_way_ns())).collect();
        assert_eq!(costs.iter().map(|&(a, b, _)| (a, b)).collect::<Vec<_>>(), [(0, 1), (0, 2), (0, 3), (0, 24)]);
        assert!((costs[0].2 - 81.8).abs() < 1e-9 && (costs[2].2 - 283.9).abs() < 1e-9, "{costs:?}");
        assert!(imported.remarks[0].contains("tenths of nanoseconds"));
    }

    #[test]
    fn a_line_of_something_else_is_refused() {
        let refused = read_any("B 0 - 1: 818us/send\nhello\n").unwrap_err();
        assert_eq!(refused.line_number(), Some(2));
    }
}
