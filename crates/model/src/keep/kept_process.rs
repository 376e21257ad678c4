//! A process that a rule matches: its state, its history, and the actions for it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::action::{KeepAction, KeepActionOutcome, LeftBecause};
use super::process::{ChargedUser, ObservedProcess};
use super::room::ProcessClaim;
use super::thread::HeldThread;
use corewise_machine::suggested_command;

/// Maximum number of remarks kept of a process, the latest.
const MOST_NOTES: usize = 16;

/// State of a matching process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ProcessStanding {
    /// Its rule holds it.
    Held,
    /// It matches but is left alone.
    Left(LeftBecause),
}

/// A process that a rule matches, and that is not held because there is no room for its threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingProcess {
    /// Start, in clock ticks since the boot.
    pub start_ticks: u64,
    /// Its name when it was last seen.
    pub name: String,
    /// The rule, by its name.
    pub rule: String,
    /// The user that its share of the room would be charged to.
    pub charged_to: ChargedUser,
    /// Number of its threads.
    pub threads: usize,
    /// Begin of waiting, as time since the keeper began.
    pub since: Duration,
}

/// A remark on an event of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessNote {
    /// Time since the keeper began.
    pub at: Duration,
    /// The event, in a sentence.
    pub what: String,
}

/// A process that a rule matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptProcess {
    /// Start, in clock ticks since the boot.
    pub start_ticks: u64,
    /// Its name when it was last seen.
    pub name: String,
    /// The rule, by its name.
    pub rule: String,
    /// The user that its share of the room is charged to.
    pub charged_to: ChargedUser,
    /// Begin of holding, as time since the keeper began.
    pub since: Duration,
    /// Its state.
    pub standing: ProcessStanding,
    /// Its control group at the last look, and that group's cpus: when they change, the kernel sets masks.
    #[serde(skip)]
    pub(super) place: (String, CpuSet),
    /// Its threads by their numbers.
    pub threads: BTreeMap<u32, HeldThread>,
    /// Number of corrections of its threads by its rule.
    pub corrections: u32,
    /// Remarks, the latest last.
    pub notes: Vec<ProcessNote>,
}

impl KeptProcess {
    pub(super) fn new(start_ticks: u64, since: Duration) -> Self {
        Self {
            start_ticks,
            name: String::new(),
            rule: String::new(),
            charged_to: ChargedUser::default(),
            since,
            standing: ProcessStanding::Held,
            place: Default::default(),
            threads: BTreeMap::new(),
            corrections: 0,
            notes: Vec::new(),
        }
    }

    /// Creates the state of a process that a rule now matches.
    pub(super) fn from_match(process: &ObservedProcess, rule: String, now: Duration) -> Self {
        let (name, charged_to) = (process.name.clone(), process.charged_to.clone());
        Self { name, charged_to, rule, ..Self::new(process.start_ticks, now) }
    }

    /// Updates its name, user and threads from what was seen, and its rule.
    pub(super) fn take_facts(&mut self, process: &ObservedProcess, rule: &str, now: Duration) {
        self.name.clone_from(&process.name);
        self.charged_to.clone_from(&process.charged_to);
        if self.rule != rule {
            rule.clone_into(&mut self.rule);
            self.corrections = 0;
            // A request of the user holds under every rule.
            if self.standing != ProcessStanding::Left(LeftBecause::Asked) {
                self.standing = ProcessStanding::Held;
                self.add_note(now, format!("rule {rule} matches"));
            }
        }
        let seen: BTreeSet<(u32, u64)> = process.threads.iter().map(|thread| (thread.id, thread.start_ticks)).collect();
        self.threads.retain(|id, known| seen.contains(&(*id, known.start_ticks)));
    }

    /// Leaves it alone from now on.
    pub(super) fn leave_alone(&mut self, because: LeftBecause, now: Duration) {
        self.threads.clear();
        self.add_note(now, because.reason_sentence());
        self.standing = ProcessStanding::Left(because);
    }

