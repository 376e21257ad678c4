//! Claims of experiments over many machines, by simulation: error rates, power, time, and coverage.
//!
//! Each fleet is visited as the plan says, wave by wave, until it has no more visits. The seeds are fixed: the same numbers come out every
//! time. `cargo test -p corewise-model --test fleet_experiment_error_rates -- --nocapture` prints them.

use corewise_machine::random::RandomGenerator;
use corewise_model::artifact::{ArtifactOrigin, ArtifactProvenance};
use corewise_model::fleet::experiment::{
    FleetArm, FleetExperiment, FleetExperimentConclusions, FleetVerdict, TriedNode, conclude_fleet_experiment,
};
use corewise_model::trial::{TrialMetric, TriedWorkload};
use corewise_statistics::experiment::{JudgingPolicy, Verdict};
use corewise_statistics::simulate::noise::RunNoise;
use corewise_statistics::simulate::{ProgramEffects, SimulatedTrials};
use corewise_testing::count_cases;

/// A fleet, and what it takes until the plan is over.
struct VisitedFleet {
    experiment: FleetExperiment,
    found: FleetExperimentConclusions,
    /// The most blocks of one node: the time, as all nodes work at the same time.
    most_blocks: usize,
}

fn new_experiment(nodes: usize, candidates: usize, seed: u64) -> FleetExperiment {
    let metric = TrialMetric { name: "rate".to_owned(), pattern: None, higher_is_better: false, reading: None };
    let arm = |arm: usize| FleetArm { name: format!("llc:{arm}"), reason: String::new() };
    FleetExperiment {
        provenance: ArtifactProvenance {
            origin: ArtifactOrigin::Measured,
            corewise: "0".to_owned(),
            started_unix_ms: 0,
            elapsed_s: 1.0,
            budget_s: 0.0,
            seed,
            partial: false,
        },
        workload: TriedWorkload::new(vec!["app".to_owned()], "/".into(), metric),
        arms: (0..=candidates).map(arm).collect(),
        policy: JudgingPolicy::default(),
        blocks_per_node: None,
        looks: 0,
        nodes: (0..nodes).map(|node| TriedNode { name: format!("n{node}"), ..TriedNode::default() }).collect(),
        made_by: Vec::new(),
    }
}

/// Visits a fleet to the end of its plan. Each node has its gains, its noise and its orders.
fn visit_fleet(gains: &[Vec<f64>], noises: &[RunNoise], seed: u64) -> VisitedFleet {
    let mut experiment = new_experiment(gains.len(), gains[0].len(), seed);
    let mut random = RandomGenerator::new(!seed);
    let mut programs: Vec<SimulatedTrials> = gains
        .iter()
        .zip(noises.iter().cycle())
        .map(|(gains, noise)| SimulatedTrials::new(&ProgramEffects::from_gains(gains), noise, random.next_bits()))
        .collect();
    loop {
        let wave = experiment.plan_wave();
        if wave.is_empty() {
            break;
        }
        for visit in wave {
            let place = experiment.nodes.iter().position(|node| node.name == visit.node).unwrap();
            for _ in 0..visit.blocks {
                let mut order: Vec<usize> = (0..=gains[0].len()).collect();
                random.shuffle(&mut order);
                experiment.nodes[place].blocks.push(programs[place].make_block(&order));
            }
        }
    }
    let most_blocks = experiment.nodes.iter().map(|node| node.blocks.len()).max().unwrap();
    let found = conclude_fleet_experiment(&experiment);
    VisitedFleet { experiment, found, most_blocks }
}

fn visit_fleets(
    count: usize,
    noises: &[RunNoise],
    gains: impl Fn(&mut RandomGenerator) -> Vec<Vec<f64>>,
) -> Vec<VisitedFleet> {
    (0..count as u64).map(|seed| visit_fleet(&gains(&mut RandomGenerator::new(seed ^ 0xf1ee7)), noises, seed)).collect()
}

fn share(fleets: &[VisitedFleet], holds: impl Fn(&VisitedFleet) -> bool) -> f64 {
    fleets.iter().filter(|fleet| holds(fleet)).count() as f64 / fleets.len() as f64
}

fn mean_blocks(fleets: &[VisitedFleet]) -> f64 {
    fleets.iter().map(|fleet| fleet.most_blocks as f64).sum::<f64>() / fleets.len() as f64
}

fn says_better(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Wins { .. } | Verdict::Better { .. } | Verdict::RealButBelowMargin { .. })
}

/// Every kind of noise in turn, so that one node drifts, one jumps, and one is slower for a while.
fn mixed_noise() -> Vec<RunNoise> {
    RunNoise::ALL.to_vec()
}

#[test]
fn equal_placements_are_seldom_called_better_by_any_sentence() {
    for (nodes, candidates) in [(3, 1), (8, 1), (16, 3)] {
        let fleets = visit_fleets(count_cases(200), &mixed_noise(), |_| vec![vec![0.0; candidates]; nodes]);
        let is_claimed = |fleet: &VisitedFleet| {
            let found = &fleet.found;
            says_better(&found.this_kind.verdict)
                || found.these_nodes.as_ref().is_some_and(|these| says_better(&these.verdict))
                || found.arms.iter().any(|arm| arm.better > 0)
        };
        let claimed = share(&fleets, is_claimed);
        println!("A/A, {nodes} nodes, {candidates} candidates: {claimed}; {} blocks", mean_blocks(&fleets));
        assert!(claimed <= 0.05 + 3.0 * (0.05 * 0.95 / fleets.len() as f64).sqrt(), "{claimed} with {nodes} nodes");
    }
}

