//! Results of a suite: a row for each benchmark, the geometric means over them, and the proven effects of each
//! placement.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Benchmark, Suite};
use crate::experiment::{ArmVerdict, Effect, MeanEffect, Policy, Race, Standing, Verdict, mean_effect};
use crate::stats::order::{apart, median, median_interval};
use crate::trial::{Arm, Experiment, Outcome, Trial, race, standing};

/// Results of a suite.
#[derive(Debug)]
pub struct Results<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// The arms: the operating system's choice first.
    pub arms: &'a [Arm],
    /// The policy by which each benchmark was judged.
    pub policy: &'a Policy,
    /// The benchmarks in their order.
    pub rows: &'a [Row<'a>],
    /// The command that installs the missing programs on this system.
    pub installation: Option<String>,
}

/// A benchmark and its result.
#[derive(Debug)]
pub struct Row<'a> {
    /// The benchmark.
    pub benchmark: &'a Benchmark,
    /// Its result.
    pub result: RowResult,
}

/// Result of a benchmark.
#[derive(Debug)]
pub enum RowResult {
    /// It was tried.
    Tried(Box<Tried>),
    /// These programs are not installed.
    Missing(Vec<String>),
    /// No run gave a number.
    Failed {
        /// The reason.
        why: String,
        /// The end of its output.
        output: String,
        /// The experiment's number in the store, if runs were made.
        stored: Option<i64>,
    },
    /// The time ended before its turn.
    NotTried,
}

/// A benchmark's experiment.
#[derive(Debug)]
pub struct Tried {
    /// The experiment.
    pub experiment: Experiment,
    /// Its runs.
    pub trials: Vec<Trial>,
    /// The state of the experiment.
    pub standing: Standing,
    /// The race over its trials.
    pub race: Race,
    /// Its number in the store.
    pub stored: Option<i64>,
}

impl RowResult {
    /// Evaluates the trials of a benchmark.
    pub fn of(experiment: Experiment, trials: Vec<Trial>, stored: Option<i64>) -> Self {
        let failed = trials.iter().find_map(|trial| match &trial.outcome {
            Outcome::Failed { why, output } => Some((why.clone(), output.clone())),
            Outcome::Value(_) => None,
        });
        let gave_a_number = |trial: &Trial| matches!(trial.outcome, Outcome::Value(_));
        match failed {
            Some((why, output)) if !trials.iter().any(gave_a_number) => Self::Failed { why, output, stored },
            _ => {
                let (standing, race) = (standing(&experiment, &trials), race(&experiment, &trials));
                Self::Tried(Box::new(Tried { experiment, trials, standing, race, stored }))
            }
        }
    }
}

/// Medians over the counted runs of a placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Medians {
    /// The clock rate.
    pub gigahertz: Option<f64>,
    /// True if some of the clock rates are estimates.
    pub is_estimate: bool,
    /// The 95 % interval of the median clock rate.
    interval: Option<(f64, f64)>,
    /// The power of the packages.
    pub watts: Option<f64>,
}

impl Medians {
    /// Returns the advantage in clock rate over another placement, a difference of logarithms; `None` if it is within
    /// chance, or unknown.
    pub fn faster_than(&self, other: &Self) -> Option<f64> {
        let ratio = self.gigahertz? / other.gigahertz?;
        apart(self.interval?, other.interval?).then(|| ratio.ln())
    }
}

impl Tried {
    /// Returns the medians of a placement.
    pub fn medians(&self, arm: usize) -> Medians {
        let trials = || self.trials.iter().filter(|trial| trial.block > 0 && trial.arm == arm);
        let middle = |values: &[f64]| (!values.is_empty()).then(|| median(values));
        let clocks: Vec<f64> = trials().filter_map(|trial| trial.observed.gigahertz).collect();
        let watts: Vec<f64> = trials().filter_map(Trial::watts).collect();
        Medians {
            gigahertz: middle(&clocks),
            is_estimate: trials().any(|trial| trial.observed.gigahertz_is_estimate),
            interval: median_interval(&clocks, 0.95),
            watts: middle(&watts),
        }
    }
}

impl Row<'_> {
    /// Returns the experiment, if there is one.
    pub fn tried(&self) -> Option<&Tried> {
        match &self.result {
            RowResult::Tried(tried) => Some(tried),
            _ => None,
        }
    }

    /// Returns the experiment, if it can be trusted.
    pub fn sound(&self) -> Option<&Tried> {
        self.tried().filter(|tried| !matches!(tried.standing.verdict, Verdict::Unsound { .. }))
    }
}

