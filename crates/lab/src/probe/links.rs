//! The link probe: round trips on one cache line between two pinned threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use corewise_model::Gap;
use corewise_model::stats::order::median;
use corewise_model::stats::random::Random;
use corewise_sys::clock::{Clock, Source, Ticks};
use corewise_sys::linux::affinity;
use corewise_sys::linux::memory::Page;

/// Round trips of one sample: about 10 µs, short beside a scheduler's slice, so that few samples are interrupted.
const ROUND_TRIPS: u64 = 100;
/// Samples on each line; the first is thrown away, since the line is still elsewhere.
const SAMPLES: usize = 13;
/// Lines of the page that a visit uses. Some lines are dearer than others (their home is elsewhere).
const LINES: usize = 4;
/// A visit ends after this, whatever became of the partner.
const VISIT_LIMIT: Duration = Duration::from_millis(250);
/// A visit that was cut short counts if it has this many samples.
const SAMPLES_ENOUGH: usize = 12;
/// Failed exchanges between two looks at the time; about 20 µs.
const SPINS_PER_LOOK: u32 = 1024;

/// What two threads of a visit share besides the page.
struct Meeting<'a> {
    page: OnceLock<Page>,
    trouble: Mutex<Option<String>>,
    ended: AtomicBool,
    stop: &'a AtomicBool,
    lines: [usize; LINES],
    deadline: Instant,
}

impl Meeting<'_> {
    fn fail(&self, error: impl ToString) {
        self.trouble.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error.to_string());
        self.ended.store(true, Ordering::Relaxed);
    }

    /// The deadline is the operating system's: counters of different cpus need not agree.
    fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed) || Instant::now() > self.deadline
    }
}

/// Measures one pair once: a fresh page, several of its lines, many short samples. The result is half of the median round
/// trip, in nanoseconds; absent when the visit was stopped.
///
/// # Errors
/// The gap that says why the pair could not be measured.
pub fn visit(clock: &Clock, a: u32, b: u32, random: &mut Random, stop: &AtomicBool) -> Result<Option<f64>, Gap> {
    let samples = match clock.source {
        Source::Counter(ticks) => talk(ticks, a, b, random, stop),
        Source::System(ticks) => talk(ticks, a, b, random, stop),
    };
    let samples = samples.map_err(|why| Gap::new(format!("link between cpus {a} and {b}"), why))?;
    if samples.len() < SAMPLES_ENOUGH {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let why = format!("no {ROUND_TRIPS} round trips within {} ms: one cpu is busy", VISIT_LIMIT.as_millis());
        return Err(Gap::new(format!("link between cpus {a} and {b}"), why));
    }
    Ok(Some(median(&samples) * clock.nanoseconds_per_tick / (2 * ROUND_TRIPS) as f64))
}

/// Both threads of a visit; gives the ticks of each sample of [`ROUND_TRIPS`] round trips.
fn talk<T: Ticks>(ticks: T, a: u32, b: u32, random: &mut Random, stop: &AtomicBool) -> Result<Vec<f64>, String> {
    let meeting = Meeting {
        page: OnceLock::new(),
        trouble: Mutex::new(None),
        ended: AtomicBool::new(false),
        stop,
        lines: distinct_lines(random),
        deadline: Instant::now() + VISIT_LIMIT,
    };
    let mut samples = Vec::with_capacity(LINES * SAMPLES);
    std::thread::scope(|scope| {
        let name = |cpu| std::thread::Builder::new().name(format!("link {cpu}"));
        if let Err(error) = name(b).spawn_scoped(scope, || answer(b, &meeting)) {
            meeting.fail(error);
        }
        if let Err(error) = name(a).spawn_scoped(scope, || ask(ticks, a, &meeting, &mut samples)) {
            meeting.fail(error);
        }
    });
    match meeting.trouble.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        Some(trouble) => Err(trouble),
        None => Ok(samples),
    }
}

/// Lines of a page in random order, none twice: the partner may still be answering on the last one.
fn distinct_lines(random: &mut Random) -> [usize; LINES] {
    let mut all: [usize; Page::LINES] = std::array::from_fn(|line| line);
    random.shuffle(&mut all);
    std::array::from_fn(|turn| all[turn])
}

