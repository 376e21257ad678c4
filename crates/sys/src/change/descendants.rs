//! Threads and processes started by a thread after a change of its cpus: they inherited the new ones.

use std::collections::{BTreeMap, HashSet};

use corewise_machine::CpuSet;

use super::affinity::AffinityChange;
use crate::os::process::ProcessIdentity;
use crate::os::{affinity, cpuset, task};

/// Maximum passes over the threads started meanwhile. A restored thread passes on its old cpus, so the second pass finds only threads that
/// were just being started.
const MOST_LOOKS: usize = 10;

/// Restores descendants: gives threads and processes that were started since the changes `gone` the cpus that they would have without them.
/// Returns how many were restored per process. `open` are the changes that stay in force.
///
/// The kernel does not record which thread started another. The first thread with a change that explains the cpus is assumed, the main
/// thread before others. Descendants are not found if their own parent has ended since.
pub(super) fn give_back(gone: &[AffinityChange], open: &[AffinityChange]) -> BTreeMap<u32, usize> {
    let mut known: HashSet<ProcessIdentity> = gone.iter().chain(open).map(|change| change.thread).collect();
    let mut families: BTreeMap<u32, Vec<&AffinityChange>> = BTreeMap::new();
    for change in gone {
        if let Some(process) = change.process.filter(ProcessIdentity::is_alive) {
            families.entry(process.id).or_default().push(change);
        }
    }
    let mut given = BTreeMap::new();
    for (process, mut changes) in families {
        changes.sort_by_key(|change| change.thread.id != process);
        let reachable = cpuset::cpuset_of(process);
        for _ in 0..MOST_LOOKS {
            let found: Vec<(ProcessIdentity, CpuSet)> = family_threads(process)
                .into_iter()
                .filter_map(|member| inherited_cpus(member, process, &changes, open, &reachable, &known))
                .collect();
            let count = found.iter().filter(|(thread, cpus)| thread.restrict_thread(cpus).is_ok()).count();
            if found.is_empty() {
                break;
            }
            known.extend(found.into_iter().map(|(thread, _)| thread));
            *given.entry(process).or_default() += count;
        }
    }
    given
}

/// Returns the threads of a process and of all its descendants, each with its process.
fn family_threads(process: u32) -> Vec<(u32, u32)> {
    let descendants = task::descendant_processes(process).into_iter().map(|child| child.number);
    let all = std::iter::once(process).chain(descendants);
    all.flat_map(|process| task::inheriting_threads(process).into_iter().map(move |thread| (process, thread))).collect()
}

