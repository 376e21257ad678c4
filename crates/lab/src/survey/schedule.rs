//! Division of a budget into rounds, and of a round into visits to cpus.

use std::time::Duration;

use crate::causes::SETTLING;

/// Share of a round that goes to the tail probe if links are measured too.
pub const TAIL_SHARE: f64 = 0.66;
/// Limits of the number of rounds: enough for the tests on rounds, few enough that a visit does not become short.
const ROUNDS: std::ops::RangeInclusive<u32> = 8..=24;
/// Approximate length of a round of a stall survey.
const TAIL_ROUND: Duration = Duration::from_millis(2500);
/// Longest time for which a thread may run before all others.
pub const FIRST_IN_LINE_AT_MOST: Duration = Duration::from_millis(500);
/// Longest visit of a stall survey, so that the kernel's events of it fit into the buffer.
const VISIT_AT_MOST: Duration = Duration::from_secs(3);
/// Shortest visit that is worth its thread and its warm-up.
const VISIT_AT_LEAST: Duration = Duration::from_millis(20);

/// Shortest time for a cpu in a round of a stall survey: 50 ms watched, plus the unwatched part, the warm-up, and the start.
const LOOK_AT_LEAST: Duration = Duration::from_millis(100);

/// Returns the number of rounds that a budget is divided into.
pub fn count_rounds(budget: Duration, cpus: usize) -> u32 {
    let visits = budget.as_secs_f64() * TAIL_SHARE / VISIT_AT_LEAST.as_secs_f64();
    ((visits / cpus.max(1) as f64) as u32).clamp(*ROUNDS.start(), *ROUNDS.end())
}

/// Returns the number of rounds of a stall survey. Each is long enough to be watched and unwatched in turn. A thread that runs before all
/// others may not run for long, so there are more rounds with it.
pub fn tail_rounds(budget: Duration, cpus: usize, first_in_line: bool) -> u32 {
    if first_in_line {
        let visits = budget.as_secs_f64() / FIRST_IN_LINE_AT_MOST.as_secs_f64() / cpus.max(1) as f64;
        return (visits.ceil() as u32).max(*ROUNDS.start());
    }
    let for_each_cpu = budget.as_secs_f64() / cpus.max(1) as f64;
    // Fewer rounds on many cpus: a period has to fit into a visit more than once.
    let most = (for_each_cpu / LOOK_AT_LEAST.as_secs_f64()) as u32;
    let visits = for_each_cpu / VISIT_AT_MOST.as_secs_f64();
    ((budget.as_secs_f64() / TAIL_ROUND.as_secs_f64()) as u32)
        .min(most)
        .clamp(*ROUNDS.start(), *ROUNDS.end())
        .max(visits.ceil() as u32)
}

/// Divides a round of a stall survey into parts: watched or not, and the share of the round. There is one part if watching is not
/// available, or if the round is too short to begin and end it.
pub fn watched_parts(can_watch: bool, round: Duration) -> Vec<(bool, f64)> {
    if can_watch && round >= 4 * SETTLING { vec![(true, 0.75), (false, 0.25)] } else { vec![(true, 1.0)] }
}

/// Returns how long a visit times pieces, and how long it warms up before.
///
/// `left` is the time left for tail visits in this round, and `waiting` the number of cpus still to be visited in it. `overhead` is the
/// time that the last visit took beyond warming up and timing, `before` its share of the preparation before the first of them. A visit is
/// at least as long as both: if they are slow, there are fewer visits, but none too short to see anything.
pub fn visit_lengths(left: Duration, waiting: usize, overhead: Duration, before: Duration) -> (Duration, Duration) {
    let whole = left / waiting.max(1) as u32;
    let timed = whole.saturating_sub(overhead).max(overhead + before).max(Duration::from_millis(1));
    let warm_up = (timed / 4).clamp(Duration::from_millis(1), Duration::from_millis(10));
    (timed.saturating_sub(warm_up).max(Duration::from_millis(1)), warm_up)
}

/// Returns the interval, in rounds, at which the kernel's counts of interrupts are read, so that reading takes at most a quarter of the
/// time. `reading` is the time of one reading. A visit has two, and parsing them takes about as long again.
pub fn count_every(reading: Duration, budget: Duration, cpus: usize) -> u32 {
    let visit = budget.as_secs_f64() * TAIL_SHARE / f64::from(count_rounds(budget, cpus)) / cpus.max(1) as f64;
    (4.0 * reading.as_secs_f64() / (visit / 4.0)).ceil().clamp(1.0, f64::from(*ROUNDS.end())) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_seldom_where_reading_takes_long() {
        let second = Duration::from_secs(1);
        assert_eq!(count_every(Duration::from_micros(100), 30 * second, 2), 1);
        assert_eq!(count_every(Duration::from_millis(5), 120 * second, 512), 5);
    }

    #[test]
    fn budgets_become_rounds_and_visits() {
        assert_eq!(count_rounds(Duration::from_secs(30), 2), 24);
        assert_eq!(count_rounds(Duration::from_secs(30), 32), 24);
        assert_eq!(count_rounds(Duration::from_secs(30), 64), 15);
        assert_eq!(count_rounds(Duration::from_secs(30), 512), 8);
        assert_eq!(count_rounds(Duration::from_secs(5), 2), 24);
        let looks = [(30, 2), (30, 16), (60, 128), (120, 512)]
            .map(|(seconds, cpus)| tail_rounds(Duration::from_secs(seconds), cpus, false));
        assert_eq!(looks, [12, 12, 8, 8], "on many cpus fewer, that each visit is long enough");
        let (timed, warm_up) = visit_lengths(Duration::from_millis(800), 2, Duration::from_millis(5), Duration::ZERO);
        assert!(timed > Duration::from_millis(380) && timed + warm_up < Duration::from_millis(401), "{timed:?}");
        let late = |overhead, before| {
            let (timed, warm_up) =
                visit_lengths(Duration::ZERO, 2, Duration::from_millis(overhead), Duration::from_millis(before));
            (timed + warm_up).as_millis()
        };
        assert_eq!(
            (late(0, 0), late(5, 0), late(5, 300)),
            (2, 5, 305),
            "as long as what it cost, where there is no time left"
        );
    }
}
