//! Frames of looks, switches reduced, recordings read back.

use std::collections::BTreeMap;
use std::time::Duration;

use corewise_machine::event::{EventKind, KernelEvent};
use corewise_machine::thread::ThreadSnapshot;
use corewise_machine::worth::CpuTicks;
use corewise_machine::{Machine, generate};

use super::*;
use crate::keep::{KeptProcess, LeftBecause, OriginalMask, ProcessStanding};
use crate::worth::cpu_speeds;

fn machine() -> Machine {
    generate::one_package_machine(4, false, &[(CpuSet::first_cpus(4), 32)])
}

fn ticks(busy: u64, idle: u64) -> Option<CpuTicks> {
    Some(CpuTicks { busy, idle, ..CpuTicks::default() })
}

fn look(second: u64, tasks: Option<TaskSwitches>) -> WatchReading {
    let thread = ThreadSnapshot {
        process: 7,
        thread: 8,
        start_ticks: 1,
        name: "worker".into(),
        cpu: second as u32 % 4,
        on_cpu_ns: Some(second * 400_000_000),
        waited_ns: Some(second * 100_000_000),
        allowed: Some(CpuSet::first_cpus(2)),
        ..ThreadSnapshot::default()
    };
    WatchReading {
        at_ns: second * 1_000_000_000,
        ticks: vec![ticks(second * 75, second * 25), ticks(0, second * 100), None, ticks(5, 5)],
        threads: vec![thread],
        tasks,
        own: vec![99],
        ..WatchReading::default()
    }
}

fn frames() -> FrameMaker {
    FrameMaker::new(&machine(), cpu_speeds(&machine(), None))
}

const SAMPLING: Option<TaskSwitches> = None;

fn switch(cpu: u32, from: u32, preempted: bool, to: u32) -> KernelEvent {
    let what = EventKind::Switch { from, preempted, to, to_name: format!("task{to}") };
    KernelEvent { at_ns: 0, cpu, task: from, what }
}

#[test]
fn shares_and_rates_are_those_of_the_time_between_two_looks() {
    let mut frames = frames();
    let first = frames.next(look(1, SAMPLING));
    assert_eq!((first.elapsed_s, first.cpus[0].shares), (0.0, None), "nothing is known yet");
    assert_eq!((first.threads[0].running, first.threads[0].moves_per_s), (None, None));
    let second = frames.next(look(3, SAMPLING));
    let shares = second.cpus[0].shares.unwrap();
    assert_eq!((second.elapsed_s, shares.busy, shares.worth), (2.0, 0.75, 0.5));
    assert_eq!(second.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(), [0, 1, 3], "cpu 2 is offline");
    assert_eq!(second.cpus[2].shares, None, "its counters did not move");
    let thread = &second.threads[0];
    assert_eq!((thread.running, thread.waiting), (Some(0.4), Some(0.1)));
    assert_eq!((thread.cpu, thread.moves_per_s), (3, Some(0.5)), "from cpu 1 to cpu 3 in two seconds");
}

#[test]
fn a_number_that_was_given_again_is_another_thread() {
    let mut frames = frames();
    frames.next(look(1, SAMPLING));
    let mut again = look(2, SAMPLING);
    again.threads[0].start_ticks = 2;
    let frame = frames.next(again);
    assert_eq!((frame.threads[0].running, frame.threads[0].moves_per_s), (None, None));
}

