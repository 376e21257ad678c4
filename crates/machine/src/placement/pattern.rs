//! The patterns: a number of cpus over as many, or as few, objects of a level as will hold them.
//!
//! `spread` takes one cpu of each core before any sibling, keeps the counts of the level's objects within one of each
//! other as far as they hold as many, and is as even as can be at all levels around them and in them. `pack` finds the
//! fewest objects that hold the number, in one object of the next level if one has them, and takes one cpu of each core
//! before any sibling, unless the level is the core. Both prefer nodes with memory, then the better kinds of core, then
//! the lower index: the same question always has the same answer. Cpus that are in no object of the level, as those of a node that is
//! switched off, are taken last.

mod pack;
mod spread;

use super::Pattern;
use super::places::Places;
use crate::Level;

/// The chosen cpus in the order in which threads would take them, of a pool that is in that order; why not, otherwise.
pub(super) fn choose(
    pattern: Pattern,
    count: usize,
    level: Level,
    pool: Vec<u32>,
    places: &Places,
) -> Result<Vec<u32>, String> {
    if count > pool.len() {
        let there = if pool.len() == 1 { "1 cpu".to_owned() } else { format!("{} cpus", pool.len()) };
        return Err(format!("{}({count}, {level}): only {there} can be used", pattern.word()));
    }
    let (inside, outside): (Vec<u32>, Vec<u32>) = pool.into_iter().partition(|cpu| places.is_in_one(*cpu, level));
    let of = |count: usize, pool: &[u32]| match pattern {
        _ if count == 0 => Vec::new(),
        Pattern::Spread => spread::spread(count, level, pool, places),
        Pattern::Pack => pack::pack(count, level, pool, places),
    };
    let of_objects = count.min(inside.len());
    Ok([of(of_objects, &inside), of(count - of_objects, &outside)].concat())
}

#[cfg(test)]
mod tests;
