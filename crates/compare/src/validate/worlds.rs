//! Worlds in which a plausible rule is wrong: arms that only vary more, gains behind many slow runs, guards that get worse.

use corewise_machine::random::RandomGenerator;
use corewise_model::experiment::{
    BlockOutcome, BlockRun, EffectEvidence, ExperimentStanding, JudgingPolicy, PlacementRace, RunBlock,
};

use super::{
    ErrorBounds, count_repetitions, find_winner, is_no_difference, is_undecided, is_unsound, percent_of,
    repeat_simulation, run_counts,
};

/// Simulates an experiment with outcomes that depend only on the arm and on chance.
fn simulate_experiment(
    candidates: usize,
    seed: u64,
    most_runs: u32,
    x: impl Fn(usize, &mut RandomGenerator) -> Option<f64>,
) -> ExperimentStanding {
    let mut random = RandomGenerator::new(!seed);
    let mut race =
        PlacementRace::new(candidates, &JudgingPolicy { most_runs: Some(most_runs), ..JudgingPolicy::default() });
    while !race.is_decided() {
        let runs = race.next_block(seed).into_iter().map(|arm| BlockRun { arm, x: x(arm, &mut random) });
        let runs = runs.collect();
        race.add_block(&RunBlock { runs });
    }
    race.current_standing()
}

/// Simulates candidates that are 4 % faster or slower by the mode that their process starts in; mean and median are the baseline's.
pub fn check_spread(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(2000.0, share);
    println!(
        "\n## Candidates that only vary more (4 % either way, noise 0.1 %), at most 60 blocks: {count} experiments each\n"
    );
    println!("| candidates | false win % | no difference % | undecided % |");
    println!("|---|--:|--:|--:|");
    for candidates in [1, 2, 3, 4, 7] {
        let standings = repeat_simulation(count, |seed| {
            simulate_experiment(candidates, seed, 60 * (candidates as u32 + 1), |arm, random| {
                let mode = if random.next_below(2) == 0 { 0.04 } else { -0.04 };
                Some(0.001 * random.next_normal() + if arm == 0 { 0.0 } else { mode })
            })
        });
        let wins = percent_of(&standings, |standing| find_winner(standing).is_some());
        let (same, open) = (percent_of(&standings, is_no_difference), percent_of(&standings, is_undecided));
        println!("| {candidates} | {wins:.2} | {same:.1} | {open:.1} |");
        bounds.at_most(&format!("false winners of {candidates} that only vary more"), wins, 5.0);
    }
}

/// Simulates three candidates of which one is better, with a share of much slower runs.
pub fn slow_runs(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!(
        "\n## One of three candidates is better, many runs are slow, at most 240 runs: {count} experiments each\n"
    );
    println!("| true | slow runs | slower by | found % | no difference % | undecided % | runs, mean |");
    println!("|---|---|---|--:|--:|--:|--:|");
    for (gain, share_slow, slow) in [(0.058_f64, 0.45, 0.30_f64), (0.10, 0.5, 0.5), (0.05, 0.3, 0.2)] {
        let standings = repeat_simulation(count, |seed| {
            simulate_experiment(3, seed, 240, |arm, random| {
                let is_slow = random.next_unit() < share_slow;
                let disturbed = if is_slow { slow.ln_1p() } else { 0.0 };
                Some(0.01 * random.next_normal() + disturbed - if arm == 2 { gain.ln_1p() } else { 0.0 })
            })
        });
        let (found, same) = (
            percent_of(&standings, |standing| find_winner(standing) == Some(2)),
            percent_of(&standings, is_no_difference),
        );
        println!(
            "| +{:.1} % | {:.0} % | {:.0} % | {found:.1} | {same:.1} | {:.1} | {:.0} |",
            100.0 * gain,
            100.0 * share_slow,
            100.0 * slow,
            percent_of(&standings, is_undecided),
            run_counts(&standings).0
        );
        bounds.at_most(&format!("a gain of {:.1} % called no difference", 100.0 * gain), same, 5.0);
    }
}

/// Simulates runs of all arms that occasionally fail: no reason to distrust the experiment, nor to call one of them worse.
pub fn check_failures(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!("\n## Runs that fail in every arm, noise 2 %, at most 120 runs of each arm: {count} experiments each\n");
    println!("| of 100 runs fail | true | wins % | no difference % | undecided % | unsound % | runs, mean |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    for (failing, gain) in [(0.02, 0.0_f64), (0.02, 0.02), (0.02, 0.05), (0.05, 0.05), (0.3, 0.05)] {
        let standings = repeat_simulation(count, |seed| {
            simulate_experiment(1, seed, 240, |arm, random| {
                let x = 0.02 * random.next_normal() - if arm == 1 { gain.ln_1p() } else { 0.0 };
                (random.next_unit() >= failing).then_some(x)
            })
        });
        let (wins, unsound) =
            (percent_of(&standings, |standing| find_winner(standing).is_some()), percent_of(&standings, is_unsound));
        println!(
            "| {:.0} | +{:.0} % | {wins:.1} | {:.1} | {:.1} | {unsound:.1} | {:.0} |",
            100.0 * failing,
            100.0 * gain,
            percent_of(&standings, is_no_difference),
            percent_of(&standings, is_undecided),
            run_counts(&standings).0
        );
        if gain == 0.0 {
            bounds.at_most("equal arms that fail now and then: a false winner", wins, 5.0);
        }
        if failing <= 0.02 {
            bounds.at_most("an experiment in which 2 of 100 runs fail is unsound", unsound, 5.0);
        }
    }
}

/// Measures how frequently a guard passes, and is said to be worse, by its true effect.
pub fn check_guards(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(2000.0, share);
    println!("\n## Guards with a margin of 10 %, 100 blocks: {count} experiments each\n");
    println!("| truly worse by | noise | passes % | said to be worse % |");
    println!("|---|---|--:|--:|");
    for (worse, noise) in [(0.0_f64, 0.05), (0.0, 0.1), (0.05, 0.05), (0.1, 0.1), (0.1, 0.2), (0.2, 0.2), (0.5, 0.2)] {
        let verdicts = repeat_simulation(count, |seed| {
            let mut random = RandomGenerator::new(seed);
            let mut evidence = EffectEvidence::new(-1.1_f64.ln());
            let enough = JudgingPolicy::default().needed_evidence();
            for _ in 0..100 {
                let [candidate, baseline] =
                    [noise * random.next_normal() + worse.ln_1p(), noise * random.next_normal()];
                evidence.add_outcome(&BlockOutcome::from_pair(Some(candidate), Some(baseline)));
                if evidence.above().current_wealth() >= enough || evidence.below().current_wealth() >= enough {
                    break;
                }
            }
            [evidence.above().current_wealth() >= enough, evidence.below().current_wealth() >= enough]
        });
        let found = [0, 1].map(|side| percent_of(&verdicts, |verdict: &[bool; 2]| verdict[side]));
        println!("| {:.0} % | {:.0} % | {:.1} | {:.1} |", 100.0 * worse, 100.0 * noise, found[0], found[1]);
        if worse >= 0.1 {
            bounds.at_most(&format!("a guard that is {:.0} % worse passes", 100.0 * worse), found[0], 5.0);
        }
    }
}
