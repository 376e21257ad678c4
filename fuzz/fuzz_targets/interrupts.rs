//! Reads /proc/interrupts and /proc/softirqs: an earlier and a later text, parted by a NUL character.
#![no_main]

use corewise_sys::interrupts::InterruptTable;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (before, after) = text.split_once('\0').unwrap_or((text, text));
    let (earlier, later) = (InterruptTable::parse(before), InterruptTable::parse(after));
    for source in &later.sources {
        assert!(source.counts.len() <= later.cpus.len(), "more counts than cpus");
    }
    // The first few columns stand for all: with all of them a long header would take quadratic time.
    for &cpu in later.cpus.iter().take(8) {
        assert_eq!(later.counts_since(&later, cpu), Some(Vec::new()), "an interrupt occurred in no time");
        assert!(later.counts_since(&earlier, cpu).into_iter().flatten().all(|count| count.count > 0));
    }
});
