//! Time that handlers take from the program's threads on watched cpus.

use corewise_machine::event::{Event, Source, What};

use super::Follow;
use crate::attribution::Cause;
use crate::beside::cpu::Leaving;
use crate::beside::interruption::Making;

impl Follow {
    /// Handles an event of a watched cpu.
    pub(super) fn on_cpu(&mut self, event: &Event) {
        let (cpu, at_ns) = (event.cpu, event.at_ns);
        match &event.what {
            What::Switch { preempted, to, to_name, .. } => {
                self.depart(cpu, at_ns, if *preempted { Leaving::Preempted } else { Leaving::Waiting });
                self.arrive(cpu, at_ns, *to, to_name);
                self.remember(*to, to_name);
            }
            What::Work { function } => self.cpus.entry(cpu).or_default().function.clone_from(function),
            _ if !self.threads.contains_key(&event.task) => {}
            What::Enter { source: Source::IrqWork } => {
                // The kernel does not record its end.
                self.sums.handled(cpu, &self.cause(Source::IrqWork, ""), None);
            }
            What::Enter { source } => self.enter(event, *source),
            What::Exit { source } => self.exit(event, *source),
            What::NonMaskable { duration_ns, handler } => self.non_maskable(event, *duration_ns, handler),
            What::Called { function } => {
                let handler = self.cpus.entry(cpu).or_default().handlers.last_mut();
                handler.filter(|handler| handler.function.is_empty()).into_iter().for_each(|handler| {
                    handler.function.clone_from(function);
                });
            }
            What::PageFault { in_kernel: true } => self.sums.page_faults_kernel += 1,
            What::PageFault { in_kernel: false } => self.sums.page_faults_user += 1,
            _ => {}
        }
    }

    fn enter(&mut self, event: &Event, source: Source) {
        let cpu = self.cpus.entry(event.cpu).or_default();
        cpu.enter(source, event.at_ns);
        if cpu.handlers.len() == 1 {
            self.begin_interruption(event.task, event.cpu, event.at_ns);
        }
    }

    fn exit(&mut self, event: &Event, source: Source) {
        let Some((handler, own_ns)) = self.cpus.entry(event.cpu).or_default().exit(source, event.at_ns) else { return };
        self.sums.handled(event.cpu, &self.cause(source, ""), Some(own_ns));
        if source.is_sent() {
            self.sums.arrived(source, handler.sent.as_ref(), &handler.function);
        }
        let cause = self.cause(source, &handler.function);
        self.add(event.task, cause, own_ns, event.at_ns, false);
    }

    /// Handles a non-maskable interrupt, which is recorded at its end with its duration.
    fn non_maskable(&mut self, event: &Event, duration_ns: u64, handler: &str) {
        let cause = Cause::NonMaskable { handler: handler.to_owned() };
        let cpu = self.cpus.entry(event.cpu).or_default();
        cpu.ran_in_handler(duration_ns);
        if cpu.handlers.is_empty() {
            self.begin_interruption(event.task, event.cpu, event.at_ns.saturating_sub(duration_ns));
        }
        self.sums.handled(event.cpu, &cause, Some(duration_ns));
        self.add(event.task, cause, duration_ns, event.at_ns, false);
    }

    fn cause(&self, source: Source, function: &str) -> Cause {
        let detail = match source {
            Source::Device(number) => self.surroundings.devices.get(&number).cloned().unwrap_or_default(),
            _ => function.to_owned(),
        };
        Cause::Interrupt { source, detail }
    }

    /// Begins an interruption of a thread, or continues one after a short pause.
    pub(super) fn begin_interruption(&mut self, task: u32, cpu: u32, at_ns: u64) {
        let Some(thread) = self.threads.get_mut(&task) else { return };
        match &mut thread.making {
            Some(making) if making.goes_on_at(at_ns) => making.go_on(at_ns),
            _ => {
                self.end_interruption(task);
                if let Some(thread) = self.threads.get_mut(&task) {
                    thread.making = Some(Making::new(cpu, at_ns));
                }
            }
        }
    }

    pub(super) fn add(&mut self, task: u32, cause: Cause, length_ns: u64, until_ns: u64, is_own: bool) {
        if let Some(making) = self.threads.get_mut(&task).and_then(|thread| thread.making.as_mut()) {
            making.add(cause, length_ns, until_ns, is_own);
        }
    }

    pub(super) fn end_interruption(&mut self, task: u32) {
        let Some(thread) = self.threads.get_mut(&task) else { return };
        let over = thread.making.take().and_then(|making| making.finish(self.sums.zero_ns));
        if let Some(mut interruption) = over {
            (interruption.thread, interruption.name) = (task, thread.name.clone());
            self.sums.keep(interruption);
        }
    }
}
