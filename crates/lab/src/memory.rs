//! Maps of memory: the order of visits, round after round, until there are enough rounds or the time is over.
//!
//! Visits are answered by this machine or by a described one. Each round visits everything once in fresh random order,
//! so that a drift cannot look like a node. Working sets rise in one round and fall in the next, since a chain grows
//! and shrinks step by step.

mod described;
mod measured;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corewise_machine::suggested_command;
use corewise_machine::{CpuSet, Gap, Machine};
use corewise_model::artifact::{ArtifactOrigin, ArtifactProvenance};
use corewise_model::clock::ClockRecord;
use corewise_model::memory::plan::{MemoryPlan, MemoryReading, MemoryVisit, PAUSES_NS, buffer_bytes, caches_bytes};
use corewise_model::memory::{
    LatencyStaircase, LoadStep, LoadedLatency, MemoryMap, NodeBandwidth, NodeCost, PageKind, StaircaseStep,
};

use crate::session::{ProbeSession, SessionBudget, StepProgress, unix_ms};
pub use described::DescribedMemory;
pub use measured::MeasuredMemory;

/// Sufficient number of rounds: the interval of their median leaves out the least and the greatest.
const ROUNDS: u32 = 9;
/// Minimum number of rounds for a 95 % interval of a median.
const ROUNDS_WITH_INTERVALS: u32 = 6;
/// Duration of a visit…
const VISIT: Duration = Duration::from_millis(25);
/// …and its minimum, if there are many.
const SHORTEST_VISIT: Duration = Duration::from_millis(8);
/// Share of the budget for visits; making the buffers takes the rest.
const SHARE_OF_VISITS: f64 = 0.7;
/// Divisor of the free memory that may be used.
pub const SHARE_OF_MEMORY: u64 = 4;
/// Buffers of a node in multiples of its chain: two chains, half as much for streams, and one chain for working sets.
const BUFFERS: f64 = 3.5;

/// Parameters of a map.
#[derive(Clone, Debug)]
pub struct MemoryRequest {
    /// Cpus to measure.
    pub cpus: CpuSet,
    /// Time limit, including the making of buffers.
    pub budget: Duration,
    /// Size of the buffer on each node, in bytes; by default four times all last-level caches. Never more than memory
    /// allows.
    pub buffer_bytes: Option<u64>,
    /// Seed of the random orders.
    pub seed: u64,
    /// Version of corewise, for the record.
    pub corewise: &'static str,
}

/// Result of a visit.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryVisitOutcome {
    /// Measured values.
    Seen(MemoryReading),
    /// It was ended from outside.
    Stopped,
    /// Not available.
    Failed(Gap),
}

/// Source of answers to visits.
pub trait MemoryVisitor {
    /// Returns the maximum size in bytes of a buffer on each node.
    fn most_bytes(&self, machine: &Machine) -> u64;
    /// Prepares for the visits of a plan, each of this duration; returns gaps for unavailable parts.
    fn prepare_visits(&mut self, plan: &MemoryPlan, machine: &Machine, visit: Duration) -> Vec<Gap>;
    /// Makes a visit.
    fn visit_memory(&mut self, visit: &MemoryVisit) -> MemoryVisitOutcome;
    /// Returns a gap if it should end now, because memory is short.
    fn reason_to_end(&mut self) -> Option<Gap> {
        None
    }
    /// Returns gaps that are only known at the end.
    fn finish_visits(&mut self) -> Vec<Gap> {
        Vec::new()
    }
    /// Returns the total time of all visits if they are simulated; `None` if real time counts.
    fn simulated_elapsed(&self) -> Option<Duration> {
        None
    }
    /// Returns the clock that times, for the record.
    fn timing_clock(&self) -> Option<ClockRecord>;
    /// Returns the origin of the map.
    fn map_origin(&self) -> ArtifactOrigin;
}

