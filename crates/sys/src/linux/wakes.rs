//! Wakes of tasks, counted in the kernel by small BPF programs (bpf(2)) that are written here, instruction by instruction, with the positions
//! of fields from the kernel's description of its own types.
//!
//! Nothing outlives this process: maps, programs and attachments are descriptors. Memory is bounded and allocated at once.

mod bpf_calls;
mod calls;
mod entries;
mod instructions;
mod kernel_types;
mod layout;
mod programs;

use std::io;
use std::os::fd::OwnedFd;

use corewise_machine::{CpuSet, Gap};

use super::lockdown::explain_lockdown;
use super::proc_files::read_file;
use super::process::{number_space_id, sees_all_numbers};
pub use crate::values::wakes::{CallKind, DescriptorKind, WakeCount, WakeCounts, WakeOrigin, WakeTask, WakeWait};
use bpf_calls::{MapKind, attach_program, create_map, load_program, run_program, update_map};
use kernel_types::KernelTypes;
use layout::{DESCRIPTION, InnerNumbers, KernelLayout};
use programs::WakeMaps;

const WHAT: &str = "wakes counted in the kernel";
const CURE: &str = "run as root, or with CAP_BPF and CAP_PERFMON";
/// Entries of the maps: pairs of threads with their calls, tasks, and processes. All maps together take some 15 MB.
const MOST_EDGES: u32 = 1 << 16;
const MOST_TASKS: u32 = 1 << 15;
const MOST_PROCESSES: u32 = 1 << 14;

/// Counts wakes of some processes' threads.
#[derive(Debug)]
pub struct WakeCounter {
    maps: WakeMaps,
    /// Programs that count, in the order in which they are attached, and programs that measure waiting times.
    counting: Vec<OwnedFd>,
    timing: Vec<OwnedFd>,
    attached: Vec<OwnedFd>,
    attached_timing: Vec<OwnedFd>,
}

impl WakeCounter {
    /// Loads the programs. Nothing is attached yet. Waits are separated by whether waker and woken thread ran in the same of `groups`; cpus
    /// without a group are one more group.
    ///
    /// # Errors
    /// The gap that says why this kernel or user cannot count so, and what would change that.
    pub fn open(groups: &[CpuSet]) -> Result<Self, Gap> {
        let layout = read_layout()?;
        Self::load_programs(layout, groups).map_err(|error| refusal_gap(&error))
    }

    fn load_programs(mut layout: KernelLayout, groups: &[CpuSet]) -> io::Result<Self> {
        if let Some(numbers) = &mut layout.numbers {
            numbers.level = run_program(&load_program("corewise_level", None, &programs::find_level(numbers))?)?;
        }
        let layout = &layout;
        let maps = create_maps(groups)?;
        let load = |name, tracepoint, text: Vec<_>| load_program(name, Some(tracepoint), &text);
        let counting = vec![
            load("corewise_fork", layout.forking, programs::follow_children(layout, &maps))?,
            // Attached before what it ends: a mark without an end would make an interrupt of all later wakes of its cpu.
            load("corewise_irq", layout.interrupt_ends, programs::keep_interrupt(&maps, false))?,
            load("corewise_irq", layout.interrupt_begins, programs::keep_interrupt(&maps, true))?,
            load("corewise_timer", layout.timer_ends, programs::mark_timer(&maps, false))?,
            load("corewise_timer", layout.timer_begins, programs::mark_timer(&maps, true))?,
            load("corewise_wake", layout.waking, programs::count_wakes(layout, &maps))?,
        ];
        let timing = vec![
            load("corewise_begin", layout.waking, programs::begin_waits(layout, &maps))?,
            load("corewise_end", layout.switching, programs::end_waits(layout, &maps))?,
        ];
        Ok(Self { maps, counting, timing, attached: Vec::new(), attached_timing: Vec::new() })
    }

