//! Light table that many threads fill, each cell by one of them.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Initial value of a cell; no light has these bits.
const UNWRITTEN: u64 = u64::MAX;

/// Light of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellLight {
    /// Number of its tests with a free way to the light.
    pub free: u32,
    /// Mean length of the free way, up to the light at most.
    pub way: f32,
}

/// Table of cells that is about square; the last row may be shorter.
#[derive(Debug)]
pub struct LightTable {
    width: usize,
    cells: Vec<AtomicU64>,
}

impl LightTable {
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
    pub fn row_count(&self) -> usize {
        self.cells.len().div_ceil(self.width)
    }

    /// Returns the number of cells.
    pub fn cell_count(&self) -> usize {
        self.cells.len()
    }

    /// Returns the numbers of a row's cells.
    pub fn row_cells(&self, row: usize) -> Range<usize> {
        row * self.width..self.cells.len().min((row + 1) * self.width)
    }

    /// Writes a cell.
    pub fn set_cell(&self, cell: usize, light: CellLight) {
        self.cells[cell].store(u64::from(light.free) << 32 | u64::from(light.way.to_bits()), Ordering::Relaxed);
    }

    /// Reads a cell.
    pub fn get_cell(&self, cell: usize) -> CellLight {
        let bits = self.cells[cell].load(Ordering::Relaxed);
        CellLight { free: (bits >> 32) as u32, way: f32::from_bits(bits as u32) }
    }

    /// Returns the first unwritten cell.
    pub fn first_unwritten(&self) -> Option<usize> {
        self.cells.iter().position(|cell| cell.load(Ordering::Relaxed) == UNWRITTEN)
    }
}

/// Returns a number that depends on every bit of some tables: the 64-bit FNV-1a hash of their cells.
pub fn tables_checksum(tables: &[LightTable]) -> u64 {
    let bits = tables.iter().flat_map(|table| &table.cells).map(|cell| cell.load(Ordering::Relaxed));
    crate::picture::words_checksum(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_all_cells_once() {
        for (cells, width, rows) in
            [(1, 1, 1), (2, 1, 2), (3, 1, 3), (12, 3, 4), (325_022, 570, 571), (325_021, 570, 571)]
        {
            let table = LightTable::new(cells);
            assert_eq!((table.width(), table.row_count()), (width, rows), "{cells}");
            assert!((0..rows).flat_map(|row| table.row_cells(row)).eq(0..cells));
        }
    }

    #[test]
    fn what_is_written_is_read_and_what_is_not_is_found() {
        let table = LightTable::new(2);
        table.set_cell(0, CellLight { free: 7, way: 2.5 });
        assert_eq!((table.get_cell(0), table.first_unwritten()), (CellLight { free: 7, way: 2.5 }, Some(1)));
        let before = tables_checksum(&[table]);
        let table = LightTable::new(2);
        table.set_cell(0, CellLight { free: 7, way: 2.500_000_2 });
        assert_ne!(tables_checksum(&[table]), before);
    }
}
