//! Reads hexadecimal masks; what is accepted prints and reads as the same set.
#![no_main]

use corewise_machine::CpuSet;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(cpus) = CpuSet::parse_mask(text) {
        assert_eq!(CpuSet::parse_mask(&cpus.to_hexadecimal()).as_ref(), Ok(&cpus));
        assert_eq!(CpuSet::parse_list(&cpus.to_string()).as_ref(), Ok(&cpus));
    }
});