/// Returns the thread and the cpus that it would have, if its present ones come from one of `changes` and from none in `open`. `family` is
/// the process that it belongs to or descends from.
fn inherited_cpus(
    (process, thread): (u32, u32),
    family: u32,
    changes: &[&AffinityChange],
    open: &[AffinityChange],
    reachable: &CpuSet,
    known: &HashSet<ProcessIdentity>,
) -> Option<(ProcessIdentity, CpuSet)> {
    let identity = task::thread_identity(process, thread).filter(|identity| !known.contains(identity))?;
    let now = affinity::affinity_of(thread).ok()?;
    let is_from =
        |change: &&AffinityChange| identity.start_ticks >= change.at_ticks && change.explains_cpus(&now, reachable);
    let is_of = |change: &&AffinityChange| change.process.is_some_and(|owner| [process, family].contains(&owner.id));
    let stays = open.iter().filter(is_of).any(|change| is_from(&change));
    let creator = changes.iter().find(|change| is_from(change)).filter(|_| !stays)?;
    Some((identity, creator.cpus_before()))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Child, ChildStdout, Command, Stdio};

    use super::*;
    use crate::change::{Change, ChangeJournal, UndoOutcome};
    use crate::os::process::ProcessStat;

    /// A shell that starts a process for each line that it is sent, and prints its number.
    struct LineShell {
        child: Child,
        said: BufReader<ChildStdout>,
    }

    impl LineShell {
        fn new() -> Self {
            let script = "while read line; do sleep 1000 >/dev/null 2>&1 & all=\"$all $!\"; echo $!; done; for one in $all; do kill $one; done";
            let mut child =
                Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let said = BufReader::new(child.stdout.take().unwrap());
            Self { child, said }
        }

        fn identity(&self) -> ProcessIdentity {
            identity(self.child.id())
        }

        fn start(&mut self) -> u32 {
            writeln!(self.child.stdin.as_mut().unwrap(), "start").unwrap();
            let mut line = String::new();
            self.said.read_line(&mut line).unwrap();
            line.trim().parse().unwrap()
        }
    }

    impl Drop for LineShell {
        fn drop(&mut self) {
            drop(self.child.stdin.take());
            self.child.wait().unwrap();
        }
    }

    fn identity(id: u32) -> ProcessIdentity {
        ProcessIdentity { id, start_ticks: ProcessStat::read_stat(id).unwrap().unwrap().start_ticks }
    }

    fn two_cpus() -> Option<(CpuSet, CpuSet)> {
        let all = affinity::current_affinity().unwrap();
        let one = CpuSet::from_cpu(all.highest().unwrap());
        (all != one).then_some((all, one)).or_else(|| {
            println!("skipped: one cpu alone leaves nothing to change");
            None
        })
    }

    fn change(shell: &LineShell, cpus: &CpuSet) -> AffinityChange {
        AffinityChange::new(shell.identity(), shell.identity(), cpus.clone()).unwrap()
    }

    #[test]
    fn what_was_started_since_gets_what_its_creator_had() {
        let Some((all, one)) = two_cpus() else { return };
        let (folder, mut shell) = (tempfile::tempdir().unwrap(), LineShell::new());
        let before = shell.start();
        let mut journal = ChangeJournal::in_folder(folder.path().join("journals"));
        let number = journal.make_change(Change::Affinity(change(&shell, &one))).unwrap();
        let since = shell.start();
        let moved = shell.start();
        ProcessIdentity::find_task(moved)
            .and_then(|task| task.restrict_thread(&CpuSet::from_cpu(all.lowest().unwrap())))
            .unwrap();
        let of = |thread: u32| affinity::affinity_of(thread).unwrap();
        assert_eq!((of(before), of(since)), (all.clone(), one.clone()));
        let undone = journal.undo_change(number).unwrap();
        assert_eq!(undone.outcome, UndoOutcome::Reverted(Some("also set back, started since: 1".into())));
        assert_eq!((of(shell.child.id()), of(since)), (all.clone(), all.clone()));
        assert_eq!(of(moved), CpuSet::from_cpu(all.lowest().unwrap()), "somebody else chose that");
        assert_eq!(std::fs::read_dir(folder.path().join("journals")).unwrap().count(), 0);
    }

    #[test]
    fn what_stays_changed_keeps_what_it_gave_to_others() {
        let Some((all, one)) = two_cpus() else { return };
        let (folder, mut shell) = (tempfile::tempdir().unwrap(), LineShell::new());
        let child = shell.start();
        let mut journal = ChangeJournal::in_folder(folder.path().join("journals"));
        let first = change(&shell, &one);
        let inherited =
            AffinityChange::new(identity(child), identity(child), one.clone()).unwrap().inherited_from(&first);
        let made = journal.make_all(vec![Change::Affinity(first), Change::Affinity(inherited)]).unwrap();
        let numbers: Vec<u32> = made.into_iter().map(Result::unwrap).collect();
        let since = shell.start();
        assert!(journal.undo_change(numbers[1]).unwrap().outcome.is_reverted());
        let of = |thread: u32| affinity::affinity_of(thread).unwrap();
        assert_eq!((of(child), of(since)), (all.clone(), one), "the shell is still changed");
        assert!(journal.undo_all()[0].outcome.is_reverted());
        assert_eq!(of(since), all);
    }

    #[test]
    fn a_cpu_that_went_away_is_not_somebody_elses_change() {
        let shell = LineShell::new();
        let of = |list: &str| CpuSet::parse_list(list).unwrap();
        let change = AffinityChange { new: of("2,3"), ..change(&shell, &of("2,3")) };
        for (now, reachable, is_ours) in
            [("2,3", "0-3", true), ("2", "0-2", true), ("0,1", "0,1", true), ("2", "0-3", false), ("0", "0,1", false)]
        {
            assert_eq!(change.explains_cpus(&of(now), &of(reachable)), is_ours, "{now} of {reachable}");
        }
        let whole = AffinityChange { was_all: true, old: of("0"), ..change };
        assert!(whole.cpus_before().contains(8_000), "so that it grows with the cpuset");
    }
}
