//! What findings are made of: a statement, the numbers behind it, and what to do next.

use corewise_machine::CpuSet;
use corewise_machine::vocabulary::vocabulary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use corewise_machine::SuggestedCommand;

/// One thing that a test showed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// What it is about.
    pub topic: Topic,
    /// The cpus it is about.
    pub cpus: CpuSet,
    /// One or two sentences with the number and its interval: "cpu 0 is interrupted 2.9x [2.6, 3.1] as often as …".
    pub statement: String,
    /// What to do next, one sentence; a command follows where there is one.
    pub advice: String,
    /// A command that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<SuggestedCommand>,
    /// The numbers behind the statement, the first being the one that decided.
    pub effects: Vec<Effect>,
}

vocabulary! {
    /// What a finding is about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Topic {
        Interrupts "interrupts": "A cpu is interrupted more often than its peers.";
        Tail "tail": "A cpu's tail is longer than its peers'.";
        Speed "speed": "A cpu, or a group of cpus, is faster or slower at the fixed work.";
        Stolen "stolen": "The hypervisor takes time away.";
        Links "links": "The cost of talking between cpus depends on where they are.";
        Memory "memory": "The cost of memory depends on where it is and how it is used.";
        Causes "causes": "One cause takes much of what cpus lose to stalls.";
        Devices "devices": "Where a device is, and which cpus are near it.";
    }
}

/// A measured ratio with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// What was compared: "interrupt rate", "p99.9", "frequency".
    pub quantity: String,
    /// Against what: "median of cpus 1-7,16-23".
    pub against: String,
    /// How many times the others' value.
    pub ratio: f64,
    /// The lower end of the 95 % interval.
    pub low: f64,
    /// The upper end of the 95 % interval.
    pub high: f64,
    /// The probability of a difference this clear among equal cpus, over all cpus tested at once; absent where the
    /// interval itself decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
}

impl Effect {
    /// How far it is from no effect, as a ratio of at least 1.
    pub fn size(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }

    /// How far from no effect its interval reaches, as a ratio of at least 1.
    pub fn beyond(&self) -> f64 {
        self.high.max(1.0 / self.low).max(1.0)
    }

    /// "2.9x [2.6, 3.1]": all three with the decimals of the one that needs most.
    pub fn times(&self) -> String {
        let all = [self.ratio, self.low, self.high];
        let digits = all.into_iter().map(decimals).max().unwrap_or(0);
        let [ratio, low, high] = all.map(|value| format!("{value:.digits$}"));
        format!("{ratio}x [{low}, {high}]")
    }
}

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// How many decimals a ratio takes for two significant digits, and near 1 for two decimals: 12, 2.9, 0.34, 1.03.
pub(crate) fn decimals(value: f64) -> usize {
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
        for topic in Topic::ALL {
            assert_eq!(serde_json::to_value(topic).unwrap(), topic.word());
        }
    }
}
