//! The table of a suite: a row for each benchmark, columns for each placement, and the geometric means; below it the clocks.

mod clock;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use corewise_machine::suggested_command;
use corewise_model::conducted::Conducted;
use corewise_model::experiment::{ArmVerdict, MeanEffect};
use corewise_model::suite::Suite;
use corewise_model::suite::results::{Decided, Proven, Results, Row, RowResult};
use corewise_model::trial::Experiment;
use jiff::tz::TimeZone;

use super::gain::{gain, interval, percent};
use super::standings::{arrow, value};
use super::{Shown, export, in_words};
use crate::draw::csv as comma;
use crate::draw::grid::{Column, Grid};
use crate::draw::machine::headline;
use crate::draw::number::{count, when};
use crate::draw::printable::{last_lines, named};
use crate::draw::story::StoryRole::{Answer, Context, Evidence, Notes};
use crate::draw::story::{Story, paragraphs};
use crate::draw::suggestion::words_in_shell;
use crate::draw::text::{Line, Tone};
use crate::draw::wrap::glued;

/// Maximum number of output lines shown of a failed benchmark.
const SHOWN_LINES: usize = 5;

/// Returns the arrow for a proven mean.
fn proven_arrow(proven: Proven) -> Line {
    match proven {
        Proven::Better => Line::new().with(Tone::Good, "↑"),
        Proven::Worse => Line::new().with(Tone::Warn, "↓"),
        Proven::Equal => Line::new().faint("≈"),
        Proven::NotBetter | Proven::Nothing => Line::new().faint("?"),
    }
}

/// Composes the story of the session of a suite.
pub fn story(shown: &Results<'_>) -> Story {
    let placements: Vec<String> = shown.arms.iter().skip(1).map(|arm| arm.name.clone()).collect();
    let command = suggested_command::try_suite(&shown.suite.name, &placements);
    Story::new(words_in_shell(command.words()))
        .with(Answer, paragraphs(sentences(shown), 2))
        .with_titled(Evidence, "Benchmarks", vec![table(shown).into()])
        .with(Evidence, clock::table(shown))
        .with(Notes, paragraphs(besides(shown), 2))
}

/// Composes the story of the session with these numbered experiments; `None` unless they are of a suite.
pub fn stored_story(made: &[&(i64, Conducted)]) -> Option<Story> {
    let experiments: Vec<&Experiment> = made.iter().map(|(_, made)| &made.experiment).collect();
    let (suite, first) = (Suite::of_parts(&experiments)?, experiments.first()?);
    let part = first.suite.as_ref()?;
    let result =
        |(number, made): &(i64, Conducted)| RowResult::of(made.experiment.clone(), made.trials.clone(), Some(*number));
    let all = suite.benchmarks.iter().zip(made.iter().copied());
    let rows: Vec<Row<'_>> = all.map(|(benchmark, made)| Row { benchmark, result: result(made) }).collect();
    let shown = Results { suite: &suite, arms: &first.arms, policy: &part.policy, rows: &rows, installation: None };
    let begun = format!("suite {}, begun {}", suite.name, when(part.begun_unix_ms, &TimeZone::system()));
    Some(story(&shown).with(Context, vec![headline(&first.machine, &[begun])]))
}

/// Returns the answer: one sentence over all, and a line for each placement.
pub fn sentences(shown: &Results<'_>) -> Vec<Line> {
    let tried = shown.rows.iter().filter(|row| row.sound().is_some()).count();
    if tried == 0 {
        return vec![Line::new().with(Tone::Warn, "No benchmark was completed.")];
    }
    let mut lines = vec![verdict(shown)];
    let margin = percent(shown.policy.margin);
    for (arm, described) in shown.arms.iter().enumerate().skip(1) {
        let Decided { better, worse, failed } = shown.decided(arm);
        let failed = if failed > 0 { format!(", failed in {failed}") } else { String::new() };
        let in_numbers = |mean: &MeanEffect| format!("{} {}", gain(mean.effect.estimate), interval(&mean.effect));
        let mean = shown.mean(None, arm).map_or(String::new(), |mean| {
            if mean.experiments == tried {
                return format!("; geometric mean {}", in_numbers(&mean));
            }
            format!("; geometric mean of the {} finished {}", mean.experiments, in_numbers(&mean))
        });
        let doubtful = shown.mean_with_doubtful(None, arm);
        let doubtful = doubtful.map_or(String::new(), |mean| {
            format!("; with the doubtful ones (!), mean of {} {}", mean.experiments, in_numbers(&mean))
        });
        let text = format!(
            "{}: better by {margin} or more in {better} of {}, worse in {worse}{failed}{mean}{doubtful}.",
            named(&described.spoken()),
            count(tried, "benchmark")
        );
        lines.push(Line::new().plain(glued(&text)));
    }
    lines
}