    /// Returns its claim for room, with this many threads.
    pub(super) fn room_claim(&self, process: u32, threads: usize) -> ProcessClaim {
        let threads = if self.is_left_alone() { 1 } else { threads.max(1) };
        ProcessClaim { process, user: self.charged_to.clone(), rule: self.rule.clone(), threads }
    }

    /// Returns the number of its threads that could not be placed yet, and the reason for one of them; `None` if there is
    /// none. They are tried again, at pauses of up to [`super::LONGEST_PAUSE`].
    pub fn refusal(&self) -> Option<(usize, &str)> {
        let mut refused = self.threads.values().filter_map(|thread| thread.refused.as_deref());
        let first = refused.next()?;
        Some((1 + refused.count(), first))
    }

    /// Returns the number of its threads that its rule holds: without threads that could not be placed.
    pub fn held_threads(&self) -> usize {
        self.threads.len() - self.refusal().map_or(0, |(count, _)| count)
    }

    /// Returns true if it is left alone.
    pub fn is_left_alone(&self) -> bool {
        self.standing != ProcessStanding::Held
    }

    /// Converts the state of an earlier keeper with other times; `None` if the process was held.
    pub(super) fn of_earlier(self) -> Option<Self> {
        let ProcessStanding::Left(because) = &self.standing else { return None };
        let what = format!("an earlier {}: {}", suggested_command::keep_run().quoted_line(), because.reason_sentence());
        Some(Self { since: Duration::ZERO, notes: vec![ProcessNote { at: Duration::ZERO, what }], ..self })
    }

    pub(super) fn add_note(&mut self, at: Duration, what: String) {
        if self.notes.last().is_some_and(|note| note.what == what) {
            return;
        }
        if self.notes.len() == MOST_NOTES {
            self.notes.remove(0);
        }
        self.notes.push(ProcessNote { at, what });
    }

    /// Records the result of an action for one of its threads.
    pub(super) fn settle_action(&mut self, action: &KeepAction, outcome: KeepActionOutcome, now: Duration) {
        let Some(thread) = self.threads.get_mut(&action.thread) else { return };
        match outcome {
            KeepActionOutcome::Placed(cpus) => {
                // The kernel grants a part of what was asked. Another mask, or the previous one, was set by somebody before
                // this was recorded: the next look must notice the change.
                let is_others = |asked: &CpuSet| cpus == action.seen || !cpus.is_subset(asked);
                let cpus = action.cpus.clone().filter(is_others).unwrap_or(cpus);
                thread.asked = action.cpus.clone().filter(|asked| *asked != cpus);
                thread.seen = cpus;
                thread.retry = None;
                let was_refused = thread.refused.take().is_some();
                if was_refused && self.refusal().is_none() {
                    self.add_note(now, "all its threads are placed now".to_owned());
                }
            }
            KeepActionOutcome::Ended => drop(self.threads.remove(&action.thread)),
            KeepActionOutcome::Refused(why) => {
                if thread.note_refusal(action, &why, now) {
                    self.add_note(now, format!("thread {} was not placed: {why}", action.thread));
                }
            }
        }
    }

    /// Returns actions that restore the original masks of threads unchanged since they were placed, as far as was seen;
    /// the executor checks again.
    pub(super) fn give_back(&self, process: u32, seen: Option<&ObservedProcess>) -> Vec<KeepAction> {
        let is_changed = |id: &u32, known: &HeldThread| {
            let now = seen.and_then(|seen| seen.threads.iter().find(|thread| thread.id == *id));
            seen.zip(now).is_some_and(|(seen, now)| known.is_news(&now.cpus, &seen.reachable))
        };
        let placed = self.threads.iter().filter(|(id, known)| known.is_placed() && !is_changed(id, known));
        let action = |(id, known): (&u32, &HeldThread)| KeepAction {
            process,
            thread: *id,
            start_ticks: known.start_ticks,
            cpus: None,
            original: known.original.clone(),
            seen: known.seen.clone(),
        };
        placed.map(action).collect()
    }
}
