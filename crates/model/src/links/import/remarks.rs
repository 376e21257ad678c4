//! Remarks on imported numbers, as far as the numbers show them.

use super::collect::CellCounts;
use super::{ImportedLinks, LinkFileFormat};
use crate::links::pair::{APART, two_costs};
use crate::links::{LinkFindings, LinkPair};

/// Costs that differ by less are the same step of a clock, up to rounding: a picosecond.
const SAME_NS: f64 = 1e-3;

/// Maximum number of pairs that a remark names.
const MOST_NAMED: usize = 4;

/// Returns the remarks on the numbers.
pub fn remarks_on(imported: &ImportedLinks, counts: &CellCounts) -> Vec<String> {
    let rows =
        (!imported.names_cpus).then(|| format!("cpus are row numbers, {}: the file does not name them", imported.cpus));
    let possible: u64 = imported.series.iter().map(|series| series.links.possible_pairs).sum();
    let unknown = match counts.unknown_pairs {
        0 => None,
        unknown => Some(format!("{unknown} of {possible} pairs are unknown")),
    };
    let zeros = (counts.zeros > 0).then(|| zeros_remark(imported, counts));
    let own = match counts.own {
        0 => None,
        1 => Some("1 cell is of a cpu with itself: left out".into()),
        own => Some(format!("{own} cells are of a cpu with itself: left out")),
    };
    // Numbers grouped by mctop have few values by nature.
    let is_grouped = imported.format == LinkFileFormat::Mctop;
    let coarse = imported.series.iter().filter(|_| !is_grouped).filter_map(|series| coarse_remark(&series.links));
    let directions = imported.series.iter().filter_map(|series| directions_remark(&series.links));
    [rows, unknown, zeros, own].into_iter().flatten().chain(coarse).chain(directions).collect()
}

/// Returns the remark on cells of 0. Pairs that have no other number are named if they are few.
fn zeros_remark(imported: &ImportedLinks, counts: &CellCounts) -> String {
    let verb = if counts.zeros == 1 { "is" } else { "are" };
    let remark = format!("{} of {} cells {verb} 0, which is impossible: left out", counts.zeros, counts.cells);
    let unmeasured = &counts.zero_pairs;
    if unmeasured.is_empty() || unmeasured.len() > MOST_NAMED || imported.series.len() > 1 {
        return remark;
    }
    let pairs: Vec<String> = unmeasured.iter().map(|(a, b)| format!("{a} and {b}")).collect();
    format!("{remark}, so the cost of cpus {} is unknown", pairs.join(", of "))
}

/// Returns a remark if the two directions of pairs are not measurements of one cost.
fn directions_remark(links: &LinkFindings) -> Option<String> {
    let has_two = |pair: &LinkPair| two_costs(pair.from_a_ns(), pair.from_b_ns()).is_some();
    let both = links.pairs.iter().filter(|pair| !pair.visits_ns().is_empty() && !pair.back_ns().is_empty());
    let (count, apart) =
        both.map(has_two).fold((0, 0), |(count, apart), has_two| (count + 1, apart + usize::from(has_two)));
    (apart > 0).then(|| {
        format!(
            "in {apart} of {count} pairs one direction costs more than {APART} times the other: the map and the costs show both"
        )
    })
}

/// Returns a remark if costs come in few steps that are wide for costs of that size.
///
/// Both conditions are needed. The first, fewer different values than a fifth of the cells, also matches a large file
/// of a fine clock, with steps of 1 % below the variation between runs. The second, wide steps, also matches a small
/// file, as its few costs lie apart.
fn coarse_remark(links: &LinkFindings) -> Option<String> {
    let mut values: Vec<f64> =
        links.pairs.iter().flat_map(|pair| pair.visits_ns().iter().chain(pair.back_ns())).copied().collect();
    values.sort_unstable_by(f64::total_cmp);
    let cells = values.len();
    let middle = values.get(cells / 2).copied().unwrap_or(f64::NAN);
    values.dedup_by(|next, kept| *next - *kept < SAME_NS);
    let (lowest, highest) = (values.first()?, values.last()?);
    let step = (highest - lowest) / (values.len() - 1).max(1) as f64;
    let is_coarse = values.len() * 5 <= cells && (step > 0.02 * middle || values.len() == 1);
    is_coarse.then(|| match values.len() {
        1 => format!("all {cells} cells have the same value: a coarse clock, or rounded numbers"),
        count => format!("only {count} different values in {cells} cells, {step:.1} apart on average: a coarse clock, or rounded numbers"),
    })
}
