//! The programs that count wakes, as instructions of BPF. Each runs at a tracepoint, on the cpu of the event.

use std::os::fd::OwnedFd;

use super::calls::DESCRIPTOR_CALLS;
use super::instructions::AccessWidth::{Eight, Four, Two};
use super::instructions::Register::{R0, R1, R2, R3, R6, R7, R8, R9, R10};
use super::instructions::{BpfInstruction, KernelFunction, OpenJump, ProgramText, Register};
use super::layout::{InnerNumbers, KernelLayout, NUMBER_BYTES};

/// Bytes of keys and values. [`super::entries`] reads these layouts.
pub const EDGE_KEY_BYTES: usize = 20;
pub const EDGE_VALUE_BYTES: usize = 8;
pub const TASK_VALUE_BYTES: usize = 24;
pub const BEGUN_VALUE_BYTES: usize = 16;
pub const WAIT_KEY_BYTES: usize = 12;
pub const WAIT_VALUE_BYTES: usize = 16;

/// Value of a watched process: its wakes are counted, or only its children are watched.
pub const WAKES_COUNT: i32 = 1;
pub const CHILDREN_COUNT: i32 = 2;

/// Marks the device's interrupt that is handled now; without it, the number is that of the last one on this cpu.
pub const HANDLER_RUNS: i32 = 1 << 16;
/// Marks that a timer's function runs now.
pub const TIMER_RUNS: i32 = 1 << 17;
/// The lower half of the number of a task's system call if it made none.
const NO_CALL: i32 = 0xffff;
/// Number of all tasks that have none in this process's namespace.
pub const OUTSIDE: u32 = u32::MAX;
/// Added to the interrupt's number, so that 0 means none.
pub const NUMBER_BASE: i32 = 1;

/// The maps of the programs.
#[derive(Debug)]
pub struct WakeMaps {
    /// Watched processes, by number.
    pub watched: OwnedFd,
    /// Number of wakes, by both tasks, their system calls, the descriptor and the interrupt.
    pub edges: OwnedFd,
    /// Process and name, by task.
    pub tasks: OwnedFd,
    /// The interrupt that each cpu handles, or handled last.
    pub handled: OwnedFd,
    /// Number of wakes that had no room.
    pub lost: OwnedFd,
    /// Time and waker of the wake that a task has not followed yet, by the kernel's number of the task.
    pub begun: OwnedFd,
    /// Number of waits and their time, by both tasks and whether they ran in different groups of cpus.
    pub waits: OwnedFd,
    /// The group of each cpu.
    pub groups: OwnedFd,
}

/// Places in the stack.
const KEY: i16 = -24;
const SMALL_KEY: i16 = -32;
const CALL: i16 = -36;
const VALUE: i16 = -64;
/// Numbers of a task and, four bytes later, of its process, as this process's namespace has them.
const WAKEE: i16 = -72;
const WAKER: i16 = -80;
/// A number in a namespace, as the kernel keeps it, and the namespace's number.
const NUMBER: i16 = -96;
const NAMESPACE: i16 = -100;

/// Loads both tasks and their numbers, and returns the jumps that are taken if neither is watched. R6 becomes the woken task, R9 the current
/// one.
fn skip_unwatched(text: &mut ProgramText, layout: &KernelLayout, maps: &WakeMaps) -> OpenJump {
    text.load(Eight, R6, R1, 0);
    text.call(KernelFunction::CurrentTask);
    text.copy(R9, R0);
    write_numbers(text, layout, R6, WAKEE);
    write_numbers(text, layout, R9, WAKER);
    text.look_up(&maps.watched, WAKEE + 4);
    let wakee_is_none = text.jump_if_equal(R0, 0);
    text.load(Four, R1, R0, 0);
    let wakee_counts = text.jump_if_equal(R1, WAKES_COUNT);
    text.land([wakee_is_none]);
    text.look_up(&maps.watched, WAKER + 4);
    let is_none = text.jump_if_equal(R0, 0);
    text.load(Four, R1, R0, 0);
    let waker_counts = text.jump_if_equal(R1, WAKES_COUNT);
    text.land([is_none]);
    text.exit();
    text.land([wakee_counts]);
    let to_end = text.jump();
    text.land([waker_counts]);
    to_end
}

