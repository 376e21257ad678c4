//! Numbers found in output, how they are judged, and what trials become.

use std::time::Duration;

use corewise_machine::facts::CoreType;
use corewise_machine::machine::{CoreKind, ProcessorGroup};

use super::*;
use crate::sample::QuantityFinder;
use corewise_statistics::experiment::{
    ArmState, ArmVerdict, ExperimentDoubt, ExperimentStanding, GuardVerdict, OutReason, Verdict,
};

fn metric(pattern: Option<&str>, higher_is_better: bool) -> TrialMetric {
    TrialMetric { name: "rate".to_owned(), pattern: pattern.map(str::to_owned), higher_is_better, reading: None }
}

#[test]
fn a_number_is_found_in_a_line() {
    let found = |pattern: &str, line: &str| {
        let found = QuantityFinder::new(pattern).unwrap().find_quantity(line);
        found.map(|found| found.map(|found| found.quantity.to_string()).map_err(|error| error.to_string()))
    };
    let reads = |quantity: &str| Some(Ok(quantity.to_owned()));
    assert_eq!(found("([0-9.]+) MB/s", "read: 12.5 MB/s"), reads("12.5 MB/s"));
    assert_eq!(found("[0-9.]+$", "total 7"), reads("7"), "without a group all of it counts");
    assert_eq!(found("rate: (.*)", "rate: 1,234.5 "), reads("1234.5"));
    assert_eq!(found("rate: (.*)", "rate: 1e3"), reads("1000"));
    for text in ["fast", "nan"] {
        let told = found("rate: (.*)", &format!("rate: {text}"));
        assert_eq!(told, Some(Err(format!("\"{text}\", which is not a number"))));
    }
    for text in ["1,5", "1,25", "12,34,567", "1234,567", ",123", "1.5,000", "0,001,5"] {
        let told = found("rate: (.*)", &format!("rate: {text}"));
        assert!(matches!(told, Some(Err(_))), "{text}: {told:?}");
    }
    assert_eq!(found("rate: (.*)", "rate: 12,345,678"), reads("12345678"));
    assert_eq!(found("rate: (.*)", "speed: 3"), None);
    assert!(QuantityFinder::new("(").is_err());
}

#[test]
fn tails_are_known_by_their_names() {
    let is_tail = |name: &str| TrialMetric { name: name.to_owned(), ..metric(None, false) }.is_tail();
    for name in ["p99", "P99.9 latency", "latency_p95", "max", "worst frame", "tail latency"] {
        assert!(is_tail(name), "{name}");
    }
    for name in ["p50", "wall time", "throughput", "maxwell", "p", "frames p5"] {
        assert!(!is_tail(name), "{name}");
    }
}

#[test]
fn better_is_lower_once_it_is_judged() {
    let (lower, higher) = (metric(None, false), metric(None, true));
    assert!(lower.judged_value(1.0) < lower.judged_value(2.0) && higher.judged_value(2.0) < higher.judged_value(1.0));
    for metric in [&lower, &higher] {
        assert!((metric.metric_value(metric.judged_value(7.5).unwrap()) - 7.5).abs() < 1e-12);
        assert_eq!(
            [metric.judged_value(-1.0), metric.judged_value(f64::NAN), metric.judged_value(f64::INFINITY)],
            [None; 3]
        );
    }
    let none = lower.judged_value(0.0).unwrap();
    assert!(none < lower.judged_value(1e-300).unwrap() && lower.metric_value(none) == 0.0, "no errors are best");
    assert_eq!(higher.judged_value(0.0), None);
}

fn trial(block: u32, arm: usize, value: f64) -> Trial {
    let outcome = if value > 0.0 {
        TrialOutcome::Value(value)
    } else {
        TrialOutcome::Failed { why: "made up".into(), output: String::new() }
    };
    Trial { guards: vec![Some(value)], ..Trial::new(block, 0, arm, outcome) }
}

