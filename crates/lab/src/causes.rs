//! Causes of a survey's stalls: recorded while cpus are visited, divided visit by visit, settled at the end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corewise_machine::event::EventSource;
use corewise_machine::{CpuSet, Gap, Machine};
use corewise_model::attribution::{
    CpuStalls, DividedVisit, RecordingPerturbation, divide_stalls, measure_perturbation, settle_visits,
};
use corewise_model::stall::{CauseSurroundings, StallVisit};
use corewise_model::survey::{SurveyScope, WORST_OF_SURVEY, WORST_OF_TAIL};
use corewise_sys::events::EventRecorder;

use crate::kernel_events::{LiveTracepoints, read_surroundings};

/// Time that is not used after the tracepoints are enabled or disabled.
pub const SETTLING: Duration = Duration::from_millis(100);
/// Maximum number of stalls that are divided in all; further ones are only in the histograms.
const ROOM: usize = 500_000;
/// Maximum number of kernel events in a recording: some hundred megabytes before they are packed.
const ROOM_FOR_EVENTS: usize = 2_000_000;

/// Causes in the making.
#[derive(Debug, Default)]
pub struct CauseCollector<'a> {
    recorder: Option<&'a EventRecorder>,
    cpus: CpuSet,
    /// Current watching, if any.
    pub watching: Option<LiveTracepoints<'a>>,
    surroundings: CauseSurroundings,
    divided: Vec<DividedVisit>,
    stalls: usize,
    events: usize,
    visits: Option<Vec<StallVisit>>,
    /// Whether the kernel has refused to record events.
    is_refused: bool,
}

/// Causes at the end.
#[derive(Debug)]
pub struct CollectedCauses {
    /// Source of the events.
    pub event_source: EventSource,
    /// Stalls of each cpu.
    pub by_cpu: BTreeMap<u32, CpuStalls>,
    /// Cost of watching; `None` if it was not measured.
    pub perturbation: Option<RecordingPerturbation>,
    /// Data that the causes are computed from, if it was to be kept.
    pub recorded: Option<(CauseSurroundings, Vec<StallVisit>)>,
}

impl<'a> CauseCollector<'a> {
    /// Returns causes before any watching.
    pub fn new(recorder: Option<&'a EventRecorder>, machine: &Machine, keep_events: bool) -> Self {
        Self {
            recorder,
            cpus: machine.online.clone(),
            surroundings: read_surroundings(machine.system.hypervisor.as_deref()),
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
    pub fn turn_watching(&mut self, on: bool, stop: &AtomicBool) -> Option<Gap> {
        let recorder = self.recorder?;
        if on == self.watching.is_some() || (on && self.is_refused) {
            return None;
        }
        self.watching = None;
        let mut gap = None;
        if on {
            match LiveTracepoints::new(recorder, &self.cpus) {
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
    pub fn add_visit(&mut self, mut visit: StallVisit) {
        let names = self.watching.iter().flat_map(|watching| &watching.tasks);
        // A task that has ended has no name any more.
        let told = names.filter(|(_, name)| !name.is_empty()).map(|(number, name)| (*number, name.clone()));
        self.surroundings.tasks.extend(told);
        // A recording leaves out the same stalls, so that a replay has the same result.
        let is_full = self.visits.is_some() && self.events + visit.events.len() > ROOM_FOR_EVENTS;
        visit.cut_to_stalls(if is_full { 0 } else { ROOM.saturating_sub(self.stalls) });
        self.stalls += visit.stalls.len();
        self.events += visit.events.len();
        self.divided.push(divide_stalls(&visit, &self.surroundings));
        if let Some(visits) = &mut self.visits {
            visits.push(visit);
        }
    }

    /// Settles the causes.
    pub fn settle_causes(mut self, scope: SurveyScope) -> CollectedCauses {
        self.watching = None;
        let worst = if scope.is_machine() { WORST_OF_SURVEY } else { WORST_OF_TAIL };
        CollectedCauses {
            event_source: self.recorder.map_or(EventSource::Thread, EventRecorder::event_source),
            perturbation: measure_perturbation(&self.divided),
            by_cpu: settle_visits(self.divided, &self.surroundings, worst),
            recorded: self.visits.map(|visits| (self.surroundings, visits)),
        }
    }
}
