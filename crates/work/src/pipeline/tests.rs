use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;

const SMALL: WorkloadSize = WorkloadSize::Share(0.001);
const VIAS: [MessageTransport; 3] =
    [MessageTransport::Channel, MessageTransport::Ring(RingSlots::Packed), MessageTransport::Ring(RingSlots::Padded)];

fn run_with(threads: usize, size: WorkloadSize, options: &PipelineOptions) -> Result<WorkloadReport, WorkError> {
    let stop = AtomicBool::new(false);
    run(
        &WorkloadSettings { size, ..WorkloadSettings::new(threads) },
        options,
        &mut WorkloadHost { stop: &stop, progress: &mut |_| () },
    )
}

/// A file with lines, that is deleted in the end.
fn file(text: &[u8]) -> (tempfile::NamedTempFile, PipelineOptions) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let options = PipelineOptions { input: Some(file.path().to_path_buf()), ..PipelineOptions::default() };
    (file, options)
}

fn why(text: &[u8]) -> String {
    let (file, options) = file(text);
    let error = run_with(1, SMALL, &options).unwrap_err();
    assert!(matches!(error, WorkError::Input { .. }), "{error}");
    error.to_string().replace(&file.path().display().to_string(), "FILE")
}

#[test]
fn the_result_is_the_same_with_any_threads_links_batches_and_lanes() {
    let alone = run_with(1, SMALL, &PipelineOptions::default()).unwrap().checksum;
    assert!(alone.is_some());
    let same = |threads, options: PipelineOptions| {
        let report = run_with(threads, SMALL, &options).unwrap();
        assert_eq!(report.checksum, alone, "{threads} threads, {options:?}");
    };
    for via in VIAS {
        let usual = PipelineOptions { via, ..PipelineOptions::default() };
        for threads in [2, 3, 5, 40] {
            same(threads, usual.clone());
        }
        for (threads, lane_threads) in [(3, 1), (4, 4), (7, 5)] {
            same(threads, PipelineOptions { lane_threads, ..usual.clone() });
        }
        for (batch, capacity) in [(7, 3), (1000, 1)] {
            same(3, PipelineOptions { batch, capacity, ..usual.clone() });
        }
    }
}

#[test]
fn a_time_is_worked_for_and_has_no_checksum() {
    for via in VIAS {
        let options = PipelineOptions { via, ..PipelineOptions::default() };
        let report = run_with(3, WorkloadSize::Time(Duration::from_millis(20)), &options).unwrap();
        assert_eq!(report.checksum, None);
        let names: Vec<_> = report.metrics.iter().map(|metric| metric.name.as_str()).collect();
        assert_eq!(names, ["megabytes_per_second", "lines_per_second"]);
        assert!(report.metrics.iter().all(|metric| metric.value > 0.0));
    }
}

#[test]
fn a_file_is_passed_as_often_as_the_size_wants_and_blank_lines_are_left_out() {
    let (_file, options) = file(b"{\"service\":\"a\",\"bytes\":18446744073709551615}\n\n {\"level\":\"x\"}\r\n{}\n");
    let size = WorkloadSize::Share(1e-4);
    let one = run_with(1, size, &options).unwrap();
    let three =
        run_with(3, size, &PipelineOptions { via: MessageTransport::Ring(RingSlots::Padded), ..options }).unwrap();
    assert_eq!(one.checksum, three.checksum);
    assert!(one.checked.starts_with("all ") && !one.checked.contains("closed form"), "{}", one.checked);
}

#[test]
fn a_broken_file_is_told_with_the_line() {
    assert_eq!(why(b"{}\n\n{\"a\":}\n"), "FILE, line 3: expected value at column 6");
    assert_eq!(why(b"{}\n[1]\n"), "FILE, line 2: invalid type: sequence, expected a map at column 0");
    assert!(why(b"{\"a\":\"\xff\"}").starts_with("FILE, line 1: invalid unicode"));
    assert_eq!(why(b"\n \n"), "FILE: it is empty, or has only blank lines");
    assert_eq!(why(&[b' '; (64 << 10) + 1]), "FILE, line 1: longer than 64 KiB");
    let options = PipelineOptions { input: Some("/nowhere/at all".into()), ..PipelineOptions::default() };
    let error = run_with(1, SMALL, &options).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/at all: "), "{error}");
}