#[test]
fn trials_make_blocks_and_those_before_the_first_do_not_count() {
    let trials = [trial(0, 0, 9.0), trial(1, 1, 1.0), trial(1, 0, -1.0), trial(3, 0, 1.0)];
    let blocks = trial_blocks(&trials, &metric(None, false));
    let run = |arm, x| BlockRun { arm, x };
    assert_eq!(blocks[0].runs, [run(1, Some(0.0)), run(0, None)]);
    assert!(blocks[1].runs.is_empty(), "a block that was ended before its first run");
    assert_eq!(blocks[2].runs, [run(0, Some(0.0))]);
    assert!(super::trial_blocks(&[], &metric(None, false)).is_empty());
}

/// The candidate takes half the time, and its guard is so much where the baseline's is 1.
fn guarded(guard: f64) -> Verdict {
    guarded_from(1.0, guard)
}

fn guarded_from(baseline: f64, guard: f64) -> Verdict {
    guarded_by(|_, arm| if arm == 0 { baseline } else { guard }).verdict
}

fn guarded_by(guard: impl Fn(u32, usize) -> f64) -> ExperimentStanding {
    let (experiment, trials) = guarded_trials(guard);
    experiment_standing(&experiment, &trials)
}

/// Forty-five blocks in which the candidate takes half the time, with a guard by block and arm.
fn guarded_trials(guard: impl Fn(u32, usize) -> f64) -> (Experiment, Vec<Trial>) {
    let experiment = Experiment {
        corewise: String::new(),
        started_unix_ms: 0,
        seed: 1,
        machine: corewise_machine::generate::one_package_machine(2, false, &[]),
        workload: TriedWorkload {
            guards: vec![metric(Some("x"), false)],
            ..TriedWorkload::new(vec!["app".into()], "/".into(), TrialMetric::wall_time())
        },
        arms: vec![PlacementArm::new("0", None, ""); 2],
        policy: JudgingPolicy::default(),
        suite: None,
        stretch: None,
        origin: crate::artifact::ArtifactOrigin::Measured,
    };
    let mut trials = Vec::new();
    for block in 1..=45 {
        let noise = 1.0 + 0.001 * f64::from(block % 7);
        let of = |arm: usize, time: f64| Trial {
            guards: vec![Some(guard(block, arm) * noise)],
            ..trial(block, arm, time * noise)
        };
        let pair = [of(0, 1.0), of(1, 0.5)];
        trials.extend(if block % 2 == 0 { pair } else { [pair[1].clone(), pair[0].clone()] });
    }
    (experiment, trials)
}

#[test]
fn who_makes_a_guard_worse_does_not_win() {
    assert_eq!(guarded(1.0), Verdict::Wins { arm: 1 });
    assert_eq!(guarded(0.5), Verdict::Wins { arm: 1 });
    assert_eq!(guarded(1.01), Verdict::Wins { arm: 1 }, "worse by less than the margin");
    let Verdict::Unsound { why } = guarded(1.5) else { panic!("a guard that is 50 % worse") };
    assert!(
        matches!(why[..], [ExperimentDoubt::GuardWorse { guard: 0, arm: 1, estimate, .. }] if estimate < -0.3),
        "{why:?}"
    );
}

/// Of two candidates that are better the one wins whose guard is not worse, though it is second.
#[test]
fn a_guard_that_is_worse_leaves_the_win_to_another() {
    let (mut experiment, _) = guarded_trials(|_, _| 1.0);
    experiment.arms.push(experiment.arms[1].clone());
    let mut design = TrialDesign::from_trials(&experiment, &[]);
    let mut last = Vec::new();
    while design.block_count() < 100 && !design.is_decided() {
        let block = design.block_count() + 1;
        let noise = 1.0 + 0.001 * f64::from(block % 7);
        last = design.next_block(1);
        let of = |&arm: &usize| Trial {
            guards: vec![Some(noise * [1.0, 1.5, 1.0][arm])],
            ..trial(block, arm, noise * [1.0, 0.5, 0.52][arm])
        };
        let trials: Vec<Trial> = last.iter().map(of).collect();
        design.add_block(&trials.iter().collect::<Vec<_>>());
    }
    let standing = design.current_standing();
    assert_eq!(standing.verdict, Verdict::Wins { arm: 2 }, "{standing:?}");
    assert!(matches!(standing.arms[1].state, ArmState::Out { why: OutReason::GuardWorse, .. }));
    assert!(design.alive_arms().contains(&2) && !design.alive_arms().contains(&1), "after {last:?}");
}

