//! Keeps rules in force: decides on actions for each process that they match.

use std::collections::BTreeMap;
use std::time::Duration;

use corewise_machine::CpuSet;

use super::action::{Action, Author, LeftBecause, Original, Outcome};
use super::held::{Held, Standing, WaitingProcess};
use super::process::{Process, Thread, owner};
use super::resolve::ResolvedRule;
use super::room::ThreadRoom;
use super::rule::Fit;
use super::thread::{HeldThread, Verdict, newcomer};

/// Upper limit on the processes without room that are remembered.
const MAX_WAITING_PROCESSES: usize = 5_000;

/// Keeps rules in force.
#[derive(Clone, Debug, Default)]
pub struct Keeper {
    rules: Vec<ResolvedRule>,
    processes: BTreeMap<u32, Held>,
    /// The room that these processes take.
    room: ThreadRoom,
    /// Processes that rules match but that have no room, by their numbers.
    waiting: BTreeMap<u32, WaitingProcess>,
    /// Threads that another keeper placed, by their numbers and starts, until their first look.
    taken_over: TakenOver,
}

/// The original and the given masks of threads, by their numbers and starts.
type TakenOver = BTreeMap<(u32, u64), (Original, CpuSet)>;

impl Keeper {
    /// Creates a keeper of these rules; the first matching rule applies.
    pub fn new(rules: Vec<ResolvedRule>) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Takes over from an earlier keeper: the threads that it placed, by their numbers and starts, with their original
    /// and given masks, and the processes that are left alone.
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

    /// Removes a process, to change it or for good.
    fn take(&mut self, process: u32) -> Option<Held> {
        let held = self.processes.remove(&process)?;
        self.room.remove(&held.claim(process, held.threads.len()));
        Some(held)
    }

    fn put(&mut self, process: u32, held: Held) {
        self.room.add(&held.claim(process, held.threads.len()));
        self.waiting.remove(&process);
        self.processes.insert(process, held);
    }

    /// Returns true if it holds a thread.
    pub fn holds(&self, thread: u32) -> bool {
        self.processes.values().any(|held| held.threads.contains_key(&thread))
    }

    /// Returns the number of threads with room, at most [`super::MAX_HELD_THREADS`]; a process that is left alone
    /// counts as one.
    pub fn room_taken(&self) -> usize {
        self.room.threads()
    }

    /// Returns the processes that rules match but that have no room, by their numbers; limited to a maximum number.
    pub fn waiting(&self) -> &BTreeMap<u32, WaitingProcess> {
        &self.waiting
    }

    /// Replaces the rules, or their resolution on a machine that has changed. Each process is judged anew at its next
    /// look.
    pub fn set_rules(&mut self, rules: Vec<ResolvedRule>) {
        self.rules = rules;
    }

    /// Forgets threads taken over but not seen, after all processes were looked at.
    pub fn forget_taken_over(&mut self) {
        self.taken_over.clear();
    }

    /// Returns the rules.
    pub fn rules(&self) -> &[ResolvedRule] {
        &self.rules
    }

    /// Returns the processes that rules match, by their numbers.
    pub fn processes(&self) -> &BTreeMap<u32, Held> {
        &self.processes
    }

    /// Returns the rule in force that applies to a process.
    pub fn rule_of(&self, process: &Process) -> Option<&ResolvedRule> {
        self.rules.iter().find(|rule| rule.is_in_force() && rule.rule.matches.fit(process) == Fit::Yes)
    }

    /// Returns true if a process may need an action; its threads need not be known. Other processes need no look.
    pub fn concerns(&self, process: &Process) -> bool {
        !self.taken_over.is_empty()
            || self.processes.contains_key(&process.id)
            || self.processes.contains_key(&process.parent)
            || self.waiting.contains_key(&process.id)
            || self.rule_of(process).is_some()
    }

