//! Keeps rules in force: decides on actions for each process that they match.

use std::collections::BTreeMap;
use std::time::Duration;

use corewise_machine::CpuSet;

use super::action::{KeepAction, KeepActionOutcome, LeftBecause, MaskAuthor, OriginalMask};
use super::kept_process::{KeptProcess, ProcessStanding, WaitingProcess};
use super::process::{ObservedProcess, ObservedThread, cgroup_owner};
use super::resolve::ResolvedRule;
use super::room::ThreadRoom;
use super::rule::MatchFit;
use super::thread::{HeldThread, ThreadVerdict, meet_thread};

/// Upper limit on the processes without room that are remembered.
const MAX_WAITING_PROCESSES: usize = 5_000;

/// Keeps rules in force.
#[derive(Clone, Debug, Default)]
pub struct RuleKeeper {
    rules: Vec<ResolvedRule>,
    processes: BTreeMap<u32, KeptProcess>,
    /// The room that these processes take.
    room: ThreadRoom,
    /// Processes that rules match but that have no room, by their numbers.
    waiting: BTreeMap<u32, WaitingProcess>,
    /// Threads that another keeper placed, by their numbers and starts, until their first look.
    taken_over: TakenOverMasks,
}

/// The original and the given masks of threads, by their numbers and starts.
type TakenOverMasks = BTreeMap<(u32, u64), (OriginalMask, CpuSet)>;

impl RuleKeeper {
    /// Creates a keeper of these rules; the first matching rule applies.
    pub fn new(rules: Vec<ResolvedRule>) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Takes over from an earlier keeper: the threads that it placed, by their numbers and starts, with their original
    /// and given masks, and the processes that are left alone.
    pub fn take_over(
        &mut self,
        placed: impl IntoIterator<Item = ((u32, u64), OriginalMask, CpuSet)>,
        left_alone: impl IntoIterator<Item = (u32, KeptProcess)>,
    ) {
        self.taken_over.extend(placed.into_iter().map(|(thread, original, given)| (thread, (original, given))));
        for (process, held) in left_alone {
            held.of_earlier().into_iter().for_each(|held| self.put_process(process, held));
        }
    }

    /// Removes a process, to change it or for good.
    fn take_process(&mut self, process: u32) -> Option<KeptProcess> {
        let held = self.processes.remove(&process)?;
        self.room.remove_claim(&held.room_claim(process, held.threads.len()));
        Some(held)
    }

    fn put_process(&mut self, process: u32, held: KeptProcess) {
        self.room.add_claim(&held.room_claim(process, held.threads.len()));
        self.waiting.remove(&process);
        self.processes.insert(process, held);
    }

    /// Returns true if it holds a thread.
    pub fn holds_thread(&self, thread: u32) -> bool {
        self.processes.values().any(|held| held.threads.contains_key(&thread))
    }

