//! A placement that an experiment tries, for the whole program or for each role.

use corewise_machine::placement::memory::{MemoryMode, MemoryPolicy};
use corewise_machine::{CpuSet, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Separator of a placement and a memory policy, in names of arms and in input.
pub const MEMORY_SIGN: char = '@';

/// Name and notation of the arm with the operating system's choice but without slowing the program down to save power.
pub const WITHOUT_ECO_QOS: &str = "EcoQoS off";

/// One of the tried placements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementArm {
    /// Its name: "OS default", or the placement as it was typed.
    pub name: String,
    /// Its cpus; absent for the operating system's choice among all. For an arm with roles, the cpus of all of them
    /// together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuSet>,
    /// Placements of roles; all other roles are left to the operating system.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RolePlace>,
    /// The name of the variant of the program that runs; absent if there is only one program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The requested number of threads; absent if none is passed to the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Memory policy of the program; absent to leave the policy as it is, and on an arm with roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<ArmMemory>,
    /// True to ask the system not to slow the program down to save power (EcoQoS of Windows off).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_full_speed: bool,
    /// Reason to try it.
    pub reason: String,
}

/// A memory policy to try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArmMemory {
    /// Its notation: "interleave:all".
    pub policy: String,
    /// The nodes by the system's numbers; empty for "local".
    pub nodes: CpuSet,
}

/// Placement of a role on an arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RolePlace {
    /// The role.
    pub role: String,
    /// Its placement as it was typed, or planned.
    pub expression: String,
    /// Its cpus.
    pub cpus: CpuSet,
    /// Its memory policy; absent to leave the policy as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<ArmMemory>,
}

/// The words between a variant and its placement.
const ON: &str = " on ";

impl PlacementArm {
    /// Creates a placement of everything, or the operating system's choice.
    pub fn new(name: impl Into<String>, cpus: Option<CpuSet>, reason: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            cpus,
            roles: Vec::new(),
            variant: None,
            threads: None,
            memory: None,
            at_full_speed: false,
            reason: reason.into(),
        }
    }

    /// Creates the operating system's choice without EcoQoS, by which Windows keeps assumed background work on the
    /// slower cores.
    pub fn without_eco_qos() -> Self {
        let reason = "Windows may keep what it takes for background work on the slower cores, and must not here";
        Self { at_full_speed: true, ..Self::new(WITHOUT_ECO_QOS, None, reason) }
    }

    /// Returns the same if it is worth trying: if cores differ, on Windows, the only system with processor groups.
    pub fn planned_without_eco_qos(machine: &Machine) -> Option<Self> {
        (!machine.processor_groups.is_empty() && machine.kinds.len() > 1).then(Self::without_eco_qos)
    }

    /// Returns the same placement with a variant of the program, named "gcc", or "gcc on llc:0".
    #[must_use]
    pub fn with_variant(&self, variant: &str) -> Self {
        let name = if self.is_left_alone() { variant.to_owned() } else { format!("{variant}{ON}{}", self.name) };
        Self { name, variant: Some(variant.to_owned()), ..self.clone() }
    }

    /// Returns true if all is left to the operating system.
    pub fn is_left_alone(&self) -> bool {
        self.cpus.is_none() && self.roles.is_empty() && self.memory.is_none() && !self.at_full_speed
    }

    /// Returns its placement as it was typed, without its variant: an expression, perhaps with a memory policy, or the name of the OS
    /// default.
    pub fn choice_text(&self) -> &str {
        let variant = self.variant.as_deref().and_then(|variant| self.name.strip_prefix(variant));
        variant.and_then(|rest| rest.strip_prefix(ON)).unwrap_or(&self.name)
    }

    /// Returns its placement without its variant and its memory policy: an expression, or "os".
    pub fn placement_text(&self) -> &str {
        let choice = self.choice_text();
        match &self.memory {
            Some(_) => choice.rsplit_once(MEMORY_SIGN).map_or(choice, |(placement, _)| placement.trim()),
            None => choice,
        }
    }

    /// Returns its name in a sentence: "cpu 3" and "cpus 0-3" if the name consists of numbers.
    pub fn spoken_name(&self) -> String {
        let is_numbers = self.name.bytes().all(|byte| byte.is_ascii_digit() || b",-".contains(&byte));
        match (&self.cpus, is_numbers) {
            (Some(cpus), true) if cpus.len() == 1 => format!("cpu {}", self.name),
            (Some(_), true) => format!("cpus {}", self.name),
            _ => self.name.clone(),
        }
    }

    /// Returns the cpus of a role; `None` if it is left to the operating system. On an arm without roles everything has
    /// the arm's cpus.
    pub fn cpus_of(&self, role: &str) -> Option<&CpuSet> {
        if self.roles.is_empty() { self.cpus.as_ref() } else { self.place_of(role).map(|place| &place.cpus) }
    }

    /// Returns the memory policy of a role; `None` if it is left as it is. On an arm without roles everything has the
    /// arm's.
    pub fn memory_of(&self, role: &str) -> Option<&ArmMemory> {
        if self.roles.is_empty() { self.memory.as_ref() } else { self.place_of(role)?.memory.as_ref() }
    }

    /// Returns the placement of a role; `None` if it is left to the operating system, and on an arm without roles.
    pub fn place_of(&self, role: &str) -> Option<&RolePlace> {
        self.roles.iter().find(|place| place.role == role)
    }

    /// Iterates over all its memory policies.
    pub fn memory_policies(&self) -> impl Iterator<Item = &ArmMemory> {
        self.memory.iter().chain(self.roles.iter().filter_map(|place| place.memory.as_ref()))
    }
}

impl ArmMemory {
    /// Returns the kernel's mode of choosing among the nodes; `None` if the policy cannot be parsed.
    pub fn policy_mode(&self) -> Option<MemoryMode> {
        self.policy.parse::<MemoryPolicy>().ok().map(|policy| policy.mode)
    }
}

impl RolePlace {
    /// Returns its notation: "server=node:0@bind:0".
    pub fn typed_text(&self) -> String {
        let memory = self.memory.as_ref().map_or_else(String::new, |memory| format!("{MEMORY_SIGN}{}", memory.policy));
        format!("{}={}{memory}", self.role, self.expression)
    }
}
