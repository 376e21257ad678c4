//! Detection of new processes: by events if the system has them, otherwise by polling.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

use corewise_model::keep::{
    ChargedUser, HeldThread, KeptProcess, MatchFit, ObservedProcess, ObservedThread, RuleMatch,
};
use corewise_sys::process::ProcessStat;
use corewise_sys::process_events::{ProcessEvent, ProcessEventKind, ProcessEvents};
use corewise_sys::processes::{self, ExecutableFile, ProcessFacts};
use corewise_sys::{affinity, cpuset, task};

/// Interval between polls if there are no events.
const POLL: Duration = Duration::from_secs(1);

/// Range of the processes that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessScope {
    /// Processes of one user, by number.
    User(u32),
    /// Processes of all users.
    System,
}

/// Reason for which the loop woke up.
#[derive(Debug, Default)]
pub struct WakeReason {
    /// The processes to look at.
    pub processes: BTreeSet<u32>,
    /// True to look at all processes.
    pub all: bool,
    /// True if events were lost.
    pub lost: bool,
}

pub struct ProcessWatcher {
    scope: ProcessScope,
    events: Result<ProcessEvents, String>,
    batch: Vec<ProcessEvent>,
    /// Start time and name of each process; used only without events.
    known: BTreeMap<u32, (u64, String)>,
    last_poll: Instant,
    users: BTreeMap<u32, String>,
}

impl ProcessWatcher {
    pub fn open(scope: ProcessScope) -> Self {
        let events = ProcessEvents::open(&[ProcessEventKind::Exec, ProcessEventKind::Rename]).map_err(|gap| gap.why);
        Self { events, ..Self::without_events(scope) }
    }

    fn without_events(scope: ProcessScope) -> Self {
        let (known, users) = (BTreeMap::new(), BTreeMap::new());
        Self { scope, events: Err(String::new()), batch: Vec::new(), known, last_poll: Instant::now(), users }
    }

    /// Describes how processes are detected.
    pub fn describe_sight(&self) -> String {
        match &self.events {
            Ok(_) => "by events".to_owned(),
            Err(why) => format!("by looking at all every {} s: {why}", POLL.as_secs()),
        }
    }

    /// Waits for events, at most for `patience`. Several events of one process count as one.
    pub fn wait_for_events(&mut self, patience: Duration) -> io::Result<WakeReason> {
        let mut wake = WakeReason::default();
        match &mut self.events {
            Ok(events) => {
                events.wait_for_events(patience, &mut self.batch)?;
                for event in self.batch.drain(..) {
                    match event {
                        ProcessEvent::Executed { process } | ProcessEvent::Renamed { process, .. } => {
                            wake.processes.insert(process);
                        }
                        ProcessEvent::Lost => wake.lost = true,
                        ProcessEvent::Forked { .. } | ProcessEvent::Ended { .. } => {}
                    }
                }
            }
            Err(_) => {
                std::thread::sleep(patience);
                if self.last_poll.elapsed() >= POLL {
                    self.last_poll = Instant::now();
                    wake.processes = self.poll_processes();
                }
            }
        }
        Ok(wake)
    }

    /// Returns the processes that are new, or changed their start time or name.
    fn poll_processes(&mut self) -> BTreeSet<u32> {
        let stat = |id: u32| {
            Some((id, ProcessStat::read_stat(id).ok()??)).map(|(id, stat)| (id, (stat.start_ticks, stat.name)))
        };
        let now: BTreeMap<u32, (u64, String)> = processes::all_processes().into_iter().filter_map(stat).collect();
        let changed = now.iter().filter(|(id, what)| self.known.get(id) != Some(what)).map(|(id, _)| *id).collect();
        self.known = now;
        changed
    }

    /// Returns all processes.
    pub fn all_processes(&self) -> BTreeSet<u32> {
        processes::all_processes().into_iter().collect()
    }

    /// Reads a process without its threads and reachable cpus, which is enough to decide whether a rule matches. Returns `None` if it has
    /// ended, is a kernel thread or this process, or is out of scope. Reading the name of its parent costs another look.
    pub fn read_facts(&mut self, id: u32, names_parent: bool) -> Option<ObservedProcess> {
        let facts = ProcessFacts::read_facts(id).ok().flatten()?;
        let is_in_scope = match self.scope {
            ProcessScope::User(user) => facts.user == user,
            ProcessScope::System => true,
        };
        if !is_in_scope || facts.executable == ExecutableFile::Kernel || id == std::process::id() {
            return None;
        }
        let exe = match facts.executable {
            ExecutableFile::File { path, .. } => Some(path.to_string_lossy().into_owned()),
            ExecutableFile::Kernel | ExecutableFile::Unreadable(_) => None,
        };
        let (user, real_user) = (self.name_user(facts.user), self.name_user(facts.real_user));
        let charged_to = ChargedUser { name: real_user, is_system: processes::is_system_user(facts.real_user) };
        let parent = if names_parent { ProcessStat::read_stat(facts.parent).ok().flatten() } else { None };
        let parent_name = parent.map(|stat| stat.name).unwrap_or_default();
        Some(ObservedProcess {
            id,
            start_ticks: facts.process.start_ticks,
            parent: facts.parent,
            parent_name,
            name: facts.name,
            exe,
            argv: facts.arguments,
            user,
            charged_to,
            // The unit in the user's own service manager is the user's choice, but it reaches no other user's processes.
            unit: facts.user_unit.or(facts.unit),
            cgroup: facts.cgroup,
            ..ObservedProcess::default()
        })
    }