#[test]
fn by_events_moves_and_preempters_are_those_of_the_kernel() {
    let mut switches = SwitchReducer::default();
    // It runs on cpu 0, is preempted twice by the same and once by another, comes back on cpu 1 and returns.
    for event in [
        switch(0, 0, false, 8),
        switch(0, 8, true, 20),
        switch(0, 20, false, 8),
        switch(0, 8, true, 20),
        switch(1, 0, false, 8),
        switch(1, 8, true, 99),
        switch(0, 20, false, 8),
    ] {
        switches.take_event(&event);
    }
    switches.note_lost(3);
    let tasks = TaskSwitches { source: "perf".into(), ..switches.take_tasks() };
    assert_eq!(switches.take_tasks(), TaskSwitches::default());
    let mut frames = frames();
    frames.next(look(1, Some(TaskSwitches::default())));
    let frame = frames.next(look(2, Some(tasks)));
    assert_eq!(frame.sight, ThreadSight::Events { source: "perf".into(), switches_per_s: 7.0, lost: 3 });
    let thread = &frame.threads[0];
    assert_eq!((thread.cpu, thread.moves_per_s), (0, Some(2.0)));
    let by: Vec<_> = thread.preempted_by.iter().map(|by| (by.name.as_str(), by.times, by.is_own)).collect();
    assert_eq!(by, [("task20", 2, false), ("task99", 1, true)]);
}

#[test]
fn where_a_task_was_when_it_left_counts_for_its_next_move() {
    let mut switches = SwitchReducer::default();
    switches.take_event(&switch(2, 8, false, 0));
    switches.take_event(&switch(3, 0, false, 8));
    assert_eq!(switches.take_tasks().tasks[&8].moves, 1);
}

fn held(rule: &str, standing: ProcessStanding, given: &str) -> KeptProcess {
    let thread = serde_json::json!({
        "start_ticks": 1, "original": OriginalMask::All, "given": CpuSet::parse_list(given).unwrap(), "seen": CpuSet::from_cpu(0),
        "is_own": false, "refused": null
    });
    let value = serde_json::json!({
        "start_ticks": 1, "name": "x", "rule": rule, "since": Duration::ZERO, "standing": standing,
        "threads": { "8": thread }, "corrections": 0, "notes": [],
        "charged_to": { "name": "x", "is_system": false }
    });
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_rule_holds_threads_and_cpus_unless_it_leaves_the_process_alone() {
    let left = ProcessStanding::Left(LeftBecause::Asked);
    for (standing, given, expected) in
        [(ProcessStanding::Held, "0-1", Some(true)), (ProcessStanding::Held, "1-2", Some(false)), (left, "0-1", None)]
    {
        let holds = RuleHolds::from_processes(&BTreeMap::from([(7, held("redis", standing, given))]));
        let frame = frames().next(WatchReading { holds, ..look(1, SAMPLING) });
        let rules: Vec<bool> = frame.cpus.iter().map(|cpu| cpu.rules == ["redis"]).collect();
        assert_eq!((frame.threads[0].inside, frame.threads[0].rule.is_some()), (expected, expected.is_some()));
        assert_eq!(rules[1], expected.is_some(), "cpu 1 is in all of these");
        assert!(!rules[2], "cpu 3 is in none of them");
    }
}

#[test]
fn unknown_interrupts_are_not_zero() {
    let source = SourceNow { source: "LOC".into(), per_second: 8.0, ..SourceNow::default() };
    let interrupts = Some(InterruptLook { cpus: vec![7.0, 1.0], sources: vec![source.clone()] });
    let frame = frames().next(WatchReading { interrupts, ..look(1, SAMPLING) });
    let rates: Vec<_> = frame.cpus.iter().map(|cpu| cpu.interrupts_per_s).collect();
    assert_eq!((rates, frame.interrupts), (vec![Some(7.0), Some(1.0), Some(0.0)], vec![source]));
    assert_eq!(frames().next(look(1, SAMPLING)).cpus[0].interrupts_per_s, None);
}

#[test]
fn a_header_is_of_one_form_and_has_a_machine_with_cpus() {
    let header = WatchHeader::new("0.1.0", machine(), "measured", Some("app".to_owned()), 0.5);
    assert_eq!(header.check_loaded(), Ok(()));
    let other = WatchHeader { schema: "corewise/watch-recording/2".to_owned(), ..header.clone() };
    assert_eq!(other.check_loaded(), Err("expected \"corewise/watch-recording/1\"".to_owned()));
    let empty = WatchHeader { machine: Machine::default(), ..header };
    assert!(empty.check_loaded().is_err_and(|why| why.contains("has no cpu")));
}
