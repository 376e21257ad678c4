//! The watched processes' threads: names, programs, cpus, computing time and open files, as far as they can be read while they live.

use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::CpuSet;
use corewise_sys::accounts::ThreadAccount;
use corewise_sys::execution::SUPERVISOR_NAME;
use corewise_sys::process::ProcessIdentity;
use corewise_sys::processes::{ExecutableFile, ProcessFacts, process_threads};
use corewise_sys::task::descendant_processes;
use corewise_sys::wakes::{DescriptorKind, WakeTask, descriptor_kinds};

/// Most threads at which a look is taken, and most between the first and the last look.
const MOST_THREADS: usize = 20_000;
const MOST_THREADS_BETWEEN: usize = 500;
/// Most open files at which a look is taken, for all processes together.
const MOST_FILES: usize = 4_096;

/// A thread as it was seen last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenThread {
    pub process: u32,
    pub name: String,
    /// The cpus that it may use; empty if it was never seen alive.
    pub cpus: CpuSet,
    /// Its computing time at the first look, in nanoseconds: 0 if it began later.
    begun_ns: u64,
    /// Its computing time at the last look, in nanoseconds.
    last_ns: u64,
}

impl SeenThread {
    /// Returns its computing time between the looks, in nanoseconds.
    pub const fn computing_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.begun_ns)
    }
}

/// Program of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeenProgram {
    /// A program of this name.
    Named(String),
    /// Nothing: it is the kernel's.
    Kernel,
    /// It ended before it could be read.
    Unknown,
}

/// All that was seen.
#[derive(Debug)]
pub struct ThreadRoster {
    /// The processes to watch; if there are none, this process's children.
    roots: Vec<ProcessIdentity>,
    /// Children that this process had before.
    older: BTreeSet<u32>,
    follows_children: bool,
    /// The roots and their descendants, ended ones included.
    pub processes: BTreeSet<u32>,
    pub threads: BTreeMap<u32, SeenThread>,
    programs: BTreeMap<u32, SeenProgram>,
    files: BTreeMap<(u32, u32), DescriptorKind>,
    command: Vec<String>,
    looks: usize,
}

impl ThreadRoster {
    pub fn new(processes: &[u32]) -> Self {
        let follows_children = processes.is_empty();
        let own = std::process::id();
        let older = if follows_children { descendant_processes(own) } else { Vec::new() };
        Self {
            roots: processes.iter().filter_map(|number| ProcessIdentity::find_task(*number).ok()).collect(),
            older: older.into_iter().map(|process| process.number).collect(),
            follows_children,
            processes: BTreeSet::new(),
            threads: BTreeMap::new(),
            programs: BTreeMap::new(),
            files: BTreeMap::new(),
            command: Vec::new(),
            looks: 0,
        }
    }

    /// Returns true if processes are watched that this process starts.
    pub const fn follows_children(&self) -> bool {
        self.follows_children
    }

    /// Returns true if running processes are watched and all have ended.
    pub fn has_ended(&self) -> bool {
        !self.follows_children && !self.roots.iter().any(ProcessIdentity::is_alive)
    }

    /// Takes a look at all threads: the first and the last.
    pub fn look_at_threads(&mut self) {
        self.find_processes();
        self.look_at(MOST_THREADS);
    }

    /// Takes a look at new processes, and at threads if there are few.
    pub fn look_between(&mut self) {
        self.find_processes();
        self.look_at(MOST_THREADS_BETWEEN);
    }

    fn find_processes(&mut self) {
        let mut living: Vec<u32> = self.roots.iter().filter(|root| root.is_alive()).map(|root| root.id).collect();
        let ancestors = if self.follows_children { vec![std::process::id()] } else { living.clone() };
        for ancestor in ancestors {
            let below = descendant_processes(ancestor).into_iter().map(|process| process.number);
            living.extend(below.filter(|number| !self.older.contains(number)));
        }
        let mut files_left = MOST_FILES;
        for process in living {
            self.processes.insert(process);
            self.program_of(process);
            let files = descriptor_kinds(process, files_left);
            files_left -= files.len();
            self.files.extend(files.into_iter().map(|(number, kind)| ((process, number), kind)));
        }
    }

