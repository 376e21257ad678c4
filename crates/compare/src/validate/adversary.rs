//! Deceptive worlds: questions that seem to contradict each other, several candidates that all make a guard worse, and numbers in steps
//! that their digits do not show.

use corewise_lab::experiment::begun_now;
use corewise_machine::generate::machine;
use corewise_machine::random::Random;
use corewise_model::experiment::{Policy, Standing, Verdict};
use corewise_model::simulate;
use corewise_model::trial::{Arm, Experiment, Metric, Outcome, Trial, Workload};

use super::{Bounds, is_no_difference, is_undecided, is_unsound, percent, repeat, repetitions, runs, winner};

/// Creates an experiment with some candidates, with guards or without.
fn experiment(candidates: usize, guards: usize, policy: Policy, seed: u64) -> Experiment {
    let arm = Arm::new("0", None, "");
    let metric = Metric { name: "time".into(), pattern: Some("x".into()), higher_is_better: false, reading: None };
    let workload = Workload {
        guards: vec![metric.clone(); guards],
        ..Workload::new(vec!["simulated".into()], "/".into(), metric)
    };
    begun_now("simulated", machine(2, false, &[]), workload, vec![arm; candidates + 1], policy, Some(seed))
}

/// Runs it: the values of each run depend on its arm and on chance, the metric's value first.
fn made(experiment: &Experiment, most_blocks: u32, values: impl Fn(usize, &mut Random) -> Vec<f64>) -> Standing {
    let mut random = Random::new(!experiment.seed);
    simulate::made(experiment, most_blocks, |block, place, arm| {
        let values = values(arm, &mut random);
        let guards = values[1..].iter().copied().map(Some).collect();
        Trial { guards, ..Trial::new(block, place, arm, Outcome::Value(values[0])) }
    })
}

/// Distribution of an arm's runs: faster by a share, and a share of them slower by a factor.
type Runs = (f64, f64, f64);

/// Winners in the typical run that the mean and the slow runs seem to contradict: description, baseline, candidate, and true if one of them
/// truly does.
const CONFLICTS: [(&str, Runs, Runs, bool); 6] = [
    ("5 % better in all", (0.0, 0.0, 1.0), (0.05, 0.0, 1.0), false),
    ("5 % better in all, 5 % of all runs 1.4x", (0.0, 0.05, 1.4), (0.05, 0.05, 1.4), false),
    ("5 % better in all, 10 % of all runs 3x", (0.0, 0.1, 3.0), (0.05, 0.1, 3.0), false),
    ("10 % better in all, 2 % of all runs 11x", (0.0, 0.02, 11.0), (0.1, 0.02, 11.0), false),
    ("10 % better, but 30 % of its runs 3x", (0.0, 0.0, 1.0), (0.1, 0.3, 3.0), true),
    ("4 % better in 80 % of its runs, 50 % worse in the others", (0.0, 0.0, 1.0), (0.04, 0.2, 1.56), true),
];

/// Measures the share of winners that another question is said to contradict.
pub fn conflicts(share: f64, bounds: &mut Bounds) {
    let count = repetitions(2000.0, share);
    println!(
        "\n## Winners that another question seems to contradict, noise 2 %, at most 60 blocks: {count} experiments each\n"
    );
    println!("| the candidate | truly contradicted | wins % | of these contradicted % | runs, mean |");
    println!("|---|---|--:|--:|--:|");
    for (what, baseline, candidate, truly) in CONFLICTS {
        let standings = repeat(count, |seed| {
            made(&experiment(1, 0, Policy::default(), seed), 60, |arm, random| {
                let (gain, slow, by) = if arm == 0 { baseline } else { candidate };
                let is_slow = random.unit() < slow;
                vec![(0.02 * random.normal()).exp() / (1.0 + gain) * if is_slow { by } else { 1.0 }]
            })
        });
        let won: Vec<&Standing> = standings.iter().filter(|standing| winner(standing).is_some()).collect();
        let contradicted = percent(&won, |standing| !standing.contradicted_by.is_empty());
        println!(
            "| {what} | {} | {:.1} | {contradicted:.1} | {:.0} |",
            if truly { "yes" } else { "no" },
            percent(&standings, |standing| winner(standing).is_some()),
            runs(&standings).0
        );
        if !truly {
            bounds.at_most(&format!("said to be contradicted: {what}"), contradicted, 5.0);
        }
    }
}

/// Measures several candidates that all are better in the metric, with a guard that is truly worse by its margin on some of them.
pub fn guarded(share: f64, bounds: &mut Bounds) {
    let count = repetitions(1000.0, share);
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
        let standings = repeat(count, |seed| {
            made(&experiment(candidates, 1, Policy::default(), seed), 100, |arm, random| {
                let gain = if arm == 0 { 1.0 } else { 1.1 };
                // The first candidates are a little better, and worse in the guard.
                let (first, guard) = if (1..=of).contains(&arm) { (1.01, 1.0 + worse) } else { (1.0, 1.0) };
                vec![(0.03 * random.normal()).exp() / gain / first, guard * (noise * random.normal()).exp()]
            })
        });
        let with = percent(&standings, |standing| winner(standing).is_some_and(|arm| arm <= of));
        let without = percent(&standings, |standing| winner(standing).is_some_and(|arm| arm > of));
        println!(
            "| {candidates} | {:.0} % | {of} | {:.0} % | {with:.1} | {without:.1} | {:.1} | {:.1} | {:.0} |",
            100.0 * worse,
            100.0 * noise,
            percent(&standings, is_unsound),
            percent(&standings, is_undecided),
            runs(&standings).0
        );
        bounds.at_most(&format!("wins of {candidates} with a guard that is worse"), with, 5.0);
    }
}

/// Measures a true gain hidden by the steps of the numbers: it must not be called no difference.
pub fn coarse(share: f64, bounds: &mut Bounds) {
    let count = repetitions(1000.0, share);
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
        let standings = repeat(count, |seed| {
            made(&experiment(1, 0, Policy::default(), seed), 60, |arm, random| {
                let value = around * (0.001 * random.normal()).exp() / if arm == 0 { 1.0 } else { 1.0 + gain };
                let rounded = (value / step).round() * step;
                // As a program prints it.
                vec![format!("{rounded:.6}").parse().unwrap_or(rounded)]
            })
        });
        let same = percent(&standings, is_no_difference);
        let is_coarse = |standing: &Standing| matches!(standing.verdict, Verdict::Unsound { .. });
        println!(
            "| {step:.4} | {around} | +{:.1} % | {:.1} | {same:.1} | {:.1} | {:.1} |",
            100.0 * gain,
            percent(&standings, |standing| winner(standing).is_some()),
            percent(&standings, is_undecided),
            percent(&standings, is_coarse),
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
