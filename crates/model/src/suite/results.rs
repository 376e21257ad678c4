//! Results of a suite: a row for each benchmark, the geometric means over them, and the proven effects of each
//! placement.

use schemars::JsonSchema;
use serde::Serialize;

use super::{BenchmarkSuite, SuiteBenchmark};
use crate::trial::{Experiment, PlacementArm, Trial, TrialOutcome, experiment_standing, race_of_trials};
use corewise_statistics::experiment::{
    ArmVerdict, BaselineEffect, ExperimentStanding, JudgingPolicy, MeanEffect, PlacementRace, Verdict, mean_effect,
};
use corewise_statistics::order::{are_apart, median, median_interval};

/// Results of a suite.
#[derive(Debug)]
pub struct SuiteResults<'a> {
    /// The suite.
    pub suite: &'a BenchmarkSuite,
    /// The arms: the operating system's choice first.
    pub arms: &'a [PlacementArm],
    /// The policy by which each benchmark was judged.
    pub policy: &'a JudgingPolicy,
    /// The benchmarks in their order.
    pub rows: &'a [SuiteRow<'a>],
    /// The command that installs the missing programs on this system.
    pub installation: Option<String>,
}

/// A benchmark and its result.
#[derive(Debug)]
pub struct SuiteRow<'a> {
    /// The benchmark.
    pub benchmark: &'a SuiteBenchmark,
    /// Its result.
    pub result: RowResult,
}

/// Result of a benchmark.
#[derive(Debug)]
pub enum RowResult {
    /// It was tried.
    Tried(Box<TriedBenchmark>),
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
    /// The budget is too short for its verdict.
    Dropped {
        /// The reason, with the time that it takes.
        why: String,
    },
    /// The time ended before its turn.
    NotTried,
}

/// A benchmark's experiment.
#[derive(Debug)]
pub struct TriedBenchmark {
    /// The experiment.
    pub experiment: Experiment,
    /// Its runs.
    pub trials: Vec<Trial>,
    /// The state of the experiment.
    pub standing: ExperimentStanding,
    /// The race over its trials.
    pub race: PlacementRace,
    /// Its number in the store.
    pub stored: Option<i64>,
}

impl RowResult {
    /// Evaluates the trials of a benchmark.
    pub fn from_trials(experiment: Experiment, trials: Vec<Trial>, stored: Option<i64>) -> Self {
        let failed = trials.iter().find_map(|trial| match &trial.outcome {
            TrialOutcome::Failed { why, output } => Some((why.clone(), output.clone())),
            TrialOutcome::Value(_) => None,
        });
        let gave_a_number = |trial: &Trial| matches!(trial.outcome, TrialOutcome::Value(_));
        match failed {
            Some((why, output)) if !trials.iter().any(gave_a_number) => Self::Failed { why, output, stored },
            _ => {
                let (standing, race) =
                    (experiment_standing(&experiment, &trials), race_of_trials(&experiment, &trials));
                Self::Tried(Box::new(TriedBenchmark { experiment, trials, standing, race, stored }))
            }
        }
    }
}

/// Medians over the counted runs of a placement.
#[derive(Clone, Debug, PartialEq)]
pub struct RunMedians {
    /// The clock rate.
    pub gigahertz: Option<f64>,
    /// True if some of the clock rates are estimates.
    pub is_estimate: bool,
    /// The 95 % interval of the median clock rate.
    interval: Option<(f64, f64)>,
    /// The power of the packages.
    pub watts: Option<f64>,
}

impl RunMedians {
    /// Returns the advantage in clock rate over another placement, a difference of logarithms; `None` if it is within
    /// chance, or unknown.
    pub fn faster_than(&self, other: &Self) -> Option<f64> {
        let ratio = self.gigahertz? / other.gigahertz?;
        are_apart(self.interval?, other.interval?).then(|| ratio.ln())
    }
}

impl TriedBenchmark {
    /// Returns the medians of a placement.
    pub fn arm_medians(&self, arm: usize) -> RunMedians {
        let trials = || self.trials.iter().filter(|trial| trial.block > 0 && trial.arm == arm);
        let middle = |values: &[f64]| (!values.is_empty()).then(|| median(values));
        let clocks: Vec<f64> = trials().filter_map(|trial| trial.observed.gigahertz).collect();
        let watts: Vec<f64> = trials().filter_map(Trial::mean_watts).collect();
        RunMedians {
            gigahertz: middle(&clocks),
            is_estimate: trials().any(|trial| trial.observed.gigahertz_is_estimate),
            interval: median_interval(&clocks, 0.95),
            watts: middle(&watts),
        }
    }
}

