//! The table of a suite: a row for each benchmark, columns for each placement, and the geometric means; below it the clocks.

mod clock;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use corewise_machine::suggested_command;
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::suite::BenchmarkSuite;
use corewise_model::suite::results::{DecidedCounts, ProvenEffect, RowResult, SuiteResults, SuiteRow};
use corewise_model::trial::Experiment;
use corewise_statistics::experiment::{ArmVerdict, MeanEffect, OpenPoint};
use jiff::tz::TimeZone;

use super::open_points;
use super::standings::{draw_arrow, format_value};
use super::winner::describe_condition;
use super::wording::{ArmWords, begin_sentence};
use super::{ShownExperiment, draw_answer, export};
use crate::draw::csv as comma;
use crate::draw::gain::{format_gain, format_interval, format_percent};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::machine::compose_headline;
use crate::draw::number::{format_count, format_time};
use crate::draw::printable::{last_lines, printable_name};
use crate::draw::story::StoryRole::{Answer, Context, Evidence, Notes};
use crate::draw::story::{Story, compose_paragraphs};
use crate::draw::suggestion::quote_words;
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::glue_numbers;

/// Maximum number of output lines shown of a failed benchmark.
const SHOWN_LINES: usize = 5;

/// Returns the arrow for a proven mean.
fn proven_arrow(proven: ProvenEffect) -> StyledLine {
    match proven {
        ProvenEffect::Better => StyledLine::new().with(TextTone::Good, "↑"),
        ProvenEffect::Worse => StyledLine::new().with(TextTone::Warn, "↓"),
        ProvenEffect::Equal => StyledLine::new().faint("≈"),
        ProvenEffect::NotBetter | ProvenEffect::Nothing => StyledLine::new().faint("?"),
    }
}

/// Composes the story of the session of a suite.
pub fn compose_story(shown: &SuiteResults<'_>) -> Story {
    let of_first = shown.arms.iter().skip(1).filter(|arm| arm.variant == shown.arms[0].variant);
    let placements: Vec<String> = of_first.map(|arm| arm.choice_text().to_owned()).collect();
    let command = suggested_command::try_suite(&shown.suite.name, &placements);
    Story::new(quote_words(command.words()))
        .with(Answer, compose_paragraphs(draw_sentences(shown), 2))
        .with_titled(Evidence, "Benchmarks", vec![draw_table(shown).into()])
        .with(Evidence, clock::compose_table(shown))
        .with(Notes, compose_paragraphs(draw_notes(shown), 2))
}

/// Composes the story of the session with these numbered experiments; `None` unless they are of a suite.
pub fn stored_story(made: &[&(i64, ExperimentRecord)]) -> Option<Story> {
    let experiments: Vec<&Experiment> = made.iter().map(|(_, made)| &made.experiment).collect();
    let (suite, first) = (BenchmarkSuite::of_parts(&experiments)?, experiments.first()?);
    let part = first.suite.as_ref()?;
    let result = |(number, made): &(i64, ExperimentRecord)| {
        RowResult::from_trials(made.experiment.clone(), made.trials.clone(), Some(*number))
    };
    let all = suite.benchmarks.iter().zip(made.iter().copied());
    let rows: Vec<SuiteRow<'_>> = all.map(|(benchmark, made)| SuiteRow { benchmark, result: result(made) }).collect();
    let shown =
        SuiteResults { suite: &suite, arms: &first.arms, policy: &part.policy, rows: &rows, installation: None };
    let begun = format!("suite {}, begun {}", suite.name, format_time(part.begun_unix_ms, &TimeZone::system()));
    Some(compose_story(&shown).with(Context, vec![compose_headline(&first.machine, &[begun])]))
}

