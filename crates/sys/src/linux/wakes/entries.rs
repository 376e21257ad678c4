//! Entries of the programs' maps as values.

use std::collections::BTreeSet;

use super::bpf_calls::{read_entry, read_map};
use super::calls::kind_of_call;
use super::programs::{
    EDGE_KEY_BYTES, EDGE_VALUE_BYTES, HANDLER_RUNS, NUMBER_BASE, OUTSIDE, TASK_VALUE_BYTES, TIMER_RUNS, WAIT_KEY_BYTES,
    WAIT_VALUE_BYTES, WAKES_COUNT, WakeMaps,
};
use super::{MOST_EDGES, MOST_PROCESSES, MOST_TASKS};
use crate::values::wakes::{CallKind, WakeCount, WakeCounts, WakeOrigin, WakeTask, WakeWait};

/// Reads the counts; nothing may be attached any more.
pub fn read_counts(maps: &WakeMaps) -> WakeCounts {
    let mut edges: Vec<WakeCount> =
        read_map(&maps.edges, MOST_EDGES).iter().map(|(key, value)| parse_edge(key, value)).collect();
    let (processes, tasks) = (read_processes(maps), read_tasks(maps, &edges));
    drop_strangers(&mut edges, &processes, &tasks);
    WakeCounts {
        waits: read_waits(maps),
        lost: read_entry(&maps.lost, &[0; 4]).map_or(0, u64::from_ne_bytes),
        edges,
        processes,
        tasks,
    }
}

/// Reads the waits since the beginning.
pub fn read_waits(maps: &WakeMaps) -> Vec<WakeWait> {
    read_map(&maps.waits, MOST_EDGES).iter().map(|(key, value)| parse_wait(key, value)).collect()
}

/// Drops wakes of other tasks by an interrupt: it only interrupted a watched thread.
fn drop_strangers(edges: &mut Vec<WakeCount>, processes: &[u32], tasks: &[WakeTask]) {
    let is_watched = |task: &&WakeTask| processes.contains(&task.process);
    let watched: BTreeSet<u32> = tasks.iter().filter(is_watched).map(|task| task.thread).collect();
    edges.retain(|edge| matches!(edge.origin, WakeOrigin::Task(_)) || watched.contains(&edge.wakee));
}

fn read_processes(maps: &WakeMaps) -> Vec<u32> {
    let watched = read_map::<4, 4>(&maps.watched, MOST_PROCESSES);
    let counted = watched.into_iter().filter(|(_, value)| *value == WAKES_COUNT.to_ne_bytes());
    counted.map(|(process, _)| u32::from_ne_bytes(process)).collect()
}

fn read_tasks(maps: &WakeMaps, edges: &[WakeCount]) -> Vec<WakeTask> {
    let is_named = |edge: &WakeCount| if let WakeOrigin::Task(waker) = edge.origin { Some(waker) } else { None };
    let mut numbers: BTreeSet<u32> = edges.iter().filter_map(is_named).collect();
    numbers.extend(edges.iter().map(|edge| edge.wakee));
    let entry = |number: &u32| Some(parse_task(*number, &read_entry(&maps.tasks, &number.to_ne_bytes())?));
    numbers.iter().take(MOST_TASKS as usize).filter_map(entry).collect()
}

fn parse_edge(key: &[u8; EDGE_KEY_BYTES], value: &[u8; EDGE_VALUE_BYTES]) -> WakeCount {
    let (waker, waker_call, wakee_call) = (word_at(key, 0), call_at(key, 8), call_at(key, 10));
    let waits_for_files = matches!(wakee_call, CallKind::File | CallKind::Socket | CallKind::Poll);
    // A call that sends nothing was interrupted.
    let sends_nothing = matches!(waker_call, CallKind::Futex | CallKind::Sleep | CallKind::Poll);
    let origin = match waker {
        0 => WakeOrigin::Interrupt(interrupt_number(word_at(key, 16).cast_signed(), waits_for_files)),
        _ if sends_nothing && waits_for_files => WakeOrigin::Interrupt(None),
        _ => WakeOrigin::Task(waker),
    };
    let descriptor = word_at(key, 12);
    WakeCount {
        origin,
        wakee: word_at(key, 4),
        waker_call: if matches!(origin, WakeOrigin::Task(_)) { waker_call } else { CallKind::None },
        wakee_call,
        descriptor: (descriptor != u32::MAX).then_some(descriptor),
        wakes: u64::from_ne_bytes(*value),
    }
}