    /// Returns the rule that holds a process if all its cpus have gone offline: they may come back.
    fn waiting_rule(&self, process: &Process, held: &Held) -> Option<&ResolvedRule> {
        let waits = |rule: &&ResolvedRule| rule.rule.name == held.rule && rule.is_wanted() && rule.cpus.is_empty();
        self.rules.iter().find(waits).filter(|rule| rule.rule.matches.fit(process) == Fit::Yes)
    }

    /// Returns true if a process that is not held has no room with this many threads, and needs no other action. It
    /// then waits, and its threads need not be read.
    pub fn turns_away(&mut self, process: &Process, threads: usize, now: Duration) -> bool {
        let is_known = self.processes.contains_key(&process.id) || self.processes.contains_key(&process.parent);
        if is_known || !self.taken_over.is_empty() {
            return false;
        }
        let Some(rule) = self.rule_of(process).map(|rule| rule.rule.name.clone()) else { return false };
        let held = Held::matched(process, rule, now);
        let is_turned_away = self.room.claims_displaced_by(&held.claim(process.id, threads)).is_none();
        if is_turned_away {
            self.wait(process.id, &held, threads, now);
        }
        is_turned_away
    }

    /// Decides on actions for an observed process. `now` is the time since the keeper began; `author` finds the author
    /// of a thread's mask, and is called only if the mask was changed.
    pub fn look(&mut self, process: &Process, now: Duration, author: &dyn Fn(u32) -> Author) -> Vec<Action> {
        let known = self.take(process.id).filter(|known| known.start_ticks == process.start_ticks);
        let taken_over = self.taken_over_of(process);
        let rule = self.rule_of(process).or_else(|| self.waiting_rule(process, known.as_ref()?));
        let Some(rule) = rule.cloned() else { return self.let_go(process, known) };
        let is_first = known.is_none();
        let mut held = known.unwrap_or_else(|| Held::matched(process, String::new(), now));
        held.take_facts(process, &rule.rule.name, now);
        let Some(mut actions) = self.make_room(process, &held, now) else {
            self.wait(process.id, &held, process.threads.len(), now);
            return if is_first { self.disinherit(process) } else { held.give_back(process.id, Some(process)) };
        };
        let place = (process.cgroup.clone(), process.reachable.clone());
        let was_moved = std::mem::replace(&mut held.place, place.clone()) != place;
        if held.standing == Standing::Held {
            let how = ProcessLook { process, rule: &rule, is_first, was_moved, now, author };
            actions.extend(self.judge_threads(&mut held, &taken_over, &how));
        }
        self.put(process.id, held);
        actions
    }

    /// Decides about a process that no rule matches.
    fn let_go(&mut self, process: &Process, known: Option<Held>) -> Vec<Action> {
        self.waiting.remove(&process.id);
        match known {
            // A rule that is disabled for a while does not take back the user's request.
            Some(known) if known.is_left_alone() => {
                self.put(process.id, known);
                Vec::new()
            }
            Some(known) => known.give_back(process.id, Some(process)),
            None => self.disinherit(process),
        }
    }

    /// Takes room for a process from processes with more than their share; returns what these get back, or `None` if it
    /// has no room.
    fn make_room(&mut self, process: &Process, held: &Held, now: Duration) -> Option<Vec<Action>> {
        let displaced = self.room.claims_displaced_by(&held.claim(process.id, process.threads.len()))?;
        let mut actions = Vec::new();
        for id in displaced.into_iter().map(|claim| claim.process) {
            let Some(displaced) = self.take(id) else { continue };
            actions.extend(displaced.give_back(id, None));
            self.wait(id, &displaced, displaced.threads.len(), now);
        }
        Some(actions)
    }