fn verdict(shown: &Results<'_>) -> Line {
    let means: Vec<(usize, MeanEffect)> =
        (1..shown.arms.len()).filter_map(|arm| Some((arm, shown.mean(None, arm)?))).collect();
    let best = means.iter().max_by(|a, b| a.1.effect.estimate.total_cmp(&b.1.effect.estimate));
    let margin = percent(shown.policy.margin);
    let all = best.map_or(0, |(_, mean)| mean.experiments);
    let over = count(all, "benchmark");
    let is = |wanted: &[Proven]| means.iter().all(|(_, mean)| wanted.contains(&shown.of_mean(&mean.effect)));
    match best {
        Some((arm, mean)) if shown.of_mean(&mean.effect) == Proven::Better => {
            let (name, decided) = (named(&shown.arms[*arm].spoken()), shown.decided(*arm));
            let but: Vec<String> = [(decided.worse, "is worse"), (decided.failed, "fails")]
                .iter()
                .filter(|(number, _)| *number > 0)
                .map(|(number, what)| format!("{what} in {number}"))
                .collect();
            if but.is_empty() {
                let text = format!(" {name} is better over all {over}; look at each before you pin it.");
                return Line::new().with(Tone::Good, "Pin it.").plain(glued(&text));
            }
            let text = format!(
                " {name} is better over {over}, but {}: pin the {} that gain.",
                but.join(" and "),
                decided.better
            );
            Line::new().with(Tone::Good, "It depends on the program.").plain(glued(&text))
        }
        Some(_) if is(&[Proven::Equal, Proven::Worse, Proven::NotBetter]) => {
            let better = (1..shown.arms.len()).map(|arm| shown.decided(arm).better).max().unwrap_or_default();
            let some = if better > 0 { " Some programs gain: see ↑." } else { "" };
            let text = format!(" Over {over} no placement is {margin} better.{some}");
            Line::new().with(Tone::Good, "Leave it to the operating system.").plain(glued(&text))
        }
        _ => {
            let text = format!(" over {over}; until it is, leave it to the operating system.");
            Line::new().with(Tone::Warn, "Not decided").plain(glued(&text))
        }
    }
}

fn table(shown: &Results<'_>) -> Grid {
    let mut columns = vec![
        Column::text("", 0).named("benchmark").shrinking_to(21),
        Column::number("runs", "", 4),
        Column::number(shown.arms[0].name.clone(), "", 3),
    ];
    for (number, arm) in shown.arms.iter().enumerate().skip(1) {
        let name = named(&arm.spoken());
        columns.push(Column::number(name.clone(), "", u8::from(number > 1)));
        columns.push(Column::text("", u8::from(number > 1)));
        columns.push(Column::number("", "", 2).named(format!("interval of {name}")));
    }
    let mut grid = Grid::new(columns);
    cells(shown).into_iter().for_each(|row| grid.row(row));
    grid
}

/// Returns the rows of the table: the name, the runs, the OS default's value, and three cells for each placement.
fn cells(shown: &Results<'_>) -> Vec<Vec<Line>> {
    let mut rows = Vec::new();
    for category in shown.categories() {
        rows.push(heading(category, shown));
        rows.extend(
            shown.rows.iter().filter(|row| row.benchmark.category == category).map(|row| benchmark(shown, row)),
        );
        rows.extend(mean(shown, Some(category)));
    }
    if shown.categories().len() > 1 {
        let over_all = mean(shown, None);
        rows.extend(over_all.is_some().then(|| heading("all", shown)));
        rows.extend(over_all);
    }
    rows
}

fn heading(name: &str, shown: &Results<'_>) -> Vec<Line> {
    let mut cells = vec![Line::new(); 3 + 3 * (shown.arms.len() - 1)];
    cells[0] = Line::new().strong(named(name));
    cells
}

