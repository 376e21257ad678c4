//! Index of a level's objects by cpu, so that the objects inside another are found without a search.

use crate::CpuSet;

/// The objects of a level.
pub struct ObjectsByCpu {
    objects: Vec<CpuSet>,
    /// Indices of the objects that hold each cpu; several if objects overlap.
    of: Vec<Vec<usize>>,
}

impl ObjectsByCpu {
    pub fn new(objects: Vec<CpuSet>) -> Self {
        let highest = objects.iter().filter_map(CpuSet::highest).max();
        let mut of = vec![Vec::new(); highest.map_or(0, |highest| highest as usize + 1)];
        for (index, cpus) in objects.iter().enumerate() {
            cpus.iter().for_each(|cpu| of[cpu as usize].push(index));
        }
        Self { objects, of }
    }

    /// Returns each object's intersection with some cpus, in the order of the objects, without empty ones.
    pub fn objects_inside(&self, cpus: &CpuSet) -> Vec<CpuSet> {
        let holders = cpus.iter().filter_map(|cpu| self.of.get(cpu as usize));
        let mut holders: Vec<usize> = holders.flatten().copied().collect();
        holders.sort_unstable();
        holders.dedup();
        holders.into_iter().map(|index| self.objects[index].intersection(cpus)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_come_in_their_order_with_what_is_inside() {
        let set = |list| CpuSet::parse_list(list).expect("a list");
        let holders = ObjectsByCpu::new(vec![set("4-7"), set("0-3"), CpuSet::new(), set("2-5")]);
        let inside =
            |list| holders.objects_inside(&set(list)).iter().map(CpuSet::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(inside("3-4"), "4 3 3,4");
        assert_eq!(inside("0,1,7"), "7 0,1");
        assert_eq!(inside("8,9"), "");
        assert_eq!(ObjectsByCpu::new(Vec::new()).objects_inside(&set("0")), Vec::new());
    }
}
