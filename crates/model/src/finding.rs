//! Findings: a statement, the numbers behind it, and the next step.

use corewise_machine::CpuSet;
use corewise_machine::vocabulary::vocabulary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use corewise_machine::SuggestedCommand;

/// One result of a test.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Its subject.
    pub topic: FindingTopic,
    /// The cpus it is about.
    pub cpus: CpuSet,
    /// One or two sentences with the number and its interval: "cpu 0 is interrupted 2.9x [2.6, 3.1] as often as …".
    pub statement: String,
    /// The next step, one sentence; a command follows if there is one.
    pub advice: String,
    /// A command that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<SuggestedCommand>,
    /// The numbers behind the statement, the deciding one first.
    pub effects: Vec<FindingEffect>,
}

vocabulary! {
    /// Subject of a finding.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum FindingTopic {
        Interrupts "interrupts": "A cpu is interrupted more often than its peers.";
        Tail "tail": "A cpu's tail is longer than its peers'.";
        Speed "speed": "A cpu, or a group of cpus, is faster or slower at the fixed work.";
        Stolen "stolen": "The hypervisor takes time away.";
        Links "links": "Communication costs between cpus differ by their location.";
        Memory "memory": "Memory costs differ by location and kind of access.";
        Causes "causes": "One cause takes much of the time that cpus lose to stalls.";
        Devices "devices": "Location of a device, and the cpus that may use it.";
    }
}

/// A measured ratio with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingEffect {
    /// The quantity: "interrupt rate", "p99.9", "frequency".
    pub quantity: String,
    /// The reference: "median of cpus 1-7,16-23".
    pub against: String,
    /// The value as a multiple of the others'.
    pub ratio: f64,
    /// The lower end of the 95 % interval.
    pub low: f64,
    /// The upper end of the 95 % interval.
    pub high: f64,
    /// The probability of a difference this clear among equal cpus, over all cpus tested at once; absent if the
    /// interval itself decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
}

impl FindingEffect {
    /// Returns its distance from no effect, as a ratio of at least 1.
    pub fn effect_size(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }

    /// Returns the farthest distance of its interval from no effect, as a ratio of at least 1.
    pub fn farthest_end(&self) -> f64 {
        self.high.max(1.0 / self.low).max(1.0)
    }

    /// Formats as "2.9x [2.6, 3.1]": all three with the decimals of the number that needs most.
    pub fn format_times(&self) -> String {
        let all = [self.ratio, self.low, self.high];
        let digits = all.into_iter().map(decimals_of_ratio).max().unwrap_or(0);
        let [ratio, low, high] = all.map(|value| format!("{value:.digits$}"));
        format!("{ratio}x [{low}, {high}]")
    }
}

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// Returns the number of decimals for two significant digits, and near 1 for two decimals: 12, 2.9, 0.34, 1.03.
pub(crate) fn decimals_of_ratio(value: f64) -> usize {
    match value {
        _ if value >= 9.95 => 0,
        _ if value >= 1.195 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_names_a_topic_by_its_word() {
        for topic in FindingTopic::ALL {
            assert_eq!(serde_json::to_value(topic).unwrap(), topic.word());
        }
    }
}
