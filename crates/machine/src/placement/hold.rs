//! Decides about the threads of a running command: the cpus of each, and the response if a thread sets its own.
//!
//! [`ThreadHold::plan_step`] takes the observed threads and returns the actions; the caller performs them and reports the outcomes with
//! [`ThreadHold::settle_action`]. Nothing here depends on an operating system, so every course of events can be replayed in a test.

pub mod pace;
mod thread;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use regex_lite::Regex;

pub use thread::{CORRECTIONS, HoldEvent, MaskEnforcement, MaskResponse};
use thread::{MaskComparison, MaskVerdict, TrackedThread};

use crate::CpuSet;

/// Delay before the only thread of a process is pinned to one cpu. Programs find out from their mask how many threads to start, and most do
/// so at once: pinned from the beginning, they would start one.
const ALONE: Duration = Duration::from_millis(100);

/// Cpus for threads with matching names.
#[derive(Clone, Debug)]
pub struct HoldRole {
    /// The user's name for it.
    pub name: String,
    /// Pattern of its threads' names; the kernel keeps 15 bytes of a name.
    pub pattern: Regex,
    /// Cpus of the role, inside the boundary.
    pub cpus: CpuSet,
}

/// Distribution of threads over the placement.
#[derive(Clone, Debug)]
pub enum HoldSpread {
    /// Each thread may use all of it.
    Together,
    /// Roles by name: the first match decides; threads without a role may use the whole placement.
    Roles(Vec<HoldRole>),
    /// One thread after the other, in order of appearance, on these cpus, round robin.
    OnePerThread(Vec<u32>),
}

/// Rules for holding a command.
#[derive(Clone, Debug)]
pub struct HoldPolicy {
    /// Cpus of the placement.
    pub boundary: CpuSet,
    /// Distribution of threads over them.
    pub threads: HoldSpread,
    /// Response to threads that set their own cpus; `None` only reports them.
    pub enforcement: Option<MaskEnforcement>,
}

/// A thread as observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenThread<'a> {
    /// Its process.
    pub process: u32,
    /// The parent of its process.
    pub parent: u32,
    /// Its number.
    pub thread: u32,
    /// Its name.
    pub name: &'a str,
    /// Its affinity mask.
    pub cpus: CpuSet,
}

/// Observation at one moment.
pub struct HoldView<'a> {
    /// Every thread, in order of appearance.
    pub seen: &'a [SeenThread<'a>],
    /// Time since the command was started.
    pub now: Duration,
    /// Returns the cpus that the system grants to a request for all. Called only if a mask is not the expected one, to distinguish a
    /// program's choice from an offline cpu or a changed cpuset.
    pub reachable: &'a dyn Fn() -> CpuSet,
}

/// A mask to set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskAction {
    /// The thread.
    pub thread: u32,
    /// The mask.
    pub cpus: CpuSet,
}

/// Result of a look: actions, and events to report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HoldStep {
    /// Masks to set, in this order.
    pub actions: Vec<MaskAction>,
    /// Events to report.
    pub events: Vec<HoldEvent>,
    /// True if anything was new, so that the next look should come soon.
    pub is_new: bool,
}

/// Result of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaskOutcome {
    /// The thread has these cpus now: the requested ones, or the part that the system grants.
    Placed(CpuSet),
    /// The thread ended in between.
    Ended,
    /// The system refused, for this reason.
    Refused(String),
}

/// State of a process: masks that its threads may pass to other threads and children.
#[derive(Clone, Debug, Default)]
struct HeldProcess {
    threads: usize,
    /// Masks that its threads set themselves. Threads that they start inherit these, which is not reported again.
    own_masks: HashSet<CpuSet>,
}