#[test]
fn wrong_options_and_sizes_are_told() {
    let wrong = |options: PipelineOptions| matches!(run_with(2, SMALL, &options), Err(WorkError::Input { .. }));
    assert!(wrong(PipelineOptions { batch: 0, ..PipelineOptions::default() }));
    assert!(wrong(PipelineOptions { capacity: 0, ..PipelineOptions::default() }));
    assert!(wrong(PipelineOptions { batch: 1 << 8, capacity: 1 << 7, ..PipelineOptions::default() }));
    assert!(wrong(PipelineOptions { batch: usize::MAX, capacity: usize::MAX, ..PipelineOptions::default() }));
    assert!(wrong(PipelineOptions { lane_threads: 0, ..PipelineOptions::default() }));
    assert!(wrong(PipelineOptions { lane_threads: 6, ..PipelineOptions::default() }));
    for share in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(
            matches!(
                run_with(1, WorkloadSize::Share(share), &PipelineOptions::default()),
                Err(WorkError::Input { .. })
            ),
            "{share}"
        );
    }
}

#[test]
fn an_error_in_a_stage_ends_all_threads_and_is_the_one_that_is_told() {
    let mut text = b"{}\n".repeat(500);
    text.extend_from_slice(b"{\n");
    let input = PipelineInput::new(text, Some("FILE".into())).unwrap();
    let stop = AtomicBool::new(false);
    for (threads, via) in [1, 2, 3, 5, 9].into_iter().flat_map(|threads| VIAS.map(|via| (threads, via))) {
        let options = PipelineOptions { via, capacity: 2, lane_threads: 5, ..PipelineOptions::default() };
        let error =
            pass_lines(&WorkloadSettings::new(threads), &options, &input, PipelineHalt::new(&stop)).unwrap_err();
        assert_eq!(error.to_string(), "FILE, line 501: EOF while parsing an object at column 1", "{threads} {via:?}");
    }
}

#[test]
fn a_thread_that_cannot_be_pinned_does_not_keep_the_others_waiting() {
    for via in VIAS {
        let cpu = corewise_sys::affinity::current_affinity().unwrap().lowest().unwrap();
        let settings = WorkloadSettings { cpus: vec![cpu, 8000, cpu], ..WorkloadSettings::new(3) };
        let stop = AtomicBool::new(false);
        let options = PipelineOptions { via, ..PipelineOptions::default() };
        let error = run(&settings, &options, &mut WorkloadHost { stop: &stop, progress: &mut |_| () }).unwrap_err();
        assert!(error.to_string().starts_with("pinning a thread to cpu 8000"), "{error}");
    }
}

#[test]
fn it_ends_when_it_is_stopped() {
    for (threads, via) in [1, 3, 5].into_iter().flat_map(|threads| VIAS.map(|via| (threads, via))) {
        let stop = AtomicBool::new(false);
        let options = PipelineOptions { via, ..PipelineOptions::default() };
        let settings = WorkloadSettings { size: WorkloadSize::Share(1e6), ..WorkloadSettings::new(threads) };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(30));
                stop.store(true, Ordering::Relaxed);
            });
            let ended = run(&settings, &options, &mut WorkloadHost { stop: &stop, progress: &mut |_| () });
            assert!(matches!(ended, Err(WorkError::Stopped)), "{threads} {via:?}");
        });
    }
}

#[test]
fn a_result_that_is_wrong_anywhere_is_found() {
    let (input, stop) = (PipelineInput::from_seed(2), AtomicBool::new(false));
    let settings = WorkloadSettings { size: SMALL, ..WorkloadSettings::new(1) };
    let found = pass_lines(&settings, &PipelineOptions::default(), &input, PipelineHalt::new(&stop)).unwrap();
    let company = WorkloadHost { stop: &stop, progress: &mut |_| () };
    assert!(check_result(&found, &input, &company).is_ok());
    let tallies = |change: fn(&mut ServiceTally)| {
        let mut tallies = found.tallies.clone();
        tallies.values_mut().take(1).for_each(change);
        tallies
    };
    for spoiled in [
        WorkerResult { lines: found.lines - 1, ..found.clone() },
        WorkerResult { taken: found.taken + 1, lines: found.lines + 1, ..found.clone() },
        WorkerResult { bytes: found.bytes + 1, ..found.clone() },
        WorkerResult { checksum: found.checksum ^ 1, ..found.clone() },
        WorkerResult { tallies: tallies(|tally| tally.bytes += 1), ..found.clone() },
        WorkerResult { tallies: tallies(|tally| tally.lines -= 1), ..found.clone() },
    ] {
        assert!(matches!(check_result(&spoiled, &input, &company), Err(WorkError::Wrong(_))), "{spoiled:?}");
    }
}

#[test]
fn straight_lanes_give_what_one_thread_gives() {
    let input = PipelineInput::from_seed(1);
    let alone = straight::run_alone(&input, 40_000, &AtomicBool::new(false)).unwrap();
    let lanes = straight::run_lanes(&input, 40_000, 2, 64);
    assert_eq!(straight::StraightOutcome { seconds: alone.seconds, ..lanes }, alone);
}
