//! Winners so far, and winners that were tried again.

use corewise_model::trial::{ConfirmationStretch, FirstWin, StretchLength};
use corewise_statistics::experiment::CarryOverCheck;
use corewise_statistics::simulate::CarryOverVictims;

use super::*;

/// The experiment with its runs spread over this many seconds.
fn spread(mut made: MadeExperiment, seconds: i64) -> MadeExperiment {
    let step_ms = 1_000 * seconds / made.trials.len() as i64;
    for (trial, number) in made.trials.iter_mut().zip(1..) {
        trial.started_unix_ms = step_ms * number;
    }
    judge(made)
}

fn judge(made: MadeExperiment) -> MadeExperiment {
    let standing = experiment_standing(&made.experiment, &made.trials);
    MadeExperiment { standing, ..made }
}

/// A confirmation of a candidate with this gain.
fn confirmation(gain: f64) -> MadeExperiment {
    let mut made = made(&[gain], &RunNoise::Typical, 3, 60);
    made.experiment.stretch = Some(ConfirmationStretch {
        of: Some(2),
        won: Some(FirstWin { runs: 10, span_s: 12.4, after_s: 60.0 }),
        ..ConfirmationStretch::of_runs(StretchLength::Short, 1.25)
    });
    judge(made)
}

fn answer(made: &MadeExperiment) -> String {
    made.at(999).lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_winner_so_far_says_in_what_time_and_is_not_pinned() {
    let made = made(&[0.2], &RunNoise::Typical, 3, 60);
    let quick = answer(&made);
    assert!(quick.starts_with("So far, in 1") && quick.contains(" s: all - core:0 is at least"), "{quick}");
    assert!(quick.contains("Whether one run affects the next is not checked: too few runs."), "{quick}");
    assert!(
        quick.contains("corewise run --on") && quick.contains("corewise try --resume=3    (tries it again)"),
        "{quick}"
    );
    assert!(made.at(999).contains("carry-over not checked: too few runs"), "{}", made.at(2_000));
    let slow = answer(&spread(made, 90));
    assert!(slow.starts_with("So far: all - core:0 is"), "{slow}");
}

/// Its password is not stored, so it could not go on.
#[test]
fn an_experiment_with_a_password_is_not_to_be_resumed() {
    for mut made in [made(&[0.2], &RunNoise::Typical, 3, 60), made(&[0.02], &RunNoise::Typical, 3, 6)] {
        assert!(made.at(999).contains("--resume=3"), "{}", made.at(999));
        made.experiment.workload.command.extend(["--password", "hunter2"].map(str::to_owned));
        assert!(!made.at(999).contains("--resume"), "{}", made.at(999));
    }
}

#[test]
fn a_winner_that_is_seen_to_last_is_pinned() {
    let policy = JudgingPolicy { least_blocks: 40, ..JudgingPolicy::default() };
    let made = made_by(policy, &ProgramEffects::from_gains(&[0.5]), &RunNoise::Typical, 3, 40);
    assert!(matches!(made.standing.checks.carry_over, CarryOverCheck::NotFound { .. }), "{:?}", made.standing.checks);
    let told = answer(&made);
    assert!(told.starts_with("Pin it. all - core:0 is") && !told.contains("--resume"), "{told}");
    assert!(made.at(999).contains(" would have shown)"), "{}", made.at(2_000));
}

#[test]
fn boots_that_were_asked_for_are_counted() {
    let mut made = spread(made(&[0.5], &RunNoise::Typical, 3, 60), 90);
    made.experiment.policy.boots = Some(3);
    made.trials.iter_mut().for_each(|trial| trial.boot = Some(trial.block % 2));
    let told = answer(&judge(made));
    assert!(told.starts_with("So far, over 2 of 3 boots: all - core:0 is"), "{told}");
    assert!(told.contains("corewise try --resume=3 --boots 3    (after a reboot)"), "{told}");
}

#[test]
fn a_winner_that_was_tried_again_is_confirmed_or_not() {
    let won = answer(&confirmation(0.3));
    assert!(won.starts_with("Confirmed. Pin it. all - core:0 is at least"), "{won}");
    assert!(won.contains("It had won before: 10 runs in 12 s, begun 60 s earlier."), "{won}");
    let lost = answer(&confirmation(0.0));
    assert!(lost.starts_with("Not confirmed. It won 10 runs in 12 s, and not again afterwards. Leave it"), "{lost}");
    let mut short = confirmation(0.0);
    short.trials.truncate(6);
    let open = answer(&judge(short));
    assert!(open.starts_with("It won 10 runs in 12 s, and not yet again afterwards. Not decided after"), "{open}");
}

#[test]
fn the_sentence_names_whose_runs_suffer() {
    let effects = ProgramEffects {
        carry_over: 0.04,
        carry_over_hits: CarryOverVictims::Baseline,
        ..ProgramEffects::from_gains(&[0.0])
    };
    let policy = JudgingPolicy { least_blocks: 60, ..JudgingPolicy::default() };
    let made = made_by(policy, &effects, &RunNoise::Quiet, 1, 60);
    let told = made.at(999);
    assert!(told.contains("Runs of the OS default after all - core:0 are"), "{told}");
    assert!(told.contains("runs of the OS default right after all - core:0 differed most"), "{told}");
}
