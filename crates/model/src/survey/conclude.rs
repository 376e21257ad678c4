//! Conclusions from a survey in plain words: each finding with its number, its uncertainty, and the next step.

mod artifact;
mod causes;
mod cpus;
mod episode;
mod family;
mod first_cpu;
mod formats;
mod groups;
mod quantity;
mod stolen;
mod talk;
#[cfg(test)]
mod tests;

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::links::LinkClass;
use crate::{Survey, forecast, links};
use episode::RoundEpisode;
use quantity::CpuQuantity;
pub use quantity::interrupts_per_second;

/// The error rate of all tests on cpus together: among equal cpus, any quantity of any cpu, last-level cache or kind is
/// called different with at most this probability.
pub const ERROR_RATE: f64 = 0.01;

/// Concludes from what a survey observed: each finding has a test on rounds behind it, and what was tested and did not
/// differ is said too.
pub fn conclude(survey: &Survey) -> SurveyConclusions {
    let mut conclusions = SurveyConclusions {
        findings: Vec::new(),
        no_difference: Vec::new(),
        undecided: Vec::new(),
        longer_s: None,
        link_classes: links::link_classes(&survey.machine, &survey.links),
        quiet: survey.cpus.iter().map(|seen| seen.cpu).collect(),
        first_cpu: None,
    };
    let tests = family::SurveyTests::run(survey);
    cpus::conclude_cpus(survey, &tests, &mut conclusions);
    groups::conclude_groups(survey, &tests, &mut conclusions);
    talk::conclude_talk(survey, &mut conclusions);
    stolen::conclude_stolen(survey, &mut conclusions);
    causes::conclude_causes(survey, &mut conclusions);
    conclusions
}

/// Conclusions from one survey.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SurveyConclusions {
    /// Differences, most important first.
    pub findings: Vec<Finding>,
    /// Tests that found no difference, one sentence each.
    pub no_difference: Vec<String>,
    /// Tests that can show neither difference nor equality yet, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<String>,
    /// Length of a survey that would decide open questions, in seconds: estimated from the spread over rounds and
    /// rounded up. Absent if none is open, or if it would take more than a day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longer_s: Option<u64>,
    /// The link cost classes, nearest first.
    pub link_classes: Vec<LinkClass>,
    /// The allowed cpus without a finding against latency-sensitive work.
    pub quiet: CpuSet,
    /// Comparison of the machine's first cpu with its peers; absent if it was not visited, or has no peers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_cpu: Option<FirstCpu>,
}

impl SurveyConclusions {
    /// Adds a sentence that is no finding: undecided if a longer survey, of `needs_s` seconds, is needed.
    fn add_unfound(&mut self, sentence: String, needs_s: Option<f64>) {
        let Some(needs_s) = needs_s else { return self.no_difference.push(sentence) };
        self.undecided.push(format!("{sentence}; {} should tell", forecast::format_about(needs_s)));
        self.need_seconds(needs_s);
    }

    /// Adds a difference that came and went: whether `who` differs when it has gone, another survey tells.
    fn add_episode(&mut self, who: &str, quantity: CpuQuantity, episode: &RoundEpisode, survey: &Survey) {
        let (name, against) = (quantity.quantity_name(), &episode.effect.against);
        let (times, rounds) = (formats::format_ratio(episode.ratio()), episode.describe_rounds());
        let sentence = format!(
            "{name}: {who} differed from {against} ({times}x) in {rounds} only: an episode, no property of the cpu"
        );
        self.add_unfound(sentence, Some(2.0 * survey.provenance.elapsed_s));
    }

    /// Raises the length of a decisive survey to this, in seconds.
    fn need_seconds(&mut self, seconds: f64) {
        self.longer_s = self.longer_s.max(forecast::enough_s(seconds));
    }
}

/// Comparison of the first cpu, which gets most interrupts, with its peers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FirstCpu {
    /// Its number.
    pub cpu: u32,
    /// Whether it is worse.
    pub is_worse: PendingAnswer,
    /// The answer with its numbers; causes and advice are in the findings about this cpu.
    pub answer: String,
}

/// An answer, possibly postponed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PendingAnswer {
    /// A test shows it.
    Yes,
    /// Every difference that matters is excluded.
    No,
    /// No test shows it, and differences that matter are not excluded.
    CannotTellYet,
}
