//! Winners that are tried again, by simulation: a small seeded version of `cargo xtask validate 1 lasting`.

use corewise_model::simulate::{SimulatedLoad, SimulatedSession, SlotsWorld, simulate_session, simulate_slots};
use corewise_model::trial::{ConfirmationStretch, StretchLength, policy_of_slots};
use corewise_statistics::experiment::{JudgingPolicy, Verdict};
use corewise_statistics::simulate::noise::RunNoise;
use corewise_statistics::simulate::{CarryOverVictims, ProgramEffects};

/// Length of a run in seconds: experiments of it take more than a minute, so that only the checks protect.
const LONG_RUN_S: f64 = 10.0;

fn sessions(effects: &ProgramEffects, run_s: f64, count: u64) -> Vec<SimulatedSession> {
    let policy = JudgingPolicy::default();
    (0..count).map(|seed| simulate_session(effects, &RunNoise::Typical, seed, &policy, run_s)).collect()
}

fn share_pinned(sessions: &[SimulatedSession]) -> f64 {
    sessions.iter().filter(|session| session.pinned_arm().is_some()).count() as f64 / sessions.len() as f64
}

fn share_won(sessions: &[SimulatedSession]) -> f64 {
    let wins = |session: &&SimulatedSession| matches!(session.first.verdict, Verdict::Wins { .. });
    sessions.iter().filter(wins).count() as f64 / sessions.len() as f64
}

#[test]
fn a_placement_after_which_the_baseline_suffers_is_not_pinned() {
    for candidates in [1, 3] {
        let effects = ProgramEffects {
            carry_over: 0.05,
            carry_over_hits: CarryOverVictims::Baseline,
            ..ProgramEffects::from_gains(&vec![0.0; candidates])
        };
        let made = sessions(&effects, LONG_RUN_S, 100);
        assert!(share_won(&made) >= 0.8, "the experiment alone is deceived: {}", share_won(&made));
        assert!(share_pinned(&made) <= 0.05, "{candidates}: {}", share_pinned(&made));
    }
}

#[test]
fn the_luck_of_one_session_is_not_pinned() {
    let effects = ProgramEffects { session_luck: 0.02, ..ProgramEffects::from_gains(&[0.0; 3]) };
    let made = sessions(&effects, 0.5, 200);
    assert!(share_won(&made) >= 0.15, "the experiment alone is deceived: {}", share_won(&made));
    assert!(share_pinned(&made) <= 0.05, "{}", share_pinned(&made));
}

#[test]
fn a_true_gain_is_confirmed() {
    for run_s in [0.5, LONG_RUN_S] {
        let made = sessions(&ProgramEffects::from_gains(&[0.05]), run_s, 100);
        assert!(share_pinned(&made) >= 0.9, "{run_s} s: {}", share_pinned(&made));
    }
}

#[test]
fn slots_after_which_the_baseline_suffers_are_not_pinned() {
    let world = SlotsWorld {
        carry_over: 0.05,
        carry_over_hits: CarryOverVictims::Baseline,
        size: 0.02,
        ..SlotsWorld::with_load(SimulatedLoad::Memory(5.0), 0.0)
    };
    let policy = policy_of_slots(&JudgingPolicy::default());
    let stretch = ConfirmationStretch::of_runs(StretchLength::Short, world.slot.0);
    let wins = |verdict: &Verdict| matches!(verdict, Verdict::Wins { .. });
    let is_pinned = |seed: u64| {
        let first = simulate_slots(&world, seed, &policy, 175, None);
        let again = || simulate_slots(&world, !seed, &JudgingPolicy::default(), 60, Some(stretch));
        wins(&first.verdict) && (first.open_points.is_empty() || wins(&again().verdict))
    };
    let pinned = (0..60).filter(|seed| is_pinned(*seed)).count();
    assert!(pinned <= 3, "{pinned} of 60");
}
