//! Keeps rules in force: what is done about each process that they match.

use std::collections::BTreeMap;
use std::time::Duration;

use super::action::{Action, Author, LeftBecause, Original, Outcome};
use super::held::{Held, Standing};
use super::process::{Process, Thread, owner};
use super::resolve::ResolvedRule;
use super::rule::Fit;
use super::thread::{HeldThread, Verdict, newcomer};
use crate::CpuSet;

/// More threads than this are not held at the same time: each takes a place in the journal.
pub const MOST_THREADS: usize = 5_000;
/// Keeps rules in force.
#[derive(Clone, Debug, Default)]
pub struct Keeper {
    rules: Vec<ResolvedRule>,
    processes: BTreeMap<u32, Held>,
    /// How many threads these have.
    threads: usize,
    /// Threads that another keeper placed, by their numbers and starts, until they are looked at.
    taken_over: BTreeMap<(u32, u64), (Original, CpuSet)>,
}

impl Keeper {
    /// Keeps these rules; of several that match, the first counts.
    pub fn new(rules: Vec<ResolvedRule>) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Takes over what a keeper before this one left: threads that it placed, by their numbers and starts, with what they had before and
    /// what they were given; and the processes that are left alone.
    pub fn take_over(
        &mut self,
        placed: impl IntoIterator<Item = ((u32, u64), Original, CpuSet)>,
        left_alone: impl IntoIterator<Item = (u32, Held)>,
    ) {
        self.taken_over.extend(placed.into_iter().map(|(thread, original, given)| (thread, (original, given))));
        for (process, held) in left_alone {
            held.of_earlier().into_iter().for_each(|held| self.put(process, held));
        }
    }

    /// Takes a process out, to change it or for good.
    fn take(&mut self, process: u32) -> Option<Held> {
        let held = self.processes.remove(&process)?;
        self.threads -= held.threads.len();
        Some(held)
    }

    fn put(&mut self, process: u32, held: Held) {
        self.threads += held.threads.len();
        self.processes.insert(process, held);
    }

    /// Whether it holds a thread.
    pub fn holds(&self, thread: u32) -> bool {
        self.processes.values().any(|held| held.threads.contains_key(&thread))
    }

    /// How many threads are held, at most [`MOST_THREADS`].
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Other rules, or the same on a machine that has changed. Each process is judged anew when it is looked at next.
    pub fn set_rules(&mut self, rules: Vec<ResolvedRule>) {
        self.rules = rules;
    }

    /// Forgets what was taken over and not seen: all processes were looked at.
    pub fn forget_taken_over(&mut self) {
        self.taken_over.clear();
    }

    /// The rules.
    pub fn rules(&self) -> &[ResolvedRule] {
        &self.rules
    }

    /// The processes that rules match, by their numbers.
    pub fn processes(&self) -> &BTreeMap<u32, Held> {
        &self.processes
    }

    /// The rule in force that counts for a process.
    pub fn rule_of(&self, process: &Process) -> Option<&ResolvedRule> {
        self.rules.iter().find(|rule| rule.is_in_force() && rule.rule.matches.fit(process) == Fit::Yes)
    }

    /// Whether anything may have to be done about a process, of which the threads need not be known: everything else need not be looked at.
    pub fn concerns(&self, process: &Process) -> bool {
        !self.taken_over.is_empty()
            || self.processes.contains_key(&process.id)
            || self.processes.contains_key(&process.parent)
            || self.rule_of(process).is_some()
    }

    /// The rule that holds a process, where all its cpus have gone offline: they may come back.
    fn waiting_rule(&self, process: &Process, held: &Held) -> Option<&ResolvedRule> {
        let waits = |rule: &&ResolvedRule| rule.rule.name == held.rule && rule.is_wanted() && rule.cpus.is_empty();
        self.rules.iter().find(waits).filter(|rule| rule.rule.matches.fit(process) == Fit::Yes)
    }

