//! Judgement of an experiment by its gate.

use schemars::JsonSchema;
use serde::Serialize;

use super::Experiment;
use corewise_statistics::experiment::{
    ArmStanding, ArmState, ArmVerdict, ExperimentGate, ExperimentStanding, GateRule, JudgingPolicy, OutReason, Verdict,
};

/// Whether a gate lets something pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateVerdict {
    /// The condition is proven.
    Passed,
    /// Neither it nor its opposite is proven.
    Undecided,
    /// The opposite is proven.
    Failed,
}

impl Experiment {
    /// Returns the candidates that the gate is about.
    pub fn gated_arms(&self) -> Vec<usize> {
        let of = self.policy.gate.as_ref().and_then(|gate| gate.of.as_ref());
        (1..self.arms.len()).filter(|arm| of.is_none_or(|name| self.arms[*arm].name == *name)).collect()
    }
}

/// Judges the gate of an experiment; `None` without one. A candidate that fails its runs does not pass, and a provisional winner is not
/// proven.
pub fn judge_gate(experiment: &Experiment, standing: &ExperimentStanding) -> Option<GateVerdict> {
    let gate = experiment.policy.gate.as_ref()?;
    if let Verdict::Unsound { .. } = standing.verdict {
        return Some(GateVerdict::Undecided);
    }
    let is_so_far = !standing.open_points.is_empty() && experiment.thread_cells().is_none();
    if is_so_far && gate.rule == GateRule::Better {
        return Some(GateVerdict::Undecided);
    }
    let arms = experiment.gated_arms();
    let judge = |arm: &usize| Some(judge_arm(gate, standing.arms.get(*arm)?, &experiment.policy));
    let verdicts = arms.iter().filter_map(judge);
    Some(match gate.rule {
        GateRule::NotWorse => verdicts.max().unwrap_or(GateVerdict::Undecided),
        GateRule::Better => verdicts.min().unwrap_or(GateVerdict::Undecided),
    })
}

/// Judges one candidate.
pub fn judge_arm(gate: &ExperimentGate, arm: &ArmStanding, policy: &JudgingPolicy) -> GateVerdict {
    let has_failed = matches!(arm.verdict, Some(ArmVerdict::Failed | ArmVerdict::FailsMore));
    let is_out = matches!(arm.state, ArmState::Out { why, .. } if why != OutReason::BehindLeader);
    let margin = policy.margin_of(policy.what);
    let is_much_worse = || arm.effect.and_then(|effect| effect.high).is_some_and(|high| high < -margin);
    match gate.rule {
        _ if has_failed => GateVerdict::Failed,
        GateRule::NotWorse if arm.e_not_worse_by_margin >= policy.needed_evidence() => GateVerdict::Passed,
        GateRule::NotWorse if is_much_worse() => GateVerdict::Failed,
        GateRule::Better if arm.verdict == Some(ArmVerdict::Wins) => GateVerdict::Passed,
        GateRule::Better if is_out => GateVerdict::Failed,
        GateRule::NotWorse | GateRule::Better => GateVerdict::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewise_statistics::simulate::noise::RunNoise;
    use corewise_statistics::simulate::{ProgramEffects, run_experiment};

    /// The shares of simulated gates against candidates that are 3 % worse which pass and fail, with this true gain.
    fn shares(gain: f64) -> [f64; 2] {
        const ROUNDS: u32 = 40;
        let gate = ExperimentGate { rule: GateRule::NotWorse, of: None };
        let policy = JudgingPolicy { gate: Some(gate.clone()), most_runs: Some(400), ..JudgingPolicy::default() };
        let verdict = |round: u32| {
            let effects = ProgramEffects::from_gains(&[gain]);
            judge_arm(
                &gate,
                &run_experiment(&effects, &RunNoise::Quiet, u64::from(round) + 7, &policy).arms[1],
                &policy,
            )
        };
        let verdicts: Vec<GateVerdict> = (0..ROUNDS).map(verdict).collect();
        let share = |wanted| verdicts.iter().filter(|verdict| **verdict == wanted).count() as f64 / f64::from(ROUNDS);
        [share(GateVerdict::Passed), share(GateVerdict::Failed)]
    }

    #[test]
    fn equal_programs_pass_and_much_worse_ones_fail() {
        let [passed, failed] = shares(0.0);
        assert!(passed >= 0.9 && failed <= 0.05, "{passed} {failed}");
        let [passed, failed] = shares(-0.09);
        assert!(passed <= 0.05 && failed >= 0.9, "{passed} {failed}");
        let [passed, _] = shares(-0.032);
        assert!(passed <= 0.1, "just beyond the limit, at most the error rate and luck: {passed}");
    }

    #[test]
    fn the_outcome_is_a_word_of_json() {
        let words = [GateVerdict::Passed, GateVerdict::Undecided, GateVerdict::Failed];
        assert_eq!(serde_json::to_string(&words).unwrap(), r#"["passed","undecided","failed"]"#);
    }
}