    /// Counts the wakes by and of a process's threads, and watches its children from now on.
    ///
    /// # Errors
    /// If too many processes are watched.
    pub fn watch_process(&self, process: u32) -> io::Result<()> {
        update_map(&self.maps.watched, &process.to_ne_bytes(), &programs::WAKES_COUNT.to_ne_bytes())
    }

    /// Watches the children that a process makes from now on, but not itself.
    ///
    /// # Errors
    /// If too many processes are watched.
    pub fn watch_children_of(&self, process: u32) -> io::Result<()> {
        update_map(&self.maps.watched, &process.to_ne_bytes(), &programs::CHILDREN_COUNT.to_ne_bytes())
    }

    /// Attaches the programs that count, until this value is dropped or the counts are taken.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn start_counting(&mut self) -> io::Result<()> {
        self.attached = self.counting.iter().map(attach_program).collect::<io::Result<_>>()?;
        Ok(())
    }

    /// Begins or ends to measure waiting times, which costs much more than counting.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn time_waits(&mut self, is_on: bool) -> io::Result<()> {
        let programs = if is_on { self.timing.as_slice() } else { &[] };
        self.attached_timing.clear();
        self.attached_timing = programs.iter().map(attach_program).collect::<io::Result<_>>()?;
        Ok(())
    }

    /// Returns the waits since the beginning.
    pub fn read_waits(&self) -> Vec<WakeWait> {
        entries::read_waits(&self.maps)
    }

    /// Ends counting; what was counted remains.
    pub fn stop_counting(&mut self) {
        self.attached_timing.clear();
        // In reverse, for the same reason.
        while self.attached.pop().is_some() {}
    }

    /// Ends counting, and returns the counts.
    pub fn take_counts(mut self) -> WakeCounts {
        self.stop_counting();
        entries::read_counts(&self.maps)
    }
}

fn create_maps(groups: &[CpuSet]) -> io::Result<WakeMaps> {
    let hash = |key_bytes, value_bytes, entries| create_map(MapKind::Hash, key_bytes, value_bytes, entries);
    Ok(WakeMaps {
        watched: hash(4, 4, MOST_PROCESSES)?,
        edges: hash(programs::EDGE_KEY_BYTES, programs::EDGE_VALUE_BYTES, MOST_EDGES)?,
        tasks: hash(4, programs::TASK_VALUE_BYTES, MOST_TASKS)?,
        handled: create_map(MapKind::ArrayOfEachCpu, 4, 4, 1)?,
        lost: create_map(MapKind::Array, 4, 8, 1)?,
        begun: hash(4, programs::BEGUN_VALUE_BYTES, MOST_TASKS)?,
        waits: hash(programs::WAIT_KEY_BYTES, programs::WAIT_VALUE_BYTES, MOST_EDGES)?,
        groups: create_groups(groups)?,
    })
}

/// Creates the map of each cpu's group: the place in the list, from 1, and 0 for cpus in no group.
fn create_groups(groups: &[CpuSet]) -> io::Result<OwnedFd> {
    let cpus = groups.iter().filter_map(CpuSet::highest).max().map_or(1, |last| last + 1);
    let map = create_map(MapKind::Array, 4, 4, cpus)?;
    for (group, cpu) in (1_u32..).zip(groups).flat_map(|(group, cpus)| cpus.iter().map(move |cpu| (group, cpu))) {
        update_map(&map, &cpu.to_ne_bytes(), &group.to_ne_bytes())?;
    }
    Ok(map)
}

fn read_layout() -> Result<KernelLayout, Gap> {
    let bytes = read_file(DESCRIPTION).map_err(|error| {
        Gap::new(
            WHAT,
            format!("{DESCRIPTION}: {error}; this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)"),
        )
    })?;
    let types = KernelTypes::parse(bytes).ok_or_else(|| Gap::new(WHAT, format!("{DESCRIPTION} cannot be read")))?;
    find_layout(&types).map_err(|missing| Gap::new(WHAT, format!("this kernel has no {missing}")))
}

