//! Tables of a map for other programs: every visit, or a matrix.

use std::fmt::Write as _;

use corewise_model::links::import::{HEADER, kind_name};
use corewise_model::links::{CostMatrix, LinkMap, LinkPair};

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
        series.links.pairs.iter().for_each(|pair| write_visits(&mut text, &kind, "measured", pair));
        series.held_out.iter().for_each(|pair| write_visits(&mut text, &kind, "held-out", pair));
    }
    text
}

/// Writes a matrix as comma-separated values, each line ended by a line feed.
///
/// The header is `cpu` and the second cpus. Each line has the number of a first cpu and its costs in nanoseconds,
/// with at most two decimals. A cost is empty if it is unknown in that direction.
pub fn matrix_csv(matrix: &CostMatrix) -> String {
    let mut text = "cpu".to_owned();
    for cpu in matrix.cpus() {
        let _ = write!(text, ",{cpu}");
    }
    for (first, cpu) in matrix.cpus().iter().enumerate() {
        let _ = write!(text, "\n{cpu}");
        for second in 0..matrix.len() {
            text.push(',');
            text.push_str(&format_short(matrix.one_way_cost(first, second)));
        }
    }
    text + "\n"
}

fn write_visits(text: &mut String, kind: &str, purpose: &str, pair: &LinkPair) {
    for (first, visits) in [(pair.a, pair.visits_ns()), (pair.b, pair.back_ns())] {
        for (visit, cost) in visits.iter().enumerate() {
            let cost = if cost.is_finite() { cost.to_string() } else { String::new() };
            let _ = writeln!(text, "{kind},{},{},{first},{visit},{purpose},{cost}", pair.a, pair.b);
        }
    }
}

/// Formats a cost with at most two decimals; empty unless finite.
fn format_short(cost: f64) -> String {
    if !cost.is_finite() {
        return String::new();
    }
    let text = format!("{cost:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use corewise_machine::CpuSet;
    use corewise_machine::ring::RingSlots;
    use corewise_model::artifact::ArtifactOrigin;
    use corewise_model::artifact::ArtifactProvenance;
    use corewise_model::links::map::{LinkSeries, SpoiledSamples};
    use corewise_model::links::{LinkFindings, TalkWay};

    use super::*;

    fn map(series: Vec<LinkSeries>) -> LinkMap {
        LinkMap {
            provenance: ArtifactProvenance {
                origin: ArtifactOrigin::Measured,
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
            unit: corewise_model::links::map::CostUnit::Nanoseconds,
            cpus: CpuSet::first_cpus(4),
            series,
            clocks: Vec::new(),
            spoiled: SpoiledSamples::default(),
            parallel: None,
            gaps: Vec::new(),
        }
    }

    #[test]
    fn every_visit_is_a_line() {
        let there_and_back = LinkPair::of_both(0, 2, vec![20.25, f64::NAN], vec![21.0]);
        let links = |pairs| LinkFindings { pairs, possible_pairs: 6, gaps: Vec::new() };
        let channel = LinkSeries {
            what: TalkWay::Channel { bound: None },
            links: links(vec![there_and_back]),
            held_out: vec![LinkPair::new(1, 3, vec![1e6])],
        };
        let cas =
            LinkSeries { what: TalkWay::Cas, links: links(vec![LinkPair::new(0, 1, vec![7.5])]), held_out: Vec::new() };
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
            TalkWay::Bandwidth { block_bytes: 65536 },
            TalkWay::Channel { bound: Some(64) },
            TalkWay::Queue { slots: RingSlots::Packed },
            TalkWay::Wakeup,
        ];
        assert_eq!(kinds.map(kind_name), ["bandwidth-65536", "channel-64", "queue-packed", "wakeup"]);
    }

    #[test]
    fn a_matrix_is_written_as_far_as_it_is_known() {
        let mut matrix = CostMatrix::all_unknown([0, 2, 16]);
        matrix.set_both(0, 1, 7.006);
        matrix.set_cost(1, 2, 94.625);
        matrix.set_cost(2, 1, 100.0);
        assert_eq!(matrix_csv(&matrix), "cpu,0,2,16\n0,,7.01,\n2,7.01,,94.62\n16,,100,\n");
        assert_eq!(matrix_csv(&CostMatrix::all_unknown([])), "cpu\n");
    }
}
