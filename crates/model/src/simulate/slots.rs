//! Slots of simulated processes with known effects: a placement's gain, the load meanwhile, and the effect of one slot
//! on the next.

use corewise_machine::CpuSet;
use corewise_machine::generate::machine;
use corewise_machine::random::Random;

use super::made;
use crate::experiment::{Policy, Standing};
use crate::sample::{Kind, Reading};
use crate::trial::{Arm, Experiment, Live, Metric, Observed, Outcome, Source, Stretch, Trial, Workload};

/// Variation of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
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
pub struct World {
    /// Variation of the load.
    pub load: Load,
    /// Size of the variation: the standard deviation of a slot.
    pub size: f64,
    /// Immediate advantage of the candidate.
    pub gain: f64,
    /// Slowdown of a slot that follows the candidate.
    pub carry_over: f64,
    /// Slowdown while the candidate stays, and its time constant: it heats the cpus, for all arms.
    pub heat: (f64, f64),
    /// Time constant with which the candidate's gain decays after its mask is gone.
    pub sticks: f64,
    /// Measured time of a slot, and the wash-out before it.
    pub slot: (f64, f64),
}

impl World {
    /// Creates a load that changes by a tenth, without after-effects, and slots of 0.3 s.
    pub fn of(load: Load, gain: f64) -> Self {
        Self { load, size: 0.1, gain, carry_over: 0.0, heat: (0.0, 1.0), sticks: 0.0, slot: (0.3, 0.1) }
    }
}

/// A step of time.
const STEP_S: f64 = 0.02;
/// Additional error of each measured half.
const ERROR: f64 = 0.005;

/// The slots of a world, one after the other.
#[derive(Clone, Debug)]
pub struct SimulatedSlots {
    world: World,
    random: Random,
    now_s: f64,
    /// State of the load, from slot to slot or from step to step.
    state: f64,
    heat: f64,
    stuck: f64,
    before: usize,
}

impl SimulatedSlots {
    /// Creates a world before its first slot.
    pub fn new(world: &World, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (state, now_s) = (random.normal(), 600.0 * random.unit());
        Self { world: world.clone(), random, now_s, state, heat: 0.0, stuck: 0.0, before: 0 }
    }

    /// Simulates one slot on an arm, 0 or 1, and returns both halves as costs: lower is better.
    pub fn slot(&mut self, arm: usize) -> [f64; 2] {
        let (slot_s, wash_out_s) = self.world.slot;
        self.next_slot();
        let carried = if self.before == 1 { self.world.carry_over } else { 0.0 };
        for _ in 0..(wash_out_s / STEP_S).round() as usize {
            self.step(arm);
        }
        let steps = ((slot_s / 2.0) / STEP_S).round().max(1.0) as usize;
        let halves = [(); 2].map(|()| {
            let mean = (0..steps).map(|_| self.step(arm)).sum::<f64>() / steps as f64;
            let own =
                if self.world.load == Load::Independent { self.world.size * std::f64::consts::SQRT_2 } else { ERROR };
            mean + own * self.random.normal() + carried
        });
        self.before = arm;
        halves
    }

    fn next_slot(&mut self) {
        match self.world.load {
            Load::Autoregressive(correlation) => {
                self.state = correlation * self.state + (1.0 - correlation * correlation).sqrt() * self.random.normal();
            }
            Load::Steps if self.random.unit() < 0.025 => self.state = self.random.normal(),
            _ => {}
        }
    }

    /// Returns the cost of a time step on an arm.
    fn step(&mut self, arm: usize) -> f64 {
        self.now_s += STEP_S;
        let World { load, size, gain, heat, sticks, slot, .. } = self.world.clone();
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
            Load::Independent => 0.0,
            Load::Autoregressive(_) | Load::Steps => self.state,
            Load::Memory(memory_s) => {
                let kept = (-STEP_S / memory_s).exp();
                self.state = kept * self.state + (1.0 - kept * kept).sqrt() * self.random.normal();
                self.state
            }
            Load::Period(slots) => around(slots * (slot.0 + slot.1)),
            Load::Day => around(600.0),
        };
        size * load - gain * self.stuck + heat.0 * self.heat
    }
}

/// Simulates a session until it is decided or has `most_blocks` blocks. With a stretch, several consecutive slots form
/// one longer slot, as when a winner is confirmed.
pub fn slots(world: &World, seed: u64, policy: &Policy, most_blocks: u32, stretch: Option<Stretch>) -> Standing {
    let experiment = experiment(world, seed, policy, stretch);
    let mut slots = SimulatedSlots::new(&stretched(world, stretch), !seed);
    made(&experiment, most_blocks, |block, place, arm| {
        let halves = slots.slot(arm);
        let observed = Observed { halves: Some(halves.map(f64::exp)), ..Observed::default() };
        let outcome = Outcome::Value((halves.iter().sum::<f64>() / 2.0).exp());
        Trial { observed, ..Trial::new(block, place, arm, outcome) }
    })
}

/// Lengthens a world's slots to a stretch of them; its first part does not count.
fn stretched(world: &World, stretch: Option<Stretch>) -> World {
    let Some(stretch) = stretch else { return world.clone() };
    let [skipped, counted] =
        [stretch.skipped, stretch.runs - stretch.skipped].map(|slots| world.slot.0 * f64::from(slots));
    World { slot: (counted, skipped + world.slot.1), ..world.clone() }
}

fn experiment(world: &World, seed: u64, policy: &Policy, stretch: Option<Stretch>) -> Experiment {
    let arm = |name: &str, cpus| Arm::new(name, cpus, "");
    let reading = Some(Reading { kind: Kind::Gauge, series: None });
    let live = Live {
        processes: Vec::new(),
        matches: vec!["name=simulated".to_owned()],
        source: Source::Kernel,
        slot_s: world.slot.0,
        limits: Vec::new(),
    };
    Experiment {
        corewise: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: 0,
        seed,
        machine: machine(2, false, &[(CpuSet::first(2), 32)]),
        workload: Workload {
            live: Some(live),
            ..Workload::new(
                vec!["simulated".to_owned()],
                "/".into(),
                Metric { name: "cost".to_owned(), pattern: None, higher_is_better: false, reading },
            )
        },
        arms: vec![arm("OS default", None), arm("0", Some(CpuSet::of(0)))],
        policy: policy.clone(),
        suite: None,
        stretch,
        imported: None,
    }
}
