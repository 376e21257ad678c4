//! A server with identical short requests: its slowest answers show the interruptions.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corewise_model::metric_line::MetricLine;
use corewise_statistics::histogram::TickHistogram;
use corewise_sys::clock::{ClockSource, TickClock, TickSource};
use corewise_sys::work::{ADDITIONS_PER_TURN, dependent_additions};

use crate::amount::{WorkAmount, WorkSpan};
use crate::crew::run_crew;
use crate::{WorkError, WorkloadHost, WorkloadLimit, WorkloadReport, WorkloadSettings};

/// Time of the usual size on one cpu, in nanoseconds.
const USUAL_NS: f64 = 4e9;
/// Cost of a request besides its additions, in nanoseconds: two readings of the clock and the histogram.
const AROUND_NS: f64 = 40.0;
/// Approximate cycle of a core, in nanoseconds.
const CYCLE_NS: f64 = 0.25;
/// Requests between two looks at the stop flag and the time; 0.1 s with the longest.
const REQUESTS_PER_LOOK: u64 = 256;
/// Additions of the longest request: about 0.3 ms.
const MOST_ADDITIONS: u32 = 1_000_000;
/// Longest pause.
const LONGEST_GAP: Duration = Duration::from_secs(1);
/// Relative tolerance of the tick rate, which is known to about a millionth.
const RATE_TOLERANCE: f64 = 1e-3;
/// Distance between the threads' first request numbers if the number of requests is unknown, so that they never overlap.
const APART: u64 = 1 << 48;

/// The workload's own options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailWorkOptions {
    /// Number of dependent additions in a request, each one cycle of a core; 1 to 1,000,000, rounded up to a multiple of 20.
    pub additions: u32,
    /// Pause of a thread after each answer before it takes the next request, up to 1 s. It waits awake, so that the kernel's wake-up time
    /// is never measured.
    pub gap: Duration,
}

impl Default for TailWorkOptions {
    fn default() -> Self {
        Self { additions: 1000, gap: Duration::ZERO }
    }
}

/// Serves requests on each thread, one after the other, and reports quantiles of their times.
///
/// A request is a chain of additions, about 250 ns, that needs only its core: no memory, no lock, no system call. Any additional time is
/// the core's clock, a second thread on the same core, or another user of the cpu: an interrupt, another program, the hypervisor. Quiet
/// cpus make the tail short; more cpus do not. It is a closed loop: the next request comes after the last answer, so one long stall is one
/// long request, however many would have come meanwhile.
///
/// The result is checked. The histogram holds the expected number of requests, and their sums match the closed form (an arithmetic series).
/// No thread's requests took longer in all than the thread did by another clock, and the quantiles are in order.
///
/// # Errors
/// See [`WorkError`].
pub fn run(
    settings: &WorkloadSettings,
    options: &TailWorkOptions,
    company: &mut WorkloadHost<'_>,
) -> Result<WorkloadReport, WorkError> {
    let options = admit_options(options)?;
    let request_ns = f64::from(options.additions) * CYCLE_NS + AROUND_NS + options.gap.as_nanos() as f64;
    let amount = WorkAmount::from_settings(settings, (USUAL_NS / request_ns) as u64)?;
    (company.progress)("calibrating the clock");
    let clock = TickClock::calibrate_best();
    (company.progress)("serving requests");
    let work = |thread| {
        let duty = thread_duty(settings, &options, amount, thread);
        let mut histogram = TickHistogram::new(clock.nanoseconds_per_tick);
        let (served, span) = WorkSpan::time_work(|| match clock.source {
            ClockSource::Counter(counter) => serve_requests(counter, &clock, &duty, company.stop, &mut histogram),
            ClockSource::System(system) => serve_requests(system, &clock, &duty, company.stop, &mut histogram),
        });
        Ok(ThreadShift { duty, served, histogram, span })
    };
    let shifts = run_crew(settings, "tail", work)?;
    company.check_stop()?;
    build_report(&shifts, amount, clock.nanoseconds_per_tick)
}