/// A guard of which the few runs there are prove nothing does not let a candidate win, however much better that is.
#[test]
fn a_guard_has_to_be_proven() {
    let noisy = |block: u32, arm: usize| if (block as usize + arm).is_multiple_of(2) { 0.5 } else { 2.0 };
    let standing = guarded_by(noisy);
    assert!(matches!(standing.verdict, Verdict::Undecided { .. }), "{:?}", standing.verdict);
    assert_eq!(standing.arms[1].verdict, Some(ArmVerdict::Wins));
    assert_eq!(standing.guards.iter().map(|found| found.verdict).collect::<Vec<_>>(), [GuardVerdict::Open]);
}

/// The answers to the questions about the guard, in their order.
fn guard_answers(standing: &ExperimentStanding) -> Vec<GuardVerdict> {
    standing.guards[0].answers.iter().map(|answer| answer.verdict).collect()
}

/// Half of the 45 blocks prove a typical run; slow runs take 39.
#[test]
fn a_guard_passes_by_its_typical_run_and_its_slow_runs() {
    let (experiment, trials) = guarded_trials(|_, _| 1.0);
    let after = |blocks: u32| {
        let trials: Vec<Trial> = trials.iter().filter(|trial| trial.block <= blocks).cloned().collect();
        experiment_standing(&experiment, &trials)
    };
    let (early, late) = (after(38), after(39));
    assert_eq!(guard_answers(&early), [GuardVerdict::NotWorse, GuardVerdict::Open, GuardVerdict::Open]);
    assert_eq!(early.verdict, Verdict::Undecided { more_runs: None });
    assert_eq!(guard_answers(&late), [GuardVerdict::NotWorse, GuardVerdict::Open, GuardVerdict::NotWorse]);
    assert_eq!((late.guards[0].verdict, late.verdict), (GuardVerdict::NotWorse, Verdict::Wins { arm: 1 }));
}

/// The typical run hides a guard that is three times as bad in some of the runs.
#[test]
fn a_guard_that_is_harmed_in_some_runs_does_not_pass() {
    let harmed = |every: u32| guarded_by(|block, arm| if arm == 1 && block % every == 1 { 3.0 } else { 1.0 });
    let tenth = harmed(10);
    assert_eq!(guard_answers(&tenth), [GuardVerdict::NotWorse, GuardVerdict::LikelyWorse, GuardVerdict::Open]);
    assert_eq!(
        (tenth.guards[0].verdict, &tenth.verdict),
        (GuardVerdict::LikelyWorse, &Verdict::Undecided { more_runs: None })
    );
    let third = harmed(3);
    let Verdict::Unsound { why } = third.verdict else { panic!("{:?}", third.verdict) };
    let is_tail = |estimate: f64| (-0.4..-0.3).contains(&estimate);
    assert!(
        matches!(why[..], [ExperimentDoubt::GuardWorse { what: QuestionKind::Tail, estimate, .. }] if is_tail(estimate)),
        "{why:?}"
    );
}

/// Steps of a tenth with jitter of a thousandth, that all placements take together.
#[test]
fn coarse_numbers_with_jitter_prove_no_equality() {
    let (mut experiment, _) = guarded_trials(|_, _| 1.0);
    experiment.workload.guards.clear();
    let jitter = |block: u32, arm: usize| 1.0 + 0.0002 * f64::from((7 * block + 3 * arm as u32) % 5);
    let pair = |block: u32, level: f64| {
        [0, 1].map(|place| (place + block as usize) % 2).map(|arm| trial(block, arm, level * jitter(block, arm)))
    };
    let coarse = |block: u32| pair(block, f64::from(9 + block % 3));
    let standing = experiment_standing(&experiment, &(1..=20).flat_map(coarse).collect::<Vec<_>>());
    let Verdict::Unsound { why } = standing.verdict else { panic!("{:?}", standing.verdict) };
    assert!(matches!(why[..], [ExperimentDoubt::CoarseMetric { step }] if (step - 0.1).abs() < 0.001), "{why:?}");
    let modes = |block: u32| pair(block, if block.is_multiple_of(3) { 9.0 } else { 10.0 });
    let standing = experiment_standing(&experiment, &(1..=20).flat_map(modes).collect::<Vec<_>>());
    assert_eq!(standing.verdict, Verdict::NoMaterialDifference, "two modes may be the program's own");
}

