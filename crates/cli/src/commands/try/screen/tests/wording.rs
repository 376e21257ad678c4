//! Sentences in which an estimate must not read as a proof, nor a bound as an estimate.

use corewise_statistics::experiment::{BaselineEffect, QuestionKind, Verdict};

use super::*;

/// An experiment of one candidate in which `change` has changed the value of each run, by block and arm.
fn changed(gain: f64, blocks: u32, change: impl Fn(u32, usize, f64) -> f64) -> MadeExperiment {
    let policy = JudgingPolicy { least_blocks: blocks, ..JudgingPolicy::default() };
    let MadeExperiment { experiment, mut trials, .. } =
        made_by(policy, &ProgramEffects::from_gains(&[gain]), &RunNoise::Quiet, 42, blocks);
    for trial in &mut trials {
        if let TrialOutcome::Value(value) = &mut trial.outcome {
            *value = change(trial.block, trial.arm, *value);
        }
    }
    let standing = experiment_standing(&experiment, &trials);
    MadeExperiment { experiment, trials, standing }
}

/// The screen in one line.
fn text_of(made: &MadeExperiment) -> String {
    made.at(200).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn assert_says(made: &MadeExperiment, sentence: &str) {
    let text = text_of(made);
    assert!(text.contains(sentence), "{sentence}\n{text}");
}

#[test]
fn a_winner_comes_with_its_totals_and_its_pairs() {
    let made =
        changed(0.0, 20, |block, arm, _| if arm == 0 { 1.1 } else { 1.0 + 0.2 * f64::from(u32::from(block == 3)) });
    assert_says(
        &made,
        "In 20 blocks: 20.2 s against 22.0 s as the OS chose; faster in 19 of 20 pairs. None of 20 was slow, so up to 14 of 100 may be.",
    );
    let mut rate = changed(0.0, 10, |_, arm, _| if arm == 0 { 100.0 } else { 110.0 });
    rate.experiment.workload.metric =
        TrialMetric { name: "fps".into(), pattern: Some("x".into()), higher_is_better: true, reading: None };
    rate.trials[3].outcome = TrialOutcome::Failed { why: "exit status 1".into(), output: String::new() };
    rate.standing = experiment_standing(&rate.experiment, &rate.trials);
    let text = text_of(&rate);
    assert!(text.contains("Mean of 9 blocks with both: 110 against 100 as the OS chose; better in"), "{text}");
    let json = serde_json::to_value(made.standing).unwrap();
    assert_eq!(json["arms"][1]["paired"]["better"], 19);
}

/// One run in ten takes twice as long: the mean is not that of the typical run.
#[test]
fn a_total_that_differs_from_the_typical_run_stands_beside_it() {
    let slow = |every: u32| {
        move |block: u32, arm: usize, value: f64| {
            value * if arm == 1 && block.is_multiple_of(every) { 2.0 } else { 1.0 }
        }
    };
    let mostly_worse = changed(0.06, 60, slow(10));
    let text = text_of(&mostly_worse);
    assert!(text.contains("in its typical run, about") && text.contains(", all runs together -3"), "{text}");
    assert!(!text.starts_with("Pin it."), "{text}");
    let rare = changed(0.3, 40, slow(40));
    assert!(text_of(&rare).starts_with("Pin it.") && !text_of(&rare).contains("together"), "{}", text_of(&rare));
}

#[test]
fn a_bound_of_zero_is_no_number() {
    let mut made = made(&[0.2], &RunNoise::Quiet, 42, 60);
    made.standing.open_points.clear();
    for low in [Some(0.000_2), Some(0.0), None] {
        made.standing.arms[1].effect = Some(BaselineEffect { estimate: 0.197, low, high: None });
        let text = text_of(&made);
        assert!(text.starts_with("Pin it if any gain matters. all - core:0 is faster than the OS default"), "{text}");
        assert!(text.contains("by how much is open (about 21.8 %); proven after"), "{text}");
    }
    made.standing.arms[1].effect = Some(BaselineEffect { estimate: 0.197, low: Some(0.004), high: None });
    assert_says(&made, "Pin it if 0.4 % matters. all - core:0 is at least 0.4 % faster than the OS default");
}

/// A ratio and its inverse are two numbers: 36 % longer is -26.5 %, in the sentence as in the table.
#[test]
fn what_is_slower_has_the_numbers_of_the_table_and_says_which_is_proven() {
    let mut slower = made(&[-0.31], &RunNoise::Quiet, 42, 60);
    assert_eq!(slower.standing.verdict, Verdict::NoMaterialDifference);
    slower.standing.arms[1].effect = Some(BaselineEffect { estimate: -0.31, low: None, high: Some(-0.25) });
    assert_says(&slower, "all - core:0 is slower: -22.1 % or worse (95 %), about -26.7 % (");
    slower.standing.arms[1].effect = Some(BaselineEffect { estimate: -0.31, low: None, high: Some(0.02) });
    assert_says(
        &slower,
        "looks slower, about -26.7 %; proven is only that it is not 3 % faster in its typical run: at most +2.0 % (95 %)",
    );
}

#[test]
fn an_effect_below_the_margin_has_its_bounds_and_its_estimate_apart() {
    let mut made = made(&[0.2], &RunNoise::Quiet, 42, 60);
    made.standing.verdict = Verdict::RealButBelowMargin { arm: 1 };
    made.standing.arms[1].effect = Some(BaselineEffect { estimate: 0.019, low: Some(0.012), high: Some(0.027) });
    assert_says(
        &made,
        "is faster by at least 1.2 % and at most 2.7 % (about 1.9 %): proven, but less than the margin of 3 %",
    );
}

#[test]
fn two_medians_that_differ_do_not_look_equal() {
    let two = changed(0.0, 8, |_, arm, _| if arm == 0 { 1.305 } else { 1.261 });
    assert_says(&two, "OS default 8 1.30 s");
    assert_says(&two, "8 1.26 s");
    let mut close = changed(0.0, 8, |_, arm, _| if arm == 0 { 1.305 } else { 1.301 });
    assert_says(&close, "OS default 8 1.3 s");
    close.experiment.policy.margin = 0.005;
    assert_says(&close, "OS default 8 1.305 s");
}

#[test]
fn a_mean_names_its_cap_and_runs_in_a_row_their_number() {
    let mut made = made(&[0.2], &RunNoise::Quiet, 42, 60);
    made.experiment.policy.what = QuestionKind::Mean;
    made.experiment.policy.cap = 2.5;
    assert_says(&made, "in the mean (each run capped at 2.5x the OS default's median), about");
    made.experiment.policy.what = QuestionKind::Typical;
    made.trials.iter_mut().for_each(|trial| trial.repeats = 10);
    assert_says(&made, "faster than the OS default in its typical mean of 10 runs, about");
    assert_says(&made, "Mean of 5 blocks: ");
}

/// The typical runs are equal, three of ten take 0.7 of the time.
#[test]
fn a_gain_in_a_part_of_the_runs_is_a_line() {
    let fast = |block: u32, arm: usize, value: f64| value * if arm == 1 && block % 10 > 6 { 0.7 } else { 1.0 };
    let early = changed(0.0, 12, fast);
    assert_says(&early, "all - core:0 was faster by about 4");
    assert_says(
        &early,
        "in about 25 of 100 runs, equal in the others (fast: 3 of 12 runs, the OS default's 0; p 0.25 at one look)",
    );
    assert_says(&changed(0.0, 60, fast), "(fast: 18 of 60 runs, the OS default's 0; p < 0.001 at one look)");
    let slow = |block: u32, arm: usize, value: f64| value * if arm == 1 && block % 10 == 9 { 2.0 } else { 1.0 };
    assert_says(&changed(0.05, 60, slow), "in about 10 of 100 runs, faster by about 4.9 % in the others");
}

#[test]
fn the_legend_says_for_which_claims_the_error_rate_holds() {
    let text = markdown::write_story(&compose_story(made(&[0.2], &RunNoise::Quiet, 42, 60).shown(), Vec::new()), None);
    assert!(text.contains("↓ proven worse (each by itself), with an estimate of the margin or more"), "{text}");
}

#[test]
fn what_always_fails_is_not_kept() {
    let mut made = made(&[0.0], &RunNoise::Quiet, 42, 12);
    for trial in made.trials.iter_mut().filter(|trial| trial.arm == 0) {
        trial.outcome = TrialOutcome::Failed { why: "exit status 1".into(), output: String::new() };
    }
    made.standing = experiment_standing(&made.experiment, &made.trials);
    let text = text_of(&made);
    assert!(text.starts_with("Nothing can be recommended.") && text.contains("nothing to compare with."), "{text}");
    assert!(!text.contains("Leave it") && !text.contains("Keep "), "{text}");
}

#[test]
fn a_cause_is_a_possibility_and_no_cause_if_others_used_the_machine() {
    let mut rising = changed(0.0, 30, |block, _, value| value * (1.0 + 0.02 * f64::from(block)));
    assert_says(&rising, "one run may change what the next one does, or the machine has changed meanwhile");
    let mut built = changed(0.0, 30, |_, _, value| value);
    built.trials.iter_mut().for_each(|trial| trial.observed.wall_s = 1.0);
    let mut first = Trial { block: 0, ..built.trials[0].clone() };
    first.observed.wall_s = 20.0;
    built.trials.insert(0, first);
    assert_says(&built, "It may have left them nothing to do, as a build does; if so, let the command undo that");
    for made in [&mut rising, &mut built] {
        made.trials.iter_mut().for_each(|trial| trial.observed.others_busy = Some(0.6));
        let text = text_of(made);
        assert!(text.contains("other programs used 60 %") && !text.contains("one run may"), "{text}");
        assert!(!text.contains("nothing to do"), "{text}");
    }
}