    /// Returns the number of threads with room, at most [`super::MAX_HELD_THREADS`]; a process that is left alone
    /// counts as one.
    pub fn room_taken(&self) -> usize {
        self.room.claimed_threads()
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
    pub fn processes(&self) -> &BTreeMap<u32, KeptProcess> {
        &self.processes
    }

    /// Returns the rule in force that applies to a process.
    pub fn rule_of(&self, process: &ObservedProcess) -> Option<&ResolvedRule> {
        self.rules.iter().find(|rule| rule.is_in_force() && rule.rule.matches.fit_process(process) == MatchFit::Yes)
    }

    /// Returns true if a process may need an action; its threads need not be known. Other processes need no look.
    pub fn concerns_process(&self, process: &ObservedProcess) -> bool {
        !self.taken_over.is_empty()
            || self.processes.contains_key(&process.id)
            || self.processes.contains_key(&process.parent)
            || self.waiting.contains_key(&process.id)
            || self.rule_of(process).is_some()
    }

    /// Returns the rule that holds a process if all its cpus have gone offline: they may come back.
    fn waiting_rule(&self, process: &ObservedProcess, held: &KeptProcess) -> Option<&ResolvedRule> {
        let waits = |rule: &&ResolvedRule| rule.rule.name == held.rule && rule.is_wanted() && rule.cpus.is_empty();
        self.rules.iter().find(waits).filter(|rule| rule.rule.matches.fit_process(process) == MatchFit::Yes)
    }

    /// Returns true if a process that is not held has no room with this many threads, and needs no other action. It
    /// then waits, and its threads need not be read.
    pub fn turns_away(&mut self, process: &ObservedProcess, threads: usize, now: Duration) -> bool {
        let is_known = self.processes.contains_key(&process.id) || self.processes.contains_key(&process.parent);
        if is_known || !self.taken_over.is_empty() {
            return false;
        }
        let Some(rule) = self.rule_of(process).map(|rule| rule.rule.name.clone()) else { return false };
        let held = KeptProcess::from_match(process, rule, now);
        let is_turned_away = self.room.claims_displaced_by(&held.room_claim(process.id, threads)).is_none();
        if is_turned_away {
            self.wait_for_room(process.id, &held, threads, now);
        }
        is_turned_away
    }

    /// Decides on actions for an observed process. `now` is the time since the keeper began; `author` finds the author
    /// of a thread's mask, and is called only if the mask was changed.
    pub fn plan_actions(
        &mut self,
        process: &ObservedProcess,
        now: Duration,
        author: &dyn Fn(u32) -> MaskAuthor,
    ) -> Vec<KeepAction> {
        let known = self.take_process(process.id).filter(|known| known.start_ticks == process.start_ticks);
        let taken_over = self.taken_over_of(process);
        let rule = self.rule_of(process).or_else(|| self.waiting_rule(process, known.as_ref()?));
        let Some(rule) = rule.cloned() else { return self.let_go(process, known) };
        let is_first = known.is_none();
        let mut held = known.unwrap_or_else(|| KeptProcess::from_match(process, String::new(), now));
        held.take_facts(process, &rule.rule.name, now);
        let Some(mut actions) = self.make_room(process, &held, now) else {
            self.wait_for_room(process.id, &held, process.threads.len(), now);
            return if is_first { self.disinherit_masks(process) } else { held.give_back(process.id, Some(process)) };
        };
        let place = (process.cgroup.clone(), process.reachable.clone());
        let was_moved = std::mem::replace(&mut held.place, place.clone()) != place;
        if held.standing == ProcessStanding::Held {
            let how = ProcessInspection { process, rule: &rule, is_first, was_moved, now, author };
            self.meet_threads(&mut held, taken_over, &how);
            actions.extend(Self::judge_threads(&mut held, &how));
        }
        self.put_process(process.id, held);
        actions
    }

    /// Decides about a process that no rule matches.
    fn let_go(&mut self, process: &ObservedProcess, known: Option<KeptProcess>) -> Vec<KeepAction> {
        self.waiting.remove(&process.id);
        match known {
            // A rule that is disabled for a while does not take back the user's request.
            Some(known) if known.is_left_alone() => {
                self.put_process(process.id, known);
                Vec::new()
            }
            Some(known) => known.give_back(process.id, Some(process)),
            None => self.disinherit_masks(process),
        }
    }

    /// Takes room for a process from processes with more than their share; returns what these get back, or `None` if it
    /// has no room.
    fn make_room(&mut self, process: &ObservedProcess, held: &KeptProcess, now: Duration) -> Option<Vec<KeepAction>> {
        let displaced = self.room.claims_displaced_by(&held.room_claim(process.id, process.threads.len()))?;
        let mut actions = Vec::new();
        for id in displaced.into_iter().map(|claim| claim.process) {
            let Some(displaced) = self.take_process(id) else { continue };
            actions.extend(displaced.give_back(id, None));
            self.wait_for_room(id, &displaced, displaced.threads.len(), now);
        }
        Some(actions)
    }

    /// Remembers a process that has no room.
    fn wait_for_room(&mut self, process: u32, held: &KeptProcess, threads: usize, now: Duration) {
        let known = self.waiting.remove(&process).filter(|known| known.start_ticks == held.start_ticks);
        if self.waiting.len() >= MAX_WAITING_PROCESSES {
            return;
        }
        let KeptProcess { start_ticks, name, rule, charged_to, .. } = held.clone();
        let since = known.map_or(now, |known| known.since);
        self.waiting.insert(process, WaitingProcess { start_ticks, name, rule, charged_to, threads, since });
    }

    /// Adds the threads that were not there at the last look: with what another keeper knew of them, or else what they inherited.
    fn meet_threads(&self, held: &mut KeptProcess, taken_over: BTreeMap<u32, HeldThread>, how: &ProcessInspection<'_>) {
        let process = how.process;
        for (id, state) in taken_over {
            held.threads.entry(id).or_insert(state);
        }
        let parent = self.processes.get(&process.parent);
        let relatives = held.threads.values().chain(parent.into_iter().flat_map(|parent| parent.threads.values()));
        let unknown = process.threads.iter().filter(|thread| !held.threads.contains_key(&thread.id));
        let meet = |thread: &ObservedThread| (thread.id, meet_thread(thread, process, relatives.clone(), how.is_first));
        let met: Vec<(u32, HeldThread)> = unknown.map(meet).collect();
        held.threads.extend(met);
    }

    /// Judges all threads of a process that its rule holds. All are judged before any is placed: if the process is
    /// released, their masks are restored.
    fn judge_threads(held: &mut KeptProcess, how: &ProcessInspection<'_>) -> Vec<KeepAction> {
        let ProcessInspection { process, rule, now, .. } = *how;
        let (mut left, mut placed) = (None, Vec::new());
        for thread in &process.threads {
            let Some(mut state) = held.threads.remove(&thread.id) else { continue };
            // Older kernels forget a requested mask when a control group or its cpus change.
            if how.was_moved && thread.cpus == process.reachable {
                state.seen.clone_from(&thread.cpus);
            }
            match state.judge_thread(thread, process, rule, now, how.author) {
                ThreadVerdict::Nothing => {}
                ThreadVerdict::Place(cpus) => placed.push((thread.id, cpus)),
                ThreadVerdict::Correct(cpus, author) => {
                    held.corrections += 1;
                    let (who, was) = (author.describe_author(), &thread.cpus);
                    held.add_note(now, format!("{who} set cpus {was}; they are {cpus} again"));
                    placed.push((thread.id, cpus));
                }
                ThreadVerdict::Release(because) => left = Some(because),
                ThreadVerdict::NoCpu => {
                    let what = nothing_for(thread, process, rule, &state.original);
                    held.add_note(now, what);
                }
            }
            held.threads.insert(thread.id, state);
        }
        if let Some(because) = left {
            let actions = held.give_back(process.id, Some(process));
            held.leave_alone(because, now);
            return actions;
        }
        let place = |(id, cpus)| Some(held.threads.get_mut(&id)?.place_thread(process.id, id, cpus));
        placed.into_iter().filter_map(place).collect()
    }

    /// Returns the threads of a process that another keeper placed, by their numbers.
    fn taken_over_of(&mut self, process: &ObservedProcess) -> BTreeMap<u32, HeldThread> {
        let of = |thread: &ObservedThread| {
            let (original, given) = self.taken_over.remove(&(thread.id, thread.start_ticks))?;
            let state = HeldThread::new(thread.start_ticks, original, given.clone());
            Some((thread.id, HeldThread { given: Some(given), ..state }))
        };
        process.threads.iter().filter_map(of).collect()
    }

    /// Restores inherited masks: the threads of a process that no rule matches get the original mask of their creator.
    fn disinherit_masks(&self, process: &ObservedProcess) -> Vec<KeepAction> {
        let parent = self.processes.get(&process.parent);
        let Some(parent) = parent.filter(|parent| parent.start_ticks <= process.start_ticks) else { return Vec::new() };
        let inherited = |thread: &ObservedThread| {
            let creator = parent.threads.values().find(|creator| creator.is_placed() && creator.seen == thread.cpus)?;
            let back = creator.original.restrict_to(&process.reachable);
            let is_nothing = back.is_empty() || back == thread.cpus || thread.cpus == process.reachable;
            (!is_nothing).then(|| KeepAction {
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
    pub fn settle_action(&mut self, action: &KeepAction, outcome: KeepActionOutcome, now: Duration) {
        let Some(mut held) = self.take_process(action.process) else { return };
        held.settle_action(action, outcome, now);
        self.put_process(action.process, held);
    }

    /// Forgets a process that ended.
    pub fn forget_process(&mut self, process: u32) {
        self.take_process(process);
        self.waiting.remove(&process);
    }

    /// Returns the processes with threads that could not be placed and are to be tried again.
    pub fn processes_to_retry(&self, now: Duration) -> Vec<u32> {
        let is_due = |held: &KeptProcess| held.threads.values().any(|thread| thread.is_retry_due(now));
        self.processes.iter().filter(|(_, held)| is_due(held)).map(|(process, _)| *process).collect()
    }

    /// Returns true if it knows the process that started then.
    pub fn knows_process(&self, process: u32, start_ticks: u64) -> bool {
        self.processes.get(&process).is_some_and(|held| held.start_ticks == start_ticks)
    }

    /// Leaves a process alone from now on, and restores its masks.
    pub fn release_process(&mut self, process: u32, now: Duration) -> Vec<KeepAction> {
        let Some(mut held) = self.take_process(process) else { return Vec::new() };
        let actions = held.give_back(process, None);
        held.leave_alone(LeftBecause::Asked, now);
        self.put_process(process, held);
        actions
    }

    /// Holds a process again that was left alone, from the next look on.
    pub fn hold_again(&mut self, process: u32) {
        if self.processes.get(&process).is_some_and(KeptProcess::is_left_alone) {
            self.take_process(process);
        }
    }

    /// Restores all masks.
    pub fn give_back_all(&mut self) -> Vec<KeepAction> {
        self.room = ThreadRoom::default();
        self.waiting.clear();
        std::mem::take(&mut self.processes).iter().flat_map(|(id, held)| held.give_back(*id, None)).collect()
    }
}

/// Circumstances of one look at a process.
#[derive(Clone, Copy)]
struct ProcessInspection<'a> {
    process: &'a ObservedProcess,
    rule: &'a ResolvedRule,
    is_first: bool,
    was_moved: bool,
    now: Duration,
    author: &'a dyn Fn(u32) -> MaskAuthor,
}

/// Explains why there is no cpu for a thread.
fn nothing_for(
    thread: &ObservedThread,
    process: &ObservedProcess,
    rule: &ResolvedRule,
    original: &OriginalMask,
) -> String {
    let cpus = rule.cpus_of(&thread.name);
    match original {
        _ if cpus.is_empty() => {
            format!("rule {} has no cpu here now: the kernel decides until there is one", rule.rule.name)
        }
        OriginalMask::Only(had) if !cpus.is_disjoint(&process.reachable) => format!(
            "thread {} had cpus {had} before, none of {cpus}: `widen = true` in rule {} would give it others",
            thread.id, rule.rule.name
        ),
        _ => format!(
            "no cpu of {cpus} can be had: {} lets {} use {}",
            cgroup_owner(&process.cgroup),
            process.cgroup,
            process.reachable
        ),
    }
}