/// Numbers that are rounded to steps of a tenth cannot show 3 %.
#[test]
fn coarse_numbers_prove_no_equality() {
    let (mut experiment, _) = guarded_trials(|_, _| 1.0);
    experiment.workload.guards.clear();
    let of = |value: f64| {
        let trials: Vec<Trial> =
            (1..=20).flat_map(|block| [0, 1].map(|place| trial(block, (place + block as usize) % 2, value))).collect();
        experiment_standing(&experiment, &trials)
    };
    let coarse = of(10.0);
    let Verdict::Unsound { why } = coarse.verdict else { panic!("10 for 9.75 and 10.2") };
    assert!(matches!(why[..], [ExperimentDoubt::CoarseMetric { step }] if (step - 0.1).abs() < 1e-9), "{why:?}");
    assert_eq!(coarse.arms[1].verdict, Some(ArmVerdict::Undecided));
    let fine = of(10.03);
    assert_eq!(
        (fine.verdict, fine.arms[1].verdict),
        (Verdict::NoMaterialDifference, Some(ArmVerdict::NoMaterialDifference))
    );
}

/// Coarse numbers do prove that a placement is worse, and then it is not better either.
#[test]
fn coarse_numbers_prove_what_is_worse() {
    let (mut experiment, _) = guarded_trials(|_, _| 1.0);
    experiment.workload.guards.clear();
    let value = |arm: usize| if arm == 0 { 10.0 } else { 12.0 };
    let pair = |block: u32| [0, 1].map(|place| (place + block as usize) % 2).map(|arm| trial(block, arm, value(arm)));
    let standing = experiment_standing(&experiment, &(1..=20).flat_map(pair).collect::<Vec<_>>());
    assert_eq!((standing.verdict, standing.arms[1].verdict), (Verdict::NoMaterialDifference, Some(ArmVerdict::Worse)));
}

#[test]
fn no_errors_are_better_than_some() {
    assert_eq!(guarded_from(0.0, 0.0), Verdict::Wins { arm: 1 });
    assert_eq!(guarded_from(500.0, 0.0), Verdict::Wins { arm: 1 });
    let Verdict::Unsound { why } = guarded_from(0.0, 500.0) else { panic!("errors where there were none") };
    assert!(matches!(why[..], [ExperimentDoubt::GuardWorse { guard: 0, arm: 1, .. }]), "{why:?}");
}

#[test]
fn placements_by_numbers_are_spoken_as_cpus() {
    let spoken = |name: &str, cpus: u32| PlacementArm::new(name, Some(CpuSet::first_cpus(cpus)), "").spoken_name();
    assert_eq!([spoken("0", 1), spoken("0-3,8", 5), spoken("llc:0", 4)], ["cpu 0", "cpus 0-3,8", "llc:0"]);
}

fn arm(threads: Option<u32>, cpus: Option<u32>) -> PlacementArm {
    PlacementArm { threads, ..PlacementArm::new("x", cpus.map(CpuSet::first_cpus), "") }
}

fn workload(words: &[&str], variables: &[&str]) -> TriedWorkload {
    let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    TriedWorkload {
        threads_as: texts(variables),
        ..TriedWorkload::new(texts(words), "/".into(), TrialMetric::wall_time())
    }
}

#[test]
fn no_timeout_is_longer_than_a_year() {
    let timeout = |timeout_s| TriedWorkload { timeout_s, ..workload(&["ls"], &[]) }.run_timeout();
    assert_eq!((timeout(None), timeout(Some(1.5))), (None, Some(Duration::from_millis(1500))));
    assert_eq!(timeout(Some(1e20)), Some(Duration::from_secs(365 * 24 * 3600)));
}

