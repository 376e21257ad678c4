//! The JSON documents.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use corewise_model::keep::{Action, Evidence, Held, Process, ResolvedRule, WaitingProcess};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::keeper::State;

/// What `corewise keep --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/keep/1")]
pub struct KeepDocument<'a> {
    #[schemars(extend("const" = "corewise/keep/1"))]
    pub schema: &'static str,
    /// The file of the rules, or the folder.
    pub place: String,
    /// The rules on this machine.
    pub rules: &'a [ResolvedRule],
    /// The `keep run` that keeps them in force; null where none runs.
    pub running: Option<&'a State<'a>>,
}

/// What `corewise keep plan --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/keep-plan/1")]
pub struct PlanDocument<'a> {
    #[schemars(extend("const" = "corewise/keep-plan/1"))]
    pub schema: &'static str,
    /// The processes that rules match.
    pub processes: &'a [Planned],
    /// How many processes a rule could not decide on because the file that they execute cannot be read, by the rules' names.
    pub unreadable: &'a BTreeMap<String, u32>,
}

/// What would be done about a process.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Planned {
    /// Its number.
    pub process: u32,
    /// Its name.
    pub name: String,
    /// Its rule.
    pub rule: String,
    /// The rule's cpus.
    pub cpus: CpuSet,
    /// How many threads it has.
    pub threads: usize,
    /// What would be done.
    pub actions: Vec<Action>,
    /// Why something would not be done.
    pub notes: Vec<String>,
}

/// What `corewise keep why --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/keep-why/1")]
pub struct WhyDocument<'a> {
    #[schemars(extend("const" = "corewise/keep-why/1"))]
    pub schema: &'static str,
    /// The process as it is now.
    pub process: &'a Process,
    /// The rule that counts for it; null where none does.
    pub rule: Option<&'a ResolvedRule>,
    /// What the running `keep run` knows of it; null where none runs, or knows nothing of it.
    pub held: Option<&'a Held>,
    /// The process as the keeper lists it if there is no room to hold it; null otherwise.
    pub waiting: Option<&'a WaitingProcess>,
    /// When that `keep run` began, from which the times in `held` and `waiting` count, in milliseconds since 1970-01-01 UTC.
    pub since_unix_ms: Option<i64>,
    /// Whose cpus its control group has, where these are fewer than are online: "kubelet".
    pub limited_by: Option<&'a str>,
    /// Where its mask comes from, if no rule gave it and it has less than its control group; null otherwise.
    pub origin: Option<Origin>,
}

/// The process at which a mask begins: it and those that descend from it have the mask, and its parent has another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Origin {
    /// Its number and name.
    pub process: (u32, String),
    /// Its parent's number and name, and the cpus that that may use; null where it has none that can be seen.
    pub parent: Option<(u32, String, CpuSet)>,
}

/// What `corewise keep prove --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/keep-prove/1")]
pub struct ProveDocument<'a> {
    #[schemars(extend("const" = "corewise/keep-prove/1"))]
    pub schema: &'static str,
    /// The rule.
    pub rule: &'a str,
    /// The experiment that was made.
    pub experiment: i64,
    /// What became of the rule's evidence.
    pub fate: Fate,
    /// The rule's evidence now; null where it has none any more.
    pub evidence: Option<&'a Evidence>,
    /// Whether the rule was disabled, as its `unproven = "release"` asks for.
    pub disabled: bool,
    /// Whether a running `keep run` was notified.
    pub reloaded: bool,
}

/// What became of a rule's evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// The rule's placement won again.
    Renewed,
    /// It did not, and that was decided.
    Withdrawn,
    /// Nothing was decided: it is as it was.
    Unchanged,
}

/// What commands print that change a file of rules.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/keep-change/1")]
pub struct ChangeDocument<'a> {
    #[schemars(extend("const" = "corewise/keep-change/1"))]
    pub schema: &'static str,
    /// The rule.
    pub rule: &'a str,
    /// What was done: "added", "removed", "enabled", "disabled".
    pub what: &'a str,
    /// The file that was written.
    pub file: String,
    /// Whether a running `keep run` was notified.
    pub reloaded: bool,
}
