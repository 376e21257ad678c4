//! Tests of the whole solver.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::WorkloadSize;

fn run_with(settings: &WorkloadSettings, shape: [usize; 3], stop: &AtomicBool) -> Result<WorkloadReport, WorkError> {
    run(settings, &EulerOptions { shape }, &mut WorkloadHost { stop, progress: &mut |_| () })
}

fn solved(problem: &EulerProblem<'_>, threads: usize) -> EulerSolution {
    solve_problem(&WorkloadSettings::new(threads), problem, &AtomicBool::new(false)).unwrap()
}

#[test]
fn the_result_is_the_same_with_any_number_of_threads() {
    let shape = [12, 10, 9];
    let balls = GasBalls::new(shape, 4);
    let problem = EulerProblem { shape, width: 1.0, gas: &|cell| balls.gas_in(cell), until: SolverEnd::Steps(12) };
    let one = solved(&problem, 1);
    for threads in [2, 5, 9, 13] {
        let several = solved(&problem, threads);
        assert_eq!((cells_checksum(&several), several.sums), (cells_checksum(&one), one.sums), "{threads}");
    }
    let other = GasBalls::new(shape, 5);
    let problem = EulerProblem { gas: &|cell| other.gas_in(cell), ..problem };
    assert_ne!(cells_checksum(&solved(&problem, 2)), cells_checksum(&one));
}

#[test]
fn a_run_tells_its_rates_and_is_the_same_each_time() {
    let stop = AtomicBool::new(false);
    let settings = WorkloadSettings { size: WorkloadSize::Share(1e-3), ..WorkloadSettings::new(2) };
    let report = run_with(&settings, [8, 8, 16], &stop).unwrap();
    let names: Vec<&str> = report.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, ["cell_updates_per_second", "steps_per_second"]);
    let again = run_with(&WorkloadSettings { threads: 3, ..settings.clone() }, [8, 8, 16], &stop).unwrap();
    assert_eq!(again.checksum, report.checksum);
    let time = WorkloadSettings { size: WorkloadSize::Time(Duration::from_millis(5)), ..settings };
    assert_eq!(run_with(&time, [8, 8, 16], &stop).unwrap().checksum, None);
}

/// Half a cell's width of a tube to the side, another moment, or another row are all farther from the exact solution than is allowed.
#[test]
fn spoiled_results_are_found() {
    let mut tubes = solved(&sod_problem(2), 2);
    assert!(check_sod(&tubes, 2).unwrap() < 1.0);
    assert!(matches!(check_sod(&tubes, 1), Err(WorkError::Wrong(_))));
    let early = EulerProblem { until: SolverEnd::Moment(0.97 * SOD_MOMENT), ..sod_problem(2) };
    assert!(matches!(check_sod(&solved(&early, 2), 2), Err(WorkError::Wrong(_))));
    let shape = [ACROSS, ACROSS, 2 * TUBE];
    assert!(check_sums(&tubes, shape).is_ok());
    for part in 0..PARTS {
        let kept = tubes.sums;
        tubes.sums[1][part] += 1e-8;
        assert!(matches!(check_sums(&tubes, shape), Err(WorkError::Wrong(_))), "{part}");
        tubes.sums[1][part] = f64::NAN;
        assert!(matches!(check_sums(&tubes, shape), Err(WorkError::Wrong(_))), "{part}");
        tubes.sums = kept;
    }
}

/// The gas of a box turned so that y is x, z is y and x is z moves as the gas does.
#[test]
fn no_direction_is_another() {
    let x = solved(&sod_problem(0), 2);
    for direction in 0..3 {
        let tubes = solved(&sod_problem(direction), 1);
        let gas = |place: usize| {
            let mut cell = [0; 3];
            cell[direction] = place;
            gas_along(&tubes, cell, direction)
        };
        let [a, b] = [gas(TUBE - 20), gas(TUBE + 19)];
        assert_eq!(gas(150), gas_along(&x, [150, 2, 1], 0));
        assert!((a[0] - b[0]).abs() < 1e-12 && (a[1] + b[1]).abs() < 1e-12, "{a:?} {b:?}");
    }
}

#[test]
fn a_gas_that_is_none_is_told_by_all_threads() {
    for threads in [1, 3] {
        let gas = |cell: [usize; 3]| [if cell == [1, 2, 3] { -1.0 } else { 1.0 }, 0.0, 0.0, 0.0, 1.0];
        let problem = EulerProblem { shape: [4, 4, 8], width: 1.0, gas: &gas, until: SolverEnd::Steps(3) };
        let found = solve_problem(&WorkloadSettings::new(threads), &problem, &AtomicBool::new(false));
        assert!(matches!(found, Err(WorkError::Wrong(_))), "{threads}");
    }
}

#[test]
fn it_is_stopped_and_refuses_what_cannot_be() {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let settings =
            WorkloadSettings { size: WorkloadSize::Time(Duration::from_secs(3600)), ..WorkloadSettings::new(3) };
        let stop = &stop;
        let run = scope.spawn(move || run_with(&settings, [16, 16, 16], stop));
        std::thread::sleep(Duration::from_millis(60));
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(run.join().unwrap(), Err(WorkError::Stopped)));
    });
    let stop = AtomicBool::new(false);
    for shape in [[3, 64, 64], [0, 4, 4], [1 << 20, 1 << 20, 1 << 40], [4096, 4096, 8]] {
        assert!(matches!(run_with(&WorkloadSettings::new(1), shape, &stop), Err(WorkError::Input { .. })), "{shape:?}");
    }
    let nowhere = WorkloadSettings { cpus: vec![8000], ..WorkloadSettings::new(2) };
    assert!(matches!(run_with(&nowhere, [8, 8, 8], &stop), Err(WorkError::System { .. })));
}
