//! Arms of an experiment: the OS default, and the placements that are tried beside it.

mod memory;
mod roles;
mod threads;
mod variants;

use std::fmt;

use corewise_machine::placement::memory::MemoryPolicy;
use corewise_machine::placement::plan::{USUAL_MOST, plan_placements};
use corewise_machine::placement::{MachineKnowledge, PlacementExpression, parse};
use corewise_machine::{CpuSet, Machine};
use corewise_model::links::LinkMap;
use corewise_model::trial::{Experiment, PlacementArm, RolePlace, WITHOUT_ECO_QOS};
use corewise_statistics::experiment::ExpectedNoise;
use corewise_sys::spawn::{self, MannerEffect};

use super::choice::PlacementChoice;
use super::error::ExperimentError;
use crate::placement::{PlacingError, reachable_here, refuse_named, resolve_here};
pub use roles::refuse_memory_of_others;
pub use threads::{ThreadCounts, ThreadPinning};

/// Name of the baseline.
const BASELINE: &str = "OS default";
/// Reason of an arm that the user named.
const ASKED_FOR: &str = "named on the command line";

/// Earlier measurements for composing experiments. By default there are none.
pub trait ExperimentKnowledge: MachineKnowledge {
    /// Returns the cpu that takes most interrupts, or `None` if no survey found one.
    fn busiest_cpu(&self, _machine: &Machine) -> Option<u32> {
        None
    }

    /// Returns the latest whole map of links in nanoseconds, or `None` without one.
    fn link_map(&self, _machine: &Machine) -> Option<LinkMap> {
        None
    }

    /// Returns the noise of the latest earlier experiment with the same workload on the same machine, or `None` without one.
    fn expected_noise(&self, _experiment: &Experiment) -> Option<ExpectedNoise> {
        None
    }
}

/// Remark on the candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CandidateNote {
    /// A placement was named twice, and is tried once.
    Repeated(String),
    /// A placement is equivalent to an earlier one, and is not tried.
    Same {
        /// Name of the placement.
        name: String,
        /// Name of the earlier one.
        first: String,
        /// Whether its memory policy was compared as well.
        has_memory: bool,
    },
    /// EcoQoS cannot be switched off here, so the arm is the OS default once more.
    NoEcoQos(String),
}

impl fmt::Display for CandidateNote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeated(name) => write!(formatter, "{name} is named twice, and tried once"),
            Self::Same { name, first, has_memory } => {
                let what = if *has_memory { "comes to the same as" } else { "has the cpus of" };
                write!(formatter, "{name} {what} {first}, and is not tried again")
            }
            Self::NoEcoQos(why) => write!(formatter, "{WITHOUT_ECO_QOS} has no effect here: {why}"),
        }
    }
}

/// Placements that an experiment is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CandidateRequest {
    /// Placements beside the OS default; planned for the machine if empty.
    pub choices: Vec<PlacementChoice>,
    /// Memory policies, each tried on the OS default and on every placement without its own.
    pub memory: Vec<MemoryPolicy>,
}

impl CandidateRequest {
    /// Returns true if candidates are planned.
    pub fn is_planned(&self) -> bool {
        self.memory.is_empty() && (self.choices.is_empty() || self.choices.contains(&PlacementChoice::Planned))
    }
}

/// Turns requests into arms on one machine.
pub struct CandidatePlanner<'a> {
    machine: &'a Machine,
    knowledge: &'a dyn ExperimentKnowledge,
    reachable: CpuSet,
    notes: Vec<CandidateNote>,
}

impl<'a> CandidatePlanner<'a> {
    /// Plans for this machine, within the cpuset of this process.
    pub fn new(machine: &'a Machine, knowledge: &'a dyn ExperimentKnowledge) -> Self {
        Self { machine, knowledge, reachable: reachable_here(machine), notes: Vec::new() }
    }

    /// Returns the present remarks.
    pub fn take_notes(&mut self) -> Vec<CandidateNote> {
        std::mem::take(&mut self.notes)
    }