    /// What to do about a process as it was seen. `now` is the time since the keeper began; `author` says who set a thread's mask last, and
    /// is asked only where somebody did.
    pub fn look(&mut self, process: &Process, now: Duration, author: &dyn Fn(u32) -> Author) -> Vec<Action> {
        let known = self.take(process.id).filter(|known| known.start_ticks == process.start_ticks);
        let taken_over = self.taken_over_of(process);
        let Some(rule) = self.rule_of(process).or_else(|| self.waiting_rule(process, known.as_ref()?)) else {
            return match known {
                // Whoever wanted that has not changed their mind because a rule is disabled for a while.
                Some(known) if known.is_left_alone() => {
                    self.put(process.id, known);
                    Vec::new()
                }
                Some(known) => known.give_back(process.id, Some(process)),
                None => self.disinherit(process),
            };
        };
        let is_first = known.is_none();
        let mut held = match known {
            None if process.threads.len() + self.threads > MOST_THREADS => return Vec::new(),
            None => Held::new(process.start_ticks, now),
            Some(known) => known,
        };
        held.name.clone_from(&process.name);
        if held.rule != rule.rule.name {
            held.rule.clone_from(&rule.rule.name);
            held.standing = Standing::Held;
            held.note(now, format!("rule {} matches", rule.rule.name));
        }
        held.threads.retain(|id, known| {
            process.threads.iter().any(|thread| thread.id == *id && thread.start_ticks == known.start_ticks)
        });
        let place = (process.cgroup.clone(), process.reachable.clone());
        let was_moved = std::mem::replace(&mut held.place, place.clone()) != place;
        let mut actions = Vec::new();
        if held.standing == Standing::Held {
            // Nothing is placed before all were judged: where the process is released, what they have now is given back.
            let (mut left, mut placed) = (None, Vec::new());
            for thread in &process.threads {
                let known = held.threads.remove(&thread.id).or_else(|| taken_over.get(&thread.id).cloned());
                let mut state = known.unwrap_or_else(|| {
                    let parent = self.processes.get(&process.parent);
                    let relatives =
                        held.threads.values().chain(parent.into_iter().flat_map(|held| held.threads.values()));
                    newcomer(thread, process, relatives, is_first)
                });
                // Older kernels forget what was asked for when a control group, or what it has, changes.
                if was_moved && thread.cpus == process.reachable {
                    state.seen.clone_from(&thread.cpus);
                }
                match state.judge(thread, process, rule, now, author) {
                    Verdict::Nothing => {}
                    Verdict::Place(cpus) => placed.push((thread.id, cpus)),
                    Verdict::Correct(cpus) => {
                        held.corrections += 1;
                        placed.push((thread.id, cpus));
                    }
                    Verdict::Release(because) => left = Some(because),
                    Verdict::NoCpu => {
                        let what = nothing_for(thread, process, rule, &state.original);
                        held.note(now, what);
                    }
                }
                held.threads.insert(thread.id, state);
            }
            if let Some(because) = left {
                actions = held.give_back(process.id, Some(process));
                held.threads.clear();
                held.note(now, because.sentence());
                held.standing = Standing::Left(because);
            } else {
                let place = |(id, cpus)| Some(held.threads.get_mut(&id)?.place(process.id, id, cpus));
                actions.extend(placed.into_iter().filter_map(place));
            }
        }
        self.put(process.id, held);
        actions
    }

    /// The threads of a process that another keeper placed, by their numbers.
    fn taken_over_of(&mut self, process: &Process) -> BTreeMap<u32, HeldThread> {
        let of = |thread: &Thread| {
            let (original, given) = self.taken_over.remove(&(thread.id, thread.start_ticks))?;
            let state = HeldThread::new(thread.start_ticks, original, given.clone());
            Some((thread.id, HeldThread { given: Some(given), ..state }))
        };
        process.threads.iter().filter_map(of).collect()
    }

    /// A process that no rule matches, and whose threads inherited a mask that a rule gave to their creator, gets what the creator
    /// had before.
    fn disinherit(&self, process: &Process) -> Vec<Action> {
        let parent = self.processes.get(&process.parent);
        let Some(parent) = parent.filter(|parent| parent.start_ticks <= process.start_ticks) else { return Vec::new() };
        let inherited = |thread: &Thread| {
            let creator = parent.threads.values().find(|creator| creator.is_placed() && creator.seen == thread.cpus)?;
            let back = creator.original.within(&process.reachable);
            let is_nothing = back.is_empty() || back == thread.cpus || thread.cpus == process.reachable;
            (!is_nothing).then(|| Action {
                process: process.id,
                thread: thread.id,
                start_ticks: thread.start_ticks,
                cpus: None,
                original: creator.original.clone(),
                seen: thread.cpus.clone(),
            })
        };
        process.threads.iter().filter_map(inherited).collect()
    }

    /// Takes what came of an action that placed a thread.
    pub fn settle(&mut self, action: &Action, outcome: Outcome, now: Duration) {
        let Some(mut held) = self.take(action.process) else { return };
        held.settle(action, outcome, now);
        self.put(action.process, held);
    }

    /// Forgets a process that ended.
    pub fn ended(&mut self, process: u32) {
        self.take(process);
    }

    /// Leaves a process alone from now on, and gives it back what it had.
    pub fn release(&mut self, process: u32, now: Duration) -> Vec<Action> {
        let Some(mut held) = self.take(process) else { return Vec::new() };
        let actions = held.give_back(process, None);
        held.threads.clear();
        held.note(now, LeftBecause::Asked.sentence());
        held.standing = Standing::Left(LeftBecause::Asked);
        self.put(process, held);
        actions
    }

    /// Holds a process again that is left alone, from the next look on.
    pub fn hold_again(&mut self, process: u32) {
        if self.processes.get(&process).is_some_and(Held::is_left_alone) {
            self.take(process);
        }
    }

    /// Gives everything back.
    pub fn give_back_all(&mut self) -> Vec<Action> {
        self.threads = 0;
        std::mem::take(&mut self.processes).iter().flat_map(|(id, held)| held.give_back(*id, None)).collect()
    }
}

/// Why there is no cpu for a thread.
fn nothing_for(thread: &Thread, process: &Process, rule: &ResolvedRule, original: &Original) -> String {
    let cpus = rule.cpus_of(&thread.name);
    match original {
        _ if cpus.is_empty() => {
            format!("rule {} has no cpu here now: the kernel decides until there is one", rule.rule.name)
        }
        Original::Only(had) if !cpus.is_disjoint(&process.reachable) => format!(
            "thread {} had cpus {had} before, none of {cpus}: `widen = true` in rule {} would give it others",
            thread.id, rule.rule.name
        ),
        _ => format!(
            "no cpu of {cpus} can be had: {} lets {} use {}",
            owner(&process.cgroup),
            process.cgroup,
            process.reachable
        ),
    }
}
