//! Where this kernel keeps the fields that the programs read, on its processor.

use super::kernel_types::{KernelTypes, NamedKind};

/// Path of the kernel's description of its types.
pub const DESCRIPTION: &str = "/sys/kernel/btf/vmlinux";

/// A kernel function's first argument and its number's place in the registers that a task saved when it entered the kernel.
#[cfg(target_arch = "x86_64")]
const CALL_FIELDS: [&str; 2] = ["orig_ax", "di"];
#[cfg(target_arch = "aarch64")]
const CALL_FIELDS: [&str; 2] = ["syscallno", "orig_x0"];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALL_FIELDS: [&str; 2] = ["a processor that corewise does not know", ""];

/// Positions of fields in bytes, and numbers of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelLayout {
    pub task_number: i16,
    pub task_process: i16,
    pub task_name: i16,
    pub call_number: i16,
    pub call_argument: i16,
    pub waking: u32,
    pub switching: u32,
    pub forking: u32,
    pub interrupt_begins: u32,
    pub interrupt_ends: u32,
    pub timer_begins: u32,
    pub timer_ends: u32,
    /// `None` in the initial process namespace, where tasks have the kernel's numbers.
    pub numbers: Option<InnerNumbers>,
}

/// Where a task has its number in an inner process namespace (`struct pid`): one for each namespace from the initial one to its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerNumbers {
    /// Number of the namespace itself.
    pub namespace: u32,
    /// How many namespaces it lies in. Known when a program has run.
    pub level: u32,
    pub task_numbers: i16,
    pub task_leader: i16,
    pub deepest_level: i16,
    pub first_number: i16,
    pub number: i16,
    pub number_namespace: i16,
    pub namespace_number: i16,
}

/// Size of `struct upid`: a number and the address of its namespace.
pub const NUMBER_BYTES: i32 = 16;

impl InnerNumbers {
    /// Finds the fields for a namespace.
    ///
    /// # Errors
    /// The name of the first that this kernel lacks.
    pub fn find_fields(types: &KernelTypes, namespace: u32) -> Result<Self, String> {
        let member = |structure, member| find_member(types, structure, member);
        Ok(Self {
            namespace,
            level: 0,
            task_numbers: member("task_struct", "thread_pid")?,
            task_leader: member("task_struct", "group_leader")?,
            deepest_level: member("pid", "level")?,
            first_number: member("pid", "numbers")?,
            number: member("upid", "nr")?,
            number_namespace: member("upid", "ns")?,
            namespace_number: member("pid_namespace", "ns")? + member("ns_common", "inum")?,
        })
    }

    /// Returns the position of the number in `struct pid`.
    pub fn own_number(&self) -> i32 {
        i32::from(self.first_number) + NUMBER_BYTES * self.level.cast_signed()
    }
}

fn find_member(types: &KernelTypes, structure: &str, member: &str) -> Result<i16, String> {
    let place = types.find_member(structure, member).and_then(|place| i16::try_from(place).ok());
    place.ok_or_else(|| format!("{structure}.{member}"))
}

impl KernelLayout {
    /// Finds all fields for the initial process namespace.
    ///
    /// # Errors
    /// The name of the first that this kernel lacks.
    pub fn find_fields(types: &KernelTypes) -> Result<Self, String> {
        let member = |structure, member| find_member(types, structure, member);
        let tracepoint = |name: &str| {
            types.find_type(NamedKind::Definition, &format!("btf_trace_{name}")).ok_or_else(|| name.to_owned())
        };
        Ok(Self {
            task_number: member("task_struct", "pid")?,
            task_process: member("task_struct", "tgid")?,
            task_name: member("task_struct", "comm")?,
            call_number: member("pt_regs", CALL_FIELDS[0])?,
            call_argument: member("pt_regs", CALL_FIELDS[1])?,
            waking: tracepoint("sched_waking")?,
            switching: tracepoint("sched_switch")?,
            forking: tracepoint("sched_process_fork")?,
            interrupt_begins: tracepoint("irq_handler_entry")?,
            interrupt_ends: tracepoint("irq_handler_exit")?,
            timer_begins: tracepoint("hrtimer_expire_entry")?,
            timer_ends: tracepoint("hrtimer_expire_exit")?,
            numbers: None,
        })
    }
}