    /// Returns the OS default and the requested placements, from the least to the most restrictive. Candidates are
    /// planned for `threads` threads.
    ///
    /// # Errors
    /// The reason why a placement is not available, or why there is no comparison.
    pub fn arms(
        &mut self,
        request: &CandidateRequest,
        threads: Option<u32>,
        roles: &[&str],
    ) -> Result<Vec<PlacementArm>, ExperimentError> {
        self.refuse_one_cpu()?;
        let CandidateRequest { choices, memory } = request;
        let mut candidates = if choices.is_empty() && memory.is_empty() {
            let placements = self.planned_placements(threads);
            let crossed = self.planned_with_memory(&placements);
            [placements, crossed].concat()
        } else {
            let mut placements = Vec::new();
            for choice in choices {
                placements.extend(self.chosen_arms(choice, threads, roles)?);
            }
            let crossed = self.cross_with_memory(&placements, memory)?;
            [placements, crossed].concat()
        };
        self.leave_out_repeated(&mut candidates);
        candidates.sort_by_key(|arm| std::cmp::Reverse(arm.cpus.as_ref().map_or(usize::MAX, CpuSet::len)));
        self.add_baseline(candidates)
    }

    /// Returns the arm without EcoQoS, or `None` if it is not worth planning here.
    pub fn planned_without_eco_qos(&self) -> Option<PlacementArm> {
        let is_in_force = spawn::effect_of_full_speed() == MannerEffect::InForce;
        PlacementArm::planned_without_eco_qos(self.machine).filter(|_| is_in_force)
    }

    fn chosen_arms(
        &mut self,
        choice: &PlacementChoice,
        threads: Option<u32>,
        roles: &[&str],
    ) -> Result<Vec<PlacementArm>, ExperimentError> {
        match choice {
            PlacementChoice::OsDefault => {
                Ok(vec![PlacementArm::new("OS default again", None, "to compare the OS default with itself")])
            }
            PlacementChoice::WithoutEcoQos => Ok(vec![self.without_eco_qos()?]),
            PlacementChoice::Placement(name, expression) => Ok(vec![self.named_arm(name, expression)?]),
            PlacementChoice::WithMemory(placement, policy) => {
                let arm = placement.as_ref().map(|(name, expression)| self.named_arm(name, expression)).transpose()?;
                Ok(vec![self.arm_with_memory(arm.as_ref(), policy, ASKED_FOR)?])
            }
            PlacementChoice::Roles(text, _) if roles.is_empty() => Err(ExperimentError::NoRoles(text.clone())),
            PlacementChoice::Roles(text, placed) => Ok(vec![self.arm_of_roles(text, placed, roles)?]),
            PlacementChoice::Near(device) if roles.is_empty() => Ok(self.near_and_away(device)?.into()),
            PlacementChoice::Near(device) => Ok(self.roles_near_and_away(device, roles)?.into()),
            PlacementChoice::Planned => Ok(self.planned_placements(threads)),
            PlacementChoice::Proposed(proposed, reason) => {
                let arms = self.chosen_arms(proposed, threads, roles)?;
                Ok(arms.into_iter().map(|arm| PlacementArm { reason: reason.clone(), ..arm }).collect())
            }
        }
    }

    fn without_eco_qos(&mut self) -> Result<PlacementArm, ExperimentError> {
        match spawn::effect_of_full_speed() {
            MannerEffect::InForce => {}
            MannerEffect::Nothing(why) => self.notes.push(CandidateNote::NoEcoQos(why)),
            MannerEffect::Unavailable(why) => return Err(ExperimentError::FullSpeed(why.to_owned())),
        }
        Ok(PlacementArm::without_eco_qos())
    }

