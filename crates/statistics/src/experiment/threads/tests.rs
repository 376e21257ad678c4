//! Which cells a block has, what each race is fed, and how often anything is claimed that is not there.

use super::*;
use crate::experiment::CarryOverCheck;
use crate::experiment::{ArmVerdict, ExperimentDoubt, Verdict};
use crate::simulate::noise::RunNoise;
use crate::simulate::{ProgramEffects, SimulatedTrials};

/// The cells of these counts, both ways, as an experiment has them.
fn both(counts: &[u32], cpus: u32) -> Vec<ThreadsCell> {
    let cells = counts.iter().flat_map(|&threads| [false, true].map(|pinned| ThreadsCell { threads, pinned }));
    let mut cells: Vec<ThreadsCell> = cells.collect();
    arrange_cells(&mut cells, cpus);
    cells
}

fn only(counts: &[u32], pinned: bool, cpus: u32) -> Vec<ThreadsCell> {
    let mut cells: Vec<ThreadsCell> = counts.iter().map(|&threads| ThreadsCell { threads, pinned }).collect();
    arrange_cells(&mut cells, cpus);
    cells
}

/// A little noise that is the same in every run of the tests.
fn wobble(arm: usize, block: u32) -> f64 {
    0.004 * corewise_machine::random::RandomGenerator::new(u64::from(block) * 64 + arm as u64).next_normal()
}

/// Blocks in which a cell gives `x`, until all is decided.
fn made(cells: &[ThreadsCell], blocks: u32, x: impl Fn(ThreadsCell, u32) -> Option<f64>) -> ThreadsRace {
    let mut threads = ThreadsRace::new(cells, 4, &JudgingPolicy::default());
    for number in 0..blocks {
        if threads.is_decided() {
            break;
        }
        let run = |arm: usize| BlockRun { arm, x: x(cells[arm], number).map(|x| x + wobble(arm, number)) };
        let runs = threads.next_block(3).into_iter().map(run).collect();
        threads.add_block(&RunBlock { runs });
    }
    threads
}

/// Four cpus: more threads than that gain nothing.
fn four_cpus(cell: ThreadsCell) -> f64 {
    -f64::from(cell.threads.min(4)).ln()
}

fn times(arms: &[usize], arm: usize) -> usize {
    arms.iter().filter(|other| **other == arm).count()
}

#[test]
fn the_reference_comes_first_and_its_column_before_the_other() {
    let cell = |threads, pinned| ThreadsCell { threads, pinned };
    assert_eq!(both(&[1, 4, 8], 4)[..4], [cell(4, false), cell(1, false), cell(8, false), cell(1, true)]);
    assert_eq!(only(&[1, 2, 4, 8], true, 3)[0], cell(2, true), "the most that have a cpu each");
    assert_eq!(only(&[8, 16], false, 4)[0], cell(8, false), "else the fewest");
}

#[test]
fn the_first_blocks_have_all_cells() {
    let cells = both(&[1, 2, 4, 8], 4);
    let mut threads = ThreadsRace::new(&cells, 4, &JudgingPolicy::default());
    let mut seen = Vec::new();
    for number in 0..4 {
        let block = threads.next_block(3);
        assert_eq!(block.len(), 8);
        assert!((0..8).all(|arm| times(&block, arm) == 1), "{block:?}");
        let runs = block.iter().map(|&arm| BlockRun { arm, x: Some(four_cpus(cells[arm]) + wobble(arm, number)) });
        threads.add_block(&RunBlock { runs: runs.collect() });
        seen.push(block);
    }
    seen.dedup();
    assert_eq!(seen.len(), 4, "a fresh order for each");
}

#[test]
fn cells_that_no_race_needs_are_no_longer_run() {
    let cells = both(&[1, 2, 4, 8], 4);
    // Pinned at 8 is the one thing that stays open for long: better by half the margin.
    let gain = |cell: ThreadsCell| if cell == (ThreadsCell { threads: 8, pinned: true }) { 0.02 } else { 0.0 };
    let mut threads = ThreadsRace::new(&cells, 4, &JudgingPolicy::default());
    let mut last = Vec::new();
    for number in 0..60 {
        let block = threads.next_block(3);
        if threads.is_decided() {
            break;
        }
        let noise = |arm: usize| if gain(cells[arm]) > 0.0 { 4.0 * wobble(arm, number) } else { wobble(arm, number) };
        let x = |arm: usize| four_cpus(cells[arm]) - gain(cells[arm]) + noise(arm);
        threads.add_block(&RunBlock { runs: block.iter().map(|&arm| BlockRun { arm, x: Some(x(arm)) }).collect() });
        last = block;
    }
    let mut kept: Vec<ThreadsCell> = last.iter().map(|&arm| cells[arm]).collect();
    kept.sort_by_key(|cell| cell.pinned);
    assert_eq!(kept, [false, true].map(|pinned| ThreadsCell { threads: 8, pinned }));
}

