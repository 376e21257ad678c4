//! Whole visits, of every kind.

use std::sync::atomic::AtomicBool;
use std::thread::scope;

use allocation_counter::measure;
use corewise_machine::random::RandomGenerator;
use corewise_machine::ring::RingSlots;
use corewise_sys::clock::{ClockSource, TickClock};
use corewise_sys::{affinity, memory_policy};

use super::visit::SAMPLES_ENOUGH;
use super::*;

const SPINNING: [TalkWay; 7] = [
    TalkWay::Cas,
    TalkWay::Store,
    TalkWay::Oneway,
    TalkWay::Bandwidth { block_bytes: 4 << 10 },
    TalkWay::Bandwidth { block_bytes: 128 << 10 },
    TalkWay::Queue { slots: RingSlots::Packed },
    TalkWay::Queue { slots: RingSlots::Padded },
];
const SLEEPING: [TalkWay; 3] =
    [TalkWay::Channel { bound: Some(64) }, TalkWay::Channel { bound: None }, TalkWay::Wakeup];

fn visit_now(
    what: TalkWay,
    first: u32,
    second: u32,
    home: MemoryHome,
    stop: bool,
) -> Result<Option<LinkVisitResult>, MissedVisit> {
    visit_until(LIMIT, what, first, second, home, stop)
}

fn visit_until(
    limit: Duration,
    what: TalkWay,
    first: u32,
    second: u32,
    home: MemoryHome,
    stop: bool,
) -> Result<Option<LinkVisitResult>, MissedVisit> {
    let asked = LinkVisit { what, first, second, home, limit };
    visit_pair(
        &TickClock::calibrate_best(),
        &asked,
        &ClockWarmth::default(),
        &mut RandomGenerator::new(1),
        &AtomicBool::new(stop),
    )
}

fn first_cpu() -> u32 {
    affinity::current_affinity().unwrap().lowest().unwrap()
}

/// The first two allowed cpus; says so where there is one.
fn two_cpus() -> Option<(u32, u32)> {
    let allowed: Vec<u32> = affinity::current_affinity().unwrap().iter().take(2).collect();
    let [first, second] = allowed[..] else {
        println!("skipped: two allowed cpus are needed");
        return None;
    };
    Some((first, second))
}

/// Visits until one is not spoiled by whatever else runs here.
fn visit_at_last(what: TalkWay, first: u32, second: u32, home: MemoryHome) -> Result<LinkVisitResult, MissedVisit> {
    let mut tries = 0;
    loop {
        tries += 1;
        // Two threads that hand a line to each other get on slowly where others want their cpus.
        match visit_until(Duration::from_secs(2), what, first, second, home, false) {
            Err(missed) if missed.passes && tries < 40 => {}
            visited => return visited.map(|visited| visited.expect("nobody stopped it")),
        }
    }
}

#[test]
fn every_kind_has_a_number_both_ways() {
    let Some((a, b)) = two_cpus() else { return };
    for what in SPINNING.into_iter().chain(SLEEPING) {
        for (first, second) in [(a, b), (b, a)] {
            let visited = match visit_at_last(what, first, second, MemoryHome::First) {
                Err(missed) if what == TalkWay::Oneway && missed.gap.why.contains("do not agree") => continue,
                Err(missed) if what == TalkWay::Oneway && missed.gap.why.contains("a step of the clock") => continue,
                Err(missed) if missed.passes => return println!("skipped: {what:?}: {}", missed.gap.why),
                visited => visited.unwrap(),
            };
            assert!(visited.cost_ns.is_finite() && visited.cost_ns > 0.0, "{what:?}: {visited:?}");
            assert!(visited.gigahertz.iter().flatten().count() == 2, "{what:?}: {visited:?}");
            let spoiled = visited.spoiled;
            let good = spoiled.samples - spoiled.switched - spoiled.interrupted;
            assert!(good >= SAMPLES_ENOUGH as u64 && spoiled.stolen == 0, "{what:?}: {visited:?}");
            let has_lines = matches!(what, TalkWay::Cas | TalkWay::Store);
            assert_eq!(!visited.lines_ns.is_empty(), has_lines, "{what:?}: {visited:?}");
            assert!(visited.lines_ns.iter().all(|&line| line > 0.0));
        }
    }
}

#[test]
fn a_partner_that_cannot_be_placed_is_a_gap() {
    let first = first_cpu();
    let what = |what, first, second| visit_now(what, first, second, MemoryHome::First, false).unwrap_err().gap.what;
    assert_eq!(what(TalkWay::Cas, first, 8000), format!("link between cpus {first} and 8000"));
    assert_eq!(what(TalkWay::Cas, 8000, first), format!("link between cpus 8000 and {first}"));
    assert_eq!(what(TalkWay::Wakeup, first, 8000), format!("wake-up between cpus {first} and 8000"));
    let channel = TalkWay::Channel { bound: Some(64) };
    assert_eq!(what(channel, first, 8000), format!("channel of 64 between cpus {first} and 8000"));
}

