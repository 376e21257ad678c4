//! Tests of the race and its evidence on blocks made by hand.

use corewise_machine::random::RandomGenerator;
use proptest::prelude::*;

use super::effect::{estimate_effect, hodges_lehmann};
use super::question::PlacementQuestion;
use super::shape::count_modes;
use super::*;
use crate::simulate::noise::RunNoise;
use crate::simulate::{ProgramEffects, SimulatedTrials};

const BLOCKS: [BlockOutcome; 8] = [
    outcome(Some(0.00), Some(0.05)),
    outcome(Some(0.02), Some(0.01)),
    outcome(Some(-0.01), Some(0.04)),
    outcome(Some(0.03), Some(0.03)),
    outcome(Some(0.00), Some(0.90)),
    outcome(Some(-0.02), Some(0.03)),
    outcome(None, Some(0.02)),
    outcome(Some(0.01), Some(0.06)),
];

const fn outcome(candidate: Option<f64>, baseline: Option<f64>) -> BlockOutcome {
    BlockOutcome { candidate, baseline, usual: None }
}

/// The wealth after every block, computed by another program from the formulas of docs/statistics.md: with an outlier, a
/// tie, and a failed run.
#[test]
fn the_evidence_is_that_of_the_formulas() {
    let golden: [(f64, &[f64], &[f64]); 2] = [
        (
            0.0,
            &[1.76491871, 0.587524372, 0.949901003, 0.949901003, 1.72252375, 2.95597395, 0.339304164, 0.468210042],
            &[
                0.235081285,
                0.298596897,
                0.169162781,
                0.169162781,
                0.0907279534,
                0.0714225184,
                0.0928402889,
                0.0755636886,
            ],
        ),
        (
            0.03,
            &[1.76491871, 0.286330989, 0.404080411, 0.208824961, 0.3081761, 0.409573839, 0.184134844, 0.235505618],
            &[0.235081285, 0.336296349, 0.187995511, 0.250629389, 0.118312863, 0.0921738297, 0.122296543, 0.0993180253],
        ),
    ];
    for (theta, above, below) in golden {
        let mut evidence = EffectEvidence::new(theta);
        for (place, outcome) in BLOCKS.iter().enumerate() {
            evidence.add_outcome(outcome);
            assert!(
                (evidence.above().current_wealth() / above[place] - 1.0).abs() < 1e-8,
                "{place}: {}",
                evidence.above().current_wealth()
            );
            assert!(
                (evidence.below().current_wealth() / below[place] - 1.0).abs() < 1e-8,
                "{place}: {}",
                evidence.below().current_wealth()
            );
        }
    }
}

/// The same with shares for an expected noise: the wealth after the last block, by another program from the page.
#[test]
fn the_evidence_with_an_expected_noise_is_that_of_the_formulas() {
    let golden = [
        (0.05 * 2.0_f64.sqrt(), 0.0, 0.601250585, 0.124467405),
        (0.05 * 2.0_f64.sqrt(), 0.03, 0.295918447, 0.187997516),
        (0.005, 0.0, 0.0468210042, 0.00755636886),
        (0.005, 0.03, 0.0235505618, 0.00993180253),
    ];
    for (gain_deviation, theta, above, below) in golden {
        let expected_noise = Some(ExpectedNoise { gain_deviation, experiment: None });
        let policy = JudgingPolicy { expected_noise, ..JudgingPolicy::default() };
        let mut evidence = EffectEvidence::for_policy(&policy, theta);
        for outcome in &BLOCKS {
            evidence.add_outcome(outcome);
        }
        let found = [evidence.above().current_wealth(), evidence.below().current_wealth()];
        assert!((found[0] / above - 1.0).abs() < 1e-8 && (found[1] / below - 1.0).abs() < 1e-8, "{found:?}");
    }
}

/// The least that proves: five blocks.
#[test]
fn nothing_is_proven_before_the_floor() {
    let mut evidence = EffectEvidence::new(0.0);
    let proven = (1..).find(|_| {
        evidence.add_outcome(&outcome(Some(0.0), Some(0.5)));
        evidence.above().current_wealth() >= JudgingPolicy::default().needed_evidence()
    });
    assert_eq!(proven, Some(5));
}