/// Holds the threads of one command.
///
/// # Examples
/// ```
/// use corewise_machine::CpuSet;
/// use corewise_machine::placement::hold::{HoldPolicy, HoldSpread, HoldView, SeenThread, ThreadHold};
///
/// let boundary = CpuSet::first_cpus(4);
/// let threads = HoldSpread::OnePerThread(vec![2, 3]);
/// let mut hold = ThreadHold::new(HoldPolicy { boundary: boundary.clone(), threads, enforcement: None });
/// let seen = [7, 8].map(|thread| SeenThread { process: 7, parent: 1, thread, name: "app", cpus: boundary.clone() });
/// let view = HoldView { seen: &seen, now: std::time::Duration::ZERO, reachable: &|| CpuSet::first_cpus(4) };
/// let masks: Vec<_> = hold.plan_step(&view).actions.iter().map(|action| action.cpus.to_string()).collect();
/// assert_eq!(masks, ["2", "3"]);
/// ```
#[derive(Debug)]
pub struct ThreadHold {
    policy: HoldPolicy,
    /// Masks set by corewise, which threads inherit from each other.
    given: HashSet<CpuSet>,
    threads: HashMap<u32, TrackedThread>,
    processes: HashMap<u32, HeldProcess>,
    next_turn: usize,
}

impl ThreadHold {
    /// Begins to hold a command that was started on the boundary.
    pub fn new(policy: HoldPolicy) -> Self {
        let mut given = HashSet::from([policy.boundary.clone()]);
        match &policy.threads {
            HoldSpread::Together => {}
            HoldSpread::Roles(roles) => given.extend(roles.iter().map(|role| role.cpus.clone())),
            HoldSpread::OnePerThread(order) => given.extend(order.iter().copied().map(CpuSet::from_cpu)),
        }
        Self { policy, given, threads: HashMap::new(), processes: HashMap::new(), next_turn: 0 }
    }

    /// Decides on the actions for an observation.
    pub fn plan_step(&mut self, view: &HoldView<'_>) -> HoldStep {
        self.forget_the_ended(view.seen);
        self.count_threads(view.seen);
        let reachable = ReachableCpus { ask: view.reachable, answer: OnceCell::new() };
        let mut step = HoldStep::default();
        for seen in view.seen {
            self.judge_thread(seen, view.now, &reachable, &mut step);
        }
        step
    }

    /// Records the outcome of an action; returns an event if it was refused, otherwise `None`.
    pub fn settle_action(&mut self, number: u32, outcome: MaskOutcome) -> Option<HoldEvent> {
        let thread = self.threads.get_mut(&number)?;
        match outcome {
            MaskOutcome::Placed(cpus) => thread.note_placed(cpus),
            MaskOutcome::Ended => {}
            MaskOutcome::Refused(why) => {
                thread.is_left_alone = true;
                return Some(HoldEvent::Refused { process: thread.process, thread: number, why });
            }
        }
        None
    }

