//! A suite's session on a page: the answer, the review's table, clocks, and what cannot be trusted.

use corewise_model::conducted::Conducted;
use corewise_model::suite::Suite;
use corewise_model::suite::results::{Results, Row, RowResult};
use corewise_model::trial::Experiment;
use jiff::tz::TimeZone;

use super::{besides, clock, sentences, table};
use crate::draw::machine::headline;
use crate::draw::number::when;
use crate::draw::page::{Block, Story, WIDTH};
use crate::draw::suggestion::words_in_shell;
use crate::draw::text::Line;

/// What a page says of the session that these experiments are of, which have these numbers; nothing where they are no suite.
pub fn story(made: &[&(i64, Conducted)]) -> Option<Story> {
    let experiments: Vec<&Experiment> = made.iter().map(|(_, made)| &made.experiment).collect();
    let (suite, first) = (Suite::of_parts(&experiments)?, experiments.first()?);
    let part = first.suite.as_ref()?;
    let result =
        |(number, made): &(i64, Conducted)| RowResult::of(made.experiment.clone(), made.trials.clone(), Some(*number));
    let rows = suite
        .benchmarks
        .iter()
        .zip(made.iter().copied())
        .map(|(benchmark, made)| Row { benchmark, result: result(made) });
    let rows: Vec<Row<'_>> = rows.collect();
    let shown = Results { suite: &suite, arms: &first.arms, policy: &part.policy, rows: &rows, installation: None };
    let begun = format!("suite {}, begun {}", suite.name, when(part.begun_unix_ms, &TimeZone::system()));
    let heading = Line::new().strong("Benchmarks");
    let placements = first.arms.iter().skip(1).flat_map(|arm| ["--on", arm.name.as_str()]);
    let command = ["corewise", "try", "--suite", suite.name.as_str()].into_iter().chain(placements);
    Some(Story {
        head: headline(&first.machine, &[begun], WIDTH),
        answer: sentences(&shown),
        evidence: vec![
            Block::Lines([vec![heading], table(&shown, WIDTH)].concat()),
            Block::Lines(clock::table(&shown, WIDTH)),
        ],
        besides: besides(&shown),
        command: words_in_shell(command),
    })
}