    /// Remembers a process that has no room.
    fn wait(&mut self, process: u32, held: &Held, threads: usize, now: Duration) {
        let known = self.waiting.remove(&process).filter(|known| known.start_ticks == held.start_ticks);
        if self.waiting.len() >= MAX_WAITING_PROCESSES {
            return;
        }
        let Held { start_ticks, name, rule, charged_to, .. } = held.clone();
        let since = known.map_or(now, |known| known.since);
        self.waiting.insert(process, WaitingProcess { start_ticks, name, rule, charged_to, threads, since });
    }

    /// Judges all threads of a process that its rule holds. All are judged before any is placed: if the process is
    /// released, their masks are restored.
    fn judge_threads(
        &self,
        held: &mut Held,
        taken_over: &BTreeMap<u32, HeldThread>,
        how: &ProcessLook<'_>,
    ) -> Vec<Action> {
        let ProcessLook { process, rule, now, .. } = *how;
        let (mut left, mut placed) = (None, Vec::new());
        for thread in &process.threads {
            let known = held.threads.remove(&thread.id).or_else(|| taken_over.get(&thread.id).cloned());
            let mut state = known.unwrap_or_else(|| {
                let parent = self.processes.get(&process.parent);
                let relatives = held.threads.values().chain(parent.into_iter().flat_map(|held| held.threads.values()));
                newcomer(thread, process, relatives, how.is_first)
            });
            // Older kernels forget a requested mask when a control group or its cpus change.
            if how.was_moved && thread.cpus == process.reachable {
                state.seen.clone_from(&thread.cpus);
            }
            match state.judge(thread, process, rule, now, how.author) {
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
            let actions = held.give_back(process.id, Some(process));
            held.leave(because, now);
            return actions;
        }
        let place = |(id, cpus)| Some(held.threads.get_mut(&id)?.place(process.id, id, cpus));
        placed.into_iter().filter_map(place).collect()
    }

    /// Returns the threads of a process that another keeper placed, by their numbers.
    fn taken_over_of(&mut self, process: &Process) -> BTreeMap<u32, HeldThread> {
        let of = |thread: &Thread| {
            let (original, given) = self.taken_over.remove(&(thread.id, thread.start_ticks))?;
            let state = HeldThread::new(thread.start_ticks, original, given.clone());
            Some((thread.id, HeldThread { given: Some(given), ..state }))
        };
        process.threads.iter().filter_map(of).collect()
    }

    /// Restores inherited masks: the threads of a process that no rule matches get the original mask of their creator.
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

    /// Records the result of an action that placed a thread.
    pub fn settle(&mut self, action: &Action, outcome: Outcome, now: Duration) {
        let Some(mut held) = self.take(action.process) else { return };
        held.settle(action, outcome, now);
        self.put(action.process, held);
    }

    /// Forgets a process that ended.
    pub fn ended(&mut self, process: u32) {
        self.take(process);
        self.waiting.remove(&process);
    }

    /// Leaves a process alone from now on, and restores its masks.
    pub fn release(&mut self, process: u32, now: Duration) -> Vec<Action> {
        let Some(mut held) = self.take(process) else { return Vec::new() };
        let actions = held.give_back(process, None);
        held.leave(LeftBecause::Asked, now);
        self.put(process, held);
        actions
    }

    /// Holds a process again that was left alone, from the next look on.
    pub fn hold_again(&mut self, process: u32) {
        if self.processes.get(&process).is_some_and(Held::is_left_alone) {
            self.take(process);
        }
    }

    /// Restores all masks.
    pub fn give_back_all(&mut self) -> Vec<Action> {
        self.room = ThreadRoom::default();
        self.waiting.clear();
        std::mem::take(&mut self.processes).iter().flat_map(|(id, held)| held.give_back(*id, None)).collect()
    }
}

/// Circumstances of one look at a process.
#[derive(Clone, Copy)]
struct ProcessLook<'a> {
    process: &'a Process,
    rule: &'a ResolvedRule,
    is_first: bool,
    was_moved: bool,
    now: Duration,
    author: &'a dyn Fn(u32) -> Author,
}

/// Explains why there is no cpu for a thread.
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
