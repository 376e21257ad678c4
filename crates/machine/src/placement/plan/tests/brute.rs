//! Classes by brute force: the symmetries of a machine found by trying permutations, and really applied to every subset.
//!
//! Nothing in here knows trees. A permutation of the cpus is a symmetry where it keeps what every cpu is and what every
//! pair of cpus has in common. It also has to take nodes without cpus somewhere; the machines of these tests have none.

use crate::facts::CacheKind;
use crate::{CpuSet, Level, Machine};

/// The machine of a search: its cpus by index, what each is, and what each two have in common, as numbers.
struct CpuRelations {
    of_one: Vec<String>,
    of_two: Vec<Vec<String>>,
}

impl CpuRelations {
    fn new(machine: &Machine, cpus: &[u32], usable: &CpuSet, busiest: Option<u32>) -> Self {
        let of_one = cpus.iter().map(|cpu| what_it_is(machine, *cpu, usable, busiest)).collect();
        let in_common = |a: u32| cpus.iter().map(move |b| what_they_share(machine, a, *b)).collect();
        Self { of_one, of_two: cpus.iter().map(|a| in_common(*a)).collect() }
    }

    /// Whether `image` of the next index fits what was chosen for those before it.
    fn fits(&self, images: &[usize], image: usize) -> bool {
        let next = images.len();
        self.of_one[next] == self.of_one[image]
            && images.iter().enumerate().all(|(index, other)| {
                self.of_two[index][next] == self.of_two[*other][image]
                    && self.of_two[next][index] == self.of_two[image][*other]
            })
    }

    /// Every completion of `images` to a symmetry; stops when `tell` says so.
    fn search(&self, images: &mut Vec<usize>, tell: &mut impl FnMut(&[usize]) -> bool) -> bool {
        if images.len() == self.of_one.len() {
            return tell(images);
        }
        for image in 0..self.of_one.len() {
            if !images.contains(&image) && self.fits(images, image) {
                images.push(image);
                let stop = self.search(images, tell);
                images.pop();
                if stop {
                    return true;
                }
            }
        }
        false
    }
}

fn what_it_is(machine: &Machine, cpu: u32, usable: &CpuSet, busiest: Option<u32>) -> String {
    let kind = machine.kind_of(cpu).map(|kind| kind.core_type);
    let llc = machine.llcs.iter().find(|llc| llc.cpus.contains(cpu)).map(|llc| (llc.level, llc.size_bytes, llc.vcache));
    let caches = machine.caches.iter().filter(|cache| cache.cpus.contains(cpu));
    let caches: Vec<_> = caches.map(|cache| (cache.level, cache.kind, cache.size_bytes)).collect();
    let node = machine.nodes.iter().position(|node| node.cpus.contains(cpu));
    let memory = node.map(|index| (machine.nodes[index].memory_bytes, machine.nodes[index].distances.get(index)));
    let marks = (usable.contains(cpu), machine.nohz_full.contains(cpu), busiest == Some(cpu));
    format!("{kind:?} {llc:?} {caches:?} {memory:?} {marks:?}")
}

/// In which objects and caches two cpus are together, and how far their nodes are apart.
fn what_they_share(machine: &Machine, a: u32, b: u32) -> String {
    let levels: Vec<bool> =
        Level::EVERYWHERE.into_iter().map(|level| machine.index_of(level, a) == machine.index_of(level, b)).collect();
    let both = |cpus: &CpuSet| cpus.contains(a) && cpus.contains(b);
    let caches: Vec<(u8, CacheKind)> =
        machine.caches.iter().filter(|cache| both(&cache.cpus)).map(|cache| (cache.level, cache.kind)).collect();
    let node = |cpu| machine.nodes.iter().position(|node| node.cpus.contains(cpu));
    let distance = node(a).zip(node(b)).and_then(|(a, b)| machine.nodes[a].distances.get(b));
    format!("{levels:?} {caches:?} {distance:?}")
}

/// The class of every subset of the usable cpus: the smallest subset (as bits) that a symmetry takes it to.
pub struct BruteClasses {
    cpus: Vec<u32>,
    usable: usize,
    smallest: Vec<usize>,
}

impl BruteClasses {
    /// Finds symmetries that make all of them: for each cpu one to every place that it can go to while those before it
    /// stay. Each symmetry is a product of such (Schreier and Sims), so that sets which they join are all that are joined.
    pub fn new(machine: &Machine, usable: &CpuSet, busiest: Option<u32>) -> Self {
        let cpus: Vec<u32> = machine.online.iter().collect();
        let relations = CpuRelations::new(machine, &cpus, usable, busiest);
        let mut symmetries: Vec<Vec<usize>> = Vec::new();
        for fixed in 0..cpus.len() {
            for image in fixed + 1..cpus.len() {
                let mut images: Vec<usize> = (0..fixed).collect();
                if relations.fits(&images, image) {
                    images.push(image);
                    relations.search(&mut images, &mut |found| {
                        symmetries.push(found.to_vec());
                        true
                    });
                }
            }
        }
        let bits =
            |set: &CpuSet| set.iter().fold(0, |bits, cpu| bits | 1 << cpus.iter().position(|c| *c == cpu).unwrap());
        let mut brute = Self { usable: bits(usable), smallest: (0..1 << cpus.len()).collect(), cpus };
        brute.join(&symmetries);
        brute
    }

    /// How many symmetries there are, each found on its own.
    pub fn symmetries(machine: &Machine, usable: &CpuSet) -> Vec<Vec<usize>> {
        let cpus: Vec<u32> = machine.online.iter().collect();
        let mut all = Vec::new();
        CpuRelations::new(machine, &cpus, usable, None).search(&mut Vec::new(), &mut |found| {
            all.push(found.to_vec());
            false
        });
        all
    }

    /// Applies every symmetry to every subset, and joins what they take to each other.
    fn join(&mut self, symmetries: &[Vec<usize>]) {
        for subset in 0..self.smallest.len() {
            for symmetry in symmetries {
                let image = applied(symmetry, subset);
                let (a, b) = (self.find(subset), self.find(image));
                self.smallest[a.max(b)] = a.min(b);
            }
        }
        for subset in 0..self.smallest.len() {
            self.smallest[subset] = self.find(subset);
        }
    }

    fn find(&self, mut subset: usize) -> usize {
        while self.smallest[subset] != subset {
            subset = self.smallest[subset];
        }
        subset
    }

    /// The subsets of usable cpus, as bits and as cpus.
    pub fn subsets(&self) -> impl Iterator<Item = (usize, CpuSet)> + '_ {
        let cpus =
            |subset: usize| (0..self.cpus.len()).filter(move |i| subset & 1 << i != 0).map(|i| self.cpus[i]).collect();
        (0..self.smallest.len()).filter(|subset| subset & !self.usable == 0).map(move |subset| (subset, cpus(subset)))
    }

    /// The class of a subset.
    pub fn class(&self, subset: usize) -> usize {
        self.smallest[subset]
    }
}

/// Where a symmetry takes a subset.
pub fn applied(symmetry: &[usize], subset: usize) -> usize {
    symmetry
        .iter()
        .enumerate()
        .filter(|(index, _)| subset & 1 << index != 0)
        .fold(0, |bits, (_, image)| bits | 1 << image)
}
