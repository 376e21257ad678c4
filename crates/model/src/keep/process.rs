//! A process as it was seen: all that a rule can match, and its threads with their masks.

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A process as it was seen at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// Its number.
    pub id: u32,
    /// When it started, in clock ticks since the boot: with the number it names one process of this boot.
    pub start_ticks: u64,
    /// The number of the process that started it.
    pub parent: u32,
    /// The name of that process.
    pub parent_name: String,
    /// Its name: of the program that it runs, cut to 15 bytes, or as it called itself.
    pub name: String,
    /// The file that it executes; absent where that cannot be read.
    pub exe: Option<String>,
    /// Its words, the program's own name first.
    pub argv: Vec<String>,
    /// Its user by name, or by number where that has none.
    pub user: String,
    /// The user in whose share of the room for held threads it counts.
    pub charged_to: ChargedUser,
    /// The systemd unit that it belongs to, where there is one.
    pub unit: Option<String>,
    /// Its control group: "/system.slice/redis.service".
    pub cgroup: String,
    /// The cpus that are online and that its control group lets it use.
    pub reachable: CpuSet,
    /// Its threads, the first one first.
    pub threads: Vec<Thread>,
}

/// A user that started processes, by name, or by number if it has none. A program that runs with the rights of another user counts
/// for the one that started it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ChargedUser {
    /// The name or number.
    pub name: String,
    /// Whether it is root or one that the system has for its services.
    pub is_system: bool,
}

/// A thread as it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Thread {
    /// Its number.
    pub id: u32,
    /// When it started, in clock ticks since the boot.
    pub start_ticks: u64,
    /// Its name, at most 15 bytes.
    pub name: String,
    /// The cpus that it may run on.
    pub cpus: CpuSet,
}

/// Who writes the cpus of a control group, by its path. corewise never writes there: it stays inside and names the owner.
pub fn owner(cgroup: &str) -> &'static str {
    let owners = [
        ("kubepods", "kubelet"),
        ("/slurm", "Slurm"),
        ("docker", "Docker"),
        ("libpod", "Podman"),
        ("/lxc", "LXC"),
        ("machine.slice", "systemd-machined"),
    ];
    owners.iter().find(|(part, _)| cgroup.contains(part)).map_or("systemd", |(_, name)| name)
}