fn value() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![6 => (-1.0..1.0).prop_map(Some), 3 => (0_i32..3).prop_map(|x| Some(f64::from(x) / 4.0)), 1 => Just(None)]
}

proptest! {
    /// Why the evidence is valid: whatever happened before, and whatever a block's outcomes are, the mean of the wealth over
    /// the roles that chance could have given them is the wealth before. A scale that depends on the candidate breaks it.
    #[test]
    fn every_bet_is_fair(past in prop::collection::vec((value(), value()), 0..8), one in value(), other in value()) {
        let mut before = EffectEvidence::new(0.0);
        for (candidate, baseline) in past {
            before.add_outcome(&outcome(candidate, baseline));
        }
        let (mut above, mut below) = (0.0, 0.0);
        for (candidate, baseline) in [(one, other), (other, one)] {
            let mut after = before.clone();
            after.add_outcome(&outcome(candidate, baseline));
            above += after.above().current_wealth() / 2.0;
            below += after.below().current_wealth() / 2.0;
        }
        prop_assert!((above / before.above().current_wealth() - 1.0).abs() < 1e-9);
        prop_assert!((below / before.below().current_wealth() - 1.0).abs() < 1e-9);
    }

    /// A mean, and a share of slow runs, at equality: whatever the two costs of a block are, by which of them was the candidate's the mean of the wealth
    /// is the wealth before. Beyond equality no bet gains in the mean.
    #[test]
    fn every_bet_on_a_mean_is_fair(
        past in prop::collection::vec((value(), value()), 0..8), one in value(), other in value(), is_tail: bool, theta in 0.0..0.5,
    ) {
        let question = JudgingPolicy { slow: 1.2, ..JudgingPolicy::default() }.question_about(if is_tail { QuestionKind::Tail } else { QuestionKind::Mean });
        for theta in [0.0, theta] {
            let mut before = EffectEvidence::for_question(&question, theta);
            let known = |candidate, baseline| BlockOutcome { candidate, baseline, usual: Some(0.0) };
            for (candidate, baseline) in &past {
                before.add_outcome(&known(*candidate, *baseline));
            }
            let (mut above, mut below) = (0.0, 0.0);
            for (candidate, baseline) in [(one, other), (other, one)] {
                let mut after = before.clone();
                after.add_outcome(&known(candidate, baseline));
                prop_assert!(after.above().current_wealth() > 0.0 && after.below().current_wealth() > 0.0);
                above += after.above().current_wealth() / 2.0;
                below += after.below().current_wealth() / 2.0;
            }
            prop_assert!(above / before.above().current_wealth() < 1.0 + 1e-9);
            if theta == 0.0 {
                prop_assert!((above / before.above().current_wealth() - 1.0).abs() < 1e-9);
                prop_assert!((below / before.below().current_wealth() - 1.0).abs() < 1e-9);
            }
        }
    }

    /// Exchanging a block's better for worse exchanges the evidence.
    #[test]
    fn better_and_worse_mirror_each_other(blocks in prop::collection::vec((-1.0..1.0_f64, -1.0..1.0_f64), 1..8)) {
        let (mut one, mut mirrored) = (EffectEvidence::new(0.0), EffectEvidence::new(0.0));
        for (candidate, baseline) in blocks {
            one.add_outcome(&outcome(Some(candidate), Some(baseline)));
            mirrored.add_outcome(&outcome(Some(-candidate), Some(-baseline)));
        }
        prop_assert!((one.above().current_wealth() / mirrored.below().current_wealth() - 1.0).abs() < 1e-9);
    }
}

/// A race over blocks in which arm `k` gives `x(k, block)`.
fn race(candidates: usize, blocks: u32, x: impl Fn(usize, u32) -> Option<f64>) -> PlacementRace {
    let mut race = PlacementRace::new(candidates, &JudgingPolicy::default());
    for number in 0..blocks {
        if race.is_decided() {
            break;
        }
        let runs = race.next_block(3).into_iter().map(|arm| BlockRun { arm, x: x(arm, number) }).collect();
        race.add_block(&RunBlock { runs });
    }
    race
}