    fn planned_placements(&self, threads: Option<u32>) -> Vec<PlacementArm> {
        let memory_costs = self.knowledge.memory_costs(self.machine).unwrap_or_default();
        let machine = Machine { memory_costs, ..self.machine.clone() };
        let busiest = self.knowledge.busiest_cpu(&machine);
        let candidates =
            plan_placements(&machine, &self.reachable, threads, busiest, USUAL_MOST).candidates.into_iter();
        let named =
            candidates.filter_map(|found| Some(PlacementArm::new(found.expression?, Some(found.cpus), found.reason)));
        named.collect()
    }

    fn named_arm(&self, name: &str, expression: &PlacementExpression) -> Result<PlacementArm, ExperimentError> {
        let found = resolve_here(expression, self.machine, self.knowledge).map_err(PlacingError::from)?;
        refuse_named(&found.left_out)?;
        let reason = if expression.needs_devices() { found.notes.join(" ") } else { ASKED_FOR.to_owned() };
        Ok(PlacementArm::new(name, Some(found.cpus), reason))
    }

    /// Returns the cpus near a device, and all others.
    fn near_and_away(&self, device: &str) -> Result<[PlacementArm; 2], ExperimentError> {
        let arm = |text: String| self.named_arm(&text, &parse(&text)?);
        let [near, whole] = [arm(format!("near({device})"))?, arm("all".to_owned())?];
        if near.cpus == whole.cpus {
            return Err(ExperimentError::NearEverything { placement: near.name, reason: near.reason });
        }
        Ok([near, arm(format!("!near({device})"))?])
    }

    fn refuse_one_cpu(&self) -> Result<(), ExperimentError> {
        if self.reachable.len() < 2 { Err(ExperimentError::OneCpu(self.reachable.clone())) } else { Ok(()) }
    }

    /// Puts the OS default before the candidates.
    fn add_baseline(&self, candidates: Vec<PlacementArm>) -> Result<Vec<PlacementArm>, ExperimentError> {
        self.refuse_one_cpu()?;
        if candidates.is_empty() {
            let allowed = &self.machine.allowed;
            let is_one = allowed.len() < 2;
            return Err(if is_one {
                ExperimentError::OneCpu(allowed.clone())
            } else {
                ExperimentError::NothingDiffers
            });
        }
        Ok(std::iter::once(baseline_arm()).chain(candidates).collect())
    }

    /// Removes arms with the same cpus and an equivalent memory policy; the first one stays.
    fn leave_out_repeated(&mut self, candidates: &mut Vec<PlacementArm>) {
        let mut seen = vec![baseline_arm()];
        let mut notes = Vec::new();
        candidates.retain(|arm| {
            // The OS default may be tried twice, to compare it with itself.
            if arm.cpus.is_none() && arm.memory.is_none() {
                return true;
            }
            let Some(first) = seen.iter().find(|known| self.stand_alike(known, arm)) else {
                seen.push(arm.clone());
                return true;
            };
            let (name, first) = (arm.name.clone(), first.name.clone());
            notes.push(match first == name {
                true => CandidateNote::Repeated(name),
                false => CandidateNote::Same { name, first, has_memory: arm.memory_policies().next().is_some() },
            });
            false
        });
        self.notes.extend(notes);
    }

    fn stand_alike(&self, one: &PlacementArm, other: &PlacementArm) -> bool {
        let whole = |arm: &PlacementArm| self.memory_effect(arm.cpus.as_ref(), arm.memory.as_ref());
        let of_role = |place: &RolePlace| self.memory_effect(Some(&place.cpus), place.memory.as_ref());
        let is_in = |arm: &PlacementArm, place: &RolePlace| {
            arm.place_of(&place.role).is_some_and(|same| same.cpus == place.cpus && of_role(same) == of_role(place))
        };
        one.cpus == other.cpus
            && one.roles.len() == other.roles.len()
            && one.roles.iter().all(|place| is_in(other, place))
            && whole(one) == whole(other)
    }
}