/// Validates the options and rounds the additions.
fn admit_options(options: &TailWorkOptions) -> Result<TailWorkOptions, WorkError> {
    let wrong = |what: &str, why: String| Err(WorkError::Input { what: what.into(), why });
    if !(1..=MOST_ADDITIONS).contains(&options.additions) {
        return wrong("additions", format!("{} is not between 1 and {MOST_ADDITIONS}", options.additions));
    }
    if options.gap > LONGEST_GAP {
        return wrong("gap", format!("{:?} is longer than {LONGEST_GAP:?}", options.gap));
    }
    Ok(TailWorkOptions { additions: options.additions.next_multiple_of(ADDITIONS_PER_TURN), gap: options.gap })
}

/// Work of one thread.
#[derive(Clone, Debug)]
struct ThreadDuty {
    /// Start value of the first request's additions; each next request's is one more.
    first: u64,
    /// Number of requests, or the time for which they are served.
    amount: WorkAmount,
    options: TailWorkOptions,
}

fn thread_duty(
    settings: &WorkloadSettings,
    options: &TailWorkOptions,
    amount: WorkAmount,
    thread: usize,
) -> ThreadDuty {
    let (thread, threads) = (thread as u64, settings.threads as u64);
    let (from, own) = match amount {
        WorkAmount::Items(all) => {
            let until = |thread: u64| (u128::from(all) * u128::from(thread) / u128::from(threads)) as u64;
            (until(thread), WorkAmount::Items(until(thread + 1) - until(thread)))
        }
        WorkAmount::Time(_) => (thread * APART, amount),
    };
    ThreadDuty { first: settings.seed.wrapping_add(from), amount: own, options: options.clone() }
}

/// Results of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ServedRequests {
    requests: u64,
    /// Sum of all answers.
    sum: u64,
    /// Ticks that requests took.
    ticks: u64,
}

fn serve_requests<T: TickSource>(
    ticks: T,
    clock: &TickClock,
    duty: &ThreadDuty,
    stop: &AtomicBool,
    histogram: &mut TickHistogram,
) -> ServedRequests {
    let (begin, mut served) = (ticks.read_ticks(), ServedRequests::default());
    let gap = clock.ticks_of(duty.options.gap);
    loop {
        let next = match duty.amount {
            WorkAmount::Items(all) => (all - served.requests).min(REQUESTS_PER_LOOK),
            WorkAmount::Time(time)
                if served.requests > 0 && ticks.read_ticks().saturating_sub(begin) >= clock.ticks_of(time) =>
            {
                0
            }
            WorkAmount::Time(_) => REQUESTS_PER_LOOK,
        };
        if next == 0 || stop.load(Ordering::Relaxed) {
            return served;
        }
        let first = duty.first.wrapping_add(served.requests);
        if gap == 0 {
            answer_requests(ticks, first, next, duty.options.additions, histogram, &mut served);
        } else {
            answer_requests(ticks, first, 1, duty.options.additions, histogram, &mut served);
            pause_for(ticks, gap, stop);
        }
    }
}

/// Serves some requests, back to back.
fn answer_requests<T: TickSource>(
    ticks: T,
    first: u64,
    requests: u64,
    additions: u32,
    histogram: &mut TickHistogram,
    served: &mut ServedRequests,
) {
    for number in 0..requests {
        let begin = ticks.read_ticks();
        let answer = black_box(dependent_additions(black_box(additions), black_box(first.wrapping_add(number))));
        // A counter of another cpu may be behind by a few ticks.
        let took = ticks.read_ticks().saturating_sub(begin);
        histogram.record_ticks(took);
        served.ticks += took;
        served.sum = served.sum.wrapping_add(answer);
    }
    served.requests += requests;
}