/// Writes the numbers of a task and of its process into the stack: 0 for the idle task, and [`OUTSIDE`] for others without a number in this
/// process's namespace.
fn write_numbers(text: &mut ProgramText, layout: &KernelLayout, task: Register, at: i16) {
    if let Some(numbers) = &layout.numbers {
        write_inner_number(text, layout, numbers, task, at);
        text.load(Eight, R1, task, numbers.task_leader);
        write_inner_number(text, layout, numbers, R1, at + 4);
        return;
    }
    for (field, at) in [(layout.task_number, at), (layout.task_process, at + 4)] {
        text.load(Four, R1, task, field);
        text.store(Four, R10, at, R1);
    }
}

/// Writes a task's number in an inner namespace into the stack. A task has numbers in its own namespace and in those around it.
fn write_inner_number(text: &mut ProgramText, layout: &KernelLayout, numbers: &InnerNumbers, task: Register, at: i16) {
    text.load(Four, R2, task, layout.task_number);
    text.load(Eight, R3, task, numbers.task_numbers);
    let is_idle = text.jump_if_equal(R2, 0);
    text.set(R2, OUTSIDE.cast_signed());
    text.land([is_idle]);
    text.store(Four, R10, at, R2);
    text.load(Four, R2, R3, numbers.deepest_level);
    let lies_above = text.jump_if_less(R2, numbers.level.cast_signed());
    text.advance(R3, numbers.own_number());
    text.read_memory(NUMBER, NUMBER_BYTES);
    let has_ended = text.jump_if_other(R0, 0);
    text.load(Eight, R3, R10, NUMBER + numbers.number_namespace);
    text.advance(R3, i32::from(numbers.namespace_number));
    text.read_memory(NAMESPACE, 4);
    let has_no_namespace = text.jump_if_other(R0, 0);
    text.load(Four, R1, R10, NAMESPACE);
    let lies_elsewhere = text.jump_if_half_differs(R1, numbers.namespace);
    text.load(Four, R1, R10, NUMBER + numbers.number);
    text.store(Four, R10, at, R1);
    text.land([lies_above, has_ended, has_no_namespace, lies_elsewhere]);
}

/// Writes the program that returns the level of the running task's namespace.
pub fn find_level(numbers: &InnerNumbers) -> Vec<BpfInstruction> {
    let mut text = ProgramText::default();
    text.call(KernelFunction::CurrentTask);
    text.load(Eight, R1, R0, numbers.task_numbers);
    text.load(Four, R0, R1, numbers.deepest_level);
    text.give_back();
    text.instructions
}

/// R8 becomes the interrupt of this cpu: its number with the marks of what runs now, or 0.
fn load_interrupt(text: &mut ProgramText, maps: &WakeMaps) {
    text.set(R8, 0);
    text.store(Four, R10, SMALL_KEY, R8);
    text.look_up(&maps.handled, SMALL_KEY);
    let is_unknown = text.jump_if_equal(R0, 0);
    text.load(Four, R8, R0, 0);
    text.land([is_unknown]);
}

/// R0 becomes the group of this cpu.
fn load_group(text: &mut ProgramText, maps: &WakeMaps) {
    text.call(KernelFunction::CurrentCpu);
    text.store(Four, R10, SMALL_KEY, R0);
    text.look_up(&maps.groups, SMALL_KEY);
    let is_unknown = text.jump_if_equal(R0, 0);
    text.load(Four, R0, R0, 0);
    text.land([is_unknown]);
}

/// Writes the program that counts a wake, at `sched_waking`.
pub fn count_wakes(layout: &KernelLayout, maps: &WakeMaps) -> Vec<BpfInstruction> {
    let mut text = ProgramText::default();
    let watched = skip_unwatched(&mut text, layout, maps);
    text.land([watched]);
    write_edge_key(&mut text, layout, maps);
    text.look_up(&maps.edges, KEY);
    let is_known = text.jump_if_other(R0, 0);
    text.set(R1, 0);
    text.store(Eight, R10, VALUE, R1);
    text.update(&maps.edges, KEY, VALUE, true);
    write_task(&mut text, layout, maps, R6, WAKEE);
    write_task(&mut text, layout, maps, R9, WAKER);
    // Another cpu may have added the same meanwhile.
    text.look_up(&maps.edges, KEY);
    let is_added = text.jump_if_other(R0, 0);
    text.set(R1, 0);
    text.store(Four, R10, SMALL_KEY, R1);
    text.look_up(&maps.lost, SMALL_KEY);
    let has_no_room = text.jump_if_equal(R0, 0);
    text.land([is_known, is_added]);
    text.set(R1, 1);
    text.add_to_memory(R0, 0, R1);
    text.land([has_no_room]);
    text.exit();
    text.instructions
}

