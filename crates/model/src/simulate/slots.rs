//! Slots of simulated processes with known effects: a placement's gain, the load meanwhile, and the effect of one slot
//! on the next.

use corewise_machine::CpuSet;
use corewise_machine::generate::one_package_machine;
use corewise_machine::random::RandomGenerator;

use super::{MODEL, simulate_experiment};
use crate::artifact::ArtifactOrigin;
use crate::sample::{MetricKind, MetricSource};
use crate::trial::{
    ConfirmationStretch, Experiment, LiveSource, LiveWorkload, PlacementArm, Trial, TrialMetric, TrialObservations,
    TrialOutcome, TriedWorkload,
};
use corewise_statistics::experiment::{ExperimentStanding, JudgingPolicy};
use corewise_statistics::simulate::CarryOverVictims;

/// Variation of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SimulatedLoad {
    /// Each half of a slot on its own.
    Independent,
    /// From slot to slot with this correlation.
    Autoregressive(f64),
    /// An Ornstein-Uhlenbeck process with this memory, in seconds.
    Memory(f64),
    /// A sine of this period, in slots.
    Period(f64),
    /// A sine of ten minutes, as a day is long.
    Day,
    /// Another level at random, every 40 slots in the mean.
    Steps,
}

/// Processes with their true effects. Sizes are differences of logarithms, times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotsWorld {
    /// Variation of the load.
    pub load: SimulatedLoad,
    /// Size of the variation: the standard deviation of a slot.
    pub size: f64,
    /// Immediate advantage of the candidate.
    pub gain: f64,
    /// Slowdown of a slot that follows the candidate.
    pub carry_over: f64,
    /// The slots that suffer from it.
    pub carry_over_hits: CarryOverVictims,
    /// Slowdown while the candidate stays, and its time constant: it heats the cpus, for all arms.
    pub heat: (f64, f64),
    /// Time constant with which the candidate's gain decays after its mask is gone.
    pub sticks: f64,
    /// Measured time of a slot, and the wash-out before it.
    pub slot: (f64, f64),
}

impl SlotsWorld {
    /// Creates a load that changes by a tenth, without after-effects, and slots of 0.3 s.
    pub fn with_load(load: SimulatedLoad, gain: f64) -> Self {
        Self {
            load,
            size: 0.1,
            gain,
            carry_over: 0.0,
            carry_over_hits: CarryOverVictims::All,
            heat: (0.0, 1.0),
            sticks: 0.0,
            slot: (0.3, 0.1),
        }
    }
}

/// A step of time.
const STEP_S: f64 = 0.02;
/// Additional error of each measured half.
const ERROR: f64 = 0.005;

/// The slots of a world, one after the other.
#[derive(Clone, Debug)]
pub struct SimulatedSlots {
    world: SlotsWorld,
    random: RandomGenerator,
    now_s: f64,
    /// State of the load, from slot to slot or from step to step.
    state: f64,
    heat: f64,
    stuck: f64,
    before: usize,
    /// True if each slot is a stretch of them, so that the part that is measured follows slots of its own arm.
    in_stretches: bool,
}

impl SimulatedSlots {
    /// Creates a world before its first slot.
    pub fn new(world: &SlotsWorld, seed: u64) -> Self {
        let mut random = RandomGenerator::new(seed);
        let (state, now_s) = (random.next_normal(), 600.0 * random.next_unit());
        Self { world: world.clone(), random, now_s, state, heat: 0.0, stuck: 0.0, before: 0, in_stretches: false }
    }

    /// Simulates one slot on an arm, 0 or 1, and returns both halves as costs: lower is better.
    pub fn run_slot(&mut self, arm: usize) -> [f64; 2] {
        let (slot_s, wash_out_s) = self.world.slot;
        self.next_slot();
        let is_hit = arm == 0 || self.world.carry_over_hits == CarryOverVictims::All;
        let before = if self.in_stretches { arm } else { self.before };
        let carried = if before == 1 && is_hit { self.world.carry_over } else { 0.0 };
        for _ in 0..(wash_out_s / STEP_S).round() as usize {
            self.step_cost(arm);
        }
        let steps = ((slot_s / 2.0) / STEP_S).round().max(1.0) as usize;
        let halves = [(); 2].map(|()| {
            let mean = (0..steps).map(|_| self.step_cost(arm)).sum::<f64>() / steps as f64;
            let own = if self.world.load == SimulatedLoad::Independent {
                self.world.size * std::f64::consts::SQRT_2
            } else {
                ERROR
            };
            mean + own * self.random.next_normal() + carried
        });
        self.before = arm;
        halves
    }

