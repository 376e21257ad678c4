//! The answer of a gate, for scripts that read the exit status.

use corewise_model::trial::{GateVerdict, judge_arm, judge_gate};
use corewise_statistics::experiment::{ExperimentGate, GateRule};

use super::ShownExperiment;
use crate::draw::gain::{format_gain_in, format_percent, format_size_in, interval_words};
use crate::draw::printable::printable_name;
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::glue_numbers;

/// Returns the answer; `None` without a gate.
pub fn draw_line(shown: ShownExperiment<'_>) -> Option<StyledLine> {
    let gate = shown.experiment.policy.gate.as_ref()?;
    let verdict = judge_gate(shown.experiment, shown.standing)?;
    let (tone, head) = match verdict {
        GateVerdict::Passed => (TextTone::Good, "Gate passed:"),
        GateVerdict::Undecided => (TextTone::Warn, "Gate undecided:"),
        GateVerdict::Failed => (TextTone::Warn, "Gate failed:"),
    };
    let text = match gate.rule {
        GateRule::NotWorse => describe_arms(shown, gate, verdict),
        GateRule::Better => describe_winner(shown, gate, verdict),
    };
    Some(StyledLine::new().with(tone, head).plain(glue_numbers(&format!(" {text}, after {}.", shown.runs_and_boots()))))
}

fn describe_winner(shown: ShownExperiment<'_>, gate: &ExperimentGate, verdict: GateVerdict) -> String {
    let who = gate.of.as_ref().map_or_else(|| format!("a {}", shown.candidate_word()), |name| printable_name(name));
    let whether = if verdict == GateVerdict::Passed { "it is proven that" } else { "it is not proven that" };
    let margin = format_percent(shown.experiment.policy.margin);
    format!("{whether} {who} is better than {} by {margin}", shown.baseline_words())
}

/// Describes each candidate with this verdict.
fn describe_arms(shown: ShownExperiment<'_>, gate: &ExperimentGate, verdict: GateVerdict) -> String {
    let policy = &shown.experiment.policy;
    let describe = |arm: usize| {
        let standing = shown.standing.arms.get(arm)?;
        if judge_arm(gate, standing, policy) != verdict {
            return None;
        }
        let (name, effect) = (shown.name_in_sentence(arm), standing.effect.as_ref());
        let size = |end: f64| format_size_in(policy.what, end);
        let least = effect.and_then(|effect| effect.low).filter(|low| *low < 0.0).map(size);
        Some(match (verdict, effect.and_then(|effect| effect.high)) {
            (GateVerdict::Passed, _) => least
                .map_or_else(|| format!("{name} is proven better"), |most| format!("{name} is at most {most} worse")),
            (GateVerdict::Failed, Some(high)) if high < 0.0 => format!("{name} is at least {} worse", size(high)),
            (GateVerdict::Failed, _) => format!("{name} fails more often"),
            (GateVerdict::Undecided, _) => effect.map_or_else(
                || format!("{name} has too few runs"),
                |effect| {
                    format!(
                        "{name} may be worse, {} {}",
                        format_gain_in(policy.what, effect.estimate),
                        interval_words(policy.what, effect)
                    )
                },
            ),
        })
    };
    let arms: Vec<String> = shown.experiment.gated_arms().into_iter().filter_map(describe).collect();
    let than = format!("than {} ({})", shown.baseline_words(), format_percent(1.0 - policy.error_rate));
    let limit = format_percent(policy.margin);
    match verdict {
        GateVerdict::Passed => format!("{} {than}; the limit is {limit}", arms.join(", ")),
        GateVerdict::Undecided | GateVerdict::Failed if arms.is_empty() => {
            format!("nothing is proven; the limit is {limit}")
        }
        GateVerdict::Undecided | GateVerdict::Failed => format!("{} {than}; the limit is {limit}", arms.join(", ")),
    }
}
