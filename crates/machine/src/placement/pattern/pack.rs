//! Packs cpus into as few objects of a level as possible.

use std::collections::{BTreeMap, HashMap};

use crate::Level;
use crate::placement::places::CpuPlaces;

/// Chooses `count` cpus of a pool that has at least as many.
pub fn pack_cpus(count: usize, level: Level, pool: &[u32], places: &CpuPlaces) -> Vec<u32> {
    if level == Level::Cpu {
        return take_fewest(count, pool, places);
    }
    let mut sorted = pool.to_vec();
    sorted.sort_unstable();
    let mut objects = places.group_by_level(&sorted, level);
    objects.sort_by_key(|cpus| (best_preference(cpus, places), places.object_of(cpus[0], level)));
    let chosen = fewest_objects(count, level, objects, places);
    let cpus: Vec<u32> = match level {
        Level::Core => chosen.concat(),
        _ => cores_before_siblings(&chosen.concat(), places),
    };
    cpus.into_iter().take(count).collect()
}

/// Packs at the level of cpus (every cpu is an object): one of each core before any sibling, each tier close together.
fn take_fewest(count: usize, pool: &[u32], places: &CpuPlaces) -> Vec<u32> {
    let mut chosen = Vec::with_capacity(count);
    for mut tier in places.sibling_tiers(pool) {
        let wanted = (count - chosen.len()).min(tier.len());
        tier.sort_by_key(|cpu| (places.preference_of(*cpu), *cpu));
        chosen.extend(
            fewest_objects(wanted, Level::Cpu, tier.into_iter().map(|cpu| vec![cpu]).collect(), places).concat(),
        );
    }
    chosen
}

fn cores_before_siblings(cpus: &[u32], places: &CpuPlaces) -> Vec<u32> {
    let mut tiers = places.sibling_tiers(cpus);
    tiers.iter_mut().for_each(|tier| tier.sort_by_key(|cpu| places.preference_of(*cpu)));
    tiers.concat()
}

/// Returns the preference of an object's best cpu.
fn best_preference(cpus: &[u32], places: &CpuPlaces) -> (bool, u8) {
    cpus.iter().map(|cpu| places.preference_of(*cpu)).min().unwrap_or_default()
}

/// Returns the fewest objects that hold `count` cpus, preferred ones first, within one object of the nearest outer level that suffices.
fn fewest_objects(count: usize, level: Level, objects: Vec<Vec<u32>>, places: &CpuPlaces) -> Vec<Vec<u32>> {
    let number = how_few(count, objects.iter());
    let first_cpus: Vec<u32> = objects.iter().map(|cpus| cpus[0]).collect();
    let object_of: HashMap<u32, &Vec<u32>> = objects.iter().map(|cpus| (cpus[0], cpus)).collect();
    for outer in level.levels_around().rev() {
        // Groups come in the order of their best objects, as `grouped` keeps the given order.
        for group in places.group_by_level(&first_cpus, outer) {
            let inside = group.iter().map(|first| object_of[first]);
            if inside.clone().map(Vec::len).sum::<usize>() >= count && how_few(count, inside.clone()) == number {
                return preferred_objects(count, number, inside.cloned().collect());
            }
        }
    }
    preferred_objects(count, number, objects)
}

/// Returns the number of objects that hold `count` cpus, the largest taken first; all of them if they hold fewer.
fn how_few<'a>(count: usize, objects: impl Iterator<Item = &'a Vec<u32>>) -> usize {
    let mut sizes: Vec<usize> = objects.map(Vec::len).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let held = sizes.iter().scan(0, |held, size| {
        let before = *held;
        *held += size;
        Some(before)
    });
    held.take_while(|before| *before < count).count()
}

/// Chooses the first `number` objects that together can still hold `count` cpus.
fn preferred_objects(count: usize, number: usize, objects: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    // Number of the remaining objects by size.
    let mut to_come: BTreeMap<usize, usize> = BTreeMap::new();
    objects.iter().for_each(|cpus| *to_come.entry(cpus.len()).or_default() += 1);
    let mut chosen: Vec<Vec<u32>> = Vec::with_capacity(number);
    let mut held = 0;
    for cpus in objects {
        let more = number - chosen.len();
        if more == 0 {
            break;
        }
        to_come.entry(cpus.len()).and_modify(|count| *count -= 1);
        if held + cpus.len() + sum_of_largest(more - 1, &to_come) >= count {
            held += cpus.len();
            chosen.push(cpus);
        }
    }
    chosen
}

/// Returns the sum of the `number` largest sizes; the map gives the count of each size.
fn sum_of_largest(number: usize, sizes: &BTreeMap<usize, usize>) -> usize {
    let mut left = number;
    let taken = sizes.iter().rev().map(|(size, count)| {
        let taken = left.min(*count);
        left -= taken;
        size * taken
    });
    taken.sum()
}
