use std::time::Duration;

use super::*;
use crate::WorkloadSize;

/// A thousandth of a pass, and few triangles.
fn small(threads: usize) -> (WorkloadSettings, RaymeshOptions) {
    let settings = WorkloadSettings { size: WorkloadSize::Share(3e-4), ..WorkloadSettings::new(threads) };
    (settings, RaymeshOptions { mesh: MeshSource::Procedural { triangles: 2_000 }, ..RaymeshOptions::default() })
}

fn run_with(settings: &WorkloadSettings, options: &RaymeshOptions) -> Result<WorkloadReport, WorkError> {
    let mut company = WorkloadHost { stop: &AtomicBool::new(false), progress: &mut |_| {} };
    run(settings, options, &mut company)
}

#[test]
fn the_result_is_the_same_for_any_threads_and_any_split_and_another_for_another_seed() {
    let checksum = |threads, split, seed| {
        let (settings, options) = small(threads);
        run_with(&WorkloadSettings { seed, ..settings }, &RaymeshOptions { split, ..options })
            .unwrap()
            .checksum
            .unwrap()
    };
    let first = checksum(1, RowSplit::Fixed, 1);
    for threads in [1, 2, 5, 100] {
        assert_eq!(checksum(threads, RowSplit::Fixed, 1), first, "{threads} threads, fixed");
        assert_eq!(checksum(threads, RowSplit::Queue, 1), first, "{threads} threads, queue");
    }
    assert_ne!(checksum(2, RowSplit::Queue, 2), first);
}

#[test]
fn tables_are_saved_where_they_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let (settings, options) = small(2);
    let output = folder.path().join("tables");
    run_with(&settings, &RaymeshOptions { output: Some(output.clone()), ..options }).unwrap();
    let mut names: Vec<String> =
        std::fs::read_dir(&output).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["1.pfm", "1.png", "2.pfm", "2.png", "3.pfm", "3.png"].map(|name| format!("raymesh-{name}")));
    // Somewhere there is shadow, and somewhere there is none.
    let table = std::fs::read(output.join("raymesh-1.pfm")).unwrap();
    let header = table.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(2).unwrap().0 + 1;
    let ways: Vec<f32> =
        table[header..].chunks_exact(4).map(|way| f32::from_le_bytes(way.try_into().unwrap())).collect();
    assert!(ways.iter().any(|way| (0.01..2.0).contains(way)) && ways.iter().any(|way| *way > 3.0));
}

#[test]
fn a_table_that_cannot_be_saved_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (settings, options) = small(2);
    // The file that the second table is to have is a folder, whoever asks.
    std::fs::create_dir(folder.path().join("raymesh-2.pfm")).unwrap();
    let error = run_with(&settings, &RaymeshOptions { output: Some(folder.path().to_owned()), ..options }).unwrap_err();
    assert!(matches!(&error, WorkError::System { what, .. } if what.ends_with("raymesh-2.pfm")), "{error}");
}

#[test]
fn a_mesh_out_of_a_file_is_traced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("roof.obj");
    std::fs::write(&path, "v 0 0 0\nv 9 0 0\nv 9 2 9\nv 0 2 9\nf 1 2 3 4\n").unwrap();
    let (settings, options) = small(2);
    run_with(&settings, &RaymeshOptions { mesh: MeshSource::File(path), ..options }).unwrap();
}

#[test]
fn what_cannot_be_used_is_told() {
    let (settings, options) = small(1);
    let is_input = |settings: &WorkloadSettings, options: &RaymeshOptions| {
        matches!(run_with(settings, options), Err(WorkError::Input { .. }))
    };
    for triangles in [0, 5_000_001] {
        assert!(is_input(&settings, &RaymeshOptions { mesh: MeshSource::Procedural { triangles }, ..options.clone() }));
    }
    assert!(is_input(&settings, &RaymeshOptions { mesh: MeshSource::File("/none".into()), ..options.clone() }));
    assert!(is_input(&WorkloadSettings { threads: 0, ..settings.clone() }, &options));
    assert!(is_input(&WorkloadSettings { size: WorkloadSize::Share(f64::NAN), ..settings }, &options));
}

#[test]
fn a_size_in_time_repeats_rounds_and_has_no_checksum() {
    let (settings, options) = small(2);
    let settings = WorkloadSettings { size: WorkloadSize::Time(Duration::from_millis(1)), ..settings };
    let report = run_with(&settings, &options).unwrap();
    assert_eq!((report.checksum, report.metrics[0].name.as_str()), (None, "rays_per_second"));
    assert!(report.metrics.iter().all(|metric| metric.value.is_finite() && metric.value > 0.0));
}

#[test]
fn it_ends_when_it_is_stopped() {
    let (settings, options) = small(3);
    for size in [WorkloadSize::Share(1_000.0), WorkloadSize::Time(Duration::from_secs(1_000_000))] {
        let stop = AtomicBool::new(false);
        let mut company = WorkloadHost {
            stop: &stop,
            progress: &mut |what| stop.store(what.starts_with("table 1"), Ordering::Relaxed),
        };
        let ended = run(&WorkloadSettings { size, ..settings.clone() }, &options, &mut company);
        assert!(matches!(ended, Err(WorkError::Stopped)), "{ended:?}");
    }
}
