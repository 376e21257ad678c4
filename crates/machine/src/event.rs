//! What the kernel tells of a cpu, as one typed stream: interrupts, switches of tasks, page faults, who called whom.
//!
//! Readers in `corewise-sys` decode the kernel's tracepoints into it; `attribution` of `corewise-model` and whatever else follows
//! programs reads it from here.

use serde::{Deserialize, Serialize};

use crate::CpuSet;

/// Something that happened on a cpu.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// When, in nanoseconds of the clock that all of a recording's times are of (CLOCK_MONOTONIC_RAW).
    pub at_ns: u64,
    /// On which cpu.
    pub cpu: u32,
    /// The task that was current there: its number in the system as a whole, 0 while the cpu was idle.
    pub task: u32,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum What {
    /// A handler begins.
    Enter {
        /// Whose.
        source: Source,
    },
    /// A handler ends.
    Exit {
        /// Whose.
        source: Source,
    },
    /// A handler of a non-maskable interrupt ended.
    NonMaskable {
        /// How long it took, in nanoseconds.
        duration_ns: u64,
        /// The handler's name, where the kernel's symbols may be read.
        handler: String,
    },
    /// A page fault began.
    PageFault {
        /// Whether the kernel ran into it, not the program.
        in_kernel: bool,
    },
    /// The cpu goes over to another task.
    Switch {
        /// The task that goes.
        from: u32,
        /// Whether it wanted to go on: it was preempted.
        preempted: bool,
        /// The task that comes.
        to: u32,
        /// That task's name.
        to_name: String,
    },
    /// A kernel worker begins a piece of work.
    Work {
        /// The function's name, where the kernel's symbols may be read.
        function: String,
    },
    /// Another cpu's request is carried out here.
    Called {
        /// The function's name, where the kernel's symbols may be read.
        function: String,
    },
    /// This cpu interrupts others.
    Sent {
        /// Those others.
        to: CpuSet,
        /// What they are to do: the callback's name, where the kernel's symbols may be read; empty where there is none.
        function: String,
    },
    /// A task is moved to another cpu.
    Migrated {
        /// The task.
        task: u32,
        /// From here.
        from: u32,
        /// To here.
        to: u32,
    },
    /// A task is made.
    Forked {
        /// Its parent.
        parent: u32,
        /// The new one.
        child: u32,
        /// Its name.
        name: String,
    },
    /// A task begins another program.
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
    /// A task asks for another affinity: its own where `task` is 0.
    AffinityAsked {
        /// The task.
        task: u32,
    },
}

/// Where an interrupt comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "source", content = "number", rename_all = "kebab-case")]
pub enum Source {
    /// A device, by the number in /proc/interrupts.
    Device(u32),
    /// A soft interrupt, by its vector (include/linux/interrupt.h).
    Soft(u32),
    /// The cpu's own timer.
    LocalTimer,
    /// Another cpu asks this one to look whom to run.
    Reschedule,
    /// Another cpu asks this one to carry out a function.
    FunctionCall,
    /// The kernel's own deferred work in interrupt context.
    IrqWork,
    /// The platform's own use (x86_platform_ipi).
    Platform,
    /// The temperature sensor.
    Thermal,
    /// Corrected errors above a threshold.
    Threshold,
    /// Deferred errors (AMD).
    DeferredError,
    /// Errors of the local interrupt controller.
    ControllerError,
    /// Nobody's.
    Spurious,
    /// An interrupt between processors that has no vector of its own here (Arm).
    Processor,
}

/// The kernel's names of the soft interrupts (kernel/softirq.c, `softirq_to_name`).
const SOFT: [&str; 10] = ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

impl Source {
    /// The plain name; a device's is its number, since only /proc/interrupts knows more.
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

    /// Whether another cpu sends it.
    pub const fn is_sent(self) -> bool {
        matches!(self, Self::Reschedule | Self::FunctionCall | Self::Processor)
    }
}

/// How much could be seen of the causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        assert_eq!(Source::Soft(7).name(), "softirq SCHED");
        assert_eq!(Source::Soft(12).name(), "softirq 12");
        assert_eq!(Source::Device(36).name(), "interrupt 36");
        assert_eq!(Source::LocalTimer.name(), "timer");
    }

    #[test]
    fn an_event_is_one_flat_object() {
        let event = Event { at_ns: 12, cpu: 1, task: 7, what: What::Enter { source: Source::Device(36) } };
        let json = serde_json::to_string(&event).unwrap();
        assert_eq!(
            json,
            r#"{"at_ns":12,"cpu":1,"task":7,"what":{"kind":"enter","source":{"source":"device","number":36}}}"#
        );
        assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event);
    }
}