#[test]
fn each_question_gets_its_answer() {
    let cells = both(&[1, 2, 4, 8], 4);
    let gain = |cell: ThreadsCell| match cell {
        ThreadsCell { threads: 8, .. } => 0.12,
        ThreadsCell { threads: 2, pinned: true } => 0.09,
        ThreadsCell { threads: 1, pinned: true } => -0.2,
        _ => 0.0,
    };
    let threads = made(&cells, 100, |cell, _| Some(four_cpus(cell) - gain(cell)));
    assert!(threads.is_decided());
    let standing = threads.current_standing();
    assert!(!standing.is_open());
    let counts = &standing.counts.as_ref().unwrap();
    let Verdict::Wins { arm } = counts.standing.verdict else { panic!("{counts:?}") };
    assert_eq!((standing.reference, cells[counts.arms[arm]].threads), (4, 8));
    assert_eq!(counts.arms, [0, 1, 2, 3], "the race's arms have the experiment's numbers");
    let verdicts: Vec<_> =
        standing.pinned.iter().map(|pinned| (pinned.threads, pinned.standing.arms[1].verdict.unwrap())).collect();
    assert_eq!(verdicts[0].0, 1);
    assert!(matches!(verdicts[0].1, ArmVerdict::NotBetterByMargin | ArmVerdict::Worse));
    assert_eq!(
        verdicts[1..],
        [(2, ArmVerdict::Wins), (4, ArmVerdict::NoMaterialDifference), (8, ArmVerdict::NoMaterialDifference)]
    );
    let effect = standing.pinned[1].standing.arms[1].effect.unwrap();
    assert!((effect.estimate - 0.09).abs() < 0.01, "{effect:?}");
    let speed_up =
        |threads, pinned| standing.find_cell(ThreadsCell { threads, pinned }).unwrap().speed_up.unwrap().exp();
    assert!((speed_up(4, false) - 4.0).abs() < 0.05 && speed_up(1, true) == 1.0, "{}", speed_up(4, false));
    assert_eq!(standing.main().unwrap().runs, standing.runs);
}

/// A claim at one of four numbers needs four times the evidence.
#[test]
fn claims_are_corrected_for_the_number_of_counts() {
    for counts in [&[2, 4, 8, 16][..], &[4]] {
        let gain = |cell: ThreadsCell| if cell == (ThreadsCell { threads: 4, pinned: true }) { 0.1 } else { 0.0 };
        let (mut evidence, needed) = (Vec::new(), 20.0 * counts.len() as f64);
        for blocks in 4..20 {
            let threads = made(&both(counts, 4), blocks, |cell, _| Some(four_cpus(cell) - gain(cell)));
            let standing = threads.current_standing();
            let pinned = standing.pinned.iter().find(|pinned| pinned.threads == 4).unwrap();
            let arm = &pinned.standing.arms[1];
            assert_eq!(arm.verdict == Some(ArmVerdict::Wins), arm.e_better >= needed, "{arm:?}");
            evidence.push(arm.e_better);
        }
        assert!(evidence[0] < needed && evidence.iter().any(|found| *found >= needed), "{evidence:?}");
        assert!(evidence.iter().any(|found| (needed / 4.0..needed).contains(found)), "{evidence:?}");
    }
}

/// Eight blocks are made for the law, whatever the races say; what failed twice is not run for it.
#[test]
fn the_law_gets_its_blocks() {
    let cells = only(&[1, 2, 3, 4, 5], false, 5);
    let mut threads = ThreadsRace::new(&cells, 5, &JudgingPolicy::default());
    while !threads.is_decided() {
        let of = |arm: usize| (cells[arm].threads != 5).then(|| four_cpus(cells[arm]) + wobble(arm, threads.blocks));
        let runs = threads.next_block(3).into_iter().map(|arm| BlockRun { arm, x: of(arm) }).collect();
        threads.add_block(&RunBlock { runs });
    }
    let standing = threads.current_standing();
    assert!(matches!(standing.counts.as_ref().unwrap().standing.verdict, Verdict::Unsound { .. }));
    let runs: Vec<u32> = standing.cells.iter().map(|cell| cell.runs).collect();
    assert_eq!((standing.blocks, &runs[..]), (8, &[3, 8, 8, 8, 8][..]));
    assert!(matches!(threads.fit_law(), LawFit::Fitted(_)));
}

