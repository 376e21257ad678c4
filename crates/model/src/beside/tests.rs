//! Made-up and recorded streams of events, and what is to be told of them.

use corewise_machine::CpuSet;
use corewise_machine::event::{EventKind, EventSource, InterruptSource, KernelEvent};

use super::*;
use crate::stall::CauseSurroundings;

const STARTER: u32 = 50;
const APP: u32 = 100;

/// A program that was forked and executed on cpu 0 at 1,000 ns, and whose cpus 0 and 1 are watched.
fn begun() -> ProgramFollower {
    let devices = [(36, "nvme0q1".to_owned())].into();
    let mut follow = ProgramFollower::new(CauseSurroundings { devices, ..CauseSurroundings::default() });
    follow.watch_cpu(0);
    follow.watch_cpu(1);
    follow.expect_child_of(STARTER);
    feed(
        &mut follow,
        &[
            (100, 0, STARTER, forked(STARTER, APP)),
            (200, 0, STARTER, switch(STARTER, false, APP, "corewise")),
            (500, 0, APP, EventKind::PageFault { in_kernel: false }),
            (1_000, 0, APP, EventKind::Executed { task: APP, program: "/bin/app".into() }),
        ],
    );
    follow
}

fn feed(follow: &mut ProgramFollower, events: &[(u64, u32, u32, EventKind)]) {
    for (at_ns, cpu, task, what) in events {
        follow.take_event(&KernelEvent { at_ns: *at_ns, cpu: *cpu, task: *task, what: what.clone() });
    }
}

fn forked(parent: u32, child: u32) -> EventKind {
    EventKind::Forked { parent, child, name: "app".into() }
}

fn switch(from: u32, preempted: bool, to: u32, name: &str) -> EventKind {
    EventKind::Switch { from, preempted, to, to_name: name.into() }
}

fn enter(source: InterruptSource) -> EventKind {
    EventKind::Enter { source }
}

