//! Numbers found in output, how they are judged, and what trials become.

use super::*;

fn metric(pattern: Option<&str>, higher_is_better: bool) -> Metric {
    Metric { name: "rate".to_owned(), pattern: pattern.map(str::to_owned), higher_is_better }
}

#[test]
fn a_number_is_found_in_a_line() {
    let found = |pattern: &str, line: &str| Finder::new(pattern).unwrap().find(line);
    assert_eq!(found("([0-9.]+) MB/s", "read: 12.5 MB/s"), Some(Ok(12.5)));
    assert_eq!(found("[0-9.]+$", "total 7"), Some(Ok(7.0)), "without a group all of it counts");
    assert_eq!(found("rate: (.*)", "rate: 1,234.5 "), Some(Ok(1234.5)));
    assert_eq!(found("rate: (.*)", "rate: 1e3"), Some(Ok(1000.0)));
    assert_eq!(found("rate: (.*)", "rate: fast"), Some(Err("fast".to_owned())));
    assert_eq!(found("rate: (.*)", "rate: nan"), Some(Err("nan".to_owned())));
    assert_eq!(found("rate: (.*)", "rate: 1,5"), Some(Err("1,5".to_owned())), "a decimal comma is no thousand");
    for text in ["1,25", "12,34,567", "1234,567", ",123", "1.5,000", "0,001,5"] {
        assert_eq!(found("rate: (.*)", &format!("rate: {text}")), Some(Err(text.to_owned())), "{text}");
    }
    assert_eq!(found("rate: (.*)", "rate: 12,345,678"), Some(Ok(12_345_678.0)));
    assert_eq!(found("rate: (.*)", "speed: 3"), None);
    assert!(Finder::new("(").is_err());
}

#[test]
fn better_is_lower_once_it_is_judged() {
    let (lower, higher) = (metric(None, false), metric(None, true));
    assert!(lower.judged(1.0) < lower.judged(2.0) && higher.judged(2.0) < higher.judged(1.0));
    for metric in [&lower, &higher] {
        assert!((metric.value(metric.judged(7.5).unwrap()) - 7.5).abs() < 1e-12);
        assert_eq!([metric.judged(0.0), metric.judged(-1.0), metric.judged(f64::NAN)], [None; 3]);
    }
}

fn trial(block: u32, arm: usize, value: f64) -> Trial {
    let outcome = if value > 0.0 {
        Outcome::Value(value)
    } else {
        Outcome::Failed { why: "made up".into(), output: String::new() }
    };
    Trial {
        block,
        place: 0,
        arm,
        started_unix_ms: 0,
        repeats: 1,
        outcome,
        guards: vec![Some(value)],
        observed: Observed::default(),
    }
}

#[test]
fn trials_make_blocks_and_those_before_the_first_do_not_count() {
    let trials = [trial(0, 0, 9.0), trial(1, 1, 1.0), trial(1, 0, -1.0), trial(3, 0, 1.0)];
    let blocks = blocks(&trials, &metric(None, false));
    let run = |arm, x| Run { arm, x };
    assert_eq!(blocks[0].runs, [run(1, Some(0.0)), run(0, None)]);
    assert!(blocks[1].runs.is_empty(), "a block that was ended before its first run");
    assert_eq!(blocks[2].runs, [run(0, Some(0.0))]);
    assert!(super::blocks(&[], &metric(None, false)).is_empty());
}

/// The candidate takes half the time, and `guard` times the baseline's guard.
fn guarded(guard: f64) -> Verdict {
    let experiment = Experiment {
        corewise: String::new(),
        started_unix_ms: 0,
        seed: 1,
        machine: crate::simulate::machine(2, false, &[]),
        workload: Workload {
            command: vec!["app".into()],
            folder: "/".into(),
            metric: Metric::wall_time(),
            guards: vec![metric(Some("x"), false)],
            timeout_s: None,
        },
        arms: vec![Arm { name: "0".into(), cpus: None, reason: String::new() }; 2],
        policy: Policy::default(),
    };
    let mut trials = Vec::new();
    for block in 1..=20 {
        let noise = 1.0 + 0.001 * f64::from(block % 7);
        let of = |arm: usize, time: f64, guard: f64| Trial {
            guards: vec![Some(guard * noise)],
            ..trial(block, arm, time * noise)
        };
        let pair = [of(0, 1.0, 1.0), of(1, 0.5, guard)];
        trials.extend(if block % 2 == 0 { pair } else { [pair[1].clone(), pair[0].clone()] });
    }
    standing(&experiment, &trials).verdict
}

#[test]
fn who_makes_a_guard_worse_does_not_win() {
    assert_eq!(guarded(1.0), Verdict::Wins { arm: 1 });
    assert_eq!(guarded(0.5), Verdict::Wins { arm: 1 });
    assert_eq!(guarded(1.01), Verdict::Wins { arm: 1 }, "worse by less than the margin");
    let Verdict::Unsound { why } = guarded(1.5) else { panic!("a guard that is 50 % worse") };
    assert!(matches!(why[..], [Doubt::GuardWorse { guard: 0, arm: 1, estimate }] if estimate < -0.3), "{why:?}");
}

#[test]
fn placements_by_numbers_are_spoken_as_cpus() {
    let spoken = |name: &str, cpus: u32| {
        Arm { name: name.into(), cpus: Some(CpuSet::first(cpus)), reason: String::new() }.spoken()
    };
    assert_eq!([spoken("0", 1), spoken("0-3,8", 5), spoken("llc:0", 4)], ["cpu 0", "cpus 0-3,8", "llc:0"]);
}
