//! A change of the cpus that a thread of another process may use.

use std::fmt;
use std::io;

use corewise_machine::CpuSet;
use serde::{Deserialize, Serialize};

use super::standing::ChangeStanding;
use crate::os::affinity::{self, OwnMask};
use crate::os::cpuset;
use crate::os::process::{self, ProcessIdentity, ProcessStat};

/// Other cpus for a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AffinityChange {
    /// The thread.
    pub thread: ProcessIdentity,
    /// Its process. Threads and processes that it starts later inherit `new`, and get `old` when this thread does. `None` in journals of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessIdentity>,
    /// Its name when it was changed.
    pub name: String,
    /// The cpus it was allowed before.
    pub old: CpuSet,
    /// True if `old` was all of its cpuset. Then the thread gets all again, so that its cpus grow with the cpuset.
    #[serde(default)]
    pub was_all: bool,
    /// The cpus it is allowed now.
    pub new: CpuSet,
    /// Other cpus that it may be given in turn while this change is open: having these, too, is due to this change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_turn: Vec<CpuSet>,
    /// If the change is of a whole process: its threads that had fewer cpus of their own, and get those again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_masks: Vec<OwnMask>,
    /// Time of this decision, in kernel ticks since boot. A thread with these cpus that started earlier did not get them from this change.
    #[serde(default)]
    pub at_ticks: u64,
}

impl AffinityChange {
    /// Creates a change to a thread of a process, both as seen before. Reads its present cpus.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if the thread has ended or its number was reused; errors of the kernel.
    pub fn new(process: ProcessIdentity, thread: ProcessIdentity, new: CpuSet) -> io::Result<Self> {
        let old = affinity::affinity_of(thread.id)?;
        let was_all = old == cpuset::cpuset_of(thread.id);
        let gone = || io::Error::new(io::ErrorKind::NotFound, format!("there is no thread {} any more", thread.id));
        let is_it = |stat: &ProcessStat| !stat.has_ended && stat.start_ticks == thread.start_ticks;
        let name = ProcessStat::read_stat(thread.id)?.filter(is_it).ok_or_else(gone)?.name;
        Ok(Self::from_known(process, (thread, name), old, was_all, new))
    }

    /// As [`Self::new`], if the thread's name and old cpus are known, and if these were all of its cpuset. Making the change checks that it is
    /// still this thread.
    pub fn from_known(
        process: ProcessIdentity,
        (thread, name): (ProcessIdentity, String),
        old: CpuSet,
        was_all: bool,
        new: CpuSet,
    ) -> Self {
        Self {
            thread,
            process: Some(process),
            name,
            old,
            was_all,
            new,
            in_turn: Vec::new(),
            own_masks: affinity::own_masks(thread.id),
            at_ticks: process::ticks_since_boot(),
        }
    }

    /// Adds other cpus that the thread will get while this change is open. All are recorded before the first is made.
    #[must_use]
    pub fn and_in_turn(self, others: Vec<CpuSet>) -> Self {
        Self { in_turn: others, ..self }
    }

    /// Returns the cpus to restore for a thread that is part of this change.
    pub(super) fn cpus_before(&self) -> CpuSet {
        if self.was_all { cpuset::possible_cpus() } else { self.old.clone() }
    }

    /// Takes over the old cpus of the thread that started this one, which was changed.
    #[must_use]
    pub fn inherited_from(self, creator: &Self) -> Self {
        Self { old: creator.old.clone(), was_all: creator.was_all, ..self }
    }

    pub(super) fn of_number(thread: u32, new: CpuSet) -> io::Result<Self> {
        let gone = || io::Error::new(io::ErrorKind::NotFound, format!("there is no thread {thread}"));
        let identity = |id: u32| -> io::Result<ProcessIdentity> {
            let stat = ProcessStat::read_stat(id)?.filter(|stat| !stat.has_ended).ok_or_else(gone)?;
            Ok(ProcessIdentity { id, start_ticks: stat.start_ticks })
        };
        let process = process::process_of(thread)?.ok_or_else(gone)?;
        Self::new(identity(process)?, identity(thread)?, new)
    }

