//! Threads of running processes, moved together from one placement to the next, and back to their own cpus.

use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::CpuSet;
use corewise_sys::SysError;
use corewise_sys::change::{AffinityChange, Change, ChangeJournal};
use corewise_sys::process::ProcessIdentity;
use corewise_sys::{affinity, cpuset, task};

use super::arm_places::ArmPlaces;

/// Maximum passes over threads; after these, new threads are started too fast to be placed.
const MOST_LOOKS: usize = 50;

/// Chosen processes and their descendants, with the original cpus of each of their threads.
pub struct ProcessCrew {
    roots: Vec<ProcessIdentity>,
    /// Roots and their descendants, each with the index of its root.
    processes: Vec<(ProcessIdentity, usize)>,
    /// Threads by number.
    threads: BTreeMap<u32, JournalledThread>,
    /// Two halves of the cpus. At each switch every thread goes through both, so that it moves at least once, whatever
    /// its cpus before and after.
    halves: [CpuSet; 2],
    /// Placements that the experiment uses in turn.
    placements: Vec<CpuSet>,
    journal: ChangeJournal,
    /// Number of the newest process or thread when the processes were last searched.
    newest: Option<u32>,
}

/// Thread in the journal.
struct JournalledThread {
    /// Number of its change in the journal.
    number: u32,
    process: u32,
    /// Cpus that it was given last; `None` for its own.
    given: Option<CpuSet>,
    /// Its cpus as they were found, for arms without a placement. Undoing may give more, since its cpuset can grow.
    before: CpuSet,
    change: AffinityChange,
}

/// Reason why threads are not where they should be.
#[derive(Debug, thiserror::Error)]
pub enum CrewError {
    /// A chosen process has ended.
    #[error("{0} has ended")]
    Ended(String),
    /// The journal or the kernel refuses.
    #[error("{0}")]
    Refused(SysError),
    /// A thread's cpus were changed by the thread or by another program.
    #[error("thread {thread} was given {given}, and may now use {now}: the program or another one changed that")]
    Changed {
        /// Number of the thread.
        thread: u32,
        /// Cpus that it was given.
        given: CpuSet,
        /// Cpus that it has now.
        now: CpuSet,
    },
    /// Threads are started faster than they can be placed.
    #[error("its threads are started faster than they can be placed")]
    TooFast,
}

impl ProcessCrew {
    /// Returns a crew before any change. `placements` are all that it will be given beside its own cpus.
    pub fn new(roots: Vec<ProcessIdentity>, placements: Vec<CpuSet>, journal: ChangeJournal) -> Self {
        let reachable =
            roots.iter().map(|root| cpuset::cpuset_of(root.id)).reduce(|a, b| a.intersection(&b)).unwrap_or_default();
        let half = |odd: usize| {
            reachable.iter().enumerate().filter(|(index, _)| index % 2 == odd).map(|(_, cpu)| cpu).collect()
        };
        let mut crew = Self {
            roots,
            processes: Vec::new(),
            threads: BTreeMap::new(),
            halves: [half(0), half(1)],
            placements,
            journal,
            newest: None,
        };
        crew.find_processes();
        crew
    }

    /// Returns the current numbers of all processes and their threads.
    pub fn list_members(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.processes.iter().flat_map(|(process, _)| {
            task::inheriting_threads(process.id).into_iter().map(|thread| (process.id, thread))
        })
    }

