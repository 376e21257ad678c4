//! As close together as can be: over as few objects of a level as will hold the cpus.

use super::{around, sibling_tiers};
use crate::Level;
use crate::placement::resolve::Places;

/// Chooses `count` cpus of a pool that has as many.
pub fn pack(count: usize, level: Level, pool: &[u32], places: &Places) -> Vec<u32> {
    let mut sorted = pool.to_vec();
    sorted.sort_unstable();
    let mut objects = places.grouped(&sorted, level);
    objects.sort_by_key(|cpus| (best(cpus, places), places.object(cpus[0], level)));
    let chosen = fewest(count, level, objects, places);
    let cpus: Vec<u32> = match level {
        Level::Core | Level::Cpu => chosen.concat(),
        _ => cores_before_siblings(&chosen.concat(), places),
    };
    cpus.into_iter().take(count).collect()
}

fn cores_before_siblings(cpus: &[u32], places: &Places) -> Vec<u32> {
    let mut tiers = sibling_tiers(cpus, places);
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
    for outer in around(level).rev() {
        let first_cpus: Vec<u32> = objects.iter().map(|cpus| cpus[0]).collect();
        // In the order of their best objects, as `grouped` keeps the order of what it is given.
        for group in places.grouped(&first_cpus, outer) {
            let inside = objects.iter().filter(|cpus| group.contains(&cpus[0]));
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
    let sizes: Vec<usize> = objects.iter().map(Vec::len).collect();
    let mut chosen: Vec<Vec<u32>> = Vec::with_capacity(number);
    let mut held = 0;
    for (place, cpus) in objects.into_iter().enumerate() {
        let more = number - chosen.len();
        if more == 0 {
            break;
        }
        if held + cpus.len() + largest(more - 1, &sizes[place + 1..], cpus.len()) >= count {
            held += cpus.len();
            chosen.push(cpus);
        }
    }
    chosen
}

/// The sum of the `number` largest sizes; for sizes that are all at most `bound` and many of them equal to it, at once.
fn largest(number: usize, sizes: &[usize], bound: usize) -> usize {
    if sizes.iter().take(number).filter(|size| **size >= bound).count() == number
        && sizes.iter().all(|size| *size <= bound)
    {
        return number * bound;
    }
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.iter().take(number).sum()
}
