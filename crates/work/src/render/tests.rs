use std::time::Duration;

use super::*;
use crate::WorkloadSize;

fn small(threads: usize) -> (WorkloadSettings, RenderOptions) {
    let settings = WorkloadSettings { size: WorkloadSize::Share(1.0), ..WorkloadSettings::new(threads) };
    (settings, RenderOptions { width: 40, height: 33, samples: 2, triangles: 2_000, ..RenderOptions::default() })
}

fn run_with(settings: &WorkloadSettings, options: &RenderOptions) -> Result<WorkloadReport, WorkError> {
    let mut company = WorkloadHost { stop: &AtomicBool::new(false), progress: &mut |_| {} };
    run(settings, options, &mut company)
}

#[test]
fn the_picture_is_the_same_for_any_threads_and_any_memory_and_another_for_another_seed() {
    let checksum = |threads, numa_aware, seed| {
        let (settings, options) = small(threads);
        run_with(&WorkloadSettings { seed, ..settings }, &RenderOptions { numa_aware, ..options })
            .unwrap()
            .checksum
            .unwrap()
    };
    let first = checksum(1, false, 1);
    for threads in [1, 2, 5, 40] {
        assert_eq!(checksum(threads, true, 1), first, "{threads} threads with copies");
        assert_eq!(checksum(threads, false, 1), first, "{threads} threads with one scene");
    }
    assert_ne!(checksum(2, true, 2), first);
}

#[test]
fn pinned_threads_stay_where_they_are_pinned() {
    let (settings, options) = small(2);
    let cpus: Vec<u32> = corewise_sys::affinity::current_affinity().unwrap().iter().collect();
    let report = run_with(&WorkloadSettings { cpus, ..settings.clone() }, &options).unwrap();
    assert_eq!(report.checksum, run_with(&settings, &options).unwrap().checksum);
    assert!(run_with(&WorkloadSettings { cpus: vec![8_000], ..settings }, &options).is_err());
}

#[test]
fn the_picture_is_written_where_it_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let (settings, options) = small(2);
    let output = folder.path().join("pictures");
    run_with(&settings, &RenderOptions { output: Some(output.clone()), ..options.clone() }).unwrap();
    assert!(std::fs::read(output.join("render.png")).unwrap().starts_with(b"\x89PNG"));
    std::fs::write(folder.path().join("file"), "").unwrap();
    let error = run_with(&settings, &RenderOptions { output: Some(folder.path().join("file")), ..options });
    assert!(matches!(error, Err(WorkError::System { .. })), "{error:?}");
}

#[test]
fn a_size_in_time_adds_rounds_up_and_has_no_checksum() {
    let (settings, options) = small(2);
    let settings = WorkloadSettings { size: WorkloadSize::Time(Duration::from_millis(20)), ..settings };
    let report = run_with(&settings, &options).unwrap();
    assert_eq!((report.checksum, report.metrics[0].name.as_str()), (None, "samples_per_second"));
    assert!(report.metrics.iter().all(|metric| metric.value.is_finite() && metric.value > 0.0));
}

#[test]
fn it_ends_when_it_is_stopped() {
    let (settings, options) = small(3);
    for size in [WorkloadSize::Share(1_000.0), WorkloadSize::Time(Duration::from_secs(1_000_000))] {
        let stop = AtomicBool::new(false);
        let mut company =
            WorkloadHost { stop: &stop, progress: &mut |what| stop.store(what == "tracing paths", Ordering::Relaxed) };
        let ended = run(&WorkloadSettings { size, ..settings.clone() }, &options, &mut company);
        assert!(matches!(ended, Err(WorkError::Stopped)), "{ended:?}");
    }
}