    /// Returns the cpus of a thread.
    fn cpus_of<'s>(&self, stand: &ArmPlaces<'s>, (process, thread): (u32, u32)) -> Option<&'s CpuSet> {
        let place = self.processes.binary_search_by_key(&process, |(known, _)| known.id);
        let root = place.map_or(0, |place| self.processes[place].1);
        stand.cpus_of(root, || task::thread_name(process, thread).unwrap_or_default())
    }

    /// Returns the number of threads that the last switch placed.
    pub fn placed_threads(&self) -> usize {
        self.threads.len()
    }

    /// Checks that no chosen process has ended.
    ///
    /// # Errors
    /// The process that has ended.
    pub fn check_alive(&self) -> Result<(), CrewError> {
        let ended = self.roots.iter().find(|root| !root.is_alive());
        ended.map_or(Ok(()), |root| Err(CrewError::Ended(format!("process {}", root.id))))
    }

    /// Moves all threads to their cpus on `stand`, or back to their own. On failure, everything is restored.
    ///
    /// # Errors
    /// The reason of the failure.
    pub fn place_threads(&mut self, stand: &ArmPlaces<'_>) -> Result<(), CrewError> {
        let placed = self.switch_places(stand);
        if placed.is_err() {
            self.restore_all();
        }
        placed
    }

    /// Restores everything at once.
    pub fn restore_all(&mut self) {
        self.journal.undo_all();
        self.threads.clear();
    }

    fn switch_places(&mut self, stand: &ArmPlaces<'_>) -> Result<(), CrewError> {
        self.check_alive()?;
        let mut placed = BTreeSet::new();
        for look in 0..MOST_LOOKS {
            self.find_processes();
            let found: Vec<(u32, u32)> = self.list_members().filter(|(_, thread)| !placed.contains(thread)).collect();
            // A number may be another thread's by now.
            let is_known = |(process, thread): &(u32, u32)| {
                let known = self.threads.get(thread).filter(|known| known.process == *process);
                known.is_some_and(|known| task::thread_identity(*process, *thread) == Some(known.change.thread))
            };
            let (known, new): (Vec<_>, Vec<_>) = found.into_iter().partition(is_known);
            placed.extend(known.iter().chain(&new).map(|(_, thread)| *thread));
            let moved = self.write_down(&new, stand, look == 0)?;
            // Threads born since the last pass inherit their cpus from others. If all of these are right, so are those
            // born now; waiting for no births could take forever.
            if known.is_empty() && moved.is_empty() {
                self.retain_placed(&placed);
                return Ok(());
            }
            for thread in known.into_iter().map(|(_, thread)| thread).chain(moved) {
                self.move_thread(thread, stand)?;
            }
        }
        Err(CrewError::TooFast)
    }

    /// Moves a thread. The kernel has just listed it, and its change is in the journal.
    fn move_thread(&mut self, thread: u32, stand: &ArmPlaces<'_>) -> Result<(), CrewError> {
        let Some(process) = self.threads.get(&thread).map(|known| known.process) else { return Ok(()) };
        let given = self.cpus_of(stand, (process, thread));
        let Some(known) = self.threads.get_mut(&thread) else { return Ok(()) };
        known.given = given.cloned();
        let steps = [&self.halves[0], &self.halves[1], given.unwrap_or(&known.before)];
        let steps: Vec<&CpuSet> = steps.into_iter().filter(|cpus| !cpus.is_empty()).collect();
        match known.change.thread.restrict_in_turn(&steps) {
            Err(error) if !affinity::has_ended(&error) => {
                let what = format!("cpus of thread {thread}");
                Err(CrewError::Refused(SysError::Change { what, source: error }))
            }
            _ if given.is_none() => {
                known.change.give_own_masks();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Writes new threads to the journal with all cpus that they may be given. Returns the threads to move: all of
    /// them, or those with wrong cpus. For the threads to move, the change first sets the first half; others keep
    /// their cpus.
    fn write_down(
        &mut self,
        new: &[(u32, u32)],
        stand: &ArmPlaces<'_>,
        are_all_moved: bool,
    ) -> Result<Vec<u32>, CrewError> {
        let (mut changes, mut moved) = (Vec::new(), Vec::new());
        for &(process, thread) in new {
            let (Ok(owner), Some(identity)) =
                (ProcessIdentity::find_task(process), task::thread_identity(process, thread))
            else {
                continue;
            };
            let Ok(change) = AffinityChange::new(owner, identity, self.halves[0].clone()) else { continue };
            let has = change.old.clone();
            let mut change = self.with_origin(change.and_in_turn(self.turn_placements()), process);
            if are_all_moved || has != *self.cpus_of(stand, (process, thread)).unwrap_or(&change.old) {
                moved.push(thread);
            } else {
                change.new = has;
            }
            changes.push(change);
        }
        let made = self
            .journal
            .make_all(changes.iter().cloned().map(Change::Affinity).collect())
            .map_err(CrewError::Refused)?;
        let mut replaced = BTreeSet::new();
        for (change, made) in changes.into_iter().zip(made) {
            match made {
                Ok(number) => {
                    let (id, process) = (change.thread.id, change.process.map_or(0, |process| process.id));
                    let thread = JournalledThread { number, process, given: None, before: change.old.clone(), change };
                    replaced.extend(self.threads.insert(id, thread).map(|ended| ended.number));
                }
                Err(SysError::Change { source, .. }) if affinity::has_ended(&source) => {}
                Err(error) => return Err(CrewError::Refused(error)),
            }
        }
        self.journal.undo_these(&replaced);
        Ok(moved)
    }

    /// Removes ended threads from the journal, which would grow without end.
    fn retain_placed(&mut self, placed: &BTreeSet<u32>) {
        let gone = self.threads.iter().filter(|(thread, _)| !placed.contains(thread));
        let gone: BTreeSet<u32> = gone.map(|(_, known)| known.number).collect();
        if !gone.is_empty() {
            self.journal.undo_these(&gone);
            self.threads.retain(|thread, _| placed.contains(thread));
        }
    }

    fn turn_placements(&self) -> Vec<CpuSet> {
        self.placements.iter().chain(&self.halves).cloned().collect()
    }

    /// Corrects the original cpus of a thread that was started since: it inherited the cpus that its creator was
    /// given. The kernel does not report the creator, so the main thread of its process or of the first process is
    /// assumed.
    fn with_origin(&self, change: AffinityChange, process: u32) -> AffinityChange {
        let is_given = self.placements.iter().chain(&self.halves).any(|cpus| *cpus == change.old);
        let main = |id: u32| self.threads.get(&id).map(|known| &known.change);
        let creator = main(process).or_else(|| main(self.roots.first()?.id));
        match creator {
            Some(creator) if is_given && change.thread.start_ticks >= creator.at_ticks => {
                change.inherited_from(creator)
            }
            _ => change,
        }
    }

    /// Searches for processes if one was started since the last time; corewise's own children do not count.
    fn find_processes(&mut self) {
        let newest = task::newest_number();
        if newest.is_some() && newest == self.newest {
            return;
        }
        self.newest = newest;
        let mut found: Vec<(ProcessIdentity, usize)> = Vec::new();
        for (number, root) in self.roots.iter().enumerate() {
            let mut own = BTreeSet::from([std::process::id()]);
            found.push((*root, number));
            for process in task::descendant_processes(root.id) {
                if own.contains(&process.number) || own.contains(&process.parent) {
                    own.insert(process.number);
                } else {
                    found.push((process.identity(), number));
                }
            }
        }
        found.sort_by_key(|(process, _)| process.id);
        found.dedup_by_key(|(process, _)| *process);
        self.processes = found;
    }

    /// Checks that all threads still have the cpus they were given.
    ///
    /// # Errors
    /// The thread that has other cpus.
    pub fn check_placed(&self) -> Result<(), CrewError> {
        for (thread, known) in &self.threads {
            let Some(given) = &known.given else { continue };
            match affinity::affinity_of(*thread) {
                Ok(now) if now != *given && known.change.thread.is_alive() => {
                    return Err(CrewError::Changed { thread: *thread, given: given.clone(), now });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// What makes the test below the process that is placed.
    const PLAYS: &str = "COREWISE_TEST_PLAYS";
    /// What makes it start threads without an end, too.
    const BREEDS: &str = "breeds";
    const THREADS: usize = 200;

    /// A process with many threads, which this test program is where it is told so.
    #[test]
    fn plays_a_process_with_many_threads() {
        if std::env::var_os(PLAYS).is_none() {
            return;
        }
        (1..THREADS).for_each(|_| drop(std::thread::spawn(|| std::thread::sleep(Duration::MAX))));
        if std::env::var(PLAYS).is_ok_and(|part| part == BREEDS) {
            std::thread::spawn(|| {
                loop {
                    drop(std::thread::spawn(|| std::thread::sleep(Duration::from_millis(2))));
                    // Whoever looks a thread up in /proc while it ends waits busily for its end (shrink_dcache_parent): for minutes, if as
                    // many threads as possible compete for two cpus with those that end.
                    std::thread::sleep(Duration::from_micros(20));
                }
            });
        }
        println!("ready");
        let _ = std::io::stdin().read(&mut [0]);
    }

    struct RunningChild(Child);

    impl Drop for RunningChild {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn process(part: &str) -> (RunningChild, ProcessIdentity) {
        let test = "experiment::live::crew::tests::plays_a_process_with_many_threads";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture", "--test-threads", "1"])
            .env(PLAYS, part)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.contains("ready")));
        let identity = ProcessIdentity::find_task(child.id()).unwrap();
        (RunningChild(child), identity)
    }

    fn masks(process: ProcessIdentity) -> Vec<CpuSet> {
        task::thread_numbers(process.id).into_iter().map(|thread| affinity::affinity_of(thread).unwrap()).collect()
    }

    #[test]
    fn all_threads_go_together_and_each_gets_back_what_it_had() {
        let all = affinity::current_affinity().unwrap();
        if all.len() < 2 {
            return println!("skipped: one cpu alone leaves nothing to change");
        }
        let [first, last] = [all.lowest(), all.highest()].map(|cpu| CpuSet::from_cpu(cpu.unwrap()));
        let (running, process) = process("stays");
        let own = *task::thread_numbers(process.id).last().unwrap();
        ProcessIdentity::find_task(own).and_then(|task| task.restrict_thread(&last)).unwrap();
        let before = masks(process);
        let folder = tempfile::tempdir().unwrap();
        let journal = ChangeJournal::in_folder(folder.path().join("journals"));
        let mut crew = ProcessCrew::new(vec![process], vec![first.clone(), last.clone()], journal);
        for cpus in [Some(&first), Some(&last), None, Some(&first), Some(&first)] {
            let begun = Instant::now();
            crew.place_threads(&ArmPlaces::from_cpus(cpus)).unwrap();
            println!("{} threads placed in {:?}", crew.placed_threads(), begun.elapsed());
            let expected = cpus.map_or_else(|| before.clone(), |cpus| vec![cpus.clone(); before.len()]);
            assert_eq!(masks(process), expected);
            crew.check_placed().unwrap();
        }
        // Somebody else, or the program itself.
        let changed = *task::inheriting_threads(process.id).last().unwrap();
        ProcessIdentity::find_task(changed).and_then(|task| task.restrict_thread(&last)).unwrap();
        assert!(matches!(crew.check_placed(), Err(CrewError::Changed { thread, .. }) if thread == changed));
        crew.restore_all();
        assert_eq!(masks(process), before);
        drop(running);
        assert!(matches!(crew.place_threads(&ArmPlaces::from_cpus(None)), Err(CrewError::Ended(_))));
    }

    #[test]
    fn each_process_and_each_role_of_threads_has_its_own_cpus() {
        let all = affinity::current_affinity().unwrap();
        if all.len() < 2 {
            return println!("skipped: one cpu alone leaves nothing to change");
        }
        let [first, last] = [all.lowest(), all.highest()].map(|cpu| CpuSet::from_cpu(cpu.unwrap()));
        let [(_one, server), (_other, client)] = [process("stays"), process("stays")];
        let main = task::thread_name(client.id, client.id).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let journal = ChangeJournal::in_folder(folder.path().join("journals"));
        let mut crew = ProcessCrew::new(vec![server, client], vec![first.clone(), last.clone()], journal);
        let by_name = regex_lite::Regex::new(&format!("^{}$", regex_lite::escape(&main))).unwrap();
        crew.place_threads(&ArmPlaces { roles: vec![(&by_name, &last)], roots: vec![Some(&first), None] }).unwrap();
        let of_main = |process: ProcessIdentity| affinity::affinity_of(process.id).unwrap();
        assert_eq!([of_main(server), of_main(client)], [last.clone(), last]);
        let others = |process: ProcessIdentity| {
            task::thread_numbers(process.id).into_iter().skip(1).map(|id| affinity::affinity_of(id).unwrap())
        };
        let is_named =
            |process: ProcessIdentity, thread: u32| by_name.is_match(&task::thread_name(process.id, thread).unwrap());
        let of_test = task::thread_numbers(server.id)[1];
        assert!(is_named(server, of_test) || others(server).next() == Some(first));
        assert!(is_named(client, task::thread_numbers(client.id)[1]) || others(client).next() == Some(all));
        crew.check_placed().unwrap();
    }

    #[test]
    fn threads_that_are_born_all_the_time_have_the_cpus_of_those_that_are_placed() {
        let all = affinity::current_affinity().unwrap();
        if all.len() < 2 {
            return println!("skipped: one cpu alone leaves nothing to change");
        }
        let one = CpuSet::from_cpu(all.lowest().unwrap());
        let (_running, process) = process(BREEDS);
        let folder = tempfile::tempdir().unwrap();
        let mut crew = ProcessCrew::new(
            vec![process],
            vec![one.clone()],
            ChangeJournal::in_folder(folder.path().join("journals")),
        );
        // A thread may end between the list and the question.
        let masks = || {
            task::thread_numbers(process.id)
                .into_iter()
                .filter_map(|thread| affinity::affinity_of(thread).ok())
                .collect::<Vec<_>>()
        };
        for cpus in [Some(&one), None, Some(&one)] {
            crew.place_threads(&ArmPlaces::from_cpus(cpus)).unwrap();
            let given = cpus.unwrap_or(&all);
            assert!(masks().iter().all(|mask| mask == given), "{given}: {:?}", masks());
        }
        crew.restore_all();
        assert!(masks().iter().all(|mask| *mask == all), "{:?}", masks());
    }
}