/// The thread on `a`: owns the page, begins each round trip, and takes the time.
fn ask<T: Ticks>(ticks: T, cpu: u32, meeting: &Meeting, samples: &mut Vec<f64>) {
    let page = match affinity::pin_current(cpu).and_then(|()| Page::new()) {
        Ok(page) => meeting.page.get_or_init(|| page),
        Err(error) => return meeting.fail(error),
    };
    for &line in &meeting.lines {
        if !ask_on_line(ticks, page.line(line), meeting, samples) {
            break;
        }
    }
    if let Err(error) = affinity::check_pinned(cpu) {
        meeting.fail(error);
    }
}

/// The thread on `b`: answers each exchange.
fn answer(cpu: u32, meeting: &Meeting) {
    if let Err(error) = affinity::pin_current(cpu) {
        return meeting.fail(error);
    }
    let page = loop {
        match meeting.page.get() {
            Some(page) => break page,
            None if meeting.is_over() => return,
            None => std::hint::spin_loop(),
        }
    };
    let lines = meeting.lines.iter().map(|&line| page.line(line));
    let trips = lines.flat_map(|line| (0..SAMPLES as u64 * ROUND_TRIPS).map(move |trip| (line, 2 * trip + 1)));
    for (line, expected) in trips {
        if !exchange(line, expected, meeting) {
            break;
        }
    }
    if let Err(error) = affinity::check_pinned(cpu) {
        meeting.fail(error);
    }
}

/// Times [`SAMPLES`] samples on a line; false when the visit is over.
fn ask_on_line<T: Ticks>(ticks: T, line: &AtomicU64, meeting: &Meeting, samples: &mut Vec<f64>) -> bool {
    let mut value = 0;
    let mut last = ticks.now();
    for sample in 0..SAMPLES {
        for _ in 0..ROUND_TRIPS {
            if !exchange(line, value, meeting) {
                return false;
            }
            value += 2;
        }
        let now = ticks.now();
        if sample > 0 {
            samples.push(now.saturating_sub(last) as f64);
        }
        last = now;
    }
    true
}

/// Waits for the line to hold `expected` and replaces it by the next number: bare compare-and-swap, no load before it and
/// no pause, as the other tools do. False when the visit is over.
#[inline(always)]
fn exchange(line: &AtomicU64, expected: u64, meeting: &Meeting) -> bool {
    let mut spins = 0_u32;
    while line.compare_exchange(expected, expected + 1, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        spins += 1;
        if spins.is_multiple_of(SPINS_PER_LOOK) && meeting.is_over() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit_now(a: u32, b: u32, stop: bool) -> Result<Option<f64>, Gap> {
        visit(&Clock::calibrated(), a, b, &mut Random::new(1), &AtomicBool::new(stop))
    }

    fn first_cpu() -> u32 {
        affinity::current().unwrap().lowest().unwrap()
    }

    #[test]
    fn a_partner_that_cannot_be_placed_is_a_gap() {
        let gap = visit_now(first_cpu(), 8000, false).unwrap_err();
        assert_eq!(gap.what, format!("link between cpus {} and 8000", first_cpu()));
        let gap = visit_now(8000, first_cpu(), false).unwrap_err();
        assert_eq!(gap.what, format!("link between cpus 8000 and {}", first_cpu()));
    }

    /// Two threads on one cpu get a round trip only when the scheduler changes between them.
    #[test]
    fn the_watchdog_ends_a_visit_whose_partner_does_not_run() {
        let gap = visit_now(first_cpu(), first_cpu(), false).unwrap_err();
        assert!(gap.why.contains("within 250 ms"), "{}", gap.why);
    }

    #[test]
    fn a_stopped_visit_gives_nothing() {
        assert_eq!(visit_now(first_cpu(), first_cpu(), true), Ok(None));
    }

    #[test]
    fn lines_of_a_visit_are_distinct() {
        let mut random = Random::new(5);
        for _ in 0..100 {
            let mut lines = distinct_lines(&mut random);
            lines.sort_unstable();
            assert!(lines.windows(2).all(|pair| pair[0] < pair[1]) && lines[LINES - 1] < Page::LINES);
        }
    }
}
