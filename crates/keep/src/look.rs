//! Looks at one process, and acts on it.

use std::collections::BTreeSet;
use std::time::Duration;

use corewise_model::keep::{
    KeepAction, KeepActionOutcome, KeptProcess, MaskAuthor, ObservedProcess, RetryTime, RuleKeeper,
};
use corewise_sys::task;
use tracing::{info, warn};

use super::process_watcher::{self, FactNeeds};
use super::{KeepLoop, MOST_LOOKS, mask_journal};

impl KeepLoop<'_> {
    /// Looks at a process and acts on it, again if it started unplaced threads meanwhile. Returns true if a rule matches it, or did.
    pub(super) fn look_at(&mut self, id: u32) -> bool {
        let is_known = |keeper: &RuleKeeper| keeper.processes().contains_key(&id) || keeper.waiting().contains_key(&id);
        let was_known = is_known(&self.keeper);
        let _ = (0..MOST_LOOKS).find(|_| !self.look_once(id));
        was_known || is_known(&self.keeper)
    }

    /// Looks at a process once and acts on it. Returns true if threads were placed and the process has others by now.
    fn look_once(&mut self, id: u32) -> bool {
        let was_held = self.keeper.processes().contains_key(&id);
        let unread = self.unread.remove(&id);
        let needs = FactNeeds::of_rules(self.keeper.rules().iter().map(|rule| &rule.rule.matches));
        let keeper = &self.keeper;
        let process = match self.eyes.read_facts(id, needs, |process| keeper.concerns_process(process)) {
            Ok(Some(process)) => process,
            Ok(None) => {
                self.forget_process(id);
                return false;
            }
            // It may be there.
            Err(_) => return self.note_unread(id, unread),
        };
        self.status.looks += 1;
        self.note_unreadable(&process);
        if !self.keeper.concerns_process(&process) {
            return false;
        }
        let now = self.began.elapsed();
        // Before the process's threads are read one by one.
        let threads = task::thread_count(id).filter(|_| !was_held);
        if threads.is_some_and(|threads| self.keeper.turns_away(&process, threads, now)) {
            return false;
        }
        let Some(process) = process_watcher::complete_process(process) else {
            return self.note_unread(id, unread);
        };
        // After the masks were seen: their setters' requests have been reported by now, and are about to be answered.
        if let Some(authors) = self.authors.as_mut().filter(|_| was_held) {
            let changed = changed_threads(&process, self.keeper.processes().get(&id));
            authors.take_answered_requests(&changed, |thread| self.keeper.holds_thread(thread));
        }
        let authors = self.authors.as_ref();
        let author = |thread| authors.map_or(MaskAuthor::Unknown, |authors| authors.author_of(thread, id));
        let actions = self.keeper.plan_actions(&process, now, &author);
        let (places, back): (Vec<KeepAction>, Vec<KeepAction>) =
            actions.into_iter().partition(|action| action.cpus.is_some());
        // Restoring may take long, so it comes last if the journal has room for both.
        let comes_last = places.len() <= mask_journal::MAX_CHANGES_AT_ONCE;
        self.hands.restore_masks(if comes_last { &[] } else { &back });
        self.place_threads(&process, &places, now);
        self.hands.restore_masks(if comes_last { &back } else { &[] });
        self.log_news(&process, now);
        !places.is_empty() && task::has_other_than(id, process.threads.len())
    }

    /// Places threads of a process, and records what came of it.
    fn place_threads(&mut self, process: &ObservedProcess, places: &[KeepAction], now: Duration) {
        for places in places.chunks(mask_journal::MAX_CHANGES_AT_ONCE) {
            for (action, outcome) in places.iter().zip(self.hands.place_threads(process, places)) {
                if let Some(outcome) = outcome {
                    self.status.placed += u64::from(matches!(outcome, KeepActionOutcome::Placed(_)));
                    self.keeper.settle_action(action, outcome, now);
                }
            }
            // The kernel reports these requests too. A large process's would leave no room for others'.
            if let Some(authors) = &mut self.authors {
                authors.take_requests(|thread| self.keeper.holds_thread(thread));
            }
        }
    }

    /// Remembers that a process could not be read, again if there was an `earlier` attempt. Returns false: there is nothing more to do in
    /// this look.
    fn note_unread(&mut self, id: u32, earlier: Option<RetryTime>) -> bool {
        self.unread.insert(id, RetryTime::after_failure(earlier, self.began.elapsed()));
        false
    }

    /// Logs what was noted of a process in this look.
    fn log_news(&self, process: &ObservedProcess, now: Duration) {
        let Some(held) = self.keeper.processes().get(&process.id) else { return };
        let (id, name, rule) = (process.id, process.name.as_str(), held.rule.as_str());
        let is_bad = held.is_left_alone() || held.threads.values().any(|thread| thread.refused.is_some());
        for what in held.notes.iter().filter(|note| note.at == now).map(|note| &note.what) {
            match is_bad {
                true => warn!(process = id, name, rule, "{name} ({id}): {what}"),
                false => info!(process = id, name, rule, "{name} ({id}): {what}"),
            }
        }
    }
}

/// Returns the threads of a process with other masks than at the last look.
fn changed_threads(process: &ObservedProcess, held: Option<&KeptProcess>) -> BTreeSet<u32> {
    let seen_before = |thread: u32| held?.threads.get(&thread).map(|known| &known.seen);
    let changed =
        process.threads.iter().filter(|thread| seen_before(thread.id).is_some_and(|seen| *seen != thread.cpus));
    changed.map(|thread| thread.id).collect()
}
