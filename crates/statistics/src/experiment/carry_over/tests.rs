//! Effects of one run on the next that are planted, and found.

use super::*;
use crate::experiment::PlacementRace;
use crate::simulate::noise::RunNoise;
use crate::simulate::{CarryOverVictims, ProgramEffects, SimulatedTrials};

/// Blocks of equal placements, none of which is ever dropped.
fn made(candidates: usize, carry_over: f64, hits: CarryOverVictims, blocks: u32, seed: u64) -> Vec<OrderedBlock> {
    let effects =
        ProgramEffects { carry_over, carry_over_hits: hits, ..ProgramEffects::from_gains(&vec![0.0; candidates]) };
    let mut trials = SimulatedTrials::new(&effects, &RunNoise::Quiet, !seed);
    let policy = JudgingPolicy { least_blocks: u32::MAX, ..JudgingPolicy::default() };
    let mut race = PlacementRace::new(candidates, &policy);
    for _ in 0..blocks {
        let arms = race.next_block(seed);
        race.add_block(&trials.make_block(&arms));
    }
    race.order
}

fn check(blocks: &[OrderedBlock], candidates: usize) -> CarryOverCheck {
    CarryOverSearch::new(blocks, candidates).summarize(candidates, &JudgingPolicy::default())
}

fn share(seeds: u64, holds: impl Fn(u64) -> bool) -> f64 {
    (0..seeds).filter(|seed| holds(*seed)).count() as f64 / seeds as f64
}

#[test]
fn a_carry_over_that_hits_the_baseline_alone_is_found_and_named() {
    let CarryOverCheck::Found { strongest } = check(&made(1, 0.03, CarryOverVictims::Baseline, 60, 1), 1) else {
        panic!("nothing found")
    };
    assert_eq!((strongest.of_arm, strongest.after_arm), (Some(0), Some(1)), "{strongest:?}");
    assert!((strongest.slower - 0.03).abs() < 0.01, "{strongest:?}");
    let CarryOverCheck::Found { strongest } = check(&made(3, 0.03, CarryOverVictims::Baseline, 120, 1), 3) else {
        panic!("nothing found")
    };
    assert_eq!(
        (strongest.of_arm, strongest.after_arm),
        (Some(0), None),
        "it follows whichever candidate: {strongest:?}"
    );
}

#[test]
fn the_size_that_would_have_shown_does_show() {
    for (candidates, blocks) in [(1, 40), (3, 120)] {
        let visible = |seed: u64| match check(&made(candidates, 0.0, CarryOverVictims::All, blocks, seed), candidates) {
            CarryOverCheck::NotFound { visible, .. } => Some(visible),
            _ => None,
        };
        let sizes: Vec<f64> = (100..120).filter_map(visible).collect();
        let size = median(&sizes);
        let is_found = |size: f64, seed: u64| {
            let blocks = made(candidates, size, CarryOverVictims::Baseline, blocks, seed);
            matches!(check(&blocks, candidates), CarryOverCheck::Found { .. })
        };
        let found = share(60, |seed| is_found(size, seed));
        assert!(found >= 0.7, "{candidates}: {size} is found in {found}");
        let found = share(60, |seed| is_found(0.4 * size, seed));
        assert!(found <= 0.3, "{candidates}: {} is found in {found}", 0.4 * size);
    }
}

#[test]
fn few_runs_are_no_check() {
    let blocks = made(1, 0.0, CarryOverVictims::All, 40, 3);
    assert_eq!(check(&blocks[..10], 1), CarryOverCheck::NotChecked);
    assert!(matches!(check(&blocks, 1), CarryOverCheck::NotFound { .. }));
    // The runs after the candidate alone can be compared much earlier than those of the baseline after itself.
    let blocks = made(3, 0.0, CarryOverVictims::All, 20, 3);
    assert!(!CarryOverSearch::new(&blocks, 3).tested.is_empty());
    assert_eq!(check(&blocks, 3), CarryOverCheck::NotChecked);
}

#[test]
fn equal_placements_are_seldom_doubted() {
    for candidates in [1, 3] {
        let doubted = share(200, |seed| {
            let blocks = made(candidates, 0.0, CarryOverVictims::All, 60, seed);
            CarryOverSearch::new(&blocks, candidates).find_doubt(&JudgingPolicy::default()).is_some()
        });
        assert!(doubted <= 0.02, "{candidates}: {doubted}");
    }
}

/// A failed run has no value, and is a predecessor all the same.
#[test]
fn failed_runs_are_left_out() {
    let mut blocks = made(1, 0.03, CarryOverVictims::Baseline, 60, 1);
    blocks.iter_mut().step_by(7).for_each(|block| block.runs[1].x = None);
    assert!(matches!(check(&blocks, 1), CarryOverCheck::Found { .. }));
}
