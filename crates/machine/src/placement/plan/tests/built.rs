//! Machines for the planner's tests: those of the program, and random nested ones with labels.

use proptest::prelude::*;

use crate::assemble::assemble_machine;
use crate::facts::{CacheKind, CoreType, CpuFacts, MachineFacts};
use crate::machine::{Cache, CoreKind, Llc, MachineObject, NumaNode};
use crate::machine_file::BUILT_IN;
use crate::random::RandomGenerator;
use crate::{CpuSet, Machine};

/// A machine that the program holds.
pub fn built_in(name: &str) -> Machine {
    let machine = BUILT_IN.iter().find(|machine| machine.name == name).expect("a built-in machine");
    machine.read_machine().expect("built-in machines can be read").machine
}

/// How a random machine is made.
#[derive(Clone, Debug)]
pub struct MachineRecipe {
    /// For each cpu but the first the outermost level at which it begins a new object: 0 is the package, 6 the cpu.
    pub begins: Vec<usize>,
    /// How often that is repeated, and with which level each repetition begins.
    pub repeated: Vec<usize>,
    /// What tells objects apart: a bit for each kind of label that is used at all.
    pub labels: u8,
    /// Where the cpus' numbers, and the labels, come from.
    pub seed: u64,
}

/// Recipes of machines of up to 12 cpus, most of which repeat themselves, so that they have symmetries.
pub fn recipes() -> impl Strategy<Value = MachineRecipe> {
    let pieces = prop_oneof![
        (prop::collection::vec(0_usize..7, 0..=2), prop::collection::vec(0_usize..6, 0..=3)),
        (prop::collection::vec(3_usize..7, 1..=5), prop::collection::vec(0_usize..4, 0..=1)),
        (prop::collection::vec(0_usize..7, 3..=11), Just(Vec::new())),
        (prop::collection::vec(5_usize..7, 0..=1), prop::collection::vec(0_usize..6, 2..=5)),
    ];
    (pieces, 0_u8..64, any::<u64>()).prop_map(|((begins, repeated), labels, seed)| MachineRecipe {
        begins,
        repeated,
        labels,
        seed,
    })
}

/// The machine of a recipe.
pub fn machine(recipe: &MachineRecipe) -> Machine {
    let mut begins = recipe.begins.clone();
    for level in &recipe.repeated {
        begins.push(*level);
        begins.extend(recipe.begins.iter().copied());
    }
    begins.truncate(11);
    let mut random = RandomGenerator::new(recipe.seed);
    let mut numbers: Vec<u32> = (0..=begins.len() as u32).collect();
    random.shuffle(&mut numbers);
    let objects = |level: usize| objects(&begins, &numbers, level);
    let plain = |level: usize| {
        objects(level).into_iter().map(|cpus| MachineObject { os_number: None, cpus }).collect::<Vec<_>>()
    };
    let mut machine = assemble_machine(MachineFacts {
        cpus: numbers.iter().map(|number| CpuFacts { number: *number, ..CpuFacts::default() }).collect(),
        ..MachineFacts::default()
    });
    let labelled = |label: u8| recipe.labels & 1 << label != 0;
    (machine.packages, machine.dies) = (plain(0), plain(2));
    (machine.clusters, machine.cores) = (plain(4), plain(5));
    machine.nodes = nodes(objects(1), &objects(0), labelled(0), labelled(1), &mut random);
    let mut size = |is_used: bool| is_used.then(|| 8 << (20 + random.next_below(2)));
    let llc = |cpus| Llc { level: Some(3), size_bytes: size(labelled(2)), vcache: false, cpus };
    machine.llcs = objects(3).into_iter().map(llc).collect();
    // Level 1 caches are of cores or clusters, now and then of another size.
    let own = objects(4 + usize::from(labelled(3)));
    let cache = |cpus| Cache { level: 1, kind: CacheKind::Instruction, size_bytes: size(labelled(4)), cpus };
    machine.caches = own.into_iter().map(cache).collect();
    machine.kinds = if labelled(5) { kinds(objects(4), &mut random) } else { Vec::new() };
    machine
}

/// The sets of consecutive cpus that begin where a level does, under the numbers of their cpus.
fn objects(begins: &[usize], numbers: &[u32], level: usize) -> Vec<CpuSet> {
    let mut objects = vec![CpuSet::from_cpu(numbers[0])];
    for (begin, number) in begins.iter().zip(&numbers[1..]) {
        if *begin <= level {
            objects.push(CpuSet::new());
        }
        objects.last_mut().unwrap().insert(*number);
    }
    objects.sort_by_key(CpuSet::lowest);
    objects
}

/// Nodes with distances by packages, some without memory.
fn nodes(sets: Vec<CpuSet>, packages: &[CpuSet], far: bool, bare: bool, random: &mut RandomGenerator) -> Vec<NumaNode> {
    let package = |cpus: &CpuSet| packages.iter().position(|package| cpus.is_subset(package));
    let distance = |a: &CpuSet, b: &CpuSet| match () {
        () if a == b => 10,
        () if package(a) == package(b) => 12,
        () if far => 20 + 10 * u32::from(package(a).unwrap_or(0) / 2 != package(b).unwrap_or(0) / 2),
        () => 20,
    };
    let node = |(number, cpus): (usize, &CpuSet)| NumaNode {
        number: number as u32,
        cpus: cpus.clone(),
        memory_bytes: Some(if bare && random.next_below(2) == 0 { 0 } else { 64 << 30 }),
        distances: sets.iter().map(|other| distance(cpus, other)).collect(),
        ..NumaNode::default()
    };
    sets.iter().enumerate().map(node).collect()
}

/// Clusters of two kinds.
fn kinds(clusters: Vec<CpuSet>, random: &mut RandomGenerator) -> Vec<CoreKind> {
    let (large, small): (Vec<CpuSet>, Vec<CpuSet>) = clusters.into_iter().partition(|_| random.next_below(2) == 0);
    let kind = |core_type, sets: Vec<CpuSet>| CoreKind {
        core_type,
        cpus: sets.iter().flat_map(CpuSet::iter).collect(),
        reason: "test".into(),
    };
    let kinds = [kind(CoreType::Performance, large), kind(CoreType::Efficiency, small)];
    if kinds.iter().any(|kind| kind.cpus.is_empty()) { Vec::new() } else { kinds.into() }
}
