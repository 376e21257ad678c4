//! Stable sorts whose code is shared: that of the standard library takes 5 KB for each type and order, a tenth of the program.

use std::cmp::Ordering;

/// Sorts lists of any type, stably. Of use where a list is short, or sorted once; loops over long lists use the standard library's sorts.
pub trait SortFew<T> {
    /// Sorts by a comparison, as `sort_by` does.
    fn sort_few_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts by a key, as `sort_by_key` does.
    fn sort_few_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> SortFew<T> for [T] {
    fn sort_few_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let swaps = sort_indices(self.len(), &mut |one, other| compare(&self[one], &self[other]));
        swaps.into_iter().for_each(|(one, other)| self.swap(one, other));
    }

    fn sort_few_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.sort_few_by(|one, other| key(one).cmp(&key(other)));
    }
}

/// Sorts the indices of a list by a comparison of its elements, and returns the swaps that sort the list.
fn sort_indices(length: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<(usize, usize)> {
    let mut sources: Vec<usize> = (0..length).collect();
    sources.sort_by(|one, other| compare(*one, *other));
    let mut swaps = Vec::new();
    for first in 0..length {
        // The element that belongs at `place` is moved there; that from `place` waits where it was, until the cycle is closed.
        let mut place = first;
        while sources[place] != first {
            let source = sources[place];
            swaps.push((place, source));
            sources[place] = place;
            place = source;
        }
        sources[place] = place;
    }
    swaps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_are_sorted_as_the_standard_library_does_equal_elements_in_their_order(
            list in prop::collection::vec((0_u8..20, any::<u8>()), 0..200),
        ) {
            let (mut by_order, mut by_key, mut expected) = (list.clone(), list.clone(), list);
            expected.sort_by_key(|(rank, _)| *rank);
            by_order.sort_few_by(|one, other| one.0.cmp(&other.0));
            by_key.sort_few_by_key(|(rank, _)| *rank);
            prop_assert_eq!(&by_order, &expected);
            prop_assert_eq!(by_key, expected);
        }
    }
}
