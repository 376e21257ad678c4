//! Reasons why a control group cannot hold a command here, with their cures.

use std::io;
use std::path::PathBuf;

use corewise_machine::CpuSet;
use corewise_machine::suggested_command;

/// Reason why there can be no control group for a command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CgroupRefusal {
    /// Only Linux has them.
    #[error("Windows has no control groups")]
    None,
    /// No hierarchy of version 2 is mounted.
    #[error("cgroup v2 is not mounted here")]
    NotMounted,
    /// The controller cpuset belongs to a hierarchy of version 1.
    #[error("the controller cpuset is attached to cgroup v1 here")]
    VersionOne,
    /// This process is in a group that is not visible here, as in some containers.
    #[error("the control group of this process, {group}, is outside the mounted hierarchy")]
    OutOfSight {
        /// The group from /proc/self/cgroup.
        group: String,
    },
    /// The group of this process does not have the controller cpuset.
    #[error("the controller cpuset is not delegated to {}", group.display())]
    NotDelegated {
        /// The folder of the group.
        group: PathBuf,
    },
    /// This user may not do it.
    #[error("{} cannot be used: {source}", path.display())]
    NotPermitted {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Other groups with processes of their own are in the group of this process; a threaded group cannot exist beside them.
    #[error("{} contains processes and also groups with processes", group.display())]
    HasDomains {
        /// The folder of the group of this process.
        group: PathBuf,
        /// Another group with processes.
        other: PathBuf,
    },
    /// The group of this process distributes controllers that cannot be distributed by thread.
    #[error("{} has {controllers} enabled for its child groups, so it cannot contain processes itself", group.display())]
    SharesDomains {
        /// The folder of the group.
        group: PathBuf,
        /// The controllers.
        controllers: String,
    },
    /// The kernel gives the group less than, or something other than, requested.
    #[error("the kernel gives a control group here the {what} \"{given}\" instead of \"{wanted}\"")]
    GivesLess {
        /// The quantity: "cpus" or "memory nodes".
        what: &'static str,
        /// The requested set.
        wanted: CpuSet,
        /// The effective set.
        given: CpuSet,
    },
}

impl CgroupRefusal {
    /// Returns a command or an instruction that would change it.
    pub fn suggest_cure(&self) -> String {
        match self {
            Self::None => "Without --cgroup, the mask and a job hold the command.".to_owned(),
            Self::NotMounted => "Mount it: mount -t cgroup2 none /sys/fs/cgroup. Without --cgroup, only the affinity \
                mask holds the command."
                .to_owned(),
            Self::VersionOne => "Boot with cgroup_no_v1=cpuset, or systemd.unified_cgroup_hierarchy=1. Without \
                --cgroup, only the affinity mask holds the command."
                .to_owned(),
            Self::OutOfSight { .. } => "Run it in its own cgroup namespace: unshare --cgroup.".to_owned(),
            Self::NotDelegated { .. }
            | Self::NotPermitted { .. }
            | Self::HasDomains { .. }
            | Self::SharesDomains { .. } => {
                format!(
                    "Start it in its own group: systemd-run --scope -p Delegate=yes {} (as root; with --user if cpuset is delegated to the \
                     user's manager).",
                    suggested_command::run_in_group().shell_line()
                )
            }
            Self::GivesLess { given, .. } => {
                format!(
                    "Choose from {given}: the parent groups have no more, or other groups hold the rest exclusively."
                )
            }
        }
    }
}
