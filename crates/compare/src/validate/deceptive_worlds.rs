//! Deceptive worlds: questions that seem to contradict each other, several candidates that all make a guard worse, and numbers in steps
//! that their digits do not show.

use corewise_lab::experiment::create_experiment;
use corewise_machine::generate::one_package_machine;
use corewise_machine::random::RandomGenerator;
use corewise_model::simulate;
use corewise_model::trial::{Experiment, PlacementArm, Trial, TrialMetric, TrialOutcome, TriedWorkload};
use corewise_statistics::experiment::{ExperimentStanding, JudgingPolicy};

use super::{
    ErrorBounds, count_repetitions, find_winner, is_better, is_no_difference, is_undecided, is_unsound, percent_of,
    repeat_simulation, run_counts,
};

/// Creates an experiment with some candidates, with guards or without.
fn new_experiment(candidates: usize, guards: usize, policy: JudgingPolicy, seed: u64) -> Experiment {
    let arm = PlacementArm::new("0", None, "");
    let metric = TrialMetric { name: "time".into(), pattern: Some("x".into()), higher_is_better: false, reading: None };
    let workload = TriedWorkload {
        guards: vec![metric.clone(); guards],
        ..TriedWorkload::new(vec!["simulated".into()], "/".into(), metric)
    };
    create_experiment(
        "simulated",
        one_package_machine(2, false, &[]),
        workload,
        vec![arm; candidates + 1],
        policy,
        Some(seed),
    )
}

/// Runs it: the values of each run depend on its arm and on chance, the metric's value first.
fn make_experiment(
    experiment: &Experiment,
    most_blocks: u32,
    values: impl Fn(usize, &mut RandomGenerator) -> Vec<f64>,
) -> ExperimentStanding {
    let mut random = RandomGenerator::new(!experiment.seed);
    simulate::simulate_experiment(experiment, most_blocks, |block, place, arm| {
        let values = values(arm, &mut random);
        let guards = values[1..].iter().copied().map(Some).collect();
        Trial { guards, ..Trial::new(block, place, arm, TrialOutcome::Value(values[0])) }
    })
}

/// Distribution of an arm's runs: faster by a share, and a share of them slower by a factor.
type SlowedRuns = (f64, f64, f64);

/// Winners in the typical run that the mean and the slow runs seem to contradict: description, baseline, candidate, and true if one of them
/// truly does.
const CONFLICTS: [(&str, SlowedRuns, SlowedRuns, bool); 6] = [
    ("5 % better in all", (0.0, 0.0, 1.0), (0.05, 0.0, 1.0), false),
    ("5 % better in all, 5 % of all runs 1.4x", (0.0, 0.05, 1.4), (0.05, 0.05, 1.4), false),
    ("5 % better in all, 10 % of all runs 3x", (0.0, 0.1, 3.0), (0.05, 0.1, 3.0), false),
    ("10 % better in all, 2 % of all runs 11x", (0.0, 0.02, 11.0), (0.1, 0.02, 11.0), false),
    ("10 % better, but 30 % of its runs 3x", (0.0, 0.0, 1.0), (0.1, 0.3, 3.0), true),
    ("4 % better in 80 % of its runs, 50 % worse in the others", (0.0, 0.0, 1.0), (0.04, 0.2, 1.56), true),
];

