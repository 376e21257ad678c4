//! Cells of one thread: some layers of the box, in memory that the thread touches first.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::gas::{ConservedState, PrimitiveState, larger_or_nan, to_conserved};
use super::sweep::{BEYOND, ROWS, RowCells, fastest_wave, sweep_rows};

/// Number of variables of a cell.
pub const PARTS: usize = 5;

/// Some layers of a box in conserved variables: density, momentum along x, y and z, energy. Each variable has its own part of memory, in
/// which cells along x are neighbours.
pub struct GasSlab {
    /// Cells of the whole box along x, y and z.
    shape: [usize; 3],
    /// Its layers along z.
    layers: Range<usize>,
    cells: Vec<f64>,
    /// Layers beyond both ends, in the order of z, each with all its variables.
    beyond: [Vec<f64>; 2 * BEYOND],
    rows: Vec<RowCells>,
}

/// Memory layout of the rows along a direction.
#[derive(Clone, Copy)]
struct SlabRows {
    direction: usize,
    count: usize,
    length: usize,
    stride: usize,
}

impl GasSlab {
    /// Creates layers of a box; `gas` gives the initial state of each cell, by its number along x, y and z.
    pub fn new(shape: [usize; 3], layers: Range<usize>, gas: &(dyn Fn([usize; 3]) -> PrimitiveState + Sync)) -> Self {
        let [width, depth, _] = shape;
        let count = width * depth * layers.len();
        let mut cells = vec![0.0; PARTS * count];
        for place in 0..count {
            let (x, y, z) = (place % width, place / width % depth, place / (width * depth) + layers.start);
            for (part, value) in to_conserved(gas([x, y, z])).into_iter().enumerate() {
                cells[part * count + place] = value;
            }
        }
        let beyond = std::array::from_fn(|_| vec![0.0; PARTS * width * depth]);
        Self { shape, layers, cells, beyond, rows: Vec::new() }
    }

    /// Returns its layers.
    pub fn layers(&self) -> Range<usize> {
        self.layers.clone()
    }

    /// Returns the number of cells in a layer.
    pub const fn layer_cells(&self) -> usize {
        self.shape[0] * self.shape[1]
    }

    /// Returns its number of cells.
    pub const fn cell_count(&self) -> usize {
        self.cells.len() / PARTS
    }

    /// Returns one variable of one of its layers, by the layer's number in the box.
    pub fn layer_part(&self, layer: usize, part: usize) -> &[f64] {
        let begin = part * self.cell_count() + (layer - self.layers.start) * self.layer_cells();
        &self.cells[begin..begin + self.layer_cells()]
    }

    /// Returns the conserved variables of a cell, by its number along x, y and z in the box.
    pub fn cell_at(&self, [x, y, z]: [usize; 3]) -> ConservedState {
        std::array::from_fn(|part| self.layer_part(z, part)[y * self.shape[0] + x])
    }

    /// Returns the layers beyond both ends, to be filled before a sweep along z: first the two before its own, then the two after.
    pub fn beyond(&mut self) -> &mut [Vec<f64>; 2 * BEYOND] {
        &mut self.beyond
    }

    fn rows_along(&self, direction: usize) -> SlabRows {
        let [width, depth, _] = self.shape;
        let layers = self.layers.len();
        let (count, length, stride) = match direction {
            0 => (depth * layers, width, 1),
            1 => (width * layers, depth, width),
            _ => (self.layer_cells(), layers, self.layer_cells()),
        };
        SlabRows { direction, count, length, stride }
    }

    /// Steps all cells along a direction (0, 1, 2 for x, y, z), with the `ratio` of [`sweep`]. Returns the fastest wave afterwards, or
    /// `None` if it was stopped.
    pub fn step_along(&mut self, direction: usize, ratio: f64, stop: &AtomicBool) -> Option<f64> {
        let along = self.rows_along(direction);
        let mut speed = 0.0;
        if along.length == 0 {
            return Some(speed);
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.resize(along.length + 2 * BEYOND, [[0.0; ROWS]; PARTS]);
        for first in (0..along.count).step_by(ROWS) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            self.gather_rows(along, first, &mut rows);
            sweep_rows(&mut rows, ratio);
            speed = larger_or_nan(speed, fastest_wave(&rows[BEYOND..along.length + BEYOND]));
            self.scatter_rows(along, first, &rows);
        }
        self.rows = rows;
        Some(speed)
    }

