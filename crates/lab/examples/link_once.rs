//! Prints the cost of one way to communicate between two cpus, in nanoseconds: the median of a few visits.
//!
//! `link_once [KIND] [A B]`; by default compare-and-swap between the first two allowed cpus.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use corewise_lab::probe::links::{self, ClockWarmth, LIMIT, LinkVisit, MemoryHome};
use corewise_machine::random::RandomGenerator;
use corewise_machine::ring::RingSlots;
use corewise_model::links::TalkWay;
use corewise_statistics::order::median;
use corewise_sys::affinity;
use corewise_sys::clock::TickClock;

const KINDS: [(&str, TalkWay); 11] = [
    ("cas", TalkWay::Cas),
    ("store", TalkWay::Store),
    ("oneway", TalkWay::Oneway),
    ("bandwidth-4k", TalkWay::Bandwidth { block_bytes: 4 << 10 }),
    ("bandwidth-64k", TalkWay::Bandwidth { block_bytes: 64 << 10 }),
    ("bandwidth-1m", TalkWay::Bandwidth { block_bytes: 1 << 20 }),
    ("channel", TalkWay::Channel { bound: Some(64) }),
    ("channel-unbounded", TalkWay::Channel { bound: None }),
    ("queue-packed", TalkWay::Queue { slots: RingSlots::Packed }),
    ("queue-padded", TalkWay::Queue { slots: RingSlots::Padded }),
    ("wakeup", TalkWay::Wakeup),
];

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let named = words.first().filter(|word| word.parse::<u32>().is_err()).cloned();
    if named.is_some() {
        words.remove(0);
    }
    let kind = named.as_deref().unwrap_or("cas");
    let Some((_, what)) = KINDS.into_iter().find(|(word, _)| *word == kind) else {
        eprintln!("link_once: no kind \"{kind}\"; there are {}", KINDS.map(|(word, _)| word).join(", "));
        return ExitCode::from(2);
    };
    let mut cpus: Vec<u32> = words.iter().filter_map(|word| word.parse().ok()).collect();
    if cpus.is_empty() {
        cpus = affinity::current_affinity().map(|cpus| cpus.iter().take(2).collect()).unwrap_or_default();
    }
    let [first, second] = cpus[..] else {
        eprintln!("link_once: two allowed cpus are needed");
        return ExitCode::from(3);
    };
    let visit = LinkVisit { what, first, second, home: MemoryHome::First, limit: LIMIT };
    let (clock, warmth, mut random) = (TickClock::calibrate_best(), ClockWarmth::default(), RandomGenerator::new(1));
    let stop = AtomicBool::new(false);
    let mut visits = Vec::new();
    for _ in 0..24 {
        match links::visit_pair(&clock, &visit, &warmth, &mut random, &stop) {
            Ok(visited) => visits.extend(visited.map(|visited| visited.cost_ns)),
            Err(missed) => eprintln!("link_once: {}: {}", missed.gap.what, missed.gap.why),
        }
    }
    println!("{:.1}", median(&visits));
    if visits.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
