//! All visits together: fences, the host, periods, senders, and what watching costs.

use corewise_machine::event::InterruptSource;

use super::*;
use crate::attribution::{CausePhase, CpuStalls, StallCause, measure_perturbation, settle_visits};
use crate::stall::Stall;

/// A millisecond, in nanoseconds.
const MS: u64 = 1_000_000;

fn settled(made: &MadeEvents) -> CpuStalls {
    settle_visits(vec![made.divided()], &made.surroundings, usize::MAX).remove(&0).unwrap()
}

/// Cause, how often it is counted, and how often it took part.
fn counts(stalls: &CpuStalls) -> Vec<(String, u64, u64)> {
    stalls.causes.iter().map(|cause| (cause.cause.plain_name(), cause.count, cause.took_part)).collect()
}

/// A timer stall every 4 ms, whose way in takes as long as given.
fn ticks(made: MadeEvents, lengths_ns: &[u64]) -> MadeEvents {
    lengths_ns.iter().enumerate().fold(made, |made, (index, &way_ns)| {
        let begin_ns = index as u64 * 4 * MS;
        let made = made.stall(begin_ns, begin_ns + way_ns + 2_000);
        made.at(begin_ns + way_ns, enter(timer())).at(begin_ns + way_ns + 1_500, exit(timer()))
    })
}

#[test]
fn a_way_that_is_far_too_long_is_only_as_long_as_the_fence() {
    // Quartiles 7,000 and 7,200: the fence is at 7,800.
    let mut lengths = [vec![7_000; 12], vec![7_200; 12]].concat();
    lengths.push(57_800);
    let stalls = settled(&ticks(MadeEvents::new(), &lengths));
    assert_eq!(counts(&stalls), [("timer".into(), 24, 25), ("unknown".into(), 1, 1)]);
    let unknown = &stalls.causes[1];
    assert_eq!((unknown.time_s * 1e9).round() as u64, 50_000);
    let parts: Vec<(CausePhase, u64)> =
        unknown.worst[0].parts.iter().map(|part| (part.phase, part.length_ns)).collect();
    assert_eq!(parts[..2], [(CausePhase::Delivery, 7_800), (CausePhase::Running, 50_000)]);
    assert_eq!((stalls.named, stalls.explained, stalls.count), (25, 24, 25));
}

#[test]
fn too_few_ways_have_no_fence() {
    let lengths = [vec![7_000; 18], vec![57_800]].concat();
    assert_eq!(counts(&settled(&ticks(MadeEvents::new(), &lengths))), [("timer".into(), 19, 19)]);
}

#[test]
fn time_off_the_cpu_without_another_task_is_the_hosts() {
    let begin_ns = 40 * MS;
    let made = ticks(MadeEvents::new().under_hypervisor().pieces(100), &[7_000; 10])
        .stall_off_cpu(begin_ns, begin_ns + 20_000, 9_000, 0)
        .at(begin_ns + 15_000, enter(timer()))
        .at(begin_ns + 17_000, exit(timer()));
    let stalls = settled(&made);
    assert_eq!(counts(&stalls), [("timer".into(), 11, 11), ("stolen by the host".into(), 0, 1)]);
    // First from the longest way in, never from the work that was done.
    let parts = &stalls.causes[0].worst[0].parts;
    let told: Vec<(String, u64)> = parts.iter().map(|part| (part.cause.plain_name(), part.length_ns)).collect();
    let expected = [("timer", 5_900), ("timer", 2_000), ("timer", 3_000), ("work", 100), ("stolen by the host", 9_000)];
    assert_eq!(told, expected.map(|(name, length_ns)| (name.to_owned(), length_ns)));
}

#[test]
fn what_nobody_names_is_counted_with_the_host_where_it_accounts_for_a_quarter_of_it() {
    let stall_of = |off_cpu_ns| settled(&MadeEvents::new().under_hypervisor().stall_off_cpu(0, 20_000, off_cpu_ns, 0));
    let (stolen, unknown) = ("stolen by the host".to_owned(), "unknown".to_owned());
    assert_eq!(counts(&stall_of(5_000)), [(unknown.clone(), 0, 1), (stolen.clone(), 1, 1)]);
    assert_eq!(counts(&stall_of(4_900)), [(unknown, 1, 1), (stolen.clone(), 0, 1)]);
    // Times stay as they are accounted for.
    assert_eq!((stall_of(5_000).causes[1].time_s * 1e9).round() as u64, 5_000);
    assert_eq!((stall_of(5_000).explained, stall_of(4_900).explained), (1, 0));
    // What this kernel names is not the host's, however much of it was.
    let at_ns = 100 * MS;
    let made = ticks(MadeEvents::new().under_hypervisor(), &[7_000; 5]).stall_off_cpu(at_ns, at_ns + 20_000, 9_000, 0);
    let made = made.at(at_ns + 1_000, enter(timer())).at(at_ns + 19_000, exit(timer()));
    assert_eq!(counts(&settled(&made)), [("timer".into(), 6, 6), (stolen, 0, 1)]);
}