    /// Returns the thread's cpus if it is alive and they are exactly the ones of this change, at first or in turn.
    pub(super) fn cpus_in_force(&self) -> Option<CpuSet> {
        let now = affinity::affinity_of(self.thread.id).ok().filter(|_| self.thread.is_alive())?;
        self.given_sets().any(|given| *given == now).then_some(now)
    }

    pub(super) fn apply_change(&self) -> io::Result<()> {
        let now = self.thread.restrict_thread(&self.new)?;
        if now == self.new {
            return Ok(());
        }
        self.thread.restrict_thread(&self.cpus_before())?;
        Err(cut_error(&now))
    }

    pub(super) fn read_standing(&self) -> io::Result<ChangeStanding> {
        if !self.thread.is_alive() {
            return Ok(ChangeStanding::AsBefore("it has ended"));
        }
        let now = match affinity::affinity_of(self.thread.id) {
            Err(error) if affinity::has_ended(&error) => return Ok(ChangeStanding::AsBefore("it has ended")),
            now => now?,
        };
        if now == self.old && self.old == self.new && self.in_turn.is_empty() {
            return Ok(ChangeStanding::AsBefore("it has the old value"));
        }
        let reachable = cpuset::cpuset_of(self.thread.id);
        Ok(if self.explains_cpus(&now, &reachable) {
            ChangeStanding::InForce
        } else if now == self.old || self.was_all && now == reachable {
            ChangeStanding::AsBefore("it has the old value")
        } else {
            ChangeStanding::Changed(format!("someone else has changed it since: it may now use {now}"))
        })
    }

    /// Returns true if a thread's cpus can result from this change. The kernel leaves out cpus that are offline or not in the cpuset, and
    /// gives all of the cpuset if nothing remains.
    pub(super) fn explains_cpus(&self, now: &CpuSet, reachable: &CpuSet) -> bool {
        self.given_sets().any(|new| {
            let rest = new.intersection(reachable);
            now == new || *now == if rest.is_empty() { reachable.clone() } else { rest }
        })
    }

    /// Iterates over all cpu sets that it may have been given.
    fn given_sets(&self) -> impl Iterator<Item = &CpuSet> {
        std::iter::once(&self.new).chain(&self.in_turn)
    }

    /// Returns true if a thread with a mask of its own has the rest of it that setting its process left, or all of the process's cpus if
    /// nothing was left.
    fn explains_own(&self, own: &OwnMask) -> bool {
        let Ok(now) = affinity::affinity_of(own.thread.id) else { return false };
        self.given_sets().any(|new| {
            let rest = own.cpus.intersection(new);
            now == if rest.is_empty() { new.clone() } else { rest }
        })
    }

    /// Restores the threads' own masks, after the process got back its old one.
    pub fn give_own_masks(&self) {
        // A thread that has ended meanwhile needs none.
        self.own_masks.iter().for_each(|own| drop(own.thread.restrict_thread(&own.cpus)));
    }

    /// Restores the old cpus, of which the kernel keeps those still online and in the cpuset. A thread that has ended meanwhile needs
    /// nothing.
    pub(super) fn revert_change(&self) -> io::Result<Option<String>> {
        let to_restore: Vec<&OwnMask> = self.own_masks.iter().filter(|own| self.explains_own(own)).collect();
        let now = match self.thread.restrict_thread(&self.cpus_before()) {
            Err(error) if affinity::has_ended(&error) => return Ok(Some("it has ended".to_owned())),
            now => now?,
        };
        // A thread that has ended meanwhile needs none.
        to_restore.into_iter().for_each(|own| drop(own.thread.restrict_thread(&own.cpus)));
        Ok((!self.was_all && now != self.old).then(|| cut_error(&now).to_string()))
    }
}

fn cut_error(now: &CpuSet) -> io::Error {
    io::Error::other(format!("the kernel allows it only {now}: the rest is offline or not allowed"))
}

impl AffinityChange {
    /// Describes how to undo it.
    pub fn way_back(&self) -> String {
        format!("set cpus of {} ({}) from {} back to {}", self.name, self.thread.id, self.new, self.old)
    }

    /// Describes it after it was undone.
    pub fn describe_undone(&self) -> String {
        format!("cpus of {} ({}): back to {} (were {})", self.name, self.thread.id, self.old, self.new)
    }
}