/// Writes the key of a wake into the stack: waker, wakee, their calls, the descriptor, the interrupt.
///
/// The current task did not wake it if an interrupt's or a timer's handler runs, if it runs its own code, or if it is the idle task: then
/// another interrupt's second half did.
fn write_edge_key(text: &mut ProgramText, layout: &KernelLayout, maps: &WakeMaps) {
    load_interrupt(text, maps);
    text.load(Four, R1, R10, WAKEE);
    text.store(Four, R10, KEY + 4, R1);
    load_registers_of(text, R6);
    text.load(Two, R1, R0, layout.call_number);
    text.store(Two, R10, KEY + 10, R1);
    text.load(Eight, R2, R0, layout.call_argument);
    let has_descriptor: Vec<OpenJump> = DESCRIPTOR_CALLS.iter().map(|call| text.jump_if_equal(R1, *call)).collect();
    text.set(R2, -1);
    text.land(has_descriptor);
    text.store(Four, R10, KEY + 12, R2);
    load_registers_of(text, R9);
    text.load(Two, R1, R0, layout.call_number);
    text.store(Four, R10, CALL, R1);
    text.copy(R2, R8);
    text.mask(R2, HANDLER_RUNS | TIMER_RUNS);
    let handler_runs = text.jump_if_other(R2, 0);
    let runs_own_code = text.jump_if_equal(R1, NO_CALL);
    text.load(Four, R7, R10, WAKER);
    let is_idle = text.jump_if_equal(R7, 0);
    text.set(R8, 0);
    let is_task = text.jump();
    text.land([handler_runs, runs_own_code, is_idle]);
    text.set(R7, 0);
    text.set(R1, NO_CALL);
    text.store(Four, R10, CALL, R1);
    text.land([is_task]);
    text.store(Four, R10, KEY, R7);
    text.load(Four, R1, R10, CALL);
    text.store(Two, R10, KEY + 8, R1);
    text.store(Four, R10, KEY + 16, R8);
}

/// R0 becomes the registers that a task saved.
fn load_registers_of(text: &mut ProgramText, task: Register) {
    text.copy(R1, task);
    text.call(KernelFunction::UserRegisters);
}

/// Keeps a task's process and name: it may have ended when they are read.
fn write_task(text: &mut ProgramText, layout: &KernelLayout, maps: &WakeMaps, task: Register, numbers: i16) {
    text.load(Four, R1, R10, numbers + 4);
    text.store(Eight, R10, VALUE, R1);
    text.load(Eight, R1, task, layout.task_name);
    text.store(Eight, R10, VALUE + 8, R1);
    text.load(Eight, R1, task, layout.task_name + 8);
    text.store(Eight, R10, VALUE + 16, R1);
    text.update(&maps.tasks, numbers, VALUE, false);
}

/// Writes the program that watches the children of watched processes, at `sched_process_fork`.
pub fn follow_children(layout: &KernelLayout, maps: &WakeMaps) -> Vec<BpfInstruction> {
    let mut text = ProgramText::default();
    text.load(Eight, R6, R1, 0);
    text.load(Eight, R7, R1, 8);
    write_numbers(&mut text, layout, R6, WAKER);
    write_numbers(&mut text, layout, R7, WAKEE);
    text.load(Four, R6, R10, WAKER + 4);
    text.load(Four, R7, R10, WAKEE + 4);
    let is_thread = text.jump_if_same(R6, R7);
    text.look_up(&maps.watched, WAKER + 4);
    let is_unwatched = text.jump_if_equal(R0, 0);
    text.set(R1, WAKES_COUNT);
    text.store(Four, R10, VALUE, R1);
    text.update(&maps.watched, WAKEE + 4, VALUE, false);
    text.land([is_thread, is_unwatched]);
    text.exit();
    text.instructions
}

