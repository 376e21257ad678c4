//! Time that handlers take from the program's threads on watched cpus.

use corewise_machine::event::{EventKind, InterruptSource, KernelEvent};

use super::ProgramFollower;
use crate::attribution::StallCause;
use crate::beside::cpu::LeaveReason;
use crate::beside::interruption::OpenInterruption;

impl ProgramFollower {
    /// Handles an event of a watched cpu.
    pub(super) fn on_cpu(&mut self, event: &KernelEvent) {
        let (cpu, at_ns) = (event.cpu, event.at_ns);
        match &event.what {
            EventKind::Switch { preempted, to, to_name, .. } => {
                self.depart_task(cpu, at_ns, if *preempted { LeaveReason::Preempted } else { LeaveReason::Waiting });
                self.arrive_task(cpu, at_ns, *to, to_name);
                self.remember_name(*to, to_name);
            }
            EventKind::Work { function } => self.cpus.entry(cpu).or_default().function.clone_from(function),
            _ if !self.threads.contains_key(&event.task) => {}
            EventKind::Enter { source: InterruptSource::IrqWork } => {
                // The kernel does not record its end.
                self.sums.add_handler(cpu, &self.handler_cause(InterruptSource::IrqWork, ""), None);
            }
            EventKind::Enter { source } => self.enter_handler(event, *source),
            EventKind::Exit { source } => self.exit_handler(event, *source),
            EventKind::NonMaskable { duration_ns, handler } => self.non_maskable(event, *duration_ns, handler),
            EventKind::Called { function } => {
                let handler = self.cpus.entry(cpu).or_default().handlers.last_mut();
                handler.filter(|handler| handler.function.is_empty()).into_iter().for_each(|handler| {
                    handler.function.clone_from(function);
                });
            }
            EventKind::PageFault { in_kernel: true } => self.sums.page_faults_kernel += 1,
            EventKind::PageFault { in_kernel: false } => self.sums.page_faults_user += 1,
            _ => {}
        }
    }

    fn enter_handler(&mut self, event: &KernelEvent, source: InterruptSource) {
        let cpu = self.cpus.entry(event.cpu).or_default();
        cpu.enter_handler(source, event.at_ns);
        if cpu.handlers.len() == 1 {
            self.begin_interruption(event.task, event.cpu, event.at_ns);
        }
    }

    fn exit_handler(&mut self, event: &KernelEvent, source: InterruptSource) {
        let Some((handler, own_ns)) = self.cpus.entry(event.cpu).or_default().exit_handler(source, event.at_ns) else {
            return;
        };
        self.sums.add_handler(event.cpu, &self.handler_cause(source, ""), Some(own_ns));
        if source.is_sent() {
            self.sums.add_arrival(source, handler.sent.as_ref(), &handler.function);
        }
        let cause = self.handler_cause(source, &handler.function);
        self.add_handler_time(event.task, cause, own_ns, event.at_ns, false);
    }

    /// Handles a non-maskable interrupt, which is recorded at its end with its duration.
    fn non_maskable(&mut self, event: &KernelEvent, duration_ns: u64, handler: &str) {
        let cause = StallCause::NonMaskable { handler: handler.to_owned() };
        let cpu = self.cpus.entry(event.cpu).or_default();
        cpu.ran_in_handler(duration_ns);
        if cpu.handlers.is_empty() {
            self.begin_interruption(event.task, event.cpu, event.at_ns.saturating_sub(duration_ns));
        }
        self.sums.add_handler(event.cpu, &cause, Some(duration_ns));
        self.add_handler_time(event.task, cause, duration_ns, event.at_ns, false);
    }

    fn handler_cause(&self, source: InterruptSource, function: &str) -> StallCause {
        let detail = match source {
            InterruptSource::Device(number) => self.surroundings.devices.get(&number).cloned().unwrap_or_default(),
            _ => function.to_owned(),
        };
        StallCause::Interrupt { source, detail }
    }

    /// Begins an interruption of a thread, or continues one after a short pause.
    pub(super) fn begin_interruption(&mut self, task: u32, cpu: u32, at_ns: u64) {
        let Some(thread) = self.threads.get_mut(&task) else { return };
        match &mut thread.making {
            Some(making) if making.goes_on_at(at_ns) => making.go_on(at_ns),
            _ => {
                self.end_interruption(task);
                if let Some(thread) = self.threads.get_mut(&task) {
                    thread.making = Some(OpenInterruption::new(cpu, at_ns));
                }
            }
        }
    }

    pub(super) fn add_handler_time(
        &mut self,
        task: u32,
        cause: StallCause,
        length_ns: u64,
        until_ns: u64,
        is_own: bool,
    ) {
        if let Some(making) = self.threads.get_mut(&task).and_then(|thread| thread.making.as_mut()) {
            making.add_part(cause, length_ns, until_ns, is_own);
        }
    }

    pub(super) fn end_interruption(&mut self, task: u32) {
        let Some(thread) = self.threads.get_mut(&task) else { return };
        let over = thread.making.take().and_then(|making| making.into_interruption(self.sums.zero_ns));
        if let Some(mut interruption) = over {
            (interruption.thread, interruption.name) = (task, thread.name.clone());
            self.sums.keep_interruption(interruption);
        }
    }
}