impl fmt::Display for AffinityChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cpus of {} ({}): {} to {}", self.name, self.thread.id, self.old, self.new)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::change::{Change, ChangeJournal};

    #[test]
    fn what_a_thread_is_given_in_turn_is_nobody_elses_change() {
        let all = affinity::current_affinity().unwrap();
        let (Some(first), Some(last)) = (all.lowest(), all.highest()) else { return };
        if first == last {
            return println!("skipped: one cpu alone leaves nothing to change");
        }
        let [first, last] = [first, last].map(CpuSet::from_cpu);
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let identity = ProcessIdentity {
            id: child.id(),
            start_ticks: ProcessStat::read_stat(child.id()).unwrap().unwrap().start_ticks,
        };
        for (in_turn, comes_back) in [(vec![last.clone()], true), (Vec::new(), false)] {
            ProcessIdentity::find_task(child.id()).and_then(|task| task.restrict_thread(&all)).unwrap();
            let mut journal = ChangeJournal::in_folder(folder.path().join("journals"));
            let change = AffinityChange::new(identity, identity, first.clone()).unwrap().and_in_turn(in_turn);
            journal.make_change(Change::Affinity(change)).unwrap();
            ProcessIdentity::find_task(child.id()).and_then(|task| task.restrict_thread(&last)).unwrap();
            let undone = journal.undo_all().pop().unwrap();
            assert_eq!(undone.outcome.is_reverted(), comes_back, "{undone:?}");
            assert_eq!(affinity::affinity_of(child.id()).unwrap() == all, comes_back);
        }
        // One that ends while it is undone must not keep from their cpus what others have started.
        let change = AffinityChange::new(identity, identity, first).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(change.revert_change().unwrap().as_deref(), Some("it has ended"));
    }

    /// As of a process of a system where processes have masks: another one plays its thread.
    #[test]
    fn threads_with_cpus_of_their_own_get_them_again_unless_somebody_set_them_since() {
        let all = affinity::current_affinity().unwrap();
        let (Some(first), Some(last)) = (all.lowest(), all.highest()) else { return };
        if first == last {
            return println!("skipped: one cpu alone leaves nothing to change");
        }
        let [first, last] = [first, last].map(CpuSet::from_cpu);
        let mut children = [(); 2].map(|()| Command::new("sleep").arg("1000").spawn().unwrap());
        let [process, thread] = [0, 1].map(|index| {
            let id: u32 = children[index].id();
            ProcessIdentity { id, start_ticks: ProcessStat::read_stat(id).unwrap().unwrap().start_ticks }
        });
        let change = AffinityChange::new(process, process, first.clone()).unwrap();
        for (own, meanwhile, gets) in
            [(&last, &first, &last), (&first, &first, &first), (&last, &last, &last), (&first, &last, &last)]
        {
            let change = AffinityChange { own_masks: vec![OwnMask { thread, cpus: own.clone() }], ..change.clone() };
            ProcessIdentity::find_task(thread.id).and_then(|task| task.restrict_thread(meanwhile)).unwrap();
            assert_eq!(change.revert_change().unwrap(), None);
            assert_eq!(affinity::affinity_of(thread.id).unwrap(), *gets, "{own} was {meanwhile}");
        }
        let own_masks = vec![OwnMask { thread, cpus: first.clone() }];
        let change = AffinityChange { own_masks, in_turn: vec![last.clone()], ..change };
        ProcessIdentity::find_task(thread.id).and_then(|task| task.restrict_thread(&last)).unwrap();
        assert_eq!(change.revert_change().unwrap(), None);
        assert_eq!(affinity::affinity_of(thread.id).unwrap(), first, "what was given in turn left it {last}");
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn journals_of_earlier_versions_give_nothing_in_turn() {
        let line = r#"{"thread":{"id":7,"start_ticks":9},"name":"x","old":"0-3","new":"0"}"#;
        let change: AffinityChange = serde_json::from_str(line).unwrap();
        assert!(
            change.in_turn.is_empty()
                && change.own_masks.is_empty()
                && !serde_json::to_string(&change).unwrap().contains("in_turn")
        );
    }
}
