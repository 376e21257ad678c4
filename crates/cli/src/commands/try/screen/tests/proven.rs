//! Sentences that say what is proven, and what is not: better without its size, guards, and failures.

use super::*;

/// The answer and the notes of a changed experiment, without line breaks.
fn screen_of(mut made: MadeExperiment, change: impl FnOnce(&mut Experiment, &mut Vec<Trial>)) -> String {
    change(&mut made.experiment, &mut made.trials);
    made.standing = experiment_standing(&made.experiment, &made.trials);
    made.at(100).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A candidate that is much better, in 45 blocks.
fn long_experiment() -> MadeExperiment {
    let policy = JudgingPolicy { least_blocks: 45, ..JudgingPolicy::default() };
    made_by(policy, &ProgramEffects::from_gains(&[0.2]), &RunNoise::Quiet, 42, 45)
}

#[test]
fn an_effect_of_open_size_is_better_and_goes_on() {
    let mut random = corewise_machine::random::RandomGenerator::new(1);
    let noise = RunNoise::Trace((0..10_007).map(|_| 0.02 * random.next_normal()).collect());
    let is_better = |made: &MadeExperiment| matches!(made.standing.verdict, Verdict::Better { .. });
    let found = (0..40).map(|seed| made(&[0.02], &noise, seed, 60)).find(is_better).unwrap();
    let screen = screen_of(found, |_, _| ());
    assert!(screen.starts_with("Better: all - core:0 is proven "), "{screen}");
    let said = " faster than the OS default in its typical run, about ";
    let open = ". Whether it reaches 3 % is open after 120 runs (error rate 5 %).";
    assert!(screen.contains(said) && screen.contains(open), "{screen}");
    assert!(screen.contains("corewise try --resume=3") && !screen.contains("corewise run"), "{screen}");
    assert!(screen.contains("better; 3 % is open"), "{screen}");
}

#[test]
fn a_guard_says_which_of_its_questions_are_proven() {
    let guarded = |harmed: u32| {
        screen_of(long_experiment(), |experiment, trials| {
            let pattern = Some("x".into());
            experiment.workload.guards =
                vec![TrialMetric { name: "p99".into(), pattern, higher_is_better: false, reading: None }];
            for trial in trials {
                let is_harmed = trial.arm == 1 && trial.block % 10 < harmed;
                trial.guards = vec![Some(if is_harmed { 3.0 } else { 1.0 })];
            }
        })
    };
    let passes = guarded(0);
    assert!(passes.starts_with("Pin it."), "{passes}");
    let said = "not 10 % worse: typical run and slow runs proven, mean 0.0 %";
    assert!(passes.contains(said), "{passes}");
    let harmed = guarded(1);
    assert!(harmed.starts_with("Not decided after 90 runs: all - core:0 is at least "), "{harmed}");
    assert!(harmed.contains(", but the mean of p99 looks ") && harmed.contains("looks worse: mean -"), "{harmed}");
    let worse = guarded(5);
    assert!(worse.contains("is better, but has slow runs in p99: "), "{worse}");
    assert!(worse.contains("more than 10 % worse: ") && worse.contains("a guard is worse"), "{worse}");
}

#[test]
fn a_winner_says_which_failures_its_runs_exclude() {
    let fails = |arms: &[usize]| {
        screen_of(long_experiment(), |_, trials| {
            for trial in trials.iter_mut().filter(|trial| trial.block == 3 && arms.contains(&trial.arm)) {
                trial.outcome = TrialOutcome::Failed { why: "exit status 1".into(), output: String::new() };
            }
        })
    };
    let never = fails(&[]);
    assert!(never.contains("Checks: no failure in 45 runs: a rate above 6.4 % is excluded"), "{never}");
    let both = fails(&[0, 1]);
    assert!(
        both.starts_with("Pin it.") && both.contains("the winner failed in 1 of 45 runs, the OS default in 1"),
        "{both}"
    );
    let more = fails(&[1]);
    assert!(more.starts_with("Not decided after 90 runs: all - core:0 is at least "), "{more}");
    assert!(more.contains(", but it failed in 1 of 45 runs, the OS default in none. Until that"), "{more}");
    assert!(more.contains("better, but fails more"), "{more}");
}
