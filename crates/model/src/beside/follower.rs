//! Follows a program's threads through the events of the cpus that they run on.

mod handlers;
mod switches;

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use corewise_machine::event::{EventKind, EventSource, KernelEvent};

use super::BesideReport;
use super::cpu::{BesideCpu, LeaveReason, SentInterrupt};
use super::sums::ProgramSums;
use super::thread::{ProgramThread, ProgramThreadState};
use crate::stall::CauseSurroundings;

/// Maximum length of a task's name in the kernel (TASK_COMM_LEN without the final zero).
const NAME_BYTES: usize = 15;
/// Maximum number of other tasks' names to keep.
const MOST_NAMES: usize = 4_096;

/// A program that is followed.
///
/// The state of each cpu follows the task that the event itself names. Lost events lower the sums but never corrupt
/// them.
#[derive(Debug)]
pub struct ProgramFollower {
    /// The parent of the program's first tasks.
    starter: Option<u32>,
    has_begun: bool,
    threads: BTreeMap<u32, ProgramThread>,
    cpus: BTreeMap<u32, BesideCpu>,
    unwatched: CpuSet,
    /// The last known names of other tasks that came to a cpu.
    names: BTreeMap<u32, String>,
    surroundings: CauseSurroundings,
    sums: ProgramSums,
}

impl ProgramFollower {
    /// Returns the state before the program is started.
    pub fn new(surroundings: CauseSurroundings) -> Self {
        Self {
            starter: None,
            has_begun: false,
            threads: BTreeMap::new(),
            cpus: BTreeMap::new(),
            unwatched: CpuSet::default(),
            names: BTreeMap::new(),
            surroundings,
            sums: ProgramSums::new(0, 0),
        }
    }

    /// Declares that all events of a cpu arrive from now on.
    pub fn watch_cpu(&mut self, cpu: u32) {
        self.cpus.entry(cpu).or_default();
    }

    /// Declares that children of this task are the program.
    pub fn expect_child_of(&mut self, starter: u32) {
        self.starter = Some(starter);
    }

    /// Adds a task to the program.
    pub fn adopt_task(&mut self, task: u32, name: &str) {
        if self.threads.insert(task, ProgramThread::new(name.to_owned())).is_none() {
            self.sums.threads += 1;
        }
        self.sums.threads_at_once = self.sums.threads_at_once.max(self.threads.len() as u64);
    }

    /// Returns true if the program has or had any known task.
    pub const fn has_threads(&self) -> bool {
        self.sums.threads > 0
    }

    /// Returns the unwatched cpus that the program's threads moved to since the last call.
    pub fn take_unwatched(&mut self) -> CpuSet {
        std::mem::take(&mut self.unwatched)
    }

    /// Returns tasks of unknown name that sent the program interrupts.
    pub fn unnamed_senders(&self) -> Vec<u32> {
        let mut unnamed: Vec<u32> =
            self.sums.unnamed_senders().filter(|task| !self.surroundings.tasks.contains_key(task)).collect();
        unnamed.dedup();
        unnamed
    }

    /// Sets the name of a task.
    pub fn name_task(&mut self, task: u32, name: String) {
        self.surroundings.tasks.insert(task, name);
    }

    /// Records that events of a cpu were lost before the next one.
    pub fn note_lost(&mut self, cpu: u32, events: u64) {
        if events > 0 {
            self.sums.events_lost += events;
            // Of a cpu that is not watched, only the interrupts it sends are seen.
            if let Some(cpu) = self.cpus.get_mut(&cpu) {
                cpu.handlers.clear();
            }
        }
    }

    /// Processes the next event, in order of time.
    pub fn take_event(&mut self, event: &KernelEvent) {
        self.sums.events += 1;
        if self.cpus.contains_key(&event.cpu) {
            self.find_current(event);
            self.sums.events_in_program += u64::from(self.threads.contains_key(&event.task));
            self.on_cpu(event);
        }
        self.take_global_event(event);
        if let Some(cpu) = self.cpus.get_mut(&event.cpu) {
            cpu.last_ns = event.at_ns;
        }
    }