fn find_layout(types: &KernelTypes) -> Result<KernelLayout, String> {
    let inner = || InnerNumbers::find_fields(types, number_space_id() as u32);
    let numbers = if sees_all_numbers() { None } else { Some(inner()?) };
    Ok(KernelLayout { numbers, ..KernelLayout::find_fields(types)? })
}

fn refusal_gap(error: &io::Error) -> Gap {
    let gap = Gap::new(WHAT, format!("the kernel refuses BPF programs: {error}"));
    let gap = match error.kind() {
        io::ErrorKind::PermissionDenied if sees_all_numbers() => gap.cured_by(CURE),
        io::ErrorKind::PermissionDenied => gap.cured_by(format!("{CURE}, outside of the container")),
        _ => gap,
    };
    explain_lockdown(gap)
}

/// Returns the kinds of a process's open files, at most `most` of them.
pub fn descriptor_kinds(process: u32, most: usize) -> Vec<(u32, DescriptorKind)> {
    let folder = format!("/proc/{process}/fd");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten().take(most);
    let kind = |entry: std::fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let target = std::fs::read_link(entry.path()).ok()?;
        let target = target.to_string_lossy();
        Some((number, kind_of_link(&target)))
    };
    entries.filter_map(kind).collect()
}

fn kind_of_link(target: &str) -> DescriptorKind {
    match target.split(':').next() {
        Some("pipe") => DescriptorKind::Pipe,
        Some("socket") => DescriptorKind::Socket,
        _ => DescriptorKind::Other,
    }
}

/// Returns the call in which a thread waits now, and the descriptor for which it waits; `None` if it does not wait, or if this user may not
/// know (ptrace(2), "Ptrace access mode checking").
pub fn waiting_call(process: u32, thread: u32) -> Option<(CallKind, Option<u32>)> {
    parse_waiting_call(&read_file(&format!("/proc/{process}/task/{thread}/syscall")).ok()?)
}

/// Parses "202 0x7f0c 0x80 …": the call's number and its arguments.
fn parse_waiting_call(text: &[u8]) -> Option<(CallKind, Option<u32>)> {
    let text = std::str::from_utf8(text).ok()?;
    let mut words = text.split_whitespace();
    let number: libc::c_long = words.next()?.parse().ok()?;
    let kind = calls::kind_of_call(number);
    let argument = words.next().and_then(|word| u32::from_str_radix(word.trim_start_matches("0x"), 16).ok());
    let has_descriptor = matches!(kind, CallKind::File | CallKind::Socket);
    Some((kind, argument.filter(|_| has_descriptor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_call_has_a_descriptor_only_if_it_waits_for_one() {
        let futex = format!("{} 0x7f0c12345678 0x80 0x2 0x0\n", libc::SYS_futex);
        assert_eq!(parse_waiting_call(futex.as_bytes()), Some((CallKind::Futex, None)));
        let read = format!("{} 0x1b 0x7ffc 0x1\n", libc::SYS_read);
        assert_eq!(parse_waiting_call(read.as_bytes()), Some((CallKind::File, Some(27))));
        assert_eq!(parse_waiting_call(b"running\n"), None);
        assert_eq!(parse_waiting_call(b"-1 0x7ffc 0x7f0c\n"), Some((CallKind::None, None)));
        assert_eq!(parse_waiting_call(b""), None);
    }

    #[test]
    fn open_files_are_told_apart() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let kinds = descriptor_kinds(std::process::id(), usize::MAX);
        let kind_of = |number: i32| kinds.iter().find(|(open, _)| *open as i32 == number).map(|(_, kind)| *kind);
        use std::os::fd::AsRawFd as _;
        assert_eq!(kind_of(reader.as_raw_fd()), Some(DescriptorKind::Pipe));
        assert_eq!(kind_of(socket.as_raw_fd()), Some(DescriptorKind::Socket));
    }
}
