//! Wakes counted in the kernel.

mod wait_slots;

use std::collections::BTreeMap;
use std::time::Duration;

use corewise_machine::{Gap, Level};
use corewise_model::talk::TalkSource;
use corewise_sys::wakes::{WakeCount, WakeCounter, WakeOrigin};

use super::assemble::{SeenTalk, SeenWakes};
use super::means::means_of_wake;
use super::roster::ThreadRoster;
use wait_slots::WaitSlots;

/// Length of a slot, and how many slots there are for one in which waiting times are measured: measuring costs four times as much as counting.
const SLOT: Duration = Duration::from_millis(100);
const SLOTS_PER_TIMED: u128 = 8;
/// Name of the fact that is missing if processes cannot be watched.
const WHAT: &str = "wakes counted in the kernel";

/// Counts wakes.
#[derive(Debug)]
pub struct CountedTalk {
    counter: WakeCounter,
    times_waits: bool,
    slots: WaitSlots,
    gaps: Vec<Gap>,
}

impl CountedTalk {
    /// Begins to count the wakes of the roster's processes.
    ///
    /// # Errors
    /// The gap that says why the kernel refuses.
    pub fn open(roster: &ThreadRoster) -> Result<Self, Gap> {
        let caches = crate::this_machine().map(|machine| machine.objects_of(Level::Llc).to_vec()).unwrap_or_default();
        let mut counter = WakeCounter::open(&caches)?;
        let refused = |error: std::io::Error| Gap::new(WHAT, format!("the kernel refuses to watch: {error}"));
        if roster.follows_children() {
            counter.watch_children_of(std::process::id()).map_err(refused)?;
        }
        roster.processes.iter().try_for_each(|process| counter.watch_process(*process)).map_err(refused)?;
        counter.start_counting().map_err(refused)?;
        Ok(Self { counter, times_waits: false, slots: WaitSlots::default(), gaps: Vec::new() })
    }

    /// Switches the measurement of waiting times on and off.
    pub fn step(&mut self, elapsed: Duration) {
        let wanted = elapsed.as_millis() / SLOT.as_millis() % SLOTS_PER_TIMED == 1;
        if wanted == self.times_waits {
            return;
        }
        self.times_waits = wanted;
        if !wanted {
            self.slots.end_slot(&self.counter.read_waits());
        }
        if let Err(error) = self.counter.time_waits(wanted) {
            self.gaps = vec![Gap::new("waiting times", format!("the kernel refuses to measure them: {error}"))];
        }
    }

    /// Ends counting.
    pub fn finish(mut self, roster: &mut ThreadRoster) -> SeenTalk {
        let counts = self.counter.take_counts();
        self.slots.end_slot(&counts.waits);
        // Some began and ended between two looks.
        roster.processes.extend(counts.processes);
        roster.add_tasks(counts.tasks);
        let numbers = counts
            .edges
            .iter()
            .filter_map(|edge| task_of(edge.origin))
            .chain(counts.edges.iter().map(|edge| edge.wakee));
        roster.add_programs(numbers);
        let mut sums: BTreeMap<(WakeOrigin, u32, _), f64> = BTreeMap::new();
        for edge in &counts.edges {
            *sums.entry((edge.origin, edge.wakee, wake_means(edge, roster))).or_default() += edge.wakes as f64;
        }
        let mut waits: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
        for wait in &counts.waits {
            let sum = waits.entry((wait.waker, wait.wakee)).or_default();
            *sum = (sum.0 + wait.waits, sum.1 + wait.waiting_ns);
        }
        let wakes = sums.into_iter();
        SeenTalk {
            source: TalkSource::Bpf,
            wakes: wakes.map(|((origin, wakee, means), wakes)| SeenWakes { origin, wakee, means, wakes }).collect(),
            waits,
            placed: self.slots.find_most_woken(),
            lost: counts.lost,
            gaps: self.gaps,
        }
    }
}

const fn task_of(origin: WakeOrigin) -> Option<u32> {
    if let WakeOrigin::Task(number) = origin { Some(number) } else { None }
}

fn wake_means(edge: &WakeCount, roster: &ThreadRoster) -> corewise_model::talk::WakeMeans {
    let process = roster.threads.get(&edge.wakee).map(|thread| thread.process);
    let file = process.zip(edge.descriptor).and_then(|(process, number)| roster.file_kind(process, number));
    means_of_wake(edge, file)
}
