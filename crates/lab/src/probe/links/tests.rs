//! Whole visits, of every kind.

use std::sync::atomic::AtomicBool;
use std::thread::scope;

use allocation_counter::measure;
use corewise_machine::random::Random;
use corewise_machine::ring::Slots;
use corewise_sys::clock::{Clock, Source};
use corewise_sys::{affinity, memory_policy};

use super::visit::SAMPLES_ENOUGH;
use super::*;

const SPINNING: [What; 7] = [
    What::Cas,
    What::Store,
    What::Oneway,
    What::Bandwidth { block_bytes: 4 << 10 },
    What::Bandwidth { block_bytes: 128 << 10 },
    What::Queue { slots: Slots::Packed },
    What::Queue { slots: Slots::Padded },
];
const SLEEPING: [What; 3] = [What::Channel { bound: Some(64) }, What::Channel { bound: None }, What::Wakeup];

fn visit_now(what: What, first: u32, second: u32, home: Home, stop: bool) -> Result<Option<Visited>, Missed> {
    visit_until(LIMIT, what, first, second, home, stop)
}

fn visit_until(
    limit: Duration,
    what: What,
    first: u32,
    second: u32,
    home: Home,
    stop: bool,
) -> Result<Option<Visited>, Missed> {
    let asked = Visit { what, first, second, home, limit };
    visit(&Clock::calibrated(), &asked, &Warmth::default(), &mut Random::new(1), &AtomicBool::new(stop))
}

fn first_cpu() -> u32 {
    affinity::current().unwrap().lowest().unwrap()
}

/// The first two allowed cpus; says so where there is one.
fn two_cpus() -> Option<(u32, u32)> {
    let allowed: Vec<u32> = affinity::current().unwrap().iter().take(2).collect();
    let [first, second] = allowed[..] else {
        println!("skipped: two allowed cpus are needed");
        return None;
    };
    Some((first, second))
}

/// Visits until one is not spoiled by whatever else runs here.
fn visit_at_last(what: What, first: u32, second: u32, home: Home) -> Result<Visited, Missed> {
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
            let visited = match visit_at_last(what, first, second, Home::First) {
                Err(missed) if what == What::Oneway && missed.gap.why.contains("do not agree") => continue,
                Err(missed) if what == What::Oneway && missed.gap.why.contains("a step of the clock") => continue,
                Err(missed) if missed.passes => return println!("skipped: {what:?}: {}", missed.gap.why),
                visited => visited.unwrap(),
            };
            assert!(visited.cost_ns.is_finite() && visited.cost_ns > 0.0, "{what:?}: {visited:?}");
            assert!(visited.gigahertz.iter().flatten().count() == 2, "{what:?}: {visited:?}");
            let spoiled = visited.spoiled;
            let good = spoiled.samples - spoiled.switched - spoiled.interrupted;
            assert!(good >= SAMPLES_ENOUGH as u64 && spoiled.stolen == 0, "{what:?}: {visited:?}");
            let has_lines = matches!(what, What::Cas | What::Store);
            assert_eq!(!visited.lines_ns.is_empty(), has_lines, "{what:?}: {visited:?}");
            assert!(visited.lines_ns.iter().all(|&line| line > 0.0));
        }
    }
}

#[test]
fn a_partner_that_cannot_be_placed_is_a_gap() {
    let first = first_cpu();
    let what = |what, first, second| visit_now(what, first, second, Home::First, false).unwrap_err().gap.what;
    assert_eq!(what(What::Cas, first, 8000), format!("link between cpus {first} and 8000"));
    assert_eq!(what(What::Cas, 8000, first), format!("link between cpus 8000 and {first}"));
    assert_eq!(what(What::Wakeup, first, 8000), format!("wake-up between cpus {first} and 8000"));
    let channel = What::Channel { bound: Some(64) };
    assert_eq!(what(channel, first, 8000), format!("channel of 64 between cpus {first} and 8000"));
}

/// Two threads on one cpu get a round trip only if the scheduler changes between them, and a limit this short has no room for the
/// changes that a whole visit needs.
#[test]
fn the_watchdog_ends_a_visit_whose_partner_does_not_run() {
    let limit = Duration::from_millis(4);
    for what in SPINNING {
        let gap = visit_until(limit, what, first_cpu(), first_cpu(), Home::First, false).unwrap_err().gap;
        // If others want the cpu as well, one of the two may not have run at all.
        let says = [&["within 4 ms", "one cpu is busy"][..], &["something else uses it"]];
        assert!(says.iter().any(|words| words.iter().all(|word| gap.why.contains(word))), "{what:?}: {}", gap.why);
    }
}

#[test]
fn a_stopped_visit_gives_nothing() {
    for what in SPINNING.into_iter().chain(SLEEPING) {
        assert_eq!(visit_now(what, first_cpu(), first_cpu(), Home::First, true), Ok(None), "{what:?}");
    }
}

#[test]
fn memory_is_where_it_is_asked_for_or_there_is_a_gap() {
    let Some((a, b)) = two_cpus() else { return };
    let Ok(nodes) = memory_policy::allowed_nodes() else {
        return println!("skipped: a kernel with NUMA is needed");
    };
    for what in
        [What::Cas, What::Bandwidth { block_bytes: 64 << 10 }, What::Queue { slots: Slots::Padded }, What::Wakeup]
    {
        assert_eq!(visit_at_last(what, a, b, Home::Node(nodes[0])).unwrap().home, Some(nodes[0]), "{what:?}");
        let gap = visit_now(what, a, b, Home::Node(1_000), false).unwrap_err().gap;
        assert_eq!(gap.why, "there is no node 1000", "{what:?}");
    }
    let gap = visit_now(What::Channel { bound: None }, a, b, Home::Node(nodes[0]), false).unwrap_err().gap;
    assert!(gap.why.contains("heap"), "{}", gap.why);
}

#[test]
fn a_block_that_cannot_be_is_a_gap() {
    let Some((a, b)) = two_cpus() else { return };
    for block_bytes in [0, 100, 1 << 30] {
        let gap = visit_now(What::Bandwidth { block_bytes }, a, b, Home::First, false).unwrap_err().gap;
        assert!(gap.why.contains("whole lines"), "{}", gap.why);
    }
}

/// What the first cpu's side allocates from its first sample to its last; tries again where another program had one of the cpus.
fn allocations<K: Kind>(kind: &K, (a, b): (u32, u32)) -> u64 {
    let (stop, plan) = (AtomicBool::new(false), kind.plan());
    let Source::Counter(ticks) = Clock::calibrated().source else {
        println!("skipped: this machine's clock is no counter");
        return 0;
    };
    for _ in 0..40 {
        let (place, meeting) = (kind.allocate(Home::First).unwrap(), Meeting::new(&stop, LIMIT));
        let [mut first, mut second] = [Record::new(&plan), Record::new(&plan)];
        let on = |cpu| affinity::pin_current(cpu).unwrap();
        let counted = scope(|scope| {
            scope.spawn(|| (on(b), kind.second(&place, ticks, &meeting, &mut second)));
            let asking = scope.spawn(|| (on(a), measure(|| kind.first(&place, ticks, &meeting, &mut first))).1);
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
    let random = &mut Random::new(1);
    assert_eq!(allocations(&cas::Cas::new(random), cpus), 0);
    assert_eq!(allocations(&store::Store::new(random), cpus), 0);
    assert_eq!(allocations(&bandwidth::Bandwidth::new(4096), cpus), 0);
    assert_eq!(allocations(&queue::Queue::new(Slots::Padded), cpus), 0);
    assert_eq!(allocations(&wakeup::Wakeup, cpus), 0);
}