/// A little noise that is the same in every run of the tests.
fn wobble(arm: usize, block: u32) -> f64 {
    let mut random = corewise_machine::random::RandomGenerator::new(u64::from(block) * 64 + arm as u64);
    0.004 * random.next_normal()
}

fn state(race: &PlacementRace, arm: usize) -> ArmState {
    race.current_standing().arms[arm].state
}

#[test]
fn equal_outcomes_are_no_material_difference() {
    let race = race(3, 100, |_, _| Some(1.0));
    assert!(race.is_decided());
    let standing = race.current_standing();
    assert_eq!(standing.verdict, Verdict::NoMaterialDifference);
    assert!(standing.blocks <= 8, "{}", standing.blocks);
    assert_eq!(standing.arms[1].effect.unwrap().estimate, 0.0);
}

#[test]
fn an_effect_below_the_margin_is_said_to_be_real() {
    let gain = |block| if block >= 8 { 0.02 } else { [0.012, 0.042][block as usize % 2] };
    let race = race(1, 100, |arm, block| Some(if arm == 1 { -gain(block) } else { 0.0 }));
    let standing = race.current_standing();
    assert_eq!(standing.verdict, Verdict::RealButBelowMargin { arm: 1 });
    let effect = standing.arms[1].effect.unwrap();
    assert!(effect.low.unwrap() > 0.0 && (effect.estimate - 0.02).abs() < 0.005, "{effect:?}");
}

#[test]
fn tenfold_effects_are_found_and_measured() {
    for (gain, expected) in [(10.0_f64.ln(), true), (2.0_f64.ln(), true), (-(10.0_f64.ln()), false)] {
        let race = race(1, 100, |arm, block| Some(wobble(arm, block) - if arm == 1 { gain } else { 0.0 }));
        assert!(race.is_decided());
        let standing = race.current_standing();
        assert_eq!(standing.verdict == Verdict::Wins { arm: 1 }, expected);
        let effect = standing.arms[1].effect.unwrap();
        assert!((effect.estimate - gain).abs() < 0.02, "{effect:?}");
        assert!(effect.low.is_none_or(|low| low < gain) && effect.high.is_none_or(|high| gain < high), "{effect:?}");
        assert!(!expected || effect.low.unwrap() > 0.9 * gain, "{effect:?}");
        assert!(standing.runs <= 16);
    }
}

/// One run in a hundredfold outlier, on either side, neither makes nor takes a winner.
#[test]
fn one_huge_outlier_decides_nothing() {
    for struck in [0, 1] {
        let outlier = |arm, block| if arm == struck && block == 2 { 5.0 } else { 0.0 };
        let better = race(1, 40, |arm, block| {
            Some(wobble(arm, block) + outlier(arm, block) - if arm == 1 { 0.08 } else { 0.0 })
        });
        assert_eq!(better.current_standing().verdict, Verdict::Wins { arm: 1 }, "arm {struck} struck");
        assert!(better.current_standing().runs <= 40);
        let equal = race(1, 40, |arm, block| Some(wobble(arm, block) + outlier(arm, block)));
        assert_eq!(equal.current_standing().verdict, Verdict::NoMaterialDifference, "arm {struck} struck");
        assert!(equal.current_standing().checks.outliers >= 1);
    }
}

#[test]
fn a_candidate_that_never_worked_is_out_and_one_that_fails_now_and_then_is_not() {
    let fails = |arm, block| arm == 1 && block < 2 || arm == 2 && block == 1 || arm == 3 && block % 4 == 1;
    let race = race(3, 8, |arm, block| (!fails(arm, block)).then(|| wobble(arm, block) - [0.0, 0.3, 0.1, 0.1][arm]));
    assert_eq!(state(&race, 1), ArmState::Out { block: 2, why: OutReason::Failures });
    let standing = race.current_standing();
    assert_eq!(standing.arms[1].verdict, Some(ArmVerdict::Failed));
    assert!(standing.arms[2..].iter().all(|arm| arm.failures > 0 && arm.verdict != Some(ArmVerdict::Failed)));
}

