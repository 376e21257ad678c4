//! Maps in all forms and depths, and that no map is larger than its room.

mod svg;

use corewise_machine::CpuSet;
use corewise_machine::random::RandomGenerator;
use corewise_model::links::CostMatrix;

use super::MatrixLayout;
use crate::draw::fixtures::fabricated::list;
use crate::draw::heat::depth::ColourDepth;
use crate::draw::text::{StyledLine, TextScreen};

const DEPTHS: [ColourDepth; 4] =
    [ColourDepth::TrueColour, ColourDepth::Palette256, ColourDepth::Ansi16, ColourDepth::NoColour];

/// A matrix over cpus 0, 1, 2, … from the cost that each has with each other.
fn matrix(count: u32, cost: impl Fn(u32, u32) -> f64) -> CostMatrix {
    let mut matrix = CostMatrix::all_unknown(0..count);
    for first in 0..count {
        for second in (0..count).filter(|&second| second != first) {
            matrix.set_cost(first as usize, second as usize, cost(first, second));
        }
    }
    matrix
}

/// Two groups of three cpus, odd and even; 4 and 5 were never measured together.
fn six() -> (CostMatrix, MatrixLayout) {
    let cost = |a: u32, b: u32| match (a.min(b), a.max(b)) {
        (4, 5) => f64::NAN,
        (low, high) if low % 2 == high % 2 => 7.0 + f64::from(low),
        (low, high) => 90.0 + f64::from(low * high),
    };
    let matrix = matrix(6, cost);
    let layout = MatrixLayout::from_groups(&matrix, &[list("0,2,4"), list("1,3,5")]);
    (matrix, layout)
}

/// Twelve cpus, siblings six apart, in two groups of three cores; who is first matters.
fn twelve() -> (CostMatrix, MatrixLayout) {
    let cost = |a: u32, b: u32| match (a % 6, b % 6) {
        (a, b) if a == b => 8.0,
        (a, b) if a / 3 == b / 3 => 20.0,
        (a, _) => 100.0 + f64::from(a),
    };
    let matrix = matrix(12, cost);
    let layout = MatrixLayout::from_groups(&matrix, &[list("0-2,6-8"), list("3-5,9-11")]);
    (matrix, layout)
}

fn heat(
    matrix: &CostMatrix,
    layout: &MatrixLayout,
    depth: ColourDepth,
    width: usize,
    most_rows: usize,
) -> Vec<StyledLine> {
    layout.heat_map(matrix).draw_lines(depth, width, most_rows)
}

fn plain(lines: &[StyledLine]) -> String {
    lines.iter().map(|line| line.to_plain() + "\n").collect()
}

fn styled(lines: Vec<StyledLine>) -> String {
    let mut screen = TextScreen::new();
    screen.extend(lines);
    screen.to_styled().replace('\u{1b}', "^")
}