#[test]
fn a_preemption_whose_switch_had_no_room_is_not_the_hosts() {
    for made in [MadeEvents::new().under_hypervisor(), MadeEvents::new()] {
        let stalls = settled(&made.stall_off_cpu(0, 5 * MS, 5 * MS - 1_000, 1));
        assert_eq!(counts(&stalls), [("another task".into(), 1, 1), ("unknown".into(), 0, 1)]);
        assert_eq!((stalls.named, stalls.explained), (1, 1));
    }
}

#[test]
fn beyond_a_thousand_tasks_they_are_one_cause() {
    let one = |made: MadeEvents, index: u64| {
        let (begin_ns, task) = (index * MS / 10, 1000 + index as u32);
        made.stall_off_cpu(begin_ns, begin_ns + 50_000, 48_000, 1)
            .at(begin_ns + 1_000, switch(LOOP, task, "cc1"))
            .at(begin_ns + 49_000, switch(task, LOOP, "tail 0"))
    };
    let stalls = settled(&(0..1500).fold(MadeEvents::new(), one));
    assert_eq!((stalls.count, stalls.named, stalls.causes.len()), (1500, 1500, 1001));
    let last = stalls.causes.iter().find(|cause| cause.cause == StallCause::OtherTask).unwrap();
    assert_eq!((last.count, last.took_part), (500, 500));
    assert!((stalls.lost_s - 1500.0 * 50e-6).abs() < 1e-9, "{}", stalls.lost_s);
}

#[test]
fn time_off_the_cpu_for_another_task_is_that_tasks() {
    let made = MadeEvents::new()
        .under_hypervisor()
        .stall_off_cpu(0, 50_000, 41_000, 1)
        .at(1_000, switch(LOOP, 9, "sh"))
        .at(42_000, switch(9, LOOP, "tail 0"));
    assert_eq!(counts(&settled(&made)), [("task sh (9)".into(), 1, 1)]);
    // What interrupts that task is off the cpu for the thread as well, and nobody's theft.
    let interrupted = MadeEvents::new()
        .under_hypervisor()
        .stall_off_cpu(0, 50_000, 41_000, 1)
        .at(1_000, switch(LOOP, 9, "sh"))
        .at(20_000, enter(timer()))
        .at(30_000, exit(timer()))
        .at(42_000, switch(9, LOOP, "tail 0"));
    assert_eq!(counts(&settled(&interrupted)), [("task sh (9)".into(), 1, 1), ("timer".into(), 0, 1)]);
    // The host may take time besides.
    let also_stolen = MadeEvents::new()
        .under_hypervisor()
        .stall_off_cpu(0, 50_000, 39_000, 1)
        .at(15_000, switch(LOOP, 9, "sh"))
        .at(42_000, switch(9, LOOP, "tail 0"));
    let stalls = settled(&also_stolen);
    assert_eq!(counts(&stalls), [("task sh (9)".into(), 1, 1), ("stolen by the host".into(), 0, 1)]);
    assert_eq!((stalls.causes[1].time_s * 1e9).round() as u64, 12_000);
    // Without a hypervisor nobody steals.
    let bare = MadeEvents::new().stall_off_cpu(0, 50_000, 41_000, 0);
    assert_eq!(counts(&settled(&bare)), [("unknown".into(), 1, 1)]);
    let guest = bare.under_hypervisor().stall(60_000, 70_000).stall(80_000, 90_000);
    assert_eq!(counts(&settled(&guest)), [("stolen by the host".into(), 1, 1), ("unknown".into(), 2, 3)]);
}

