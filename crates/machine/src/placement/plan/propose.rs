//! Proposals of placements that a person would think of, the best name for each first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::reason;
use super::scene::Scene;
use super::tree::Tree;
use super::{parts, reason::Pool};
use crate::placement::{Name, Pattern};
use crate::{CpuSet, Level};

/// Names of parts of a machine that differ in more than their position.
const KINDS: [Name; 5] = [Name::Performance, Name::Efficiency, Name::LowPower, Name::Vcache, Name::Frequency];

/// Sort of a proposal. Among proposals with equally many cpus, an earlier sort restricts less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
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
pub struct Proposal {
    pub sort: Sort,
    /// Absent for the operating system's choice.
    pub expression: Option<String>,
    pub cpus: CpuSet,
    pub reason: String,
}

/// Returns all proposals; among equal ones the better name comes first.
pub fn proposals(scene: &Scene<'_>, size: Option<usize>) -> Vec<Proposal> {
    let system = Proposal {
        sort: Sort::System,
        expression: None,
        cpus: scene.usable.clone(),
        reason: reason::SYSTEM.to_owned(),
    };
    let mut found = vec![system];
    found.extend(without(scene));
    found.extend(packages(scene, size));
    match size {
        Some(size) if size > 1 => found.extend(of_size(scene, size)),
        Some(_) => found.extend(named(scene)),
        None => found.extend(of_any_size(scene)),
    }
    if size.is_none_or(|size| size == 1) {
        found.extend(single(scene));
        found.extend(objects(scene));
    }
    // If all cpus are isolated, no name resolves, and only the operating system's choice is left.
    found.retain(|proposal| !proposal.cpus.is_empty() && proposal.cpus.is_subset(&scene.usable));
    found
}

fn proposal(scene: &Scene<'_>, sort: Sort, expression: String, reason: String) -> Option<Proposal> {
    let cpus = scene.resolve(&expression)?;
    Some(Proposal { sort, expression: Some(expression), cpus, reason })
}

/// Proposes to leave out the first core, or the core with the most interrupts; at least two cores remain.
fn without(scene: &Scene<'_>) -> Vec<Proposal> {
    let cores = scene.objects(Level::Core, &scene.usable);
    if cores.len() < 3 {
        return Vec::new();
    }
    let busiest = cores.iter().find(|(_, cpus)| scene.busiest.is_some_and(|cpu| cpus.contains(cpu)));
    let mut wanted = vec![cores[0].0];
    wanted.extend(busiest.map(|(index, _)| *index).filter(|index| *index != cores[0].0));
    let of_core = |index: usize| {
        let busy = busiest.filter(|(busy, _)| *busy == index).and(scene.busiest);
        proposal(scene, Sort::Without, format!("all - core:{index}"), reason::without(busy))
    };
    wanted.into_iter().filter_map(of_core).collect()
}

/// Proposes one package of each sort: the whole, and spread over its last-level caches. These are the two ways to keep a program in one
/// socket, with any number of threads.
fn packages(scene: &Scene<'_>, size: Option<usize>) -> Vec<Proposal> {
    let level = Level::Package;
    let mut packages = scene.objects(level, &scene.usable);
    if packages.len() < 2 {
        return Vec::new();
    }
    packages.retain(|(_, cpus)| cpus.len() > 1 && size.unwrap_or(0) <= cpus.len() && !scene.lacks_memory(cpus));
    let both = |index: usize| {
        let cpus = scene.resolve(&format!("{level}:{index}")).unwrap_or_default();
        let whole = reason::object(level, &scene.sort_of(&cpus));
        let whole = proposal(scene, Sort::Object(level), format!("{level}:{index}"), whole);
        let caches = scene.objects(Level::Llc, &cpus).len();
        let number = size.unwrap_or(caches);
        let spread = format!("{}({number}, {}, {level}:{index})", Pattern::Spread.word(), Level::Llc);
        let is_part = caches > 1 && number > 1 && number < cpus.len();
        let spread =
            is_part.then(|| proposal(scene, Sort::SpreadInPackage, spread, reason::in_package(caches, number)));
        whole.into_iter().chain(spread.flatten()).collect::<Vec<_>>()
    };
    one_of_each_sort(scene, level, packages).into_iter().flat_map(both).collect()
}

