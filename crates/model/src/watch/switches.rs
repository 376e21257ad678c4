//! Reduction of switch events to the activity of each task: its cpus, its moves, its preempters.

use std::collections::HashMap;

use corewise_machine::event::{EventKind, KernelEvent};

/// Maximum number of tasks to remember with their last cpu; beyond it all are forgotten, and the next move of each is
/// not counted.
const MOST_TASKS: usize = 1 << 16;

/// Activity of tasks between two looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskSwitches {
    /// The source of events: "perf", "ftrace".
    pub source: String,
    /// Number of switches of a cpu to another task.
    pub switches: u64,
    /// Number of lost events.
    pub lost: u64,
    /// The tasks that ran or were preempted, by their numbers.
    pub tasks: HashMap<u32, SwitchedTask>,
}

/// Activity of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchedTask {
    /// The cpu on which it ran last; `None` if it did not run.
    pub cpu: Option<u32>,
    /// Number of moves to another cpu.
    pub moves: u32,
    /// Tasks that preempted it, with their names and counts.
    pub preempted_by: Vec<(u32, String, u32)>,
}

/// Reduces events, which are fed in order of time.
#[derive(Clone, Debug, Default)]
pub struct SwitchReducer {
    last: HashMap<u32, u32>,
    now: TaskSwitches,
}

impl SwitchReducer {
    /// Processes an event; events other than switches are ignored.
    pub fn take_event(&mut self, event: &KernelEvent) {
        let EventKind::Switch { from, preempted, to, to_name } = &event.what else { return };
        self.now.switches += 1;
        if *preempted && *from != 0 {
            let by = &mut self.now.tasks.entry(*from).or_default().preempted_by;
            match by.iter_mut().find(|(task, ..)| task == to) {
                Some((.., times)) => *times += 1,
                None => by.push((*to, to_name.clone(), 1)),
            }
        }
        if *from != 0 {
            // Also recorded if it had begun before the first event.
            self.last.insert(*from, event.cpu);
        }
        if *to != 0 {
            let before = self.last.insert(*to, event.cpu);
            let task = self.now.tasks.entry(*to).or_default();
            task.moves += u32::from(before.is_some_and(|before| before != event.cpu));
            task.cpu = Some(event.cpu);
        }
        if self.last.len() > MOST_TASKS {
            self.last.clear();
        }
    }

    /// Records lost events.
    pub fn note_lost(&mut self, events: u64) {
        self.now.lost += events;
    }

    /// Returns the activity since the last call.
    pub fn take_tasks(&mut self) -> TaskSwitches {
        std::mem::take(&mut self.now)
    }
}
