//! Reads machine files; what is accepted is a machine that keeps its promises, what is not is told by its line.
#![no_main]

use corewise_machine::machine_file::{MachineFile, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| match parse(text) {
    Ok(MachineFile { machine, .. }) => corewise_fuzz::check(&machine),
    Err(error) => assert!((1..=text.lines().count() + 1).contains(&error.line), "{error}"),
});
