//! A survey of the machine that runs the tests: what must be true of it wherever that is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corewise_lab::session::StepProgress;
use corewise_lab::survey::{SurveyPlan, TailPlan};
use corewise_machine::assemble::assemble_machine;
use corewise_machine::facts::{CpuFacts, MachineFacts};
use corewise_machine::{CpuSet, Machine};
use corewise_model::Survey;
use corewise_sys::affinity;

fn machine() -> Machine {
    let allowed = affinity::current_affinity().unwrap();
    let cpu = |number| CpuFacts { number, core: Some(i64::from(number)), ..CpuFacts::default() };
    assemble_machine(MachineFacts {
        cpus: allowed.iter().map(cpu).collect(),
        allowed: Some(allowed),
        ..MachineFacts::default()
    })
}

fn plan(cpus: CpuSet, milliseconds: u64) -> SurveyPlan {
    // Where no piece is a stall, all of the time is in pieces: what it takes to look at a stall is in none. To watch the kernel takes
    // as long to begin as it takes, and tests/truth does it.
    let tail = TailPlan { threshold: Duration::from_secs(3_600), explain: false, ..TailPlan::for_survey() };
    SurveyPlan { cpus, budget: Duration::from_millis(milliseconds), seed: 7, corewise: "test", tail }
}

fn survey(plan: &SurveyPlan, machine: Machine, stop: &AtomicBool, progress: &mut dyn FnMut(&StepProgress)) -> Survey {
    corewise_lab::survey::run_survey(plan, machine, stop, progress).survey
}

fn check(survey: &Survey) {
    for seen in &survey.cpus {
        let pieces: u64 = seen.rounds.iter().map(|round| round.tail.count).sum();
        assert!(pieces <= seen.tail.count());
        for round in &seen.rounds {
            let tail = &round.tail;
            assert!(tail.p50_ns <= tail.p99_ns * 1.05 && tail.p99_ns <= tail.max_ns, "{tail:?}");
            // All of it where the clock's step is longer than a piece, as an emulator's may be.
            assert!((0.0..=1.0).contains(&tail.lost));
            let timed_s = tail.mean_ns * tail.count as f64 * 1e-9;
            // What it takes to look at a stall is in no piece.
            let apart_s = 0.01 * round.elapsed_s + 50e-6;
            assert!((timed_s - round.elapsed_s).abs() < apart_s, "{timed_s} of {}", round.elapsed_s);
        }
    }
}

#[test]
fn every_allowed_cpu_is_visited_in_every_round() {
    let machine = machine();
    let cpus = machine.allowed.clone();
    let mut steps = Vec::new();
    // Where others want the cpus, the same rounds take longer.
    let whole = [1_500, 6_000, 24_000, 96_000].into_iter().find_map(|milliseconds| {
        steps.clear();
        let plan = plan(cpus.clone(), milliseconds);
        let survey = survey(&plan, machine.clone(), &AtomicBool::new(false), &mut |progress| steps.push(progress.done));
        check(&survey);
        (!survey.provenance.partial).then_some(survey)
    });
    let survey = whole.expect("a survey in which there is time for all rounds");
    assert!(steps.windows(2).all(|pair| pair[0] <= pair[1]));
    assert_eq!(survey.cpus.iter().map(|seen| seen.cpu).collect::<CpuSet>(), cpus);
    for seen in &survey.cpus {
        assert_eq!(seen.rounds.len(), survey.provenance.rounds as usize);
    }
    let pairs = cpus.len() * (cpus.len() - 1) / 2;
    assert_eq!(survey.links.possible_pairs, pairs as u64);
    assert!(survey.links.pairs.iter().all(|pair| pair.a < pair.b && pair.one_way_ns() > 0.0));
}

#[test]
fn one_cpu_has_a_tail_and_no_links() {
    let machine = machine();
    let one = CpuSet::from_cpu(machine.allowed.lowest().unwrap());
    let survey = survey(&plan(one.clone(), 400), machine, &AtomicBool::new(false), &mut |_| {});
    check(&survey);
    assert_eq!(survey.cpus.len(), 1);
    assert!(survey.links.pairs.is_empty());
    assert_eq!(survey.links.gaps[0].why, "links need two cpus; 1 was surveyed");
}

#[test]
fn a_stopped_survey_is_partial_and_keeps_what_it_has() {
    let machine = machine();
    let stop = AtomicBool::new(false);
    let mut visits = 0;
    let survey = survey(&plan(machine.allowed.clone(), 600_000), machine, &stop, &mut |progress| {
        visits += u32::from(progress.step.starts_with("tail"));
        stop.store(visits > 0, Ordering::Relaxed);
    });
    check(&survey);
    assert!(survey.provenance.partial);
    assert_eq!(survey.provenance.rounds, 0);
}

#[test]
fn a_survey_whose_budget_is_over_at_once_has_one_visit() {
    let machine = machine();
    // Of one cpu a visit is a whole round.
    let is_whole = machine.allowed.len() == 1;
    let survey = survey(&plan(machine.allowed.clone(), 0), machine, &AtomicBool::new(false), &mut |_| {});
    check(&survey);
    assert_eq!((survey.cpus.len(), survey.provenance.rounds), (1, u32::from(is_whole)));
    assert!(is_whole || survey.provenance.partial);
}

#[test]
fn cpus_that_may_not_be_used_are_a_gap() {
    let machine = machine();
    let wanted = machine.allowed.union(&CpuSet::from_cpu(8000));
    let survey = survey(&plan(wanted, 300), machine, &AtomicBool::new(false), &mut |_| {});
    assert!(survey.gaps.iter().any(|gap| gap.what == "cpus 8000"), "{:?}", survey.gaps);
}
