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
    /// True if events were lost.
    pub lost: bool,
}

/// Facts that only some rules match by, and that cost more than the others.
#[derive(Clone, Copy, Debug)]
pub struct FactNeeds {
    parent_name: bool,
    arguments: bool,
}

impl FactNeeds {
    /// Needs every fact.
    const ALL: Self = Self { parent_name: true, arguments: true };

    /// Returns the needs of rules that match like this.
    pub fn of_rules<'a>(rules: impl Iterator<Item = &'a RuleMatch> + Clone) -> Self {
        let parent_name = rules.clone().any(|matches| matches.parent.is_some());
        Self { parent_name, arguments: { rules }.any(|matches| matches.argv.is_some()) }
    }
}

pub struct ProcessWatcher {
    scope: ProcessScope,
    events: Result<ProcessEvents, String>,
    batch: Vec<ProcessEvent>,
    /// Start time and name of each process; used only without events.
    known: BTreeMap<u32, (u64, String)>,
    last_poll: Instant,
    users: BTreeMap<u32, String>,
    /// True if names that users choose count: those of units in a user's own service manager, and paths in a mount namespace.
    trusts_users: bool,
    /// The executable of each process that was found at its path. It stays the rule's file if it is replaced later, as by an update.
    verified: BTreeMap<u32, VerifiedFile>,
}

/// A file that a process executes, found at its path: the process's start, the file's device and inode. The inode is no other file's while
/// the process executes it.
type VerifiedFile = (u64, u64, u64);

impl ProcessWatcher {
    pub fn open(scope: ProcessScope) -> Self {
        let events = ProcessEvents::open(&[ProcessEventKind::Exec, ProcessEventKind::Rename]).map_err(|gap| gap.why);
        Self { events, ..Self::without_events(scope) }
    }