    /// Returns the starts of the rows; the last is repeated if there are fewer.
    fn row_starts(&self, along: SlabRows, first: usize) -> [usize; ROWS] {
        std::array::from_fn(|row| {
            let row = (first + row).min(along.count - 1);
            match along.direction {
                0 => row * self.shape[0],
                1 => row / self.shape[0] * self.layer_cells() + row % self.shape[0],
                _ => row,
            }
        })
    }

    fn gather_rows(&self, along: SlabRows, first: usize, rows: &mut [RowCells]) {
        let begins = self.row_starts(along, first);
        let inner = &mut rows[BEYOND..along.length + BEYOND];
        for (slot, part) in turn_parts(along.direction).into_iter().enumerate() {
            let values = &self.cells[part * self.cell_count()..(part + 1) * self.cell_count()];
            if begins[ROWS - 1] == begins[0] + ROWS - 1 {
                for (place, cell) in inner.iter_mut().enumerate() {
                    let begin = begins[0] + place * along.stride;
                    cell[slot].copy_from_slice(&values[begin..begin + ROWS]);
                }
            } else {
                for (row, begin) in begins.into_iter().enumerate() {
                    let values = values[begin..].iter().step_by(along.stride);
                    inner.iter_mut().zip(values).for_each(|(cell, value)| cell[slot][row] = *value);
                }
            }
        }
        if along.direction == 2 {
            self.gather_beyond(begins, along, rows);
        } else {
            close_rings(rows);
        }
    }

    fn gather_beyond(&self, begins: [usize; ROWS], along: SlabRows, rows: &mut [RowCells]) {
        for (number, layer) in self.beyond.iter().enumerate() {
            let place = if number < BEYOND { number } else { number + along.length };
            for (slot, part) in turn_parts(along.direction).into_iter().enumerate() {
                let values = &layer[part * self.layer_cells()..(part + 1) * self.layer_cells()];
                rows[place][slot] = begins.map(|begin| values[begin]);
            }
        }
    }

    fn scatter_rows(&mut self, along: SlabRows, first: usize, rows: &[RowCells]) {
        let (begins, count) = (self.row_starts(along, first), self.cell_count());
        let inner = &rows[BEYOND..along.length + BEYOND];
        for (slot, part) in turn_parts(along.direction).into_iter().enumerate() {
            let values = &mut self.cells[part * count..(part + 1) * count];
            if begins[ROWS - 1] == begins[0] + ROWS - 1 {
                for (place, cell) in inner.iter().enumerate() {
                    let begin = begins[0] + place * along.stride;
                    values[begin..begin + ROWS].copy_from_slice(&cell[slot]);
                }
            } else {
                // If the last row is repeated, each copy has the same result.
                for (row, begin) in begins.into_iter().enumerate() {
                    let values = values[begin..].iter_mut().step_by(along.stride);
                    inner.iter().zip(values).for_each(|(cell, value)| *value = cell[slot][row]);
                }
            }
        }
    }
}

/// Returns the variables in the order for a direction that takes the place of x.
const fn turn_parts(direction: usize) -> [usize; PARTS] {
    [0, 1 + direction, 1 + (direction + 1) % 3, 1 + (direction + 2) % 3, 4]
}

/// Closes rows to rings: the cells beyond one end repeat the other end.
fn close_rings(rows: &mut [RowCells]) {
    let length = rows.len() - 2 * BEYOND;
    for beyond in 0..BEYOND {
        rows[beyond] = rows[length + beyond];
        rows[length + BEYOND + beyond] = rows[BEYOND + beyond];
    }
}