    fn forget_the_ended(&mut self, seen: &[SeenThread<'_>]) {
        let threads: HashSet<u32> = seen.iter().map(|seen| seen.thread).collect();
        self.threads.retain(|thread, _| threads.contains(thread));
        let processes: HashSet<u32> = seen.iter().map(|seen| seen.process).collect();
        self.processes.retain(|process, _| processes.contains(process));
    }

    /// Counts the threads of each process.
    fn count_threads(&mut self, seen: &[SeenThread<'_>]) {
        self.processes.values_mut().for_each(|process| process.threads = 0);
        for seen in seen {
            self.processes.entry(seen.process).or_default().threads += 1;
        }
    }

    /// Handles one thread: places it, and judges cpus that it chose itself.
    fn judge_thread(
        &mut self,
        seen: &SeenThread<'_>,
        now: Duration,
        reachable: &ReachableCpus<'_>,
        step: &mut HoldStep,
    ) {
        let known = self.threads.remove(&seen.thread);
        let is_new = known.is_none();
        let mut thread = known.unwrap_or_else(|| self.new_thread(seen, now, reachable));
        let target = self.target_cpus(&thread, seen, now);
        if !thread.is_left_alone && !thread.is_settled(&target, &seen.cpus) {
            let fits = reachable.explains_cpus(&target, &seen.cpus);
            let is_news = !fits && !reachable.explains_cpus(&thread.in_force, &seen.cpus);
            let is_inside = seen.cpus.is_subset(self.allowed_choice(&target));
            let comparison = MaskComparison { fits, is_news, is_inside };
            let verdict = thread.judge_mask(target, &seen.cpus, comparison, self.policy.enforcement);
            if is_news && self.is_first_hand(seen, is_new) {
                step.events.extend(thread.describe_choice(seen.thread, &seen.cpus, &verdict));
            }
            step.is_new |= is_news;
            if let MaskVerdict::Place(cpus) | MaskVerdict::PutBack(cpus) = verdict {
                step.is_new = true;
                step.actions.push(MaskAction { thread: seen.thread, cpus });
            }
        }
        step.is_new |= is_new;
        self.threads.insert(seen.thread, thread);
    }

    /// Creates the state of a new thread. If its mask was not given to it or its creator by corewise, the boundary was expected, and the
    /// program made the difference.
    fn new_thread(&mut self, seen: &SeenThread<'_>, now: Duration, reachable: &ReachableCpus<'_>) -> TrackedThread {
        let turn = self.next_turn;
        self.next_turn += 1;
        let given = &self.given;
        let is_given = given.contains(&seen.cpus) || given.iter().any(|mask| reachable.gives_cpus(mask, &seen.cpus));
        let boundary = &self.policy.boundary;
        let in_force = if is_given { &seen.cpus } else { boundary };
        TrackedThread::new(seen.process, turn, now, boundary.clone(), in_force.clone())
    }

    /// Returns true if the thread chose its cpus itself, as far as can be seen. A new thread may have them from its creator, which was
    /// reported already.
    fn is_first_hand(&mut self, seen: &SeenThread<'_>, is_new: bool) -> bool {
        let of_parent = self.processes.get(&seen.parent).is_some_and(|parent| parent.own_masks.contains(&seen.cpus));
        let process = self.processes.entry(seen.process).or_default();
        let is_first = process.own_masks.insert(seen.cpus.clone()) && !of_parent;
        is_first || !is_new
    }

    /// Returns the cpus among which a thread may choose: its role's, or the placement. With one cpu per thread this is the placement.
    fn allowed_choice<'a>(&'a self, target: &'a CpuSet) -> &'a CpuSet {
        match self.policy.threads {
            HoldSpread::OnePerThread(_) => &self.policy.boundary,
            HoldSpread::Together | HoldSpread::Roles(_) => target,
        }
    }

    fn target_cpus(&self, thread: &TrackedThread, seen: &SeenThread<'_>, now: Duration) -> CpuSet {
        let boundary = &self.policy.boundary;
        match &self.policy.threads {
            HoldSpread::Together => boundary.clone(),
            HoldSpread::Roles(roles) => {
                let role = roles.iter().find(|role| role.pattern.is_match(seen.name));
                role.map_or(boundary, |role| &role.cpus).clone()
            }
            HoldSpread::OnePerThread(order) => {
                let is_alone = self.processes.get(&seen.process).is_none_or(|process| process.threads < 2);
                let is_young = now.saturating_sub(thread.first_seen) < ALONE;
                let is_unpinned = thread.target == *boundary;
                if order.is_empty() || (is_alone && is_young && is_unpinned) {
                    return boundary.clone();
                }
                CpuSet::from_cpu(order[thread.turn % order.len()])
            }
        }
    }
}

/// Cpus that the system grants to a request for all, read at most once per look.
struct ReachableCpus<'a> {
    ask: &'a dyn Fn() -> CpuSet,
    answer: OnceCell<CpuSet>,
}

impl ReachableCpus<'_> {
    /// Returns true if the system alone could have turned `mask` into `cpus`. If it grants nothing of the mask, any cpus are possible.
    fn explains_cpus(&self, mask: &CpuSet, cpus: &CpuSet) -> bool {
        mask == cpus || self.reachable_part(mask).is_empty() || self.gives_cpus(mask, cpus)
    }

    /// Returns true if the system grants exactly these cpus of a mask.
    fn gives_cpus(&self, mask: &CpuSet, cpus: &CpuSet) -> bool {
        mask == cpus || !cpus.is_empty() && self.reachable_part(mask) == *cpus
    }

    /// Returns the part of a mask that the system may grant.
    fn reachable_part(&self, mask: &CpuSet) -> CpuSet {
        mask.intersection(self.answer.get_or_init(self.ask))
    }
}

#[cfg(test)]
mod tests;
