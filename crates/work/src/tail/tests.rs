//! Tests of the server.

use super::*;
use crate::WorkloadSize;

fn run_with(
    settings: &WorkloadSettings,
    options: &TailWorkOptions,
    stop: &AtomicBool,
) -> Result<WorkloadReport, WorkError> {
    run(settings, options, &mut WorkloadHost { stop, progress: &mut |_| () })
}

fn small(threads: usize) -> WorkloadSettings {
    WorkloadSettings { size: WorkloadSize::Share(0.001), ..WorkloadSettings::new(threads) }
}

#[test]
fn the_answers_are_the_same_with_any_number_of_threads() {
    let stop = AtomicBool::new(false);
    let checksum = |settings: &WorkloadSettings, additions| {
        let options = TailWorkOptions { additions, ..TailWorkOptions::default() };
        run_with(settings, &options, &stop).unwrap().checksum.unwrap()
    };
    let one = checksum(&small(1), 1000);
    assert_eq!([checksum(&small(2), 1000), checksum(&small(5), 1000)], [one; 2]);
    assert_ne!(checksum(&WorkloadSettings { seed: 2, ..small(2) }, 1000), one);
    // More threads than requests.
    let few = WorkloadSettings { size: WorkloadSize::Share(1e-7), ..small(3) };
    assert_eq!(checksum(&few, 981), checksum(&WorkloadSettings { threads: 1, ..few.clone() }, 1000), "rounded up");
}

#[test]
fn the_quantiles_are_told_and_the_worst_is_last() {
    let stop = AtomicBool::new(false);
    let time = WorkloadSettings { size: WorkloadSize::Time(Duration::from_millis(10)), ..small(2) };
    let options = TailWorkOptions { gap: Duration::from_micros(1), ..TailWorkOptions::default() };
    let report = run_with(&time, &options, &stop).unwrap();
    let names: Vec<&str> = report.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, ["p99.9_ns", "p99_ns", "p50_ns", "max_ns", "requests_per_second"]);
    assert!(report.metrics.iter().all(|metric| metric.value > 0.0), "{report:?}");
    assert_eq!(report.checksum, None);
}

#[test]
fn the_closed_form_is_the_sum_of_the_answers() {
    for (first, requests, additions) in
        [(0_u64, 5_u64, 20), (7, 6, 40), (u64::MAX - 2, 9, 1000), (3, 0, 20), (8, 1, 60)]
    {
        let answer = |number: u64| dependent_additions(additions, first.wrapping_add(number));
        let sum = (0..requests).fold(0_u64, |sum, number| sum.wrapping_add(answer(number)));
        assert_eq!(expected_sum(first, requests, additions), sum, "{first} {requests} {additions}");
    }
}

/// A thread's work as it is, and then spoiled in each of the ways that are looked for.
#[test]
fn spoiled_results_are_found() {
    let (clock, stop) = (TickClock::calibrate_best(), AtomicBool::new(false));
    let duty = thread_duty(&small(1), &TailWorkOptions::default(), WorkAmount::Items(1000), 0);
    let shift = |spoil: fn(&mut ThreadShift)| {
        let mut histogram = TickHistogram::new(clock.nanoseconds_per_tick);
        let (served, span) = WorkSpan::time_work(|| match clock.source {
            ClockSource::Counter(counter) => serve_requests(counter, &clock, &duty, &stop, &mut histogram),
            ClockSource::System(system) => serve_requests(system, &clock, &duty, &stop, &mut histogram),
        });
        let mut shift = ThreadShift { duty: duty.clone(), served, histogram, span };
        spoil(&mut shift);
        check_shift(&shift, clock.nanoseconds_per_tick)
    };
    assert!(shift(|_| ()).is_ok());
    let spoiled: [fn(&mut ThreadShift); 4] = [
        |shift| shift.served.sum ^= 1,
        |shift| shift.duty.first += 1,
        |shift| shift.histogram.record_ticks(1),
        |shift| shift.span.end = shift.span.begin + shift.span.end.duration_since(shift.span.begin) / 2,
    ];
    // The last only where the thread was not interrupted for half of its time.
    for spoil in &spoiled[..3] {
        assert!(matches!(shift(*spoil), Err(WorkError::Wrong(_))));
    }
    assert!((0..20).any(|_| matches!(shift(spoiled[3]), Err(WorkError::Wrong(_)))));
    let mut histogram = TickHistogram::new(1.0);
    (1..=1000).for_each(|ticks| histogram.record_ticks(ticks));
    assert!(check_histogram(&histogram, 1000).is_ok());
    assert!(matches!(check_histogram(&histogram, 1001), Err(WorkError::Wrong(_))));
}

#[test]
fn it_is_stopped_in_the_middle_of_a_pause_and_refuses_what_cannot_be() {
    let stop = AtomicBool::new(false);
    let long = TailWorkOptions { gap: LONGEST_GAP, ..TailWorkOptions::default() };
    std::thread::scope(|scope| {
        let run = scope.spawn(|| run_with(&WorkloadSettings::new(2), &long, &stop));
        std::thread::sleep(Duration::from_millis(80));
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(run.join().unwrap(), Err(WorkError::Stopped)));
    });
    // For ever, if it did not look.
    if let ClockSource::Counter(counter) = TickClock::calibrate_best().source {
        pause_for(counter, u64::MAX, &stop);
    }
    let stop = AtomicBool::new(false);
    for options in [
        TailWorkOptions { additions: 0, ..TailWorkOptions::default() },
        TailWorkOptions { additions: MOST_ADDITIONS + 1, ..TailWorkOptions::default() },
        TailWorkOptions { gap: Duration::MAX, ..TailWorkOptions::default() },
    ] {
        assert!(matches!(run_with(&small(1), &options, &stop), Err(WorkError::Input { .. })), "{options:?}");
    }
}