#[test]
fn the_program_is_told_how_many_threads_to_have() {
    let told = workload(&["./app", "-t{threads}", "{threads}:{threads}"], &["A", "B"]);
    assert_eq!(told.command_of(&arm(Some(8), None)), ["./app", "-t8", "8:8"]);
    let variable = |name: &str| (name.to_owned(), Some("8".to_owned()));
    assert_eq!(told.environment_of(&arm(Some(8), None)), [variable("A"), variable("B")]);
    assert_eq!(told.command_of(&arm(None, None)), told.command, "braces that mean something else stay");
    assert!(told.environment_of(&arm(None, None)).is_empty());
}

#[test]
fn the_program_is_told_its_cpus_where_it_is_pinned() {
    let told = TriedWorkload { pins_as: vec!["CPUS".into()], ..workload(&["./app"], &["A"]) };
    let variable = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
    assert_eq!(told.environment_of(&arm(Some(3), Some(2))), [variable("A", Some("3")), variable("CPUS", Some("0,1"))]);
    assert_eq!(told.environment_of(&arm(Some(3), None)), [variable("A", Some("3")), variable("CPUS", None)]);
}

fn of_threads(arms: Vec<PlacementArm>) -> Experiment {
    Experiment {
        corewise: String::new(),
        started_unix_ms: 0,
        seed: 1,
        machine: corewise_machine::generate::one_package_machine(2, false, &[]),
        workload: workload(&["app", "{threads}"], &[]),
        arms,
        policy: JudgingPolicy::default(),
        suite: None,
        stretch: None,
        origin: crate::artifact::ArtifactOrigin::Measured,
    }
}

/// Coarse numbers prove no equality of numbers of threads either, nor that pinning them makes no difference.
#[test]
fn coarse_numbers_prove_no_equality_of_threads() {
    let experiment = of_threads(vec![arm(Some(2), None), arm(Some(1), None), arm(Some(1), Some(1))]);
    let verdicts = |value: f64| {
        let block = |block: u32| (0..3).map(move |place| trial(block, (place + block as usize) % 3, value));
        let trials: Vec<Trial> = (1..=20).flat_map(block).collect();
        let report = threads_report(&experiment, &trials).unwrap();
        report.standing.question_standings().map(|standing| standing.verdict.clone()).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(10.03), [Verdict::NoMaterialDifference, Verdict::NoMaterialDifference]);
    let coarse = verdicts(10.0);
    assert_eq!(coarse.len(), 2);
    for verdict in coarse {
        let Verdict::Unsound { why } = verdict else { panic!("{verdict:?}") };
        assert!(matches!(why[..], [ExperimentDoubt::CoarseMetric { .. }]), "{why:?}");
    }
}

/// Experiments without numbers of threads are races between placements.
#[test]
fn experiments_come_back_with_and_without_numbers_of_threads() {
    let placements = of_threads(vec![arm(None, None), arm(None, Some(1))]);
    let text = serde_json::to_string(&placements).unwrap();
    assert!(!text.contains("\"threads"), "{text}");
    let read: Experiment = serde_json::from_str(&text).unwrap();
    assert_eq!(read, placements);
    assert!(
        read.thread_cells().is_none()
            && threads_report(&read, &[]).is_none()
            && TrialDesign::from_trials(&read, &[]).threads_race().is_none()
    );
    let counts = of_threads(vec![arm(Some(2), None), arm(Some(1), None), arm(Some(1), Some(1))]);
    assert!(TrialDesign::from_trials(&counts, &[]).threads_race().is_some());
    assert_eq!(serde_json::from_str::<Experiment>(&serde_json::to_string(&counts).unwrap()).unwrap(), counts);
}

#[test]
fn clock_rates_say_that_they_are_estimates_only_where_they_are() {
    let counted = TrialObservations { wall_s: 2.0, gigahertz: Some(3.9), ..TrialObservations::default() };
    let text = serde_json::to_string(&counted).unwrap();
    assert!(text.contains("\"gigahertz\":3.9") && !text.contains("estimate"), "{text}");
    assert_eq!(serde_json::from_str::<TrialObservations>(&text).unwrap(), counted);
    let estimated = TrialObservations { gigahertz_is_estimate: true, ..counted };
    let text = serde_json::to_string(&estimated).unwrap();
    assert!(text.contains("\"gigahertz_is_estimate\":true"), "{text}");
    assert_eq!(serde_json::from_str::<TrialObservations>(&text).unwrap(), estimated);
}