#[test]
fn figures_stand_where_they_fit() {
    let (matrix, layout) = six();
    insta::assert_snapshot!(plain(&heat(&matrix, &layout, ColourDepth::NoColour, 80, 50)), @r"
        0   2   4    1   3   5
    0   - 7.0 7.0   90  90  90
    2 7.0   - 9.0   92  96 100
    4 7.0 9.0   -   94 102

    1  90  92  94    - 8.0 8.0
    3  90  96 102  8.0   -  10
    5  90 100      8.0  10   -
    ns; blank: not measured
    ");
    let by_number = MatrixLayout::from_numbers(&matrix);
    insta::assert_snapshot!(plain(&heat(&matrix, &by_number, ColourDepth::TrueColour, 80, 50)), @r"
        0   1   2   3   4   5
    0   -  90 7.0  90 7.0  90
    1  90   -  92 8.0  94 8.0
    2 7.0  92   -  96 9.0 100
    3  90 8.0  96   - 102  10
    4 7.0  94 9.0 102   -
    5  90 8.0 100  10       -
    ns  7.0 ██████ 14 ██████ 27 ██████ 52 ██████ 102
    blank: not measured
    ");
    let (matrix, layout) = twelve();
    insta::assert_snapshot!(plain(&heat(&matrix, &layout, ColourDepth::Ansi16, 80, 50)), @r"
         0   1   2   6   7   8    3   4   5   9  10  11
     0   -  20  20 8.0  20  20  100 100 100 100 100 100
     1  20   -  20  20 8.0  20  101 101 101 101 101 101
     2  20  20   -  20  20 8.0  102 102 102 102 102 102
     6 8.0  20  20   -  20  20  100 100 100 100 100 100
     7  20 8.0  20  20   -  20  101 101 101 101 101 101
     8  20  20 8.0  20  20   -  102 102 102 102 102 102

     3 103 103 103 103 103 103    -  20  20 8.0  20  20
     4 104 104 104 104 104 104   20   -  20  20 8.0  20
     5 105 105 105 105 105 105   20  20   -  20  20 8.0
     9 103 103 103 103 103 103  8.0  20  20   -  20  20
    10 104 104 104 104 104 104   20 8.0  20  20   -  20
    11 105 105 105 105 105 105   20  20 8.0  20  20   -
    ns  8.0 ███ 13 ███ 22 ███ 37 ███ 63 ███ 105
    row: first cpu, column: second cpu
    ");
}

#[test]
fn shades_stand_where_there_is_no_colour() {
    let (matrix, layout) = twelve();
    insta::assert_snapshot!(plain(&heat(&matrix, &layout, ColourDepth::NoColour, 40, 50)), @r"
       0   2   7    3   5   10
     0 - ░░░░··░░░░ ████████████
     1 ░░- ░░░░··░░ ████████████
     2 ░░░░- ░░░░·· ████████████
     6 ··░░░░- ░░░░ ████████████
     7 ░░··░░░░- ░░ ████████████
     8 ░░░░··░░░░-  ████████████

     3 ████████████ - ░░░░··░░░░
     4 ████████████ ░░- ░░░░··░░
     5 ████████████ ░░░░- ░░░░··
     9 ████████████ ··░░░░- ░░░░
    10 ████████████ ░░··░░░░- ░░
    11 ████████████ ░░░░··░░░░-
    ns  8.0 ··· 13 ░░░ 22 ▒▒▒ 37 ▓▓▓
        63 ███ 105
    row: first cpu, column: second cpu
    ");
    insta::assert_snapshot!(plain(&heat(&matrix, &layout, ColourDepth::NoColour, 20, 12)), @r"
       0   7  3   10
     0 -░░·░░ ██████
     1 ░-░░·░ ██████
     2 ░░-░░· ██████
     6 ·░░-░░ ██████
     7 ░·░░-░ ██████
     8 ░░·░░- ██████
     3 ██████ -░░·░░
     4 ██████ ░-░░·░
     5 ██████ ░░-░░·
     9 ██████ ·░░-░░
    10 ██████ ░·░░-░
    11 ██████ ░░·░░-
    ns  8.0 ··· 13 ░░░
        22 ▒▒▒ 37 ▓▓▓
        63 ███ 105
    row: first cpu,
        column: second
        cpu
    ");
    insta::assert_snapshot!(plain(&heat(&matrix, &layout, ColourDepth::NoColour, 20, 4)), @r"
      0 6 3 9
    0 ░░░░████
    6 ░░░░████
    3 ████░░░░
    9 ████░░░░
    ns  8.0 ··· 13 ░░░
        22 ▒▒▒ 37 ▓▓▓
        63 ███ 105
    row: first cpu,
        column: second
        cpu; a cell is
        the median of 3
        x 3 pairs
    ");
    insta::assert_snapshot!(plain(&heat(&matrix, &layout, ColourDepth::NoColour, 20, 2)), @r"
      0 3
    0 ░░██
    3 ██░░
    ns  8.0 ··· 13 ░░░
        22 ▒▒▒ 37 ▓▓▓
        63 ███ 105
    row: first cpu,
        column: second
        cpu; a row is a
        group, a cell is
        the median of 6
        x 6 pairs
    ");
}

#[test]
fn two_rows_share_a_line_where_there_is_colour() {
    let (matrix, layout) = six();
    let draw = |depth| styled(heat(&matrix, &layout, depth, 40, 4));
    insta::assert_snapshot!(plain(&heat(&matrix, &layout, ColourDepth::TrueColour, 40, 4)), @r"
      0 4 1 5
    0 ▄▀▀ ▀▀▀
    4 ▀▀  ▀▀
    1 ▀▀▀ ▄▀▀
    5 ▀▀  ▀▀
    ns  7.0 ██████ 14 ██████ 27 ██████
        52 ██████ 102
    blank: not measured
    ");
    insta::assert_snapshot!(draw(ColourDepth::TrueColour), @r"
    ^[2m  0 4 1 5^[0m
    ^[2m0 ^[0m^[38;2;68;1;84m▄▀^[0m^[38;2;68;1;84m^[48;2;71;35;115m▀^[0m ^[38;2;225;227;28m^[48;2;230;228;30m▀^[0m^[38;2;225;227;28m^[48;2;240;229;33m▀^[0m^[38;2;225;227;28m^[48;2;249;230;36m▀^[0m
    ^[2m4 ^[0m^[38;2;68;1;84m▀^[0m^[38;2;71;35;115m▀^[0m  ^[38;2;235;229;31m▀^[0m^[38;2;253;231;37m▀^[0m
    ^[2m1 ^[0m^[38;2;225;227;28m^[48;2;225;227;28m▀^[0m^[38;2;230;228;30m^[48;2;240;229;33m▀^[0m^[38;2;235;229;31m^[48;2;253;231;37m▀^[0m ^[38;2;71;19;102m▄▀^[0m^[38;2;71;19;102m^[48;2;70;47;124m▀^[0m
    ^[2m5 ^[0m^[38;2;225;227;28m▀^[0m^[38;2;249;230;36m▀^[0m  ^[38;2;71;19;102m▀^[0m^[38;2;70;47;124m▀^[0m
    ^[2mns^[0m  7.0 ^[38;2;69;9;91m█^[0m^[38;2;72;24;106m█^[0m^[38;2;71;38;117m█^[0m^[38;2;69;51;127m█^[0m^[38;2;66;64;134m█^[0m^[38;2;61;76;137m█^[0m 14 ^[38;2;56;88;140m█^[0m^[38;2;51;99;141m█^[0m^[38;2;46;109;142m█^[0m^[38;2;42;119;142m█^[0m^[38;2;38;130;142m█^[0m^[38;2;35;140;141m█^[0m 27 ^[38;2;32;150;139m█^[0m^[38;2;31;160;136m█^[0m^[38;2;37;169;131m█^[0m^[38;2;48;179;124m█^[0m^[38;2;63;188;115m█^[0m^[38;2;84;197;104m█^[0m
        52 ^[38;2;107;205;90m█^[0m^[38;2;132;212;75m█^[0m^[38;2;159;217;57m█^[0m^[38;2;187;222;40m█^[0m^[38;2;216;226;25m█^[0m^[38;2;241;229;33m█^[0m 102
    ^[2mblank: not measured^[0m
    ");
    insta::assert_snapshot!(draw(ColourDepth::Palette256), @r"
    ^[2m  0 4 1 5^[0m
    ^[2m0 ^[0m^[38;5;53m▄▀^[0m^[38;5;53m^[48;5;53m▀^[0m ^[38;5;220m^[48;5;220m▀▀▀^[0m
    ^[2m4 ^[0m^[38;5;53m▀▀^[0m  ^[38;5;220m▀▀^[0m
    ^[2m1 ^[0m^[38;5;220m^[48;5;220m▀▀▀^[0m ^[38;5;53m▄▀^[0m^[38;5;53m^[48;5;54m▀^[0m
    ^[2m5 ^[0m^[38;5;220m▀▀^[0m  ^[38;5;53m▀^[0m^[38;5;54m▀^[0m
    ^[2mns^[0m  7.0 ^[38;5;53m██^[0m^[38;5;54m███^[0m^[38;5;24m█^[0m 14 ^[38;5;24m█^[0m^[38;5;25m███^[0m^[38;5;30m██^[0m 27 ^[38;5;36m██^[0m^[38;5;72m███^[0m^[38;5;77m█^[0m
        52 ^[38;5;77m█^[0m^[38;5;149m███^[0m^[38;5;220m██^[0m 102
    ^[2mblank: not measured^[0m
    ");
    insta::assert_snapshot!(draw(ColourDepth::Ansi16), @r"
    ^[2m  0 4 1 5^[0m
    ^[2m0 ^[0m^[34m▄▀^[0m^[34m^[44m▀^[0m ^[93m^[103m▀▀▀^[0m
    ^[2m4 ^[0m^[34m▀▀^[0m  ^[93m▀▀^[0m
    ^[2m1 ^[0m^[93m^[103m▀▀▀^[0m ^[34m▄▀^[0m^[34m^[44m▀^[0m
    ^[2m5 ^[0m^[93m▀▀^[0m  ^[34m▀▀^[0m
    ^[2mns^[0m  7.0 ^[34m███^[0m 12 ^[94m███^[0m 20 ^[36m███^[0m 35 ^[96m███^[0m
        60 ^[93m███^[0m 102
    ^[2mblank: not measured^[0m
    ");
}

#[test]
fn cells_that_do_not_fit_are_joined_inside_groups() {
    let matrix = matrix(512, |a, b| if a % 256 / 8 == b % 256 / 8 { 30.0 } else { 200.0 });
    let groups: Vec<CpuSet> = (0..32).map(|g| (8 * g..8 * g + 8).flat_map(|cpu| [cpu, cpu + 256]).collect()).collect();
    let lines = heat(&matrix, &MatrixLayout::from_groups(&matrix, &groups), ColourDepth::NoColour, 80, 40);
    assert_eq!(lines[1].to_plain(), format!("  0 ··{}", "█".repeat(62)));
    assert_eq!(plain(&lines[34..]), "a row is a group, a cell is the median of 16 x 16 pairs\n");
    let lines = heat(&matrix, &MatrixLayout::from_numbers(&matrix), ColourDepth::TrueColour, 80, 40);
    assert_eq!(lines.len(), 1 + 32 + 2);
    assert_eq!(lines[34].to_plain(), "a cell is the median of 8 x 8 pairs");
}

#[test]
fn a_map_says_what_it_does_not_know() {
    let nothing = CostMatrix::all_unknown([0, 3]);
    let draw = |depth| plain(&heat(&nothing, &MatrixLayout::from_numbers(&nothing), depth, 80, 50));
    assert_eq!(draw(ColourDepth::NoColour), "  0 3\n0 -\n3   -\nno pair was measured\n");
    let flat = matrix(2, |_, _| 20.0);
    let lines = heat(&flat, &MatrixLayout::from_numbers(&flat), ColourDepth::TrueColour, 80, 50);
    assert_eq!(lines.last().unwrap().to_plain(), "ns  ██ 20");
    let none = CostMatrix::all_unknown([]);
    assert!(heat(&none, &MatrixLayout::from_numbers(&none), ColourDepth::TrueColour, 80, 50).is_empty());
}

/// A matrix and a layout of any shape: groups of any size, missing costs, labels of any length.
fn any(random: &mut RandomGenerator) -> (CostMatrix, MatrixLayout) {
    let count = [random.next_below(4), random.next_below(60), random.next_below(601)][random.next_below(3)] as u32;
    let known = [0.0, 0.3, 1.0][random.next_below(3)];
    let mut matrix = CostMatrix::all_unknown((0..count).map(|cpu| cpu * 3));
    for (first, second) in (0..count as usize).flat_map(|a| (0..count as usize).map(move |b| (a, b))) {
        if random.next_unit() < known {
            matrix.set_cost(first, second, (random.next_unit() * 14.0 - 2.0).exp().floor());
        }
    }
    let mut layout = MatrixLayout::from_numbers(&matrix);
    layout.boundaries = (0..count as usize).filter(|_| random.next_below(9) == 0).collect();
    layout.names = layout.boundaries.iter().map(|start| format!("group <{start}>")).collect();
    if random.next_below(4) == 0 {
        layout.labels = (0..random.next_below(20)).map(|index| "label<".repeat(index)).collect();
    }
    (matrix, layout)
}

#[test]
fn no_map_is_larger_than_its_room() {
    let mut random = RandomGenerator::new(7);
    for _ in 0..60 {
        let (matrix, layout) = any(&mut random);
        let (depth, width, rows) =
            (DEPTHS[random.next_below(4)], 20 + random.next_below(281), 1 + random.next_below(80));
        let lines = heat(&matrix, &layout, depth, width, rows);
        // Nothing was too wide and had to be cut.
        assert!(!plain(&lines).contains('…'), "{}", plain(&lines));
        let widest = lines.iter().map(StyledLine::width).max().unwrap_or(0);
        assert!(widest <= width, "{widest} of {width} columns for {} cpus", matrix.len());
        // Besides the rows: the head, and at most nine lines of scale and notes at the least width.
        assert!(lines.len() <= rows + 14, "{} lines for {rows} rows of {} cpus", lines.len(), matrix.len());
    }
}

#[test]
fn what_is_predicted_looks_different_and_the_legend_says_so() {
    let (all, layout) = twelve();
    let mut measured = all.clone();
    (6..12).for_each(|cpu| measured.set_both(0, cpu, f64::NAN));
    let layout = layout.with_predictions(&all, &measured);
    assert_eq!(layout.predicted.iter().filter(|predicted| **predicted).count(), 12);
    let draw = |depth, width| {
        let drawn = plain(&heat(&all, &layout, depth, width, 50));
        drawn.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(draw(ColourDepth::Ansi16, 80).contains("without colour: predicted"));
    assert!(draw(ColourDepth::NoColour, 40).contains("half a cell: predicted"));
    let wide = draw(ColourDepth::TrueColour, 40);
    assert!(wide.contains("▒▒") && wide.contains("paler: predicted"), "{wide}");
    let everything = layout.with_predictions(&all, &all);
    assert!(everything.predicted.is_empty());
    assert!(!plain(&heat(&all, &everything, ColourDepth::TrueColour, 40, 50)).contains("predicted"));
}