/// Effects of 0 mean that differ by 2 % from node to node are real on single nodes, but not for their kind.
#[test]
fn effects_of_single_nodes_are_seldom_called_those_of_their_kind() {
    for (nodes, count) in [(8, 60), (16, 20)] {
        let fleets = visit_fleets(count, &mixed_noise(), |random| {
            (0..nodes).map(|_| vec![0.02 * random.next_normal(), 0.02 * random.next_normal()]).collect()
        });
        let claimed = share(&fleets, |fleet| says_better(&fleet.found.this_kind.verdict));
        println!("effects of single nodes, {nodes} nodes: {claimed}; {} blocks", mean_blocks(&fleets));
        assert!(claimed <= 0.05 + 3.0 * (0.05 * 0.95 / fleets.len() as f64).sqrt(), "{claimed} with {nodes} nodes");
    }
}

#[test]
fn an_effect_that_all_nodes_have_is_found_in_few_blocks() {
    for (nodes, most) in [(8, 8.0), (16, 6.0)] {
        let fleets = visit_fleets(100, &[RunNoise::Typical], |_| vec![vec![0.05]; nodes]);
        let is_found =
            |fleet: &VisitedFleet| fleet.found.verdict == FleetVerdict::ThisKind { verdict: Verdict::Wins { arm: 1 } };
        let (found, blocks) = (share(&fleets, is_found), mean_blocks(&fleets));
        println!("+5 % on all of {nodes} nodes: {found} in {blocks} blocks");
        assert!(found >= 0.9 && blocks <= most, "{found} in {blocks} blocks with {nodes} nodes");
    }
}

/// With 20 % of noise in a gain one machine needs some 80 blocks for 5 %.
#[test]
fn many_nodes_share_the_blocks_that_noise_takes() {
    let noisy: Vec<f64> =
        (0..10_007).scan(RandomGenerator::new(3), |random, _| Some(0.1 * random.next_normal())).collect();
    let noise = [RunNoise::Trace(noisy)];
    let blocks = [8, 32].map(|nodes| {
        let fleets = visit_fleets(40, &noise, |_| vec![vec![0.05]; nodes]);
        let found = share(&fleets, |fleet| says_better(&fleet.found.this_kind.verdict));
        println!("+5 % in 14 % of noise, {nodes} nodes: {found} in {} blocks", mean_blocks(&fleets));
        assert!(found >= 0.7, "{found} with {nodes} nodes");
        mean_blocks(&fleets)
    });
    assert!(blocks[1] < 0.6 * blocks[0], "{blocks:?}");
}

#[test]
fn an_effect_that_half_the_nodes_have_is_said_to_be_of_half_the_nodes() {
    for nodes in [8, 16] {
        let fleets = visit_fleets(50, &[RunNoise::Typical], |_| {
            (0..nodes).map(|node| vec![if node % 2 == 0 { 0.05 } else { 0.0 }]).collect()
        });
        let is_half = |fleet: &VisitedFleet| match fleet.found.verdict {
            FleetVerdict::PartOfNodes { better, open, .. } => (better..=better + open).contains(&(nodes / 2)),
            _ => false,
        };
        let half = share(&fleets, is_half);
        let parted = share(&fleets, |fleet| matches!(fleet.found.verdict, FleetVerdict::PartOfNodes { .. }));
        let open = fleets.iter().map(|fleet| fleet.found.arms[0].open as f64).sum::<f64>() / fleets.len() as f64;
        println!(
            "+5 % on half of {nodes} nodes: half in {half}, a part in {parted}, {open} open; {} blocks",
            mean_blocks(&fleets)
        );
        assert!(half >= 0.9, "{half} with {nodes} nodes");
    }
}

/// Interval of the effect of the typical node, and of the spread.
#[test]
fn the_intervals_hold_the_truth() {
    for nodes in [8, 16] {
        let fleets = visit_fleets(120, &[RunNoise::Typical], |random| {
            (0..nodes).map(|_| vec![0.03 + 0.02 * random.next_normal()]).collect()
        });
        let effect = |fleet: &VisitedFleet| {
            fleet.found.this_kind.arms[0].effect.is_some_and(|effect| {
                effect.low.is_none_or(|low| low <= 0.03) && effect.high.is_none_or(|high| high >= 0.03)
            })
        };
        let spread = |fleet: &VisitedFleet| {
            fleet.found.arms[0].spread.is_some_and(|spread| (spread.low..=spread.high).contains(&0.02))
        };
        let [effect, spread] = [share(&fleets, effect), share(&fleets, spread)];
        println!("coverage with {nodes} nodes: effect {effect}, spread {spread}; {} blocks", mean_blocks(&fleets));
        assert!(effect >= 0.94 && spread >= 0.94, "effect {effect}, spread {spread}, {nodes} nodes");
    }
}

#[test]
fn a_conclusion_says_how_many_nodes_it_takes() {
    let few = visit_fleet(&vec![vec![0.05]; 3], &[RunNoise::Quiet], 1);
    let kind = &few.found.this_kind;
    assert!(kind.units == 3 && kind.fewest > 3 && kind.verdict == Verdict::Undecided { more_runs: None }, "{kind:?}");
    assert_eq!(few.found.verdict, FleetVerdict::TheseNodes { verdict: Verdict::Wins { arm: 1 } });
    assert_eq!(few.experiment.nodes.len(), 3);
}
