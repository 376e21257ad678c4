//! corewise: on which CPUs should this program run, and does it matter at all?
#![forbid(unsafe_code)]

use std::process::ExitCode;

// Its entry comes first: see the build script.
use corewise_entry as _;

fn main() -> ExitCode {
    corewise_cli::run_program()
}