/// A candidate that is half as long and fails every other time: proven after five such blocks, if the baseline never fails.
#[test]
fn a_candidate_that_is_proven_to_fail_more_often_is_out() {
    let race = race(1, 30, |arm, block| (arm == 0 || block % 2 == 0).then(|| wobble(arm, block) - 0.7 * arm as f64));
    assert_eq!(state(&race, 1), ArmState::Out { block: 10, why: OutReason::Failures });
    let both = self::race(1, 30, |_, block| (block % 16 != 1).then_some(0.0));
    assert!(!matches!(state(&both, 1), ArmState::Out { why: OutReason::Failures, .. }), "the baseline fails as often");
}

/// One failure more than the baseline's takes a win away, until the baseline has failed as often.
#[test]
fn a_winner_fails_no_more_often_than_the_baseline() {
    let verdicts = |baseline_fails: bool| {
        let fails = |arm, block| arm == 1 && block == 3 || baseline_fails && arm == 0 && block == 14;
        let race = race(1, 20, |arm, block| (!fails(arm, block)).then(|| wobble(arm, block) - 0.1 * arm as f64));
        let standing = race.current_standing();
        (standing.verdict, standing.arms[1].verdict.unwrap(), standing.arms[1].paired_failures)
    };
    assert_eq!(verdicts(false), (Verdict::Undecided { more_runs: None }, ArmVerdict::FailsMore, [1, 0]));
    assert_eq!(verdicts(true), (Verdict::Wins { arm: 1 }, ArmVerdict::Wins, [1, 1]));
}

/// 2 % at 2 % of noise is soon proven to be better; that it is less than 3 % takes many more runs.
#[test]
fn a_proven_effect_is_better_while_it_is_open_if_it_matters() {
    let standings: Vec<ExperimentStanding> = (0..20).map(small_effect).collect();
    let is_undecided = |standing: &&ExperimentStanding| matches!(standing.verdict, Verdict::Undecided { .. });
    assert!(standings.iter().filter(is_undecided).count() <= 1);
    let better: Vec<&ExperimentStanding> =
        standings.iter().filter(|standing| matches!(standing.verdict, Verdict::Better { .. })).collect();
    assert!(better.len() >= 5, "{}", better.len());
    for standing in better {
        let arm = &standing.arms[1];
        assert_eq!((standing.blocks, arm.verdict), (60, Some(ArmVerdict::Better)), "it ends no experiment");
        assert!(arm.effect.unwrap().low.unwrap() >= 0.0 && arm.effect.unwrap().estimate < 1.03_f64.ln(), "{arm:?}");
        assert!(standing.verdict.more_runs().is_none_or(|more| more > 0) && arm.e_not_better_by_margin < 20.0);
    }
}

/// 60 blocks of a candidate that is 2 % better, with 2 % of noise.
fn small_effect(seed: u64) -> ExperimentStanding {
    let mut random = RandomGenerator::new(!seed);
    let mut race = PlacementRace::new(1, &JudgingPolicy::default());
    while !race.is_decided() && race.blocks < 60 {
        let mut x = |arm: usize| 0.02 * random.next_normal() - 0.02 * arm as f64;
        let runs = race.next_block(seed).into_iter().map(|arm| BlockRun { arm, x: Some(x(arm)) }).collect();
        race.add_block(&RunBlock { runs });
    }
    race.current_standing()
}

#[test]
fn a_candidate_that_always_fails_leaves_nothing_proven() {
    let race = race(1, 100, |arm, _| (arm == 0).then_some(0.0));
    assert!(race.is_decided());
    assert_eq!(race.current_standing().verdict, Verdict::Undecided { more_runs: None });
    assert_eq!(race.current_standing().arms[1].effect, None);
}

#[test]
fn a_baseline_that_fails_three_times_is_a_doubt() {
    let race = race(1, 100, |arm, block| (arm == 1 || block >= 3).then_some(0.0));
    assert!(race.is_decided());
    assert_eq!(
        race.current_standing().verdict,
        Verdict::Unsound { why: vec![ExperimentDoubt::BaselineFails { failures: 3 }] }
    );
}

#[test]
fn two_that_always_fail_are_not_called_equal() {
    let standing = race(1, 100, |_, _| None).current_standing();
    assert_eq!(standing.arms[1].effect, None);
}