    fn next_slot(&mut self) {
        match self.world.load {
            SimulatedLoad::Autoregressive(correlation) => {
                self.state =
                    correlation * self.state + (1.0 - correlation * correlation).sqrt() * self.random.next_normal();
            }
            SimulatedLoad::Steps if self.random.next_unit() < 0.025 => self.state = self.random.next_normal(),
            _ => {}
        }
    }

    /// Returns the cost of a time step on an arm.
    fn step_cost(&mut self, arm: usize) -> f64 {
        self.now_s += STEP_S;
        let SlotsWorld { load, size, gain, heat, sticks, slot, .. } = self.world.clone();
        let toward =
            |state: &mut f64, to: f64, memory_s: f64| *state += (to - *state) * (1.0 - (-STEP_S / memory_s).exp());
        let is_candidate = if arm == 1 { 1.0 } else { 0.0 };
        toward(&mut self.heat, is_candidate, heat.1);
        if arm == 1 || sticks == 0.0 {
            self.stuck = is_candidate;
        } else {
            toward(&mut self.stuck, 0.0, sticks);
        }
        let around = |period_s: f64| (std::f64::consts::TAU * self.now_s / period_s).sin() * std::f64::consts::SQRT_2;
        let load = match load {
            SimulatedLoad::Independent => 0.0,
            SimulatedLoad::Autoregressive(_) | SimulatedLoad::Steps => self.state,
            SimulatedLoad::Memory(memory_s) => {
                let kept = (-STEP_S / memory_s).exp();
                self.state = kept * self.state + (1.0 - kept * kept).sqrt() * self.random.next_normal();
                self.state
            }
            SimulatedLoad::Period(slots) => around(slots * (slot.0 + slot.1)),
            SimulatedLoad::Day => around(600.0),
        };
        size * load - gain * self.stuck + heat.0 * self.heat
    }
}

/// Simulates a session until it is decided or has `most_blocks` blocks. With a stretch, several consecutive slots form
/// one longer slot, as when a winner is confirmed.
pub fn simulate_slots(
    world: &SlotsWorld,
    seed: u64,
    policy: &JudgingPolicy,
    most_blocks: u32,
    stretch: Option<ConfirmationStretch>,
) -> ExperimentStanding {
    let experiment = slots_experiment(world, seed, policy, stretch);
    let world = &stretch_world(world, stretch);
    let (mut slots, slot_s) = (SimulatedSlots::new(world, !seed), world.slot.0);
    slots.in_stretches = stretch.is_some();
    simulate_experiment(&experiment, most_blocks, |block, place, arm| {
        let halves = slots.run_slot(arm);
        let (halves_of, wall_s) = (Some(halves.map(f64::exp)), slot_s);
        let observed = TrialObservations { halves: halves_of, wall_s, ..TrialObservations::default() };
        let outcome = TrialOutcome::Value((halves.iter().sum::<f64>() / 2.0).exp());
        Trial { observed, ..Trial::new(block, place, arm, outcome) }
    })
}

/// Lengthens a world's slots to a stretch of them; its first part does not count.
fn stretch_world(world: &SlotsWorld, stretch: Option<ConfirmationStretch>) -> SlotsWorld {
    let Some(stretch) = stretch else { return world.clone() };
    let [skipped, counted] =
        [stretch.skipped, stretch.runs - stretch.skipped].map(|slots| world.slot.0 * f64::from(slots));
    SlotsWorld { slot: (counted, skipped + world.slot.1), ..world.clone() }
}

fn slots_experiment(
    world: &SlotsWorld,
    seed: u64,
    policy: &JudgingPolicy,
    stretch: Option<ConfirmationStretch>,
) -> Experiment {
    let arm = |name: &str, cpus| PlacementArm::new(name, cpus, "");
    let reading = Some(MetricSource { kind: MetricKind::Gauge, series: None });
    let live = LiveWorkload {
        processes: Vec::new(),
        matches: vec!["name=simulated".to_owned()],
        source: LiveSource::Kernel,
        slot_s: world.slot.0,
        limits: Vec::new(),
    };
    Experiment {
        corewise: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: 0,
        seed,
        machine: one_package_machine(2, false, &[(CpuSet::first_cpus(2), 32)]),
        workload: TriedWorkload {
            live: Some(live),
            ..TriedWorkload::new(
                vec!["simulated".to_owned()],
                "/".into(),
                TrialMetric { name: "cost".to_owned(), pattern: None, higher_is_better: false, reading },
            )
        },
        arms: vec![arm("OS default", None), arm("0", Some(CpuSet::from_cpu(0)))],
        policy: policy.clone(),
        suite: None,
        stretch,
        origin: ArtifactOrigin::Simulated { file: MODEL.to_owned() },
    }
}