impl SuiteRow<'_> {
    /// Returns the experiment, if there is one.
    pub fn tried_benchmark(&self) -> Option<&TriedBenchmark> {
        match &self.result {
            RowResult::Tried(tried) => Some(tried),
            _ => None,
        }
    }

    /// Returns the experiment, if it can be trusted.
    pub fn sound_benchmark(&self) -> Option<&TriedBenchmark> {
        self.tried_benchmark().filter(|tried| !matches!(tried.standing.verdict, Verdict::Unsound { .. }))
    }
}

/// The mean effect of a placement over the benchmarks of a category, or over all.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CategoryMean {
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

impl SuiteResults<'_> {
    /// Returns the categories in the order of their first appearance.
    pub fn category_names(&self) -> Vec<&str> {
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
    pub fn mean_effect(&self, category: Option<&str>, arm: usize) -> Option<MeanEffect> {
        self.mean_of(category, arm, false)
    }

    /// Returns the same including untrusted results; `None` if there are none with an effect.
    pub fn mean_with_doubtful(&self, category: Option<&str>, arm: usize) -> Option<MeanEffect> {
        let sound = self.mean_effect(category, arm).map_or(0, |mean| mean.experiments);
        self.mean_of(category, arm, true).filter(|mean| mean.experiments > sound)
    }

    fn mean_of(&self, category: Option<&str>, arm: usize, with_doubtful: bool) -> Option<MeanEffect> {
        let tried = |row| if with_doubtful { SuiteRow::tried_benchmark(row) } else { SuiteRow::sound_benchmark(row) };
        let is_of = |row: &&SuiteRow<'_>| category.is_none_or(|category| row.benchmark.category == category);
        let races: Vec<&PlacementRace> =
            self.rows.iter().filter(is_of).filter_map(tried).map(|tried| &tried.race).collect();
        mean_effect(&races, arm, self.policy.error_rate / (self.arms.len() - 1) as f64)
    }

    /// Returns all means: of each category with more than one benchmark, and over all.
    pub fn all_means(&self) -> Vec<CategoryMean> {
        let scopes = self.category_names().into_iter().map(Some).chain([None]);
        scopes
            .flat_map(|category| (1..self.arms.len()).map(move |arm| (category, arm)))
            .filter_map(|(category, arm)| {
                let mean = self.mean_effect(category, arm).filter(|mean| mean.experiments > 1)?;
                let with_doubtful = self.mean_with_doubtful(category, arm);
                Some(CategoryMean { category: category.map(str::to_owned), arm, mean, with_doubtful })
            })
            .collect()
    }

    /// Counts the benchmarks in which a placement is proven better by the margin, proven worse, and in which it failed.
    pub fn count_decided(&self, arm: usize) -> DecidedCounts {
        let of = |wanted: ArmVerdict| {
            let is_wanted = |tried: &&TriedBenchmark| {
                let standing = &tried.standing.arms[arm];
                let margin = tried.experiment.policy.margin_ln();
                let reaches = standing.effect.as_ref().is_some_and(|effect| effect.estimate.abs() >= margin);
                standing.verdict == Some(wanted) && (reaches || wanted == ArmVerdict::Failed)
            };
            self.rows.iter().filter_map(SuiteRow::sound_benchmark).filter(is_wanted).count()
        };
        DecidedCounts { better: of(ArmVerdict::Wins), worse: of(ArmVerdict::Worse), failed: of(ArmVerdict::Failed) }
    }

    /// Returns the proven result for a mean.
    pub fn of_mean(&self, effect: &BaselineEffect) -> ProvenEffect {
        let margin = self.policy.margin_ln();
        let (low, high) = (effect.low.unwrap_or(f64::NEG_INFINITY), effect.high.unwrap_or(f64::INFINITY));
        match () {
            () if low > 0.0 && effect.estimate >= margin => ProvenEffect::Better,
            () if high < 0.0 && effect.estimate <= -margin => ProvenEffect::Worse,
            () if low >= -margin && high <= margin => ProvenEffect::Equal,
            () if high < margin => ProvenEffect::NotBetter,
            () => ProvenEffect::Nothing,
        }
    }
}

/// Numbers of benchmarks by proven result of a placement.
#[derive(Clone, Copy, Debug)]
pub struct DecidedCounts {
    /// It is better by the margin or more.
    pub better: usize,
    /// It is worse by as much.
    pub worse: usize,
    /// It failed.
    pub failed: usize,
}

/// Proven result for a mean effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProvenEffect {
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
