//! A session of `corewise try` on a simulated program: an experiment, and its winner once more.

use corewise_machine::CpuSet;
use corewise_machine::generate::one_package_machine;

use super::{MODEL, simulate_experiment};
use crate::artifact::ArtifactOrigin;
use crate::trial::{
    ConfirmationStretch, Experiment, FirstWin, LEAST_SPAN_S, PlacementArm, StretchLength, Trial, TrialMetric,
    TrialObservations, TrialOutcome, TriedWorkload,
};
use corewise_statistics::experiment::{ExperimentStanding, JudgingPolicy, Verdict};
use corewise_statistics::simulate::noise::RunNoise;
use corewise_statistics::simulate::{ProgramEffects, SimulatedTrials};

/// Maximum blocks of an experiment.
const MOST_BLOCKS: u32 = 60;

/// A session's answers.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedSession {
    /// The experiment.
    pub first: ExperimentStanding,
    /// Its winner against the baseline, in short stretches; absent without a winner, and if it is proven to last.
    pub again: Option<ExperimentStanding>,
}

impl SimulatedSession {
    /// Returns the candidate that the session recommends.
    pub fn pinned_arm(&self) -> Option<usize> {
        let Verdict::Wins { arm } = self.first.verdict else { return None };
        let is_confirmed =
            |again: &ExperimentStanding| matches!(again.verdict, Verdict::Wins { .. }) && again.open_points.is_empty();
        self.again.as_ref().is_none_or(is_confirmed).then_some(arm)
    }

    /// Returns the number of all runs, including stretches that do not count.
    pub fn run_count(&self, run_s: f64) -> u32 {
        let again = self.again.as_ref().map_or(0, |again| again.runs);
        self.first.runs + again * ConfirmationStretch::of_runs(StretchLength::Short, run_s).runs
    }
}

/// Simulates a session on a program of runs of `run_s` seconds. The luck of a session is drawn anew for the second
/// experiment.
pub fn simulate_session(
    effects: &ProgramEffects,
    noise: &RunNoise,
    seed: u64,
    policy: &JudgingPolicy,
    run_s: f64,
) -> SimulatedSession {
    let first = run_trials(&experiment(effects.gains.len(), seed, policy, None), effects, noise, run_s);
    let Verdict::Wins { arm } = first.verdict else { return SimulatedSession { first, again: None } };
    let won = FirstWin { runs: first.runs, span_s: run_s * f64::from(first.runs), after_s: LEAST_SPAN_S };
    let stretch = ConfirmationStretch { won: Some(won), ..ConfirmationStretch::of_runs(StretchLength::Short, run_s) };
    let again = || {
        // Far from the seeds of other sessions.
        let seed = seed.wrapping_add(1 << 40);
        run_trials(&experiment(1, seed, policy, Some(stretch)), &effects.with_candidate(arm), noise, run_s)
    };
    SimulatedSession { again: (!first.open_points.is_empty()).then(again), first }
}

fn run_trials(experiment: &Experiment, effects: &ProgramEffects, noise: &RunNoise, run_s: f64) -> ExperimentStanding {
    let mut program = SimulatedTrials::new(effects, noise, !experiment.seed);
    let (skipped, counted) =
        experiment.stretch.map_or((0, 1), |stretch| (stretch.skipped, stretch.runs - stretch.skipped));
    simulate_experiment(experiment, MOST_BLOCKS, |block, place, arm| {
        for _ in 0..skipped {
            program.run(arm);
        }
        let values: Option<Vec<f64>> = (0..counted).map(|_| program.run(arm).x.map(f64::exp)).collect();
        let outcome = values.map_or_else(
            || TrialOutcome::Failed { why: "as simulated".to_owned(), output: String::new() },
            |values| TrialOutcome::Value(values.iter().sum::<f64>() / values.len() as f64),
        );
        let observed = TrialObservations { wall_s: run_s, ..TrialObservations::default() };
        Trial { observed, ..Trial::new(block, place, arm, outcome) }
    })
}

fn experiment(
    candidates: usize,
    seed: u64,
    policy: &JudgingPolicy,
    stretch: Option<ConfirmationStretch>,
) -> Experiment {
    let arm = |number: usize| PlacementArm::new(format!("candidate {number}"), None, "");
    Experiment {
        corewise: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: 0,
        seed,
        machine: one_package_machine(2, false, &[(CpuSet::first_cpus(2), 32)]),
        workload: TriedWorkload::new(vec!["simulated".to_owned()], "/".into(), TrialMetric::wall_time()),
        arms: (0..=candidates).map(arm).collect(),
        policy: policy.clone(),
        suite: None,
        stretch,
        origin: ArtifactOrigin::Simulated { file: MODEL.to_owned() },
    }
}
