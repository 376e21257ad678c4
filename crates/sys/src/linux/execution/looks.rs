//! Observations of a command's threads while it runs: their cpus, and masks that they set themselves.

use std::fs;
use std::io;

use corewise_machine::CpuSet;

use super::super::affinity;
use crate::values::execution::ThreadObservations;
use crate::values::task::ProcessThreads;

/// Looks at the threads of a command and of its descendants.
pub struct ThreadLooks {
    /// The collected observations.
    pub observed: ThreadObservations,
    given: CpuSet,
}

impl ThreadLooks {
    /// Starts without observations. A mask that differs from the given cpus, or else from the caller's own, counts as set by the command.
    pub fn new(given: Option<&CpuSet>) -> io::Result<Self> {
        let given = given.cloned().map_or_else(affinity::current_affinity, Ok)?;
        Ok(Self { observed: ThreadObservations::default(), given })
    }

    /// Looks at all threads of some processes.
    pub fn observe_threads(&mut self, processes: Vec<ProcessThreads>) {
        let mut threads = 0;
        let seen = &mut self.observed;
        seen.computing = CpuSet::default();
        for process in processes {
            for thread in process.threads {
                threads += 1;
                if let Some((cpu, computes)) = last_cpu(process.number, thread) {
                    seen.used.insert(cpu);
                    seen.computing.extend(computes.then_some(cpu));
                }
                let mask = affinity::affinity_of(thread).ok().filter(|mask| *mask != self.given);
                seen.own_mask = seen.own_mask.take().or(mask);
            }
        }
        seen.most_threads = seen.most_threads.max(threads);
    }
}

/// Returns the cpu that a thread last ran on, and true if it runs or waits to: fields 39 and 3 of /proc/PID/task/TID/stat.
fn last_cpu(process: u32, thread: u32) -> Option<(u32, bool)> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    Some((fields.split(' ').nth(39 - 3)?.parse().ok()?, fields.starts_with('R')))
}