/// Returns the named parts of the machine that are not all of it.
fn pools(scene: &Scene<'_>, names: &[Name]) -> Vec<(Name, CpuSet)> {
    let pool = |name: &Name| Some((*name, scene.resolve(name.word())?));
    names.iter().filter_map(pool).filter(|(_, cpus)| *cpus != scene.usable).collect()
}

/// Proposes patterns of `size` cpus: of each kind, spread over cpus with memory, then of all. Among equal expressions the one with a name
/// says more, so it comes first.
fn of_size(scene: &Scene<'_>, size: usize) -> Vec<Proposal> {
    let named = |names: &[Name]| {
        let pools = pools(scene, names);
        pools.into_iter().flat_map(|(name, cpus)| patterns(scene, size, Some(name), &cpus)).collect::<Vec<_>>()
    };
    let (near, far): (Vec<_>, Vec<_>) =
        named(&[memory_name(scene)]).into_iter().partition(|proposal| matches!(proposal.sort, Sort::Pack(_)));
    let mut found = named(&KINDS);
    found.extend(far);
    found.extend(patterns(scene, size, None, &scene.usable));
    found.extend(near);
    found
}

/// Proposes spreading over and packing into the levels of a pool. If several levels give the same cpus, the outermost level names the
/// spread and the innermost the pack.
fn patterns(scene: &Scene<'_>, size: usize, pool: Pool, cpus: &CpuSet) -> Vec<Proposal> {
    if size == cpus.len() {
        let name = pool.and_then(|name| proposal(scene, Sort::Named, name.word().to_owned(), reason::named(name)));
        return name.into_iter().collect();
    }
    let levels = scene.levels(cpus);
    let spread = levels.iter().map(|level| (Pattern::Spread, *level));
    // Without siblings a core is a cpu, so nothing can be packed into it.
    let holds_several = |level: &&Level| scene.objects(**level, cpus).len() < cpus.len();
    let pack = levels.iter().rev().filter(holds_several).map(|level| (Pattern::Pack, *level));
    let of_pattern = |(pattern, level): (Pattern, Level)| {
        let among = pool.map(|name| format!(", {}", name.word())).unwrap_or_default();
        let text = format!("{}({size}, {level}{among})", pattern.word());
        let sort = if pattern == Pattern::Spread { Sort::Spread(level) } else { Sort::Pack(level) };
        let mut found = proposal(scene, sort, text, String::new())?;
        found.reason = reason::pattern(pattern, level, scene.objects(level, &found.cpus).len(), size, pool);
        Some(found)
    };
    if size > cpus.len() { Vec::new() } else { spread.chain(pack).filter_map(of_pattern).collect() }
}

/// Returns the name of the cpus with good memory: by measured cost if known, otherwise by the nodes that have memory.
fn memory_name(scene: &Scene<'_>) -> Name {
    if scene.machine().memory_costs.is_empty() { Name::WithMemory } else { Name::CheapMemory }
}

/// Proposes each kind, and the cpus with memory.
fn named(scene: &Scene<'_>) -> Vec<Proposal> {
    let pools = pools(scene, &[KINDS.as_slice(), &[memory_name(scene)]].concat());
    let of_name = |(name, _): (Name, CpuSet)| proposal(scene, Sort::Named, name.word().to_owned(), reason::named(name));
    pools.into_iter().filter_map(of_name).collect()
}