    fn without_events(scope: ProcessScope) -> Self {
        Self {
            scope,
            events: Err(String::new()),
            batch: Vec::new(),
            known: BTreeMap::new(),
            last_poll: Instant::now(),
            users: BTreeMap::new(),
            trusts_users: scope != ProcessScope::System,
            verified: BTreeMap::new(),
        }
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
    /// ended, is a kernel thread or this process, or is out of scope. `is_wanted`
    /// decides whether its executable is to be compared with the file of that path.
    ///
    /// # Errors
    /// If the system cannot read it now, as without memory or open files to spare.
    pub fn read_facts(
        &mut self,
        id: u32,
        needs: FactNeeds,
        is_wanted: impl Fn(&ObservedProcess) -> bool,
    ) -> io::Result<Option<ObservedProcess>> {
        let read = if needs.arguments { ProcessFacts::read_facts } else { ProcessFacts::read_without_arguments };
        let Some(facts) = read(id)? else { return Ok(None) };
        let is_in_scope = match self.scope {
            ProcessScope::User(user) => facts.user == user,
            ProcessScope::System => true,
        };
        if !is_in_scope || facts.executable == ExecutableFile::Kernel || id == std::process::id() {
            return Ok(None);
        }
        let exe = match &facts.executable {
            ExecutableFile::File { path, .. } => Some(path.to_string_lossy().into_owned()),
            ExecutableFile::Kernel | ExecutableFile::Unreadable(_) => None,
        };
        let (user, real_user) = (self.name_user(facts.user), self.name_user(facts.real_user));
        let charged_to = ChargedUser { name: real_user, is_system: processes::is_system_user(facts.real_user) };
        let parent = if needs.parent_name { ProcessStat::read_stat(facts.parent).ok().flatten() } else { None };
        let parent_name = parent.map(|stat| stat.name).unwrap_or_default();
        let mut process = ObservedProcess {
            id,
            start_ticks: facts.process.start_ticks,
            parent: facts.parent,
            parent_name,
            name: facts.name,
            exe,
            argv: facts.arguments,
            user,
            charged_to,
            unit: matched_unit(facts.unit, facts.user_unit, self.trusts_users),
            cgroup: facts.cgroup,
            is_for_system: !self.trusts_users,
            ..ObservedProcess::default()
        };
        if !self.trusts_users && process.exe.is_some() && is_wanted(&process) {
            process.is_exe_elsewhere = !self.verify_executable(&facts.executable, (id, process.start_ticks));
        }
        Ok(Some(process))
    }

    /// Returns true if the file that a process executes is the one at its path here, or was when the process was first seen with it.
    fn verify_executable(&mut self, executable: &ExecutableFile, (id, start_ticks): (u32, u64)) -> bool {
        let ExecutableFile::File { device, inode, .. } = executable else { return false };
        let file = (start_ticks, *device, *inode);
        let is_verified = self.verified.get(&id) == Some(&file) || executable.is_at_its_path();
        if is_verified {
            self.verified.insert(id, file);
        }
        is_verified
    }

    /// Forgets what was found out about other processes than these.
    pub fn retain_processes(&mut self, is_kept: impl Fn(u32) -> bool) {
        self.verified.retain(|id, _| is_kept(*id));
    }

    fn name_user(&mut self, user: u32) -> String {
        let name = || processes::user_name(user).unwrap_or_else(|| user.to_string());
        self.users.entry(user).or_insert_with(name).clone()
    }

    /// Reads a process as a whole.
    pub fn read_process(&mut self, id: u32) -> Option<ObservedProcess> {
        complete_process(self.read_facts(id, FactNeeds::ALL, |_| true).ok()??)
    }
}

/// Returns the unit that rules are compared with. Units of a user's own service manager count in that user's rules alone.
fn matched_unit(unit: Option<String>, user_unit: Option<String>, trusts_users: bool) -> Option<String> {
    user_unit.filter(|_| trusts_users).or(unit)
}

/// Adds the threads and the reachable cpus to a process; `None` if no thread can be read: it has ended, or the system cannot read it now.
pub fn complete_process(process: ObservedProcess) -> Option<ObservedProcess> {
    let thread = |thread: processes::ThreadFacts| ObservedThread {
        id: thread.identity.id,
        start_ticks: thread.identity.start_ticks,
        name: thread.name,
        cpus: thread.cpus,
    };
    let threads: Vec<ObservedThread> = processes::process_threads(process.id).into_iter().map(thread).collect();
    let is_there = !threads.is_empty();
    is_there.then(|| ObservedProcess { reachable: cpuset::cpuset_of(process.id), threads, ..process })
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

/// Returns the processes that match, without their threads and reachable cpus. Names that users choose count: it is for looking at
/// processes, not for placing them.
pub fn matching_processes(scope: ProcessScope, matches: &RuleMatch) -> Vec<ObservedProcess> {
    let mut eyes = ProcessWatcher { trusts_users: true, ..ProcessWatcher::without_events(scope) };
    let needs = FactNeeds { arguments: true, ..FactNeeds::of_rules(std::iter::once(matches)) };
    let all = eyes.all_processes().into_iter();
    let all = all.filter_map(|id| eyes.read_facts(id, needs, |_| false).ok()?);
    all.filter(|process| matches.fit_process(process) == MatchFit::Yes).collect()
}

/// Reads a process of any user as it is now; `None` if it has ended, or is a kernel thread or this process. `of_system` is true to compare
/// it with rules of the system.
pub fn read_process_by_id(id: u32, of_system: bool) -> Option<ObservedProcess> {
    let eyes = ProcessWatcher::without_events(ProcessScope::System);
    ProcessWatcher { trusts_users: !of_system, ..eyes }.read_process(id)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use corewise_machine::placement::ResolveContext;
    use corewise_machine::{CpuSet, Machine};
    use corewise_model::keep::{MaskAuthor, RuleKeeper, parse_rules, resolve_rules};
    use corewise_sys::process::ProcessIdentity;

    use super::*;

    /// An update replaces the file of a running program.
    #[cfg(unix)]
    #[test]
    fn a_process_keeps_its_file_when_another_one_takes_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let (program, others) = (folder.path().join("napper"), folder.path().join("other"));
        let sleep = corewise_sys::installed::find_program("sleep", std::env::var_os("PATH").as_deref()).unwrap();
        for file in [&program, &others] {
            assert!(Command::new("cp").arg("-L").args([&sleep, file]).status().unwrap().success());
        }
        let mut child = Command::new(&program).arg("1000").spawn().unwrap();
        let id = child.id();
        let is_elsewhere = |eyes: &mut ProcessWatcher| {
            let read = || eyes.read_facts(id, FactNeeds::ALL, |_| true).unwrap().unwrap();
            let seen = std::iter::repeat_with(read).find(|process| process.name == "napper").unwrap();
            assert!(seen.exe.unwrap().starts_with(program.to_str().unwrap()));
            seen.is_exe_elsewhere
        };
        let mut early = ProcessWatcher::without_events(ProcessScope::System);
        assert!(!is_elsewhere(&mut early));
        std::fs::rename(&others, &program).unwrap();
        assert!(!is_elsewhere(&mut early), "it was the file of that path");
        assert!(is_elsewhere(&mut ProcessWatcher::without_events(ProcessScope::System)), "who knows what it was");
        let mut of_user = ProcessWatcher { trusts_users: true, ..ProcessWatcher::without_events(ProcessScope::System) };
        assert!(!is_elsewhere(&mut of_user));
        early.retain_processes(|_| false);
        assert!(is_elsewhere(&mut early));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// A user can name a unit of the own service manager as the system's redis.service is named.
    #[test]
    fn a_unit_that_a_user_named_matches_no_rule_of_the_system() {
        let unit = |trusts_users| {
            let [manager, own] = ["user@7.service", "redis.service"].map(|name| Some(name.to_owned()));
            matched_unit(manager, own, trusts_users).unwrap()
        };
        assert_eq!([true, false].map(unit), ["redis.service", "user@7.service"]);
    }

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
        let seen = std::iter::repeat_with(|| read_process_by_id(id, false))
            .flatten()
            .find(|process| process.name == "sleep")
            .unwrap();
        assert_eq!(keeper.plan_actions(&seen, Duration::ZERO, &|_| MaskAuthor::Unknown).len(), 1);
        let has_drifted = || has_drifted(id, &keeper.processes()[&id]);
        assert!(has_drifted(), "it was not placed");
        ProcessIdentity::find_task(id).and_then(|task| task.restrict_thread(&one)).unwrap();
        assert!(!has_drifted());
        ProcessIdentity::find_task(id).and_then(|task| task.restrict_thread(&all)).unwrap();
        assert!(has_drifted());
        ProcessIdentity::find_task(id).and_then(|task| task.restrict_thread(&one)).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_drifted());
    }
}
