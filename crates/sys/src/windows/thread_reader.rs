//! The threads of a process, read repeatedly: not available.

use std::path::Path;

use corewise_machine::thread::ThreadSnapshot;

#[derive(Debug)]
pub struct ThreadReader;

impl ThreadReader {
    pub fn new(_: u32) -> Self {
        Self
    }

    pub fn in_folder(_: &Path, _: u32) -> Self {
        Self
    }

    pub fn read_threads(&mut self, _: &mut Vec<ThreadSnapshot>) -> bool {
        false
    }
}
