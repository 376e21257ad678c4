//! Control groups: the limits that they set for processes, and groups of our own that hold a command.

#[cfg(feature = "changes")]
mod control_group;
#[cfg(feature = "changes")]
mod facts;
#[cfg(any(test, target_os = "linux"))]
pub(crate) mod limit;
#[cfg_attr(not(feature = "changes"), allow(dead_code, reason = "groups of our own are located by all of it"))]
mod place;
pub(crate) mod quota;

use corewise_machine::CpuSet;

#[cfg(feature = "changes")]
pub use crate::os::group_entry::GroupEntry;
pub use crate::values::cgroup::CgroupRefusal;
#[cfg(feature = "changes")]
pub use control_group::ControlGroup;
#[cfg(feature = "changes")]
pub use facts::{CgroupFacts, CgroupPlan};
#[cfg(feature = "changes")]
pub use place::locate_group;
pub use quota::CpuQuota;

/// A control group that gives its processes fewer cpus than are online.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitingGroup {
    /// Its path in its hierarchy: "/slurm/uid_0/job_42".
    pub group: String,
    /// Its effective cpus.
    pub cpus: CpuSet,
}