/// Two threads on one cpu get a round trip only if the scheduler changes between them, and a limit this short has no room for the
/// changes that a whole visit needs.
#[test]
fn the_watchdog_ends_a_visit_whose_partner_does_not_run() {
    let limit = Duration::from_millis(4);
    for what in SPINNING {
        let gap = visit_until(limit, what, first_cpu(), first_cpu(), MemoryHome::First, false).unwrap_err().gap;
        // If others want the cpu as well, one of the two may not have run at all.
        let says = [&["within 4 ms", "one cpu is busy"][..], &["something else uses it"]];
        assert!(says.iter().any(|words| words.iter().all(|word| gap.why.contains(word))), "{what:?}: {}", gap.why);
    }
}

#[test]
fn a_stopped_visit_gives_nothing() {
    for what in SPINNING.into_iter().chain(SLEEPING) {
        assert_eq!(visit_now(what, first_cpu(), first_cpu(), MemoryHome::First, true), Ok(None), "{what:?}");
    }
}

#[test]
fn memory_is_where_it_is_asked_for_or_there_is_a_gap() {
    let Some((a, b)) = two_cpus() else { return };
    let Ok(nodes) = memory_policy::allowed_nodes() else {
        return println!("skipped: a kernel with NUMA is needed");
    };
    for what in [
        TalkWay::Cas,
        TalkWay::Bandwidth { block_bytes: 64 << 10 },
        TalkWay::Queue { slots: RingSlots::Padded },
        TalkWay::Wakeup,
    ] {
        assert_eq!(visit_at_last(what, a, b, MemoryHome::Node(nodes[0])).unwrap().home, Some(nodes[0]), "{what:?}");
        let gap = visit_now(what, a, b, MemoryHome::Node(1_000), false).unwrap_err().gap;
        assert_eq!(gap.why, "there is no node 1000", "{what:?}");
    }
    let gap = visit_now(TalkWay::Channel { bound: None }, a, b, MemoryHome::Node(nodes[0]), false).unwrap_err().gap;
    assert!(gap.why.contains("heap"), "{}", gap.why);
}

#[test]
fn a_block_that_cannot_be_is_a_gap() {
    let Some((a, b)) = two_cpus() else { return };
    for block_bytes in [0, 100, 1 << 30] {
        let gap = visit_now(TalkWay::Bandwidth { block_bytes }, a, b, MemoryHome::First, false).unwrap_err().gap;
        assert!(gap.why.contains("whole lines"), "{}", gap.why);
    }
}

/// What the first cpu's side allocates from its first sample to its last; tries again where another program had one of the cpus.
fn allocations<K: TalkKind>(kind: &K, (a, b): (u32, u32)) -> u64 {
    let (stop, plan) = (AtomicBool::new(false), kind.sample_plan());
    let ClockSource::Counter(ticks) = TickClock::calibrate_best().source else {
        println!("skipped: this machine's clock is no counter");
        return 0;
    };
    for _ in 0..40 {
        let (place, meeting) = (kind.allocate_place(MemoryHome::First).unwrap(), TalkMeeting::new(&stop, LIMIT));
        let [mut first, mut second] = [SideRecord::new(&plan), SideRecord::new(&plan)];
        let on = |cpu| affinity::pin_current(cpu).unwrap();
        let counted = scope(|scope| {
            scope.spawn(|| (on(b), kind.run_second(&place, ticks, &meeting, &mut second)));
            let asking = scope.spawn(|| (on(a), measure(|| kind.run_first(&place, ticks, &meeting, &mut first))).1);
            asking.join().unwrap().count_total
        });
        if first.values.len() > 1 {
            return counted;
        }
    }
    panic!("there was no sample");
}

#[test]
fn nothing_is_allocated_between_samples() {
    let Some(cpus) = two_cpus() else { return };
    let random = &mut RandomGenerator::new(1);
    assert_eq!(allocations(&cas::CasTalk::new(random), cpus), 0);
    assert_eq!(allocations(&store::StoreTalk::new(random), cpus), 0);
    assert_eq!(allocations(&bandwidth::BandwidthTalk::new(4096), cpus), 0);
    assert_eq!(allocations(&queue::QueueTalk::new(RingSlots::Padded), cpus), 0);
    assert_eq!(allocations(&wakeup::WakeupTalk, cpus), 0);
}