#[test]
fn one_count_is_a_race_between_pinned_and_not() {
    let cells = both(&[4], 8);
    let threads = made(&cells, 100, |cell, _| Some(if cell.pinned { -0.1 } else { 0.0 }));
    let standing = threads.current_standing();
    assert_eq!((&standing.counts, standing.pinned.len()), (&None, 1));
    assert_eq!(standing.main().unwrap().verdict, Verdict::Wins { arm: 1 });
    assert!(matches!(threads.fit_law(), LawFit::TooFewCounts { counts: 1 } | LawFit::TooFewCounts { counts: 0 }));
}

#[test]
fn pinned_alone_is_compared_among_itself() {
    let threads = made(&only(&[1, 2, 3, 4], true, 4), 100, |cell, _| Some(four_cpus(cell)));
    let standing = threads.current_standing();
    assert!(standing.pinned.is_empty());
    assert_eq!(standing.counts.unwrap().standing.verdict, Verdict::NoMaterialDifference);
    let LawFit::Fitted(law) = threads.fit_law() else { panic!("four counts") };
    assert!(law.contention.estimate < 0.01, "{law:?}");
}

/// Counts beyond the cpus are tried, but the law is not fitted to them.
#[test]
fn the_law_ends_where_threads_wait_for_cpus() {
    let threads = made(&only(&[1, 2, 3, 4, 8, 16], false, 4), 100, |cell, _| Some(four_cpus(cell)));
    let LawFit::Fitted(law) = threads.fit_law() else { panic!("four counts") };
    assert_eq!(law.counts, [1, 2, 3, 4]);
    let few = made(&only(&[2, 4, 8, 16], false, 4), 100, |cell, _| Some(four_cpus(cell)));
    assert_eq!(few.fit_law(), LawFit::TooFewCounts { counts: 2 });
}

#[test]
fn a_cell_that_fails_is_out_of_everything() {
    let fails = ThreadsCell { threads: 8, pinned: false };
    let threads = made(&both(&[1, 2, 4, 8], 4), 100, |cell, _| (cell != fails).then(|| four_cpus(cell)));
    assert!(threads.is_decided());
    let standing = threads.current_standing();
    assert_eq!(standing.find_cell(fails).unwrap().failures, 3);
    assert_eq!(standing.counts.unwrap().standing.arms[3].verdict, Some(ArmVerdict::Failed));
    let doubt = &standing.pinned[3].standing.verdict;
    assert!(
        matches!(doubt, Verdict::Unsound { why } if matches!(why[..], [ExperimentDoubt::BaselineFails { failures: 3 }])),
        "{doubt:?}"
    );
    let nothing = made(&both(&[1, 2], 4), 100, |_, _| None);
    assert!(nothing.is_decided() && nothing.current_standing().blocks <= 3);
}

/// A session that was cut off goes on as if it had not been: the next block depends on what was stored alone.
#[test]
fn the_next_block_can_be_drawn_again() {
    let cells = both(&[1, 2, 4, 8], 4);
    let mut trials = SimulatedTrials::new(&ProgramEffects::from_gains(&[0.0; 7]), &RunNoise::Typical, 5);
    let mut threads = ThreadsRace::new(&cells, 4, &JudgingPolicy::default());
    let mut stored = Vec::new();
    for number in 0..12 {
        let mut block = trials.make_block(&threads.next_block(9));
        if number == 5 {
            block.runs.truncate(3);
        }
        threads.add_block(&block);
        stored.push(block);
        let mut again = ThreadsRace::new(&cells, 4, &JudgingPolicy::default());
        stored.iter().for_each(|block| again.add_block(block));
        assert_eq!(again.next_block(9), threads.next_block(9));
        assert_eq!(again.current_standing(), threads.current_standing());
    }
    let first = |seed| ThreadsRace::new(&cells, 4, &JudgingPolicy::default()).next_block(seed);
    assert_ne!(first(9), first(10));
}

