//! Plans placements of several roles, such as a server and its load, on a machine.
//!
//! Placements that a symmetry of the machine maps to each other count as one, and the size of each class is exact.

use serde::Serialize;

use super::classifier::SetClassifier;
use super::count::ExactCount;
use super::planner_machine::PlannerMachine;
use super::usable_cpus;
use crate::placement::CpuSetName;
use crate::placement::resolve::ResolveContext;
use crate::{CpuSet, Level, Machine};

/// Cost of a message between two cpus, in nanoseconds, if known.
pub type MessageCosts<'a> = &'a dyn Fn(u32, u32) -> Option<f64>;

/// Maximum roles that can be planned for.
pub const MOST_ROLES: usize = 64;

/// A placement of several roles that is worth trying.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct RoleCandidate {
    /// Expression and cpus of each role, in the order of the roles.
    pub places: Vec<(String, CpuSet)>,
    /// Reason why it is worth trying, one sentence.
    pub reason: String,
    /// Number of choices in its class with the same number of cpus for each role, including itself.
    pub stands_for: ExactCount,
    /// Number of all choices with the same number of cpus for each role.
    pub of: ExactCount,
    /// Mean cost of a message between the first role and the last, in nanoseconds; absent without a map of links.
    pub link_ns: Option<f64>,
}

