//! Whole screens of a program that was watched.

use corewise_machine::counts::SourceCount;
use corewise_machine::event::{EventSource, InterruptSource};
use corewise_machine::{CpuSet, Gap};
use corewise_model::attribution::{CausePhase, StallCause, StallPart};
use corewise_model::beside::{
    BesideOutcome, BesideReport, CpuBesideReport, CpuHandledCause, CpuInterrupts, HandledCause, PreemptedBy,
    PreemptingTask, ProgramAccounts, ProgramInterruptSender, ProgramInterruption, WatchCost,
};
use corewise_statistics::histogram::TickHistogram;
use insta::assert_snapshot;

use super::super::document::BesideDocument;
use super::*;
use crate::draw::fixtures::hostile;

fn interrupt(source: InterruptSource, detail: &str) -> StallCause {
    StallCause::Interrupt { source, detail: detail.into() }
}

fn lengths(all_ns: &[u64]) -> TickHistogram {
    all_ns.iter().fold(TickHistogram::new_collecting(1.0), |mut sum, length_ns| {
        sum.record_ticks(*length_ns);
        sum
    })
}

fn handled(cause: StallCause, count: u64, time_s: f64, all_ns: &[u64]) -> HandledCause {
    HandledCause { cause, count, time_s, share: time_s / 8.2, lengths: lengths(all_ns) }
}

fn task(name: &str, number: u32, function: &str, count: u64, time_s: f64) -> PreemptedBy {
    let task = PreemptingTask { is_own: name == "own", name: name.into(), number, function: function.into() };
    PreemptedBy { task, count, time_s, share: time_s / 8.2, longest_ns: 4_100_000 }
}

fn on_cpu(cpu: u32, on_cpu_s: f64, waited_s: f64, struck: u64) -> CpuBesideReport {
    let timer = CpuHandledCause {
        cause: interrupt(InterruptSource::LocalTimer, ""),
        count: struck,
        time_s: struck as f64 * 8e-6,
    };
    CpuBesideReport { cpu, on_cpu_s, waited_s, preemptions: (waited_s * 500.0) as u64, handlers: vec![timer] }
}

fn sent(name: &str, task: u32, is_own: bool, function: &str, count: u64) -> ProgramInterruptSender {
    let (cpu, task) = (Some(2), Some(task));
    ProgramInterruptSender {
        source: InterruptSource::FunctionCall,
        cpu,
        task,
        name: name.into(),
        is_own,
        function: function.into(),
        count,
    }
}

fn interruption(taken_ns: u64, parts: &[(StallCause, CausePhase, u64)]) -> ProgramInterruption {
    let part = |(cause, phase, length_ns): &(StallCause, CausePhase, u64)| StallPart {
        cause: cause.clone(),
        phase: *phase,
        length_ns: *length_ns,
    };
    ProgramInterruption {
        begin_ns: 1_234_000_000,
        cpu: 1,
        thread: 4123,
        name: "worker".into(),
        length_ns: taken_ns,
        taken_ns,
        parts: parts.iter().map(part).collect(),
    }
}

fn report() -> BesideReport {
    let disturber = StallCause::Task { name: "backup".into(), number: 812, function: String::new() };
    let timer = || interrupt(InterruptSource::LocalTimer, "");
    BesideReport {
        watched_s: 4.06,
        on_cpu_s: 7.9,
        handlers_s: 0.021,
        waited_s: 0.3,
        waited_for_own_s: 0.02,
        threads: 5,
        threads_at_once: 3,
        interruptions: 2_100,
        lengths: lengths(&[8_000, 9_000]),
        handlers: vec![
            handled(timer(), 1_975, 0.0158, &[7_900, 8_000, 31_000]),
            handled(interrupt(InterruptSource::Device(36), "nvme0q1"), 411, 0.0052, &[12_000]),
            handled(interrupt(InterruptSource::IrqWork, ""), 3, 0.0, &[]),
        ],
        instead: vec![
            task("backup", 812, "", 140, 0.27),
            task("own", 0, "", 12, 0.02),
            task("kworker/1:2", 77, "vmstat_update", 9, 0.009),
            task("idle", 0, "", 1, 0.001),
        ],
        cpus: vec![on_cpu(0, 4.0, 0.01, 990), on_cpu(1, 3.9, 0.29, 985)],
        senders: vec![
            sent("bash", 91, false, "do_sync_core", 640),
            sent("app", 4120, true, "flush_tlb_func", 12),
            ProgramInterruptSender { cpu: None, task: None, ..sent("", 0, false, "", 7) },
        ],
        preemptions: 150,
        voluntary_waits: 2_210,
        migrations: 14,
        page_faults_user: 1_900,
        page_faults_kernel: 31,
        worst: vec![
            interruption(
                4_123_000,
                &[
                    (timer(), CausePhase::Running, 9_000),
                    (timer(), CausePhase::Between, 52_000),
                    (disturber, CausePhase::Running, 4_062_000),
                ],
            ),
            interruption(31_000, &[(timer(), CausePhase::Running, 31_000)]),
        ],
        cost: WatchCost { events: 61_000, event_ns: 151.0, share: 61_000.0 * 151e-9 / 7.9 },
        events: 90_100,
        events_lost: 0,
    }
}

