//! One visit: what each kind of event makes of a stall.

use corewise_machine::event::InterruptSource;

use super::*;
use crate::attribution::{CausePhase, StallCause};

#[test]
fn the_way_in_the_handler_and_the_way_out_are_the_interrupts() {
    let made = MadeEvents::new().stall(1_000, 20_000).at(8_000, enter(timer())).at(12_000, exit(timer()));
    assert_eq!(made.parts(), ["timer delivery 7000", "timer running 4000", "timer return 8000"]);
}

#[test]
fn a_handler_within_a_handler_interrupts_it() {
    let made = MadeEvents::new()
        .stall(0, 10_000)
        .at(1_000, enter(timer()))
        .at(2_000, exit(timer()))
        .at(2_100, enter(soft()))
        .at(3_000, enter(device()))
        .at(4_500, exit(device()))
        .at(6_000, exit(soft()));
    let parts = [
        "timer delivery 1000",
        "timer running 1000",
        "timer between 100",
        "softirq SCHED running 900",
        "interrupt 36 running 1500",
        "softirq SCHED running 1500",
        "softirq SCHED return 4000",
    ];
    assert_eq!(made.parts(), parts);
}

#[test]
fn nothing_told_is_nobody_known() {
    let divided = MadeEvents::new().stall(5, 10_005).divided();
    assert_eq!(made::in_words(&divided.stalls[0]), ["unknown running 10000"]);
    assert!(!divided.stalls[0].has_events);
    assert_eq!(divided.stalls[0].main(), &StallCause::Unknown);
}

#[test]
fn what_says_nothing_of_who_has_the_cpu_names_nobody() {
    let divided =
        MadeEvents::new().stall(0, 9_000).at(500, called("do_sync_core")).at(600, work("vmstat_update")).divided();
    assert_eq!(made::in_words(&divided.stalls[0]), ["unknown running 9000"]);
    assert!(!divided.stalls[0].has_events);
}

#[test]
fn another_task_runs_from_switch_to_switch_with_what_interrupts_it() {
    let made = MadeEvents::new()
        .stall(0, 100_000)
        .at(2_000, enter(InterruptSource::Reschedule))
        .at(2_500, exit(InterruptSource::Reschedule))
        .at(4_000, switch(LOOP, 9, "sh"))
        .at(50_000, enter(timer()))
        .at(53_000, exit(timer()))
        .at(90_000, switch(9, LOOP, "tail 0"));
    let parts = [
        "reschedule delivery 2000",
        "reschedule running 500",
        "reschedule between 1500",
        "task sh (9) running 46000",
        "timer running 3000",
        "task sh (9) running 37000",
        "task sh (9) return 10000",
    ];
    assert_eq!(made.parts(), parts);
    assert_eq!(made.divided().stalls[0].main(), &task("sh", 9));
}

#[test]
fn one_task_after_another_has_its_own_time() {
    let made = MadeEvents::new()
        .stall(0, 10_000)
        .at(1_000, switch(LOOP, 9, "sh"))
        .at(3_000, switch(9, 12, "kworker/0:1"))
        .at(3_100, work("vmstat_update"))
        .at(8_000, switch(12, LOOP, "tail 0"));
    let parts = [
        "task sh (9) delivery 1000",
        "task sh (9) running 2000",
        "task kworker/0:1: vmstat_update running 5000",
        "task kworker/0:1: vmstat_update return 2000",
    ];
    assert_eq!(made.parts(), parts);
}

#[test]
fn the_loop_is_known_by_the_first_switch_where_its_number_is_not() {
    let mut made = MadeEvents::new().stall(0, 9_000).at(1_000, switch(5, 9, "sh")).at(8_000, switch(9, 5, "tail 0"));
    made.visit.own_task = 0;
    assert_eq!(made.parts(), ["task sh (9) delivery 1000", "task sh (9) running 7000", "task sh (9) return 1000"]);
}

#[test]
fn an_end_without_a_beginning_ends_what_began_before() {
    let made = MadeEvents::new().stall(0, 9_000).at(4_000, exit(device()));
    assert_eq!(made.parts(), ["interrupt 36 running 4000", "interrupt 36 return 5000"]);
    let task = MadeEvents::new().stall(0, 9_000).at(4_000, switch(9, LOOP, "tail 0"));
    assert_eq!(task.parts(), ["another task running 4000", "another task return 5000"]);
    let within_a_task = MadeEvents::new()
        .stall(0, 9_000)
        .at(1_000, switch(LOOP, 9, "sh"))
        .at(4_000, exit(device()))
        .at(8_000, switch(9, LOOP, "tail 0"));
    let parts = ["task sh (9) delivery 1000", "task sh (9) running 7000", "task sh (9) return 1000"];
    assert_eq!(within_a_task.parts(), parts, "a beginning that was lost takes nobody's time");
}

