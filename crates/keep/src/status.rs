//! Status of the loop: what it holds, what it did, and what it cannot see.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use corewise_model::keep::{KeptProcess, ProcessStanding, ResolvedRule, WaitingProcess};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Status of the loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeepStatus<'a> {
    /// Running time. Times of processes count from its beginning.
    pub running: Duration,
    /// Way of detecting processes: "by events", or "by looking at all every 1 s" with the reason.
    pub sight: String,
    /// Reason why it is not known which program sets a mask; `None` if it is known.
    pub author_gap: Option<String>,
    /// The processes that rules match.
    pub processes: Cow<'a, BTreeMap<u32, KeptProcess>>,
    /// The processes that rules match but that are not held for lack of room. If there are very many, only some are listed.
    pub waiting: Cow<'a, BTreeMap<u32, WaitingProcess>>,
    /// Reason why the rules in force differ from the files; `None` if they do not.
    pub broken: Option<String>,
    /// Number of processes that a rule could not decide on because their executable cannot be read, by rule.
    pub unreadable: BTreeMap<String, u32>,
    /// Number of looks at a process.
    pub looks: u64,
    /// Number of times a thread was placed.
    pub placed: u64,
    /// Number of times that events were lost and all processes were looked at again.
    pub lost: u64,
    /// The rules in force. They are not serialised: a reader of a status takes them from their files.
    #[serde(skip)]
    pub rules: Cow<'a, [ResolvedRule]>,
}

/// Formats the status as a Prometheus text file, with a bounded number of series: five for each rule.
pub fn write_metrics(status: &KeepStatus<'_>) -> String {
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, series: Vec<(String, u64)>| {
        let _ = writeln!(text, "# HELP corewise_keep_{name} {help}\n# TYPE corewise_keep_{name} {kind}");
        for (labels, value) in series {
            let _ = writeln!(text, "corewise_keep_{name}{labels} {value}");
        }
    };
    let one = |value: u64| vec![(String::new(), value)];
    // Names of rules have no character that needs escaping.
    let by_rule = |of: &dyn Fn(&ResolvedRule) -> u64| {
        status.rules.iter().map(|rule| (format!("{{rule=\"{}\"}}", rule.rule.name), of(rule))).collect::<Vec<_>>()
    };
    let held = |rule: &ResolvedRule| {
        let of_rule = status.processes.values().filter(|held| held.rule == rule.rule.name);
        of_rule.filter(|held| held.standing == ProcessStanding::Held).map(|held| held.held_threads() as u64).sum()
    };
    let corrections = |rule: &ResolvedRule| {
        let of_rule = status.processes.values().filter(|held| held.rule == rule.rule.name);
        of_rule.map(|held| u64::from(held.corrections)).sum()
    };
    family("threads", "gauge", "Threads that a rule holds.", by_rule(&held));
    family("corrections", "gauge", "Corrections of living processes.", by_rule(&corrections));
    let unproven = |rule: &ResolvedRule| u64::from(rule.rule.evidence.is_none() || !rule.changes.is_empty());
    family("unproven", "gauge", "1 for a rule without evidence that counts here.", by_rule(&unproven));
    let waiting =
        |rule: &ResolvedRule| status.waiting.values().filter(|waiting| waiting.rule == rule.rule.name).count() as u64;
    let refused = |rule: &ResolvedRule| {
        let of_rule = status.processes.values().filter(|held| held.rule == rule.rule.name);
        of_rule.filter_map(KeptProcess::refusal).map(|(count, _)| count as u64).sum()
    };
    family("refused", "gauge", "Threads of a rule that could not be placed and are tried again.", by_rule(&refused));
    family("waiting", "gauge", "Processes of a rule that are not held because there is no room.", by_rule(&waiting));
    family("looks_total", "counter", "Looks at a process.", one(status.looks));
    family("placed_total", "counter", "Threads that were placed.", one(status.placed));
    family("lost_total", "counter", "Times that events were lost.", one(status.lost));
    family("rules_broken", "gauge", "1 if the files of rules cannot be read.", one(u64::from(status.broken.is_some())));
    text
}
