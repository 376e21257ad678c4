//! How the loop stands: what it holds, what it did, and what it cannot see.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use corewise_model::keep::{Held, ResolvedRule, Standing, WaitingProcess};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the loop stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status<'a> {
    /// How long it runs; times of processes count from its beginning.
    pub running: Duration,
    /// How it sees processes begin: "by events", or "by looking at all every 1 s" and why.
    pub sight: String,
    /// Why it is not known who sets a mask; absent where it is.
    pub author_gap: Option<String>,
    /// The processes that rules match.
    pub processes: Cow<'a, BTreeMap<u32, Held>>,
    /// The processes that rules match and that are not held because there is no room; of very many only some.
    pub waiting: Cow<'a, BTreeMap<u32, WaitingProcess>>,
    /// Why the rules in force are not those in the files; absent where they are.
    pub broken: Option<String>,
    /// How often a rule could not decide on a process because the file that it executes cannot be read, by the rules' names.
    pub unreadable: BTreeMap<String, u32>,
    /// How often a process was looked at.
    pub looks: u64,
    /// How often a thread was placed.
    pub placed: u64,
    /// How often events were lost, and all processes looked at again.
    pub lost: u64,
    /// The rules in force; whoever reads a status reads them from their files.
    #[serde(skip)]
    pub rules: Cow<'a, [ResolvedRule]>,
}

/// The status for a Prometheus text file: a bounded number of series, four for each rule.
pub fn metrics(status: &Status<'_>) -> String {
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, series: Vec<(String, u64)>| {
        let _ = writeln!(text, "# HELP corewise_keep_{name} {help}\n# TYPE corewise_keep_{name} {kind}");
        for (labels, value) in series {
            let _ = writeln!(text, "corewise_keep_{name}{labels} {value}");
        }
    };
    let one = |value: u64| vec![(String::new(), value)];
    // Names of rules have no character that would need to be escaped.
    let by_rule = |of: &dyn Fn(&ResolvedRule) -> u64| {
        status.rules.iter().map(|rule| (format!("{{rule=\"{}\"}}", rule.rule.name), of(rule))).collect::<Vec<_>>()
    };
    let held = |rule: &ResolvedRule| {
        let of_rule = status.processes.values().filter(|held| held.rule == rule.rule.name);
        of_rule.filter(|held| held.standing == Standing::Held).map(|held| held.threads.len() as u64).sum()
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
    family("waiting", "gauge", "Processes of a rule that are not held because there is no room.", by_rule(&waiting));
    family("looks_total", "counter", "Looks at a process.", one(status.looks));
    family("placed_total", "counter", "Threads that were placed.", one(status.placed));
    family("lost_total", "counter", "Times that events were lost.", one(status.lost));
    family(
        "rules_broken",
        "gauge",
        "1 where the files of rules cannot be read.",
        one(u64::from(status.broken.is_some())),
    );
    text
}