/// Proposes placements that suit any number of threads.
fn of_any_size(scene: &Scene<'_>) -> Vec<Proposal> {
    let mut found = named(scene);
    let word = Name::OnePerCore.word().to_owned();
    found.extend(proposal(scene, Sort::OnePerCore, word, reason::named(Name::OnePerCore)));
    for level in scene.levels(&scene.usable).into_iter().filter(|level| *level != Level::Core) {
        let number = scene.objects(level, &scene.usable).len();
        let text = format!("spread({number}, {level})");
        found.extend(proposal(scene, Sort::Spread(level), text, reason::one_of_each(level)));
    }
    found
}

/// Proposes one object of each sort at each level, the innermost level first. Objects on nodes without memory are left out if others have
/// memory: they are farther from everything.
fn objects(scene: &Scene<'_>) -> Vec<Proposal> {
    let mut found = Vec::new();
    for level in scene.levels(&scene.usable).into_iter().rev() {
        let mut objects = scene.objects(level, &scene.usable);
        objects.retain(|(_, cpus)| cpus.len() > 1 && !scene.lacks_memory(cpus));
        let text = |index: usize| format!("{level}:{index}");
        let of_sort = |index: usize| {
            let mut found = proposal(scene, Sort::Object(level), text(index), String::new())?;
            found.reason = reason::object(level, &scene.sort_of(&found.cpus));
            Some(found)
        };
        found.extend(one_of_each_sort(scene, level, objects).into_iter().filter_map(of_sort));
    }
    found
}

/// Proposes one cpu of each sort.
fn single(scene: &Scene<'_>) -> Vec<Proposal> {
    let cpus = scene.usable.iter().map(|cpu| (cpu as usize, CpuSet::of(cpu))).collect();
    let of_sort = |cpu: usize| {
        let sort = scene.sort_of(&CpuSet::of(cpu as u32));
        proposal(scene, Sort::Single, cpu.to_string(), reason::single(&sort))
    };
    one_of_each_sort(scene, Level::Cpu, cpus).into_iter().filter_map(of_sort).collect()
}

/// Returns one of each sort of objects; objects that a symmetry exchanges are one sort, whatever interrupts they get. An object without the
/// busiest cpu is preferred. Among cores and cpus, one outside the first core is preferred, which often gets interrupts too. The next
/// criterion is the most common sort, which matters if the busiest cpu is unlike all others.
fn one_of_each_sort(scene: &Scene<'_>, level: Level, objects: Vec<(usize, CpuSet)>) -> Vec<usize> {
    let paths = |busiest| Tree::of(parts::parts(scene.machine(), &scene.usable, busiest)).paths();
    let (of_machine, of_survey) = (paths(None), paths(scene.busiest));
    let mut number: BTreeMap<Paths, usize> = BTreeMap::new();
    objects.iter().for_each(|(_, cpus)| *number.entry(paths_of(cpus, &of_survey)).or_default() += 1);
    let first = scene.first_core().map(|(_, cpus)| cpus).filter(|_| level >= Level::Core).unwrap_or_default();
    let mut sorts: BTreeMap<Paths, Vec<_>> = BTreeMap::new();
    for (index, cpus) in objects {
        let is_busy = scene.busiest.is_some_and(|cpu| cpus.contains(cpu));
        let alike = Reverse(number[&paths_of(&cpus, &of_survey)]);
        let rank = (is_busy, !cpus.is_disjoint(&first), alike, index);
        sorts.entry(paths_of(&cpus, &of_machine)).or_default().push(rank);
    }
    let mut chosen: Vec<usize> =
        sorts.into_values().filter_map(|ranks| ranks.into_iter().min()).map(|rank| rank.3).collect();
    chosen.sort_unstable();
    chosen
}

/// Paths of an object's cpus through the tree, sorted: equal if a symmetry takes one object to the other.
type Paths = Vec<Vec<usize>>;

fn paths_of(cpus: &CpuSet, paths: &BTreeMap<u32, Vec<usize>>) -> Paths {
    let mut paths: Paths = cpus.iter().filter_map(|cpu| paths.get(&cpu).cloned()).collect();
    paths.sort_unstable();
    paths
}