/// Returns the number of the device that woke a task. The second half of an interrupt follows its handler on the same cpu; only a task that
/// waits for files is woken by it.
fn interrupt_number(kept: i32, waits_for_files: bool) -> Option<u32> {
    let number = u32::try_from((kept & (HANDLER_RUNS - 1)).checked_sub(NUMBER_BASE)?).ok()?;
    let is_device = kept & HANDLER_RUNS != 0 || kept & TIMER_RUNS == 0 && waits_for_files;
    is_device.then_some(number)
}

fn parse_wait(key: &[u8; WAIT_KEY_BYTES], value: &[u8; WAIT_VALUE_BYTES]) -> WakeWait {
    let (waits, waiting_ns) = (long_at(value, 0), long_at(value, 8));
    WakeWait { waker: word_at(key, 0), wakee: word_at(key, 4), is_across: word_at(key, 8) != 0, waits, waiting_ns }
}

fn parse_task(thread: u32, value: &[u8; TASK_VALUE_BYTES]) -> WakeTask {
    if thread == OUTSIDE {
        return WakeTask { thread, process: OUTSIDE, name: "any outside of this container".to_owned() };
    }
    let name = value[8..].split(|byte| *byte == 0).next().unwrap_or_default();
    WakeTask { thread, process: word_at(value, 0), name: String::from_utf8_lossy(name).into_owned() }
}

fn call_at(bytes: &[u8], at: usize) -> CallKind {
    // The lower half of a call's number; -1 has all bits.
    kind_of_call(libc::c_long::from(i16::from_ne_bytes([bytes[at], bytes[at + 1]])))
}

fn word_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn long_at(bytes: &[u8; WAIT_VALUE_BYTES], at: usize) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|index| bytes[at + index]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(waker: u32, calls: [libc::c_long; 2], descriptor: u32, interrupt: i32) -> WakeCount {
        let halves = calls.map(|call| (call as i16).to_ne_bytes()).concat();
        let words = [descriptor, interrupt.cast_unsigned()].map(u32::to_ne_bytes).concat();
        let key = [&waker.to_ne_bytes()[..], &9_u32.to_ne_bytes(), &halves, &words].concat();
        parse_edge(&key.try_into().unwrap(), &7_u64.to_ne_bytes())
    }

    #[test]
    fn a_wake_by_a_thread_has_its_call_and_the_descriptor_that_the_other_waits_for() {
        let by_pipe = edge(8, [libc::SYS_write, libc::SYS_read], 5, 0);
        assert_eq!((by_pipe.origin, by_pipe.wakee, by_pipe.wakes), (WakeOrigin::Task(8), 9, 7));
        assert_eq!((by_pipe.waker_call, by_pipe.wakee_call), (CallKind::File, CallKind::File));
        assert_eq!(by_pipe.descriptor, Some(5));
        let by_word = edge(8, [libc::SYS_futex; 2], u32::MAX, 0);
        assert_eq!((by_word.wakee_call, by_word.descriptor), (CallKind::Futex, None));
        assert_eq!(edge(8, [libc::SYS_futex, libc::SYS_epoll_pwait], u32::MAX, 0).origin, WakeOrigin::Interrupt(None));
    }

    #[test]
    fn an_interrupt_that_wakes_another_program_is_not_counted() {
        let task = |thread, process| WakeTask { thread, process, name: String::new() };
        let by = |waker| edge(waker, [-1, libc::SYS_epoll_pwait], u32::MAX, 0);
        let left = |watched| {
            let mut edges = vec![by(0), by(8)];
            drop_strangers(&mut edges, &[watched], &[task(9, 90), task(8, 80)]);
            edges.iter().map(|edge| edge.origin).collect::<Vec<_>>()
        };
        assert_eq!(left(90), [WakeOrigin::Interrupt(None), WakeOrigin::Task(8)]);
        assert_eq!(left(80), [WakeOrigin::Task(8)]);
    }

    #[test]
    fn a_device_is_known_while_its_handler_runs_and_in_the_half_that_follows() {
        let device = 24 + NUMBER_BASE;
        let by = |interrupt, call| edge(0, [-1, call], u32::MAX, interrupt).origin;
        assert_eq!(by(HANDLER_RUNS | device, libc::SYS_futex), WakeOrigin::Interrupt(Some(24)));
        assert_eq!(by(device, libc::SYS_epoll_pwait), WakeOrigin::Interrupt(Some(24)));
        assert_eq!(by(device, libc::SYS_nanosleep), WakeOrigin::Interrupt(None), "a sleeper waits for no device");
        assert_eq!(by(TIMER_RUNS | device, libc::SYS_epoll_pwait), WakeOrigin::Interrupt(None), "a timer, after it");
        assert_eq!(by(0, libc::SYS_epoll_pwait), WakeOrigin::Interrupt(None));
    }
}
