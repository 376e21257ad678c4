//! Light table that many threads fill, each cell by one of them.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Initial value of a cell; no light has these bits.
const UNWRITTEN: u64 = u64::MAX;

/// Light of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// Number of its tests with a free way to the light.
    pub free: u32,
    /// Mean length of the free way, up to the light at most.
    pub way: f32,
}

/// Table of cells that is about square; the last row may be shorter.
#[derive(Debug)]
pub struct Table {
    width: usize,
    cells: Vec<AtomicU64>,
}

impl Table {
    /// Creates a table of unwritten cells, at least one.
    pub fn new(cells: usize) -> Self {
        let written = std::iter::repeat_with(|| AtomicU64::new(UNWRITTEN)).take(cells).collect();
        Self { width: cells.isqrt(), cells: written }
    }

    /// Returns the number of cells in a full row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of rows; the last may lack cells.
    pub fn rows(&self) -> usize {
        self.cells.len().div_ceil(self.width)
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Returns the numbers of a row's cells.
    pub fn row(&self, row: usize) -> Range<usize> {
        row * self.width..self.cells.len().min((row + 1) * self.width)
    }

    /// Writes a cell.
    pub fn set(&self, cell: usize, light: Light) {
        self.cells[cell].store(u64::from(light.free) << 32 | u64::from(light.way.to_bits()), Ordering::Relaxed);
    }

    /// Reads a cell.
    pub fn get(&self, cell: usize) -> Light {
        let bits = self.cells[cell].load(Ordering::Relaxed);
        Light { free: (bits >> 32) as u32, way: f32::from_bits(bits as u32) }
    }

    /// Returns the first unwritten cell.
    pub fn first_unwritten(&self) -> Option<usize> {
        self.cells.iter().position(|cell| cell.load(Ordering::Relaxed) == UNWRITTEN)
    }
}

/// Returns a number that depends on every bit of some tables: the 64-bit FNV-1a hash of their cells.
pub fn checksum(tables: &[Table]) -> u64 {
    let bits = tables.iter().flat_map(|table| &table.cells).map(|cell| cell.load(Ordering::Relaxed));
    crate::picture::checksum(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_all_cells_once() {
        for (cells, width, rows) in
            [(1, 1, 1), (2, 1, 2), (3, 1, 3), (12, 3, 4), (325_022, 570, 571), (325_021, 570, 571)]
        {
            let table = Table::new(cells);
            assert_eq!((table.width(), table.rows()), (width, rows), "{cells}");
            assert!((0..rows).flat_map(|row| table.row(row)).eq(0..cells));
        }
    }

    #[test]
    fn what_is_written_is_read_and_what_is_not_is_found() {
        let table = Table::new(2);
        table.set(0, Light { free: 7, way: 2.5 });
        assert_eq!((table.get(0), table.first_unwritten()), (Light { free: 7, way: 2.5 }, Some(1)));
        let before = checksum(&[table]);
        let table = Table::new(2);
        table.set(0, Light { free: 7, way: 2.500_000_2 });
        assert_ne!(checksum(&[table]), before);
    }
}
