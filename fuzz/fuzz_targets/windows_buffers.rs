//! Reads the two buffers that Windows writes of its processors: two bytes of length, so many bytes of relations, then cpu sets.
#![no_main]

use corewise_sys::{Root, topology};
use libfuzzer_sys::fuzz_target;

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else { return };
    let (relations, cpu_sets) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
    let files = [("windows/logical-processors", hexadecimal(relations)), ("windows/cpu-sets", hexadecimal(cpu_sets))];
    if let Ok(machine) = topology::read_machine(&Root::from_files(files)) {
        corewise_fuzz::check(&machine);
    }
});
