//! Rest of the machine between trials, and the number of runs in a trial.

use std::time::Duration;

/// Usual minimum duration of a trial, reached by consecutive runs: the rest before it is then a small part of it.
pub const SHORTEST_TRIAL: Duration = Duration::from_millis(200);
/// Maximum number of runs in a trial.
const MOST_REPEATS: u32 = 1_000;
/// Maximum planned duration of a trial of the slowest placement.
const LONGEST_PLANNED_TRIAL: Duration = Duration::from_secs(1);
/// Duration after which a trial gets no further run, even if more were planned.
pub const LONGEST_TRIAL: Duration = Duration::from_secs(2);
/// Minimum rest before each trial; the other limits are a share of a trial, and a maximum.
const LEAST_REST: Duration = Duration::from_millis(20);
const REST_SHARE: f64 = 0.1;
const LONGEST_REST: Duration = Duration::from_secs(2);

/// Returns the rest before each trial of a program, from its longest run, so that trials affect each other little.
/// docs/statistics.md treats effects that decay more slowly: they are small relative to a trial, or fall on all arms
/// alike.
pub fn usual_rest(run: Duration) -> Duration {
    (run * usual_repeats(run)).mul_f64(REST_SHARE).clamp(LEAST_REST, LONGEST_REST)
}

/// Returns the number of runs of this length in a trial of the usual duration.
pub fn usual_repeats(run: Duration) -> u32 {
    count_repeats(run, SHORTEST_TRIAL)
}

fn count_repeats(run: Duration, shortest_trial: Duration) -> u32 {
    if run >= shortest_trial || run.is_zero() {
        return 1;
    }
    ((shortest_trial.as_secs_f64() / run.as_secs_f64()).ceil() as u32).clamp(1, MOST_REPEATS)
}

/// Returns the number of runs in the next trials, from the latest run of each placement, the present number, and the minimum duration of
/// a trial.
///
/// The present number stays if it is within a factor of two, so that noise does not change it from block to block.
pub fn revise_repeats(latest: &[Duration], before: Option<u32>, shortest_trial: Duration) -> u32 {
    let (Some(shortest), Some(longest)) = (latest.iter().min(), latest.iter().max()) else {
        return before.unwrap_or(1);
    };
    let fitting =
        (LONGEST_PLANNED_TRIAL.as_secs_f64() / longest.as_secs_f64()).clamp(1.0, f64::from(MOST_REPEATS)) as u32;
    let wanted = count_repeats(*shortest, shortest_trial).min(fitting);
    before.filter(|before| *before < 2 * wanted && wanted < 2 * before).unwrap_or(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_programs_rest_little_and_run_several_times_in_a_row() {
        let ms = Duration::from_millis;
        let rest = [0, 70, 1_000, 5_000, 60_000].map(|run| usual_rest(ms(run)));
        assert_eq!(rest, [20, 21, 100, 500, 2_000].map(ms));
        assert_eq!([0, 20, 70, 199, 200, 5_000].map(|run| usual_repeats(ms(run))), [1, 10, 3, 2, 1, 1]);
        assert_eq!(usual_repeats(Duration::from_micros(1)), MOST_REPEATS);
    }

    #[test]
    fn repeats_follow_the_latest_runs_and_no_trial_is_long() {
        let revised = |latest: &[u64], before| {
            let latest: Vec<Duration> = latest.iter().copied().map(Duration::from_millis).collect();
            revise_repeats(&latest, before, SHORTEST_TRIAL)
        };
        assert_eq!(revised(&[20, 25], None), 10);
        assert_eq!([6, 10, 19].map(|before| revised(&[20, 25], Some(before))), [6, 10, 19], "noise changes nothing");
        assert_eq!([1, 5, 20, 45].map(|before| revised(&[20, 25], Some(before))), [10; 4]);
        assert_eq!(revised(&[2_000, 2_100], Some(45)), 1, "the first runs had nothing to do");
        assert_eq!(revised(&[2_000], Some(2)), 1);
        assert_eq!(revised(&[4, 2_000], None), 1, "one placement is much slower than the other");
        assert_eq!(revised(&[5, 5], Some(1)), 40, "the first runs had much to do");
        assert_eq!((revised(&[], None), revised(&[], Some(7))), (1, 7));
        assert_eq!(revised(&[0, 0], None), 1);
        let [run, trial] = [20, 60].map(Duration::from_millis);
        assert_eq!(revise_repeats(&[run], Some(10), trial), 3, "a trial of 60 ms was asked for");
    }

    /// What a whole experiment takes, against what its program takes, where nothing but rests is added.
    #[test]
    fn rests_are_a_small_part_of_it() {
        for run in (5..=1_000).map(Duration::from_millis) {
            let trial = run * usual_repeats(run);
            let share = (trial + usual_rest(run)).as_secs_f64() / trial.as_secs_f64();
            assert!(share <= 1.101, "{run:?}: {share}");
        }
    }
}