/// Plans at most `most` placements of some roles (two at least; the last is the load), those with the cheapest messages first, if costs are
/// known.
///
/// `reachable` and `busiest` are as for [`super::plan_placements`]; `costs` come from the latest map of links. The list is empty unless there
/// are 2 to [`MOST_ROLES`] roles.
///
/// # Examples
/// ```
/// use corewise_machine::{CpuSet, generate::one_package_machine, placement::plan::plan_roles};
///
/// let machine = one_package_machine(8, true, &[(CpuSet::first_cpus(8), 16)]);
/// // A message costs 10 ns between siblings and 50 ns between cores.
/// let costs = |a: u32, b: u32| Some(if a % 4 == b % 4 { 10.0 } else { 50.0 });
/// let candidates = plan_roles(&machine, &machine.allowed, 2, (None, Some(&costs)), 4);
/// let [(server, _), (load, _)] = &candidates[0].places[..] else { panic!("a place for each role") };
/// assert_eq!((server.as_str(), load.as_str(), candidates[0].link_ns), ("1", "5", Some(10.0)));
/// ```
pub fn plan_roles(
    machine: &Machine,
    reachable: &CpuSet,
    roles: usize,
    (busiest, costs): (Option<u32>, Option<MessageCosts<'_>>),
    most: usize,
) -> Vec<RoleCandidate> {
    if !(2..=MOST_ROLES).contains(&roles) {
        return Vec::new();
    }
    let context = ResolveContext { machine, reachable, quiet: None, worth: None };
    let usable = usable_cpus(&context);
    let busiest = busiest.filter(|cpu| usable.contains(*cpu));
    let scene = PlannerMachine::new(context, usable, busiest);
    let mut classifier = SetClassifier::new(scene.tree());
    let mut seen = std::collections::HashSet::new();
    let mut found: Vec<RoleCandidate> = Vec::new();
    for proposal in list_proposals(&scene, roles) {
        let places: Option<Vec<(String, CpuSet)>> =
            proposal.expressions.into_iter().map(|text| scene.resolve_text(&text).map(|cpus| (text, cpus))).collect();
        let Some(places) = places.filter(|places| is_choice(places, &scene.usable)) else { continue };
        let sets: Vec<&CpuSet> = places.iter().map(|(_, cpus)| cpus).collect();
        if !seen.insert(classifier.class_of_all(&sets)) {
            continue;
        }
        let of = sets.iter().map(|cpus| ExactCount::combinations(scene.usable.len(), cpus.len()));
        found.push(RoleCandidate {
            stands_for: classifier.size_of_all(&sets),
            of: of.fold(ExactCount::ONE, ExactCount::times),
            link_ns: costs.and_then(|costs| link_ns(costs, sets[0], sets[sets.len() - 1])),
            reason: proposal.reason,
            places,
        });
    }
    // Candidates of unknown cost keep their order, behind the others.
    found.sort_by(|a, b| a.link_ns.unwrap_or(f64::INFINITY).total_cmp(&b.link_ns.unwrap_or(f64::INFINITY)));
    found.truncate(most);
    found
}

/// Returns true if all roles have usable cpus, and at least one role does not have all of them.
fn is_choice(places: &[(String, CpuSet)], usable: &CpuSet) -> bool {
    places.iter().all(|(_, cpus)| !cpus.is_empty() && cpus.is_subset(usable))
        && places.iter().any(|(_, cpus)| cpus != usable)
}

/// Returns the mean cost between cpus of two roles; a cpu with itself does not count.
fn link_ns(costs: MessageCosts<'_>, one: &CpuSet, other: &CpuSet) -> Option<f64> {
    let of_pair = |a: u32, b: u32| (a != b).then(|| costs(a, b)).flatten().filter(|cost| cost.is_finite());
    let known: Vec<f64> = one.iter().flat_map(|a| other.iter().filter_map(move |b| of_pair(a, b))).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

struct RoleProposal {
    /// One per role.
    expressions: Vec<String>,
    reason: String,
}

/// Proposes placements that a person would try, the closest first.
fn list_proposals(scene: &PlannerMachine<'_>, roles: usize) -> Vec<RoleProposal> {
    // On machines with several kinds of core, the performance cores.
    let pool = scene.resolve_text(CpuSetName::Performance.word()).unwrap_or_else(|| scene.usable.clone());
    let all = |text: &str, reason: &str| RoleProposal {
        expressions: vec![text.to_owned(); roles],
        reason: reason.to_owned(),
    };
    // All services in one place, the load in another.
    let two = |services: &str, load: String, reason: String| {
        let mut expressions = vec![services.to_owned(); roles - 1];
        expressions.push(load);
        RoleProposal { expressions, reason }
    };
    let mut found = Vec::new();
    let cores = order_objects(scene, Level::Core, &pool);
    let Some((core, core_cpus)) = cores.first() else { return found };
    let cpus: Vec<u32> = core_cpus.iter().collect();
    if cpus.len() >= roles {
        let expressions = (0..roles).map(|role| cpus[role].to_string()).collect();
        found.push(RoleProposal { expressions, reason: "Siblings: one core, a cpu for each.".to_owned() });
    }
    found.push(all(
        &cpus[0].to_string(),
        "Together on one cpu: they never run at the same time, and share every cache.",
    ));
    if cpus.len() > 1 {
        found.push(all(&format!("core:{core}"), "Together on one core: they share its caches."));
    }
    for (level, what) in [(Level::Cluster, "cluster"), (Level::Group, "group"), (Level::Llc, "last-level cache")] {
        let Some((index, inside)) = order_objects(scene, level, &pool).into_iter().next() else { continue };
        let inner = order_objects(scene, Level::Core, &inside);
        if inner.len() >= roles {
            let expressions = inner.iter().take(roles).map(|(core, _)| format!("core:{core}")).collect();
            let reason = format!("Neighbours: a core for each, in one {what}.");
            found.push(RoleProposal { expressions, reason });
        }
        let reason = format!("Together in one {what}.");
        found.push(all(&format!("{level}:{index}"), &reason));
    }
    found.push(two(
        &format!("core:{core}"),
        format!("all - core:{core}"),
        "The load off the server's core.".to_owned(),
    ));
    for (level, what) in [(Level::Llc, "last-level cache"), (Level::Node, "NUMA node"), (Level::Package, "package")] {
        let places = order_objects(scene, level, &scene.usable);
        let [(first, _), (second, _), ..] = places.as_slice() else { continue };
        let reason = if level == Level::Llc {
            "The load off the server's last-level cache.".to_owned()
        } else {
            format!("The load off the server's {what}.")
        };
        found.push(two(&format!("{level}:{first}"), format!("{level}:{second}"), format!("Apart: a {what} for each.")));
        found.push(two(&format!("{level}:{first}"), format!("all - {level}:{first}"), reason));
        if roles > 2 && places.len() >= roles {
            let expressions = places.iter().take(roles).map(|(index, _)| format!("{level}:{index}")).collect();
            found.push(RoleProposal { expressions, reason: format!("Every role in a {what} of its own.") });
        }
    }
    let [performance, efficiency] =
        [CpuSetName::Performance, CpuSetName::Efficiency].map(|name| name.word().to_owned());
    found.push(two(&performance, efficiency, "The load on the efficiency cores.".to_owned()));
    if let Some((first, _)) = scene.first_core() {
        let text = format!("all - core:{first}");
        if cores.len() > 2 {
            found.push(all(&text, "All of it off the first core, which often gets the most interrupts."));
        }
    }
    found
}

/// Returns the objects of a level that have cpus of a pool. Objects with the first core come last, as it often has the most interrupts.
fn order_objects(scene: &PlannerMachine<'_>, level: Level, pool: &CpuSet) -> Vec<(usize, CpuSet)> {
    let mut objects = scene.objects_in_pool(level, pool);
    if let Some((_, first)) = scene.first_core() {
        objects.sort_by_key(|(_, cpus)| !first.is_disjoint(cpus));
    }
    objects
}
