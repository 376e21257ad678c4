//! Planning: the placements of a program worth trying on a machine, and the number of others that each represents.
//!
//! Four of 32 cpus can be chosen in 35,960 ways, but most of these are equivalent. They differ only by an exchange of equal cores, caches
//! or packages. [`plan_placements`] proposes placements that a person would think of, leaves out equivalent ones, and counts exactly how many
//! inequivalent choices exist.

mod classes;
mod classifier;
mod count;
mod distances;
mod fill;
mod parts;
mod planner_machine;
mod proposals;
mod reason;
mod roles;
mod select;
mod tree;

#[cfg(test)]
mod tests;

use serde::Serialize;

use super::resolve::{ResolveContext, ResolvedExpression};
use crate::{CpuSet, Machine};
use classifier::SetClassifier;
pub use count::ExactCount;
use planner_machine::PlannerMachine;
use proposals::{PlacementProposal, list_proposals};
pub use roles::{MOST_ROLES, MessageCosts, RoleCandidate, plan_roles};

/// Number of candidates that a person reads, and a test can pay for.
pub const USUAL_MOST: usize = 12;

/// Placements worth trying on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct PlacementPlan {
    /// Number of threads, if given.
    pub threads: Option<u32>,
    /// Cpus that words may choose from: online, reachable, in the inherited mask and not isolated.
    pub usable: CpuSet,
    /// Number of ways to choose that many of these cpus; without a number of threads, any number of cpus.
    pub subsets: ExactCount,
    /// Number of classes of these choices: two are in one class if a symmetry of the machine takes one to the other.
    pub classes: ExactCount,
    /// Number of the classes that have a candidate.
    pub classes_here: usize,
    /// The operating system's choice, then from the least to the most restrictive; no two are in one class.
    pub candidates: Vec<PlacementCandidate>,
    /// Further notes, one sentence each.
    pub remarks: Vec<String>,
}

/// A placement worth trying.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct PlacementCandidate {
    /// An expression of the placement language for these cpus; absent for the operating system's choice.
    pub expression: Option<String>,
    /// Its cpus.
    pub cpus: CpuSet,
    /// Reason why it is worth trying, one sentence.
    pub reason: String,
    /// Number of choices of the same size in its class, including itself.
    pub stands_for: ExactCount,
    /// Number of choices of the same size.
    pub of: ExactCount,
}

