//! Rests: an equal candidate that leaves heat behind, which decays in time, with the present rests of `try` and the former ones.

use std::time::Duration;

use corewise_model::trial::{usual_repeats, usual_rest};
use corewise_statistics::experiment::{ExperimentStanding, JudgingPolicy, PlacementRace, RunBlock};
use corewise_statistics::simulate::noise::RunNoise;
use corewise_statistics::simulate::{ProgramEffects, SimulatedTrials};

use super::{
    ErrorBounds, count_repetitions, find_winner, is_no_difference, is_unsound, percent_of, repeat_simulation,
    run_counts,
};

/// Slowdown of the next run if a run of the candidate took forever and its heat did not decay in between.
const HEAT: f64 = 0.05;
const MOST_RUNS: u32 = 100;

/// Timing of an experiment: the length of a trial and of the rest before it, in seconds.
#[derive(Clone, Copy)]
struct TrialPace {
    trial: f64,
    rest: f64,
}

impl TrialPace {
    /// Returns the present timing of `try`.
    fn from_run(run: f64) -> Self {
        let run = Duration::from_secs_f64(run);
        Self { trial: (run * usual_repeats(run)).as_secs_f64(), rest: usual_rest(run).as_secs_f64() }
    }

    /// Returns the former timing: runs of 50 ms or more were not repeated, and the rest was 0.3 to 10 s.
    fn from_old_rule(run: f64) -> Self {
        Self { trial: run * (0.05 / run).ceil().max(1.0), rest: (0.1 * run).clamp(0.3, 10.0) }
    }

    /// Returns the ratio of an experiment's time to that of its runs.
    fn time_ratio(self) -> f64 {
        (self.trial + self.rest) / self.trial
    }

    /// Returns the share of heat left after some seconds.
    fn heat_left(seconds: f64, decay: f64) -> f64 {
        (-seconds / decay).exp()
    }

    /// Simulates an experiment with an equal candidate. The heat rises while the candidate runs, and falls all the time, with the same time
    /// constant. The heat at the start of a run slows that run, for as long as it lasts.
    fn simulate_experiment(self, decay: f64, seed: u64) -> ExperimentStanding {
        let policy = JudgingPolicy { most_runs: Some(MOST_RUNS), ..JudgingPolicy::default() };
        let mut source = SimulatedTrials::new(&ProgramEffects::from_gains(&[0.0]), &RunNoise::Typical, !seed);
        let mut race = PlacementRace::new(1, &policy);
        let (during, between) = (Self::heat_left(self.trial, decay), Self::heat_left(self.rest, decay));
        let mean = (1.0 - during) * decay / self.trial;
        let mut heat = 0.0;
        while !race.is_decided() {
            let runs = race.next_block(seed).into_iter().map(|arm| {
                heat *= between;
                let mut run = source.run(arm);
                run.x = run.x.map(|x| x + (heat * mean).ln_1p());
                heat = heat * during + if arm == 1 { HEAT * (1.0 - during) } else { 0.0 };
                run
            });
            let block = RunBlock { runs: runs.collect() };
            race.add_block(&block);
        }
        race.current_standing()
    }
}

/// Prints the table; no rest may be short enough that the remaining heat makes more false winners than the error rate.
pub fn print_table(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(2000.0, share);
    println!(
        "\n## Rests: an equal candidate that leaves 5 % behind, decaying in time, typical noise: {count} experiments each\n"
    );
    println!(
        "| a run takes | decays in | before: rest | time by runs | false win % | now: rest | time by runs | false win % | unsound % | no difference % | runs |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for run in [0.02, 0.07, 0.3, 1.0, 5.0, 30.0] {
        for decay in [0.02, 0.1, 0.5, 2.0] {
            let [before, now] = [TrialPace::from_old_rule(run), TrialPace::from_run(run)]
                .map(|pace| (pace, repeat_simulation(count, |seed| pace.simulate_experiment(decay, seed))));
            let false_wins =
                [&before.1, &now.1].map(|made| percent_of(made, |standing| find_winner(standing).is_some()));
            println!(
                "| {run} s | {decay} s | {:.2} s | {:.2} | {:.1} | {:.2} s | {:.2} | {:.1} | {:.1} | {:.1} | {:.0} |",
                before.0.rest,
                before.0.time_ratio(),
                false_wins[0],
                now.0.rest,
                now.0.time_ratio(),
                false_wins[1],
                percent_of(&now.1, is_unsound),
                percent_of(&now.1, is_no_difference),
                run_counts(&now.1).0,
            );
            bounds.at_most(&format!("false wins of runs of {run} s after heat of {decay} s"), false_wins[1], 5.0);
        }
    }
}
