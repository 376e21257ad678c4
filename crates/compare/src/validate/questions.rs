//! The three questions: programs with a typical run, a mean and slow runs that lead to different answers.

use corewise_machine::random::RandomGenerator;
use corewise_model::trial::TrialMetric;
use corewise_statistics::experiment::{
    BlockRun, ExperimentStanding, JudgingPolicy, PlacementRace, QuestionKind, RunBlock,
};

use super::{
    ErrorBounds, count_repetitions, find_winner, is_no_difference, is_undecided, percent_of, repeat_simulation,
    run_counts,
};

const MOST_RUNS: u32 = 300;

/// Distribution of an arm's runs: a share of them is slower by a factor, and all have this gain.
#[derive(Clone, Copy)]
struct ArmRuns {
    gain: f64,
    slow: f64,
    by: f64,
    noise: f64,
}

const USUAL: ArmRuns = ArmRuns { gain: 0.0, slow: 0.0, by: 1.0, noise: 0.01 };

/// A world: description, the baseline's runs, the candidate's, and if the candidate is truly better (1), worse (-1) or neither in the
/// typical run, the mean, and the slow runs.
struct QuestionWorld {
    what: &'static str,
    baseline: ArmRuns,
    candidate: ArmRuns,
    truth: [i32; 3],
}

const WORLDS: [QuestionWorld; 11] = [
    QuestionWorld { what: "equal", baseline: USUAL, candidate: USUAL, truth: [0, 0, 0] },
    QuestionWorld {
        what: "equal, 10 % of runs 3x",
        baseline: slow_runs(0.1, 3.0),
        candidate: slow_runs(0.1, 3.0),
        truth: [0, 0, 0],
    },
    QuestionWorld {
        what: "equal, 2 % of runs 11x",
        baseline: slow_runs(0.02, 11.0),
        candidate: slow_runs(0.02, 11.0),
        truth: [0, 0, 0],
    },
    QuestionWorld {
        what: "the same mean by 10 % of runs 3x, or all 20 %",
        baseline: slow_runs(0.1, 3.0),
        candidate: ArmRuns { gain: -0.182_321_556_793_954_6, ..USUAL },
        truth: [-1, 0, 1],
    },
    QuestionWorld {
        what: "4 % better in 80 % of runs, 20 % worse in the others",
        baseline: USUAL,
        candidate: ArmRuns { gain: 0.04, slow: 0.2, by: 1.25, noise: 0.01 },
        truth: [1, -1, 0],
    },
    QuestionWorld {
        what: "without the baseline's 10 % of runs +50 %",
        baseline: slow_runs(0.1, 1.55),
        candidate: USUAL,
        truth: [0, 1, 1],
    },
    QuestionWorld {
        what: "without the baseline's 40 % of runs +50 %",
        baseline: slow_runs(0.4, 1.55),
        candidate: USUAL,
        truth: [1, 1, 1],
    },
    QuestionWorld {
        what: "without the baseline's 20 % of runs 2x",
        baseline: slow_runs(0.2, 2.0),
        candidate: USUAL,
        truth: [1, 1, 1],
    },
    QuestionWorld {
        what: "1 % of runs 3x against 10 %",
        baseline: slow_runs(0.1, 3.0),
        candidate: slow_runs(0.01, 3.0),
        truth: [0, 1, 1],
    },
    QuestionWorld {
        what: "all runs 20 % faster, noise 5 %",
        baseline: ArmRuns { noise: 0.05, ..USUAL },
        candidate: ArmRuns { gain: 0.182_321_556_793_954_6, noise: 0.05, ..USUAL },
        truth: [1, 1, 0],
    },
    QuestionWorld {
        what: "without the baseline's 2 % of runs 11x",
        baseline: slow_runs(0.02, 11.0),
        candidate: USUAL,
        truth: [0, 1, 1],
    },
];

const fn slow_runs(share: f64, by: f64) -> ArmRuns {
    ArmRuns { slow: share, by, ..USUAL }
}

/// Worlds with an effect of 20 % of the mean, or a tenfold share of slow runs, each with the question that must find it.
const FOUND: [(&str, QuestionKind); 5] = [
    ("without the baseline's 40 % of runs +50 %", QuestionKind::Mean),
    ("without the baseline's 20 % of runs 2x", QuestionKind::Mean),
    ("all runs 20 % faster, noise 5 %", QuestionKind::Mean),
    ("1 % of runs 3x against 10 %", QuestionKind::Tail),
    ("without the baseline's 20 % of runs 2x", QuestionKind::Tail),
];

/// Prints each question's answers in each world.
pub fn print_table(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!("\n## Three questions, one candidate, at most {MOST_RUNS} runs: {count} experiments each\n");
    println!(
        "| candidate against baseline | question | truly | wins % | worse % | no difference % | undecided % | runs, mean |"
    );
    println!("|---|---|---|--:|--:|--:|--:|--:|");
    for world in &WORLDS {
        for (what, truth) in QuestionKind::ALL.into_iter().zip(world.truth) {
            let standings = repeat_simulation(count, |seed| simulate_experiment(world, what, seed));
            let enough = JudgingPolicy::default().needed_evidence();
            let wins = percent_of(&standings, |standing| find_winner(standing).is_some());
            let worse = percent_of(&standings, |standing| standing.arms[1].e_worse >= enough);
            let name = format!("{what:?}").to_lowercase();
            println!(
                "| {} | {name} | {} | {wins:.1} | {worse:.1} | {:.1} | {:.1} | {:.0} |",
                world.what,
                ["worse", "equal", "better"][(truth + 1) as usize],
                percent_of(&standings, is_no_difference),
                percent_of(&standings, is_undecided),
                run_counts(&standings).0,
            );
            let claim = |side: &str| format!("{name}: said to be {side}: {}", world.what);
            if truth <= 0 {
                bounds.at_most(&claim("better"), wins, 5.0);
            }
            if truth >= 0 {
                bounds.at_most(&claim("worse"), worse, 5.0);
            }
            if FOUND.contains(&(world.what, what)) {
                bounds.at_least(&claim("better"), wins, 90.0);
            }
        }
    }
}

fn simulate_experiment(world: &QuestionWorld, what: QuestionKind, seed: u64) -> ExperimentStanding {
    let mut random = RandomGenerator::new(!seed);
    let policy = JudgingPolicy { what, most_runs: Some(MOST_RUNS), ..JudgingPolicy::default() };
    let policy = JudgingPolicy { margin: TrialMetric::wall_time().usual_margin(&policy), ..policy };
    let mut race = PlacementRace::new(1, &policy);
    while !race.is_decided() {
        let mut x = |arm: usize| {
            let ArmRuns { gain, slow, by, noise } = if arm == 0 { world.baseline } else { world.candidate };
            let is_slow = random.next_unit() < slow;
            noise * random.next_normal() - gain + if is_slow { by.ln() } else { 0.0 }
        };
        let runs = race.next_block(seed).into_iter().map(|arm| BlockRun { arm, x: Some(x(arm)) }).collect();
        race.add_block(&RunBlock { runs });
    }
    race.current_standing()
}
