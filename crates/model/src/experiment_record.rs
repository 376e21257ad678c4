//! A stored experiment, with its trials.

use corewise_machine::identity::is_same_machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::artifact::{Artifact, ArtifactCircumstances, ArtifactOrigin, ArtifactSummary, check_numbers};
use crate::credentials::join_words;
use crate::trend::TrendValue;
use crate::trial::{
    Experiment, GateVerdict, ThreadsReport, Trial, TrialDesign, TriedWorkload, VARIANT_PLACE, count_boots,
    experiment_standing, judge_gate, metric_units, threads_report,
};
use corewise_statistics::experiment::{ArmStanding, ArmVerdict, ExperimentStanding, QuestionKind};
use corewise_statistics::quantity::{QuantityUnit, QuotedQuantity};

/// Upper limit on the number of trials times the largest number of trials of one placement: judging takes time in
/// proportion.
const MOST_WORK: usize = 50_000_000;
/// Upper limit on guards times trials.
const MOST_GUARDED: usize = 200_000;
/// Maximum number of blocks without trials, ended before their first.
const MOST_EMPTY_BLOCKS: usize = 1_000;

/// An experiment and its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentRecord {
    /// The workload, the placements and the policy.
    pub experiment: Experiment,
    /// The trials, in the order in which they were made.
    pub trials: Vec<Trial>,
}

/// Conclusions of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExperimentConclusions {
    /// The verdict, each placement's part in it, and the checks on the experiment itself.
    pub standing: ExperimentStanding,
    /// The outcome of the gate; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateVerdict>,
    /// The unit of the metric's values in all trials, and of the medians; empty for bare numbers.
    pub unit: QuantityUnit,
    /// The units of the guards' values.
    pub guard_units: Vec<QuantityUnit>,
    /// Numbers behind the verdicts, in the metric's own unit and as ratios; absent for numbers of threads, and if slow
    /// runs decide, which have no ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<VerdictNumbers>,
    /// Results for numbers of threads, if these were tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<ThreadsReport>,
}

/// Numbers behind the verdicts. The e-values of `standing` decide when they reach `e_value_needed`, the bounds here
/// when they reach a margin.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VerdictNumbers {
    /// The false-positive rate.
    pub error_rate: f64,
    /// The e-value that counts as proof: 1 / error rate.
    pub e_value_needed: f64,
    /// The smallest ratio that matters: 1.03 for a margin of 3 %.
    pub margin_ratio: f64,
    /// The same for guards.
    pub guard_margin_ratio: f64,
    /// Number of boots of the machine over which the runs were made; `None` if unknown.
    pub boots: Option<usize>,
    /// The arms, the baseline first.
    pub arms: Vec<ArmNumbers>,
}

/// Numbers behind the verdict on one arm. A ratio is the arm's performance relative to the baseline; below 1 it is
/// worse.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ArmNumbers {
    /// 0 is the baseline.
    pub arm: usize,
    /// The median of its runs in whole blocks, in the metric's unit; null without any.
    pub median: Option<f64>,
    /// The estimate; null for the baseline, and without blocks.
    pub ratio: Option<f64>,
    /// Proven at the error rate: the ratio is at least this; null if more runs are needed.
    pub at_least: Option<f64>,
    /// Proven at the error rate: the ratio is at most this; null if more runs are needed.
    pub at_most: Option<f64>,
    /// The verdict on it alone; null for the baseline.
    pub verdict: Option<ArmVerdict>,
    /// Totals over its pairs with the baseline; absent for the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paired: Option<PairedNumbers>,
}

/// Totals over the whole blocks of a candidate, in the metric's unit: nothing is capped, and nothing is tested.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PairedNumbers {
    /// Number of pairs: blocks with a run of the candidate, each with one of the baseline.
    pub pairs: u32,
    /// Number of pairs in which the candidate's run is better.
    pub better: u32,
    /// Number of pairs in which both runs finished.
    pub finished: u32,
    /// Mean of the candidate's runs in these, then of the baseline's: of rates the harmonic mean. Times the number of
    /// pairs it is the total time of both. Null without any.
    pub means: Option<[f64; 2]>,
}

impl VerdictNumbers {
    fn from_standing(experiment: &Experiment, trials: &[Trial], standing: &ExperimentStanding) -> Self {
        let policy = &experiment.policy;
        let of_arm = |arm: &ArmStanding| ArmNumbers {
            arm: arm.arm,
            median: arm.median.map(|x| experiment.workload.metric.metric_value(x)),
            ratio: arm.effect.map(|effect| effect.estimate.exp()),
            at_least: arm.effect.and_then(|effect| effect.low).map(f64::exp),
            at_most: arm.effect.and_then(|effect| effect.high).map(f64::exp),
            verdict: arm.verdict,
            paired: arm.paired.map(|paired| PairedNumbers {
                pairs: paired.pairs,
                better: paired.better,
                finished: paired.finished,
                means: paired.means.map(|means| means.map(|x| experiment.workload.metric.metric_value(x))),
            }),
        };
        Self {
            error_rate: policy.error_rate,
            e_value_needed: policy.needed_evidence(),
            margin_ratio: 1.0 + policy.margin,
            guard_margin_ratio: 1.0 + policy.guard_margin,
            boots: count_boots(trials),
            arms: standing.arms.iter().map(of_arm).collect(),
        }
    }
}

