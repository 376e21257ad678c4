//! Proposals of placements that a person would think of, the best name for each first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::planner_machine::PlannerMachine;
use super::reason::{self, PatternPool};
use super::tree::ShapePaths;
use crate::placement::{CpuSetName, PlacementPattern};
use crate::{CpuSet, Level};

/// Names of parts of a machine that differ in more than their position.
const KINDS: [CpuSetName; 5] =
    [CpuSetName::Performance, CpuSetName::Efficiency, CpuSetName::LowPower, CpuSetName::Vcache, CpuSetName::Frequency];

/// Sort of a proposal. Among proposals with equally many cpus, an earlier sort restricts less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProposalKind {
    /// The operating system's choice.
    System,
    /// All cpus but one core.
    Without,
    /// A kind of core, or the cpus with memory.
    Named,
    /// One cpu of each core.
    OnePerCore,
    /// Spread over a level's objects.
    Spread(Level),
    /// Spread over the last-level caches of one package.
    SpreadInPackage,
    /// A set that no pattern gives.
    Other,
    /// One object of a level.
    Object(Level),
    /// Packed into a level's objects.
    Pack(Level),
    /// One cpu.
    Single,
}

/// A placement that may be worth trying.
#[derive(Clone, Debug)]
pub struct PlacementProposal {
    pub sort: ProposalKind,
    /// Absent for the operating system's choice.
    pub expression: Option<String>,
    pub cpus: CpuSet,
    pub reason: String,
}

/// Returns all proposals; among equal ones the better name comes first.
pub fn list_proposals(scene: &PlannerMachine<'_>, size: Option<usize>) -> Vec<PlacementProposal> {
    let system = PlacementProposal {
        sort: ProposalKind::System,
        expression: None,
        cpus: scene.usable.clone(),
        reason: reason::SYSTEM.to_owned(),
    };
    let mut found = vec![system];
    found.extend(propose_without_core(scene));
    found.extend(propose_packages(scene, size));
    match size {
        Some(size) if size > 1 => found.extend(of_size(scene, size)),
        Some(_) => found.extend(propose_named(scene)),
        None => found.extend(of_any_size(scene)),
    }
    if size.is_none_or(|size| size == 1) {
        found.extend(propose_single_cpus(scene));
        found.extend(propose_objects(scene));
    }
    // If all cpus are isolated, no name resolves, and only the operating system's choice is left.
    found.retain(|proposal| !proposal.cpus.is_empty() && proposal.cpus.is_subset(&scene.usable));
    found
}

fn build_proposal(
    scene: &PlannerMachine<'_>,
    sort: ProposalKind,
    expression: String,
    reason: String,
) -> Option<PlacementProposal> {
    let cpus = scene.resolve_text(&expression)?;
    Some(PlacementProposal { sort, expression: Some(expression), cpus, reason })
}

/// Proposes to leave out the first core, or the core with the most interrupts; at least two cores remain.
fn propose_without_core(scene: &PlannerMachine<'_>) -> Vec<PlacementProposal> {
    let cores = scene.objects_in_pool(Level::Core, &scene.usable);
    if cores.len() < 3 {
        return Vec::new();
    }
    let busiest = cores.iter().find(|(_, cpus)| scene.busiest.is_some_and(|cpu| cpus.contains(cpu)));
    let mut wanted = vec![cores[0].0];
    wanted.extend(busiest.map(|(index, _)| *index).filter(|index| *index != cores[0].0));
    let of_core = |index: usize| {
        let busy = busiest.filter(|(busy, _)| *busy == index).and(scene.busiest);
        build_proposal(scene, ProposalKind::Without, format!("all - core:{index}"), reason::reason_without_core(busy))
    };
    wanted.into_iter().filter_map(of_core).collect()
}

/// Proposes one package of each sort: the whole, and spread over its last-level caches. These are the two ways to keep a program in one
/// socket, with any number of threads.
fn propose_packages(scene: &PlannerMachine<'_>, size: Option<usize>) -> Vec<PlacementProposal> {
    let level = Level::Package;
    let mut packages = scene.objects_in_pool(level, &scene.usable);
    if packages.len() < 2 {
        return Vec::new();
    }
    packages.retain(|(_, cpus)| cpus.len() > 1 && size.unwrap_or(0) <= cpus.len() && !scene.lacks_memory(cpus));
    let both = |index: usize| {
        let cpus = scene.resolve_text(&format!("{level}:{index}")).unwrap_or_default();
        let whole = reason::reason_of_object(level, &scene.sort_of(&cpus));
        let whole = build_proposal(scene, ProposalKind::Object(level), format!("{level}:{index}"), whole);
        let caches = scene.objects_in_pool(Level::Llc, &cpus).len();
        let number = size.unwrap_or(caches);
        let spread = format!("{}({number}, {}, {level}:{index})", PlacementPattern::Spread.word(), Level::Llc);
        let is_part = caches > 1 && number > 1 && number < cpus.len();
        let spread = is_part
            .then(|| build_proposal(scene, ProposalKind::SpreadInPackage, spread, reason::in_package(caches, number)));
        whole.into_iter().chain(spread.flatten()).collect::<Vec<_>>()
    };
    one_of_each_sort(scene, level, &packages).into_iter().flat_map(both).collect()
}

