//! Observed state of a process: everything that a rule can match, and its threads with their masks.

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of a process at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedProcess {
    /// Its number.
    pub id: u32,
    /// Start, in clock ticks since the boot; with the number it identifies one process of this boot.
    pub start_ticks: u64,
    /// The number of the process that started it.
    pub parent: u32,
    /// The name of that process.
    pub parent_name: String,
    /// Its name: the program's, cut to 15 bytes, or a name that it set itself.
    pub name: String,
    /// The file that it executes; `None` if it cannot be read.
    pub exe: Option<String>,
    /// True if `exe` is not the file of that path here, so that no rule of the system may rely on it: the process executes
    /// another file, in a mount namespace of its own.
    pub is_exe_elsewhere: bool,
    /// Its arguments, the program's own name first.
    pub argv: Vec<String>,
    /// Its user by name, or by number if it has no name.
    pub user: String,
    /// The user that its share of the room for held threads is charged to.
    pub charged_to: ChargedUser,
    /// The systemd unit that it belongs to, if any.
    pub unit: Option<String>,
    /// Its control group: "/system.slice/redis.service".
    pub cgroup: String,
    /// True if it is compared with rules of the system: names that its user chose do not count.
    pub is_for_system: bool,
    /// The cpus that are online and that its control group lets it use.
    pub reachable: CpuSet,
    /// Its threads, the first one first.
    pub threads: Vec<ObservedThread>,
}

/// A user that started processes, by name, or by number if it has none. A program that runs with the rights of another
/// user counts for the user that started it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ChargedUser {
    /// The name or number.
    pub name: String,
    /// True for root and the system's service users.
    pub is_system: bool,
}

/// Observed state of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedThread {
    /// Its number.
    pub id: u32,
    /// Start, in clock ticks since the boot.
    pub start_ticks: u64,
    /// Its name, at most 15 bytes.
    pub name: String,
    /// The cpus that it may run on.
    pub cpus: CpuSet,
}

impl ObservedProcess {
    /// Returns the masks of its threads, that of the first thread first, then in the order of the threads.
    pub fn thread_masks(&self) -> Vec<ThreadMask> {
        let mut masks: Vec<ThreadMask> = Vec::new();
        for thread in &self.threads {
            let named = (thread.id, thread.name.clone());
            match masks.iter_mut().find(|mask| mask.cpus == thread.cpus) {
                Some(mask) => mask.threads.push(named),
                None => masks.push(ThreadMask { cpus: thread.cpus.clone(), threads: vec![named] }),
            }
        }
        masks
    }

    /// Returns the part of its control group's path that rules are compared with: all of it, or for rules of the system
    /// the part that the system named. Below `user@N.service` that user's own service manager chooses names.
    pub(super) fn matched_cgroup(&self) -> &str {
        let end_of = |(at, name): (usize, &str)| {
            let is_manager = name.starts_with("user@") && name.ends_with(".service");
            is_manager.then_some(at + name.len())
        };
        let names = self.cgroup.split('/').scan(0, |next, name| {
            let at = std::mem::replace(next, *next + name.len() + 1);
            Some((at, name))
        });
        let end = names.filter(|_| self.is_for_system).find_map(end_of);
        &self.cgroup[..end.unwrap_or(self.cgroup.len())]
    }
}

/// A mask that threads of a process have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadMask {
    /// The mask.
    pub cpus: CpuSet,
    /// Its threads: number and name.
    pub threads: Vec<(u32, String)>,
}

/// Returns the software that writes the cpus of a control group, by its path; "another program" if the path names none. corewise never
/// writes there: it stays within them and names the owner.
pub fn cgroup_owner(cgroup: &str) -> &'static str {
    let owners = [
        ("kubepods", "kubelet"),
        ("/slurm", "Slurm"),
        ("docker", "Docker"),
        ("libpod", "Podman"),
        ("/lxc", "LXC"),
        ("machine.slice", "systemd-machined"),
    ];
    let units = [".slice", ".scope", ".service"];
    let by_unit = || units.iter().any(|unit| cgroup.contains(unit)).then_some("systemd");
    let by_name = owners.iter().find(|(part, _)| cgroup.contains(part)).map(|(_, name)| *name);
    by_name.or_else(by_unit).unwrap_or("another program")
}