/// Makes a map. Within half a second of `stop` becoming true, it ends with a partial map.
pub fn map_memory(
    request: &MemoryRequest,
    machine: Machine,
    answers: &mut dyn MemoryVisitor,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&StepProgress),
) -> MemoryMap {
    let started_unix_ms = unix_ms();
    let wanted_bytes = request.buffer_bytes.unwrap_or_else(|| buffer_bytes(&machine));
    let buffer_bytes = wanted_bytes.min(answers.most_bytes(&machine));
    // Random choices are the same in every map, so that two maps of a machine have cells in common.
    let plan = MemoryPlan::new(&machine, &request.cpus, buffer_bytes, crate::links::CHOICES);
    let mut session = ProbeSession::new(SessionBudget::new(Some(request.budget), stop), !request.seed, progress);
    session.report_step("making buffers".to_owned());
    let mut map = empty_map(request, machine, &plan, answers, started_unix_ms);
    let visits = map.round_visits(0).into_iter().map(|part| part.len()).sum::<usize>();
    let each = request.budget.mul_f64(SHARE_OF_VISITS) / (visits.max(1) as u32 * ROUNDS_WITH_INTERVALS);
    map.gaps = answers.prepare_visits(&plan, &map.machine, each.clamp(SHORTEST_VISIT, VISIT));
    for round in 0..ROUNDS {
        if !make_round(&mut map, round, answers, &mut session) {
            break;
        }
        map.rounds += 1;
    }
    map.gaps.extend(answers.finish_visits());
    map.gaps.sort();
    map.gaps.dedup();
    if let Some(gap) = (map.rounds == 0 && !session.budget.is_stopped()).then(too_short_gap) {
        map.gaps.push(gap);
    }
    map.provenance.partial = session.budget.is_stopped() || map.rounds == 0;
    map.provenance.elapsed_s = session.budget.elapsed_time().as_secs_f64();
    map
}

fn too_short_gap() -> Gap {
    Gap::new("part of the map", "the budget ended before everything was visited once")
        .cured_by(suggested_command::memory_longer("5m"))
}

/// Makes the visits of a round; returns false if the session ended before the last of them.
fn make_round(
    map: &mut MemoryMap,
    round: u32,
    answers: &mut dyn MemoryVisitor,
    session: &mut ProbeSession<'_>,
) -> bool {
    let [sweeps, mut others] = map.round_visits(round);
    session.random.shuffle(&mut others);
    // Sweeps come first in one round and last in the next.
    let order: Vec<ValuePlace> =
        if round.is_multiple_of(2) { [sweeps, others].concat() } else { [others, sweeps].concat() };
    for (index, place) in order.iter().enumerate() {
        if session.budget.is_over() {
            return false;
        }
        session.report_step(format!("{}, round {} of {ROUNDS}", place.describe_place(map), round + 1));
        if index % 16 == 0
            && let Some(gap) = answers.reason_to_end()
        {
            map.gaps.push(gap);
            return false;
        }
        let outcome = answers.visit_memory(&place.to_visit(map));
        session.budget.set_simulated_elapsed(answers.simulated_elapsed());
        session.budget.count_visit();
        match outcome {
            MemoryVisitOutcome::Seen(seen) => place.store_value(map, seen),
            MemoryVisitOutcome::Stopped => return false,
            MemoryVisitOutcome::Failed(gap) => map.gaps.push(gap),
        }
    }
    true
}

/// Returns a map with everything to visit and no values.
fn empty_map(
    request: &MemoryRequest,
    machine: Machine,
    plan: &MemoryPlan,
    answers: &dyn MemoryVisitor,
    started_unix_ms: i64,
) -> MemoryMap {
    let steps = || {
        plan.sizes_bytes
            .iter()
            .map(|bytes| StaircaseStep { bytes: *bytes, visits_ns: Vec::new(), visits_gigahertz: Vec::new() })
            .collect()
    };
    let cell = |&(initiator, node): &(usize, usize)| {
        let (initiator, node) = (&plan.initiators[initiator], plan.nodes[node]);
        let stream = |(operation, cpus)| NodeBandwidth { operation, cpus, visits_gb_s: Vec::new() };
        NodeCost {
            initiator: initiator.cpus.clone(),
            cpu: initiator.cpu,
            node,
            huge_ns: Vec::new(),
            small_ns: Vec::new(),
            bandwidth: plan.planned_streams(&machine, initiator, node).into_iter().map(stream).collect(),
        }
    };
    let point =
        |pause_ns: &Option<u64>| LoadStep { pause_ns: *pause_ns, visits_gb_s: Vec::new(), visits_ns: Vec::new() };
    let curve =
        |(cpu, node, loaders)| LoadedLatency { cpu, node, loaders, points: PAUSES_NS.iter().map(point).collect() };
    MemoryMap {
        provenance: ArtifactProvenance {
            origin: answers.map_origin(),
            corewise: request.corewise.to_owned(),
            started_unix_ms,
            elapsed_s: 0.0,
            budget_s: request.budget.as_secs_f64(),
            seed: request.seed,
            partial: false,
        },
        clock: answers.timing_clock(),
        cpus: request.cpus.clone(),
        buffer_bytes: plan.buffer_bytes,
        caches_bytes: caches_bytes(&machine),
        staircases: plan.staircases.iter().map(|cpu| LatencyStaircase { cpu: *cpu, steps: steps() }).collect(),
        cells: plan.cells.iter().map(cell).collect(),
        curves: plan.planned_curves(&machine).into_iter().map(curve).collect(),
        rounds: 0,
        gaps: Vec::new(),
        machine,
    }
}

