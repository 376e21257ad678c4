//! Places threads and restores their original masks, through the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use corewise_machine::CpuSet;
use corewise_model::keep::{KeepAction, KeepActionOutcome, ObservedProcess, OriginalMask};
use corewise_sys::SysError;
use corewise_sys::change::{AbandonedJournal, AffinityChange, Change, ChangeJournal, JournalStanding, left_in};
use corewise_sys::process::ProcessIdentity;
use corewise_sys::{affinity, cpuset};

/// Identity of a thread: its number and start time.
type ThreadIdentity = (u32, u64);

/// Maximum changes written to the journal at once. The journal may exceed the number of threads by as many.
pub const MAX_CHANGES_AT_ONCE: usize = 500;
/// Maximum masks remembered of a thread, the latest ones.
const MAX_MASKS_OF_A_THREAD: usize = 8;

pub struct MaskJournal {
    journal: ChangeJournal,
    /// The journalled change of each thread. There is one, however often the thread was placed, so that a thread cannot fill the journal.
    changes: BTreeMap<ThreadIdentity, ThreadChange>,
}

/// A thread's change in the journal.
struct ThreadChange {
    number: u32,
    /// The masks that the thread was given, the latest last. Setting one of them again needs no other change.
    given: Vec<CpuSet>,
    /// Time of the first decision, in clock ticks.
    at_ticks: u64,
}

impl MaskJournal {
    pub fn new(mut journal: ChangeJournal) -> Self {
        // If this fails, each placement reports why.
        let _ = journal.keep_file();
        Self { journal, changes: BTreeMap::new() }
    }

    /// Takes over the changes of a killed keeper. Masks that are still as it set them stay and become this keeper's, with the threads'
    /// original masks. Everything else is given back.
    ///
    /// # Errors
    /// If the folder of journals cannot be read.
    pub fn take_over(&mut self) -> Result<Vec<(ThreadIdentity, OriginalMask, CpuSet)>, SysError> {
        let mut placed = Vec::new();
        for mut left in left_in(self.journal.folder())?.into_iter().flatten().filter(is_of_keeper) {
            let (masks, present): (Vec<AffinityChange>, Vec<CpuSet>) = left.masks_in_force().into_iter().unzip();
            // Changes that cannot be journalled are given back with the rest.
            if let Ok(numbers) = self.journal.take_over(masks.iter().cloned().map(Change::Affinity).collect()) {
                left.hand_over(&masks);
                for ((mask, now), number) in masks.into_iter().zip(present).zip(numbers) {
                    let thread = (mask.thread.id, mask.thread.start_ticks);
                    let original = if mask.was_all { OriginalMask::All } else { OriginalMask::Only(mask.old) };
                    let given = [mask.in_turn, vec![mask.new]].concat();
                    let change = ThreadChange { number, given, at_ticks: mask.at_ticks };
                    self.replace_change(thread, change);
                    placed.push((thread, original, now));
                }
            }
            left.undo_changes();
            let _ = left.clear_journal()?;
        }
        Ok(placed)
    }

    /// Restores the threads that are not among `held`.
    pub fn give_back_others(&mut self, held: &BTreeSet<ThreadIdentity>) {
        let others: Vec<ThreadIdentity> =
            self.changes.keys().filter(|thread| !held.contains(thread)).copied().collect();
        self.undo_threads(others.into_iter());
    }

