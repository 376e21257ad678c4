//! Surveys of machines with known properties, to check conclusions.

mod fleet;
pub mod layout;
mod session;
mod slots;

use corewise_machine::Machine;
use corewise_machine::counts::{EventCounts, SourceCount};
use corewise_machine::random::RandomGenerator;
use corewise_machine::thread::ThreadUse;

use crate::Survey;
use crate::artifact::ArtifactOrigin;
use crate::clock::ClockRecord;
use crate::links::{CpuRelation, CpuRelationTable, LinkFindings, LinkMap, LinkPair};
use crate::survey::{
    CoreFrequency, CpuObservation, CpuRound, FrequencySource, ProbeWork, SurveyProvenance, SurveyScope, TailSummary,
    WorkKind,
};
use crate::trial::{Experiment, Trial, TrialDesign};
use corewise_statistics::experiment::ExperimentStanding;
use corewise_statistics::histogram::TickHistogram;
pub use fleet::{FleetWorld, SimulatedFleet};
pub use session::{SimulatedSession, simulate_session};
pub use slots::{SimulatedLoad, SimulatedSlots, SlotsWorld, simulate_slots};

/// Stands for the file that results of these models are simulated from.
const MODEL: &str = "a model";

/// Runs an experiment until it is decided or has `most_blocks` blocks, and returns its standing. `trial` gets the
/// block, the place in the block, and the arm.
pub fn simulate_experiment(
    experiment: &Experiment,
    most_blocks: u32,
    mut trial: impl FnMut(u32, u32, usize) -> Trial,
) -> ExperimentStanding {
    let mut design = TrialDesign::from_trials(experiment, &[]);
    while design.block_count() < most_blocks && !design.is_decided() {
        let block = design.block_count() + 1;
        let order = (0..).zip(design.next_block(experiment.seed));
        let trials: Vec<Trial> = order.map(|(place, arm)| trial(block, place, arm)).collect();
        design.add_block(&trials.iter().collect::<Vec<_>>());
    }
    design.current_standing()
}

/// True properties of a cpu.
#[derive(Clone, Copy, Debug)]
pub struct CpuTruth {
    /// The median of a piece in nanoseconds.
    pub piece_ns: f64,
    /// Interrupts per second; two in five from the timer, the rest from a disk.
    pub interrupts_per_s: f64,
    /// The share of time lost to stalls.
    pub lost: f64,
}

/// Variation of a simulated machine during a survey. Noise persists from visit to visit, in the order of the visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineNoise {
    /// 0.2 % from visit to visit, a slow random walk.
    Quiet,
    /// A random walk of 0.6 % a visit.
    Walk,
    /// The clock jumps by 3 % and stays there for a while (turbo bins, a neighbour that comes and goes).
    Sticky,
    /// One visit in twenty is up to a third slower, with twenty times the stalls.
    Outliers,
    /// The first visits are 8 % faster, and it wears off.
    Thermal,
    /// A neighbour sits on one cpu, and moves to another before one round in six: visits there are 5 % slower, with twenty times the
    /// stalls.
    Neighbour,
}

impl MachineNoise {
    /// All kinds of noise that strike any cpu alike within a round.
    pub const ALL: [Self; 5] = [Self::Quiet, Self::Walk, Self::Sticky, Self::Outliers, Self::Thermal];
}

/// The state of the noise between two visits.
struct NoiseState {
    noise: MachineNoise,
    random: RandomGenerator,
    visits: u32,
    walk: f64,
    mode: f64,
    /// Index of the cpu that a neighbour sits on.
    taken: Option<usize>,
}

impl NoiseState {
    fn new(noise: MachineNoise, seed: u64) -> Self {
        Self { noise, random: RandomGenerator::new(seed), visits: 0, walk: 0.0, mode: 0.0, taken: None }
    }

    /// Begins a round over some cpus.
    fn begin_round(&mut self, cpus: usize) {
        if self.noise != MachineNoise::Neighbour || cpus == 0 {
            return;
        }
        self.taken = match self.taken {
            None => Some(self.random.next_below(cpus)),
            Some(taken) if cpus > 1 && self.random.next_below(6) == 0 => {
                Some((taken + 1 + self.random.next_below(cpus - 1)) % cpus)
            }
            taken => taken,
        };
    }

    /// Returns the logarithms of the slowdown of the next visit, to the cpu at `index`, and of the factor for its stalls.
    fn next_visit(&mut self, index: usize) -> (f64, f64) {
        let step = if self.noise == MachineNoise::Walk { 0.006 } else { 0.001 };
        self.walk += step * self.random.next_normal();
        self.visits += 1;
        if self.noise == MachineNoise::Sticky && self.random.next_unit() < 0.06 {
            self.mode = 0.03 - self.mode;
        }
        let struck = self.noise == MachineNoise::Outliers && self.random.next_unit() < 0.05;
        let outlier = if struck { 0.3 * self.random.next_unit() } else { 0.0 };
        let cooling =
            if self.noise == MachineNoise::Thermal { -0.08 * (-f64::from(self.visits) / 15.0).exp() } else { 0.0 };
        let is_taken = self.taken == Some(index);
        let beside = if is_taken { 0.05 } else { 0.0 };
        let slower = self.walk + self.mode + outlier + cooling + beside + 0.002 * self.random.next_normal();
        (slower, if struck || is_taken { 3.0 } else { 0.0 })
    }
}

