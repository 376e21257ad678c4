//! Patterns: a number of cpus over as many, or as few, objects of a level as possible.
//!
//! `spread` takes one cpu of each core before any sibling. As far as the sizes of the level's objects allow, their counts differ by at most
//! one. All levels around and inside them are as even as possible.
//!
//! `pack` finds the fewest objects that hold the number, in one object of the next level if possible. It takes one cpu of each core before
//! any sibling, unless the level is the core.
//!
//! Both prefer nodes with memory, then the better kinds of core, then the lower index, so that the result is deterministic. Cpus in no
//! object of the level, such as cpus of an offline node, are taken last.

mod pack;
mod spread;

use super::PlacementPattern;
use super::places::CpuPlaces;
use crate::Level;

/// Chooses cpus of a pool, in the order in which threads take them; the pool must be in that order too.
///
/// # Errors
/// If the pool is too small.
pub(super) fn choose_cpus(
    pattern: PlacementPattern,
    count: usize,
    level: Level,
    pool: Vec<u32>,
    places: &CpuPlaces,
) -> Result<Vec<u32>, String> {
    if count > pool.len() {
        let there = if pool.len() == 1 { "1 cpu".to_owned() } else { format!("{} cpus", pool.len()) };
        return Err(format!("{}({count}, {level}): only {there} can be used", pattern.word()));
    }
    let (inside, outside): (Vec<u32>, Vec<u32>) = pool.into_iter().partition(|cpu| places.is_in_one(*cpu, level));
    let of = |count: usize, pool: &[u32]| match pattern {
        _ if count == 0 => Vec::new(),
        PlacementPattern::Spread => spread::spread_cpus(count, level, pool, places),
        PlacementPattern::Pack => pack::pack_cpus(count, level, pool, places),
    };
    let of_objects = count.min(inside.len());
    Ok([of(of_objects, &inside), of(count - of_objects, &outside)].concat())
}

#[cfg(test)]
mod tests;