/// Returns the named parts of the machine that are not all of it.
fn named_pools(scene: &PlannerMachine<'_>, names: &[CpuSetName]) -> Vec<(CpuSetName, CpuSet)> {
    let pool = |name: &CpuSetName| Some((*name, scene.resolve_text(name.word())?));
    names.iter().filter_map(pool).filter(|(_, cpus)| *cpus != scene.usable).collect()
}

/// Proposes patterns of `size` cpus: of each kind, spread over cpus with memory, then of all. Among equal expressions the one with a name
/// says more, so it comes first.
fn of_size(scene: &PlannerMachine<'_>, size: usize) -> Vec<PlacementProposal> {
    let named = |names: &[CpuSetName]| {
        let pools = named_pools(scene, names);
        pools.into_iter().flat_map(|(name, cpus)| propose_patterns(scene, size, Some(name), &cpus)).collect::<Vec<_>>()
    };
    let (near, far): (Vec<_>, Vec<_>) =
        named(&[memory_name(scene)]).into_iter().partition(|proposal| matches!(proposal.sort, ProposalKind::Pack(_)));
    let mut found = named(&KINDS);
    found.extend(far);
    found.extend(propose_patterns(scene, size, None, &scene.usable));
    found.extend(near);
    found
}

/// Proposes spreading over and packing into the levels of a pool. If several levels give the same cpus, the outermost level names the
/// spread and the innermost the pack.
fn propose_patterns(
    scene: &PlannerMachine<'_>,
    size: usize,
    pool: PatternPool,
    cpus: &CpuSet,
) -> Vec<PlacementProposal> {
    if size == cpus.len() {
        let name = pool.and_then(|name| {
            build_proposal(scene, ProposalKind::Named, name.word().to_owned(), reason::reason_of_name(name))
        });
        return name.into_iter().collect();
    }
    let levels = scene.distinct_levels(cpus);
    let spread = levels.iter().map(|level| (PlacementPattern::Spread, *level));
    // Without siblings a core is a cpu, so nothing can be packed into it.
    let holds_several = |level: &&Level| scene.objects_in_pool(**level, cpus).len() < cpus.len();
    let pack = levels.iter().rev().filter(holds_several).map(|level| (PlacementPattern::Pack, *level));
    let of_pattern = |(pattern, level): (PlacementPattern, Level)| {
        let among = pool.map(|name| format!(", {}", name.word())).unwrap_or_default();
        let text = format!("{}({size}, {level}{among})", pattern.word());
        let sort =
            if pattern == PlacementPattern::Spread { ProposalKind::Spread(level) } else { ProposalKind::Pack(level) };
        let mut found = build_proposal(scene, sort, text, String::new())?;
        found.reason =
            reason::reason_of_pattern(pattern, level, scene.objects_in_pool(level, &found.cpus).len(), size, pool);
        Some(found)
    };
    if size > cpus.len() { Vec::new() } else { spread.chain(pack).filter_map(of_pattern).collect() }
}

/// Returns the name of the cpus with good memory: by measured cost if known, otherwise by the nodes that have memory.
fn memory_name(scene: &PlannerMachine<'_>) -> CpuSetName {
    if scene.machine().memory_costs.is_empty() { CpuSetName::WithMemory } else { CpuSetName::CheapMemory }
}

/// Proposes each kind, and the cpus with memory.
fn propose_named(scene: &PlannerMachine<'_>) -> Vec<PlacementProposal> {
    let pools = named_pools(scene, &[KINDS.as_slice(), &[memory_name(scene)]].concat());
    let of_name = |(name, _): (CpuSetName, CpuSet)| {
        build_proposal(scene, ProposalKind::Named, name.word().to_owned(), reason::reason_of_name(name))
    };
    pools.into_iter().filter_map(of_name).chain(propose_parts_of_vcache(scene)).collect()
}

/// Proposes the cores with stacked cache without their second threads, and without the first core if it is among them.
fn propose_parts_of_vcache(scene: &PlannerMachine<'_>) -> Vec<PlacementProposal> {
    let whole = scene.resolve_text(CpuSetName::Vcache.word()).filter(|whole| whole.len() < scene.usable.len());
    let Some(whole) = whole else { return Vec::new() };
    let parts = [
        (
            format!("{} & {}", CpuSetName::Vcache, CpuSetName::OnePerCore),
            "The stacked cache, and no two threads share a core.",
        ),
        (
            format!("{} - core:0", CpuSetName::Vcache),
            "The stacked cache without the first core, which often gets the most interrupts.",
        ),
    ];
    let part = |(text, reason): (String, &str)| build_proposal(scene, ProposalKind::Named, text, reason.to_owned());
    parts.into_iter().filter_map(part).filter(|part| part.cpus.len() < whole.len()).collect()
}

