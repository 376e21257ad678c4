//! Detection of new processes: by events if the system has them, otherwise by polling.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

use corewise_model::keep::{ChargedUser, Fit, Held, HeldThread, Match, Process, Thread};
use corewise_sys::process::Stat;
use corewise_sys::process_events::{Kind, ProcessEvent, ProcessEvents};
use corewise_sys::processes::{self, Executable, Facts};
use corewise_sys::{affinity, cpuset, task};

/// Interval between polls if there are no events.
const POLL: Duration = Duration::from_secs(1);

/// Range of the processes that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Processes of one user, by number.
    User(u32),
    /// Processes of all users.
    System,
}

/// Reason for which the loop woke up.
#[derive(Debug, Default)]
pub struct Wake {
    /// The processes to look at.
    pub processes: BTreeSet<u32>,
    /// True to look at all processes.
    pub all: bool,
    /// True if events were lost.
    pub lost: bool,
}

pub struct Eyes {
    scope: Scope,
    events: Result<ProcessEvents, String>,
    batch: Vec<ProcessEvent>,
    /// Start time and name of each process; used only without events.
    known: BTreeMap<u32, (u64, String)>,
    last_poll: Instant,
    users: BTreeMap<u32, String>,
}

impl Eyes {
    pub fn open(scope: Scope) -> Self {
        let events = ProcessEvents::open(&[Kind::Exec, Kind::Rename]).map_err(|gap| gap.why);
        Self { events, ..Self::without_events(scope) }
    }

    fn without_events(scope: Scope) -> Self {
        let (known, users) = (BTreeMap::new(), BTreeMap::new());
        Self { scope, events: Err(String::new()), batch: Vec::new(), known, last_poll: Instant::now(), users }
    }

    /// Describes how processes are detected.
    pub fn sight(&self) -> String {
        match &self.events {
            Ok(_) => "by events".to_owned(),
            Err(why) => format!("by looking at all every {} s: {why}", POLL.as_secs()),
        }
    }

    /// Waits for events, at most for `patience`. Several events of one process count as one.
    pub fn wait(&mut self, patience: Duration) -> io::Result<Wake> {
        let mut wake = Wake::default();
        match &mut self.events {
            Ok(events) => {
                events.wait(patience, &mut self.batch)?;
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
                    wake.processes = self.poll();
                }
            }
        }
        Ok(wake)
    }

    /// Returns the processes that are new, or changed their start time or name.
    fn poll(&mut self) -> BTreeSet<u32> {
        let stat = |id: u32| Some((id, Stat::of(id).ok()??)).map(|(id, stat)| (id, (stat.start_ticks, stat.name)));
        let now: BTreeMap<u32, (u64, String)> = processes::all().into_iter().filter_map(stat).collect();
        let changed = now.iter().filter(|(id, what)| self.known.get(id) != Some(what)).map(|(id, _)| *id).collect();
        self.known = now;
        changed
    }

    /// Returns all processes.
    pub fn all(&self) -> BTreeSet<u32> {
        processes::all().into_iter().collect()
    }

    /// Reads a process without its threads and reachable cpus, which is enough to decide whether a rule matches. Returns `None` if it has
    /// ended, is a kernel thread or this process, or is out of scope. Reading the name of its parent costs another look.
    pub fn facts(&mut self, id: u32, names_parent: bool) -> Option<Process> {
        let facts = Facts::of(id).ok().flatten()?;
        let is_in_scope = match self.scope {
            Scope::User(user) => facts.user == user,
            Scope::System => true,
        };
        if !is_in_scope || facts.executable == Executable::Kernel || id == std::process::id() {
            return None;
        }
        let exe = match facts.executable {
            Executable::File { path, .. } => Some(path.to_string_lossy().into_owned()),
            Executable::Kernel | Executable::Unreadable(_) => None,
        };
        let (user, real_user) = (self.name_user(facts.user), self.name_user(facts.real_user));
        let charged_to = ChargedUser { name: real_user, is_system: processes::is_system_user(facts.real_user) };
        let parent = if names_parent { Stat::of(facts.parent).ok().flatten() } else { None };
        let parent_name = parent.map(|stat| stat.name).unwrap_or_default();
        Some(Process {
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
            ..Process::default()
        })
    }

    fn name_user(&mut self, user: u32) -> String {
        let name = || processes::user_name(user).unwrap_or_else(|| user.to_string());
        self.users.entry(user).or_insert_with(name).clone()
    }

    /// Reads a process as a whole.
    pub fn process(&mut self, id: u32) -> Option<Process> {
        self.facts(id, true).map(whole)
    }
}

