//! As close together as can be: over as few objects of a level as will hold the cpus.

use std::collections::{BTreeMap, HashMap};

use crate::Level;
use crate::placement::places::Places;

/// Chooses `count` cpus of a pool that has as many.
pub fn pack(count: usize, level: Level, pool: &[u32], places: &Places) -> Vec<u32> {
    if level == Level::Cpu {
        return cpus(count, pool, places);
    }
    let mut sorted = pool.to_vec();
    sorted.sort_unstable();
    let mut objects = places.grouped(&sorted, level);
    objects.sort_by_key(|cpus| (best(cpus, places), places.object(cpus[0], level)));
    let chosen = fewest(count, level, objects, places);
    let cpus: Vec<u32> = match level {
        Level::Core => chosen.concat(),
        _ => cores_before_siblings(&chosen.concat(), places),
    };
    cpus.into_iter().take(count).collect()
}

/// As many cpus are as many objects wherever they lie: one of each core before any sibling, each tier close together.
fn cpus(count: usize, pool: &[u32], places: &Places) -> Vec<u32> {
    let mut chosen = Vec::with_capacity(count);
    for mut tier in places.sibling_tiers(pool) {
        let wanted = (count - chosen.len()).min(tier.len());
        tier.sort_by_key(|cpu| (places.preference(*cpu), *cpu));
        chosen.extend(fewest(wanted, Level::Cpu, tier.into_iter().map(|cpu| vec![cpu]).collect(), places).concat());
    }
    chosen
}

fn cores_before_siblings(cpus: &[u32], places: &Places) -> Vec<u32> {
    let mut tiers = places.sibling_tiers(cpus);
    tiers.iter_mut().for_each(|tier| tier.sort_by_key(|cpu| places.preference(*cpu)));
    tiers.concat()
}

/// The preference of an object: that of its best cpu.
fn best(cpus: &[u32], places: &Places) -> (bool, u8) {
    cpus.iter().map(|cpu| places.preference(*cpu)).min().unwrap_or_default()
}

/// The fewest of some objects, preferred ones first, that hold `count` cpus: in one object of the nearest level around
/// them that has so few of them.
fn fewest(count: usize, level: Level, objects: Vec<Vec<u32>>, places: &Places) -> Vec<Vec<u32>> {
    let number = how_few(count, objects.iter());
    let first_cpus: Vec<u32> = objects.iter().map(|cpus| cpus[0]).collect();
    let object_of: HashMap<u32, &Vec<u32>> = objects.iter().map(|cpus| (cpus[0], cpus)).collect();
    for outer in level.around().rev() {
        // In the order of their best objects, as `grouped` keeps the order of what it is given.
        for group in places.grouped(&first_cpus, outer) {
            let inside = group.iter().map(|first| object_of[first]);
            if inside.clone().map(Vec::len).sum::<usize>() >= count && how_few(count, inside.clone()) == number {
                return preferred(count, number, inside.cloned().collect());
            }
        }
    }
    preferred(count, number, objects)
}

/// How many objects hold `count` cpus, the largest taken first; all of them where they hold fewer.
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

/// `number` of the objects that hold `count` cpus together: the first ones that leave this possible.
fn preferred(count: usize, number: usize, objects: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    // How many of the objects that are still to come have each size.
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
        if held + cpus.len() + largest(more - 1, &to_come) >= count {
            held += cpus.len();
            chosen.push(cpus);
        }
    }
    chosen
}

/// The sum of the `number` largest sizes, of which there are so many each.
fn largest(number: usize, sizes: &BTreeMap<usize, usize>) -> usize {
    let mut left = number;
    let taken = sizes.iter().rev().map(|(size, count)| {
        let taken = left.min(*count);
        left -= taken;
        size * taken
    });
    taken.sum()
}