#[test]
fn where_the_kernel_leaves_interrupts_out_of_cpu_time_they_are_not_stolen() {
    // Every stall takes cpu time from the thread: CONFIG_IRQ_TIME_ACCOUNTING.
    let one = |made: MadeEvents, begin_ns: u64| {
        let made = made.stall_off_cpu(begin_ns, begin_ns + 20_000, 9_000, 0);
        made.at(begin_ns + 3_000, enter(timer())).at(begin_ns + 12_000, exit(timer()))
    };
    let made = (0..10).fold(MadeEvents::new().under_hypervisor(), |made, index| one(made, index * 4 * MS));
    assert_eq!(counts(&settled(&made)), [("timer".into(), 10, 10)]);
    // Stalls that nothing of this system made say nothing about that, however many they are.
    let beside = |made: MadeEvents, index: u64| made.stall(index * MS + 500_000, index * MS + 510_000);
    let mut among = (0..37).fold(made.clone(), beside);
    among.visit.stalls.sort_by_key(|stall| stall.begin_ns);
    assert_eq!(counts(&settled(&among)), [("unknown".into(), 37, 37), ("timer".into(), 10, 10)]);
    let unwatched = settled(&made.unwatched());
    assert_eq!(counts(&unwatched), [("interrupted".into(), 10, 10)]);
}

#[test]
fn what_comes_with_a_period_and_without_events_is_periodic() {
    // 100 Hz beside the own timer's 250 Hz.
    let lengths = vec![7_000; 200];
    let made = (0..80).fold(ticks(MadeEvents::new(), &lengths), |made, index| {
        let begin_ns = 1_500_000 + index * 10 * MS + index % 7 * 1_000;
        made.stall(begin_ns, begin_ns + 20_000)
    });
    let mut made = made;
    made.visit.stalls.sort_by_key(|stall| stall.begin_ns);
    let stalls = settled(&made);
    assert_eq!(counts(&stalls), [("timer".into(), 200, 200), ("periodic".into(), 80, 80)]);
    assert!((stalls.periods[0].hertz - 100.0).abs() < 0.1, "{:?}", stalls.periods);
    assert_eq!((stalls.named, stalls.explained, stalls.count), (200, 280, 280));
    assert!((stalls.outside_s() - 80.0 * 20e-6).abs() < 1e-9, "{}", stalls.outside_s());
}

#[test]
fn unwatched_visits_beside_watched_ones_only_tell_what_watching_costs() {
    let round = |round: u32, unwatched_ns: u64| {
        let mut watched = ticks(MadeEvents::new(), &[7_200; 12]);
        let mut unwatched = ticks(MadeEvents::new(), &[unwatched_ns; 12]).unwatched();
        (watched.visit.round, unwatched.visit.round) = (round, round);
        unwatched.visit.events.clear();
        [unwatched.divided(), watched.divided()]
    };
    let visits: Vec<_> = (0..7).flat_map(|index| round(index, 6_000 + u64::from(index) * 100)).collect();
    let cost = measure_perturbation(&visits).unwrap();
    // Of unwatched lengths 8,000 to 8,600 the one in the middle is 8,300.
    assert!((cost.ratio - 9_200.0 / 8_300.0).abs() < 1e-9, "{cost:?}");
    assert_eq!((cost.pairs, cost.watched_ns, cost.unwatched_ns), (7, 9_200.0, 8_300.0));
    let [low, high] = cost.interval.unwrap();
    assert!(low < cost.ratio && cost.ratio < high);
    let stalls = settle_visits(visits.clone(), &MadeEvents::new().surroundings, 3).remove(&0).unwrap();
    assert_eq!((stalls.count, stalls.watched_s.round()), (84, 7.0), "the unwatched are not counted");
    let (watched, unwatched): (Vec<_>, Vec<_>) = visits.into_iter().partition(|visit| visit.armed);
    assert_eq!(measure_perturbation(&watched), None);
    assert_eq!(measure_perturbation(&unwatched), None, "nobody tells the timer's period");
}

#[test]
fn what_watching_costs_is_told_by_the_timer_s_stalls_alone() {
    let watched = ticks(MadeEvents::new(), &[7_200; 12]);
    let mut unwatched = ticks(MadeEvents::new(), &[6_000; 12]).unwatched();
    unwatched.visit.events.clear();
    let alone = measure_perturbation(&[unwatched.divided(), watched.divided()]).unwrap();
    // A host's timer strikes right after each of this system's, twice.
    let of_timer = unwatched.visit.stalls.clone();
    for after_ns in [9_000, 12_000] {
        let short = |stall: &Stall| Stall {
            begin_ns: stall.begin_ns + after_ns,
            end_ns: stall.begin_ns + after_ns + 1_500,
            ..*stall
        };
        unwatched.visit.stalls.extend(of_timer.iter().map(short));
    }
    unwatched.visit.stalls.sort_by_key(|stall| stall.begin_ns);
    assert_eq!(measure_perturbation(&[unwatched.divided(), watched.divided()]), Some(alone));
}

