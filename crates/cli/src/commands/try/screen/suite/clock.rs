//! A suite's second table: the clock rate and the power of each benchmark on each placement.

use corewise_model::suite::results::{Medians, Results, Row, Tried};
use corewise_model::trial::Trial;

use crate::commands::r#try::screen::gain::gain;
use crate::draw::grid::{Column, Grid};
use crate::draw::number::{ABSENT, brief, decimal};
use crate::draw::printable::named;
use crate::draw::story::StoryPart;
use crate::draw::text::Line;

/// The cells of one benchmark or heading: its name, and for each placement the clock, its difference from the OS
/// default, and the power.
struct Cells {
    name: Line,
    arms: Vec<[String; 3]>,
}

/// Formats a clock rate, such as "~3.88" if it is an estimate.
fn clock(medians: &Medians) -> Option<String> {
    let mark = if medians.is_estimate { "~" } else { "" };
    Some(format!("{mark}{}", decimal(medians.gigahertz?, 2)))
}

/// The quantities that some run of the suite has.
#[derive(Clone, Copy)]
struct Has {
    clock: bool,
    power: bool,
}

impl Has {
    fn of(shown: &Results<'_>) -> Self {
        let any =
            |is: fn(&Trial) -> bool| shown.rows.iter().filter_map(Row::tried).any(|row| row.trials.iter().any(is));
        Self { clock: any(|trial| trial.observed.gigahertz.is_some()), power: any(|trial| trial.watts().is_some()) }
    }

    /// Returns the title of the table; `None` without a table.
    fn title(self) -> Option<&'static str> {
        match (self.clock, self.power) {
            (true, true) => Some("Clock and power while they ran"),
            (true, false) => Some("Clock while they ran"),
            (false, true) => Some("Power while they ran"),
            (false, false) => None,
        }
    }
}

fn is_estimated(shown: &Results<'_>) -> bool {
    let mut trials = shown.rows.iter().filter_map(Row::tried).flat_map(|tried| &tried.trials);
    trials.any(|trial| trial.observed.gigahertz_is_estimate)
}

/// Returns the rows of the tried benchmarks, under their categories.
fn rows(shown: &Results<'_>, has: Has) -> Vec<Cells> {
    let mut rows = Vec::new();
    for category in shown.categories() {
        let of_category = shown.rows.iter().filter(|row| row.benchmark.category == category);
        let tried: Vec<Cells> = of_category
            .filter_map(|row| {
                let name = Line::new().plain(format!("  {}", named(&row.benchmark.name)));
                Some(Cells { name, arms: arms(row.tried()?, shown.arms.len(), has) })
            })
            .collect();
        if !tried.is_empty() {
            let name = Line::new().strong(named(category));
            rows.push(Cells { name, arms: vec![<[String; 3]>::default(); shown.arms.len()] });
            rows.extend(tried);
        }
    }
    rows
}

/// Returns the cells of each arm. A run may be too short for an estimate.
fn arms(tried: &Tried, arms: usize, has: Has) -> Vec<[String; 3]> {
    let all: Vec<Medians> = (0..arms).map(|arm| tried.medians(arm)).collect();
    let absent = |is_told: bool| if is_told { ABSENT.to_owned() } else { String::new() };
    let each = all.iter().enumerate().map(|(arm, medians)| {
        // "+7.7 %" relative to the OS default.
        let against = if arm > 0 { medians.faster_than(&all[0]) } else { None };
        [
            clock(medians).unwrap_or_else(|| absent(has.clock)),
            against.map(gain).unwrap_or_default(),
            medians.watts.map_or_else(|| absent(has.power), brief),
        ]
    });
    each.collect()
}

/// Returns the table with its title; empty without a clock rate or power.
pub fn table(shown: &Results<'_>) -> Vec<StoryPart> {
    let has = Has::of(shown);
    let Some(title) = has.title() else { return Vec::new() };
    let mut columns = vec![Column::text("", 0).named("benchmark").shrinking_to(16)];
    for (arm, described) in shown.arms.iter().enumerate() {
        let name = named(&described.spoken());
        let unit = if arm > 0 { "GHz    vs OS" } else { "GHz" };
        let rank = u8::from(arm > 1);
        let (clock, power) = if has.clock { (name.clone(), String::new()) } else { (String::new(), name.clone()) };
        columns.push(Column::number(clock, unit, rank));
        columns.push(Column::number(power, "W", if has.clock { 2 } else { rank }).named(format!("power of {name}")));
    }
    let mut grid = Grid::new(columns);
    for Cells { name, arms } in rows(shown, has) {
        let cells = arms.iter().enumerate().flat_map(|(arm, [clock, against, watts])| {
            let clock = Line::new().plain(clock);
            // The difference fits into the clock's column, because the name above is as wide.
            let clock = if arm > 0 && !clock.is_empty() { clock.faint(format!("{against:>9}")) } else { clock };
            [clock, Line::new().plain(watts)]
        });
        grid.row(std::iter::once(name).chain(cells).collect());
    }
    let remark = if is_estimated(shown) { "medians; ~ is estimated, not counted" } else { "medians" };
    vec![Line::new().strong(title).plain("  ").faint(remark).hanging(2), grid.into()]
}