impl ExperimentRecord {
    /// Returns the noise that the gains of another experiment's blocks will have; `None` if it is another machine or another
    /// measurement, or if this record was imported, confirms another in stretches, tries numbers of threads, or is too short.
    pub fn noise_for(&self, next: &Experiment) -> Option<f64> {
        let Self { experiment, trials } = self;
        let is_alike = is_same_machine(&experiment.machine.identity(), &next.machine.identity())
            && experiment.workload.is_measured_like(&next.workload)
            && [experiment, next].iter().all(|each| each.stretch.is_none() && each.thread_cells().is_none());
        if is_alike && experiment.origin.is_measured() {
            TrialDesign::from_trials(experiment, trials).measure_gain_noise()
        } else {
            None
        }
    }
}

impl From<Experiment> for ExperimentRecord {
    /// Creates an experiment before its first trial.
    fn from(experiment: Experiment) -> Self {
        Self { experiment, trials: Vec::new() }
    }
}

impl Artifact for ExperimentRecord {
    const KIND: &'static str = "experiment";
    const SCHEMA: &'static str = "corewise/experiment/2";
    type Conclusions = ExperimentConclusions;

    fn check_loaded(&self) -> Result<(), String> {
        let Self { experiment, trials } = self;
        experiment.check_loaded()?;
        check_numbers(self)?;
        let mut of_arms = vec![0_usize; experiment.arms.len()];
        let most_blocks = trials.len() + MOST_EMPTY_BLOCKS;
        for (at, trial) in trials.iter().enumerate() {
            match of_arms.get_mut(trial.arm) {
                Some(trials) if trial.block as usize <= most_blocks => *trials += 1,
                _ => return Err(format!("trial {at} is none of its placements or blocks")),
            }
        }
        let most = of_arms.into_iter().max().unwrap_or_default();
        if trials.len() * most > MOST_WORK || trials.len() * experiment.workload.guards.len() > MOST_GUARDED {
            return Err("it has too many trials".to_owned());
        }
        let mut runs = trials.iter().flat_map(|trial| &trial.readings).flat_map(|reading| &reading.runs);
        if runs.all(QuotedQuantity::is_bounded) { Ok(()) } else { Err("one of its lines is too long".to_owned()) }
    }

    fn circumstances(&self) -> ArtifactCircumstances<'_> {
        let Experiment { machine, started_unix_ms, corewise, seed, .. } = &self.experiment;
        ArtifactCircumstances {
            machine: Some(machine),
            started_unix_ms: *started_unix_ms,
            corewise,
            seed: *seed,
            partial: false,
        }
    }

    fn origin(&self) -> &ArtifactOrigin {
        &self.experiment.origin
    }

    fn origin_mut(&mut self) -> &mut ArtifactOrigin {
        &mut self.experiment.origin
    }

    fn describe_contents(&self) -> String {
        let TriedWorkload { command, live, variants, .. } = &self.experiment.workload;
        let between: Vec<String> = variants.iter().map(|variant| variant.typed_text()).collect();
        let what = match command.as_slice() {
            [only] if only == VARIANT_PLACE => between.join(", "),
            command if between.is_empty() => join_words(command),
            command => format!("{} ({})", join_words(command), between.join(", ")),
        };
        if live.is_some() { format!("{what} (running)") } else { what }
    }

    fn draw_conclusions(&self) -> ExperimentConclusions {
        let Self { experiment, trials } = self;
        let (standing, threads) = (experiment_standing(experiment, trials), threads_report(experiment, trials));
        let has_ratios = threads.is_none() && experiment.policy.what != QuestionKind::Tail;
        let numbers = has_ratios.then(|| VerdictNumbers::from_standing(experiment, trials, &standing));
        let mut units = metric_units(experiment, trials);
        let unit = units.remove(0);
        let gate = judge_gate(experiment, &standing);
        ExperimentConclusions { standing, gate, unit, guard_units: units, numbers, threads }
    }

    /// Returns each placement's effect with its any-time interval. Numbers of threads have no trend: the best number is
    /// not a value of one of them.
    fn trend_values(&self) -> Vec<TrendValue> {
        let Self { experiment, trials } = self;
        let what = experiment.policy.what;
        let baseline = experiment.baseline_words();
        let (quantity, value): (String, fn(f64) -> f64) = match what {
            QuestionKind::Typical => (format!("better than {baseline}, %"), |effect| 100.0 * (effect.exp() - 1.0)),
            QuestionKind::Mean => {
                (format!("better than {baseline} in the mean, %"), |effect| 100.0 * (effect.exp() - 1.0))
            }
            QuestionKind::Tail => (format!("fewer slow runs of 100 than with {baseline}"), |effect| 100.0 * effect),
        };
        let quantity = format!("{}: {quantity}", experiment.workload.metric.name);
        let of = |arm: &ArmStanding| {
            let effect = arm.effect?;
            let ends = [effect.low, effect.high].map(|end| end.map(value));
            Some(TrendValue {
                quantity: quantity.clone(),
                of: experiment.arms.get(arm.arm)?.spoken_name(),
                value: value(effect.estimate),
                interval: (ends != [None, None]).then_some(ends),
            })
        };
        let has_threads = experiment.arms.iter().any(|arm| arm.threads.is_some());
        if has_threads {
            Vec::new()
        } else {
            experiment_standing(experiment, trials).arms.iter().skip(1).filter_map(of).collect()
        }
    }

    /// Returns true for experiments with the same command.
    fn is_followed_with(&self, other: &ArtifactSummary) -> bool {
        other.what == self.describe_contents()
    }
}

#[cfg(test)]
mod tests;
