//! Tests of the walks.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::*;
use crate::WorkloadSize;

fn run_with(settings: &WorkloadSettings, options: &ParticlesOptions, stop: bool) -> Result<WorkloadReport, WorkError> {
    run(settings, options, &mut WorkloadHost { stop: &AtomicBool::new(stop), progress: &mut |_| () })
}

fn small(threads: usize) -> WorkloadSettings {
    WorkloadSettings { size: WorkloadSize::Share(0.02), ..WorkloadSettings::new(threads) }
}

#[test]
fn the_result_is_the_same_with_any_number_of_threads() {
    let checksum = |settings: &WorkloadSettings| {
        run_with(settings, &ParticlesOptions::default(), false).unwrap().checksum.unwrap()
    };
    let one = checksum(&small(1));
    assert_eq!([checksum(&small(2)), checksum(&small(5)), checksum(&small(70))], [one; 3]);
    assert_ne!(checksum(&WorkloadSettings { seed: 2, ..small(2) }), one);
}

#[test]
fn each_movement_has_its_rate_and_the_first_is_their_geometric_mean() {
    let rates = [("a", 1e6), ("b", 4e6)];
    let told: Vec<String> = build_report(&rates, 1.0, None).metrics.iter().map(MetricLine::to_string).collect();
    assert_eq!(told.len(), 3);
    assert!((build_report(&rates, 1.0, None).metrics[0].value / 2e6 - 1.0).abs() < 1e-12, "{told:?}");
    let time = WorkloadSettings { size: WorkloadSize::Time(Duration::from_millis(60)), ..small(2) };
    let report = run_with(&time, &ParticlesOptions { steps: 100 }, false).unwrap();
    let names: Vec<&str> = report.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names[..3], ["steps_per_second", "trigonometric_steps_per_second", "disc_steps_per_second"]);
    assert_eq!((names.len(), report.checksum), (7, None));
}

/// As if one step in twenty were not made, or one in fifty went the same way.
#[test]
fn walks_that_are_too_short_or_drift_are_found() {
    let steps = 1000;
    let walks = |kept: u32, drift: f64| {
        let (mut random, mut tally) = (RandomGenerator::new(5), WalkTally::default());
        for _ in 0..20_000 {
            let [x, y, z] = (MOVEMENTS[5].walk)(&mut random, kept);
            tally.record_walk([x + drift, y, z]);
        }
        check_walks("lattice", steps, &tally)
    };
    assert!(walks(steps, 0.0).unwrap() < 4.0);
    for (kept, drift) in [(950, 0.0), (steps, 20.0 / 6.0)] {
        assert!(matches!(walks(kept, drift), Err(WorkError::Wrong(_))), "{kept} {drift}");
    }
    assert!(matches!(
        check_walks("none", steps, &WalkTally { walks: 1000, ..WalkTally::default() }),
        Err(WorkError::Wrong(_))
    ));
}

/// The variance that the tolerance rests on, against what walks show.
#[test]
fn the_squared_distance_varies_as_the_closed_form_says() {
    const WALKS: u32 = 40_000;
    for movement in MOVEMENTS {
        let mut random = RandomGenerator::new(9);
        let squares: Vec<f64> = (0..WALKS).map(|_| squared_length((movement.walk)(&mut random, 10))).collect();
        let variance = squares.iter().map(|square| (square - 10.0).powi(2)).sum::<f64>() / f64::from(WALKS);
        assert!((variance / squared_distance_variance(10.0) - 1.0).abs() < 0.06, "{}: {variance}", movement.name);
    }
}

#[test]
fn it_is_stopped_and_refuses_what_cannot_be() {
    assert!(matches!(run_with(&small(3), &ParticlesOptions::default(), true), Err(WorkError::Stopped)));
    for steps in [0, 1, 10_001] {
        assert!(
            matches!(run_with(&small(1), &ParticlesOptions { steps }, false), Err(WorkError::Input { .. })),
            "{steps}"
        );
    }
    let none = WorkloadSettings { threads: 0, ..small(1) };
    assert!(matches!(run_with(&none, &ParticlesOptions::default(), false), Err(WorkError::Input { .. })));
}
