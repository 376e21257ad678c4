//! A placement that an experiment tries: of everything, or of each role by itself.

use corewise_machine::placement::memory::{MemoryPolicy, Mode};
use corewise_machine::{CpuSet, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Between a placement and a memory policy, in what arms are called and in what is typed.
pub const MEMORY_SIGN: char = '@';

/// What an arm is called, and typed as, that is the operating system's choice without slowing the program down to save power.
pub const WITHOUT_ECO_QOS: &str = "EcoQoS off";

/// One of the placements that are tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arm {
    /// What it is called: "OS default", or the placement as it was typed.
    pub name: String,
    /// Its cpus; absent for the operating system's choice among all. Of an arm with roles, the cpus of all of them together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuSet>,
    /// Where each role stands that has a placement of its own; the others are left to the operating system.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RolePlace>,
    /// The requested number of threads; absent if none is passed to the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Where the program's memory comes from; absent to leave the policy as it is, and on an arm with roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<ArmMemory>,
    /// Whether the system is asked not to slow the program down to save power (EcoQoS of Windows off).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_full_speed: bool,
    /// Why it is tried.
    pub reason: String,
}

/// A memory policy that is tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArmMemory {
    /// As it is typed: "interleave:all".
    pub policy: String,
    /// The nodes by the system's numbers; none for "local".
    pub nodes: CpuSet,
}

/// Where a role stands on an arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RolePlace {
    /// The role.
    pub role: String,
    /// Its placement as it was typed, or planned.
    pub expression: String,
    /// Its cpus.
    pub cpus: CpuSet,
    /// Where its memory comes from; absent to leave the policy as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<ArmMemory>,
}

impl Arm {
    /// A placement of everything, or the operating system's choice.
    pub fn new(name: impl Into<String>, cpus: Option<CpuSet>, reason: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            cpus,
            roles: Vec::new(),
            threads: None,
            memory: None,
            at_full_speed: false,
            reason: reason.into(),
        }
    }

    /// The operating system's choice without EcoQoS, by which Windows keeps what it takes for background work on the slower cores.
    pub fn without_eco_qos() -> Self {
        let reason = "Windows may keep what it takes for background work on the slower cores, and must not here";
        Self { at_full_speed: true, ..Self::new(WITHOUT_ECO_QOS, None, reason) }
    }

    /// The same where it is worth trying: where cores differ, on Windows, which alone has processor groups.
    pub fn planned_without_eco_qos(machine: &Machine) -> Option<Self> {
        (!machine.processor_groups.is_empty() && machine.kinds.len() > 1).then(Self::without_eco_qos)
    }

    /// The placement that it is, without its memory policy: an expression, or "os".
    pub fn placement(&self) -> &str {
        match &self.memory {
            Some(_) => self.name.rsplit_once(MEMORY_SIGN).map_or(&self.name[..], |(placement, _)| placement.trim()),
            None => &self.name,
        }
    }

    /// What it is called in a sentence: "cpu 3" and "cpus 0-3" where it is called by numbers alone.
    pub fn spoken(&self) -> String {
        let is_numbers = self.name.bytes().all(|byte| byte.is_ascii_digit() || b",-".contains(&byte));
        match (&self.cpus, is_numbers) {
            (Some(cpus), true) if cpus.len() == 1 => format!("cpu {}", self.name),
            (Some(_), true) => format!("cpus {}", self.name),
            _ => self.name.clone(),
        }
    }

    /// The cpus of a role: absent where it is left to the operating system. On an arm without roles everything has the arm's cpus.
    pub fn cpus_of(&self, role: &str) -> Option<&CpuSet> {
        if self.roles.is_empty() { self.cpus.as_ref() } else { self.place_of(role).map(|place| &place.cpus) }
    }

    /// The memory policy of a role: absent where it is left as it is. On an arm without roles everything has the arm's.
    pub fn memory_of(&self, role: &str) -> Option<&ArmMemory> {
        if self.roles.is_empty() { self.memory.as_ref() } else { self.place_of(role)?.memory.as_ref() }
    }

    /// Where a role stands; absent where it is left to the operating system, and on an arm without roles.
    pub fn place_of(&self, role: &str) -> Option<&RolePlace> {
        self.roles.iter().find(|place| place.role == role)
    }

    /// The memory policies of all that it places.
    pub fn memories(&self) -> impl Iterator<Item = &ArmMemory> {
        self.memory.iter().chain(self.roles.iter().filter_map(|place| place.memory.as_ref()))
    }
}

impl ArmMemory {
    /// How the kernel chooses among the nodes; absent where the policy cannot be read.
    pub fn mode(&self) -> Option<Mode> {
        self.policy.parse::<MemoryPolicy>().ok().map(|policy| policy.mode)
    }
}

impl RolePlace {
    /// As it is typed: "server=node:0@bind:0".
    pub fn typed(&self) -> String {
        let memory = self.memory.as_ref().map_or_else(String::new, |memory| format!("{MEMORY_SIGN}{}", memory.policy));
        format!("{}={}{memory}", self.role, self.expression)
    }
}