fn shown(seen: &BesideOutcome, event_source: EventSource, gaps: &[Gap], to_its_end: bool, width: usize) -> String {
    let command = ["./app".to_owned(), "--fast".to_owned()];
    let cpus = CpuSet::first_cpus(2);
    let screen =
        draw_screen(&ShownBeside { command: &command, cpus: &cpus, event_source, seen, gaps, to_its_end }, width);
    assert!(screen.width() <= width, "{} columns at {width}:\n{}", screen.width(), screen.to_plain());
    screen.to_plain()
}

fn by_events(report: BesideReport, width: usize) -> String {
    shown(&BesideOutcome::Events(Box::new(report)), EventSource::Perf, &[], true, width)
}

#[test]
fn a_program_that_is_disturbed_at_80_columns() {
    assert_snapshot!(by_events(report(), 80), @r"
    ./app --fast · 4.1 s watched · 5 threads · cpus 0,1
    Its threads ran for 96.1 % of the 8.2 s in which they were runnable; the rest
      went to interrupts 0.26 %, other tasks 3.40 %, threads of its own 0.24 %,
      an idle cpu 0.012 %.

    Interrupted  while its threads were on a cpu; rates per second of that time.
      Times cover only the handlers; entering and leaving them costs more, on a
      virtual machine several times as much
    source                  count  rate   time  p50  p99  max  mostly on
                                     /s      %   µs   µs   µs
    timer                   1,975   250   0.19  8.0   31   31  cpu 0
    nvme0q1 (interrupt 36)    411    52  0.063   12   12   12
    irq work                    3   0.4
    Next, to see which devices' interrupts can be moved:  corewise irq

    Preempted  150 times; what ran while one of its threads was runnable
    task                        number  count  time   time  longest
                                                 ms      %       ms
    backup                         812    140   270   3.29      4.1
    threads of its own                     12    20   0.24      4.1
    kworker/1:2: vmstat_update      77      9   9.0   0.11      4.1
    nothing: the cpu was idle               1   1.0  0.012      4.1

    By cpu  most time lost first
    cpu  on cpu  interrupts  handlers  preempted  waiting
                         /s         %         /s        %
    1     3.9 s         253      0.19         37     6.92
    0     4.0 s         248      0.20        1.2     0.25

    Sent by other cpus
      640 x function call from bash (91) on cpu 2 (do_sync_core)
      12 x function call from app (4120) on cpu 2, its own thread (flush_tlb_func)

    Longest  interruptions, each with the interrupted thread and its parts in µs
     4.1 ms  cpu 1 at 1.23 s, worker (4123): task backup (812) 4,062,
             between them 52
      31 µs  cpu 1 at 1.23 s, worker (4123): timer 31

    Also  2,210 waits of its own · 14 migrations ·
      1,931 page faults (31 in the kernel)
    Seen by the kernel's tracepoints: 61,000 events while it was on a cpu, at about
      0.15 µs each 0.12 % of its time on cpus.
    ");
}

#[test]
fn a_program_that_is_disturbed_at_40_columns() {
    assert_snapshot!(by_events(report(), 40), @r"
    ./app --fast · 4.1 s watched · 5 threads
      · cpus 0,1
    Its threads ran for 96.1 % of the 8.2 s
      in which they were runnable; the rest
      went to interrupts 0.26 %,
      other tasks 3.40 %,
      threads of its own 0.24 %,
      an idle cpu 0.012 %.

    Interrupted  while its threads were on a
      cpu; rates per second of that time.
      Times cover only the handlers;
      entering and leaving them costs more,
      on a virtual machine several times as
      much
    source           count  rate   time  max
                              /s      %   µs
    timer            1,975   250   0.19   31
    nvme0q1 (inter…    411    52  0.063   12
    irq work             3   0.4
    Hidden at this width: p50, p99, mostly
      on
    Next, to see which devices' interrupts
      can be moved:  corewise irq

    Preempted  150 times; what ran while one
      of its threads was runnable
    task               count   time  longest
                                  %       ms
    backup               140   3.29      4.1
    threads of its o…     12   0.24      4.1
    kworker/1:2: vms…      9   0.11      4.1
    nothing: the cpu…      1  0.012      4.1
    Hidden at this width: number, time

    By cpu  most time lost first
    cpu  interrupts  handlers  waiting
                 /s         %        %
    1           253      0.19     6.92
    0           248      0.20     0.25
    Hidden at this width: on cpu, preempted

    Sent by other cpus
      640 x function call from bash (91) on
        cpu 2 (do_sync_core)
      12 x function call from app (4120) on
        cpu 2, its own thread
        (flush_tlb_func)

    Longest  interruptions, each with the
      interrupted thread and its parts in µs
     4.1 ms  cpu 1 at 1.23 s, worker (4123):
             task backup (812) 4,062,
             between them 52
      31 µs  cpu 1 at 1.23 s, worker (4123):
             timer 31

    Also  2,210 waits of its own ·
      14 migrations ·
      1,931 page faults (31 in the kernel)
    Seen by the kernel's tracepoints: 61,000
      events while it was on a cpu, at about
      0.15 µs each 0.12 % of its time on
      cpus.
    ");
}

#[test]
fn a_program_that_nobody_disturbs() {
    let quiet = BesideReport {
        handlers: Vec::new(),
        instead: Vec::new(),
        senders: Vec::new(),
        worst: Vec::new(),
        cpus: vec![on_cpu(1, 2.0, 0.0, 0)],
        on_cpu_s: 2.0,
        handlers_s: 0.0,
        waited_s: 0.0,
        waited_for_own_s: 0.0,
        events_lost: 12,
        ..report()
    };
    let seen = BesideOutcome::Events(Box::new(quiet));
    assert_snapshot!(shown(&seen, EventSource::Ftrace, &[], false, 80), @r"
    ./app --fast · 4.1 s watched, then it ran on · 5 threads · cpus 0,1
    Its threads ran for 100.0 % of the 2.0 s in which they were runnable; the rest
      went to interrupts 0 %, other tasks 0 %.

    Also  2,210 waits of its own · 14 migrations ·
      1,931 page faults (31 in the kernel)
    Seen by the kernel's tracepoints through ftrace: 61,000 events while it was on a
      cpu, at about 0.15 µs each 0.12 % of its time on cpus.
    12 events were lost and are not in these numbers.
    ");
}

#[test]
fn a_program_that_never_ran_says_so() {
    let never = BesideReport { on_cpu_s: 0.0, waited_s: 0.0, handlers: Vec::new(), cpus: Vec::new(), ..report() };
    assert!(by_events(never, 80).contains("None of its threads was seen on a cpu."));
}

#[test]
fn what_anyone_may_see() {
    let count = |source: &str, count| SourceCount { source: source.into(), count };
    let accounts = ProgramAccounts {
        watched_s: 2.0,
        threads: 1,
        on_cpu_s: 1.9,
        waited_s: 0.1,
        involuntary_switches: 25,
        voluntary_switches: 1,
        interrupts: vec![
            CpuInterrupts { cpu: 0, sources: vec![count("LOC", 500), count("36 nvme0q1", 12), count("RES", 2)] },
            CpuInterrupts { cpu: 1, sources: vec![count("LOC", 480)] },
        ],
    };
    let gap = Gap::new("causes of stalls", "perf's tracepoints are refused: Permission denied (os error 13)")
        .cured_by("run as root, or with CAP_PERFMON and a readable tracefs");
    let seen = BesideOutcome::Accounts(accounts);
    assert_snapshot!(shown(&seen, EventSource::Thread, std::slice::from_ref(&gap), true, 80), @r"
    ./app --fast · 2.0 s watched · 1 thread · cpus 0,1

    Its threads ran for 1.9 s and waited for a cpu for another 100 ms (5.00 % of
      both), after a preemption or a wake-up.
    They were preempted 25 times, and waited voluntarily 1 time.

    Interrupts  on its cpus, whatever ran there, per second
    0  timer 250, nvme0q1 6.0
    1  timer 240

    Not measured: causes of stalls (perf's tracepoints are refused: Permission
      denied (os error 13)): run as root, or with CAP_PERFMON and a readable
      tracefs.
    ");
    shown(&seen, EventSource::Thread, &[gap], true, 40);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [20, 30, 41, 57, 79, 100, 140] {
        by_events(report(), width);
    }
}

#[test]
fn no_thread_is_named_so_that_it_steers_or_hides() {
    let cpus = CpuSet::first_cpus(2);
    for (seen, name) in hostile::copies(&report()).into_iter().zip(hostile::names()) {
        let seen = BesideOutcome::Events(Box::new(seen));
        let (command, gaps) = ([name.clone(), name.clone()], [Gap::new(name.clone(), name.clone())]);
        let event_source = EventSource::Perf;
        let shown =
            ShownBeside { command: &command, cpus: &cpus, event_source, seen: &seen, gaps: &gaps, to_its_end: true };
        [40, 80, 140].into_iter().for_each(|width| hostile::check_screen(&draw_screen(&shown, width), width));
        hostile::check_json(&BesideDocument::new(&shown, Some(0), None));
    }
}
