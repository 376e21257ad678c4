//! Imports a result of the kind from a page: what is accepted is concluded from and rendered in every form.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|bytes: &[u8]| {
    let _ = corewise_cli::rehearse_result("corewise/survey/3", bytes);
});

fuzz_mutator!(|bytes: &mut [u8], length: usize, room: usize, seed: u32| {
    corewise_fuzz::mutate::mutate_json(bytes, length, room, seed)
});
