//! Who causes the stalls of a survey: watched while cpus are visited, divided visit by visit, settled at the end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corewise_machine::event::EventSource;
use corewise_machine::{CpuSet, Gap, Machine};
use corewise_model::attribution::{CpuStalls, DividedVisit, Perturbation, divide, perturbation, settle};
use corewise_model::stall::{Surroundings, Visit};
use corewise_model::survey::{Scope, WORST_OF_SURVEY, WORST_OF_TAIL};
use corewise_sys::events::Recorder;

use crate::kernel_events::{Watching, surroundings};

/// After the tracepoints became live, or ceased to be, so much time is not used.
pub const SETTLING: Duration = Duration::from_millis(100);
/// How many stalls are divided in all; those beyond are in the histograms alone.
const ROOM: usize = 500_000;
/// How many of the kernel's events a recording holds: some hundred megabytes before they are packed.
const ROOM_FOR_EVENTS: usize = 2_000_000;

/// Causes in the making.
#[derive(Debug, Default)]
pub struct Causes<'a> {
    recorder: Option<&'a Recorder>,
    cpus: CpuSet,
    /// What is watched now.
    pub watching: Option<Watching<'a>>,
    surroundings: Surroundings,
    divided: Vec<DividedVisit>,
    stalls: usize,
    events: usize,
    visits: Option<Vec<Visit>>,
    /// The kernel refused them since.
    is_refused: bool,
}

/// What is known at the end.
#[derive(Debug)]
pub struct Settled {
    /// How much could be seen.
    pub event_source: EventSource,
    /// What stalled each cpu.
    pub by_cpu: BTreeMap<u32, CpuStalls>,
    /// What watching cost.
    pub perturbation: Option<Perturbation>,
    /// What it is computed from, where that was to be kept.
    pub recorded: Option<(Surroundings, Vec<Visit>)>,
}

impl<'a> Causes<'a> {
    /// Nothing is watched yet.
    pub fn new(recorder: Option<&'a Recorder>, machine: &Machine, keep_events: bool) -> Self {
        Self {
            recorder,
            cpus: machine.online.clone(),
            surroundings: surroundings(machine.system.hypervisor.as_deref()),
            visits: keep_events.then(Vec::new),
            ..Self::default()
        }
    }

    /// Whether the kernel's events can be had.
    pub const fn can_watch(&self) -> bool {
        self.recorder.is_some() && !self.is_refused
    }

    /// Whether they are recorded now.
    pub const fn is_watching(&self) -> bool {
        self.watching.is_some()
    }

    /// Begins or ends to watch, where that is a change; the gap that says why it could not.
    pub fn turn(&mut self, on: bool, stop: &AtomicBool) -> Option<Gap> {
        let recorder = self.recorder?;
        if on == self.watching.is_some() || (on && self.is_refused) {
            return None;
        }
        self.watching = None;
        let mut gap = None;
        if on {
            match Watching::new(recorder, &self.cpus) {
                Ok(watching) => {
                    gap.clone_from(&watching.unwatched);
                    self.watching = Some(watching);
                }
                Err(error) => {
                    self.is_refused = true;
                    gap = Some(Gap::new("causes of stalls in some rounds", error.to_string()));
                }
            }
        }
        let settled = Instant::now() + SETTLING;
        while Instant::now() < settled && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        gap
    }

    /// Divides the stalls of a visit.
    pub fn add(&mut self, mut visit: Visit) {
        let names = self.watching.iter().flat_map(|watching| &watching.tasks);
        // Of a task that has ended there is no name any more.
        let told = names.filter(|(_, name)| !name.is_empty()).map(|(number, name)| (*number, name.clone()));
        self.surroundings.tasks.extend(told);
        // What is left out here is left out of a recording too, so that a replay says the same.
        let is_full = self.visits.is_some() && self.events + visit.events.len() > ROOM_FOR_EVENTS;
        visit.cut_to_stalls(if is_full { 0 } else { ROOM.saturating_sub(self.stalls) });
        self.stalls += visit.stalls.len();
        self.events += visit.events.len();
        self.divided.push(divide(&visit, &self.surroundings));
        if let Some(visits) = &mut self.visits {
            visits.push(visit);
        }
    }

    /// Settles them.
    pub fn finish(mut self, scope: Scope) -> Settled {
        self.watching = None;
        let worst = if scope.is_machine() { WORST_OF_SURVEY } else { WORST_OF_TAIL };
        Settled {
            event_source: self.recorder.map_or(EventSource::Thread, Recorder::event_source),
            perturbation: perturbation(&self.divided),
            by_cpu: settle(self.divided, &self.surroundings, worst),
            recorded: self.visits.map(|visits| (self.surroundings, visits)),
        }
    }
}