    /// Places threads of a process, at most [`MAX_CHANGES_AT_ONCE`]; journals the changes together. The outcome is `None` for a thread with
    /// another mask than the one seen: the next look handles it.
    pub fn place_threads(
        &mut self,
        process: &ObservedProcess,
        actions: &[KeepAction],
    ) -> Vec<Option<KeepActionOutcome>> {
        let mut outcomes = vec![None; actions.len()];
        let mut changes = Vec::new();
        for (index, action) in actions.iter().enumerate() {
            let (thread, Some(cpus)) = (thread_identity(action), &action.cpus) else { continue };
            match affinity::affinity_of(thread.id) {
                Ok(now) if now != action.seen => {}
                Ok(_) if self.has_change(thread, cpus) => {
                    outcomes[index] = Some(to_outcome(thread.restrict_thread(cpus)))
                }
                Ok(_) => changes.push((index, self.include_earlier(change_mask(process, action, cpus)))),
                Err(_) => outcomes[index] = Some(KeepActionOutcome::Ended),
            }
        }
        let places: Vec<(usize, u64)> = changes.iter().map(|(index, change)| (*index, change.at_ticks)).collect();
        match self.journal.make_all(changes.into_iter().map(|(_, change)| Change::Affinity(change)).collect()) {
            Ok(made) => {
                for ((index, at_ticks), made) in places.into_iter().zip(made) {
                    outcomes[index] = Some(self.remember_change(&actions[index], at_ticks, made));
                }
            }
            Err(error) => places
                .into_iter()
                .for_each(|(index, _)| outcomes[index] = Some(KeepActionOutcome::Refused(error.to_string()))),
        }
        outcomes
    }

    fn has_change(&self, thread: ProcessIdentity, cpus: &CpuSet) -> bool {
        let changes = self.changes.get(&(thread.id, thread.start_ticks));
        changes.is_some_and(|change| change.given.contains(cpus))
    }

    /// Makes a change undo the thread's earlier masks too.
    fn include_earlier(&self, change: AffinityChange) -> AffinityChange {
        let Some(earlier) = self.changes.get(&(change.thread.id, change.thread.start_ticks)) else { return change };
        AffinityChange { at_ticks: earlier.at_ticks, ..change.and_in_turn(earlier.given.clone()) }
    }

    fn remember_change(
        &mut self,
        action: &KeepAction,
        at_ticks: u64,
        made: Result<u32, SysError>,
    ) -> KeepActionOutcome {
        match (made, &action.cpus) {
            (Ok(number), Some(cpus)) => {
                let change = ThreadChange { number, given: vec![cpus.clone()], at_ticks };
                self.replace_change((action.thread, action.start_ticks), change);
                to_outcome(affinity::affinity_of(action.thread))
            }
            (Err(SysError::Change { source, .. }), _) if affinity::has_ended(&source) => KeepActionOutcome::Ended,
            (Err(error), _) => KeepActionOutcome::Refused(error.to_string()),
            (Ok(_), None) => KeepActionOutcome::Ended,
        }
    }

    /// Remembers the latest change of a thread, which contains the earlier ones.
    fn replace_change(&mut self, thread: ThreadIdentity, mut change: ThreadChange) {
        if let Some(replaced) = self.changes.remove(&thread) {
            self.journal.forget_replaced(replaced.number);
            change.given = [replaced.given, change.given].concat();
        }
        let oldest = change.given.len().saturating_sub(MAX_MASKS_OF_A_THREAD);
        change.given.drain(..oldest);
        self.changes.insert(thread, change);
    }

    /// Restores the original masks of threads; returns the number restored.
    pub fn restore_masks(&mut self, actions: &[KeepAction]) -> usize {
        let as_seen: Vec<&KeepAction> = actions.iter().filter(|action| is_as_seen(action)).collect();
        self.undo_threads(actions.iter().map(|action| (action.thread, action.start_ticks)));
        self.restore_inherited(&as_seen)
    }

    /// Restores everything, including changes that no action mentions; returns the number of the actions' threads restored.
    pub fn give_back_all(&mut self, actions: &[KeepAction]) -> usize {
        let as_seen: Vec<&KeepAction> = actions.iter().filter(|action| is_as_seen(action)).collect();
        self.changes.clear();
        self.journal.undo_all();
        self.restore_inherited(&as_seen)
    }

    /// Forgets threads that have ended: they need no restoring.
    pub fn forget_threads(&mut self, threads: impl Iterator<Item = ThreadIdentity>) {
        self.undo_threads(threads);
    }

    fn undo_threads(&mut self, threads: impl Iterator<Item = ThreadIdentity>) {
        let numbers = threads.filter_map(|thread| self.changes.remove(&thread)).map(|change| change.number);
        self.journal.undo_these(&numbers.collect());
    }

