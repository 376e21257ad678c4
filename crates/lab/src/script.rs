//! Shell scripts that prepare runs: a suite's set-up and clean-up, and varying a program between blocks.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corewise_sys::execution::{CommandExecution, ExecutionEnd};

/// Maximum time of a script, so that a hanging one does not block the others.
const LONGEST: Duration = Duration::from_mins(10);
/// Lines of output that are kept after a failure.
const KEPT_LINES: usize = 20;

/// Reason why a script or a service did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptError {
    /// corewise was asked to stop.
    Interrupted,
    /// It failed.
    Failed {
        /// The reason.
        why: String,
        /// End of its output.
        output: String,
    },
}

/// Runs a script in the current folder, in a shell that ends with the first failed command. Processes that it leaves
/// running are ended, and count as a failure: they would disturb measurements. `what` names the script in errors.
pub(crate) fn run(
    what: &str,
    script: &str,
    environment: &[(OsString, Option<OsString>)],
    stop: &AtomicBool,
) -> Result<(), ScriptError> {
    let (program, arguments, stops) = ("sh".into(), ["-e".into(), "-c".into(), script.into()], [stop]);
    let execution =
        CommandExecution { environment, timeout: Some(LONGEST), ..CommandExecution::new(&program, &arguments, &stops) };
    let failed = |why: String, output: String| Err(ScriptError::Failed { why, output });
    let ran = match execution.run(&mut |_| {}) {
        Ok(ran) => ran,
        Err(error) => return failed(format!("{what} could not be started: {error}"), String::new()),
    };
    // A stop may end all processes at once: that is not a failure of the script.
    let is_done = ran.end == ExecutionEnd::Exited(0) && ran.left_behind == 0;
    if stop.load(Ordering::SeqCst) && !is_done {
        return Err(ScriptError::Interrupted);
    }
    let why = match ran.end {
        ExecutionEnd::Exited(0) if ran.left_behind > 0 => {
            let plural = if ran.left_behind == 1 { "" } else { "es" };
            format!("{what} left {} running process{plural} behind, which corewise ended", ran.left_behind)
        }
        ExecutionEnd::Exited(0) => return Ok(()),
        ExecutionEnd::Exited(status) => format!("{what} failed: exit status {status}"),
        ExecutionEnd::Interrupted | ExecutionEnd::NothingToFollow => format!("{what} was interrupted"),
        ExecutionEnd::Killed(signal) => format!("{what} was killed by signal {signal}"),
        ExecutionEnd::Stopped => format!("{what} was ended: it tried to use the terminal"),
        ExecutionEnd::TimedOut => format!("{what} was ended: it took longer than {} minutes", LONGEST.as_secs() / 60),
    };
    failed(why, last_lines(&ran.output))
}

/// Returns the last lines of output.
pub(crate) fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(KEPT_LINES)..].join("\n")
}