/// Proposes placements that suit any number of threads.
fn of_any_size(scene: &PlannerMachine<'_>) -> Vec<PlacementProposal> {
    let mut found = propose_named(scene);
    let word = CpuSetName::OnePerCore.word().to_owned();
    found.extend(build_proposal(scene, ProposalKind::OnePerCore, word, reason::reason_of_name(CpuSetName::OnePerCore)));
    for level in scene.distinct_levels(&scene.usable).into_iter().filter(|level| *level != Level::Core) {
        let number = scene.objects_in_pool(level, &scene.usable).len();
        let text = format!("spread({number}, {level})");
        found.extend(build_proposal(scene, ProposalKind::Spread(level), text, reason::one_of_each(level)));
    }
    found
}

/// Proposes one object of each sort at each level, the innermost level first. Objects on nodes without memory are left out if others have
/// memory: they are farther from everything.
fn propose_objects(scene: &PlannerMachine<'_>) -> Vec<PlacementProposal> {
    let mut found = Vec::new();
    for level in scene.distinct_levels(&scene.usable).into_iter().rev() {
        let mut objects = scene.objects_in_pool(level, &scene.usable);
        objects.retain(|(_, cpus)| cpus.len() > 1 && !scene.lacks_memory(cpus));
        let text = |index: usize| format!("{level}:{index}");
        let of_sort = |index: usize| {
            let mut found = build_proposal(scene, ProposalKind::Object(level), text(index), String::new())?;
            found.reason = reason::reason_of_object(level, &scene.sort_of(&found.cpus));
            Some(found)
        };
        found.extend(one_of_each_sort(scene, level, &objects).into_iter().filter_map(of_sort));
    }
    found
}

/// Proposes one cpu of each sort.
fn propose_single_cpus(scene: &PlannerMachine<'_>) -> Vec<PlacementProposal> {
    let cpus: Vec<(usize, CpuSet)> = scene.usable.iter().map(|cpu| (cpu as usize, CpuSet::from_cpu(cpu))).collect();
    let of_sort = |cpu: usize| {
        let sort = scene.sort_of(&CpuSet::from_cpu(cpu as u32));
        build_proposal(scene, ProposalKind::Single, cpu.to_string(), reason::reason_of_single_cpu(&sort))
    };
    one_of_each_sort(scene, Level::Cpu, &cpus).into_iter().filter_map(of_sort).collect()
}

/// Returns one of each sort of objects; objects that a symmetry exchanges are one sort, whatever interrupts they get. An object without the
/// busiest cpu is preferred. Among cores and cpus, one outside the first core is preferred, which often gets interrupts too. The next
/// criterion is the most common sort, which matters if the busiest cpu is unlike all others.
fn one_of_each_sort(scene: &PlannerMachine<'_>, level: Level, objects: &[(usize, CpuSet)]) -> Vec<usize> {
    let [of_survey, of_machine] = scene.shape_paths();
    let in_survey: Vec<TreePaths> = objects.iter().map(|(_, cpus)| paths_of(cpus, of_survey)).collect();
    let mut number: BTreeMap<&TreePaths, usize> = BTreeMap::new();
    in_survey.iter().for_each(|paths| *number.entry(paths).or_default() += 1);
    let first = scene.first_core().map(|(_, cpus)| cpus).filter(|_| level >= Level::Core).unwrap_or_default();
    let mut sorts: BTreeMap<TreePaths, Vec<_>> = BTreeMap::new();
    for ((index, cpus), paths) in objects.iter().zip(&in_survey) {
        let is_busy = scene.busiest.is_some_and(|cpu| cpus.contains(cpu));
        let rank = (is_busy, !cpus.is_disjoint(&first), Reverse(number[paths]), *index);
        sorts.entry(paths_of(cpus, of_machine)).or_default().push(rank);
    }
    let mut chosen: Vec<usize> =
        sorts.into_values().filter_map(|ranks| ranks.into_iter().min()).map(|rank| rank.3).collect();
    chosen.sort_unstable();
    chosen
}

/// Paths of an object's cpus through the tree, sorted: equal if a symmetry takes one object to the other.
type TreePaths = Vec<Vec<usize>>;

fn paths_of(cpus: &CpuSet, paths: &ShapePaths) -> TreePaths {
    let mut paths: TreePaths = cpus.iter().filter_map(|cpu| paths.get(&cpu).cloned()).collect();
    paths.sort_unstable();
    paths
}