/// Measures the share of winners that another question is said to contradict.
pub fn check_conflicts(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(2000.0, share);
    println!(
        "\n## Winners that another question seems to contradict, noise 2 %, at most 60 blocks: {count} experiments each\n"
    );
    println!("| the candidate | truly contradicted | wins % | of these contradicted % | runs, mean |");
    println!("|---|---|--:|--:|--:|");
    for (what, baseline, candidate, truly) in CONFLICTS {
        let standings = repeat_simulation(count, |seed| {
            make_experiment(&new_experiment(1, 0, JudgingPolicy::default(), seed), 60, |arm, random| {
                let (gain, slow, by) = if arm == 0 { baseline } else { candidate };
                let is_slow = random.next_unit() < slow;
                vec![(0.02 * random.next_normal()).exp() / (1.0 + gain) * if is_slow { by } else { 1.0 }]
            })
        });
        let won: Vec<&ExperimentStanding> =
            standings.iter().filter(|standing| find_winner(standing).is_some()).collect();
        let contradicted = percent_of(&won, |standing| !standing.contradicted_by.is_empty());
        println!(
            "| {what} | {} | {:.1} | {contradicted:.1} | {:.0} |",
            if truly { "yes" } else { "no" },
            percent_of(&standings, |standing| find_winner(standing).is_some()),
            run_counts(&standings).0
        );
        if !truly {
            bounds.at_most(&format!("said to be contradicted: {what}"), contradicted, 5.0);
        }
    }
}

/// A world of guards. The guard of the first `of` candidates is worse by `worse` in a share of their runs.
struct GuardWorld {
    candidates: usize,
    worse: f64,
    of: usize,
    share: f64,
    noise: f64,
    most_blocks: u32,
}

const fn guard_world(candidates: usize, worse: f64, of: usize, share: f64, noise: f64) -> GuardWorld {
    GuardWorld { candidates, worse, of, share, noise, most_blocks: 100 }
}

const GUARD_WORLDS: [GuardWorld; 14] = [
    guard_world(1, 0.1, 1, 1.0, 0.05),
    guard_world(3, 0.1, 3, 1.0, 0.05),
    guard_world(7, 0.1, 7, 1.0, 0.05),
    guard_world(7, 0.1, 7, 1.0, 0.2),
    guard_world(3, 0.3, 1, 1.0, 0.05),
    guard_world(3, 0.3, 2, 1.0, 0.05),
    guard_world(1, 2.0, 1, 0.1, 0.05),
    guard_world(3, 2.0, 3, 0.1, 0.05),
    guard_world(7, 2.0, 7, 0.1, 0.05),
    guard_world(1, 0.4, 1, 0.4, 0.05),
    GuardWorld { most_blocks: 60, ..guard_world(1, 0.0, 0, 1.0, 0.05) },
    GuardWorld { most_blocks: 60, ..guard_world(1, 0.0, 0, 1.0, 0.15) },
    GuardWorld { most_blocks: 60, ..guard_world(3, 0.0, 0, 1.0, 0.05) },
    GuardWorld { most_blocks: 60, ..guard_world(7, 0.0, 0, 1.0, 0.05) },
];

impl GuardWorld {
    fn make_experiment(&self, seed: u64) -> ExperimentStanding {
        let experiment = new_experiment(self.candidates, 1, JudgingPolicy::default(), seed);
        make_experiment(&experiment, self.most_blocks, |arm, random| {
            let gain = if arm == 0 { 1.0 } else { 1.1 };
            // The first candidates are a little better, and worse in the guard.
            let is_harmed = (1..=self.of).contains(&arm);
            let first = if is_harmed { 1.01 } else { 1.0 };
            let guard = if is_harmed && random.next_unit() < self.share { 1.0 + self.worse } else { 1.0 };
            vec![(0.03 * random.next_normal()).exp() / gain / first, guard * (self.noise * random.next_normal()).exp()]
        })
    }
}

