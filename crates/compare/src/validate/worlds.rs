//! Worlds in which a plausible rule is wrong: arms that only vary more, gains behind many slow runs, guards that get worse.

use corewise_machine::random::RandomGenerator;
use corewise_statistics::experiment::{
    ArmStanding, ArmVerdict, BlockOutcome, BlockRun, EffectEvidence, ExperimentStanding, JudgingPolicy, PlacementRace,
    RunBlock, excluded_failure_rate,
};

use super::{
    ErrorBounds, count_repetitions, find_winner, is_better, is_no_difference, is_small, is_undecided, is_unsound,
    percent_of, repeat_simulation, run_counts,
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

/// Measures how frequently an effect below the margin, or none, is called better.
pub fn check_better(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!(
        "\n## Better, while it is open if by 3 %: one candidate, noise 2 %, at most 60 blocks: {count} experiments each\n"
    );
    println!("| true | better % | wins % | below the margin % | no difference % | undecided % | runs, mean |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for gain in [0.0_f64, 0.01, 0.02, 0.03] {
        let standings = repeat_simulation(count, |seed| {
            simulate_experiment(1, seed, 120, |arm, random| {
                Some(0.02 * random.next_normal() - if arm == 1 { gain.ln_1p() } else { 0.0 })
            })
        });
        let (better, open) = (percent_of(&standings, is_better), percent_of(&standings, is_undecided));
        println!(
            "| +{:.0} % | {better:.1} | {:.1} | {:.1} | {:.1} | {open:.1} | {:.0} |",
            100.0 * gain,
            percent_of(&standings, |standing| find_winner(standing).is_some()),
            percent_of(&standings, is_small),
            percent_of(&standings, is_no_difference),
            run_counts(&standings).0
        );
        if gain == 0.0 {
            let claimed = percent_of(&standings, |standing| standing.arms[1].e_better_of_all >= 20.0);
            bounds.at_most("an equal arm is called better", claimed, 5.0);
        }
        if gain == 0.02 {
            bounds.at_most("+2 % at 2 % noise is undecided", open, 5.0);
        }
    }
}

/// A world of failing runs: number of candidates, share of the baseline's and of each candidate's runs that fail, and the
/// candidates' gain.
const FAILURE_WORLDS: [(usize, f64, f64, f64); 10] = [
    (1, 0.02, 0.02, 0.0),
    (1, 0.02, 0.02, 0.02),
    (1, 0.02, 0.02, 0.05),
    (1, 0.05, 0.05, 0.0),
    (7, 0.05, 0.05, 0.0),
    (1, 0.05, 0.05, 0.05),
    (1, 0.3, 0.3, 0.05),
    (1, 0.0, 0.1, 0.05),
    (1, 0.02, 0.1, 0.05),
    (1, 0.0, 0.5, 0.05),
];

/// Simulates runs that occasionally fail: if all arms do, it is no reason to distrust the experiment, nor to call one of
/// them failed; if the candidate does, it must not win without a warning.
pub fn check_failures(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!("\n## Runs that fail, noise 2 %, at most 60 blocks: {count} experiments each\n");
    println!(
        "| candidates | of 100 runs fail: OS default | candidates | true | wins % | wins, its rate excluded % | fails more % | failed % | \
         no difference % | undecided % | unsound % | runs, mean |"
    );
    println!("|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (candidates, of_baseline, failing, gain) in FAILURE_WORLDS {
        let standings = repeat_simulation(count, |seed| {
            simulate_experiment(candidates, seed, 60 * (candidates as u32 + 1), |arm, random| {
                let x = 0.02 * random.next_normal() - if arm > 0 { gain.ln_1p() } else { 0.0 };
                let rate = if arm == 0 { of_baseline } else { failing };
                (random.next_unit() >= rate).then_some(x)
            })
        });
        let has = |verdict: ArmVerdict| {
            percent_of(&standings, |standing| standing.arms.iter().any(|arm| arm.verdict == Some(verdict)))
        };
        let (wins, unsound, failed) = (
            percent_of(&standings, |standing| find_winner(standing).is_some()),
            percent_of(&standings, is_unsound),
            has(ArmVerdict::Failed),
        );
        let unwarned = percent_of(&standings, |standing| wins_without_warning(standing, failing));
        println!(
            "| {candidates} | {:.0} | {:.0} | +{:.0} % | {wins:.1} | {unwarned:.1} | {:.1} | {failed:.1} | {:.1} | {:.1} | {unsound:.1} | {:.0} |",
            100.0 * of_baseline,
            100.0 * failing,
            100.0 * gain,
            has(ArmVerdict::FailsMore),
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
        if of_baseline == failing && failing <= 0.05 {
            bounds.at_most("an arm that fails as often as the OS default is called failed", failed, 5.0);
        }
        if failing > of_baseline {
            bounds.at_most("a winner that crashes, without a warning", unwarned, 5.0);
        }
    }
}

/// Returns true if a winner never failed, in runs that exclude its true rate. Otherwise the screen names its failures, or
/// a higher rate.
fn wins_without_warning(standing: &ExperimentStanding, rate: f64) -> bool {
    let is_unwarned = |winner: &ArmStanding| winner.failures == 0 && excluded_failure_rate(winner.runs, 0.05) <= rate;
    find_winner(standing).is_some_and(|arm| is_unwarned(&standing.arms[arm]))
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
