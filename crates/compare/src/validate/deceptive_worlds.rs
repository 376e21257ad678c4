//! Deceptive worlds: questions that seem to contradict each other, several candidates that all make a guard worse, and numbers in steps
//! that their digits do not show.

use corewise_lab::experiment::create_experiment;
use corewise_machine::generate::one_package_machine;
use corewise_machine::random::RandomGenerator;
use corewise_model::experiment::{ExperimentStanding, JudgingPolicy, Verdict};
use corewise_model::simulate;
use corewise_model::trial::{Experiment, PlacementArm, Trial, TrialMetric, TrialOutcome, TriedWorkload};

use super::{
    ErrorBounds, count_repetitions, find_winner, is_no_difference, is_undecided, is_unsound, percent_of,
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

/// Measures several candidates that all are better in the metric, with a guard that is truly worse by its margin on some of them.
pub fn check_guards(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!(
        "\n## Guards with a margin of 10 % in a race, the metric 10 % better at 3 % noise, at most 100 blocks: {count} experiments each\n"
    );
    println!(
        "| candidates | guard truly worse | of | noise | wins with it % | wins without % | unsound % | undecided % | runs, mean |"
    );
    println!("|--:|---|--:|---|--:|--:|--:|--:|--:|");
    for (candidates, worse, of, noise) in [
        (1, 0.1, 1, 0.05),
        (3, 0.1, 3, 0.05),
        (7, 0.1, 7, 0.05),
        (7, 0.1, 7, 0.2),
        (3, 0.0, 0, 0.05),
        (3, 0.3, 1, 0.05),
        (3, 0.3, 2, 0.05),
    ] {
        let standings = repeat_simulation(count, |seed| {
            make_experiment(&new_experiment(candidates, 1, JudgingPolicy::default(), seed), 100, |arm, random| {
                let gain = if arm == 0 { 1.0 } else { 1.1 };
                // The first candidates are a little better, and worse in the guard.
                let (first, guard) = if (1..=of).contains(&arm) { (1.01, 1.0 + worse) } else { (1.0, 1.0) };
                vec![(0.03 * random.next_normal()).exp() / gain / first, guard * (noise * random.next_normal()).exp()]
            })
        });
        let with = percent_of(&standings, |standing| find_winner(standing).is_some_and(|arm| arm <= of));
        let without = percent_of(&standings, |standing| find_winner(standing).is_some_and(|arm| arm > of));
        println!(
            "| {candidates} | {:.0} % | {of} | {:.0} % | {with:.1} | {without:.1} | {:.1} | {:.1} | {:.0} |",
            100.0 * worse,
            100.0 * noise,
            percent_of(&standings, is_unsound),
            percent_of(&standings, is_undecided),
            run_counts(&standings).0
        );
        bounds.at_most(&format!("wins of {candidates} with a guard that is worse"), with, 5.0);
    }
}

/// Measures a true gain hidden by the steps of the numbers: it must not be called no difference.
pub fn check_coarse(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!("\n## Numbers in steps, at most 60 blocks: {count} experiments each\n");
    println!("| steps of | around | true | wins % | no difference % | undecided % | too coarse % |");
    println!("|---|---|---|--:|--:|--:|--:|");
    for (step, around, gain) in [
        (1.0, 10.2, 0.046),
        (0.25, 4.05, 0.04),
        (0.5, 10.2, 0.04),
        (1.0 / 60.0, 0.2495, 0.06),
        (1.0 / 64.0, 0.2495, 0.06),
        (0.01, 10.2, 0.05),
        (0.25, 40.0, 0.0),
    ] {
        let standings = repeat_simulation(count, |seed| {
            make_experiment(&new_experiment(1, 0, JudgingPolicy::default(), seed), 60, |arm, random| {
                let value = around * (0.001 * random.next_normal()).exp() / if arm == 0 { 1.0 } else { 1.0 + gain };
                let rounded = (value / step).round() * step;
                // As a program prints it.
                vec![format!("{rounded:.6}").parse().unwrap_or(rounded)]
            })
        });
        let same = percent_of(&standings, is_no_difference);
        let is_coarse = |standing: &ExperimentStanding| matches!(standing.verdict, Verdict::Unsound { .. });
        println!(
            "| {step:.4} | {around} | +{:.1} % | {:.1} | {same:.1} | {:.1} | {:.1} |",
            100.0 * gain,
            percent_of(&standings, |standing| find_winner(standing).is_some()),
            percent_of(&standings, is_undecided),
            percent_of(&standings, is_coarse),
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
