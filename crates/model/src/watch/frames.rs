//! Conversion of looks to frames: a pure function of each look and the one before it.

use std::collections::HashMap;

use corewise_machine::Machine;
use corewise_machine::thread::ThreadSnapshot;
use corewise_machine::worth::{CpuSpeed, WorthRecord, WorthTable};

use super::{CpuNow, CpuShares, PreemptingThread, ThreadNow, ThreadSight, WatchFrame, WatchReading};

/// Converts looks to frames.
#[derive(Clone, Debug)]
pub struct FrameMaker {
    board: WorthTable,
    before: Option<FrameBase>,
}

/// Needed data of the look before.
#[derive(Clone, Debug)]
struct FrameBase {
    at_ns: u64,
    threads: HashMap<(u32, u64), ThreadSnapshot>,
}

impl FrameMaker {
    /// Creates a converter for a machine with these [speeds](crate::worth::speeds).
    pub fn new(machine: &Machine, speeds: Vec<CpuSpeed>) -> Self {
        Self { board: WorthTable::new(machine, speeds), before: None }
    }

    /// Converts a look to a frame.
    pub fn next(&mut self, look: WatchReading) -> WatchFrame {
        self.board.update_records(look.at_ns, &look.ticks, |_| None);
        let before = self.before.take();
        let elapsed_s = before.as_ref().map_or(0.0, |before| look.at_ns.saturating_sub(before.at_ns) as f64 * 1e-9);
        let known = before.map(|before| before.threads).unwrap_or_default();
        let threads = look.threads.iter().map(|thread| {
            let earlier = known.get(&(thread.thread, thread.start_ticks));
            thread_now(thread, earlier, elapsed_s, &look)
        });
        let frame = WatchFrame {
            at_unix_ms: look.at_unix_ms,
            elapsed_s: (elapsed_s * 1e6).round() / 1e6,
            sight: thread_sight(&look, elapsed_s),
            cpus: cpus_now(self.board.records(), &look, elapsed_s > 0.0),
            threads: threads.collect(),
            interrupts: look.interrupts.map(|interrupts| interrupts.sources).unwrap_or_default(),
            end: look.end,
        };
        let threads = look.threads.into_iter().map(|thread| ((thread.thread, thread.start_ticks), thread)).collect();
        self.before = Some(FrameBase { at_ns: look.at_ns, threads });
        frame
    }
}

fn thread_sight(look: &WatchReading, elapsed_s: f64) -> ThreadSight {
    match &look.tasks {
        Some(tasks) => ThreadSight::Events {
            source: tasks.source.clone(),
            switches_per_s: rate_per_second(tasks.switches as f64, elapsed_s).unwrap_or(0.0),
            lost: tasks.lost,
        },
        None => ThreadSight::Sampling { why: look.why_no_events.clone() },
    }
}

fn cpus_now(records: &[WorthRecord], look: &WatchReading, has_shares: bool) -> Vec<CpuNow> {
    let struck = |cpu: u32| look.interrupts.as_ref().map(|all| all.cpus.get(cpu as usize).copied().unwrap_or(0.0));
    let online = (0..).zip(records).filter(|(_, record)| record.online);
    online
        .map(|(cpu, record)| CpuNow {
            cpu,
            // The shares of a cpu are unknown until its counters move.
            shares: (has_shares && record.confidence > 0).then(|| cpu_shares(record)),
            interrupts_per_s: struck(cpu),
            rules: look.holds.of_cpu(cpu),
            ..look.cpus.get(cpu as usize).cloned().unwrap_or_default()
        })
        .collect()
}

fn cpu_shares(record: &WorthRecord) -> CpuShares {
    CpuShares {
        busy: round_share(record.shares.busy),
        interrupts: round_share(record.shares.interrupts),
        soft_interrupts: round_share(record.shares.soft_interrupts),
        host: round_share(record.shares.stolen),
        worth: round_share(record.worth),
    }
}

fn thread_now(
    thread: &ThreadSnapshot,
    before: Option<&ThreadSnapshot>,
    elapsed_s: f64,
    look: &WatchReading,
) -> ThreadNow {
    let share = |of: fn(&ThreadSnapshot) -> Option<u64>| {
        let passed = of(thread)?.saturating_sub(of(before?)?) as f64 * 1e-9;
        (elapsed_s > 0.0).then(|| round_share((passed / elapsed_s).min(1.0) as f32))
    };
    let seen = look.tasks.as_ref().map(|tasks| tasks.tasks.get(&thread.thread));
    let moves = match seen {
        Some(task) => task.map_or(0, |task| task.moves),
        None => u32::from(before.is_some_and(|before| before.cpu != thread.cpu)),
    };
    let hold = look.holds.of_thread(thread.thread);
    let inside = hold.and_then(|(_, cpus)| Some(thread.allowed.as_ref()?.is_subset(cpus)));
    ThreadNow {
        process: thread.process,
        thread: thread.thread,
        name: thread.name.clone(),
        cpu: seen.flatten().and_then(|task| task.cpu).unwrap_or(thread.cpu),
        running: share(|thread| thread.on_cpu_ns),
        waiting: share(|thread| thread.waited_ns),
        is_runnable: thread.is_runnable,
        moves_per_s: before.and_then(|_| rate_per_second(f64::from(moves), elapsed_s)),
        preempted_by: seen.flatten().map(|task| preempting_threads(&task.preempted_by, &look.own)).unwrap_or_default(),
        allowed: thread.allowed.clone(),
        rule: hold.map(|(rule, _)| rule.to_owned()),
        inside,
        is_own: look.own.contains(&thread.thread),
    }
}

fn preempting_threads(by: &[(u32, String, u32)], own: &[u32]) -> Vec<PreemptingThread> {
    let one = |(task, name, times): &(u32, String, u32)| PreemptingThread {
        task: *task,
        name: name.clone(),
        times: *times,
        is_own: own.contains(task),
    };
    let mut all: Vec<PreemptingThread> = by.iter().map(one).collect();
    all.sort_by(|a, b| b.times.cmp(&a.times).then(a.task.cmp(&b.task)));
    all
}

fn rate_per_second(count: f64, elapsed_s: f64) -> Option<f32> {
    (elapsed_s > 0.0).then(|| round_share((count / elapsed_s) as f32))
}

/// Rounds to three decimals: finer digits are noise, and take room in a recording.
fn round_share(value: f32) -> f32 {
    (value * 1e3).round() / 1e3
}