#[test]
fn power_is_energy_over_the_time_in_which_it_was_used() {
    let observed = |energy_s| TrialObservations {
        wall_s: 0.5,
        energy_joules: Some(60.0),
        energy_s,
        ..TrialObservations::default()
    };
    let run = Trial { repeats: 3, observed: observed(Some(1.5)), ..trial(1, 0, 1.0) };
    assert_eq!(run.mean_watts(), Some(40.0));
    assert_eq!(Trial { observed: observed(Some(0.0)), ..run.clone() }.mean_watts(), None);
    assert_eq!(
        Trial { observed: observed(None), ..run.clone() }.mean_watts(),
        None,
        "what passed between the runs is not known"
    );
    assert_eq!(
        Trial { observed: TrialObservations { energy_joules: None, ..observed(Some(1.5)) }, ..run }.mean_watts(),
        None
    );
}

/// Time on the cpu over time, of runs with one thread: pinned to one cpu where there are such, and only those that count.
#[test]
fn one_thread_is_busy_for_a_share_of_its_time() {
    let arms = vec![arm(Some(2), None), arm(Some(1), None), arm(Some(1), Some(1))];
    let experiment = of_threads(arms);
    let seen = |block: u32, arm: usize, busy: f64| {
        let observed = TrialObservations {
            wall_s: 2.0,
            user_s: 2.0 * busy * 3.0 - 0.3,
            system_s: 0.3,
            ..TrialObservations::default()
        };
        Trial { repeats: 3, observed, ..trial(block, arm, 2.0) }
    };
    let mut trials = vec![seen(0, 2, 0.1), seen(1, 0, 0.2), seen(1, 1, 1.4)];
    let of = |trials: &[Trial]| {
        threads_report(&experiment, trials)
            .unwrap()
            .occupancy
            .map(|found| (found.pinned, found.runs, (100.0 * found.median).round()))
    };
    assert_eq!(of(&trials), Some((false, 1, 140.0)));
    trials.extend([
        seen(2, 2, 0.7),
        seen(3, 2, 0.8),
        seen(4, 2, 0.9),
        Trial { observed: TrialObservations::default(), ..trial(5, 2, -1.0) },
    ]);
    assert_eq!(of(&trials), Some((true, 3, 80.0)));
    assert_eq!(of(&trials[..2]), None);
    // Who is kept from a cpu by others does not wait for something else.
    let busy = TrialObservations { others_busy: Some(0.5), ..seen(1, 1, 0.5).observed };
    let preempted = TrialObservations { involuntary_switches: 300, ..seen(1, 1, 0.5).observed };
    for observed in [busy, preempted] {
        assert_eq!(of(&[trials[1].clone(), Trial { observed, ..seen(2, 1, 0.5) }]), None);
    }
    let text = serde_json::to_string(&threads_report(&experiment, &trials)).unwrap();
    assert_eq!(serde_json::from_str::<Option<ThreadsReport>>(&text).unwrap(), threads_report(&experiment, &trials));
}

#[test]
fn eco_qos_is_tried_where_cores_differ_and_windows_decides() {
    let kind = |cpu| CoreKind { core_type: CoreType::Performance, cpus: CpuSet::from_cpu(cpu), reason: String::new() };
    let groups = vec![ProcessorGroup { first_cpu: 0, cpus: CpuSet::first_cpus(2) }];
    let of = |count, processor_groups| {
        let kinds = (0..count).map(kind).collect();
        let machine =
            Machine { kinds, processor_groups, ..corewise_machine::generate::one_package_machine(2, false, &[]) };
        PlacementArm::planned_without_eco_qos(&machine)
    };
    assert_eq!((of(1, groups.clone()), of(2, Vec::new())), (None, None));
    let arm = of(2, groups).unwrap();
    assert!(arm.at_full_speed && arm.cpus.is_none());
    let text = serde_json::to_string(&arm).unwrap();
    assert_eq!(serde_json::from_str::<PlacementArm>(&text).unwrap(), arm);
}