fn benchmark(shown: &Results<'_>, row: &Row<'_>) -> Vec<Line> {
    let plain = |text: String| Line::new().plain(text);
    let mut cells = vec![plain(format!("  {}", named(&row.benchmark.name)))];
    let Some(tried) = row.tried() else {
        let mut cells = heading("", shown);
        let why = match &row.result {
            RowResult::Missing(_) => "not installed",
            RowResult::Failed { .. } => "failed",
            _ => "not tried",
        };
        cells[0] = plain(format!("  {}", named(&row.benchmark.name))).faint(format!(" ({why})"));
        return cells;
    };
    let of = Shown::alone(tried);
    cells.push(plain(tried.standing.runs.to_string()));
    cells.push(plain(tried.standing.arms[0].median.map_or_else(String::new, |x| value(of, x))));
    let is_unsound = row.sound().is_none();
    for standing in &tried.standing.arms[1..] {
        let (effect, ends) = match &standing.effect {
            Some(effect) => (gain(effect.estimate), interval(effect)),
            None if standing.verdict == Some(ArmVerdict::Failed) => ("failed".to_owned(), String::new()),
            None => (String::new(), String::new()),
        };
        cells.push(plain(effect));
        cells.push(if is_unsound {
            Line::new().with(Tone::Warn, "!")
        } else {
            arrow(&tried.experiment.policy, standing)
        });
        cells.push(Line::new().faint(ends));
    }
    cells
}

/// Returns the geometric mean of a category's benchmarks, if there are several.
fn mean(shown: &Results<'_>, category: Option<&str>) -> Option<Vec<Line>> {
    let means: Vec<Option<MeanEffect>> = (1..shown.arms.len()).map(|arm| shown.mean(category, arm)).collect();
    let most = means.iter().flatten().map(|mean| mean.experiments).max().filter(|most| *most > 1)?;
    let mut cells = vec![Line::new().plain(format!("  geometric mean of {most}")), Line::new(), Line::new()];
    for mean in means {
        cells.extend(mean.map_or_else(
            || [Line::new(), Line::new(), Line::new()],
            |mean| {
                let arrow = proven_arrow(shown.of_mean(&mean.effect));
                [Line::new().strong(gain(mean.effect.estimate)), arrow, Line::new().faint(interval(&mean.effect))]
            },
        ));
    }
    Some(cells)
}

/// Lists missing programs, failures and doubtful results.
fn besides(shown: &Results<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut missing: Vec<String> = Vec::new();
    for row in shown.rows {
        let name = named(&row.benchmark.name);
        match &row.result {
            RowResult::Missing(programs) => missing.extend(programs.iter().map(|program| named(program))),
            RowResult::Failed { why, output, .. } => {
                lines.push(Line::new().with(Tone::Warn, "failed").plain(format!(" {name}: {why}")));
                let last = last_lines(output, SHOWN_LINES);
                lines.extend(last.iter().map(|line| Line::new().faint(format!("    {line}"))));
            }
            RowResult::Tried(tried) if row.sound().is_none() => {
                lines.push(Line::new().plain(format!("! {name}: ")).then(in_words(Shown::alone(tried))));
            }
            _ => {}
        }
    }
    missing.sort_unstable();
    missing.dedup();
    if !missing.is_empty() {
        let install = shown.installation.as_ref().map_or_else(
            || " `--install` shows their packages.".to_owned(),
            |command| format!(" Next, to install them:  {command}"),
        );
        lines.push(Line::new().plain(format!("Not installed: {}.{install}", missing.join(", "))));
    }
    let stored: Vec<i64> = shown.rows.iter().filter_map(|row| row.tried()?.stored).collect();
    if let (Some(first), Some(last)) = (stored.iter().min(), stored.iter().max()) {
        let numbers =
            if first == last { format!("experiment {first}") } else { format!("experiments {first} to {last}") };
        lines.push(Line::new().faint(format!("Stored as {numbers}; each row's error rate is {}.", rate(shown))));
    }
    lines
}

fn rate(shown: &Results<'_>) -> String {
    percent(shown.policy.error_rate)
}

/// Writes every run as a line of comma-separated values, its benchmark first. The caveats are the first run's last value.
pub fn csv(shown: &Results<'_>, notes: &[String]) -> String {
    let mut text = format!("category,benchmark,{}", export::NAMES);
    for row in shown.rows {
        let Some(tried) = row.tried() else { continue };
        for trial in &tried.trials {
            let [category, name] = [&row.benchmark.category, &row.benchmark.name].map(|text| comma::text(text));
            let _ = write!(text, "\r\n{category},{name},{}", export::line(Shown::alone(tried), trial));
        }
    }
    comma::with_notes(&text, notes)
}