#[test]
fn what_watching_costs_is_not_seen_in_stalls_off_the_cpu() {
    let mut unwatched = ticks(MadeEvents::new(), &[7_000; 12]).unwatched();
    unwatched.visit.events.clear();
    let watched = ticks(MadeEvents::new(), &[7_000; 12]);
    let mut switched = watched.clone();
    for stall in &mut switched.visit.stalls {
        (stall.end_ns, stall.involuntary_switches) = (stall.end_ns + 50_000, 1);
    }
    assert_eq!(measure_perturbation(&[unwatched.divided(), switched.divided()]), None);
    assert_eq!(measure_perturbation(&[unwatched.divided(), watched.divided()]).unwrap().ratio, 1.0);
}

#[test]
fn an_interrupt_between_cpus_has_the_last_sender_that_meant_this_cpu_and_this_kind() {
    let made = MadeEvents::new()
        .from(2, 50, 100, sent(&[0, 1], "generic_smp_call_function_single_interrupt"))
        .from(3, 60, 150, sent(&[0], ""))
        .from(1, 70, 180, sent(&[2], "generic_smp_call_function_single_interrupt"))
        .at(1_000, enter(InterruptSource::FunctionCall))
        .at(1_100, called("ipi_mb"))
        .at(2_000, exit(InterruptSource::FunctionCall))
        .at(3_000, enter(InterruptSource::Reschedule))
        .at(3_100, exit(InterruptSource::Reschedule))
        .from(0, LOOP, 3_500, sent(&[0], ""))
        .at(20 * MS, enter(InterruptSource::Reschedule))
        .at(20 * MS + 100, exit(InterruptSource::Reschedule))
        .at(21 * MS, enter(timer()));
    let senders = made.divided().senders;
    let told: Vec<_> =
        senders.iter().map(|one| (one.source, one.cpu, one.task, one.function.as_str(), one.count)).collect();
    let expected = [
        (InterruptSource::Reschedule, None, None, "", 1),
        (InterruptSource::Reschedule, Some(3), Some(60), "", 1),
        (InterruptSource::FunctionCall, Some(2), Some(50), "ipi_mb", 1),
    ];
    assert_eq!(told, expected);
}

#[test]
fn where_no_callback_is_told_the_last_sender_will_do() {
    let made = MadeEvents::new()
        .from(2, 50, 900, sent(&[0], ""))
        .at(1_000, enter(InterruptSource::FunctionCall))
        .at(2_000, exit(InterruptSource::FunctionCall));
    let senders = made.divided().senders;
    assert_eq!((senders[0].cpu, senders[0].task, senders[0].count), (Some(2), Some(50), 1));
    // Nobody interrupts another cpu by what it sends to itself.
    let own = MadeEvents::new().at(900, sent(&[0, 1], "")).at(1_000, enter(InterruptSource::Reschedule));
    assert_eq!(own.divided().senders[0].cpu, None);
    // Two cpus' records may be a little out of order, and no more.
    for (at_ns, cpu) in [(1_200, Some(2)), (1_201, None)] {
        let late = MadeEvents::new().from(2, 50, at_ns, sent(&[0], "")).at(1_000, enter(InterruptSource::Reschedule));
        let mut late = late;
        late.visit.events.sort_by_key(|event| event.at_ns);
        assert_eq!(late.divided().senders[0].cpu, cpu, "{at_ns}");
    }
}

#[test]
fn the_worst_are_the_longest_first_and_no_more_than_asked_for() {
    let made = ticks(MadeEvents::new(), &[3_000, 9_000, 5_000, 7_000]);
    let stalls = settle_visits(vec![made.divided()], &made.surroundings, 2).remove(&0).unwrap();
    let lengths: Vec<u64> = stalls.causes[0].worst.iter().map(|line| line.length_ns).collect();
    assert_eq!(lengths, [11_000, 9_000]);
    assert_eq!(stalls.causes[0].worst[0].begin_ns, 4 * MS);
    assert_eq!(stalls.causes[0].cause, StallCause::Interrupt { source: timer(), detail: String::new() });
    // In all 24,000 of ways in, 6,000 in the handler, 2,000 of ways out.
    let told = (stalls.lost_s, stalls.causes[0].running_s, stalls.causes[0].share);
    assert!((told.0 - 32e-6).abs() < 1e-12 && (told.1 - 6e-6).abs() < 1e-12 && told.2 == 1.0, "{told:?}");
}

#[test]
fn nothing_at_all_is_settled_too() {
    assert!(settle_visits(Vec::new(), &MadeEvents::new().surroundings, 5).is_empty());
    let stalls = settled(&MadeEvents::new());
    assert_eq!((stalls.count, stalls.lost_s, stalls.causes.len()), (0, 0.0, 0));
    assert_eq!(measure_perturbation(&[]), None);
}
