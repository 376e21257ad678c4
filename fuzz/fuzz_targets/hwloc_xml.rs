//! Reads an hwloc XML export: small at first, however large it would become.
#![no_main]

use corewise_sys::{Root, topology};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(root) = Root::from_archive_bytes(&[b"<".as_slice(), bytes].concat())
        && let Ok(machine) = topology::read_machine(&root)
    {
        corewise_fuzz::check(&machine);
    }
});
