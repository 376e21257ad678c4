//! The current task of a cpu, and the preempted threads of the program that wait for it.

use corewise_machine::event::KernelEvent;

use super::{MOST_NAMES, ProgramFollower};
use crate::attribution::StallCause;
use crate::beside::cpu::{BesideCpu, LeaveReason};
use crate::beside::thread::ProgramThreadState;

impl ProgramFollower {
    /// Corrects the current task of a cpu by the task that an event names: if they differ, a switch was lost.
    pub(super) fn find_current(&mut self, event: &KernelEvent) {
        let Some(cpu) = self.cpus.get(&event.cpu).filter(|cpu| cpu.current != Some(event.task)) else { return };
        if cpu.current.is_some() {
            let (waiting, last_ns) = (cpu.waiting.clone(), cpu.last_ns);
            // The other task is assumed to have had the cpu until now; a program's thread only until its last event.
            waiting.into_iter().for_each(|thread| self.note_wait(thread, event.at_ns));
            self.depart_task(event.cpu, last_ns, LeaveReason::Unknown);
        }
        let name = self.threads.get(&event.task).map(|thread| &thread.name).or_else(|| self.names.get(&event.task));
        let name = name.cloned().unwrap_or_default();
        self.arrive_task(event.cpu, event.at_ns, event.task, &name);
    }

    /// Removes the current task from a cpu; the threads that waited meanwhile waited for it.
    pub(super) fn depart_task(&mut self, at: u32, at_ns: u64, leaving: LeaveReason) {
        let waiting = self.cpus.get(&at).map(|cpu| cpu.waiting.clone()).unwrap_or_default();
        waiting.into_iter().for_each(|thread| self.note_wait(thread, at_ns));
        let cpu = self.cpus.entry(at).or_default();
        cpu.handlers.clear();
        let Some((task, since_ns)) = cpu.current.map(|task| (task, cpu.since_ns)) else { return };
        let Some(thread) = self.threads.get(&task) else { return };
        let has_ended = thread.has_ended;
        self.sums.add_run(at, at_ns.saturating_sub(since_ns));
        if leaving == LeaveReason::Preempted && !has_ended {
            self.begin_interruption(task, at, at_ns);
            self.sums.add_preemption(at);
            self.cpus.entry(at).or_default().waiting.push(task);
            self.set_state(task, ProgramThreadState::Waiting { cpu: at, since_ns: at_ns });
            return;
        }
        self.end_interruption(task);
        self.set_state(task, ProgramThreadState::Away);
        if has_ended {
            self.threads.remove(&task);
        } else {
            self.sums.voluntary_waits += u64::from(leaving == LeaveReason::Waiting);
        }
    }

    /// Puts a task on a cpu.
    pub(super) fn arrive_task(&mut self, at: u32, at_ns: u64, task: u32, name: &str) {
        if let Some(ProgramThreadState::Waiting { cpu, .. }) = self.threads.get(&task).map(|thread| thread.state) {
            self.note_wait(task, at_ns);
            self.cpus.entry(cpu).or_default().waiting.retain(|waiting| *waiting != task);
            self.end_interruption(task);
        }
        if let Some(thread) = self.threads.get_mut(&task) {
            thread.state = ProgramThreadState::Running;
            if !name.is_empty() {
                name.clone_into(&mut thread.name);
            }
        }
        let cpu = self.cpus.entry(at).or_default();
        (cpu.current, cpu.since_ns) = (Some(task), at_ns);
        name.clone_into(&mut cpu.name);
        cpu.function.clear();
    }

    /// Accounts a preempted thread's wait, until a time, to the current task of its cpu.
    pub(super) fn note_wait(&mut self, task: u32, until_ns: u64) {
        let Some(ProgramThreadState::Waiting { cpu: at, since_ns }) =
            self.threads.get(&task).map(|thread| thread.state)
        else {
            return;
        };
        let length_ns = until_ns.saturating_sub(since_ns);
        if length_ns == 0 {
            return;
        }
        let cpu = self.cpus.get(&at);
        let is_own = cpu.and_then(|cpu| cpu.current).is_some_and(|current| self.threads.contains_key(&current));
        let cause = cpu.map_or(StallCause::OtherTask, BesideCpu::task_cause);
        self.sums.add_wait(at, &cause, is_own, length_ns);
        self.add_handler_time(task, cause, length_ns, until_ns, is_own);
        self.set_state(task, ProgramThreadState::Waiting { cpu: at, since_ns: until_ns });
    }

    pub(super) fn set_state(&mut self, task: u32, state: ProgramThreadState) {
        if let Some(thread) = self.threads.get_mut(&task) {
            thread.state = state;
        }
    }

    /// Keeps the name of a task for events that give only its number.
    pub(super) fn remember_name(&mut self, task: u32, name: &str) {
        if self.names.len() >= MOST_NAMES {
            self.names.clear();
        }
        if self.names.get(&task).is_none_or(|known| known != name) {
            self.names.insert(task, name.to_owned());
        }
    }
}