#[test]
fn a_block_that_ended_early_tests_nothing() {
    let cells = both(&[1, 2, 4, 8], 4);
    let mut threads = made(&cells, 5, |cell, _| Some(four_cpus(cell)));
    let before = threads.current_standing();
    // All that the race at one thread needs is there, but the block is not whole.
    let pair = before.pinned[0].arms.iter().map(|&arm| BlockRun { arm, x: Some(-9.0 * arm as f64) }).collect();
    threads.add_block(&RunBlock { runs: pair });
    let after = threads.current_standing();
    assert_eq!((after.blocks, after.runs), (before.blocks + 1, before.runs + 2));
    assert_eq!(after.pinned[0].standing.arms[1].e_better, before.pinned[0].standing.arms[1].e_better);
    assert_eq!(after.cells, before.cells);
}

#[test]
fn the_most_runs_are_never_exceeded() {
    let policy = JudgingPolicy { most_runs: Some(31), ..JudgingPolicy::default() };
    let mut threads = ThreadsRace::new(&both(&[1, 2, 4, 8], 4), 4, &policy);
    let mut trials = SimulatedTrials::new(&ProgramEffects::from_gains(&[0.01; 7]), &RunNoise::Typical, 5);
    while !threads.is_decided() {
        let arms = threads.next_block(5);
        threads.add_block(&trials.make_block(&arms));
    }
    assert_eq!(threads.current_standing().runs, 24);
}

/// A cell that slows whoever runs next spoils every answer.
#[test]
fn carry_over_is_a_doubt_of_all() {
    let cells = both(&[1, 2, 4], 4);
    let mut threads = ThreadsRace::new(&cells, 4, &JudgingPolicy::default());
    let mut before = None;
    for number in 0..20 {
        let run = |&arm: &usize| {
            let slowed = if before.replace(arm) == Some(5) { 0.15 } else { 0.0 };
            // Noise that leaves the races open, so that all cells stay.
            BlockRun { arm, x: Some(slowed + 6.0 * wobble(arm, number)) }
        };
        let runs = threads.next_block(1).iter().map(run).collect();
        threads.add_block(&RunBlock { runs });
    }
    let standing = threads.current_standing();
    let CarryOverCheck::Found { strongest } = &standing.checks.carry_over else { panic!("{standing:?}") };
    assert_eq!((strongest.of_arm, strongest.after_arm), (None, Some(5)), "{strongest:?}");
    assert_eq!(standing.checks.doubts.len(), 1);
    assert!(standing.question_standings().all(|standing| matches!(standing.verdict, Verdict::Unsound { .. })));
    assert!(standing.is_open());
}

/// How many of these experiments with equal cells claim that pinning is better or worse anywhere, and that a count is better.
fn false_claims(noise: &RunNoise, experiments: u64) -> (usize, usize) {
    let cells = both(&[1, 2, 4, 8], 4);
    let policy = JudgingPolicy { most_runs: Some(400), ..JudgingPolicy::default() };
    let (mut pinned, mut counts) = (0, 0);
    for seed in 0..experiments {
        let mut threads = ThreadsRace::new(&cells, 4, &policy);
        let mut trials = SimulatedTrials::new(&ProgramEffects::from_gains(&[0.0; 7]), noise, !seed);
        while !threads.is_decided() {
            let arms = threads.next_block(seed);
            threads.add_block(&trials.make_block(&arms));
        }
        let claims = |question: &CellsQuestion| {
            let verdict = judgement::arm_verdict(&question.race, question.race.arm(1));
            matches!(verdict, ArmVerdict::Wins | ArmVerdict::RealButBelowMargin | ArmVerdict::Worse)
        };
        pinned += usize::from(threads.pinned.iter().any(claims));
        counts += usize::from(judgement::proven_winner(&threads.counts.as_ref().unwrap().race).is_some());
    }
    (pinned, counts)
}

/// 5 % of 100 and three standard errors are 11.
#[test]
fn equal_cells_are_seldom_called_different() {
    for noise in [RunNoise::Typical, RunNoise::Linear, RunNoise::Bimodal] {
        let (pinned, counts) = false_claims(&noise, 100);
        assert!(pinned <= 11 && counts <= 11, "{pinned} and {counts} under {} noise", noise.word());
    }
}
