//! Resolution of an expression on a machine: its cpus, their order, and the excluded cpus with reasons.

mod evaluator;
mod objects_by_cpu;

use super::order::format_counted;
use crate::worth::WorthNow;
use crate::{CpuSet, Machine};

/// Environment in which an expression is resolved.
#[derive(Clone, Copy, Debug)]
pub struct ResolveContext<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Cpus that the cpuset lets this process use, whatever affinity mask it inherited; `machine.allowed` if only that is known.
    pub reachable: &'a CpuSet,
    /// Cpus that a survey found undisturbed, or `None` without a survey.
    pub quiet: Option<&'a CpuSet>,
    /// Current worth of each cpu, if known.
    pub worth: Option<&'a WorthNow>,
}

/// Cpus of an expression on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ResolvedExpression {
    /// The cpus; never empty.
    pub cpus: CpuSet,
    /// The same cpus in the order in which threads take them: lists as typed, everything else with one cpu of each core before its
    /// siblings.
    pub order: Vec<u32>,
    /// Excluded cpus, by reason.
    pub left_out: Vec<ExcludedCpus>,
    /// Further notes, as sentences.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub notes: Vec<String>,
}

/// Cpus of the expression that cannot take part, or by default do not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ExcludedCpus {
    /// Reason.
    pub reason: ExclusionReason,
    /// The cpus.
    pub cpus: CpuSet,
    /// The subset that the user named by number.
    pub named: CpuSet,
}

/// Reason why a cpu is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "json",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum ExclusionReason {
    /// The cpu is switched off.
    Offline,
    /// An hwloc export omits it: it is offline or not allowed. If named by number or by mask, it takes part.
    Unlisted,
    /// The cpuset of this process does not include it.
    NotInCpuset,
    /// The kernel keeps it out of its balancing. If named by number, by mask or as `isolated`, it takes part.
    Isolated,
    /// It is not in the affinity mask that this process inherited. If named by number or by mask, it takes part.
    NotInMask,
}

impl ExclusionReason {
    /// All reasons, strongest first: the first that applies to a cpu is reported.
    pub const ALL: [Self; 5] = [Self::Offline, Self::Unlisted, Self::NotInCpuset, Self::Isolated, Self::NotInMask];

    /// Returns the reason in words that follow "is" or "are".
    pub const fn reason_words(self) -> &'static str {
        match self {
            Self::Offline => "offline",
            Self::Unlisted => "offline or not allowed",
            Self::NotInCpuset => "outside the cpuset",
            Self::Isolated => "isolated",
            Self::NotInMask => "not in the inherited affinity mask",
        }
    }

    fn describe_cpus(self, cpus: &CpuSet) -> String {
        format!("{} {} {}", format_counted(cpus), if cpus.len() == 1 { "is" } else { "are" }, self.reason_words())
    }

    /// Returns true if a cpu that the user names by number takes part all the same.
    pub const fn yields_to_a_name(self) -> bool {
        matches!(self, Self::Unlisted | Self::Isolated | Self::NotInMask)
    }
}

impl ExcludedCpus {
    /// Returns the reason in words: "cpus 4,5 are outside the cpuset".
    pub fn describe_excluded(&self) -> String {
        self.reason.describe_cpus(&self.cpus)
    }

    /// As [`Self::describe_excluded`], of the cpus that the user named by number.
    pub fn describe_named(&self) -> String {
        self.reason.describe_cpus(&self.named)
    }
}

impl ResolveContext<'_> {
    /// Returns the reason why a cpu that is not named by number is left out, or `None` if it takes part.
    fn exclusion_reason(&self, cpu: u32) -> Option<ExclusionReason> {
        if self.machine.unlisted.contains(cpu) {
            Some(ExclusionReason::Unlisted)
        } else if !self.machine.online.contains(cpu) {
            Some(ExclusionReason::Offline)
        } else if !self.reachable.contains(cpu) {
            Some(ExclusionReason::NotInCpuset)
        } else if self.machine.isolated.contains(cpu) {
            Some(ExclusionReason::Isolated)
        } else if !self.machine.allowed.contains(cpu) {
            Some(ExclusionReason::NotInMask)
        } else {
            None
        }
    }

    /// Returns the reason why a cpu is left out of a set in which `named` were named by number.
    fn reason_among(&self, cpu: u32, named: &CpuSet) -> Option<ExclusionReason> {
        self.exclusion_reason(cpu).filter(|reason| !(reason.yields_to_a_name() && named.contains(cpu)))
    }
}
