//! Shell scripts that make things ready for runs: a suite's set-up and clean-up, and what varies a program between blocks.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corewise_sys::execution::{End, Execution};

/// A script takes no longer, so that one that hangs does not hold up the others.
const LONGEST: Duration = Duration::from_mins(10);
/// Of the output of what failed this many lines are kept.
const KEPT_LINES: usize = 20;

/// Why a script or a service has not done what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// corewise was told to stop.
    Interrupted,
    /// It failed.
    Failed {
        /// Why.
        why: String,
        /// The end of what it wrote.
        output: String,
    },
}

/// Runs a script in the current folder, in a shell that ends with the first command that fails. What it leaves running is ended, and a failure: it
/// would run beside everything that is measured. `what` is what it is called where it fails.
pub(crate) fn run(
    what: &str,
    script: &str,
    environment: &[(OsString, Option<OsString>)],
    stop: &AtomicBool,
) -> Result<(), Trouble> {
    let (program, arguments, stops) = ("sh".into(), ["-e".into(), "-c".into(), script.into()], [stop]);
    let execution = Execution { environment, timeout: Some(LONGEST), ..Execution::new(&program, &arguments, &stops) };
    let failed = |why: String, output: String| Err(Trouble::Failed { why, output });
    let ran = match execution.run(&mut |_| {}) {
        Ok(ran) => ran,
        Err(error) => return failed(format!("{what} could not be started: {error}"), String::new()),
    };
    // Whoever ends corewise may end all that it started: that is no failure of the script.
    let is_done = ran.end == End::Exited(0) && ran.left_behind == 0;
    if stop.load(Ordering::SeqCst) && !is_done {
        return Err(Trouble::Interrupted);
    }
    let why = match ran.end {
        End::Exited(0) if ran.left_behind > 0 => {
            let plural = if ran.left_behind == 1 { "" } else { "es" };
            format!("{what} left {} running process{plural} behind, which corewise ended", ran.left_behind)
        }
        End::Exited(0) => return Ok(()),
        End::Exited(status) => format!("{what} failed: exit status {status}"),
        End::Interrupted | End::NothingToFollow => format!("{what} was interrupted"),
        End::Killed(signal) => format!("{what} was killed by signal {signal}"),
        End::Stopped => format!("{what} was ended: it tried to use the terminal"),
        End::TimedOut => format!("{what} was ended: it took longer than {} minutes", LONGEST.as_secs() / 60),
    };
    failed(why, last_lines(&ran.output))
}

/// The end of what was written.
pub(crate) fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(KEPT_LINES)..].join("\n")
}
