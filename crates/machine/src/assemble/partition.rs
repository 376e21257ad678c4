//! Partitions the cpus of a machine into groups, whatever its source reports: each cpu ends up in exactly one.

use std::collections::BTreeMap;

use crate::CpuSet;
use crate::facts::CpuFacts;

/// Groups cpus that have the same key, in order of their lowest cpu.
pub fn by_key<K: Ord>(cpus: &[CpuFacts], key: impl Fn(&CpuFacts) -> K) -> Vec<(K, CpuSet)> {
    let mut groups: BTreeMap<K, CpuSet> = BTreeMap::new();
    for cpu in cpus {
        groups.entry(key(cpu)).or_default().insert(cpu.number);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, cpus)| cpus.lowest());
    groups
}

/// Groups cpus by the sets that they report to share with. Sharing is mutual, so a set named by one cpu joins all of its cpus. Cpus without
/// a set are groups of their own. Groups are in order of their lowest cpu.
pub fn by_sharing<'a>(cpus: &'a [CpuFacts], set: impl Fn(&'a CpuFacts) -> Option<&'a CpuSet>) -> Vec<CpuSet> {
    let mut forest = CpuForest::from_cpus(cpus);
    let mut previous = None;
    for (index, cpu) in cpus.iter().enumerate() {
        let Some(shared) = set(cpu) else { continue };
        // Neighbours mostly name the same set; joining it once is enough if this cpu is in it.
        if previous == Some(shared) && shared.contains(cpu.number) {
            continue;
        }
        for other in shared.iter() {
            forest.join_cpu(index, other);
        }
        // Cpus that share with nobody may lie between them.
        if shared.lowest() != shared.highest() {
            previous = Some(shared);
        }
    }
    forest.into_groups(cpus)
}

/// Union-find over the indices of an ascending list of cpus.
struct CpuForest {
    parent: Vec<usize>,
    index_of: BTreeMap<u32, usize>,
}

impl CpuForest {
    fn from_cpus(cpus: &[CpuFacts]) -> Self {
        let index_of = cpus.iter().enumerate().map(|(index, cpu)| (cpu.number, index)).collect();
        Self { parent: (0..cpus.len()).collect(), index_of }
    }

    fn find_root(&mut self, mut index: usize) -> usize {
        while self.parent[index] != index {
            self.parent[index] = self.parent[self.parent[index]];
            index = self.parent[index];
        }
        index
    }

    fn join_cpu(&mut self, index: usize, cpu: u32) {
        let Some(&other) = self.index_of.get(&cpu) else { return };
        let (a, b) = (self.find_root(index), self.find_root(other));
        self.parent[a.max(b)] = a.min(b);
    }

    fn into_groups(mut self, cpus: &[CpuFacts]) -> Vec<CpuSet> {
        let mut groups: BTreeMap<usize, CpuSet> = BTreeMap::new();
        for (index, cpu) in cpus.iter().enumerate() {
            groups.entry(self.find_root(index)).or_default().insert(cpu.number);
        }
        groups.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cpus(siblings: &[&str]) -> Vec<CpuFacts> {
        let fact = |(number, list): (usize, &&str)| CpuFacts {
            number: number as u32,
            thread_siblings: (!list.is_empty()).then(|| CpuSet::parse_list(list).unwrap()),
            ..CpuFacts::default()
        };
        siblings.iter().enumerate().map(fact).collect()
    }

    fn shared(siblings: &[&str]) -> Vec<String> {
        by_sharing(&cpus(siblings), |cpu| cpu.thread_siblings.as_ref()).iter().map(CpuSet::to_string).collect()
    }

    #[test]
    fn sharing_is_mutual_even_where_only_one_side_says_so() {
        assert_eq!(shared(&["0,2", "1,3", "0,2", "1,3"]), ["0,2", "1,3"]);
        assert_eq!(shared(&["0-1", "1", "", "2-3"]), ["0,1", "2,3"]);
        assert_eq!(shared(&["9", "0-1"]), ["0,1"], "a set may name cpus that are not there");
        assert_eq!(shared(&["0", "0", "2"]), ["0,1", "2"], "a set may leave out the cpu that names it");
    }

    #[test]
    fn keys_group_in_order_of_the_lowest_cpu() {
        let groups = by_key(&cpus(&["", "", "", ""]), |cpu| 3 - cpu.number % 2);
        assert_eq!(
            groups.iter().map(|(key, set)| (*key, set.to_string())).collect::<Vec<_>>(),
            [(3, "0,2".into()), (2, "1,3".into())]
        );
    }

    proptest! {
        #[test]
        fn every_cpu_is_in_exactly_one_group(sets in proptest::collection::vec(proptest::collection::vec(0_u32..20, 0..5), 1..20)) {
            let cpus: Vec<CpuFacts> = sets.iter().enumerate().map(|(number, set)| CpuFacts {
                number: number as u32,
                thread_siblings: Some(set.iter().copied().collect()),
                ..CpuFacts::default()
            }).collect();
            let groups = by_sharing(&cpus, |cpu| cpu.thread_siblings.as_ref());
            let all: CpuSet = groups.iter().flat_map(CpuSet::iter).collect();
            prop_assert_eq!(all, CpuSet::first_cpus(cpus.len() as u32));
            prop_assert_eq!(groups.iter().map(CpuSet::len).sum::<usize>(), cpus.len());
        }
    }
}
