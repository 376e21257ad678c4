//! A random matrix, written in each format and read back, has the same costs; and no text makes the reader panic.

use corewise_machine::random::RandomGenerator;
use corewise_machine::ring::RingSlots;
use proptest::prelude::*;

use crate::links::import::{HEADER, ImportedLinks, kind_name, read_links};
use crate::links::{CostMatrix, TalkWay};

/// Costs of some cpus with both directions, of which some are not known.
#[derive(Clone, Debug)]
struct Costs {
    cpus: Vec<u32>,
    /// A row for each cpu; not a number where it is not known.
    rows: Vec<Vec<f64>>,
}

impl Costs {
    /// As many cpus as fit into a table that people read, or a few more; numbered from 0 or not.
    fn strategy() -> impl Strategy<Value = Self> {
        let cpus = proptest::collection::btree_set(0_u32..300, 2..12);
        (cpus, any::<u64>(), 0.0..0.5).prop_map(|(cpus, seed, unknown)| {
            let cpus: Vec<u32> = cpus.into_iter().collect();
            let mut random = RandomGenerator::new(seed);
            let mut cost = |i: usize, j: usize| match i == j || random.next_below(1000) < (unknown * 1000.0) as usize {
                true => f64::NAN,
                false => (random.next_below(300_000) + 1) as f64 / 1000.0 + 0.0005,
            };
            let rows = (0..cpus.len()).map(|i| (0..cpus.len()).map(|j| cost(i, j)).collect()).collect();
            Self { cpus, rows }
        })
    }

    /// The same with each pair once, below the diagonal, and all known.
    fn below(&self) -> Self {
        let known = |i: usize, j: usize| if self.rows[i][j].is_nan() { 44.5 } else { self.rows[i][j] };
        let row = |i| (0..self.cpus.len()).map(|j| if j < i { known(i, j) } else { f64::NAN }).collect();
        Self { cpus: self.cpus.clone(), rows: (0..self.cpus.len()).map(row).collect() }
    }

    fn mirrored(&self) -> Self {
        let below = self.below();
        let row = |i| (0..self.cpus.len()).map(|j| if j < i { below.rows[i][j] } else { below.rows[j][i] }).collect();
        Self { cpus: self.cpus.clone(), rows: (0..self.cpus.len()).map(row).collect() }
    }

    fn is_empty(&self) -> bool {
        self.rows.iter().flatten().all(|cost| cost.is_nan())
    }

    /// The cells as text, with a mark between them, and a word for what is not known.
    fn cells(&self, mark: &str, unknown: &str) -> Vec<String> {
        let cell = |cost: &f64| if cost.is_nan() { unknown.to_owned() } else { cost.to_string() };
        self.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(mark)).collect()
    }

    /// A table with names before the rows and above the columns.
    fn named(&self, corner: &str, mark: &str, unknown: &str) -> String {
        let names: Vec<String> = self.cpus.iter().map(u32::to_string).collect();
        let rows = self.cpus.iter().zip(self.cells(mark, unknown)).map(|(cpu, row)| format!("{cpu}{mark}{row}\n"));
        format!("{corner}{mark}{}\n{}", names.join(mark), rows.collect::<String>())
    }

    /// One row for each known direction.
    fn list(&self, row: impl Fn(u32, u32, f64) -> String) -> String {
        let mut text = String::new();
        for (i, &first) in self.cpus.iter().enumerate() {
            for (j, &second) in self.cpus.iter().enumerate() {
                if !self.rows[i][j].is_nan() {
                    text += &row(first, second, self.rows[i][j]);
                }
            }
        }
        text
    }

    /// Whether the costs between each two cpus are these, each the mean of both directions or the one that is known.
    fn check(&self, imported: &ImportedLinks, names: bool) -> Result<(), TestCaseError> {
        prop_assert_eq!(imported.names_cpus, names);
        let mut matrix = CostMatrix::all_unknown(imported.cpus.iter());
        for pair in &imported.series[0].links.pairs {
            matrix.set_both(matrix.place_of(pair.a).unwrap(), matrix.place_of(pair.b).unwrap(), pair.one_way_ns());
        }
        let place = |i: usize| matrix.place_of(if names { self.cpus[i] } else { i as u32 });
        for i in 0..self.cpus.len() {
            for j in 0..i {
                let mut own = CostMatrix::all_unknown([0, 1]);
                own.set_cost(0, 1, self.rows[i][j]);
                own.set_cost(1, 0, self.rows[j][i]);
                let read = place(i).zip(place(j)).map_or(f64::NAN, |(i, j)| matrix.pair_cost(i, j));
                prop_assert!(
                    read.total_cmp(&own.pair_cost(0, 1)).is_eq() || read.is_nan() && own.pair_cost(0, 1).is_nan(),
                    "{i} {j}: {read}"
                );
            }
        }
        Ok(())
    }
}

