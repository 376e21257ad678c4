//! Reads a recorded machine from the bytes of an archive or an inline file.
#![no_main]

use corewise_sys::{Root, topology};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(root) = Root::from_archive_bytes(bytes)
        && let Ok(machine) = topology::read_machine(&root)
    {
        corewise_fuzz::check(&machine);
    }
});
