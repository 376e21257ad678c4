//! Joining of a map's rows or columns to blocks.

use std::ops::Range;

/// Rows or columns joined to blocks.
#[derive(Clone)]
pub struct JoinedBlocks {
    blocks: Vec<Range<usize>>,
    /// Whether each block begins a group and has a gap before it.
    apart: Vec<bool>,
    /// Whole groups in a block; 0 if blocks lie inside groups, or there are no groups.
    whole_groups: usize,
}

/// Returns all ways to join rows, the finest first: blocks inside groups, then whole groups.
pub fn list_cuts(groups: &[Range<usize>]) -> impl Iterator<Item = JoinedBlocks> {
    let longest = groups.iter().map(Range::len).max().unwrap_or(0);
    // Uneven blocks are no easier to read than larger ones.
    let even = move |size: usize| size.is_power_of_two() || groups.iter().all(|group| group.len().is_multiple_of(size));
    let inside = (1..longest).filter(move |&size| even(size)).map(|size| JoinedBlocks::inside_groups(groups, size));
    inside.chain((1..=groups.len()).map(|count| JoinedBlocks::joined_groups(groups, count)))
}

impl JoinedBlocks {
    fn inside_groups(groups: &[Range<usize>], size: usize) -> Self {
        let mut cut = Self { blocks: Vec::new(), apart: Vec::new(), whole_groups: 0 };
        for group in groups {
            for start in group.clone().step_by(size) {
                cut.apart.push(start == group.start && start > 0);
                cut.blocks.push(start..(start + size).min(group.end));
            }
        }
        cut
    }

    fn joined_groups(groups: &[Range<usize>], count: usize) -> Self {
        let blocks: Vec<_> = groups.chunks(count).map(|part| part[0].start..part[part.len() - 1].end).collect();
        Self { apart: vec![false; blocks.len()], blocks, whole_groups: if groups.len() > 1 { count } else { 0 } }
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the blocks as ranges of rows.
    pub fn blocks(&self) -> &[Range<usize>] {
        &self.blocks
    }

    /// Returns the first row of a block.
    pub fn first_row(&self, block: usize) -> usize {
        self.blocks[block].start
    }

    /// Returns true if there is a gap before a block.
    pub fn is_apart(&self, block: usize) -> bool {
        self.apart[block]
    }

    /// Returns the number of gaps.
    pub fn gap_count(&self) -> usize {
        self.apart.iter().filter(|&&apart| apart).count()
    }

    /// Returns the number of rows in the largest block.
    pub fn largest_block(&self) -> usize {
        self.blocks.iter().map(Range::len).max().unwrap_or(0)
    }

    /// Returns the groups as ranges of blocks.
    pub fn group_ranges(&self) -> Vec<Range<usize>> {
        let starts: Vec<usize> = (0..self.len()).filter(|&block| block == 0 || self.apart[block]).collect();
        let ends = starts.iter().copied().skip(1).chain([self.len()]);
        starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
    }

    /// Describes a cell of these rows and the given columns; `None` if it is a single pair.
    pub fn describe_cell(&self, columns: &Self) -> Option<String> {
        let (largest, widest) = (self.largest_block(), columns.largest_block());
        if largest.max(widest) < 2 {
            return None;
        }
        let is_even = |cut: &Self| cut.blocks.iter().all(|block| block.len() == cut.largest_block());
        let up_to = if is_even(self) && is_even(columns) { "" } else { "up to " };
        let row = match self.whole_groups {
            0 => String::new(),
            1 => "a row is a group, ".to_owned(),
            count => format!("a row is {count} groups, "),
        };
        Some(format!("{row}a cell is the median of {up_to}{largest} x {widest} pairs"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_inside_groups_and_then_join_whole_ones() {
        let groups = [0..6, 6..12, 12..18];
        let all: Vec<_> = list_cuts(&groups).map(|cut| (cut.len(), cut.gap_count(), cut.largest_block())).collect();
        assert_eq!(all, [(18, 2, 1), (9, 2, 2), (6, 2, 3), (6, 2, 4), (3, 0, 6), (2, 0, 12), (1, 0, 18)]);
        let words: Vec<_> = list_cuts(&groups).filter_map(|cut| cut.describe_cell(&cut)).collect();
        assert_eq!(words[0], "a cell is the median of 2 x 2 pairs");
        assert_eq!(words[2], "a cell is the median of up to 4 x 4 pairs");
        assert_eq!(words[4], "a row is 2 groups, a cell is the median of up to 12 x 12 pairs");
    }

    #[test]
    fn one_cpu_is_one_block() {
        assert_eq!(list_cuts(std::slice::from_ref(&(0..1))).map(|cut| cut.len()).collect::<Vec<_>>(), [1]);
    }
}
