//! Placing threads and giving back what they had, through the journal.

use std::collections::BTreeMap;
use std::path::Path;

use corewise_model::keep::{Action, Original, Outcome};
use corewise_sys::SysError;
use corewise_sys::affinity;
use corewise_sys::change::{Change, Journal, Left, Standing, left_in};
use corewise_sys::process::Process;

use super::all_cpus;

/// A thread: its number, and when it started.
type Identity = (u32, u64);

pub struct Hands {
    journal: Journal,
    /// The changes of each thread in the journal, in their order.
    changes: BTreeMap<Identity, Vec<u32>>,
}

impl Hands {
    pub fn new(journal: Journal) -> Self {
        Self { journal, changes: BTreeMap::new() }
    }

    /// Places a thread; nothing where it is not as it was seen, which the next look finds out about.
    pub fn place(&mut self, action: &Action) -> Option<Outcome> {
        let cpus = action.cpus.clone()?;
        let Ok(change) = Change::affinity(action.thread, cpus.clone()) else { return Some(Outcome::Ended) };
        let Change::Affinity(seen) = &change else { return None };
        if seen.thread.start_ticks != action.start_ticks {
            return Some(Outcome::Ended);
        }
        if seen.old != action.seen {
            return None;
        }
        match self.journal.make(change) {
            Ok(number) => {
                self.changes.entry((action.thread, action.start_ticks)).or_default().push(number);
                Some(Outcome::Placed(affinity::of(action.thread).unwrap_or(cpus)))
            }
            Err(SysError::Change { source, .. }) if affinity::has_ended(&source) => Some(Outcome::Ended),
            Err(error) => Some(Outcome::Refused(error.to_string())),
        }
    }

    /// Gives threads back what they had; how many have that again.
    pub fn give_back(&mut self, actions: &[Action]) -> usize {
        actions.iter().filter(|action| self.give_back_one(action)).count()
    }

    fn give_back_one(&mut self, action: &Action) -> bool {
        let thread = Process { id: action.thread, start_ticks: action.start_ticks };
        let made = self.changes.remove(&(action.thread, action.start_ticks));
        let is_as_seen = thread.is_alive() && affinity::of(thread.id).is_ok_and(|cpus| cpus == action.seen);
        for number in made.into_iter().flatten().rev() {
            self.journal.undo(number);
        }
        // What the journal has is what was seen. A mask that was all of the cpuset is given back as all, so that it grows with that; and
        // what a child inherited is in no journal: if this is never done, nothing has changed.
        is_as_seen
            && match &action.original {
                Original::All => thread.restrict(&all_cpus()).is_ok(),
                Original::Only(cpus) => thread.restrict(cpus).is_ok(),
            }
    }

    /// Gives everything back, also what no action speaks of any more; how many threads the actions were for.
    pub fn give_back_all(&mut self, actions: &[Action]) -> usize {
        let count = self.give_back(actions);
        self.journal.undo_all();
        count
    }

    /// Forgets threads that ended: there is nothing to give back.
    pub fn forget(&mut self, threads: impl Iterator<Item = Identity>) {
        for number in threads.filter_map(|thread| self.changes.remove(&thread)).flatten() {
            self.journal.undo(number);
        }
    }
}

/// Gives back what a keeper that was killed left: those journals whose changes are masks alone. How many threads it was.
///
/// # Errors
/// Where the folder of journals cannot be read.
pub fn give_back_left(folder: &Path) -> Result<usize, SysError> {
    let of_keeper = |left: &Left| {
        *left.standing() == Standing::Left
            && left.open_entries().all(|entry| matches!(entry.change, Change::Affinity(_)))
    };
    let mut count = 0;
    for mut left in left_in(folder)?.into_iter().flatten().filter(of_keeper) {
        count += left.undo().len();
        let _ = left.clear()?;
    }
    Ok(count)
}
