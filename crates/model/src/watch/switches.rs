//! Events of switches, reduced as they come to what each task did: on which cpus it ran, how often it moved, who preempted it.

use std::collections::HashMap;

use corewise_machine::event::{Event, What};

/// So many tasks are remembered by where they ran last; where there are more, all are forgotten, and the next move of each is not counted.
const MOST_TASKS: usize = 1 << 16;

/// What tasks did between two looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tasks {
    /// By which source of events: "perf", "ftrace".
    pub source: String,
    /// How often a cpu went over to another task.
    pub switches: u64,
    /// How many events had no room.
    pub lost: u64,
    /// The tasks that ran or were preempted, by their numbers.
    pub tasks: HashMap<u32, Task>,
}

/// What a task did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Where it ran last; nothing where it did not.
    pub cpu: Option<u32>,
    /// How often it went on on another cpu than the one before.
    pub moves: u32,
    /// Which tasks took its cpu, with their names and how often.
    pub preempted_by: Vec<(u32, String, u32)>,
}

/// The reduction. Events are fed in order of time.
#[derive(Clone, Debug, Default)]
pub struct Switches {
    last: HashMap<u32, u32>,
    now: Tasks,
}

impl Switches {
    /// Takes an event; those that are no switches are passed over.
    pub fn step(&mut self, event: &Event) {
        let What::Switch { from, preempted, to, to_name } = &event.what else { return };
        self.now.switches += 1;
        if *preempted && *from != 0 {
            let by = &mut self.now.tasks.entry(*from).or_default().preempted_by;
            match by.iter_mut().find(|(task, ..)| task == to) {
                Some((.., times)) => *times += 1,
                None => by.push((*to, to_name.clone(), 1)),
            }
        }
        if *from != 0 {
            // Also where it had begun before the first event.
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

    /// So many events had no room.
    pub fn lose(&mut self, events: u64) {
        self.now.lost += events;
    }

    /// What there was since this was asked last.
    pub fn take(&mut self) -> Tasks {
        std::mem::take(&mut self.now)
    }
}
