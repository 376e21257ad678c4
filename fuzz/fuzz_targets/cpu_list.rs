//! Reads kernel cpu lists; what is accepted prints and reads as the same set.
#![no_main]

use corewise_machine::CpuSet;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(cpus) = CpuSet::parse_list(text) {
        assert_eq!(CpuSet::parse_list(&cpus.to_string()).as_ref(), Ok(&cpus));
        assert_eq!(cpus.iter().count(), cpus.len());
        assert_eq!(cpus.iter().last(), cpus.highest());
        assert_eq!(CpuSet::from_words(&cpus.to_words()), cpus);
    }
});
