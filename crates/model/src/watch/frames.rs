//! Conversion of looks to frames: a pure function of each look and the one before it.

use std::collections::HashMap;

use corewise_machine::Machine;
use corewise_machine::thread::ThreadLook;
use corewise_machine::worth::{Board, Record, Speed};

use super::{CpuNow, CpuShares, Frame, Look, Preempter, Sight, ThreadNow};

/// Converts looks to frames.
#[derive(Clone, Debug)]
pub struct Frames {
    board: Board,
    before: Option<Before>,
}

/// Needed data of the look before.
#[derive(Clone, Debug)]
struct Before {
    at_ns: u64,
    threads: HashMap<(u32, u64), ThreadLook>,
}

impl Frames {
    /// Creates a converter for a machine with these [speeds](crate::worth::speeds).
    pub fn new(machine: &Machine, speeds: Vec<Speed>) -> Self {
        Self { board: Board::new(machine, speeds), before: None }
    }

    /// Converts a look to a frame.
    pub fn next(&mut self, look: Look) -> Frame {
        self.board.update(look.at_ns, &look.ticks, |_| None);
        let before = self.before.take();
        let elapsed_s = before.as_ref().map_or(0.0, |before| look.at_ns.saturating_sub(before.at_ns) as f64 * 1e-9);
        let known = before.map(|before| before.threads).unwrap_or_default();
        let threads = look.threads.iter().map(|thread| {
            let earlier = known.get(&(thread.thread, thread.start_ticks));
            thread_now(thread, earlier, elapsed_s, &look)
        });
        let frame = Frame {
            at_unix_ms: look.at_unix_ms,
            elapsed_s: (elapsed_s * 1e6).round() / 1e6,
            sight: sight(&look, elapsed_s),
            cpus: cpus_now(self.board.records(), &look, elapsed_s > 0.0),
            threads: threads.collect(),
            interrupts: look.interrupts.map(|interrupts| interrupts.sources).unwrap_or_default(),
            end: look.end,
        };
        let threads = look.threads.into_iter().map(|thread| ((thread.thread, thread.start_ticks), thread)).collect();
        self.before = Some(Before { at_ns: look.at_ns, threads });
        frame
    }
}

fn sight(look: &Look, elapsed_s: f64) -> Sight {
    match &look.tasks {
        Some(tasks) => Sight::Events {
            source: tasks.source.clone(),
            switches_per_s: rate(tasks.switches as f64, elapsed_s).unwrap_or(0.0),
            lost: tasks.lost,
        },
        None => Sight::Sampling { why: look.why_no_events.clone() },
    }
}

fn cpus_now(records: &[Record], look: &Look, has_shares: bool) -> Vec<CpuNow> {
    let struck = |cpu: u32| look.interrupts.as_ref().map(|all| all.cpus.get(cpu as usize).copied().unwrap_or(0.0));
    let online = (0..).zip(records).filter(|(_, record)| record.online);
    online
        .map(|(cpu, record)| CpuNow {
            cpu,
            // The shares of a cpu are unknown until its counters move.
            shares: (has_shares && record.confidence > 0).then(|| shares(record)),
            interrupts_per_s: struck(cpu),
            rules: look.holds.of_cpu(cpu),
            ..look.cpus.get(cpu as usize).cloned().unwrap_or_default()
        })
        .collect()
}

fn shares(record: &Record) -> CpuShares {
    CpuShares {
        busy: rounded(record.shares.busy),
        interrupts: rounded(record.shares.interrupts),
        soft_interrupts: rounded(record.shares.soft_interrupts),
        host: rounded(record.shares.stolen),
        worth: rounded(record.worth),
    }
}

fn thread_now(thread: &ThreadLook, before: Option<&ThreadLook>, elapsed_s: f64, look: &Look) -> ThreadNow {
    let share = |of: fn(&ThreadLook) -> Option<u64>| {
        let passed = of(thread)?.saturating_sub(of(before?)?) as f64 * 1e-9;
        (elapsed_s > 0.0).then(|| rounded((passed / elapsed_s).min(1.0) as f32))
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
        moves_per_s: before.and_then(|_| rate(f64::from(moves), elapsed_s)),
        preempted_by: seen.flatten().map(|task| preempters(&task.preempted_by, &look.own)).unwrap_or_default(),
        allowed: thread.allowed.clone(),
        rule: hold.map(|(rule, _)| rule.to_owned()),
        inside,
        is_own: look.own.contains(&thread.thread),
    }
}

fn preempters(by: &[(u32, String, u32)], own: &[u32]) -> Vec<Preempter> {
    let one = |(task, name, times): &(u32, String, u32)| Preempter {
        task: *task,
        name: name.clone(),
        times: *times,
        is_own: own.contains(task),
    };
    let mut all: Vec<Preempter> = by.iter().map(one).collect();
    all.sort_by(|a, b| b.times.cmp(&a.times).then(a.task.cmp(&b.task)));
    all
}

fn rate(count: f64, elapsed_s: f64) -> Option<f32> {
    (elapsed_s > 0.0).then(|| rounded((count / elapsed_s) as f32))
}

/// Rounds to three decimals: finer digits are noise, and take room in a recording.
fn rounded(value: f32) -> f32 {
    (value * 1e3).round() / 1e3
}
