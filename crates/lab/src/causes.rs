//! Causes of a survey's stalls: recorded while cpus are visited, divided visit by visit, settled at the end.

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

/// Time that is not used after the tracepoints are enabled or disabled.
pub const SETTLING: Duration = Duration::from_millis(100);
/// Maximum number of stalls that are divided in all; further ones are only in the histograms.
const ROOM: usize = 500_000;
/// Maximum number of kernel events in a recording: some hundred megabytes before they are packed.
const ROOM_FOR_EVENTS: usize = 2_000_000;

/// Causes in the making.
#[derive(Debug, Default)]
pub struct Causes<'a> {
    recorder: Option<&'a Recorder>,
    cpus: CpuSet,
    /// Current watching, if any.
    pub watching: Option<Watching<'a>>,
    surroundings: Surroundings,
    divided: Vec<DividedVisit>,
    stalls: usize,
    events: usize,
    visits: Option<Vec<Visit>>,
    /// Whether the kernel has refused to record events.
    is_refused: bool,
}

/// Causes at the end.
#[derive(Debug)]
pub struct Settled {
    /// Source of the events.
    pub event_source: EventSource,
    /// Stalls of each cpu.
    pub by_cpu: BTreeMap<u32, CpuStalls>,
    /// Cost of watching.
    pub perturbation: Option<Perturbation>,
    /// Data that the causes are computed from, if it was to be kept.
    pub recorded: Option<(Surroundings, Vec<Visit>)>,
}

impl<'a> Causes<'a> {
    /// Returns causes before any watching.
    pub fn new(recorder: Option<&'a Recorder>, machine: &Machine, keep_events: bool) -> Self {
        Self {
            recorder,
            cpus: machine.online.clone(),
            surroundings: surroundings(machine.system.hypervisor.as_deref()),
            visits: keep_events.then(Vec::new),
            ..Self::default()
        }
    }

    /// Returns true if the kernel's events are available.
    pub const fn can_watch(&self) -> bool {
        self.recorder.is_some() && !self.is_refused
    }

    /// Returns true if they are being recorded.
    pub const fn is_watching(&self) -> bool {
        self.watching.is_some()
    }

    /// Turns watching on or off. Returns a gap if it could not.
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
        // A task that has ended has no name any more.
        let told = names.filter(|(_, name)| !name.is_empty()).map(|(number, name)| (*number, name.clone()));
        self.surroundings.tasks.extend(told);
        // A recording leaves out the same stalls, so that a replay has the same result.
        let is_full = self.visits.is_some() && self.events + visit.events.len() > ROOM_FOR_EVENTS;
        visit.cut_to_stalls(if is_full { 0 } else { ROOM.saturating_sub(self.stalls) });
        self.stalls += visit.stalls.len();
        self.events += visit.events.len();
        self.divided.push(divide(&visit, &self.surroundings));
        if let Some(visits) = &mut self.visits {
            visits.push(visit);
        }
    }

    /// Settles the causes.
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
