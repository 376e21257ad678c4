//! Limit of open files of this process: there is none to raise.

use std::io;
use std::process::Command;

#[derive(Clone, Copy, Debug)]
pub struct OpenFiles;

impl OpenFiles {
    pub fn raise_limit() -> io::Result<Self> {
        Ok(Self)
    }

    pub fn give_back_to(self, _: &mut Command) {}
}

pub fn are_too_many(_: &io::Error) -> bool {
    false
}
