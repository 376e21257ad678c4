//! Which rows and columns get a label where there is not room for all.

use std::collections::BTreeSet;
use std::ops::Range;

/// The indices that get a label, so that no two lie nearer together than `room`; rising. Every index takes `size`; `at` says where an index
/// lies, with the gaps between groups. The first of a group comes before others, and within a group labels are an even number of
/// steps of 1, 2, 4, … apart.
pub fn labelled(groups: &[Range<usize>], at: impl Fn(usize) -> f64, size: f64, room: f64) -> Vec<usize> {
    let count = groups.last().map_or(0, |group| group.end);
    let mut step = 1;
    while step < count && step as f64 * size < room {
        step *= 2;
    }
    let mut chosen = BTreeSet::new();
    let firsts = groups.iter().filter(|group| !group.is_empty()).map(|group| group.start);
    let others = groups.iter().flat_map(|group| group.clone().step_by(step).skip(1));
    for index in firsts.chain(others) {
        let before = chosen.range(..index).next_back();
        let after = chosen.range(index..).next();
        if before.into_iter().chain(after).all(|&other| (at(index) - at(other)).abs() >= room) {
            chosen.insert(index);
        }
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_labelled_first_and_nothing_overlaps() {
        let at = |index: usize| index as f64;
        assert_eq!(labelled(std::slice::from_ref(&(0..10)), at, 1.0, 3.0), [0, 4, 8]);
        assert_eq!(labelled(&[0..5, 5..10], at, 1.0, 3.0), [0, 5, 9]);
        assert_eq!(labelled(&[0..2, 2..4, 4..6], at, 1.0, 3.0), [0, 4]);
        assert_eq!(labelled(&[0..2, 2..4], |index| 3.0 * at(index), 3.0, 3.0), [0, 1, 2, 3]);
        assert!(labelled(std::slice::from_ref(&(0..0)), at, 1.0, 3.0).is_empty());
    }
}
