//! The systemd units for `keep run`, with no more privileges than it needs.

use corewise_model::keep::Rule;
use corewise_sys::service;

use crate::app::failure::CommandFailure;

/// Capability for reading the file that another user's process executes.
const READS_FILES: &str = "CAP_SYS_PTRACE";

/// Returns the unit of a user, or of the system with the capabilities that the rules need.
///
/// # Errors
/// Another service manager than systemd starts programs here; the error has its command.
pub fn write_unit(of_system: bool, rules: &[Rule]) -> Result<String, CommandFailure> {
    let program =
        std::env::current_exe().map_or_else(|_| "/usr/bin/corewise".into(), |path| path.display().to_string());
    if let Some(command) = service::at_logon(&program, "keep run") {
        return Err(CommandFailure::unavailable_error("there is no systemd here, and units are its files")
            .with_hint(format!("To start `keep run` whenever you log on:\n    {command}")));
    }
    let unit = if of_system { SYSTEM } else { USER }.replace("PROGRAM", &program);
    let reads_files = rules.iter().any(|rule| rule.matches.exe.is_some());
    Ok(if reads_files { unit.replace("=CAP_SYS_NICE", &format!("=CAP_SYS_NICE {READS_FILES}")) } else { unit })
}

const SYSTEM: &str = "\
# Save as /etc/systemd/system/corewise-keep.service, then: systemctl daemon-reload && systemctl enable --now corewise-keep
# Rules that name the file of other users' programs (exe) need CAP_SYS_PTRACE in both lines of capabilities: `keep unit` adds it if there
# is such a rule. To know who sets masks, add CAP_PERFMON to both lines and perf_event_open to SystemCallFilter. For --metrics FILE add
# ReadWritePaths= with the file's folder. PrivateTmp hides a program in /tmp.
[Unit]
Description=Keeps placements of programs in force (corewise)
Documentation=man:corewise(1)

[Service]
Type=notify
ExecStart=PROGRAM keep run --system
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
AmbientCapabilities=CAP_SYS_NICE
CapabilityBoundingSet=CAP_SYS_NICE
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateNetwork=no
IPAddressDeny=any
RestrictAddressFamilies=AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service sched_setaffinity sched_setattr pidfd_open pidfd_send_signal
SystemCallErrorNumber=EPERM
RuntimeDirectory=corewise
RuntimeDirectoryMode=0711
UMask=0077
RuntimeDirectoryPreserve=yes
MemoryMax=128M
TasksMax=32

[Install]
WantedBy=multi-user.target";

const USER: &str = "\
# Save as ~/.config/systemd/user/corewise-keep.service, then: systemctl --user daemon-reload && systemctl --user enable --now corewise-keep
[Unit]
Description=Keeps placements of programs in force (corewise)

[Service]
Type=notify
ExecStart=PROGRAM keep run --user
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
NoNewPrivileges=yes
MemoryMax=128M
TasksMax=32

[Install]
WantedBy=default.target";