    /// Ends following and returns the report.
    pub fn into_report(mut self, until_ns: u64, event_source: EventSource) -> BesideReport {
        let cpus: Vec<u32> = self.cpus.keys().copied().collect();
        for cpu in cpus {
            self.depart_task(cpu, until_ns, LeaveReason::Unknown);
        }
        let threads: Vec<u32> = self.threads.keys().copied().collect();
        threads.into_iter().for_each(|thread| self.end_interruption(thread));
        let names = &self.surroundings.tasks;
        self.sums.into_report(until_ns, event_source, |task| names.get(&task).cloned().unwrap_or_default())
    }

    /// Handles events that concern the program on any cpu.
    fn take_global_event(&mut self, event: &KernelEvent) {
        match &event.what {
            EventKind::Forked { parent, child, name } => self.note_fork(*parent, *child, name),
            EventKind::Executed { task, program } => self.note_exec(*task, program, event.at_ns),
            EventKind::Ended { task, .. } => {
                if let Some(thread) = self.threads.get_mut(task) {
                    thread.has_ended = true;
                }
            }
            EventKind::Migrated { task, to, .. } => self.note_migration(*task, *to, event.at_ns),
            EventKind::Sent { to, function } => self.note_sent(event, to, function),
            _ => {}
        }
    }

    fn note_fork(&mut self, parent: u32, child: u32, name: &str) {
        if self.threads.contains_key(&parent) || self.starter == Some(parent) {
            self.adopt_task(child, name);
        } else {
            // The child reuses the number of a former thread of the program, and the event of its end was lost.
            self.threads.remove(&child);
        }
    }

    /// Begins the program at its first exec: earlier events belong to the starter's code.
    fn note_exec(&mut self, task: u32, program: &str, at_ns: u64) {
        let Some(thread) = self.threads.get_mut(&task) else { return };
        let mut name = program.rsplit('/').next().unwrap_or_default().to_owned();
        while name.len() > NAME_BYTES {
            name.pop();
        }
        thread.name.clone_from(&name);
        // If another thread executes a program, the first thread of the process ends and that thread takes its number.
        thread.has_ended = false;
        let on = self.cpus.values_mut().find(|cpu| cpu.current == Some(task));
        on.into_iter().for_each(|cpu| cpu.name.clone_from(&name));
        if !std::mem::replace(&mut self.has_begun, true) {
            let (events_lost, threads) = (self.sums.events_lost, self.threads.len() as u64);
            self.sums = ProgramSums::new(at_ns, threads);
            self.sums.events_lost = events_lost;
            self.threads.values_mut().for_each(|thread| thread.making = None);
            self.cpus.values_mut().for_each(|cpu| cpu.since_ns = at_ns);
        }
    }

    fn note_migration(&mut self, task: u32, to: u32, at_ns: u64) {
        let Some(thread) = self.threads.get(&task) else { return };
        self.sums.migrations += 1;
        if !self.cpus.contains_key(&to) {
            self.unwatched.insert(to);
        }
        if let ProgramThreadState::Waiting { cpu: from, .. } = thread.state {
            self.note_wait(task, at_ns);
            self.cpus.entry(from).or_default().waiting.retain(|waiting| *waiting != task);
            if let Some(cpu) = self.cpus.get_mut(&to) {
                cpu.waiting.push(task);
            }
            self.set_state(task, ProgramThreadState::Waiting { cpu: to, since_ns: at_ns });
        }
    }

    fn note_sent(&mut self, event: &KernelEvent, to: &CpuSet, function: &str) {
        let is_own = self.threads.contains_key(&event.task);
        let name = self.cpus.get(&event.cpu).map(|cpu| cpu.name.clone()).unwrap_or_default();
        for cpu in to.iter().filter(|cpu| *cpu != event.cpu) {
            if let Some(target) = self.cpus.get_mut(&cpu) {
                target.expect_interrupt(SentInterrupt {
                    at_ns: event.at_ns,
                    cpu: event.cpu,
                    task: event.task,
                    name: name.clone(),
                    is_own,
                    function: function.to_owned(),
                });
            }
        }
    }
}