/// Position in a map of a visit's values.
#[derive(Clone, Copy, Debug)]
enum ValuePlace {
    /// A staircase and its step.
    Step(usize, usize),
    /// A cell.
    Latency(usize, PageKind),
    /// A cell and its stream.
    Stream(usize, usize),
    /// A curve and its point.
    Point(usize, usize),
}

/// Visits of a round: sweeps over working sets in order, and everything else.
trait RoundVisits {
    fn round_visits(&self, round: u32) -> [Vec<ValuePlace>; 2];
}

impl RoundVisits for MemoryMap {
    fn round_visits(&self, round: u32) -> [Vec<ValuePlace>; 2] {
        let sweep = |(index, staircase): (usize, &LatencyStaircase)| {
            let mut steps: Vec<ValuePlace> =
                (0..staircase.steps.len()).map(|step| ValuePlace::Step(index, step)).collect();
            if !round.is_multiple_of(2) {
                steps.reverse();
            }
            steps
        };
        let cells = self.cells.iter().enumerate().flat_map(|(index, cell)| {
            let latencies = [PageKind::Huge, PageKind::Small].map(|pages| ValuePlace::Latency(index, pages));
            latencies.into_iter().chain((0..cell.bandwidth.len()).map(move |stream| ValuePlace::Stream(index, stream)))
        });
        let curves = self.curves.iter().enumerate();
        let points =
            curves.flat_map(|(index, curve)| (0..curve.points.len()).map(move |at| ValuePlace::Point(index, at)));
        [self.staircases.iter().enumerate().flat_map(sweep).collect(), cells.chain(points).collect()]
    }
}

impl ValuePlace {
    fn to_visit(self, map: &MemoryMap) -> MemoryVisit {
        match self {
            Self::Step(index, step) => {
                let staircase = &map.staircases[index];
                MemoryVisit::Step { cpu: staircase.cpu, bytes: staircase.steps[step].bytes }
            }
            Self::Latency(cell, pages) => {
                MemoryVisit::Latency { cpu: map.cells[cell].cpu, node: map.cells[cell].node, pages }
            }
            Self::Stream(cell, stream) => {
                let (node, stream) = (map.cells[cell].node, &map.cells[cell].bandwidth[stream]);
                MemoryVisit::Bandwidth { cpus: stream.cpus.clone(), node, operation: stream.operation }
            }
            Self::Point(curve, point) => {
                let curve = &map.curves[curve];
                let (loaders, pause_ns) = (curve.loaders.clone(), curve.points[point].pause_ns);
                MemoryVisit::Loaded { cpu: curve.cpu, node: curve.node, loaders, pause_ns }
            }
        }
    }

    fn store_value(self, map: &mut MemoryMap, seen: MemoryReading) {
        match self {
            Self::Step(index, step) => {
                let step = &mut map.staircases[index].steps[step];
                step.visits_ns.push(seen.value);
                step.visits_gigahertz.extend(seen.gigahertz);
            }
            Self::Latency(cell, PageKind::Huge) => map.cells[cell].huge_ns.push(seen.value),
            Self::Latency(cell, PageKind::Small) => map.cells[cell].small_ns.push(seen.value),
            Self::Stream(cell, stream) => map.cells[cell].bandwidth[stream].visits_gb_s.push(seen.value),
            Self::Point(curve, point) => {
                let point = &mut map.curves[curve].points[point];
                point.visits_ns.push(seen.value);
                point.visits_gb_s.push(seen.load_gb_s);
            }
        }
    }

    fn describe_place(self, map: &MemoryMap) -> String {
        match self {
            Self::Step(index, _) => format!("working sets of cpu {}", map.staircases[index].cpu),
            Self::Latency(cell, _) => format!("latency of node {}", map.cells[cell].node),
            Self::Stream(cell, _) => format!("bandwidth of node {}", map.cells[cell].node),
            Self::Point(curve, _) => format!("node {} under load", map.curves[curve].node),
        }
    }
}

#[cfg(test)]
mod tests;