    fn look_at(&mut self, most: usize) {
        let mut left = most;
        for process in self.processes.clone() {
            let threads = process_threads(process);
            if threads.len() > left {
                break;
            }
            left -= threads.len();
            for facts in threads {
                let on_cpu_ns =
                    ThreadAccount::read_account(process, facts.identity.id).map(|account| account.on_cpu_ns);
                let is_new = !self.threads.contains_key(&facts.identity.id);
                let thread = self.threads.entry(facts.identity.id).or_default();
                thread.last_ns = on_cpu_ns.unwrap_or(thread.last_ns);
                if is_new && self.looks == 0 {
                    thread.begun_ns = thread.last_ns;
                }
                (thread.process, thread.name, thread.cpus) = (process, facts.name, facts.cpus);
            }
        }
        self.looks += 1;
    }

    /// Adds tasks that were seen elsewhere, if they are not known.
    pub fn add_tasks(&mut self, tasks: impl IntoIterator<Item = WakeTask>) {
        for WakeTask { thread, process, name } in tasks {
            self.threads.entry(thread).or_insert_with(|| SeenThread { process, name, ..SeenThread::default() });
        }
    }

    /// Reads the programs of some threads.
    pub fn add_programs(&mut self, threads: impl Iterator<Item = u32>) {
        let processes: BTreeSet<u32> =
            threads.filter_map(|number| self.threads.get(&number)).map(|thread| thread.process).collect();
        for process in processes {
            self.program_of(process);
        }
    }

    /// Returns true for the threads of this process, which reads the command's output, unless it is watched itself, and for the command's
    /// supervisor.
    pub fn is_of_watcher(&self, number: u32) -> bool {
        let own = std::process::id();
        self.threads.get(&number).is_some_and(|thread| {
            thread.process == own && !self.processes.contains(&own)
                || thread.name.as_bytes() == SUPERVISOR_NAME.to_bytes()
        })
    }

    /// Returns what a process executes, if it was read.
    pub fn known_program(&self, process: u32) -> Option<&SeenProgram> {
        self.programs.get(&process)
    }

    /// Returns what a process executes, or executed when it was seen first.
    pub fn program_of(&mut self, process: u32) -> SeenProgram {
        if let Some(known) = self.programs.get(&process) {
            return known.clone();
        }
        let facts = ProcessFacts::read_facts(process).ok().flatten();
        let program = match facts.as_ref().map(|facts| &facts.executable) {
            Some(ExecutableFile::File { path, .. }) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                SeenProgram::Named(name.trim_end_matches(" (deleted)").to_owned())
            }
            Some(ExecutableFile::Kernel) => SeenProgram::Kernel,
            Some(ExecutableFile::Unreadable(_)) => {
                SeenProgram::Named(facts.as_ref().map(|facts| facts.name.clone()).unwrap_or_default())
            }
            None => SeenProgram::Unknown,
        };
        if let Some(facts) = facts.filter(|_| self.command.is_empty()) {
            self.command = facts.arguments;
        }
        self.programs.insert(process, program.clone());
        program
    }

    /// Returns the name of a watched process's program; empty if it is unknown.
    pub fn program_name(&self, process: u32) -> String {
        match self.programs.get(&process) {
            Some(SeenProgram::Named(name)) => name.clone(),
            _ => String::new(),
        }
    }

    /// Returns the kind of a process's open file.
    pub fn file_kind(&self, process: u32, descriptor: u32) -> Option<DescriptorKind> {
        self.files.get(&(process, descriptor)).copied()
    }

    /// Returns the command line: `given`, or that of the first process.
    pub fn command_line(&self, given: &[String]) -> Vec<String> {
        if given.is_empty() { self.command.clone() } else { given.to_vec() }
    }
}
