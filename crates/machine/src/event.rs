//! Kernel events of a cpu as one typed stream: interrupts, task switches, page faults, calls between cpus.
//!
//! `corewise-sys` decodes the kernel's tracepoints into it; `attribution` of `corewise-model` and other analyses read it.

use serde::{Deserialize, Serialize};

use crate::CpuSet;

/// Something that happened on a cpu.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KernelEvent {
    /// Time in nanoseconds of the recording's clock (CLOCK_MONOTONIC_RAW).
    pub at_ns: u64,
    /// The cpu of the event.
    pub cpu: u32,
    /// The current task, by its global number; 0 if the cpu was idle.
    pub task: u32,
    /// Kind of the event with its details.
    pub what: EventKind,
}

/// Kind of an event with its details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EventKind {
    /// A handler begins.
    Enter {
        /// Source of the interrupt.
        source: InterruptSource,
    },
    /// A handler ends.
    Exit {
        /// Source of the interrupt.
        source: InterruptSource,
    },
    /// A handler of a non-maskable interrupt ended.
    NonMaskable {
        /// Duration in nanoseconds.
        duration_ns: u64,
        /// The handler's name, if the kernel's symbols may be read.
        handler: String,
    },
    /// A page fault began.
    PageFault {
        /// True if the kernel caused it, not the program.
        in_kernel: bool,
    },
    /// The cpu switches to another task.
    Switch {
        /// The outgoing task.
        from: u32,
        /// True if the outgoing task was still runnable: it was preempted.
        preempted: bool,
        /// The incoming task.
        to: u32,
        /// Name of the incoming task.
        to_name: String,
    },
    /// A task is woken.
    Woken {
        /// The task.
        task: u32,
        /// True if an interrupt woke it, not the current task.
        in_interrupt: bool,
    },
    /// A kernel worker begins a piece of work.
    Work {
        /// The function's name, if the kernel's symbols may be read.
        function: String,
    },
    /// Another cpu's request is carried out here.
    Called {
        /// The function's name, if the kernel's symbols may be read.
        function: String,
    },
    /// This cpu interrupts others.
    Sent {
        /// The interrupted cpus.
        to: CpuSet,
        /// Name of the callback that they are to run, if the kernel's symbols may be read; empty if there is none.
        function: String,
    },
    /// A task is moved to another cpu.
    Migrated {
        /// The task.
        task: u32,
        /// The cpu it leaves.
        from: u32,
        /// The cpu it moves to.
        to: u32,
    },
    /// A task is created.
    Forked {
        /// Its parent.
        parent: u32,
        /// The new task.
        child: u32,
        /// Its name.
        name: String,
    },
    /// A task executes another program.
    Executed {
        /// The task.
        task: u32,
        /// The program's path.
        program: String,
    },
    /// A task ends.
    Ended {
        /// The task.
        task: u32,
        /// Its name.
        name: String,
    },
    /// A task requests another affinity, its own if `task` is 0.
    AffinityAsked {
        /// The task.
        task: u32,
    },
    /// The kernel answers a task's request for an affinity.
    AffinityAnswered {
        /// True if the affinity was set.
        is_granted: bool,
    },
}

/// Source of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "source", content = "number", rename_all = "kebab-case")]
pub enum InterruptSource {
    /// A device, by its number in /proc/interrupts.
    Device(u32),
    /// A soft interrupt, by its vector (include/linux/interrupt.h).
    Soft(u32),
    /// The cpu's own timer.
    LocalTimer,
    /// Another cpu asks this one to reschedule.
    Reschedule,
    /// Another cpu asks this one to carry out a function.
    FunctionCall,
    /// The kernel's own deferred work in interrupt context.
    IrqWork,
    /// A use of the platform's own (x86_platform_ipi).
    Platform,
    /// The temperature sensor.
    Thermal,
    /// Corrected errors above a threshold.
    Threshold,
    /// Deferred errors (AMD).
    DeferredError,
    /// Errors of the local interrupt controller.
    ControllerError,
    /// A spurious interrupt.
    Spurious,
    /// An interrupt between processors that has no vector of its own here (Arm).
    Processor,
}

/// The kernel's names of the soft interrupts (kernel/softirq.c, `softirq_to_name`).
const SOFT: [&str; 10] = ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

impl InterruptSource {
    /// Returns the plain name. For a device it contains the number, since only /proc/interrupts has the name.
    pub fn name(self) -> String {
        match self {
            Self::Device(number) => format!("interrupt {number}"),
            Self::Soft(vector) => match SOFT.get(vector as usize) {
                Some(name) => format!("softirq {name}"),
                None => format!("softirq {vector}"),
            },
            other => other.fixed_name().to_owned(),
        }
    }

    const fn fixed_name(self) -> &'static str {
        match self {
            Self::LocalTimer => "timer",
            Self::Reschedule => "reschedule",
            Self::FunctionCall => "function call",
            Self::IrqWork => "irq work",
            Self::Platform => "platform",
            Self::Thermal => "thermal",
            Self::Threshold => "threshold",
            Self::DeferredError => "deferred error",
            Self::ControllerError => "controller error",
            Self::Spurious => "spurious",
            Self::Processor => "other processor",
            Self::Device(_) | Self::Soft(_) => "",
        }
    }

    /// Returns true if another cpu sends it.
    pub const fn is_sent(self) -> bool {
        matches!(self, Self::Reschedule | Self::FunctionCall | Self::Processor)
    }
}

/// Source of the information on causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventSource {
    /// The thread's own accounting: its cpu time and its involuntary switches. Any user may read it.
    Thread,
    /// The kernel's tracepoints, through perf_event_open(2).
    Perf,
    /// The kernel's tracepoints, through an ftrace instance.
    Ftrace,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_have_the_names_of_the_kernels_tables() {
        assert_eq!(InterruptSource::Soft(7).name(), "softirq SCHED");
        assert_eq!(InterruptSource::Soft(12).name(), "softirq 12");
        assert_eq!(InterruptSource::Device(36).name(), "interrupt 36");
        assert_eq!(InterruptSource::LocalTimer.name(), "timer");
    }

    #[test]
    fn an_event_is_one_flat_object() {
        let event =
            KernelEvent { at_ns: 12, cpu: 1, task: 7, what: EventKind::Enter { source: InterruptSource::Device(36) } };
        let json = serde_json::to_string(&event).unwrap();
        assert_eq!(
            json,
            r#"{"at_ns":12,"cpu":1,"task":7,"what":{"kind":"enter","source":{"source":"device","number":36}}}"#
        );
        assert_eq!(serde_json::from_str::<KernelEvent>(&json).unwrap(), event);
    }
}
