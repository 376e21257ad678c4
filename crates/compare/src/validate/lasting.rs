//! Winners that are tried again: worlds in which a placement wins that is no better, and true gains.

use corewise_model::simulate::{SimulatedSession, simulate_session};
use corewise_statistics::experiment::JudgingPolicy;
use corewise_statistics::order::median;
use corewise_statistics::simulate::noise::RunNoise;
use corewise_statistics::simulate::{CarryOverVictims, ProgramEffects};

use super::{ErrorBounds, count_repetitions, find_winner, is_unsound, log_gains, percent_of, repeat_simulation};

/// Prints the table.
pub fn print_table(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!("\n## Winners that are tried again, typical noise: {count} sessions each\n");
    println!("| what is true | candidates | run | wins at first % | unsound % | pinned in the end % | runs, median |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    let of = |candidates: usize| ProgramEffects::from_gains(&vec![0.0; candidates]);
    let carries = |size: f64, candidates: usize| ProgramEffects { carry_over: log_gains(&[size])[0], ..of(candidates) };
    let one_sided =
        |candidates: usize| ProgramEffects { carry_over_hits: CarryOverVictims::Baseline, ..carries(5.0, candidates) };
    let lucky = |candidates: usize| ProgramEffects { session_luck: 0.02, ..of(candidates) };
    let worlds = [
        ("equal", of(1)),
        ("equal", of(7)),
        ("equal, the OS default 5 % slower after it", one_sided(1)),
        ("equal, the OS default 5 % slower after any", one_sided(3)),
        ("equal, all runs 5 % slower after it", carries(5.0, 1)),
        ("equal, all runs 5 % slower after any", carries(5.0, 3)),
        ("equal, luck of 2 % a session", lucky(1)),
        ("equal, luck of 2 % a session", lucky(3)),
        ("equal, luck of 2 % a session", lucky(7)),
        ("+5 %", ProgramEffects::from_gains(&log_gains(&[5.0]))),
        ("one of 3 is +5 %", ProgramEffects::from_gains(&log_gains(&[0.0, 5.0, 0.0]))),
        ("+20 %", ProgramEffects::from_gains(&log_gains(&[20.0]))),
    ];
    for (name, effects) in worlds {
        for run_s in [0.2, 10.0] {
            print_row(count, name, &effects, run_s, bounds);
        }
    }
}

fn print_row(count: u64, name: &str, effects: &ProgramEffects, run_s: f64, bounds: &mut ErrorBounds) {
    let policy = JudgingPolicy::default();
    let sessions = repeat_simulation(count, |seed| simulate_session(effects, &RunNoise::Typical, seed, &policy, run_s));
    let best = effects.gains.iter().position(|gain| *gain > 0.0).map(|place| place + 1);
    let pinned = percent_of(&sessions, |session| session.pinned_arm().is_some());
    let runs: Vec<f64> = sessions.iter().map(|session| f64::from(session.run_count(run_s))).collect();
    println!(
        "| {name} | {} | {run_s} s | {:.1} | {:.1} | {pinned:.1} | {:.0} |",
        effects.gains.len(),
        percent_of(&sessions, |session| find_winner(&session.first).is_some()),
        percent_of(&sessions, |session: &SimulatedSession| is_unsound(&session.first)),
        median(&runs),
    );
    match best {
        Some(best) => {
            let right = percent_of(&sessions, |session| session.pinned_arm() == Some(best));
            bounds.at_least(&format!("pinned: {name}"), right, 90.0);
        }
        // With seven lucky candidates, one in two first experiments has a winner, and one in eight of these wins again.
        None if effects.session_luck > 0.0 && effects.gains.len() > 3 => {}
        None => bounds.at_most(&format!("falsely pinned: {name}"), pinned, 5.0),
    }
}