/// Writes the program that keeps the number of a cpu's interrupt, at `irq_handler_entry` and `irq_handler_exit`.
pub fn keep_interrupt(maps: &WakeMaps, begins: bool) -> Vec<BpfInstruction> {
    let mut text = ProgramText::default();
    text.load(Eight, R6, R1, 0);
    load_interrupt(&mut text, maps);
    let is_unknown = text.jump_if_equal(R0, 0);
    text.mask(R6, HANDLER_RUNS - 1);
    text.set(R1, NUMBER_BASE);
    text.add(R6, R1);
    if begins {
        text.set(R1, HANDLER_RUNS);
        text.combine(R6, R1);
    }
    text.store(Four, R0, 0, R6);
    text.land([is_unknown]);
    text.exit();
    text.instructions
}

/// Writes the program that marks that a timer's function runs, at `hrtimer_expire_entry` and `hrtimer_expire_exit`.
pub fn mark_timer(maps: &WakeMaps, begins: bool) -> Vec<BpfInstruction> {
    let mut text = ProgramText::default();
    load_interrupt(&mut text, maps);
    let is_unknown = text.jump_if_equal(R0, 0);
    if begins {
        text.set(R1, TIMER_RUNS);
        text.combine(R8, R1);
    } else {
        text.mask(R8, !TIMER_RUNS);
    }
    text.store(Four, R0, 0, R8);
    text.land([is_unknown]);
    text.exit();
    text.instructions
}

/// Writes the program that keeps the time of a wake and the group of its cpu, at `sched_waking`.
pub fn begin_waits(layout: &KernelLayout, maps: &WakeMaps) -> Vec<BpfInstruction> {
    let mut text = ProgramText::default();
    let watched = skip_unwatched(&mut text, layout, maps);
    text.land([watched]);
    load_interrupt(&mut text, maps);
    text.load(Four, R7, R10, WAKER);
    text.mask(R8, HANDLER_RUNS | TIMER_RUNS);
    let is_task = text.jump_if_equal(R8, 0);
    text.set(R7, 0);
    text.land([is_task]);
    text.call(KernelFunction::Time);
    text.store(Eight, R10, VALUE, R0);
    text.store(Four, R10, VALUE + 8, R7);
    load_group(&mut text, maps);
    text.store(Four, R10, VALUE + 12, R0);
    text.load(Four, R1, R6, layout.task_number);
    text.store(Four, R10, SMALL_KEY, R1);
    text.update(&maps.begun, SMALL_KEY, VALUE, false);
    text.exit();
    text.instructions
}

/// Writes the program that adds the time since a task's wake when it runs, at `sched_switch`.
pub fn end_waits(layout: &KernelLayout, maps: &WakeMaps) -> Vec<BpfInstruction> {
    let mut text = ProgramText::default();
    text.load(Eight, R6, R1, 16);
    text.load(Four, R1, R6, layout.task_number);
    text.store(Four, R10, SMALL_KEY, R1);
    text.look_up(&maps.begun, SMALL_KEY);
    let was_not_woken = text.jump_if_equal(R0, 0);
    text.load(Eight, R7, R0, 0);
    text.load(Four, R1, R0, 8);
    text.store(Four, R10, KEY, R1);
    text.load(Four, R9, R0, 12);
    text.load_map(R1, &maps.begun);
    text.point_to_stack(R2, SMALL_KEY);
    text.call(KernelFunction::Delete);
    text.call(KernelFunction::Time);
    text.subtract(R0, R7);
    text.copy(R8, R0);
    write_numbers(&mut text, layout, R6, WAKEE);
    text.load(Four, R1, R10, WAKEE);
    text.store(Four, R10, KEY + 4, R1);
    load_group(&mut text, maps);
    text.set(R1, 0);
    let is_inside = text.jump_if_same(R9, R0);
    text.set(R1, 1);
    text.land([is_inside]);
    text.store(Four, R10, KEY + 8, R1);
    text.look_up(&maps.waits, KEY);
    let is_known = text.jump_if_other(R0, 0);
    text.set(R1, 0);
    text.store(Eight, R10, VALUE, R1);
    text.store(Eight, R10, VALUE + 8, R1);
    text.update(&maps.waits, KEY, VALUE, true);
    text.look_up(&maps.waits, KEY);
    let has_no_room = text.jump_if_equal(R0, 0);
    text.land([is_known]);
    text.set(R1, 1);
    text.add_to_memory(R0, 0, R1);
    text.add_to_memory(R0, 8, R8);
    text.land([was_not_woken, has_no_room]);
    text.exit();
    text.instructions
}
