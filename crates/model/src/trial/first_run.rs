//! Comparison of a program's first run with the later ones: did it do the same work.

use super::{Trial, TrialOutcome};
use corewise_statistics::order::median;

/// Smallest ratio of an unusual first run's time to the later ones', or the inverse.
const UNUSUAL_RATIO: f64 = 10.0;
/// Smallest difference beyond a cold start, in seconds.
const LEAST_DIFFERENCE_S: f64 = 0.1;

/// A first run that took much longer, or shorter, than the later ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstRun {
    /// Its arm.
    pub arm: usize,
    /// True if it was the first run of the whole experiment.
    pub is_first_of_all: bool,
    /// Time of the first run over the median of the later ones.
    pub ratio: f64,
}

/// Compares the first run of each arm with the arm's counted trials. Returns the most unusual one, or `None` if all did
/// about the same work.
pub fn compare_first_run(trials: &[Trial]) -> Option<FirstRun> {
    let arms = trials.iter().map(|trial| trial.arm).max()? + 1;
    let compared = (0..arms).filter_map(|arm| compare_first_run_of(trials, arm));
    compared.max_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()))
}

fn compare_first_run_of(trials: &[Trial], arm: usize) -> Option<FirstRun> {
    let has_value = |trial: &&Trial| matches!(trial.outcome, TrialOutcome::Value(_)) && trial.observed.wall_s > 0.0;
    let at = trials.iter().position(|trial| trial.arm == arm)?;
    // Several consecutive runs are no first run.
    let first = Some(&trials[at]).filter(|trial| trial.block == 0).filter(has_value)?.observed.wall_s;
    let later = trials.iter().filter(|trial| trial.arm == arm && trial.block > 0).filter(has_value);
    let later: Vec<f64> = later.map(|trial| trial.observed.wall_s).collect();
    let later = (!later.is_empty()).then(|| median(&later))?;
    let ratio = first / later;
    let is_unusual = ratio.max(ratio.recip()) >= UNUSUAL_RATIO && (first - later).abs() >= LEAST_DIFFERENCE_S;
    is_unusual.then_some(FirstRun { arm, is_first_of_all: at == 0, ratio })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::TrialObservations;

    fn trial((block, arm, wall_s): (u32, usize, f64)) -> Trial {
        Trial {
            observed: TrialObservations { wall_s, ..TrialObservations::default() },
            ..Trial::new(block, 0, arm, TrialOutcome::Value(1.0))
        }
    }

    fn compared(runs: &[(u32, usize, f64)]) -> Option<FirstRun> {
        compare_first_run(&runs.iter().copied().map(trial).collect::<Vec<_>>())
    }

    #[test]
    fn a_first_run_of_other_work_is_noticed_both_ways() {
        let built = compared(&[(0, 0, 8.7), (0, 1, 0.011), (1, 0, 0.01), (1, 1, 0.01), (2, 0, 0.01)]).unwrap();
        assert_eq!((built.arm, built.is_first_of_all, built.ratio.round()), (0, true, 870.0));
        let empty = compared(&[(0, 0, 0.004), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 2.0)]).unwrap();
        assert_eq!((empty.arm, empty.is_first_of_all, empty.ratio), (0, true, 0.002));
        let second = compared(&[(0, 0, 1.0), (0, 1, 50.0), (1, 0, 1.0), (1, 1, 1.0)]).unwrap();
        assert_eq!((second.arm, second.is_first_of_all), (1, false));
    }

    #[test]
    fn a_cold_start_and_what_is_not_known_are_nothing_unusual() {
        assert_eq!(compared(&[(0, 0, 0.05), (1, 0, 0.001)]), None, "a cold start");
        assert_eq!(compared(&[(0, 0, 3.0), (1, 0, 1.0)]), None);
        assert_eq!(compared(&[(0, 0, 30.0)]), None, "there is no later run");
        assert_eq!(compared(&[(1, 0, 30.0), (2, 0, 1.0)]), None, "there was no warm-up");
        assert_eq!(compared(&[]), None);
        let failed = TrialOutcome::Failed { why: "exit status 1".to_owned(), output: String::new() };
        let failed = Trial { outcome: failed, ..trial((0, 0, 0.001)) };
        assert_eq!(compare_first_run(&[failed, trial((1, 0, 1.0))]), None);
    }
}