    /// Restores inherited masks, which have no journal entry of their own; no original setting is lost.
    fn restore_inherited(&self, as_seen: &[&KeepAction]) -> usize {
        let restored = as_seen.iter().filter(|action| {
            let before = match &action.original {
                OriginalMask::All => &cpuset::possible_cpus(),
                OriginalMask::Only(cpus) => cpus,
            };
            thread_identity(action).restrict_thread(before).is_ok()
        });
        restored.count()
    }
}

/// Returns true if a thread lives and its mask is still the one seen last.
fn is_as_seen(action: &KeepAction) -> bool {
    thread_identity(action).is_alive() && affinity::affinity_of(action.thread).is_ok_and(|cpus| cpus == action.seen)
}

fn thread_identity(action: &KeepAction) -> ProcessIdentity {
    ProcessIdentity { id: action.thread, start_ticks: action.start_ticks }
}

fn to_outcome(cpus: io::Result<CpuSet>) -> KeepActionOutcome {
    match cpus {
        Ok(cpus) => KeepActionOutcome::Placed(cpus),
        Err(error) if affinity::has_ended(&error) => KeepActionOutcome::Ended,
        Err(error) => KeepActionOutcome::Refused(error.to_string()),
    }
}

/// Builds the journal's change. A thread that was placed before, or inherited its mask, had another original mask than the one seen now.
fn change_mask(process: &ObservedProcess, action: &KeepAction, cpus: &CpuSet) -> AffinityChange {
    let (old, was_all) = match &action.original {
        OriginalMask::All => (process.reachable.clone(), true),
        OriginalMask::Only(cpus) => (cpus.clone(), false),
    };
    let thread = process.threads.iter().find(|thread| thread.id == action.thread);
    let name = thread.map_or(&process.name, |thread| &thread.name).clone();
    let identity = ProcessIdentity { id: process.id, start_ticks: process.start_ticks };
    AffinityChange::from_known(identity, (thread_identity(action), name), old, was_all, cpus.clone())
}

/// Returns true if a killed keeper left this journal: all its changes are masks.
fn is_of_keeper(left: &AbandonedJournal) -> bool {
    *left.standing() == JournalStanding::Left
        && left.open_entries().all(|entry| matches!(entry.change, Change::Affinity(_)))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use corewise_sys::process::ProcessStat;

    use super::*;

    /// A thread whose mask is set to others again and again has one change in the journal, which gives back what it had at first.
    #[test]
    fn a_thread_has_one_change_however_often_it_is_placed() {
        let all = affinity::current_affinity().unwrap();
        if all.len() < 2 {
            return println!("skipped: one cpu alone leaves nothing to set");
        }
        let folder = tempfile::tempdir().unwrap();
        let mut hands = MaskJournal::new(ChangeJournal::in_folder(folder.path().join("journals")));
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let id = child.id();
        let start_ticks = ProcessStat::read_stat(id).unwrap().unwrap().start_ticks;
        let process = ObservedProcess { id, start_ticks, reachable: all.clone(), ..ObservedProcess::default() };
        let [first, last] = [all.lowest(), all.highest()].map(|cpu| CpuSet::from_cpu(cpu.unwrap()));
        let mut seen = affinity::affinity_of(id).unwrap();
        for cpus in [&first, &last, &all, &first, &last] {
            let original = OriginalMask::All;
            let action = KeepAction { process: id, thread: id, start_ticks, cpus: Some(cpus.clone()), original, seen };
            assert_eq!(hands.place_threads(&process, &[action]), [Some(KeepActionOutcome::Placed(cpus.clone()))]);
            assert_eq!(hands.journal.entries().len(), 1);
            seen = cpus.clone();
        }
        // Where this loop is killed, the next one finds the same.
        ProcessIdentity::find_task(id).and_then(|task| task.restrict_thread(&first)).unwrap();
        hands.give_back_all(&[]);
        assert_eq!(affinity::affinity_of(id).unwrap(), all, "what it was given before counts as well");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