/// The typical run is better, the mean is not, and more runs are slow: one in five takes three times as long.
fn faster_with_slow_runs(what: QuestionKind) -> PlacementRace {
    let policy = JudgingPolicy { what, least_blocks: 100, most_runs: Some(400), ..JudgingPolicy::default() };
    let mut race = PlacementRace::new(1, &policy);
    while !race.is_decided() {
        let block = race.blocks;
        let gain = if block % 5 == 4 { -1.1 } else { 0.06 };
        let x = |arm: usize| wobble(arm, block) - gain * arm as f64;
        race.add_block(&RunBlock {
            runs: race.next_block(1).into_iter().map(|arm| BlockRun { arm, x: Some(x(arm)) }).collect(),
        });
    }
    race
}

#[test]
fn each_question_has_its_own_answer_and_a_winner_its_conflicts() {
    let typical = faster_with_slow_runs(QuestionKind::Typical).current_standing();
    assert_eq!(typical.verdict, Verdict::Wins { arm: 1 });
    let policy = JudgingPolicy::default();
    let conflicts: Vec<QuestionKind> = typical.arms[1].conflicting_answers(&policy).map(|answer| answer.what).collect();
    assert!(conflicts.contains(&QuestionKind::Tail), "{:?}", typical.arms[1].answers);
    assert!(typical.arms[1].effect.unwrap().low.unwrap() > 0.0);

    let slow = faster_with_slow_runs(QuestionKind::Tail).current_standing();
    let arm = &slow.arms[1];
    assert_eq!(arm.verdict, Some(ArmVerdict::Worse), "{slow:?}");
    assert!((arm.effect.unwrap().estimate + 0.2).abs() < 0.03, "{:?}", arm.effect);
    let answer = |what| arm.answers.iter().find(|answer| answer.what == what).unwrap();
    assert_eq!(answer(QuestionKind::Tail).verdict, AnswerVerdict::Worse);
    assert_eq!(answer(QuestionKind::Tail).effect, arm.effect);
    let [candidate, baseline] = answer(QuestionKind::Tail).costs.unwrap();
    assert!((candidate - 0.2).abs() < 0.03 && baseline == 0.0, "{candidate} {baseline}");

    let mean = faster_with_slow_runs(QuestionKind::Mean).current_standing();
    assert_eq!(mean.arms[1].verdict, Some(ArmVerdict::Worse), "{mean:?}");
    let [candidate, baseline] = mean.arms[1].answers[1].costs.unwrap();
    assert!(
        (candidate - (0.8 * 0.94 + 0.2 * 3.0)).abs() < 0.05 && (baseline - 1.0).abs() < 0.02,
        "{candidate} {baseline}"
    );
}

/// A winner of few blocks in one of which its run was slow: that is chance, and no contradiction.
#[test]
fn one_slow_run_contradicts_no_winner() {
    let race = race(1, 40, |arm, block| {
        Some(
            wobble(arm, block)
                - if arm == 0 {
                    0.0
                } else if block == 4 {
                    -1.1
                } else {
                    0.2
                },
        )
    });
    let standing = race.current_standing();
    assert_eq!(standing.verdict, Verdict::Wins { arm: 1 }, "{standing:?}");
    let tail = standing.arms[1].answers.iter().find(|answer| answer.what == QuestionKind::Tail).unwrap();
    assert!(tail.effect.unwrap().estimate < -0.03 && tail.verdict == AnswerVerdict::Open, "{tail:?}");
    assert!(standing.contradicted_by.is_empty(), "{:?}", standing.contradicted_by);
}

/// One run in five of the OS default is slow, and none of the candidate's.
#[test]
fn who_avoids_slow_runs_wins_where_these_are_the_question() {
    let verdict = |what| {
        let policy = JudgingPolicy { what, most_runs: Some(400), ..JudgingPolicy::default() };
        let mut race = PlacementRace::new(1, &policy);
        while !race.is_decided() {
            let block = race.blocks;
            let is_slow = block % 5 == 2;
            let x = |arm: usize| wobble(arm, block) + if arm == 0 && is_slow { 0.9 } else { 0.0 };
            race.add_block(&RunBlock {
                runs: race.next_block(1).into_iter().map(|arm| BlockRun { arm, x: Some(x(arm)) }).collect(),
            });
        }
        race.current_standing().verdict
    };
    assert_eq!(verdict(QuestionKind::Typical), Verdict::NoMaterialDifference);
    assert_eq!(
        [QuestionKind::Mean, QuestionKind::Tail].map(verdict),
        [Verdict::Wins { arm: 1 }, Verdict::Wins { arm: 1 }]
    );
}