fn imported(text: &str) -> Result<ImportedLinks, TestCaseError> {
    read_links(text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))
}

fn kinds() -> Vec<TalkWay> {
    vec![
        TalkWay::Cas,
        TalkWay::Queue { slots: RingSlots::Padded },
        TalkWay::Channel { bound: None },
        TalkWay::Bandwidth { block_bytes: 4096 },
    ]
}

proptest! {
    #[test]
    fn matrices_come_back(costs in Costs::strategy(), mark in "[,;\t]", end in "(\n|\r\n|,\n)") {
        prop_assume!(!costs.is_empty());
        let end = end.replace(',', &mark);
        for (matrix, unknown) in [(costs.clone(), ""), (costs.clone(), "x"), (costs.below(), ""), (costs.mirrored(), "-")] {
            let text: String = matrix.cells(&mark, unknown).into_iter().map(|row| row + &end).collect();
            matrix.check(&imported(&text)?, false)?;
            matrix.check(&imported(&matrix.named("cpu", &mark, unknown))?, true)?;
            matrix.check(&imported(&matrix.named("", &mark, unknown))?, true)?;
        }
        let spaced: String = costs.cells("  ", "nan").into_iter().map(|row| format!("  {row}\n")).collect();
        costs.check(&imported(&spaced)?, false)?;
        costs.check(&imported(&costs.named(" CPU", "   ", "?"))?, true)?;
    }

    #[test]
    fn triangles_that_end_at_the_diagonal_come_back(costs in Costs::strategy(), with_diagonal: bool) {
        let below = costs.below();
        let mut text = String::new();
        for (i, row) in below.rows.iter().enumerate() {
            let cells: Vec<String> = row[..i].iter().map(f64::to_string).chain(with_diagonal.then(|| "x".to_owned())).collect();
            text += &(cells.join(",") + "\n");
        }
        // Two cpus without a diagonal are a single number.
        prop_assume!(with_diagonal || below.cpus.len() > 2);
        below.check(&imported(&text)?, false)?;
    }

    #[test]
    fn lists_come_back(costs in Costs::strategy()) {
        prop_assume!(!costs.is_empty());
        let header = |header: &str, rows: String| format!("{header}\n{rows}");
        let plain = costs.list(|a, b, ns| format!("{a},{b},{ns}\n"));
        costs.check(&imported(&header("from,to,latency_ns", plain))?, true)?;
        let round_trips = costs.list(|a, b, ns| format!("{}\t{a}\tcore{b}\n", 2.0 * ns));
        costs.check(&imported(&header("rtt\tcore_a\tcore_b", round_trips))?, true)?;
        let samples = costs.list(|a, b, ns| format!("  0,  1, {a:5}, {b:5}, {ns} ns, 1.0, 3.87 GHz, 3.87, 3.87, 3.87\n"));
        costs.check(&imported(&header("# Info: Clock", samples))?, true)?;
    }

    #[test]
    fn tables_of_other_tools_come_back(costs in Costs::strategy()) {
        let mirrored = costs.mirrored();
        let cycles = mirrored.list(|a, b, ns| format!("{a}    {b}    {ns}\n"));
        mirrored.check(&imported(&format!("#name #HWCs 12 #Nodes 1 #SMT 1\n{cycles}#Mem_latencies 1\n0 0 300\n"))?, true)?;
        let columns: String = mirrored.cpus[1..].iter().map(|cpu| format!("{cpu:8}")).collect();
        let mut table = format!("   {columns}\n");
        for (i, cpu) in mirrored.cpus.iter().enumerate().take(mirrored.cpus.len() - 1) {
            let costs: String = mirrored.rows[i][i + 1..].iter().map(|ns| format!(" {ns:>7}")).collect();
            table += &format!("{cpu:2}:{}{costs}\n", " ".repeat(8 * i));
        }
        mirrored.check(&imported(&table)?, true)?;
    }

    #[test]
    fn visits_of_several_kinds_come_back(costs in Costs::strategy(), visits in 1..4_u32) {
        prop_assume!(!costs.is_empty());
        let mut text = format!("{HEADER}ns\n");
        for visit in 0..visits {
            for (place, what) in kinds().into_iter().enumerate() {
                text += &costs.list(|first, second, ns| {
                    let ns = ns + f64::from(visit) + place as f64;
                    format!("{},{},{},{first},{visit},measured,{ns}\n", kind_name(what), first.min(second), first.max(second))
                });
            }
        }
        let read = imported(&text)?;
        prop_assert_eq!(read.series.iter().map(|series| series.what).collect::<Vec<_>>(), kinds());
        for (place, series) in read.series.iter().enumerate() {
            for pair in &series.links.pairs {
                let at = |cpu| costs.cpus.iter().position(|&own| own == cpu).unwrap();
                let expected = |first, second| {
                    let cost = costs.rows[at(first)][at(second)];
                    let all = (0..visits).map(|visit| cost + f64::from(visit) + place as f64);
                    if cost.is_nan() { Vec::new() } else { all.collect::<Vec<f64>>() }
                };
                prop_assert_eq!(pair.visits_ns(), &expected(pair.a, pair.b)[..]);
                prop_assert_eq!(pair.back_ns(), &expected(pair.b, pair.a)[..]);
            }
        }
    }

    #[test]
    fn visits_in_cycles_come_back_in_cycles(cycles in 1..1000_u32) {
        let read = imported(&format!("{HEADER}cycles\ncas,0,1,0,0,measured,{cycles}\n"))?;
        prop_assert!(read.in_cycles);
        prop_assert_eq!(read.series[0].links.pairs[0].visits_ns(), &[f64::from(cycles)]);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text: String) {
        let _ = read_links(&text);
    }

    #[test]
    fn no_text_of_the_formats_pieces_makes_the_reader_panic(pieces in proptest::collection::vec(0..PIECES.len(), 0..40)) {
        let text: String = pieces.into_iter().map(|piece| PIECES[piece]).collect();
        match read_links(&text) {
            Ok(imported) => sound(&imported)?,
            Err(error) => {
                let lines = 1..=text.lines().count().max(1);
                prop_assert!(error.line_number().is_none_or(|line| lines.contains(&line)), "{error}");
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
    }
}

/// Whether the pairs are of the named cpus, each once and in order, and have costs.
fn sound(imported: &ImportedLinks) -> Result<(), TestCaseError> {
    prop_assert!(imported.cpus.len() > 1 && !imported.series.is_empty());
    for series in &imported.series {
        let pairs = &series.links.pairs;
        prop_assert!(!pairs.is_empty() && pairs.is_sorted_by(|one, next| (one.a, one.b) < (next.a, next.b)));
        for pair in pairs {
            prop_assert!(pair.a < pair.b && imported.cpus.contains(pair.a) && imported.cpus.contains(pair.b));
            prop_assert!(pair.visits_ns().iter().chain(pair.back_ns()).all(|cost| cost.is_finite() && *cost > 0.0));
            prop_assert!(pair.one_way_ns().is_finite());
        }
    }
    Ok(())
}

/// What the formats are made of.
const PIECES: [&str; 42] = [
    "\n",
    "\n",
    "\n",
    "\r\n",
    ",",
    ",",
    ";",
    "\t",
    " ",
    "  ",
    "0",
    "1",
    "2",
    "3",
    "5.25",
    "44.5",
    "1e308",
    "1e999",
    "-1",
    "x",
    "nan",
    "inf",
    "ns",
    "65535",
    "65536",
    "cpu",
    "CPU",
    "cpu0",
    "core 1",
    "a,b,ns",
    "kind,a,b,first,visit,ns",
    "cas,",
    "channel-64,",
    "0:",
    "#",
    "# Info: ",
    "#m #HWCs 2 #Nodes 1\n",
    "$data << EOD\n",
    "EOD\n",
    "\"",
    "\u{feff}",
    " 0, 1, 2, 3, 4 ns, 3 GHz",
];