/// Simulates a survey of a machine with cpus as `truth` describes them: `rounds` rounds, each in fresh random order.
pub fn simulate_survey(
    machine: Machine,
    rounds: u32,
    seed: u64,
    noise: MachineNoise,
    truth: impl Fn(u32) -> CpuTruth,
) -> Survey {
    let mut weather = NoiseState::new(noise, seed);
    let mut cpus: Vec<CpuObservation> = machine
        .allowed
        .iter()
        .map(|cpu| CpuObservation { cpu, tail: TickHistogram::new_collecting(1.0), rounds: Vec::new(), stalls: None })
        .collect();
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..cpus.len()).collect();
        weather.random.shuffle(&mut order);
        weather.begin_round(order.len());
        for (place, &index) in order.iter().enumerate() {
            let visit = simulate_visit(truth(cpus[index].cpu), index, &mut weather);
            cpus[index].rounds.push(CpuRound { round, place: place as u32, ..visit });
        }
    }
    Survey {
        provenance: SurveyProvenance {
            origin: ArtifactOrigin::Simulated { file: MODEL.to_owned() },
            scope: SurveyScope::Machine,
            corewise: "simulated".into(),
            started_unix_ms: 0,
            elapsed_s: 30.0,
            budget_s: 30.0,
            seed,
            rounds,
            partial: false,
            others_busy: None,
        },
        clock: ClockRecord { source: "simulated".into(), nanoseconds_per_tick: 1.0, reading_ns: 10.0, step_ns: 1.0 },
        work: ProbeWork { kind: WorkKind::Compute, additions: 1000, overhead_ns: 12.0 },
        machine,
        cpus,
        ..Survey::default()
    }
}

fn simulate_visit(truth: CpuTruth, index: usize, weather: &mut NoiseState) -> CpuRound {
    let (slower, stalls) = weather.next_visit(index);
    let random = &mut weather.random;
    let p50_ns = truth.piece_ns * slower.exp();
    let lost = truth.lost * (stalls + 0.2 * random.next_normal()).exp();
    let p99_9_ns = p50_ns * (1.0 + truth.lost * 100.0) * (stalls + 0.2 * random.next_normal()).exp();
    let expected = truth.interrupts_per_s * 0.4;
    let disk = expected * 0.6 + (expected * 0.6).sqrt() * random.next_normal();
    let count = |source: &str, count: f64| SourceCount { source: source.into(), count: count.round().max(0.0) as u64 };
    CpuRound {
        round: 0,
        place: 0,
        elapsed_s: 0.4,
        tail: TailSummary {
            count: 1_400_000,
            mean_ns: p50_ns * (1.0 + lost),
            p50_ns,
            p90_ns: p50_ns,
            p99_ns: p50_ns * 1.01,
            p99_9_ns,
            p99_99_ns: p99_9_ns * 3.0,
            p99_999_ns: p99_9_ns * 8.0,
            max_ns: p99_9_ns * 20.0,
            lost,
        },
        frequency: Some(CoreFrequency { gigahertz: 1450.0 / p50_ns, source: FrequencySource::Estimate }),
        interrupts: Some(EventCounts {
            elapsed_s: 0.4,
            sources: vec![count("77 nvme0q1", disk), count("LOC", expected * 0.4)],
            time_s: None,
        }),
        softirqs: None,
        thread: ThreadUse::default(),
        stolen_s: Some(0.0),
    }
}

/// Simulates links between all pairs of a machine's allowed cpus: eight visits each, with noise of 2 %.
pub fn simulate_links(machine: &Machine, seed: u64, one_way_ns: impl Fn(CpuRelation) -> f64) -> LinkFindings {
    simulate_lucky_links(machine, seed, 0.0, |_, _, relation| one_way_ns(relation))
}

/// Simulates links of which all visits to a pair share its luck, of this standard deviation. `one_way_ns` gets the pair
/// and its relation.
pub fn simulate_lucky_links(
    machine: &Machine,
    seed: u64,
    luck: f64,
    one_way_ns: impl Fn(u32, u32, CpuRelation) -> f64,
) -> LinkFindings {
    let mut random = RandomGenerator::new(seed);
    let cpus: Vec<u32> = machine.allowed.iter().collect();
    let relations = CpuRelationTable::new(machine);
    let mut pairs = Vec::new();
    for (place, &a) in cpus.iter().enumerate() {
        for &b in &cpus[place + 1..] {
            let Some(relation) = relations.relation_between(a, b) else { continue };
            let luck = if luck > 0.0 { luck * random.next_normal() } else { 0.0 };
            let cost = one_way_ns(a, b, relation) * luck.exp();
            let visits_ns = (0..8).map(|_| cost * (0.02 * random.next_normal()).exp()).collect();
            pairs.push(LinkPair::new(a, b, visits_ns));
        }
    }
    LinkFindings { possible_pairs: pairs.len() as u64, pairs, gaps: Vec::new() }
}

/// Simulates a map of links with the luck of pairs.
pub fn simulate_link_map(
    machine: &Machine,
    seed: u64,
    luck: f64,
    one_way_ns: impl Fn(u32, u32, CpuRelation) -> f64,
) -> LinkMap {
    LinkMap::of_pairs(machine.clone(), simulate_lucky_links(machine, seed, luck, one_way_ns).pairs)
}
