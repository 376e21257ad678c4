//! The three questions: programs with a typical run, a mean and slow runs that lead to different answers.

use corewise_machine::random::Random;
use corewise_model::experiment::{Block, Policy, Race, Run, Standing, What};
use corewise_model::trial::Metric;

use super::{Bounds, is_no_difference, is_undecided, percent, repeat, repetitions, runs, winner};

const MOST_RUNS: u32 = 300;

/// Distribution of an arm's runs: a share of them is slower by a factor, and all have this gain.
#[derive(Clone, Copy)]
struct Runs {
    gain: f64,
    slow: f64,
    by: f64,
    noise: f64,
}

const USUAL: Runs = Runs { gain: 0.0, slow: 0.0, by: 1.0, noise: 0.01 };

/// A world: description, the baseline's runs, the candidate's, and if the candidate is truly better (1), worse (-1) or neither in the
/// typical run, the mean, and the slow runs.
struct World {
    what: &'static str,
    baseline: Runs,
    candidate: Runs,
    truth: [i32; 3],
}

const WORLDS: [World; 11] = [
    World { what: "equal", baseline: USUAL, candidate: USUAL, truth: [0, 0, 0] },
    World { what: "equal, 10 % of runs 3x", baseline: slow(0.1, 3.0), candidate: slow(0.1, 3.0), truth: [0, 0, 0] },
    World { what: "equal, 2 % of runs 11x", baseline: slow(0.02, 11.0), candidate: slow(0.02, 11.0), truth: [0, 0, 0] },
    World {
        what: "the same mean by 10 % of runs 3x, or all 20 %",
        baseline: slow(0.1, 3.0),
        candidate: Runs { gain: -0.182_321_556_793_954_6, ..USUAL },
        truth: [-1, 0, 1],
    },
    World {
        what: "4 % better in 80 % of runs, 20 % worse in the others",
        baseline: USUAL,
        candidate: Runs { gain: 0.04, slow: 0.2, by: 1.25, noise: 0.01 },
        truth: [1, -1, 0],
    },
    World {
        what: "without the baseline's 10 % of runs +50 %",
        baseline: slow(0.1, 1.55),
        candidate: USUAL,
        truth: [0, 1, 1],
    },
    World {
        what: "without the baseline's 40 % of runs +50 %",
        baseline: slow(0.4, 1.55),
        candidate: USUAL,
        truth: [1, 1, 1],
    },
    World {
        what: "without the baseline's 20 % of runs 2x",
        baseline: slow(0.2, 2.0),
        candidate: USUAL,
        truth: [1, 1, 1],
    },
    World {
        what: "1 % of runs 3x against 10 %",
        baseline: slow(0.1, 3.0),
        candidate: slow(0.01, 3.0),
        truth: [0, 1, 1],
    },
    World {
        what: "all runs 20 % faster, noise 5 %",
        baseline: Runs { noise: 0.05, ..USUAL },
        candidate: Runs { gain: 0.182_321_556_793_954_6, noise: 0.05, ..USUAL },
        truth: [1, 1, 0],
    },
    World {
        what: "without the baseline's 2 % of runs 11x",
        baseline: slow(0.02, 11.0),
        candidate: USUAL,
        truth: [0, 1, 1],
    },
];

const fn slow(share: f64, by: f64) -> Runs {
    Runs { slow: share, by, ..USUAL }
}

/// Worlds with an effect of 20 % of the mean, or a tenfold share of slow runs, each with the question that must find it.
const FOUND: [(&str, What); 5] = [
    ("without the baseline's 40 % of runs +50 %", What::Mean),
    ("without the baseline's 20 % of runs 2x", What::Mean),
    ("all runs 20 % faster, noise 5 %", What::Mean),
    ("1 % of runs 3x against 10 %", What::Tail),
    ("without the baseline's 20 % of runs 2x", What::Tail),
];

/// Prints each question's answers in each world.
pub fn table(share: f64, bounds: &mut Bounds) {
    let count = repetitions(1000.0, share);
    println!("\n## Three questions, one candidate, at most {MOST_RUNS} runs: {count} experiments each\n");
    println!(
        "| candidate against baseline | question | truly | wins % | worse % | no difference % | undecided % | runs, mean |"
    );
    println!("|---|---|---|--:|--:|--:|--:|--:|");
    for world in &WORLDS {
        for (what, truth) in What::ALL.into_iter().zip(world.truth) {
            let standings = repeat(count, |seed| experiment(world, what, seed));
            let enough = Policy::default().enough();
            let wins = percent(&standings, |standing| winner(standing).is_some());
            let worse = percent(&standings, |standing| standing.arms[1].e_worse >= enough);
            let name = format!("{what:?}").to_lowercase();
            println!(
                "| {} | {name} | {} | {wins:.1} | {worse:.1} | {:.1} | {:.1} | {:.0} |",
                world.what,
                ["worse", "equal", "better"][(truth + 1) as usize],
                percent(&standings, is_no_difference),
                percent(&standings, is_undecided),
                runs(&standings).0,
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

fn experiment(world: &World, what: What, seed: u64) -> Standing {
    let mut random = Random::new(!seed);
    let policy = Policy { what, most_runs: Some(MOST_RUNS), ..Policy::default() };
    let policy = Policy { margin: Metric::wall_time().usual_margin(&policy), ..policy };
    let mut race = Race::new(1, &policy);
    while !race.is_decided() {
        let mut x = |arm: usize| {
            let Runs { gain, slow, by, noise } = if arm == 0 { world.baseline } else { world.candidate };
            let is_slow = random.unit() < slow;
            noise * random.normal() - gain + if is_slow { by.ln() } else { 0.0 }
        };
        let runs = race.next_block(seed).into_iter().map(|arm| Run { arm, x: Some(x(arm)) }).collect();
        race.add(&Block { runs });
    }
    race.standing()
}