fn exit(source: InterruptSource) -> EventKind {
    EventKind::Exit { source }
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

fn named(report: &BesideReport, name: &str) -> HandledCause {
    let found = report.handlers.iter().find(|one| one.cause.plain_name() == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", report.handlers)).clone()
}

#[test]
fn what_comes_before_the_program_is_not_the_programs() {
    let report = begun().into_report(3_000, EventSource::Perf);
    assert_eq!((report.threads, report.page_faults_user, report.voluntary_waits), (1, 0, 0));
    assert_eq!((ns(report.watched_s), ns(report.on_cpu_s)), (2_000, 2_000));
    assert!(report.worst.is_empty() && report.handlers.is_empty());
}

#[test]
fn a_handler_in_another_has_its_own_time() {
    let mut follow = begun();
    feed(
        &mut follow,
        &[
            (2_000, 0, APP, enter(InterruptSource::Soft(1))),
            (2_100, 0, APP, enter(InterruptSource::Device(36))),
            (2_400, 0, APP, exit(InterruptSource::Device(36))),
            (2_450, 0, APP, EventKind::NonMaskable { duration_ns: 20, handler: "perf".into() }),
            (2_500, 0, APP, exit(InterruptSource::Soft(1))),
            // At once after it: the same interruption.
            (2_700, 0, APP, enter(InterruptSource::LocalTimer)),
            (2_800, 0, APP, exit(InterruptSource::LocalTimer)),
            // Much later: another one.
            (90_000, 0, APP, enter(InterruptSource::LocalTimer)),
            (90_050, 0, APP, exit(InterruptSource::LocalTimer)),
            (100_000, 0, APP, enter(InterruptSource::IrqWork)),
        ],
    );
    let report = follow.into_report(101_000, EventSource::Perf);
    let times = ["softirq TIMER", "nvme0q1 (interrupt 36)", "non-maskable interrupt: perf", "timer", "irq work"];
    let found = times.map(|name| (named(&report, name).count, ns(named(&report, name).time_s)));
    assert_eq!(found, [(1, 180), (1, 300), (1, 20), (2, 150), (1, 0)]);
    assert_eq!((ns(report.handlers_s), ns(report.on_cpu_s)), (650, 100_000));
    assert_eq!(report.interruptions, 2);
    let lengths: Vec<u64> = report.worst.iter().map(|one| one.length_ns).collect();
    assert_eq!(lengths, [800, 50]);
    assert_eq!(report.worst[0].parts.iter().map(|part| part.length_ns).sum::<u64>(), 800);
    assert_eq!((report.worst[0].begin_ns, report.worst[0].name.as_str()), (1_000, "app"));
}

#[test]
fn a_preempted_thread_waits_for_those_who_run_instead() {
    let mut follow = begun();
    feed(
        &mut follow,
        &[
            (2_000, 0, APP, enter(InterruptSource::LocalTimer)),
            (2_300, 0, APP, exit(InterruptSource::LocalTimer)),
            (3_000, 0, APP, switch(APP, true, 7, "other")),
            (3_500, 0, 7, EventKind::Work { function: "flush".into() }),
            // Another's interruption is none of the program's.
            (3_600, 0, 7, enter(InterruptSource::Device(36))),
            (3_700, 0, 7, exit(InterruptSource::Device(36))),
            (9_000, 0, 7, switch(7, false, 8, "second")),
            (10_000, 0, 8, switch(8, true, APP, "app")),
            (12_000, 0, APP, switch(APP, false, 0, "swapper/0")),
            (20_000, 0, 0, switch(0, true, APP, "app")),
        ],
    );
    let report = follow.into_report(21_000, EventSource::Perf);
    let told: Vec<(&str, u32, &str, u64, u64)> = report
        .instead
        .iter()
        .map(|one| (one.task.name.as_str(), one.task.number, one.task.function.as_str(), one.count, ns(one.time_s)))
        .collect();
    assert_eq!(told, [("other", 7, "flush", 1, 6_000), ("second", 8, "", 1, 1_000)]);
    assert_eq!((report.preemptions, report.voluntary_waits), (1, 1));
    assert_eq!((ns(report.waited_s), ns(report.on_cpu_s)), (7_000, 2_000 + 2_000 + 1_000));
    let share: f64 = report.instead.iter().map(|one| one.share).sum::<f64>();
    assert!((share - 7_000.0 / 12_000.0).abs() < 1e-9);
    // From the timer to the switch back: 300 in the timer, 700 to the switch, 7,000 away.
    assert_eq!((report.interruptions, report.worst[0].length_ns), (1, 8_000));
    assert_eq!(report.worst[0].parts.iter().map(|part| part.length_ns).collect::<Vec<_>>(), [300, 700, 6_000, 1_000]);
}

#[test]
fn threads_and_children_are_followed_wherever_they_go() {
    let mut follow = begun();
    feed(
        &mut follow,
        &[
            (2_000, 0, APP, forked(APP, 101)),
            (2_100, 1, 0, switch(0, true, 101, "app")),
            (2_200, 1, 101, forked(101, 102)),
            // 102 runs where its sibling ran, which waits: the program's own doing.
            (3_000, 1, 101, switch(101, true, 102, "app")),
            (4_000, 1, 102, switch(102, true, 101, "app")),
            // And is moved to the other cpu while it waits.
            (4_500, 4, 9, EventKind::Migrated { task: 102, from: 1, to: 0 }),
            (5_000, 0, APP, switch(APP, false, 102, "app")),
            (5_100, 1, 101, EventKind::Ended { task: 101, name: "app".into() }),
            (5_200, 1, 101, switch(101, false, 0, "swapper/1")),
            // The number is another's now.
            (5_300, 1, 0, switch(0, true, 9, "sh")),
            (5_400, 1, 9, EventKind::Forked { parent: 9, child: 101, name: "sh".into() }),
            (5_500, 1, 9, switch(9, false, 101, "sh")),
            (5_600, 1, 101, enter(InterruptSource::LocalTimer)),
            (5_700, 1, 101, exit(InterruptSource::LocalTimer)),
            (5_800, 0, 102, EventKind::Migrated { task: 102, from: 0, to: 5 }),
        ],
    );
    assert_eq!(follow.take_unwatched().to_string(), "5");
    assert!(follow.take_unwatched().is_empty());
    let report = follow.into_report(6_000, EventSource::Perf);
    assert_eq!((report.threads, report.threads_at_once, report.migrations), (3, 3, 2));
    assert_eq!((ns(report.waited_s), ns(report.waited_for_own_s)), (1_000 + 500 + 500, 2_000));
    assert_eq!((report.instead.len(), report.instead[0].task.is_own), (1, true));
    assert_eq!((report.interruptions, report.handlers.len()), (0, 0));
    let cpus: Vec<(u32, u64)> = report.cpus.iter().map(|cpu| (cpu.cpu, ns(cpu.on_cpu_s))).collect();
    assert_eq!(cpus, [(0, 4_000 + 1_000), (1, 900 + 1_000 + 1_200)]);
}

#[test]
fn interrupts_between_cpus_have_a_sender() {
    let sent = |function: &str| EventKind::Sent { to: [0, 3].into_iter().collect(), function: function.into() };
    let call = InterruptSource::FunctionCall;
    let mut follow = begun();
    feed(
        &mut follow,
        &[
            (2_000, 1, 0, switch(0, true, 9, "bash")),
            (2_100, 1, 9, sent("generic")),
            (2_900, 0, APP, enter(call)),
            (2_950, 0, APP, EventKind::Called { function: "do_sync_core".into() }),
            (3_000, 0, APP, exit(call)),
            // From a cpu that is not watched, by a task whose name is not known.
            (40_000, 4, 77, sent("")),
            // A call that arrives later is nobody's reschedule.
            (40_100, 1, 9, sent("generic")),
            (40_500, 0, APP, enter(InterruptSource::Reschedule)),
            (40_600, 0, APP, exit(InterruptSource::Reschedule)),
            // Too long ago.
            (90_000_000, 0, APP, enter(InterruptSource::Reschedule)),
            (90_000_100, 0, APP, exit(InterruptSource::Reschedule)),
        ],
    );
    assert_eq!(follow.unnamed_senders(), [77]);
    follow.name_task(77, "waker".into());
    assert!(follow.unnamed_senders().is_empty());
    let report = follow.into_report(91_000_000, EventSource::Ftrace);
    let told = |sender: &ProgramInterruptSender| {
        format!("{:?} {} {} x{}", sender.cpu, sender.name, sender.function, sender.count)
    };
    let mut all: Vec<String> = report.senders.iter().map(told).collect();
    all.sort();
    assert_eq!(all, ["None   x1", "Some(1) bash do_sync_core x1", "Some(4) waker  x1"]);
    assert_eq!(report.worst.iter().filter(|one| one.parts[0].cause.plain_name().contains("do_sync_core")).count(), 1);
}

#[test]
fn lost_events_make_sums_less_and_never_nonsense() {
    let mut follow = begun();
    feed(&mut follow, &[(2_000, 0, APP, enter(InterruptSource::LocalTimer))]);
    follow.note_lost(0, 12);
    feed(
        &mut follow,
        &[
            // The end of the handler, and a switch, are missing; who is current says so.
            (9_000, 0, 7, exit(InterruptSource::LocalTimer)),
            (9_500, 0, 7, switch(7, true, APP, "app")),
            (10_000, 0, APP, exit(InterruptSource::LocalTimer)),
            (11_000, 0, APP, enter(InterruptSource::LocalTimer)),
            (5_000_000, 0, APP, enter(InterruptSource::LocalTimer)),
            (5_000_100, 0, APP, exit(InterruptSource::LocalTimer)),
        ],
    );
    let report = follow.into_report(5_001_000, EventSource::Perf);
    assert_eq!((report.events_lost, report.preemptions), (12, 0));
    assert_eq!(ns(named(&report, "timer").time_s), 100);
    assert_eq!(ns(report.on_cpu_s), 1_000 + (5_001_000 - 9_500));
}

#[test]
fn who_leaves_without_a_word_had_the_cpu_until_the_next_one_speaks() {
    let mut follow = begun();
    feed(
        &mut follow,
        &[
            (2_000, 0, APP, switch(APP, true, 7, "silent")),
            // The switch from 7 to 8, which came to another cpu under its name before, is missing.
            (2_100, 1, 0, switch(0, true, 8, "known")),
            (2_200, 1, 8, switch(8, false, 0, "swapper/1")),
            (6_000, 0, 8, enter(InterruptSource::LocalTimer)),
            (7_000, 0, 8, switch(8, true, APP, "app")),
        ],
    );
    let report = follow.into_report(8_000, EventSource::Perf);
    let told: Vec<(&str, u64)> = report.instead.iter().map(|one| (one.task.name.as_str(), ns(one.time_s))).collect();
    assert_eq!(told, [("silent", 4_000), ("known", 1_000)]);
}

#[test]
fn memory_stays_as_it_is_for_however_long() {
    let mut follow = begun();
    for number in 0..20_000_u32 {
        let at_ns = 10_000 + u64::from(number) * 10_000;
        let (other, name) = (1_000 + number, format!("job{}", number / 4));
        feed(
            &mut follow,
            &[
                (at_ns, 0, APP, switch(APP, true, other, &name)),
                (at_ns + 1_000, 0, other, switch(other, false, APP, "app")),
                (at_ns + 2_000, 1, other, EventKind::Sent { to: CpuSet::from_cpu(0), function: String::new() }),
                (at_ns + 2_500, 0, APP, enter(InterruptSource::Reschedule)),
                (at_ns + 2_600, 0, APP, exit(InterruptSource::Reschedule)),
            ],
        );
    }
    let report = follow.into_report(300_000_000, EventSource::Perf);
    assert_eq!(report.preemptions, 20_000);
    assert_eq!(report.instead.iter().map(|one| one.count).sum::<u64>(), 20_000);
    assert_eq!(report.senders.iter().map(|one| one.count).sum::<u64>(), 20_000);
    assert!(report.instead.len() <= 1_501 && report.senders.len() <= 1_001 && report.worst.len() == 10);
    assert_eq!(ns(report.instead.iter().map(|one| one.time_s).sum()), ns(report.waited_s));
}

#[test]
fn watching_costs_what_its_events_cost() {
    let mut follow = begun();
    feed(
        &mut follow,
        &[(1_500, 0, APP, EventKind::PageFault { in_kernel: true }), (1_600, 1, 9, enter(InterruptSource::LocalTimer))],
    );
    let report = follow.into_report(101_000, EventSource::Perf);
    assert_eq!((report.cost.events, report.cost.event_ns, report.events), (1, 151.0, 2));
    assert!((report.cost.share - 151.0 / 100_000.0).abs() < 1e-9);
}