/// Returns the arm that all others are compared with.
pub(super) fn baseline_arm() -> PlacementArm {
    PlacementArm::new(BASELINE, None, "the OS default: all cpus")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::NoKnowledge;

    /// Two nodes of one cpu each, and a card at one of them.
    fn two_nodes(node: u32) -> Machine {
        let text = format!(
            "name = \"x\"\ncpus = \"0-1\"\nnodes = [{{ cpus = \"0\" }}, {{ cpus = \"1\" }}]\n\
             devices = [{{ kind = \"network\", names = [\"eth0\"], node = {node} }}]\n"
        );
        corewise_machine::machine_file::parse(&text).unwrap().machine
    }

    #[test]
    fn near_a_device_and_away_from_it_are_tried_if_they_differ() {
        let machine = two_nodes(0);
        if !machine.online.is_subset(&reachable_here(&machine)) {
            return println!("skipped: cpus 0 and 1 are not in this process's cpuset");
        }
        let mut planner = CandidatePlanner::new(&machine, &NoKnowledge);
        let [at, away] = planner.near_and_away("eth0").unwrap();
        let told = |arm: &PlacementArm| format!("{} {}", arm.name, arm.cpus.as_ref().unwrap());
        assert_eq!((told(&at), told(&away)), ("near(eth0) 0".into(), "!near(eth0) 1".into()));
        assert_eq!(at.reason, "near(eth0): node 0, as the system reports.");
        let elsewhere = two_nodes(7);
        let nothing_else = CandidatePlanner::new(&elsewhere, &NoKnowledge).near_and_away("eth0").unwrap_err();
        assert!(nothing_else.to_string().starts_with("near(eth0) is every cpu that this process may use: "));
        assert!(planner.near_and_away("eth9").unwrap_err().to_string().contains("no such device"));
        let [server, elsewhere] = planner.roles_near_and_away("eth0", &["server", "io", "load"]).unwrap();
        let places = |arm: &PlacementArm| arm.roles.iter().map(|place| format!("{} ", place.cpus)).collect::<String>();
        assert_eq!((server.name.as_str(), places(&server)), ("server=near(eth0), io=near(eth0)", "0 0 ".into()));
        assert_eq!(
            (elsewhere.name.as_str(), places(&elsewhere)),
            ("server=!near(eth0), io=!near(eth0)", "1 1 ".into())
        );
        assert_eq!((server.cpus.as_ref().unwrap(), &server.reason), (&machine.allowed, &at.reason));
        let request = |choices| CandidateRequest { choices, memory: Vec::new() };
        let named = request(vec![PlacementChoice::parse("server=near(eth0), load=1").unwrap()]);
        let named = planner.arms(&named, None, &["server", "load"]).unwrap();
        assert_eq!((named[1].cpus_of("server"), &named[1].reason), (Some(&CpuSet::from_cpu(0)), &at.reason));
        let planned = request(vec![PlacementChoice::Near("eth0".into()), PlacementChoice::Planned]);
        let planned = planner.arms(&planned, None, &[]).unwrap();
        assert_eq!(planned[1..3].iter().map(|arm| &arm.name[..]).collect::<Vec<_>>(), ["near(eth0)", "!near(eth0)"]);
    }

    #[test]
    fn placements_of_the_same_cpus_are_one() {
        let arm = |name: &str, cpus: Option<u32>| PlacementArm::new(name, cpus.map(CpuSet::from_cpu), "");
        let mut arms =
            vec![arm("0", Some(0)), arm("os", None), arm("core:0", Some(0)), arm("1", Some(1)), arm("os", None)];
        let machine = two_nodes(0);
        let mut planner = CandidatePlanner::new(&machine, &NoKnowledge);
        planner.leave_out_repeated(&mut arms);
        assert_eq!(arms.iter().map(|arm| &arm.name[..]).collect::<Vec<_>>(), ["0", "os", "1", "os"]);
        assert_eq!(planner.take_notes()[0].to_string(), "core:0 has the cpus of 0, and is not tried again");
    }
}
