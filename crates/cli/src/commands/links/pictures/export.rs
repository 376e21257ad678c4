//! Tables of a map for other programs: every visit, or a matrix.

use std::fmt::Write as _;

use corewise_model::links::import::{HEADER, kind_name};
use corewise_model::links::{LinkMap, Matrix, Pair};

/// Writes every visit of every series as comma-separated values with a header, each line ended by a line feed. The columns are:
///
/// - `kind` ([`kind_name`])
/// - the cpus `a` < `b`, and the cpu that began
/// - the number of its visit in order of time, from 0
/// - `measured` or `held-out`
/// - `ns` or `cycles`; empty if the visit has no number
pub fn long_csv(map: &LinkMap) -> String {
    let mut text = format!("{HEADER}{}\n", map.unit.word());
    for series in &map.series {
        let kind = kind_name(series.what);
        series.links.pairs.iter().for_each(|pair| visits(&mut text, &kind, "measured", pair));
        series.held_out.iter().for_each(|pair| visits(&mut text, &kind, "held-out", pair));
    }
    text
}

/// Writes a matrix as comma-separated values, each line ended by a line feed.
///
/// The header is `cpu` and the second cpus. Each line has the number of a first cpu and its costs in nanoseconds,
/// with at most two decimals. A cost is empty if it is unknown in that direction.
pub fn matrix_csv(matrix: &Matrix) -> String {
    let mut text = "cpu".to_owned();
    for cpu in matrix.cpus() {
        let _ = write!(text, ",{cpu}");
    }
    for (first, cpu) in matrix.cpus().iter().enumerate() {
        let _ = write!(text, "\n{cpu}");
        for second in 0..matrix.len() {
            text.push(',');
            text.push_str(&short(matrix.way(first, second)));
        }
    }
    text + "\n"
}

fn visits(text: &mut String, kind: &str, purpose: &str, pair: &Pair) {
    for (first, visits) in [(pair.a, pair.visits_ns()), (pair.b, pair.back_ns())] {
        for (visit, cost) in visits.iter().enumerate() {
            let cost = if cost.is_finite() { cost.to_string() } else { String::new() };
            let _ = writeln!(text, "{kind},{},{},{first},{visit},{purpose},{cost}", pair.a, pair.b);
        }
    }
}

/// Formats a cost with at most two decimals; empty unless finite.
fn short(cost: f64) -> String {
    if !cost.is_finite() {
        return String::new();
    }
    let text = format!("{cost:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use corewise_machine::CpuSet;
    use corewise_machine::ring::Slots;
    use corewise_model::links::map::{Origin, Provenance, Series, Spoiled};
    use corewise_model::links::{Links, What};

    use super::*;

    fn map(series: Vec<Series>) -> LinkMap {
        LinkMap {
            provenance: Provenance {
                origin: Origin::Measured,
                corewise: "0.1.0".into(),
                started_unix_ms: 0,
                elapsed_s: 1.0,
                budget_s: 1.0,
                seed: 1,
                partial: false,
            },
            machine: None,
            clock: None,
            searched: Vec::new(),
            unfinished: false,
            unit: corewise_model::links::map::Unit::Nanoseconds,
            cpus: CpuSet::first(4),
            series,
            clocks: Vec::new(),
            spoiled: Spoiled::default(),
            parallel: None,
            gaps: Vec::new(),
        }
    }

    #[test]
    fn every_visit_is_a_line() {
        let there_and_back = Pair::of_both(0, 2, vec![20.25, f64::NAN], vec![21.0]);
        let links = |pairs| Links { pairs, possible_pairs: 6, gaps: Vec::new() };
        let channel = Series {
            what: What::Channel { bound: None },
            links: links(vec![there_and_back]),
            held_out: vec![Pair::new(1, 3, vec![1e6])],
        };
        let cas = Series { what: What::Cas, links: links(vec![Pair::new(0, 1, vec![7.5])]), held_out: Vec::new() };
        insta::assert_snapshot!(long_csv(&map(vec![channel, cas])), @r"
        kind,a,b,first,visit,use,ns
        channel,0,2,0,0,measured,20.25
        channel,0,2,0,1,measured,
        channel,0,2,2,0,measured,21
        channel,1,3,1,0,held-out,1000000
        cas,0,1,0,0,measured,7.5
        ");
    }

    #[test]
    fn kinds_carry_their_parameter() {
        let kinds = [
            What::Bandwidth { block_bytes: 65536 },
            What::Channel { bound: Some(64) },
            What::Queue { slots: Slots::Packed },
            What::Wakeup,
        ];
        assert_eq!(kinds.map(kind_name), ["bandwidth-65536", "channel-64", "queue-packed", "wakeup"]);
    }

    #[test]
    fn a_matrix_is_written_as_far_as_it_is_known() {
        let mut matrix = Matrix::unknown([0, 2, 16]);
        matrix.set_both(0, 1, 7.006);
        matrix.set(1, 2, 94.625);
        matrix.set(2, 1, 100.0);
        assert_eq!(matrix_csv(&matrix), "cpu,0,2,16\n0,,7.01,\n2,7.01,,94.62\n16,,100,\n");
        assert_eq!(matrix_csv(&Matrix::unknown([])), "cpu\n");
    }
}
