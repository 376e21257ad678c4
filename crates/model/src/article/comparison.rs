//! The table at an article's end: each published result beside the one found here, and whether it is reproduced.

use corewise_machine::{Machine, vocabulary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::measure::ArticleMeasure;
pub use super::measure::FoundRatio;
use super::{Article, ArticleLine};

/// A published result, and where to look for it here.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// The quantity: "mean of cpu 0 against its neighbours".
    pub what: String,
    /// The published number, in words.
    pub published: String,
    /// The published number as a ratio: its least and its greatest value.
    pub range: Option<(f64, f64)>,
    /// Title of the step that measures it.
    pub step: Option<String>,
    /// The values compared in the step's result.
    pub measure: Option<ArticleMeasure>,
    /// Fewest cores of a machine on which the comparison means something.
    #[serde(default)]
    pub cores: usize,
    /// Why no step measures it.
    pub unseen: Option<String>,
}

/// A step of an article as it was run, or not.
#[derive(Clone, Copy, Debug)]
pub struct StepOutcome<'a> {
    /// Its title.
    pub title: &'a str,
    /// Its command line, or why it was left out.
    pub line: Result<&'a ArticleLine, &'a str>,
    /// The document of its result; null without one.
    pub document: &'a Value,
}

vocabulary! {
    /// Whether a published result was found here as well.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum ReproducedAnswer {
        Yes "yes": "The result here proves what was published.";
        No "no": "The result here excludes what was published.";
        CannotBeSeen "cannot be seen here": "The machine, the method or the time does not show it.";
    }
}

/// A published result beside the one found here.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparedRow {
    /// The quantity.
    pub what: String,
    /// The published number, in words.
    pub published: String,
    /// The published number as a ratio, from the least to the greatest value; an open end is null. Null if it has none.
    pub range: Option<[Option<f64>; 2]>,
    /// The same ratio here; null if there is none.
    pub here: Option<FoundRatio>,
    /// Whether it is reproduced.
    pub reproduced: ReproducedAnswer,
    /// The reason for the answer.
    pub why: String,
}

impl PublishedRow {
    /// Returns the first mistake of a row.
    pub(super) fn find_error(&self, article: &Article) -> Option<String> {
        match (&self.step, &self.measure, self.range, &self.unseen) {
            (None, None, None, Some(_)) => None,
            (Some(step), Some(_), Some((low, high)), None) => match () {
                () if !article.steps.iter().any(|other| other.title == *step) => {
                    Some(format!("there is no step \"{step}\""))
                }
                () if low.is_nan() || high.is_nan() || low > high || low < 0.0 => {
                    Some("its range needs two ratios, the smaller one first".to_owned())
                }
                () => None,
            },
            _ => Some("it needs `step`, `measure` and `range`, or `unseen` alone".to_owned()),
        }
    }

    fn compare_here(&self, machine: &Machine, steps: &[StepOutcome<'_>]) -> ComparedRow {
        let found = self.find_ratio(machine, steps);
        let (reproduced, why) = match (&found, self.range) {
            (Ok(found), Some(range)) => found.judge_range(range),
            (Ok(_), None) => (ReproducedAnswer::CannotBeSeen, "no number was published".to_owned()),
            (Err(why), _) => (ReproducedAnswer::CannotBeSeen, why.clone()),
        };
        ComparedRow {
            what: self.what.clone(),
            published: self.published.clone(),
            range: self.range.map(|(low, high)| [low, high].map(|end| end.is_finite().then_some(end))),
            here: found.ok(),
            reproduced,
            why,
        }
    }

    /// Returns the ratio in the step's result, or the reason why there is none.
    fn find_ratio(&self, machine: &Machine, steps: &[StepOutcome<'_>]) -> Result<FoundRatio, String> {
        let (Some(title), Some(measure)) = (&self.step, &self.measure) else {
            return Err(self.unseen.clone().unwrap_or_default());
        };
        let step = steps.iter().find(|step| step.title == title).ok_or("the step was not run")?;
        let line = step.line.map_err(str::to_owned)?;
        let cores = machine.cores.iter().filter(|core| !core.cpus.intersection(&machine.allowed).is_empty()).count();
        if cores < self.cores {
            return Err(format!("it needs {} cores; this machine has {cores}", self.cores));
        }
        match step.document {
            Value::Null => Err("the step has no result".to_owned()),
            document => measure.find_ratio(document, line),
        }
    }
}

impl FoundRatio {
    /// Compares the interval with a published range. A range beside 1 claims a difference: it is reproduced if the
    /// interval meets it and excludes 1. A range around 1 claims that there is none: it is reproduced if it holds the
    /// whole interval.
    fn judge_range(&self, (least, greatest): (f64, f64)) -> (ReproducedAnswer, String) {
        let (low, high) = (self.low.unwrap_or(0.0), self.high.unwrap_or(f64::INFINITY));
        let claims_none = (least..=greatest).contains(&1.0);
        let (answer, why) = match () {
            () if self.low.is_none() && self.high.is_none() => {
                (ReproducedAnswer::CannotBeSeen, "too few values for an interval")
            }
            () if high < least || low > greatest => (ReproducedAnswer::No, "the interval excludes what was published"),
            () if claims_none && low >= least && high <= greatest => {
                (ReproducedAnswer::Yes, "the whole interval is within what was published")
            }
            () if claims_none => (ReproducedAnswer::CannotBeSeen, "undecided: the interval also holds other results"),
            () if low <= 1.0 && high >= 1.0 => {
                (ReproducedAnswer::CannotBeSeen, "undecided: the interval also holds \"no difference\"")
            }
            () => (ReproducedAnswer::Yes, "a difference is proven, and the interval meets what was published"),
        };
        (answer, why.to_owned())
    }
}

impl Article {
    /// Compares each published result with the results of the steps.
    pub fn compare_results(&self, machine: &Machine, steps: &[StepOutcome<'_>]) -> Vec<ComparedRow> {
        self.rows.iter().map(|row| row.compare_here(machine, steps)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ReproducedAnswer::{CannotBeSeen, No, Yes};

    #[test]
    fn only_an_interval_reproduces_or_excludes() {
        let judge = |range, low, high| FoundRatio { ratio: 1.0, low, high }.judge_range(range).0;
        // A published gain of 10 to 20 %.
        let gain = (1.1, 1.2);
        for (low, high, answer) in [
            (Some(1.05), Some(1.15), Yes),
            (Some(1.12), Some(1.16), Yes),
            (Some(1.05), None, Yes),
            (Some(0.95), Some(1.15), CannotBeSeen),
            (Some(0.95), Some(1.05), No),
            (None, Some(0.9), No),
            (Some(1.3), Some(1.4), No),
            (None, None, CannotBeSeen),
        ] {
            assert_eq!(judge(gain, low, high), answer, "{low:?} {high:?}");
        }
        // A published "within 3 %".
        let equal = (0.97, 1.03);
        for (low, high, answer) in [
            (Some(0.98), Some(1.02), Yes),
            (Some(0.98), Some(1.04), CannotBeSeen),
            (Some(0.98), None, CannotBeSeen),
            (Some(1.04), Some(1.05), No),
        ] {
            assert_eq!(judge(equal, low, high), answer, "{low:?} {high:?}");
        }
        // "More than 3 %", however much.
        assert_eq!(judge((1.03, f64::INFINITY), Some(2.0), Some(3.0)), Yes);
    }
}
