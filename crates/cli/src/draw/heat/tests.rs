//! A heat map whose rows are something else than its columns.

use super::depth::ColourDepth;
use super::{HeatMap, HeatSide, SvgText};
use crate::draw::text::StyledLine;

/// Six groups of cpus, two on each of three nodes, and the memory of two nodes; the last cost is not known, the first two of the third row
/// are predicted.
fn six_by_two() -> HeatMap {
    let rows = (0..6).map(|row| format!("{}-{}", 4 * row, 4 * row + 3)).collect();
    let mut costs: Vec<f64> =
        [[90.0, 140.0], [91.0, 141.0], [140.0, 90.0], [141.0, 92.0], [200.0, 201.0], [202.0, 203.0]].concat();
    costs[11] = f64::NAN;
    HeatMap {
        rows: HeatSide {
            groups: vec![0..2, 2..4, 4..6],
            names: [0, 2, 1].map(|node| format!("node {node}")).into(),
            ..HeatSide::from_labels("cpus", rows)
        },
        columns: HeatSide::from_labels("node", vec!["0".into(), "2".into()]),
        predicted: (0..12).map(|cell| cell == 4 || cell == 5).collect(),
        costs,
        unit: "ns".into(),
        ..HeatMap::default()
    }
}

fn plain(lines: &[StyledLine]) -> String {
    lines.iter().map(|line| line.to_plain() + "\n").collect()
}

#[test]
fn rows_and_columns_of_other_things_are_figures_and_join_each_by_itself() {
    let map = six_by_two();
    insta::assert_snapshot!(plain(&map.draw_lines(ColourDepth::NoColour, 60, 20)), @r"
            0   2
      0-3  90 140
      4-7  91 141

     8-11 140  90
    12-15 141  92

    16-19 200 201
    20-23 202
    ns; row: cpus, column: node; blank: not measured; 2 cells
        are predicted
    ");
    insta::assert_snapshot!(plain(&map.draw_lines(ColourDepth::NoColour, 60, 3)), @r"
          0 2
      0-3 ··▒▒
     8-11 ▒▒··
    16-19 ████
    ns  90 ··· 106 ░░░ 124 ▒▒▒ 146 ▓▓▓ 172 ███ 202
    row: cpus, column: node; a row is a group, a cell is the
        median of 2 x 1 pairs; blank: not measured
    ");
    insta::assert_snapshot!(plain(&map.draw_lines(ColourDepth::Ansi16, 20, 3)), @r"
          0
      0-3 ▀▀
     8-11 ▀▀
    16-19 ▀▀
    ns  90 ███ 106 ███
        124 ███ 146 ███
        172 ███ 202
    row: cpus, column:
        node; blank: not
        measured; 16 %
        of the cells are
        predicted
    ");
    assert!(
        HeatMap { costs: Vec::new(), ..HeatMap { rows: HeatSide::default(), ..map } }
            .draw_lines(ColourDepth::NoColour, 60, 20)
            .is_empty()
    );
}

#[test]
fn a_picture_is_as_wide_as_its_columns_and_as_high_as_its_rows() {
    let map = six_by_two();
    let picture = map.to_svg(&SvgText::default());
    let document = roxmltree::Document::parse(&picture).unwrap();
    let texts = |tag| document.descendants().filter(move |node| node.has_tag_name(tag)).filter_map(|node| node.text());
    let titles: Vec<&str> = texts("title").filter(|text| text.contains(" to ")).collect();
    assert_eq!(
        (titles.len(), titles[1], titles[10]),
        (11, "cpus 0-3 to node 2: 140.0 ns", "cpus 20-23 to node 0: 202.0 ns")
    );
    let words: Vec<&str> = texts("text").collect();
    for word in ["cpus", "node", "node 0", "node 1", "node 2", "0-3", "not measured", "paler: predicted"] {
        assert!(words.contains(&word), "{word} in {words:?}");
    }
    let cells = document.descendants().find(|node| node.attribute("width") == Some("112")).unwrap();
    assert_eq!(cells.attribute("height"), Some("336"));
}
