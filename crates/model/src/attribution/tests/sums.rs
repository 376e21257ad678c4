//! Whatever the stalls and the events: the parts add up to each stall, and the causes to the cpu.

use corewise_machine::event::{EventKind, InterruptSource, KernelEvent};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::made::MadeEvents;
use super::{called, enter, exit, fault, non_maskable, sent, switch, work};
use crate::attribution::{DividedVisit, StallCause, settle_visits};
use crate::stall::{Stall, StallVisit};

/// Stalls and events fall into so many nanoseconds.
const WINDOW_NS: u64 = 2_000_000;

fn source() -> impl Strategy<Value = InterruptSource> {
    prop_oneof![
        Just(InterruptSource::LocalTimer),
        Just(InterruptSource::Soft(7)),
        Just(InterruptSource::Device(36)),
        Just(InterruptSource::FunctionCall),
        Just(InterruptSource::Reschedule),
        Just(InterruptSource::IrqWork),
    ]
}

fn what() -> impl Strategy<Value = EventKind> {
    prop_oneof![
        4 => source().prop_map(enter),
        4 => source().prop_map(exit),
        3 => (70..80_u32, 70..80_u32).prop_map(|(from, to)| switch(from, to, "some")),
        1 => (0..5_000_u64).prop_map(non_maskable),
        1 => Just(fault()),
        1 => Just(called("ipi_mb")),
        1 => Just(work("vmstat_update")),
        1 => Just(sent(&[0], "")),
    ]
}

fn event() -> impl Strategy<Value = KernelEvent> {
    (0..WINDOW_NS, 0..2_u32, 70..80_u32, what()).prop_map(|(at_ns, cpu, task, what)| KernelEvent {
        at_ns,
        cpu,
        task,
        what,
    })
}

/// Stalls in order, now and then one right behind the other; the thread's accounts say anything.
fn stalls() -> impl Strategy<Value = Vec<Stall>> {
    let one = (prop_oneof![Just(0), 1..300_u64, 1..50_000_u64], 1..60_000_u64, 0..80_000_u64, 0..2_u32);
    prop::collection::vec(one, 0..40).prop_map(|steps| {
        let mut at_ns = 0;
        let stall = |(pause_ns, length_ns, off_cpu_ns, involuntary_switches)| {
            let begin_ns = at_ns + pause_ns;
            at_ns = begin_ns + length_ns;
            Stall { begin_ns, end_ns: at_ns, off_cpu_ns, involuntary_switches }
        };
        steps.into_iter().map(stall).collect()
    })
}

fn visit() -> impl Strategy<Value = MadeEvents> {
    let events = prop::collection::vec(event(), 0..200);
    (stalls(), events, any::<bool>(), any::<bool>(), 0..2_000_u64, prop_oneof![Just(0), Just(77_u32)]).prop_map(
        |(stalls, mut events, armed, has_hypervisor, piece_ns, own_task)| {
            events.sort_by_key(|event| event.at_ns);
            let mut made = MadeEvents::new();
            made.surroundings.has_hypervisor = has_hypervisor;
            made.visit = StallVisit { armed, stalls, events, piece_ns, own_task, end_ns: WINDOW_NS, ..made.visit };
            made
        },
    )
}

fn work_ns(visit: &DividedVisit) -> u64 {
    visit.stalls.iter().map(|stall| stall.time_of(|cause| *cause == StallCause::Work)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, rng_seed: RngSeed::Fixed(6), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_add_up_to_their_stall_before_and_after_all_is_settled(first in visit(), second in visit()) {
        let mut visits = vec![first.divided(), second.divided()];
        visits[1].round = 1;
        for stall in visits.iter().flat_map(|visit| &visit.stalls) {
            prop_assert_eq!(stall.time_of(|_| true), stall.stall.length_ns());
            prop_assert!(stall.parts.iter().all(|part| part.length_ns > 0));
        }
        let is_watched = visits.iter().any(|visit| visit.armed);
        let counted: Vec<DividedVisit> = visits.iter().filter(|visit| visit.armed || !is_watched).cloned().collect();
        let lengths_ns: u64 = counted.iter().flat_map(|visit| &visit.stalls).map(|one| one.stall.length_ns()).sum();
        let expected_ns = lengths_ns - counted.iter().map(work_ns).sum::<u64>();
        let stalls = settle_visits(visits, &first.surroundings, usize::MAX).remove(&0).unwrap();
        let lines: Vec<_> = stalls.causes.iter().flat_map(|cause| &cause.worst).collect();
        prop_assert_eq!(lines.len() as u64, stalls.count);
        prop_assert_eq!(stalls.count as usize, counted.iter().map(|visit| visit.stalls.len()).sum::<usize>());
        for line in lines {
            prop_assert_eq!(line.parts.iter().map(|part| part.length_ns).sum::<u64>(), line.length_ns);
            prop_assert!(line.parts.iter().all(|part| part.length_ns > 0));
        }
        let in_ns = |seconds: f64| (seconds * 1e9).round() as u64;
        prop_assert_eq!(in_ns(stalls.lost_s), expected_ns);
        prop_assert_eq!(stalls.causes.iter().map(|cause| in_ns(cause.time_s)).sum::<u64>(), expected_ns);
        prop_assert_eq!(stalls.causes.iter().map(|cause| cause.count).sum::<u64>(), stalls.count);
        prop_assert!(stalls.causes.iter().all(|cause| cause.running_s <= cause.time_s));
        prop_assert!(stalls.named <= stalls.count && stalls.explained <= stalls.count);
    }
}
