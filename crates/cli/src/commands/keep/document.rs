//! The JSON documents.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use corewise_model::keep::{
    KeepAction, KeptProcess, ObservedProcess, ResolvedRule, RuleEvidence, ThreadMask, WaitingProcess,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::keeper::KeeperState;

/// The output of `corewise keep --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/keep/1")]
pub struct KeepDocument<'a> {
    #[schemars(extend("const" = "corewise/keep/1"))]
    pub schema: &'static str,
    /// The file of the rules, or the folder.
    pub place: String,
    /// The rules on this machine.
    pub rules: &'a [ResolvedRule],
    /// The `keep run` that keeps them in force; null if none runs.
    pub running: Option<&'a KeeperState<'a>>,
    /// If none keeps these in force: each other `keep run` of this user or the system that keeps other rules, or may keep these.
    pub others: Vec<KeeperMention>,
}

/// A running `keep run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KeeperMention {
    /// Its process.
    pub process: u32,
    /// Its user by name, or by number if it has no name.
    pub user: String,
    /// Whether it keeps the system's rules; null if this user may not read its state.
    pub of_system: Option<bool>,
    /// Its file of rules, or their folder; null if this user may not read its state.
    pub rules: Option<String>,
}

/// The output of `corewise keep plan --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/keep-plan/1")]
pub struct KeepPlanDocument<'a> {
    #[schemars(extend("const" = "corewise/keep-plan/1"))]
    pub schema: &'static str,
    /// The processes that rules match.
    pub processes: &'a [PlannedActions],
    /// Number of processes, by rule name, that a rule could not decide on because their executable cannot be read.
    pub unreadable: &'a BTreeMap<String, u32>,
}

/// The plan for a process.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlannedActions {
    /// Its number.
    pub process: u32,
    /// Its name.
    pub name: String,
    /// Its rule.
    pub rule: String,
    /// The rule's cpus.
    pub cpus: CpuSet,
    /// Its number of threads.
    pub threads: usize,
    /// The planned actions.
    pub actions: Vec<KeepAction>,
    /// Reasons against an action.
    pub notes: Vec<String>,
}

/// The output of `corewise keep why --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/keep-why/1")]
pub struct KeepWhyDocument<'a> {
    #[schemars(extend("const" = "corewise/keep-why/1"))]
    pub schema: &'static str,
    /// The process as it is now.
    pub process: &'a ObservedProcess,
    /// The rule that applies to it: of `keeper`, or else of the rules that were asked about. Null without one, or if it cannot be read.
    pub rule: Option<&'a ResolvedRule>,
    /// The record of it in the running `keep run`; null without one.
    pub held: Option<&'a KeptProcess>,
    /// The process as the keeper lists it if there is no room to hold it; null otherwise.
    pub waiting: Option<&'a WaitingProcess>,
    /// The `keep run` of this user, of the process's user, or of the system that this record is from; null without one.
    pub keeper: Option<KeeperMention>,
    /// Without one: each `keep run` of such a user whose state cannot be read, and which may hold the process.
    pub unknown: Vec<KeeperMention>,
    /// When that `keep run` began, in milliseconds since 1970-01-01 UTC. Times in `held` and `waiting` count from then.
    pub since_unix_ms: Option<i64>,
    /// The masks of its threads; more than one if threads were placed one by one.
    pub masks: Vec<ThreadMask>,
    /// The control group that lets it use fewer cpus than are online, in whatever hierarchy; null if there is none.
    pub limited_by: Option<CpusetLimit>,
    /// The corewise that placed it and has ended: its command if it meant this to stay, such as `corewise run --pid 815 --on 1`, or its
    /// number if it was killed; null if there is none.
    pub placed_by: Option<String>,
    /// The origin of its mask, if no rule set it and it has fewer cpus than its control group; null otherwise.
    pub origin: Option<MaskOrigin>,
}

/// A control group that limits a process's cpus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CpusetLimit {
    /// The software that writes the group's cpus, such as "kubelet"; "another program" if it is unknown.
    pub owner: &'static str,
    /// The group: the outermost one with these cpus.
    pub group: String,
    /// The group's cpus.
    pub cpus: CpuSet,
}

/// The process at which a mask begins: its descendants inherit the mask, and its parent has another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MaskOrigin {
    /// Its number and name.
    pub process: (u32, String),
    /// Its parent's number, name and cpus; null if the parent is not visible.
    pub parent: Option<(u32, String, CpuSet)>,
}

/// The output of `corewise keep prove --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/keep-prove/1")]
pub struct KeepProveDocument<'a> {
    #[schemars(extend("const" = "corewise/keep-prove/1"))]
    pub schema: &'static str,
    /// The rule.
    pub rule: &'a str,
    /// The new experiment.
    pub experiment: i64,
    /// The result for the rule's evidence.
    pub fate: EvidenceFate,
    /// The rule's evidence now; null if it has none any more.
    pub evidence: Option<&'a RuleEvidence>,
    /// True if the rule was disabled because of its `unproven = "release"`.
    pub disabled: bool,
    /// True if a running `keep run` was notified.
    pub reloaded: bool,
}

/// The result for a rule's evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceFate {
    /// The rule's placement won again.
    Renewed,
    /// The experiment decided that the placement does not win.
    Withdrawn,
    /// The experiment was undecided: the evidence is unchanged.
    Unchanged,
}

/// The output of commands that change a file of rules.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/keep-change/1")]
pub struct KeepChangeDocument<'a> {
    #[schemars(extend("const" = "corewise/keep-change/1"))]
    pub schema: &'static str,
    /// The rule.
    pub rule: &'a str,
    /// The change: "added", "removed", "enabled", "disabled".
    pub what: &'a str,
    /// The file that was written.
    pub file: String,
    /// True if a running `keep run` was notified.
    pub reloaded: bool,
}
