//! A suite's second table: the clock rate and the power of each benchmark on each placement.

use corewise_model::suite::results::{RunMedians, SuiteResults, SuiteRow, TriedBenchmark};
use corewise_model::trial::Trial;

use crate::draw::gain::format_gain;
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{ABSENT, format_brief, format_decimal};
use crate::draw::printable::printable_name;
use crate::draw::story::StoryPart;
use crate::draw::text::StyledLine;

/// The cells of one benchmark or heading: its name, and for each placement the clock, its difference from the OS
/// default, and the power.
struct ClockCells {
    name: StyledLine,
    arms: Vec<[String; 3]>,
}

/// Formats a clock rate, such as "~3.88" if it is an estimate.
fn format_clock(medians: &RunMedians) -> Option<String> {
    let mark = if medians.is_estimate { "~" } else { "" };
    Some(format!("{mark}{}", format_decimal(medians.gigahertz?, 2)))
}

/// The quantities that some run of the suite has.
#[derive(Clone, Copy)]
struct ClockColumns {
    clock: bool,
    power: bool,
}

impl ClockColumns {
    fn from_results(shown: &SuiteResults<'_>) -> Self {
        let any = |is: fn(&Trial) -> bool| {
            shown.rows.iter().filter_map(SuiteRow::tried_benchmark).any(|row| row.trials.iter().any(is))
        };
        Self {
            clock: any(|trial| trial.observed.gigahertz.is_some()),
            power: any(|trial| trial.mean_watts().is_some()),
        }
    }

    /// Returns the title of the table; `None` without a table.
    fn table_title(self) -> Option<&'static str> {
        match (self.clock, self.power) {
            (true, true) => Some("Clock and power while they ran"),
            (true, false) => Some("Clock while they ran"),
            (false, true) => Some("Power while they ran"),
            (false, false) => None,
        }
    }
}

fn is_estimated(shown: &SuiteResults<'_>) -> bool {
    let mut trials = shown.rows.iter().filter_map(SuiteRow::tried_benchmark).flat_map(|tried| &tried.trials);
    trials.any(|trial| trial.observed.gigahertz_is_estimate)
}

/// Returns the rows of the tried benchmarks, under their categories.
fn make_rows(shown: &SuiteResults<'_>, has: ClockColumns) -> Vec<ClockCells> {
    let mut rows = Vec::new();
    for category in shown.category_names() {
        let of_category = shown.rows.iter().filter(|row| row.benchmark.category == category);
        let tried: Vec<ClockCells> = of_category
            .filter_map(|row| {
                let name = StyledLine::new().plain(format!("  {}", printable_name(&row.benchmark.name)));
                Some(ClockCells { name, arms: arm_cells(row.tried_benchmark()?, shown.arms.len(), has) })
            })
            .collect();
        if !tried.is_empty() {
            let name = StyledLine::new().strong(printable_name(category));
            rows.push(ClockCells { name, arms: vec![<[String; 3]>::default(); shown.arms.len()] });
            rows.extend(tried);
        }
    }
    rows
}

/// Returns the cells of each arm. A run may be too short for an estimate.
fn arm_cells(tried: &TriedBenchmark, arms: usize, has: ClockColumns) -> Vec<[String; 3]> {
    let all: Vec<RunMedians> = (0..arms).map(|arm| tried.arm_medians(arm)).collect();
    let absent = |is_told: bool| if is_told { ABSENT.to_owned() } else { String::new() };
    let each = all.iter().enumerate().map(|(arm, medians)| {
        // "+7.7 %" relative to the OS default.
        let against = if arm > 0 { medians.faster_than(&all[0]) } else { None };
        [
            format_clock(medians).unwrap_or_else(|| absent(has.clock)),
            against.map(format_gain).unwrap_or_default(),
            medians.watts.map_or_else(|| absent(has.power), format_brief),
        ]
    });
    each.collect()
}

/// Returns the table with its title; empty without a clock rate or power.
pub fn compose_table(shown: &SuiteResults<'_>) -> Vec<StoryPart> {
    let has = ClockColumns::from_results(shown);
    let Some(title) = has.table_title() else { return Vec::new() };
    let mut columns = vec![GridColumn::text("", 0).with_name("benchmark").shrinking_to(16)];
    for (arm, described) in shown.arms.iter().enumerate() {
        let name = printable_name(&described.spoken_name());
        let unit = if arm > 0 { "GHz    vs OS" } else { "GHz" };
        let rank = u8::from(arm > 1);
        let (clock, power) = if has.clock { (name.clone(), String::new()) } else { (String::new(), name.clone()) };
        columns.push(GridColumn::number(clock, unit, rank));
        columns.push(
            GridColumn::number(power, "W", if has.clock { 2 } else { rank }).with_name(format!("power of {name}")),
        );
    }
    let mut grid = TextGrid::new(columns);
    for ClockCells { name, arms } in make_rows(shown, has) {
        let cells = arms.iter().enumerate().flat_map(|(arm, [clock, against, watts])| {
            let clock = StyledLine::new().plain(clock);
            // The difference fits into the clock's column, because the name above is as wide.
            let clock = if arm > 0 && !clock.is_empty() { clock.faint(format!("{against:>9}")) } else { clock };
            [clock, StyledLine::new().plain(watts)]
        });
        grid.add_row(std::iter::once(name).chain(cells).collect());
    }
    let remark = if is_estimated(shown) { "medians; ~ is estimated, not counted" } else { "medians" };
    vec![StyledLine::new().strong(title).plain("  ").faint(remark).into_paragraph(2), grid.into()]
}