/// The mean effect of a placement over the benchmarks of a category, or over all.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Mean {
    /// The category; null for all benchmarks.
    pub category: Option<String>,
    /// Index of the placement, from 1.
    pub arm: usize,
    /// The mean and its number of benchmarks: those with trusted results in which the placement did not fail.
    pub mean: MeanEffect,
    /// The same including untrusted results; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_doubtful: Option<MeanEffect>,
}

impl Results<'_> {
    /// Returns the categories in the order of their first appearance.
    pub fn categories(&self) -> Vec<&str> {
        let mut categories: Vec<&str> = Vec::new();
        for row in self.rows {
            if !categories.contains(&row.benchmark.category.as_str()) {
                categories.push(&row.benchmark.category);
            }
        }
        categories
    }

    /// Returns the mean of a placement over the benchmarks of a category, or over all; untrusted results are left out.
    /// The intervals of all placements together hold at the error rate.
    pub fn mean(&self, category: Option<&str>, arm: usize) -> Option<MeanEffect> {
        self.mean_of(category, arm, false)
    }

    /// Returns the same including untrusted results; `None` if there are none with an effect.
    pub fn mean_with_doubtful(&self, category: Option<&str>, arm: usize) -> Option<MeanEffect> {
        let sound = self.mean(category, arm).map_or(0, |mean| mean.experiments);
        self.mean_of(category, arm, true).filter(|mean| mean.experiments > sound)
    }

    fn mean_of(&self, category: Option<&str>, arm: usize, with_doubtful: bool) -> Option<MeanEffect> {
        let tried = |row| if with_doubtful { Row::tried(row) } else { Row::sound(row) };
        let is_of = |row: &&Row<'_>| category.is_none_or(|category| row.benchmark.category == category);
        let races: Vec<&Race> = self.rows.iter().filter(is_of).filter_map(tried).map(|tried| &tried.race).collect();
        mean_effect(&races, arm, self.policy.error_rate / (self.arms.len() - 1) as f64)
    }

    /// Returns all means: of each category with more than one benchmark, and over all.
    pub fn means(&self) -> Vec<Mean> {
        let scopes = self.categories().into_iter().map(Some).chain([None]);
        scopes
            .flat_map(|category| (1..self.arms.len()).map(move |arm| (category, arm)))
            .filter_map(|(category, arm)| {
                let mean = self.mean(category, arm).filter(|mean| mean.experiments > 1)?;
                let with_doubtful = self.mean_with_doubtful(category, arm);
                Some(Mean { category: category.map(str::to_owned), arm, mean, with_doubtful })
            })
            .collect()
    }

    /// Counts the benchmarks in which a placement is proven better by the margin, proven worse, and in which it failed.
    pub fn decided(&self, arm: usize) -> Decided {
        let of = |wanted: ArmVerdict| {
            let is_wanted = |tried: &&Tried| {
                let standing = &tried.standing.arms[arm];
                let margin = tried.experiment.policy.margin_ln();
                let reaches = standing.effect.as_ref().is_some_and(|effect| effect.estimate.abs() >= margin);
                standing.verdict == Some(wanted) && (reaches || wanted == ArmVerdict::Failed)
            };
            self.rows.iter().filter_map(Row::sound).filter(is_wanted).count()
        };
        Decided { better: of(ArmVerdict::Wins), worse: of(ArmVerdict::Worse), failed: of(ArmVerdict::Failed) }
    }

    /// Returns the proven result for a mean.
    pub fn of_mean(&self, effect: &Effect) -> Proven {
        let margin = self.policy.margin_ln();
        let (low, high) = (effect.low.unwrap_or(f64::NEG_INFINITY), effect.high.unwrap_or(f64::INFINITY));
        match () {
            () if low > 0.0 && effect.estimate >= margin => Proven::Better,
            () if high < 0.0 && effect.estimate <= -margin => Proven::Worse,
            () if low >= -margin && high <= margin => Proven::Equal,
            () if high < margin => Proven::NotBetter,
            () => Proven::Nothing,
        }
    }
}

/// Numbers of benchmarks by proven result of a placement.
#[derive(Clone, Copy, Debug)]
pub struct Decided {
    /// It is better by the margin or more.
    pub better: usize,
    /// It is worse by as much.
    pub worse: usize,
    /// It failed.
    pub failed: usize,
}

/// Proven result for a mean effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proven {
    /// It is better, and the estimate reaches the margin.
    Better,
    /// It is worse, likewise.
    Worse,
    /// It is within the margin.
    Equal,
    /// It is not better by the margin.
    NotBetter,
    /// Nothing yet.
    Nothing,
}
