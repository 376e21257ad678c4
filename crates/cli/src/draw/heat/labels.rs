//! Selection of the rows and columns that get a label if there is not room for all.

use std::collections::BTreeSet;
use std::ops::Range;

/// Returns the indices that get a label, rising, with at least `room` between any two. Every index takes `size`; `at`
/// gives its position, including the gaps between groups. The first of a group has priority. Within a group, labels
/// are a multiple of a power of two apart.
pub fn choose_labels(groups: &[Range<usize>], at: impl Fn(usize) -> f64, size: f64, room: f64) -> Vec<usize> {
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
        assert_eq!(choose_labels(std::slice::from_ref(&(0..10)), at, 1.0, 3.0), [0, 4, 8]);
        assert_eq!(choose_labels(&[0..5, 5..10], at, 1.0, 3.0), [0, 5, 9]);
        assert_eq!(choose_labels(&[0..2, 2..4, 4..6], at, 1.0, 3.0), [0, 4]);
        assert_eq!(choose_labels(&[0..2, 2..4], |index| 3.0 * at(index), 3.0, 3.0), [0, 1, 2, 3]);
        assert!(choose_labels(std::slice::from_ref(&(0..0)), at, 1.0, 3.0).is_empty());
    }
}
