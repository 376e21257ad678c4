//! Placements of roles: services and their load, or threads by their names.

use corewise_machine::placement::plan::{RoleCandidate, USUAL_MOST, plan_roles};
use corewise_machine::placement::roles::PlacedRole;
use corewise_machine::{CpuSet, Machine};
use corewise_model::links::CostMatrix;
use corewise_model::trial::{LOAD, PlacementArm, RolePlace, ServiceParts, TriedWorkload};

use super::{ASKED_FOR, CandidatePlanner, CandidateRequest};
use crate::experiment::choice::PlacementChoice;
use crate::experiment::error::ExperimentError;
use crate::placement::{PlacingError, memory_to_try, refuse_named, resolve_here};

impl CandidatePlanner<'_> {
    /// Returns the OS default and the placements that are planned for services and their load.
    pub(in crate::experiment) fn planned_arms_of_services(
        &mut self,
        request: &CandidateRequest,
        parts: &ServiceParts,
        roles: &[&str],
    ) -> Result<Vec<PlacementArm>, ExperimentError> {
        let mut candidates = Vec::new();
        for choice in &request.choices {
            if let PlacementChoice::Near(device) = choice {
                candidates.extend(self.roles_near_and_away(device, roles)?);
            }
        }
        candidates.extend(self.planned_roles(parts));
        self.leave_out_repeated(&mut candidates);
        self.add_baseline(candidates)
    }

    pub(super) fn arm_of_roles(
        &self,
        text: &str,
        placed: &[PlacedRole],
        roles: &[&str],
    ) -> Result<PlacementArm, ExperimentError> {
        let mut reasons: Vec<String> = Vec::new();
        let mut places = Vec::new();
        for role in placed {
            if !roles.contains(&role.name.as_str()) {
                let known = roles.iter().map(|role| (*role).to_owned()).collect();
                return Err(ExperimentError::UnknownRole { text: text.to_owned(), role: role.name.clone(), known });
            }
            let found = resolve_here(&role.expression, self.machine, self.knowledge).map_err(PlacingError::from)?;
            refuse_named(&found.left_out)?;
            if role.expression.needs_devices() {
                let new: Vec<String> = found.notes.into_iter().filter(|note| !reasons.contains(note)).collect();
                reasons.extend(new);
            }
            let memory = role.memory.as_ref().map(|memory| memory_to_try(memory, self.machine)).transpose()?;
            let expression = role.expression.to_string();
            places.push(RolePlace { role: role.name.clone(), expression, cpus: found.cpus, memory });
        }
        let reason = if reasons.is_empty() { ASKED_FOR.to_owned() } else { reasons.join(" ") };
        Ok(join_places(text.trim().to_owned(), places, roles, reason, self.machine))
    }

    /// Returns all roles but the last near a device, and away from it. The last one is the load, or the rest of the threads, and stays
    /// with the OS default.
    pub(super) fn roles_near_and_away(
        &self,
        device: &str,
        roles: &[&str],
    ) -> Result<[PlacementArm; 2], ExperimentError> {
        let of_roles = |whole: PlacementArm| {
            let cpus = whole.cpus.unwrap_or_default();
            let placed = &roles[..roles.len().saturating_sub(1)];
            let places = place_roles(placed, std::iter::repeat((whole.name.clone(), cpus)));
            join_places(name_places(&places), places, roles, whole.reason, self.machine)
        };
        Ok(self.near_and_away(device)?.map(of_roles))
    }

    /// Returns the placements that are planned for services and their load. Roles of threads are never planned unasked.
    fn planned_roles(&self, parts: &ServiceParts) -> Vec<PlacementArm> {
        let services = parts.services.iter().map(|service| service.name.as_str());
        let roles: Vec<&str> = services.chain(std::iter::once(LOAD)).collect();
        let map = self.knowledge.link_map(self.machine);
        let costs = map.and_then(|map| Some(CostMatrix::from_links(&map.series.first()?.links)));
        let cost =
            costs.as_ref().map(|costs| |a: u32, b: u32| Some(costs.pair_cost(costs.place_of(a)?, costs.place_of(b)?)));
        let cost = cost.as_ref().map(|cost| cost as &dyn Fn(u32, u32) -> Option<f64>);
        let known = (self.knowledge.busiest_cpu(self.machine), cost);
        let each = |candidate: RoleCandidate| {
            let RoleCandidate { places, reason, link_ns, stands_for, of, .. } = candidate;
            let places = place_roles(&roles, places);
            let link = link_ns.map_or_else(String::new, |ns| format!(" A message between them costs {ns:.0} ns."));
            let counted = format!(" It stands for {stands_for} of {of} such placements.");
            join_places(name_places(&places), places, &roles, format!("{reason}{link}{counted}"), self.machine)
        };
        plan_roles(self.machine, &self.reachable, roles.len(), known, USUAL_MOST).into_iter().map(each).collect()
    }
}

fn place_roles(roles: &[&str], places: impl IntoIterator<Item = (String, CpuSet)>) -> Vec<RolePlace> {
    let place = |(role, (expression, cpus)): (&&str, (String, CpuSet))| RolePlace {
        role: (*role).to_owned(),
        expression,
        cpus,
        memory: None,
    };
    roles.iter().zip(places).map(place).collect()
}

fn name_places(places: &[RolePlace]) -> String {
    places.iter().map(RolePlace::typed_text).collect::<Vec<_>>().join(", ")
}

/// Returns an arm with the cpus of all its roles; a role without a placement may use all.
pub(super) fn join_places(
    name: String,
    places: Vec<RolePlace>,
    roles: &[&str],
    reason: String,
    machine: &Machine,
) -> PlacementArm {
    let is_placed = |role: &&&str| places.iter().any(|place| place.role == ***role);
    let mut cpus: CpuSet = places.iter().flat_map(|place| place.cpus.iter()).collect();
    if roles.iter().filter(is_placed).count() < roles.len() {
        cpus = cpus.union(&machine.allowed);
    }
    PlacementArm { roles: places, ..PlacementArm::new(name, Some(cpus), reason) }
}

/// Refuses memory policies of programs that are not started for each trial: their memory is in place already.
///
/// # Errors
/// [`ExperimentError::MemoryStays`] with the placement.
pub fn refuse_memory_of_others(workload: &TriedWorkload, arms: &[PlacementArm]) -> Result<(), ExperimentError> {
    let is_started = |role: &str| {
        workload.parts.as_ref().is_some_and(|parts| {
            role == LOAD || !parts.keep_started && parts.services.iter().any(|service| service.name == role)
        })
    };
    let of_role = arms.iter().flat_map(|arm| &arm.roles).filter(|place| place.memory.is_some());
    let of_role = of_role.filter(|place| !is_started(&place.role)).map(RolePlace::typed_text);
    let of_all = arms.iter().filter(|arm| arm.memory.is_some() && workload.goes_on()).map(|arm| arm.name.clone());
    of_role.chain(of_all).next().map_or(Ok(()), |place| Err(ExperimentError::MemoryStays(place)))
}