/// One block that says something of a mean says nothing of its error: nobody is given up for it.
#[test]
fn a_mean_gives_nobody_up_for_a_single_block() {
    let policy = JudgingPolicy { what: QuestionKind::Mean, ..JudgingPolicy::default() };
    let mut race = PlacementRace::new(3, &policy);
    let mut random = RandomGenerator::new(5);
    for block in 1..=7 {
        let mut x = |arm: usize| if random.next_unit() < 0.2 { 1.1 } else { 0.0 } - if arm == 1 { 0.3 } else { 0.0 };
        let runs = race.next_block(5).into_iter().map(|arm| BlockRun { arm, x: Some(x(arm)) }).collect();
        race.add_block(&RunBlock { runs });
        assert_eq!(race.next_members().len(), 4, "after block {block}");
    }
}

#[test]
fn failed_runs_are_slow_and_cost_the_most() {
    let question = |what| JudgingPolicy { cap: 4.0, ..JudgingPolicy::default() }.question_about(what);
    let outcome = BlockOutcome { candidate: None, baseline: Some(2.0_f64.ln()), usual: Some(0.0) };
    assert_eq!(question(QuestionKind::Tail).block_costs(&outcome), Some([1.0, 1.0]));
    let [failed, double] = question(QuestionKind::Mean).block_costs(&outcome).unwrap();
    assert!(failed == 4.0 && (double - 2.0).abs() < 1e-12);
    assert_eq!(question(QuestionKind::Mean).block_costs(&BlockOutcome { usual: None, ..outcome }), None);
}

/// A candidate that slows down whoever runs next looks better than it is; that is found.
#[test]
fn carry_over_is_a_doubt() {
    let effects = ProgramEffects { carry_over: 0.08, ..ProgramEffects::from_gains(&[0.0]) };
    let mut trials = SimulatedTrials::new(&effects, &RunNoise::Quiet, 1);
    let mut race = PlacementRace::new(1, &JudgingPolicy::default());
    for _ in 0..40 {
        let arms = race.next_block(1);
        race.add_block(&trials.make_block(&arms));
    }
    let standing = race.current_standing();
    let CarryOverCheck::Found { strongest: found } = &standing.checks.carry_over else { panic!("{standing:?}") };
    assert_eq!((found.of_arm, found.after_arm), (None, Some(1)));
    assert!((found.slower - 0.08).abs() < 0.01, "{found:?}");
    assert!(
        matches!(&standing.verdict, Verdict::Unsound { why } if matches!(why[..], [ExperimentDoubt::CarryOver(_)]))
    );
}

/// Of proven winners within the margin of the best, the first is the least restrictive.
/// A mean over experiments needs blocks of all of them, whatever each could prove with fewer.
#[test]
fn an_experiment_whose_blocks_are_needed_goes_on() {
    let made = |least_blocks: u32, gain: f64| {
        let policy = JudgingPolicy { least_blocks, ..JudgingPolicy::default() };
        let mut race = PlacementRace::new(1, &policy);
        while !race.is_decided() {
            let runs = race.next_block(1).into_iter().map(|arm| BlockRun { arm, x: Some(-gain * arm as f64) });
            race.add_block(&RunBlock { runs: runs.collect() });
        }
        race
    };
    assert_eq!([made(0, 0.3).blocks, made(0, 0.0).blocks], [5, 5]);
    assert_eq!([made(9, 0.3).blocks, made(9, 0.0).blocks], [9, 9]);
    let mean_has_ends = |blocks: u32, arms: usize| {
        mean_effect(&[&made(blocks, 0.0)], 1, 0.05 / arms as f64).unwrap().effect.low.is_some()
    };
    assert!(mean_has_ends(6, 1) && !mean_has_ends(5, 1));
    for arms in 1..16 {
        assert!(mean_has_ends(JudgingPolicy::default().blocks_of_a_mean(arms), arms), "{arms}");
    }
    assert!(JudgingPolicy::default().blocks_of_a_mean(11) > JudgingPolicy::default().blocks_of_a_mean(4));
}

