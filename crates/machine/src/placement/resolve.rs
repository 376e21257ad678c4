//! What an expression is on a machine: which cpus, in which order, and who was left out and why.

mod evaluate;
mod holders;

use serde::{Deserialize, Serialize};

use crate::worth::WorthNow;
use crate::{CpuSet, Machine};

/// What an expression is resolved against.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The cpus that the cpuset lets this process use, whatever affinity mask it inherited; `machine.allowed` where
    /// only that is known.
    pub reachable: &'a CpuSet,
    /// The cpus that a survey found undisturbed, where there is a survey.
    pub quiet: Option<&'a CpuSet>,
    /// What each cpu is worth now, where that is known.
    pub worth: Option<&'a WorthNow>,
}

/// Which cpus an expression is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resolution {
    /// The cpus; never empty.
    pub cpus: CpuSet,
    /// The same cpus in the order in which threads would take them: lists as they were typed, everything else with one cpu
    /// of each core before their siblings.
    pub order: Vec<u32>,
    /// Who was left out, by reason.
    pub left_out: Vec<LeftOut>,
    /// What else to keep in mind, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Cpus that the expression holds and that cannot, or by default do not, take part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Why.
    pub reason: Reason,
    /// Which.
    pub cpus: CpuSet,
    /// Those of them that the user named by their numbers.
    pub named: CpuSet,
}

/// Why a cpu is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// It is switched off.
    Offline,
    /// An hwloc export leaves it out: it is offline or not allowed. Named by number or by mask, it takes part.
    Unlisted,
    /// The cpuset of this process does not have it.
    NotInCpuset,
    /// The kernel keeps it out of its balancing; named by number, by mask or as `isolated`, it takes part.
    Isolated,
    /// It is not in the affinity mask that this process inherited; named by number or by mask, it takes part.
    NotInMask,
}

impl Reason {
    /// All reasons, strongest first: a cpu is told with the first that holds.
    pub const ALL: [Self; 5] = [Self::Offline, Self::Unlisted, Self::NotInCpuset, Self::Isolated, Self::NotInMask];

    /// The reason in words that follow "is" or "are".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Offline => "offline",
            Self::Unlisted => "offline or not allowed",
            Self::NotInCpuset => "outside the cpuset",
            Self::Isolated => "isolated",
            Self::NotInMask => "not in the inherited affinity mask",
        }
    }

    /// Whether a user who names the cpu by its number gets it all the same.
    pub const fn yields_to_a_name(self) -> bool {
        matches!(self, Self::Unlisted | Self::Isolated | Self::NotInMask)
    }
}

impl Context<'_> {
    /// Why a cpu is left out where nobody names it by number; nothing where it takes part.
    fn reason(&self, cpu: u32) -> Option<Reason> {
        if self.machine.unlisted.contains(cpu) {
            Some(Reason::Unlisted)
        } else if !self.machine.online.contains(cpu) {
            Some(Reason::Offline)
        } else if !self.reachable.contains(cpu) {
            Some(Reason::NotInCpuset)
        } else if self.machine.isolated.contains(cpu) {
            Some(Reason::Isolated)
        } else if !self.machine.allowed.contains(cpu) {
            Some(Reason::NotInMask)
        } else {
            None
        }
    }

    /// Why a cpu is left out of a set whose cpus in `named` were named by number.
    fn reason_among(&self, cpu: u32, named: &CpuSet) -> Option<Reason> {
        self.reason(cpu).filter(|reason| !(reason.yields_to_a_name() && named.contains(cpu)))
    }
}
