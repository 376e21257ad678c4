//! A service's reports to its service manager: not written yet.

use std::ffi::OsStr;
use std::io;

/// Fails: not available here.
///
/// # Errors
/// Always.
pub fn notify_service(_: &OsStr, _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns the PowerShell command that makes a command start at each logon of this user: the Task Scheduler takes the place of a service
/// manager.
pub fn at_logon(program: &str, arguments: &str) -> Option<String> {
    Some(format!(
        "Register-ScheduledTask corewise-keep -Trigger (New-ScheduledTaskTrigger -AtLogOn -User $env:USERNAME) -Action \
         (New-ScheduledTaskAction -Execute '{}' -Argument '{arguments}') -Settings (New-ScheduledTaskSettingsSet \
         -ExecutionTimeLimit ([TimeSpan]::Zero) -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries)",
        program.replace('\'', "''")
    ))
}

/// Always false here.
pub fn logs_to_journal() -> bool {
    false
}