#[test]
fn ties_go_to_the_first() {
    let gain = [0.0, 0.0, 0.10, 0.11, 0.0];
    let race = race(4, 100, |arm, block| Some(wobble(arm, block) - gain[arm]));
    assert!(race.is_decided());
    assert_eq!(race.current_standing().verdict, Verdict::Wins { arm: 2 });
    let gain = [0.0, 0.05, 0.0, 0.11, 0.0];
    let race = self::race(4, 100, |arm, block| Some(wobble(arm, block) - gain[arm]));
    assert_eq!(race.current_standing().verdict, Verdict::Wins { arm: 3 });
}

#[test]
fn the_greedy_rule_waits_and_leaves_the_last_to_the_rigorous_one() {
    let gain = [0.0, -0.5, -0.2, -0.1];
    let race = race(3, 1, |arm, block| Some(wobble(arm, block) - gain[arm]));
    assert!((1..=3).all(|arm| state(&race, arm) == ArmState::Alive));
    let race = self::race(3, 2, |arm, block| Some(wobble(arm, block) - gain[arm]));
    assert!(matches!(state(&race, 1), ArmState::Out { block: 2, why: OutReason::BehindLeader }));
    let race = self::race(3, 100, |arm, block| Some(wobble(arm, block) - gain[arm]));
    assert!(matches!(state(&race, 3), ArmState::Out { why: OutReason::NotBetterByMargin, .. }));
    assert_eq!(race.current_standing().verdict, Verdict::NoMaterialDifference);
    assert!(race.next_block(3).is_empty());
}

/// The closed test: with nine candidates, an arm needs up to nine times the evidence.
#[test]
fn claims_are_corrected_for_the_number_of_candidates() {
    let race = race(9, 5, |arm, block| Some(wobble(arm, block) - if arm == 5 { 0.5 } else { 0.0 }));
    let arm = &race.current_standing().arms[5];
    assert!(arm.e_better >= 20.0 && arm.e_better_of_all < arm.e_better / 5.0, "{arm:?}");
}

/// The order is a function of seed, number of blocks and who is alive; every block has a fresh one, with the baseline once.
#[test]
fn the_order_of_a_block_can_be_drawn_again() {
    for candidates in [1, 2, 3, 12] {
        let race = PlacementRace::new(candidates, &JudgingPolicy::default());
        let block = race.next_block(7);
        assert_eq!(block, PlacementRace::new(candidates, &JudgingPolicy::default()).next_block(7));
        assert_eq!(block.iter().filter(|arm| **arm == 0).count(), 1);
        assert_eq!(block.len(), candidates + 1);
    }
    let mut race = PlacementRace::new(12, &JudgingPolicy::default());
    let first = race.next_block(7);
    assert_eq!(first, [2, 4, 3, 12, 1, 10, 5, 0, 6, 8, 7, 9, 11]);
    race.add_block(&RunBlock { runs: first.iter().map(|&arm| BlockRun { arm, x: Some(wobble(arm, 0)) }).collect() });
    assert_ne!(race.next_block(7), first);
    assert_ne!(race.next_block(8), race.next_block(7));
}

#[test]
fn the_first_place_is_equally_likely_for_all() {
    let race = PlacementRace::new(1, &JudgingPolicy::default());
    let first = (0..10_000).filter(|&seed| race.next_block(seed)[0] == 1).count();
    assert!(first.abs_diff(5000) < 200, "{first}");
}

/// A block that ended early is counted, its failures too, but tests nothing; the next one has a fresh order.
#[test]
fn a_block_that_ended_early_takes_no_part() {
    let mut with = race(3, 1, |arm, block| Some(wobble(arm, block)));
    let (before, next) = (with.current_standing(), with.next_block(3));
    with.add_block(&RunBlock { runs: vec![BlockRun { arm: 1, x: Some(-9.0) }, BlockRun { arm: 2, x: None }] });
    let after = with.current_standing();
    assert_eq!((after.blocks, after.runs), (before.blocks + 1, before.runs + 2));
    assert_eq!(after.arms[1].e_better, before.arms[1].e_better);
    assert_eq!(after.arms[2].failures, 1);
    assert_eq!(after.arms[1].effect, before.arms[1].effect);
    assert_ne!(with.next_block(3), next);
}