/// Plans placements worth trying on a machine, at most `most`. The operating system's choice and the ones without the first and the busiest
/// core are always among them.
///
/// `reachable` are the cpus that the cpuset lets this process use; `threads` is the program's number of threads, if known. `busiest` is the
/// cpu with the most interrupts, if a survey found it; no other cpu is equivalent to it then.
///
/// Symmetries keep the objects of all levels, sizes of caches, kinds of core, memory and distances of nodes, tickless cpus, and unusable
/// cpus. Favoured cores of one kind, which differ only in their highest frequency, are equivalent here.
///
/// # Examples
/// ```
/// use corewise_machine::{CpuSet, generate::one_package_machine, placement::plan};
///
/// let llcs = [(CpuSet::parse_list("0-3")?, 32), (CpuSet::parse_list("4-7")?, 32)];
/// let machine = one_package_machine(8, false, &llcs);
/// let plan = plan::plan_placements(&machine, &machine.allowed, Some(4), None, plan::USUAL_MOST);
/// let texts: Vec<_> = plan.candidates.iter().filter_map(|candidate| candidate.expression.as_deref()).collect();
/// assert!(plan.candidates[0].expression.is_none(), "the operating system's choice comes first");
/// assert!(texts.contains(&"spread(4, llc)") && texts.contains(&"pack(4, llc)"));
/// assert_eq!((plan.subsets.exact(), plan.classes.exact()), (Some(70), Some(3)));
/// # Ok::<(), corewise_machine::cpu_set::CpuSetError>(())
/// ```
pub fn plan_placements(
    machine: &Machine,
    reachable: &CpuSet,
    threads: Option<u32>,
    busiest: Option<u32>,
    most: usize,
) -> PlacementPlan {
    let context = ResolveContext { machine, reachable, quiet: None, worth: None };
    let usable = usable_cpus(&context);
    let threads = threads.map(|threads| threads.max(1));
    let busiest = busiest.filter(|cpu| usable.contains(*cpu));
    let scene = PlannerMachine::new(context, usable, busiest);
    let mut classifier = SetClassifier::new(scene.tree());

    let mut remarks = Vec::new();
    let size = threads.map(|threads| threads as usize);
    let has = scene.usable.len();
    if let Some(more) = size.filter(|size| *size > has) {
        let cpus = if has == 1 { "1 cpu".to_owned() } else { format!("{has} cpus") };
        remarks.push(format!("{more} threads share {cpus}: some cpus get several."));
    }
    let classes =
        size.map_or_else(|| classes::all_classes(scene.tree()), |size| classes::classes_of(scene.tree(), size));
    let mut found = drop_equivalents(list_proposals(&scene, size), &mut classifier);
    if let Some(size) = size {
        fill::fill_missing_classes(&mut found, size, classes, most, &scene, &mut classifier);
    }
    let chosen = select::select_proposals(found, most, &scene);
    let subsets = match size {
        Some(size) => ExactCount::combinations(has, size),
        None => (1..=has).map(|size| ExactCount::combinations(has, size)).fold(ExactCount::ZERO, ExactCount::plus),
    };
    let is_counted = |proposal: &&PlacementProposal| size.is_none_or(|size| proposal.cpus.len() == size);
    PlacementPlan {
        threads,
        subsets,
        classes,
        classes_here: chosen.iter().filter(is_counted).count(),
        remarks,
        candidates: chosen.into_iter().map(|proposal| build_candidate(proposal, has, &mut classifier)).collect(),
        usable: scene.usable,
    }
}

/// Returns the placement in which threads share the least, as an expression and its cpus. It spreads them over the objects of the outermost
/// level that has several, one cpu of each core before any sibling. It is all cpus if there are at least as many threads.
pub fn spread_out(machine: &Machine, reachable: &CpuSet, threads: u32) -> (String, CpuSet) {
    let context = ResolveContext { machine, reachable, quiet: None, worth: None };
    let usable = usable_cpus(&context);
    let scene = PlannerMachine::new(context, usable, None);
    let spread = |level: &crate::Level| {
        let text = format!("{}({threads}, {level})", super::PlacementPattern::Spread.word());
        Some((text.clone(), scene.resolve_text(&text)?))
    };
    let is_part = (threads as usize) < scene.usable.len();
    let found = scene.distinct_levels(&scene.usable).first().filter(|_| is_part).and_then(spread);
    found.unwrap_or_else(|| (super::CpuSetName::All.word().to_owned(), scene.usable.clone()))
}

/// Returns the cpus of `all`, or, if that is empty (every cpu is isolated, say), the cpus that this process has.
fn usable_cpus(context: &ResolveContext<'_>) -> CpuSet {
    let all = super::parse("all").and_then(|all| all.resolve_on(context));
    let inherited = || context.machine.online.intersection(context.reachable).intersection(&context.machine.allowed);
    all.map_or_else(|_| inherited(), |ResolvedExpression { cpus, .. }| cpus)
}

/// Keeps the first proposal of each class.
fn drop_equivalents(proposals: Vec<PlacementProposal>, classifier: &mut SetClassifier<'_>) -> Vec<PlacementProposal> {
    let mut seen = std::collections::HashSet::new();
    proposals.into_iter().filter(|proposal| seen.insert(classifier.class_of(&proposal.cpus))).collect()
}

fn build_candidate(
    proposal: PlacementProposal,
    usable: usize,
    classifier: &mut SetClassifier<'_>,
) -> PlacementCandidate {
    PlacementCandidate {
        stands_for: classifier.class_size(&proposal.cpus),
        of: ExactCount::combinations(usable, proposal.cpus.len()),
        expression: proposal.expression,
        cpus: proposal.cpus,
        reason: proposal.reason,
    }
}