    fn name_user(&mut self, user: u32) -> String {
        let name = || processes::user_name(user).unwrap_or_else(|| user.to_string());
        self.users.entry(user).or_insert_with(name).clone()
    }

    /// Reads a process as a whole.
    pub fn read_process(&mut self, id: u32) -> Option<ObservedProcess> {
        self.read_facts(id, true).map(complete_process)
    }
}

/// Adds the threads and the reachable cpus to a process.
pub fn complete_process(process: ObservedProcess) -> ObservedProcess {
    let thread = |thread: processes::ThreadFacts| ObservedThread {
        id: thread.identity.id,
        start_ticks: thread.identity.start_ticks,
        name: thread.name,
        cpus: thread.cpus,
    };
    let threads = processes::process_threads(process.id).into_iter().map(thread).collect();
    ObservedProcess { reachable: cpuset::cpuset_of(process.id), threads, ..process }
}

/// Returns true if the number of threads or the mask of one of them has changed since the last look. Costs one system call per thread.
pub fn has_drifted(process: u32, held: &KeptProcess) -> bool {
    let has_other_mask =
        |(thread, known): (&u32, &HeldThread)| affinity::affinity_of(*thread).ok().as_ref() != Some(&known.seen);
    task::has_other_than(process, held.threads.len()) || held.threads.iter().any(has_other_mask)
}

/// Returns all processes in scope, as they are now.
pub fn list_processes(scope: ProcessScope) -> Vec<ObservedProcess> {
    let mut eyes = ProcessWatcher::without_events(scope);
    let all = eyes.all_processes();
    all.into_iter().filter_map(|id| eyes.read_process(id)).collect()
}

/// Returns the processes that match, without their threads and reachable cpus.
pub fn matching_processes(scope: ProcessScope, matches: &RuleMatch) -> Vec<ObservedProcess> {
    let mut eyes = ProcessWatcher::without_events(scope);
    let names_parent = matches.parent.is_some();
    let all = eyes.all_processes().into_iter().filter_map(|id| eyes.read_facts(id, names_parent));
    all.filter(|process| matches.fit_process(process) == MatchFit::Yes).collect()
}

/// Reads a process as it is now; `None` if it has ended, or is a kernel thread or this process.
pub fn read_process_by_id(id: u32) -> Option<ObservedProcess> {
    ProcessWatcher::without_events(ProcessScope::System).read_process(id)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use corewise_machine::placement::ResolveContext;
    use corewise_machine::{CpuSet, Machine};
    use corewise_model::keep::{MaskAuthor, RuleKeeper, parse_rules, resolve_rules};

    use super::*;

    #[test]
    fn another_mask_and_an_end_are_drift() {
        let all = affinity::current_affinity().unwrap();
        if all.len() < 2 {
            return println!("skipped: one cpu alone leaves nothing to set");
        }
        let one = CpuSet::from_cpu(all.highest().unwrap());
        let online = cpuset::online_cpus();
        let machine = Machine { possible: online.clone(), present: online.clone(), online, ..Machine::default() };
        let text = format!("[[rule]]\nname = \"x\"\nmatch = {{ name = \"sleep\" }}\non = \"{one}\"\n");
        let context = ResolveContext { machine: &machine, reachable: &machine.online, quiet: None, worth: None };
        let mut keeper = RuleKeeper::new(resolve_rules(&parse_rules(&text).unwrap(), &context));
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let id = child.id();
        let seen = std::iter::repeat_with(|| read_process_by_id(id))
            .flatten()
            .find(|process| process.name == "sleep")
            .unwrap();
        assert_eq!(keeper.plan_actions(&seen, Duration::ZERO, &|_| MaskAuthor::Unknown).len(), 1);
        let has_drifted = || has_drifted(id, &keeper.processes()[&id]);
        assert!(has_drifted(), "it was not placed");
        affinity::set_affinity(id, &one).unwrap();
        assert!(!has_drifted());
        affinity::set_affinity(id, &all).unwrap();
        assert!(has_drifted());
        affinity::set_affinity(id, &one).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_drifted());
    }
}
