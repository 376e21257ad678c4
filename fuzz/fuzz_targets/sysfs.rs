//! Reads a machine and its interrupts from files that are given as lines: PATH, a bar, and the text, in which `\n` is a line's end.
#![no_main]

use corewise_sys::{Root, irq, topology};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let files = text.lines().filter_map(|line| line.split_once('|'));
    let root = Root::from_files(files.map(|(path, text)| (path, text.replace("\\n", "\n"))));
    assert!(irq::read_interrupts(&root).iter().all(|interrupt| !interrupt.handlers.is_empty()));
    if let Ok(machine) = topology::read_machine(&root) {
        corewise_fuzz::check(&machine);
    }
});
