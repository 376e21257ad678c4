//! Spreads cpus over as many objects of a level as possible.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::placement::places::CpuPlaces;
use crate::{CpuSet, Level};

/// Chooses `count` cpus of a pool that has at least as many.
pub fn spread_cpus(count: usize, level: Level, pool: &[u32], places: &CpuPlaces) -> Vec<u32> {
    let mut sharing = SpreadCounts { places, taken: Default::default() };
    let mut chosen = Vec::with_capacity(count);
    for tier in places.sibling_tiers(pool) {
        let wanted = (count - chosen.len()).min(tier.len());
        chosen.extend(sharing.of_tier(wanted, level, &tier));
    }
    one_object_after_the_other(chosen, level, places)
}

/// Interleaves the objects: the first cpu of each, then the second of each, so that threads that take them in order are spread as well.
/// Cpus of one object keep the order in which they were chosen.
fn one_object_after_the_other(chosen: Vec<u32>, level: Level, places: &CpuPlaces) -> Vec<u32> {
    let mut objects = places.group_by_level(&chosen, level);
    objects.sort_by_key(|cpus| (places.preference_of(cpus[0]), places.object_of(cpus[0], level)));
    let longest = objects.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|turn| objects.iter().filter_map(move |cpus| cpus.get(turn)).copied()).collect()
}

/// Distributes cpus, and counts the cpus already taken of each object of each level.
struct SpreadCounts<'a> {
    places: &'a CpuPlaces,
    /// Counts by level and object; each list ends at the last object with a cpu taken.
    taken: [Vec<usize>; Level::ALL.len()],
}

impl SpreadCounts<'_> {
    /// Chooses among one cpu of each core: full rounds over the level's objects, then one more from objects that lie far apart.
    fn of_tier(&mut self, wanted: usize, level: Level, tier: &[u32]) -> Vec<u32> {
        let mut objects = self.places.group_by_level(tier, level);
        let rounds = self.full_rounds(wanted, level, &objects);
        let mut chosen = self.of_objects(&rounds, level, &mut objects);
        let more = self.one_more(wanted - chosen.len(), level, &objects);
        chosen.extend(self.of_objects(&more, level, &mut objects));
        chosen
    }

    /// Takes each object's quota of cpus, evenly at the levels inside.
    fn of_objects(&mut self, quotas: &[usize], level: Level, objects: &mut [Vec<u32>]) -> Vec<u32> {
        let inner: Vec<Level> = level.levels_inside().collect();
        let mut chosen = Vec::new();
        for (cpus, quota) in objects.iter_mut().zip(quotas).filter(|(_, quota)| **quota > 0) {
            let of_object: CpuSet = self.by_preference(*quota, cpus, &inner).into_iter().collect();
            chosen.extend(cpus.extract_if(.., |cpu| of_object.contains(*cpu)));
        }
        chosen.iter().for_each(|cpu| self.count_taken(*cpu));
        chosen
    }

    fn count_taken(&mut self, cpu: u32) {
        for level in Level::ALL {
            let (object, taken) = (self.places.object_of(cpu, level) as usize, &mut self.taken[level as usize]);
            if taken.len() <= object {
                taken.resize(object + 1, 0);
            }
            taken[object] += 1;
        }
    }

    fn taken_of_object(&self, level: Level, cpu: u32) -> usize {
        self.taken[level as usize].get(self.places.object_of(cpu, level) as usize).copied().unwrap_or(0)
    }

    /// Returns the quota of each object if all reach the same total, as far as their sizes allow.
    fn full_rounds(&self, wanted: usize, level: Level, objects: &[Vec<u32>]) -> Vec<usize> {
        let has: Vec<usize> = objects.iter().map(|cpus| self.taken_of_object(level, cpus[0])).collect();
        let gives = |round: usize| -> Vec<usize> {
            objects.iter().zip(&has).map(|(cpus, has)| round.saturating_sub(*has).min(cpus.len())).collect()
        };
        // Binary search for the most rounds that do not give too many.
        let (mut enough, mut too_many) = (0, has.iter().max().unwrap_or(&0) + wanted + 1);
        while too_many - enough > 1 {
            let round = enough.midpoint(too_many);
            if gives(round).iter().sum::<usize>() <= wanted { enough = round } else { too_many = round }
        }
        gives(enough)
    }

    /// Chooses `wanted` of the objects with the fewest cpus for one more, far apart from each other.
    fn one_more(&self, wanted: usize, level: Level, objects: &[Vec<u32>]) -> Vec<usize> {
        let fewest = objects.iter().filter_map(|cpus| Some(self.taken_of_object(level, *cpus.first()?))).min();
        let candidates = objects.iter().filter_map(|cpus| cpus.first().copied());
        let candidates: Vec<u32> = candidates.filter(|cpu| Some(self.taken_of_object(level, *cpu)) == fewest).collect();
        let outer: Vec<Level> = level.levels_around().collect();
        let chosen: CpuSet = self.by_preference(wanted, &candidates, &outer).into_iter().collect();
        objects.iter().map(|cpus| usize::from(cpus.first().is_some_and(|cpu| chosen.contains(*cpu)))).collect()
    }

    /// Chooses `wanted` of some cpus: preferred ones first, and among equals evenly at the levels.
    fn by_preference(&self, wanted: usize, cpus: &[u32], levels: &[Level]) -> Vec<u32> {
        let mut sorted = cpus.to_vec();
        sorted.sort_by_key(|cpu| self.places.preference_of(*cpu));
        let equals = sorted.chunk_by(|a, b| self.places.preference_of(*a) == self.places.preference_of(*b));
        let mut chosen = Vec::with_capacity(wanted);
        for cpus in equals {
            let share = (wanted - chosen.len()).min(cpus.len());
            chosen.extend(self.choose_evenly(share, cpus, levels));
        }
        chosen
    }

    /// Chooses `wanted` of some cpus, evenly over the objects of the first level, and within these over the next level's objects.
    fn choose_evenly(&self, wanted: usize, cpus: &[u32], levels: &[Level]) -> Vec<u32> {
        let Some((&level, inner)) = levels.split_first().filter(|_| 0 < wanted && wanted < cpus.len()) else {
            return cpus[..wanted].to_vec();
        };
        let objects = self.places.group_by_level(cpus, level);
        let has =
            objects.iter().enumerate().map(|(index, cpus)| Reverse((self.taken_of_object(level, cpus[0]), index)));
        let mut fewest: BinaryHeap<Reverse<(usize, usize)>> = has.collect();
        let mut quotas = vec![0; objects.len()];
        for _ in 0..wanted {
            let Some(Reverse((has, index))) = fewest.pop() else { break };
            quotas[index] += 1;
            if quotas[index] < objects[index].len() {
                fewest.push(Reverse((has + 1, index)));
            }
        }
        objects.iter().zip(quotas).flat_map(|(cpus, quota)| self.choose_evenly(quota, cpus, inner)).collect()
    }
}
