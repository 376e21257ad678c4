//! corewise: on which CPUs should this program run, and does it matter at all?
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    corewise::run_program()
}