#[test]
fn a_beginning_without_an_end_lasts_until_the_stall_ends_or_the_task_goes() {
    let made = MadeEvents::new().stall(0, 9_000).at(4_000, enter(device()));
    assert_eq!(made.parts(), ["interrupt 36 delivery 4000", "interrupt 36 running 5000"]);
    let switched = MadeEvents::new()
        .stall(0, 9_000)
        .at(1_000, enter(device()))
        .at(2_000, switch(LOOP, 9, "sh"))
        .at(7_000, switch(9, LOOP, "tail 0"));
    let parts = [
        "interrupt 36 delivery 1000",
        "interrupt 36 running 1000",
        "task sh (9) running 5000",
        "task sh (9) return 2000",
    ];
    assert_eq!(switched.parts(), parts);
}

#[test]
fn irq_work_has_no_end_and_takes_no_more_than_the_way_from_it() {
    let made = MadeEvents::new()
        .stall(0, 9_000)
        .at(1_000, enter(InterruptSource::IrqWork))
        .at(3_000, enter(soft()))
        .at(4_000, exit(soft()));
    let parts =
        ["irq work delivery 1000", "irq work between 2000", "softirq SCHED running 1000", "softirq SCHED return 5000"];
    assert_eq!(made.parts(), parts);
}

#[test]
fn a_non_maskable_interrupt_is_told_at_its_end() {
    let made = MadeEvents::new()
        .stall(0, 9_000)
        .at(1_000, enter(timer()))
        .at(3_000, non_maskable(1_200))
        .at(5_000, exit(timer()));
    let parts = [
        "timer delivery 1000",
        "timer running 800",
        "non-maskable interrupt: perf_event_nmi_handler running 1200",
        "timer running 2000",
        "timer return 4000",
    ];
    assert_eq!(made.parts(), parts);
    let too_long = MadeEvents::new().stall(2_000, 9_000).at(3_000, non_maskable(5_000));
    let parts = [
        "non-maskable interrupt: perf_event_nmi_handler running 1000",
        "non-maskable interrupt: perf_event_nmi_handler return 6000",
    ];
    assert_eq!(too_long.parts(), parts, "no more than what passed since the stall began");
}

#[test]
fn a_page_fault_lasts_until_the_loop_goes_on() {
    let made = MadeEvents::new()
        .stall(0, 9_000)
        .at(500, fault())
        .at(2_000, enter(timer()))
        .at(3_000, exit(timer()))
        .at(4_000, fault());
    let parts = ["page fault delivery 500", "page fault running 1500", "timer running 1000", "page fault running 6000"];
    assert_eq!(made.parts(), parts);
    let of_another = MadeEvents::new()
        .stall(0, 9_000)
        .at(1_000, switch(LOOP, 9, "sh"))
        .at(2_000, fault())
        .at(8_000, switch(9, LOOP, "tail 0"));
    let parts = ["task sh (9) delivery 1000", "task sh (9) running 7000", "task sh (9) return 1000"];
    assert_eq!(of_another.parts(), parts, "another task's fault is its time");
}

#[test]
fn a_call_has_its_function_and_a_device_its_name() {
    let mut made = MadeEvents::new()
        .stall(0, 9_000)
        .at(1_000, enter(InterruptSource::FunctionCall))
        .at(1_100, called("ipi_mb"))
        .at(1_300, called("do_sync_core"))
        .at(2_000, exit(InterruptSource::FunctionCall))
        .at(3_000, enter(device()))
        .at(4_000, called("flush_tlb_func"))
        .at(5_000, exit(device()));
    made.surroundings.devices.insert(36, "nvme0q1".into());
    let parts = [
        "function call: ipi_mb delivery 1000",
        "function call: ipi_mb running 1000",
        "function call: ipi_mb between 1000",
        "nvme0q1 (interrupt 36) running 2000",
        "nvme0q1 (interrupt 36) return 4000",
    ];
    assert_eq!(made.parts(), parts);
}