/// Adds the threads and the reachable cpus to a process.
pub fn whole(process: Process) -> Process {
    let thread = |thread: processes::Thread| Thread {
        id: thread.identity.id,
        start_ticks: thread.identity.start_ticks,
        name: thread.name,
        cpus: thread.cpus,
    };
    let threads = processes::threads(process.id).into_iter().map(thread).collect();
    Process { reachable: cpuset::of(process.id), threads, ..process }
}

/// Returns true if the number of threads or the mask of one of them has changed since the last look. Costs one system call per thread.
pub fn has_drifted(process: u32, held: &Held) -> bool {
    let has_other_mask =
        |(thread, known): (&u32, &HeldThread)| affinity::of(*thread).ok().as_ref() != Some(&known.seen);
    task::has_other_than(process, held.threads.len()) || held.threads.iter().any(has_other_mask)
}

/// Returns all processes in scope, as they are now.
pub fn processes(scope: Scope) -> Vec<Process> {
    let mut eyes = Eyes::without_events(scope);
    let all = eyes.all();
    all.into_iter().filter_map(|id| eyes.process(id)).collect()
}

/// Returns the processes that match, without their threads and reachable cpus.
pub fn fitting(scope: Scope, matches: &Match) -> Vec<Process> {
    let mut eyes = Eyes::without_events(scope);
    let names_parent = matches.parent.is_some();
    let all = eyes.all().into_iter().filter_map(|id| eyes.facts(id, names_parent));
    all.filter(|process| matches.fit(process) == Fit::Yes).collect()
}

/// Reads a process as it is now; `None` if it has ended, or is a kernel thread or this process.
pub fn process(id: u32) -> Option<Process> {
    Eyes::without_events(Scope::System).process(id)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use corewise_machine::placement::Context;
    use corewise_machine::{CpuSet, Machine};
    use corewise_model::keep::{Author, Keeper, resolve, rules};

    use super::*;

    #[test]
    fn another_mask_and_an_end_are_drift() {
        let all = affinity::current().unwrap();
        if all.len() < 2 {
            return println!("skipped: one cpu alone leaves nothing to set");
        }
        let one = CpuSet::of(all.highest().unwrap());
        let online = cpuset::online();
        let machine = Machine { possible: online.clone(), present: online.clone(), online, ..Machine::default() };
        let text = format!("[[rule]]\nname = \"x\"\nmatch = {{ name = \"sleep\" }}\non = \"{one}\"\n");
        let context = Context { machine: &machine, reachable: &machine.online, quiet: None, worth: None };
        let mut keeper = Keeper::new(resolve(&rules(&text).unwrap(), &context));
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let id = child.id();
        let seen = std::iter::repeat_with(|| process(id)).flatten().find(|process| process.name == "sleep").unwrap();
        assert_eq!(keeper.look(&seen, Duration::ZERO, &|_| Author::Unknown).len(), 1);
        let has_drifted = || has_drifted(id, &keeper.processes()[&id]);
        assert!(has_drifted(), "it was not placed");
        affinity::set(id, &one).unwrap();
        assert!(!has_drifted());
        affinity::set(id, &all).unwrap();
        assert!(has_drifted());
        affinity::set(id, &one).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_drifted());
    }
}