/// Measures several candidates that all are better in the metric, with a guard that is truly worse on some of them: by its
/// margin or more, in all runs or in a tenth of them.
pub fn check_guards(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!(
        "\n## Guards with a margin of 10 % in a race, the metric 10 % better at 3 % noise: {count} experiments each\n"
    );
    println!(
        "| candidates | guard truly worse | in runs | of | noise | blocks at most | wins with it % | wins without % | unsound % | undecided % | \
         runs, mean | median |"
    );
    println!("|--:|---|---|--:|---|--:|--:|--:|--:|--:|--:|--:|");
    for world in GUARD_WORLDS {
        let GuardWorld { candidates, of, .. } = world;
        let standings = repeat_simulation(count, |seed| world.make_experiment(seed));
        let with = percent_of(&standings, |standing| find_winner(standing).is_some_and(|arm| arm <= of));
        let without = percent_of(&standings, |standing| find_winner(standing).is_some_and(|arm| arm > of));
        let (mean, median) = run_counts(&standings);
        println!(
            "| {candidates} | {:.0} % | {:.0} % | {of} | {:.0} % | {} | {with:.1} | {without:.1} | {:.1} | {:.1} | {mean:.0} | {median:.0} |",
            100.0 * world.worse,
            100.0 * world.share,
            100.0 * world.noise,
            world.most_blocks,
            percent_of(&standings, is_unsound),
            percent_of(&standings, is_undecided),
        );
        bounds.at_most(&format!("wins of {candidates} with a guard that is worse"), with, 5.0);
        if of == 0 && candidates == 1 && world.noise < 0.1 {
            bounds.at_least("wins of a candidate that harms no guard", without, 90.0);
        }
    }
}

/// A world of numbers in steps: the step, the values around which they lie, the true gain, the noise before rounding, and
/// the jitter after it.
const STEPPED_WORLDS: [(f64, f64, f64, f64, f64); 11] = [
    (1.0, 10.2, 0.046, 0.001, 0.0),
    (0.25, 4.05, 0.04, 0.001, 0.0),
    (0.5, 10.2, 0.04, 0.001, 0.0),
    (1.0 / 60.0, 0.2495, 0.06, 0.001, 0.0),
    (1.0 / 64.0, 0.2495, 0.06, 0.001, 0.0),
    (0.01, 10.2, 0.05, 0.001, 0.0),
    (0.25, 40.0, 0.0, 0.001, 0.0),
    (1.0, 10.2, 0.046, 0.05, 0.002),
    (1.0, 10.5, 0.04, 0.03, 0.002),
    (1.0, 10.0, 0.0, 0.05, 0.002),
    (1e-6, 10.0, 0.0, 0.01, 0.0),
];

/// Measures a true gain hidden by the steps of the numbers: it must not be called no difference.
pub fn check_coarse(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!("\n## Numbers in steps, at most 60 blocks: {count} experiments each\n");
    println!(
        "| steps of | around | true | noise | jitter | wins % | better % | no difference % | undecided % | too coarse % |"
    );
    println!("|---|---|---|---|---|--:|--:|--:|--:|--:|");
    for (step, around, gain, noise, jitter) in STEPPED_WORLDS {
        let standings = repeat_simulation(count, |seed| {
            make_experiment(&new_experiment(1, 0, JudgingPolicy::default(), seed), 60, |arm, random| {
                let value = around * (noise * random.next_normal()).exp() / if arm == 0 { 1.0 } else { 1.0 + gain };
                let rounded = (value / step).round() * step * (jitter * random.next_normal()).exp();
                // As a program prints it.
                vec![format!("{rounded:.6}").parse().unwrap_or(rounded)]
            })
        });
        let same = percent_of(&standings, is_no_difference);
        println!(
            "| {step:.4} | {around} | +{:.1} % | {:.1} % | {:.1} % | {:.1} | {:.1} | {same:.1} | {:.1} | {:.1} |",
            100.0 * gain,
            100.0 * noise,
            100.0 * jitter,
            percent_of(&standings, |standing| find_winner(standing).is_some()),
            percent_of(&standings, is_better),
            percent_of(&standings, is_undecided),
            percent_of(&standings, is_unsound),
        );
        if gain > 0.03 {
            bounds.at_most(
                &format!("a gain of {:.1} % in steps of {step:.4} called no difference", 100.0 * gain),
                same,
                5.0,
            );
        }
    }
}