#[test]
fn the_slack_at_both_ends_is_a_hundred_nanoseconds() {
    for (at_ns, is_inside) in [(899, false), (900, true), (1_000, true), (9_000, true), (9_100, true), (9_101, false)] {
        let divided = MadeEvents::new().stall(1_000, 9_000).at(at_ns, enter(timer())).divided();
        assert_eq!(divided.stalls[0].has_events, is_inside, "{at_ns}");
        let expected = match (is_inside, at_ns) {
            (false, _) => vec!["unknown running 8000"],
            (true, ..=1_000) => vec!["timer running 8000"],
            (true, _) => vec!["timer delivery 8000"],
        };
        assert_eq!(made::in_words(&divided.stalls[0]), expected, "{at_ns}");
    }
}

#[test]
fn an_event_is_in_one_stall_alone() {
    let made = MadeEvents::new()
        .stall(1_000, 3_000)
        .stall(3_050, 6_000)
        .stall(6_000, 7_000)
        .at(2_000, enter(timer()))
        .at(3_060, exit(timer()))
        .at(4_000, enter(device()))
        .at(6_000, exit(device()));
    let divided = made.divided();
    let words: Vec<Vec<String>> = divided.stalls.iter().map(made::in_words).collect();
    assert_eq!(words[0], ["timer delivery 1000", "timer running 1000"]);
    assert_eq!(words[1], ["interrupt 36 delivery 950", "interrupt 36 running 2000"]);
    assert_eq!(words[2], ["unknown running 1000"]);
}

#[test]
fn what_another_cpu_told_is_not_this_ones() {
    let divided = MadeEvents::new().stall(0, 9_000).from(1, 5, 1_000, enter(timer())).divided();
    assert!(!divided.stalls[0].has_events);
    assert_eq!(divided.tick_ns, 0);
}

#[test]
fn work_was_not_done_while_a_handler_ran() {
    let made = MadeEvents::new().pieces(1_000).stall(0, 10_000).at(2_000, enter(timer())).at(9_000, exit(timer()));
    let handler = made.divided().stalls[0]
        .parts
        .iter()
        .filter(|part| part.phase == CausePhase::Running)
        .map(|part| part.length_ns)
        .max();
    assert_eq!(handler, Some(7_000), "{:?}", made.parts());
}

#[test]
fn work_that_was_done_meanwhile_is_nobodys_stall() {
    let made = MadeEvents::new().pieces(300).stall(0, 9_000).at(6_000, enter(timer())).at(7_000, exit(timer()));
    assert_eq!(made.parts(), ["timer delivery 5700", "timer running 1000", "timer return 2000", "work running 300"]);
    let shorter = MadeEvents::new().pieces(300).stall(0, 200);
    assert_eq!(shorter.parts(), ["work running 200"]);
    assert_eq!(shorter.divided().stalls[0].main(), &StallCause::Unknown, "a stall that is all work has no cause");
}

#[test]
fn the_time_between_two_ticks_is_the_one_in_the_middle() {
    let ticks = [10, 4_010, 8_020, 8_100, 12_000].into_iter();
    let made = ticks.fold(MadeEvents::new(), |made, at_ns| made.at(at_ns, enter(timer())));
    assert_eq!(made.divided().tick_ns, 4_000);
    assert_eq!(MadeEvents::new().at(10, enter(timer())).at(20, enter(timer())).divided().tick_ns, 0);
}

#[test]
fn without_events_a_thread_knows_whether_it_was_off_the_cpu() {
    let told = |made: MadeEvents| made.unwatched().parts();
    let switched = MadeEvents::new().under_hypervisor().stall_off_cpu(0, 9_000, 6_000, 1);
    assert_eq!(told(switched), ["interrupted running 3000", "another task running 6000"]);
    let stolen = MadeEvents::new().under_hypervisor().stall_off_cpu(0, 9_000, 6_000, 0);
    assert_eq!(told(stolen), ["interrupted running 3000", "stolen by the host running 6000"]);
    let bare = MadeEvents::new().stall_off_cpu(0, 9_000, 20_000, 0);
    assert_eq!(told(bare), ["interrupted running 9000"]);
    let hardly = MadeEvents::new().under_hypervisor().stall_off_cpu(0, 9_000, 1_999, 1);
    assert_eq!(told(hardly), ["interrupted running 9000"], "the accounts are not that exact");
}

#[test]
fn a_stall_that_ends_before_it_begins_has_no_parts() {
    let made = MadeEvents::new().pieces(10).stall(9_000, 1_000).at(5_000, enter(timer())).at(9_050, exit(timer()));
    assert!(made.divided().stalls[0].parts.is_empty());
}
