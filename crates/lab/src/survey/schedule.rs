//! How a budget becomes rounds, and a round visits to cpus.

use std::time::Duration;

use crate::causes::SETTLING;

/// The share of a round that goes to the tail probe when there are links to measure too.
pub const TAIL_SHARE: f64 = 0.66;
/// Rounds: enough for the tests on rounds, not so many that a visit becomes short.
const ROUNDS: std::ops::RangeInclusive<u32> = 8..=24;
/// About how long a round of a look at stalls alone is.
const TAIL_ROUND: Duration = Duration::from_millis(2500);
/// How long a thread may run before all others at a time.
pub const FIRST_IN_LINE_AT_MOST: Duration = Duration::from_millis(500);
/// A visit that looks at stalls is no longer than this, so that there is room for the kernel's events of it.
const VISIT_AT_MOST: Duration = Duration::from_secs(3);
/// A visit to a cpu that is at least this long is worth its thread and its warm-up.
const VISIT_AT_LEAST: Duration = Duration::from_millis(20);

/// So long a cpu is looked at in a round that looks at stalls alone, or longer: 50 ms watched, with what is unwatched, warming up, and
/// beginning.
const LOOK_AT_LEAST: Duration = Duration::from_millis(100);

/// How many rounds a budget is divided into.
pub fn rounds(budget: Duration, cpus: usize) -> u32 {
    let visits = budget.as_secs_f64() * TAIL_SHARE / VISIT_AT_LEAST.as_secs_f64();
    ((visits / cpus.max(1) as f64) as u32).clamp(*ROUNDS.start(), *ROUNDS.end())
}

/// How many rounds a look at stalls alone has: each is long enough to be watched and unwatched in turn. A thread that runs before
/// all others is not let run for long, so that there are more of them.
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

/// The parts of a round of a look at stalls: watched or not, and the share of the round. Where watching cannot be had, or a round
/// is too short to begin and end it, there is one part.
pub fn watched_parts(can_watch: bool, round: Duration) -> Vec<(bool, f64)> {
    if can_watch && round >= 4 * SETTLING { vec![(true, 0.75), (false, 0.25)] } else { vec![(true, 1.0)] }
}

/// How long a visit may time pieces for, and how long it warms up before.
///
/// `left` is the time left for tail visits in this round, `waiting` how many cpus are still to be visited in it,
/// `overhead` what the last visit cost beyond warming up and timing, `before` its share of what was done before the first of them.
/// A visit is at least as long as both: where all that is slow, there are fewer visits, and not visits that see nothing.
pub fn visit_lengths(left: Duration, waiting: usize, overhead: Duration, before: Duration) -> (Duration, Duration) {
    let whole = left / waiting.max(1) as u32;
    let timed = whole.saturating_sub(overhead).max(overhead + before).max(Duration::from_millis(1));
    let warm_up = (timed / 4).clamp(Duration::from_millis(1), Duration::from_millis(10));
    (timed.saturating_sub(warm_up).max(Duration::from_millis(1)), warm_up)
}

/// In every how many rounds the kernel's counts of interrupts are read, so that reading them takes no more than a quarter
/// of the time: `reading` is what one reading takes; a visit has two, and taking them apart takes about as long again.
pub fn count_every(reading: Duration, budget: Duration, cpus: usize) -> u32 {
    let visit = budget.as_secs_f64() * TAIL_SHARE / f64::from(rounds(budget, cpus)) / cpus.max(1) as f64;
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
        assert_eq!(rounds(Duration::from_secs(30), 2), 24);
        assert_eq!(rounds(Duration::from_secs(30), 32), 24);
        assert_eq!(rounds(Duration::from_secs(30), 64), 15);
        assert_eq!(rounds(Duration::from_secs(30), 512), 8);
        assert_eq!(rounds(Duration::from_secs(5), 2), 24);
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
