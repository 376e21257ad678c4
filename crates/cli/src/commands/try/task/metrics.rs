//! The metric that decides, and the guards, as they are named.

use corewise_model::metric_line;
use corewise_model::sample::QuantityFinder;
use corewise_model::trial::TrialMetric;

use super::super::arguments::TryArguments;
use super::live;
use super::named_metric::{DirectionQuestion, NamedMetric};
use crate::app::failure::CommandFailure;

/// Returns the metric that decides; the wall time by default.
pub fn read_primary(typed: &TryArguments) -> Result<NamedMetric, CommandFailure> {
    if live::is_live(typed) {
        return live::read_primary(typed);
    }
    let Some(text) = &typed.metric else {
        return Ok(NamedMetric { metric: TrialMetric::wall_time(), direction_question: None });
    };
    let metric = parse_metric("--metric", text, typed.higher)?;
    if typed.higher || typed.lower {
        return Ok(NamedMetric { metric, direction_question: None });
    }
    // A pattern made by corewise itself carries no direction.
    let pattern = metric.pattern.as_deref().filter(|_| text.contains('=')).unwrap_or_default();
    let said = metric_line::more_is_better(&metric.name, pattern);
    let question = || DirectionQuestion::new(&metric.name, text, &["--higher", "--lower"]);
    let direction_question = if said.is_none() { Some(question()) } else { None };
    Ok(NamedMetric { metric: TrialMetric { higher_is_better: said.unwrap_or_default(), ..metric }, direction_question })
}

/// Returns a guard of `--guard` or `--guard-higher`.
pub fn read_guard(text: &str, higher_is_better: bool, typed: &TryArguments) -> Result<TrialMetric, CommandFailure> {
    let option = if higher_is_better { "--guard-higher" } else { "--guard" };
    if live::is_live(typed) {
        return live::parse_metric((option, text, Some(higher_is_better)), false, typed).map(|named| named.metric);
    }
    parse_metric(option, text, higher_is_better)
}

/// Parses a metric: "throughput=([0-9.]+) MB/s", or a name alone.
fn parse_metric(option: &str, text: &str, higher_is_better: bool) -> Result<TrialMetric, CommandFailure> {
    let example = "For example: --metric 'throughput=([0-9.]+) MB/s' --higher";
    let (name, pattern) = text.split_once('=').map_or((text, None), |(name, pattern)| (name, Some(pattern)));
    if name.trim().is_empty() || pattern.is_some_and(str::is_empty) {
        return Err(CommandFailure::usage_error(format!("{option}: expected NAME or NAME=REGEX, found \"{text}\""))
            .with_hint(example));
    }
    let name = name.trim().to_owned();
    let pattern = pattern.map_or_else(|| metric_line::metric_pattern(&name), str::to_owned);
    QuantityFinder::new(&pattern)
        .map_err(|error| CommandFailure::usage_error(format!("{option}: {error}")).with_hint(example))?;
    Ok(TrialMetric { name, pattern: Some(pattern), higher_is_better, reading: None })
}