/// Returns the answer: one sentence over all, and a line for each placement.
pub fn draw_sentences(shown: &SuiteResults<'_>) -> Vec<StyledLine> {
    let tried = shown.rows.iter().filter(|row| row.sound_benchmark().is_some()).count();
    if tried == 0 {
        return vec![StyledLine::new().with(TextTone::Warn, "No benchmark was completed.")];
    }
    let mut lines = vec![draw_verdict(shown)];
    let margin = format_percent(shown.policy.margin);
    for (arm, described) in shown.arms.iter().enumerate().skip(1) {
        let DecidedCounts { better, worse, failed } = shown.count_decided(arm);
        let failed = if failed > 0 { format!(", failed in {failed}") } else { String::new() };
        let in_numbers =
            |mean: &MeanEffect| format!("{} {}", format_gain(mean.effect.estimate), format_interval(&mean.effect));
        let mean = shown.mean_effect(None, arm).map_or(String::new(), |mean| {
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
            "{}: proven better in {better} of {}, worse in {worse}, each by about {margin} or more{failed}{mean}{doubtful}.",
            printable_name(&described.spoken_name()),
            format_count(tried, "benchmark")
        );
        lines.push(StyledLine::new().plain(glue_numbers(&text)));
    }
    lines
}

fn draw_verdict(shown: &SuiteResults<'_>) -> StyledLine {
    let means: Vec<(usize, MeanEffect)> =
        (1..shown.arms.len()).filter_map(|arm| Some((arm, shown.mean_effect(None, arm)?))).collect();
    let best = means.iter().max_by(|a, b| a.1.effect.estimate.total_cmp(&b.1.effect.estimate));
    let (margin, words) = (format_percent(shown.policy.margin), ArmWords(shown.arms));
    let all = best.map_or(0, |(_, mean)| mean.experiments);
    let over = format_count(all, "benchmark");
    let is = |wanted: &[ProvenEffect]| means.iter().all(|(_, mean)| wanted.contains(&shown.of_mean(&mean.effect)));
    match best {
        Some((arm, mean)) if shown.of_mean(&mean.effect) == ProvenEffect::Better => {
            let (name, decided) = (printable_name(&shown.arms[*arm].spoken_name()), shown.count_decided(*arm));
            let but: Vec<String> = [(decided.worse, "is worse"), (decided.failed, "fails")]
                .iter()
                .filter(|(number, _)| *number > 0)
                .map(|(number, what)| format!("{what} in {number}"))
                .collect();
            if but.is_empty() {
                let verb = if words.has_variants() { "take" } else { "pin" };
                let text = format!(" {name} is better over all {over}; look at each before you {verb} it.");
                let standings = shown.rows.iter().filter_map(SuiteRow::tried_benchmark).map(|tried| &tried.standing);
                let points: Vec<OpenPoint> = standings.flat_map(|standing| standing.open_points.clone()).collect();
                let open = open_points::describe_in_several(&points);
                let (tone, heading) = match () {
                    () if !open.is_empty() => (TextTone::Warn, "So far:".to_owned()),
                    () if shown.policy.is_material(mean.effect.low) => {
                        (TextTone::Good, format!("{}.", words.taking_words(*arm)))
                    }
                    () => {
                        let condition = describe_condition(shown.policy.what, mean.effect.low);
                        (TextTone::Good, format!("{} if {condition}.", words.taking_words(*arm)))
                    }
                };
                let text = glue_numbers(&format!("{text}{open}"));
                return StyledLine::new().with(tone, glue_numbers(&heading)).plain(text);
            }
            let gaining = decided.better;
            let advice = match words.has_variants() {
                true => format!("take it for the {gaining} that gain"),
                false => format!("pin the {gaining} that gain"),
            };
            let text = format!(" {name} is better over {over}, but {}: {advice}.", but.join(" and "));
            StyledLine::new().with(TextTone::Good, "It depends on the program.").plain(glue_numbers(&text))
        }
        Some(_) if is(&[ProvenEffect::Equal, ProvenEffect::Worse, ProvenEffect::NotBetter]) => {
            let better = (1..shown.arms.len()).map(|arm| shown.count_decided(arm).better).max().unwrap_or_default();
            let some = if better > 0 { " Some programs gain: see ↑." } else { "" };
            let text = format!(" Over {over} no {} is {margin} better.{some}", words.candidate_word());
            let staying = begin_sentence(&words.staying_words()) + ".";
            StyledLine::new().with(TextTone::Good, glue_numbers(&staying)).plain(glue_numbers(&text))
        }
        _ => {
            let text = format!(" over {over}; until it is, {}.", words.staying_words());
            StyledLine::new().with(TextTone::Warn, "Not decided").plain(glue_numbers(&text))
        }
    }
}

fn draw_table(shown: &SuiteResults<'_>) -> TextGrid {
    let mut columns = vec![
        GridColumn::text("", 0).with_name("benchmark").shrinking_to(21),
        GridColumn::number("runs", "", 4),
        GridColumn::number(shown.arms[0].name.clone(), "", 3),
    ];
    for (number, arm) in shown.arms.iter().enumerate().skip(1) {
        let name = printable_name(&arm.spoken_name());
        columns.push(GridColumn::number(name.clone(), "", u8::from(number > 1)));
        columns.push(GridColumn::text("", u8::from(number > 1)));
        columns.push(GridColumn::number("", "", 2).with_name(format!("interval of {name}")));
    }
    let mut grid = TextGrid::new(columns);
    draw_cells(shown).into_iter().for_each(|row| grid.add_row(row));
    grid
}

/// Returns the rows of the table: the name, the runs, the OS default's value, and three cells for each placement.
fn draw_cells(shown: &SuiteResults<'_>) -> Vec<Vec<StyledLine>> {
    let mut rows = Vec::new();
    for category in shown.category_names() {
        rows.push(draw_heading(category, shown));
        rows.extend(
            shown.rows.iter().filter(|row| row.benchmark.category == category).map(|row| draw_benchmark(shown, row)),
        );
        rows.extend(draw_mean(shown, Some(category)));
    }
    if shown.category_names().len() > 1 {
        let over_all = draw_mean(shown, None);
        rows.extend(over_all.is_some().then(|| draw_heading("all", shown)));
        rows.extend(over_all);
    }
    rows
}

fn draw_heading(name: &str, shown: &SuiteResults<'_>) -> Vec<StyledLine> {
    let mut cells = vec![StyledLine::new(); 3 + 3 * (shown.arms.len() - 1)];
    cells[0] = StyledLine::new().strong(printable_name(name));
    cells
}

fn draw_benchmark(shown: &SuiteResults<'_>, row: &SuiteRow<'_>) -> Vec<StyledLine> {
    let plain = |text: String| StyledLine::new().plain(text);
    let mut cells = vec![plain(format!("  {}", printable_name(&row.benchmark.name)))];
    let Some(tried) = row.tried_benchmark() else {
        let mut cells = draw_heading("", shown);
        let why = match &row.result {
            RowResult::Missing(_) => "not installed",
            RowResult::Failed { .. } => "failed",
            RowResult::Dropped { .. } => "dropped",
            _ => "not tried",
        };
        cells[0] = plain(format!("  {}", printable_name(&row.benchmark.name))).faint(format!(" ({why})"));
        return cells;
    };
    let of = ShownExperiment::from_tried(tried);
    cells.push(plain(tried.standing.runs.to_string()));
    cells.push(plain(tried.standing.arms[0].median.map_or_else(String::new, |x| format_value(of, x))));
    let is_unsound = row.sound_benchmark().is_none();
    for standing in &tried.standing.arms[1..] {
        let (effect, ends) = match &standing.effect {
            Some(effect) => (format_gain(effect.estimate), format_interval(effect)),
            None if standing.verdict == Some(ArmVerdict::Failed) => ("failed".to_owned(), String::new()),
            None => (String::new(), String::new()),
        };
        cells.push(plain(effect));
        cells.push(if is_unsound {
            StyledLine::new().with(TextTone::Warn, "!")
        } else {
            draw_arrow(&tried.experiment.policy, standing)
        });
        cells.push(StyledLine::new().faint(ends));
    }
    cells
}

/// Returns the geometric mean of a category's benchmarks, if there are several.
fn draw_mean(shown: &SuiteResults<'_>, category: Option<&str>) -> Option<Vec<StyledLine>> {
    let means: Vec<Option<MeanEffect>> = (1..shown.arms.len()).map(|arm| shown.mean_effect(category, arm)).collect();
    let most = means.iter().flatten().map(|mean| mean.experiments).max().filter(|most| *most > 1)?;
    let mut cells =
        vec![StyledLine::new().plain(format!("  geometric mean of {most}")), StyledLine::new(), StyledLine::new()];
    for mean in means {
        cells.extend(mean.map_or_else(
            || [StyledLine::new(), StyledLine::new(), StyledLine::new()],
            |mean| {
                let arrow = proven_arrow(shown.of_mean(&mean.effect));
                [
                    StyledLine::new().strong(format_gain(mean.effect.estimate)),
                    arrow,
                    StyledLine::new().faint(format_interval(&mean.effect)),
                ]
            },
        ));
    }
    Some(cells)
}

/// Lists missing programs, failures and doubtful results.
fn draw_notes(shown: &SuiteResults<'_>) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    let mut missing: Vec<String> = Vec::new();
    for row in shown.rows {
        let name = printable_name(&row.benchmark.name);
        match &row.result {
            RowResult::Missing(programs) => missing.extend(programs.iter().map(|program| printable_name(program))),
            RowResult::Failed { why, output, .. } => {
                lines.push(StyledLine::new().with(TextTone::Warn, "failed").plain(format!(" {name}: {why}")));
                let last = last_lines(output, SHOWN_LINES);
                lines.extend(last.iter().map(|line| StyledLine::new().faint(format!("    {line}"))));
            }
            RowResult::Dropped { why } => {
                lines.push(StyledLine::new().with(TextTone::Warn, "dropped").plain(format!(" {name}: {why}")));
            }
            RowResult::Tried(tried) if row.sound_benchmark().is_none() => {
                lines.push(
                    StyledLine::new()
                        .plain(format!("! {name}: "))
                        .then(draw_answer(ShownExperiment::from_tried(tried))),
                );
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
        lines.push(StyledLine::new().plain(format!("Not installed: {}.{install}", missing.join(", "))));
    }
    let stored: Vec<i64> = shown.rows.iter().filter_map(|row| row.tried_benchmark()?.stored).collect();
    if let (Some(first), Some(last)) = (stored.iter().min(), stored.iter().max()) {
        let numbers =
            if first == last { format!("experiment {first}") } else { format!("experiments {first} to {last}") };
        lines.push(
            StyledLine::new()
                .faint(format!("Stored as {numbers}; each row's error rate is {}.", format_error_rate(shown))),
        );
    }
    lines
}

fn format_error_rate(shown: &SuiteResults<'_>) -> String {
    format_percent(shown.policy.error_rate)
}

/// Writes every run as a line of comma-separated values, its benchmark first. The caveats are the first run's last value.
pub fn write_csv(shown: &SuiteResults<'_>, notes: &[String]) -> String {
    let mut text = format!("category,benchmark,{}", export::NAMES);
    for row in shown.rows {
        let Some(tried) = row.tried_benchmark() else { continue };
        for trial in &tried.trials {
            let [category, name] = [&row.benchmark.category, &row.benchmark.name].map(|text| comma::quote_text(text));
            let _ =
                write!(text, "\r\n{category},{name},{}", export::write_run(ShownExperiment::from_tried(tried), trial));
        }
    }
    comma::with_notes(&text, notes)
}