fn pause_for<T: TickSource>(ticks: T, gap: u64, stop: &AtomicBool) {
    let begin = ticks.read_ticks();
    while ticks.read_ticks().saturating_sub(begin) < gap && !stop.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

/// One thread's part of the result.
struct ThreadShift {
    duty: ThreadDuty,
    served: ServedRequests,
    histogram: TickHistogram,
    span: WorkSpan,
}

fn build_report(
    shifts: &[ThreadShift],
    amount: WorkAmount,
    nanoseconds_per_tick: f64,
) -> Result<WorkloadReport, WorkError> {
    let mut all = TickHistogram::new(nanoseconds_per_tick);
    for shift in shifts {
        check_shift(shift, nanoseconds_per_tick)?;
        all.merge_from(&shift.histogram);
    }
    let requests = shifts.iter().map(|shift| shift.served.requests).sum();
    check_histogram(&all, if let WorkAmount::Items(items) = amount { items } else { requests })?;
    let quantile = |name: &str, at| MetricLine::new(name, all.quantile_ns(at));
    let seconds = WorkSpan::total_seconds(shifts.iter().map(|shift| shift.span));
    Ok(WorkloadReport {
        metrics: vec![
            quantile("p99.9_ns", 0.999),
            quantile("p99_ns", 0.99),
            quantile("p50_ns", 0.5),
            MetricLine::new("max_ns", all.max_ns()),
            MetricLine::new("requests_per_second", requests as f64 / seconds),
        ],
        limit: WorkloadLimit::Compute,
        checked: format!(
            "all {requests} requests are in the histogram, and the sums of their answers match the closed form exactly"
        ),
        checksum: amount
            .is_fixed()
            .then(|| shifts.iter().fold(0, |sum: u64, shift| sum.wrapping_add(shift.served.sum))),
    })
}

/// Returns the sum of the answers to `requests` requests: each adds `start | 1` to its start `additions` times, and starts are consecutive.
fn expected_sum(first: u64, requests: u64, additions: u32) -> u64 {
    let pairs = (u128::from(requests) * u128::from(requests.saturating_sub(1)) / 2) as u64;
    let starts = first.wrapping_mul(requests).wrapping_add(pairs);
    let even = if first.is_multiple_of(2) { requests.div_ceil(2) } else { requests / 2 };
    starts.wrapping_add(starts.wrapping_add(even).wrapping_mul(u64::from(additions)))
}

/// Checks one thread's result.
///
/// # Errors
/// [`WorkError::Wrong`] if a thread's answers, number of requests or time are impossible.
fn check_shift(shift: &ThreadShift, nanoseconds_per_tick: f64) -> Result<(), WorkError> {
    let ThreadShift { duty, served, histogram, span } = shift;
    let wanted = expected_sum(duty.first, served.requests, duty.options.additions);
    if served.sum != wanted {
        return Err(WorkError::Wrong(format!("the answers' sum is {} instead of {wanted} (closed form)", served.sum)));
    }
    if histogram.count() != served.requests {
        let (held, requests) = (histogram.count(), served.requests);
        return Err(WorkError::Wrong(format!("a histogram holds {held} of {requests} requests")));
    }
    let (busy_ns, all_ns) =
        (served.ticks as f64 * nanoseconds_per_tick, span.end.duration_since(span.begin).as_nanos() as f64);
    if busy_ns > all_ns * (1.0 + RATE_TOLERANCE) + 1e3 {
        return Err(WorkError::Wrong(format!(
            "requests took {busy_ns} ns in all on a thread that ran for {all_ns} ns"
        )));
    }
    Ok(())
}

/// Checks the merged histogram.
///
/// # Errors
/// [`WorkError::Wrong`] if the histogram holds another number of requests, or its quantiles are not in order.
fn check_histogram(all: &TickHistogram, requests: u64) -> Result<(), WorkError> {
    let quantiles = [0.5, 0.99, 0.999, 1.0].map(|at| all.quantile_ns(at));
    if all.count() != requests {
        return Err(WorkError::Wrong(format!("the histogram holds {} of {requests} requests", all.count())));
    }
    if !quantiles.is_sorted() || quantiles[3] > all.max_ns() {
        return Err(WorkError::Wrong(format!("quantiles are not in order: {quantiles:?}, {}", all.max_ns())));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