/// As stored experiments have it, whose version took candidates out later.
#[test]
fn a_run_of_who_is_out_does_not_spoil_a_block() {
    let gain = [0.0, 0.0, -0.5];
    let mut race = race(2, 2, |arm, block| Some(wobble(arm, block) - gain[arm]));
    let before = race.current_standing();
    assert!(matches!(before.arms[2].state, ArmState::Out { .. }), "{before:?}");
    race.add_block(&RunBlock {
        runs: (0..3).map(|arm| BlockRun { arm, x: Some(wobble(arm, 2) - gain[arm]) }).collect(),
    });
    let after = race.current_standing();
    assert_ne!(after.arms[1].e_better, before.arms[1].e_better);
    assert_eq!((after.arms[2].e_better, after.arms[2].runs), (before.arms[2].e_better, 3));
}

#[test]
fn the_most_runs_are_never_exceeded() {
    let policy = JudgingPolicy { most_runs: Some(27), ..JudgingPolicy::default() };
    let mut race = PlacementRace::new(3, &policy);
    let mut trials = SimulatedTrials::new(&ProgramEffects::from_gains(&[0.01; 3]), &RunNoise::Typical, 5);
    while !race.is_decided() {
        let arms = race.next_block(5);
        race.add_block(&trials.make_block(&arms));
    }
    let standing = race.current_standing();
    assert!((24..=27).contains(&standing.runs), "{}", standing.runs);
    assert!(matches!(standing.verdict, Verdict::Undecided { .. }), "{:?}", standing.verdict);
}

#[test]
fn values_that_are_not_finite_count_as_failed() {
    let race = race(1, 100, |arm, _| Some(if arm == 1 { f64::NEG_INFINITY } else { 0.0 }));
    assert_eq!(state(&race, 1), ArmState::Out { block: 2, why: OutReason::Failures });
}

#[test]
fn estimates_are_those_of_the_textbook() {
    assert_eq!(hodges_lehmann(&[]), None);
    assert_eq!(hodges_lehmann(&[1.0, 5.0, 2.0]), Some(2.5));
    assert_eq!(hodges_lehmann(&[1.0, 2.0]), Some(1.5));
    assert_eq!(hodges_lehmann(&[1.0, 2.0, 4.0, 100.0]), Some(3.5));
}

/// Early the interval is open; it closes, and holds what it should.
#[test]
fn intervals_open_and_close() {
    let outcomes: Vec<BlockOutcome> =
        (0..30).map(|block| outcome(Some(wobble(1, block) - 0.05), Some(wobble(0, block)))).collect();
    assert_eq!(estimate_effect(&PlacementQuestion::TYPICAL, &[], 0.05), None);
    let early = estimate_effect(&PlacementQuestion::TYPICAL, &outcomes[..4], 0.05).unwrap();
    assert_eq!((early.low, early.high), (None, None));
    let late = estimate_effect(&PlacementQuestion::TYPICAL, &outcomes, 0.05).unwrap();
    let (low, high) = (late.low.unwrap(), late.high.unwrap());
    assert!(low < 0.05 && 0.05 < high && high - low < 0.012, "{late:?}");
    let surer = estimate_effect(&PlacementQuestion::TYPICAL, &outcomes, 0.001).unwrap();
    assert!(surer.low.unwrap() < low && high < surer.high.unwrap());
}

#[test]
fn modes_are_counted() {
    let normal: Vec<f64> = (0..200).map(|block| wobble(0, block)).collect();
    let two: Vec<f64> = (0..200).map(|block| wobble(0, block) + if block % 3 == 0 { 0.06 } else { 0.0 }).collect();
    assert_eq!((count_modes(&normal), count_modes(&two), count_modes(&[1.0; 50]), count_modes(&[])), (1, 2, 1, 1));
}
