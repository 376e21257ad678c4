//! The systemd units for `keep run`, with no more privileges than it needs.

use corewise_sys::service;

use crate::app::failure::CommandFailure;

/// Returns the unit of the system, or of a user.
///
/// # Errors
/// Another service manager than systemd starts programs here; the error has its command.
pub fn write_unit(of_system: bool) -> Result<String, CommandFailure> {
    let program =
        std::env::current_exe().map_or_else(|_| "/usr/bin/corewise".into(), |path| path.display().to_string());
    if let Some(command) = service::at_logon(&program, "keep run") {
        return Err(CommandFailure::unavailable_error("there is no systemd here, and units are its files")
            .with_hint(format!("To start `keep run` whenever you log on:\n    {command}")));
    }
    Ok(if of_system { SYSTEM.replace("PROGRAM", &program) } else { USER.replace("PROGRAM", &program) })
}

const SYSTEM: &str = "\
# /etc/systemd/system/corewise-keep.service, written by `keep unit --system`
# Rules that name the file of other users' programs (exe) need CAP_SYS_PTRACE too: add it to both lines. To know who sets masks, add
# CAP_PERFMON to both lines and perf_event_open to SystemCallFilter. For --metrics FILE add ReadWritePaths= with the file's folder.
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
# ~/.config/systemd/user/corewise-keep.service, written by `keep unit --user`
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
