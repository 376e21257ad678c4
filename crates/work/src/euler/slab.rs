//! Cells of one thread: some layers of the box, in memory that the thread touches first.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::gas::{Conserved, Primitive, conserved, most};
use super::sweep::{BEYOND, Cells, ROWS, fastest, sweep};

/// Number of variables of a cell.
pub const PARTS: usize = 5;

/// Some layers of a box in conserved variables: density, momentum along x, y and z, energy. Each variable has its own part of memory, in
/// which cells along x are neighbours.
pub struct Slab {
    /// Cells of the whole box along x, y and z.
    shape: [usize; 3],
    /// Its layers along z.
    layers: Range<usize>,
    cells: Vec<f64>,
    /// Layers beyond both ends, in the order of z, each with all its variables.
    beyond: [Vec<f64>; 2 * BEYOND],
    rows: Vec<Cells>,
}

/// Memory layout of the rows along a direction.
#[derive(Clone, Copy)]
struct Rows {
    direction: usize,
    count: usize,
    length: usize,
    stride: usize,
}

impl Slab {
    /// Creates layers of a box; `gas` gives the initial state of each cell, by its number along x, y and z.
    pub fn new(shape: [usize; 3], layers: Range<usize>, gas: &(dyn Fn([usize; 3]) -> Primitive + Sync)) -> Self {
        let [width, depth, _] = shape;
        let count = width * depth * layers.len();
        let mut cells = vec![0.0; PARTS * count];
        for place in 0..count {
            let (x, y, z) = (place % width, place / width % depth, place / (width * depth) + layers.start);
            for (part, value) in conserved(gas([x, y, z])).into_iter().enumerate() {
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
    pub const fn plane(&self) -> usize {
        self.shape[0] * self.shape[1]
    }

    /// Returns its number of cells.
    pub const fn count(&self) -> usize {
        self.cells.len() / PARTS
    }

    /// Returns one variable of one of its layers, by the layer's number in the box.
    pub fn layer(&self, layer: usize, part: usize) -> &[f64] {
        let begin = part * self.count() + (layer - self.layers.start) * self.plane();
        &self.cells[begin..begin + self.plane()]
    }

    /// Returns the conserved variables of a cell, by its number along x, y and z in the box.
    pub fn cell(&self, [x, y, z]: [usize; 3]) -> Conserved {
        std::array::from_fn(|part| self.layer(z, part)[y * self.shape[0] + x])
    }

    /// Returns the layers beyond both ends, to be filled before a sweep along z: first the two before its own, then the two after.
    pub fn beyond(&mut self) -> &mut [Vec<f64>; 2 * BEYOND] {
        &mut self.beyond
    }

    fn rows_along(&self, direction: usize) -> Rows {
        let [width, depth, _] = self.shape;
        let layers = self.layers.len();
        let (count, length, stride) = match direction {
            0 => (depth * layers, width, 1),
            1 => (width * layers, depth, width),
            _ => (self.plane(), layers, self.plane()),
        };
        Rows { direction, count, length, stride }
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
            self.gather(along, first, &mut rows);
            sweep(&mut rows, ratio);
            speed = most(speed, fastest(&rows[BEYOND..along.length + BEYOND]));
            self.scatter(along, first, &rows);
        }
        self.rows = rows;
        Some(speed)
    }

    /// Returns the starts of the rows; the last is repeated if there are fewer.
    fn begins(&self, along: Rows, first: usize) -> [usize; ROWS] {
        std::array::from_fn(|row| {
            let row = (first + row).min(along.count - 1);
            match along.direction {
                0 => row * self.shape[0],
                1 => row / self.shape[0] * self.plane() + row % self.shape[0],
                _ => row,
            }
        })
    }

    fn gather(&self, along: Rows, first: usize, rows: &mut [Cells]) {
        let begins = self.begins(along, first);
        let inner = &mut rows[BEYOND..along.length + BEYOND];
        for (slot, part) in turned(along.direction).into_iter().enumerate() {
            let values = &self.cells[part * self.count()..(part + 1) * self.count()];
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
            close(rows);
        }
    }

    fn gather_beyond(&self, begins: [usize; ROWS], along: Rows, rows: &mut [Cells]) {
        for (number, layer) in self.beyond.iter().enumerate() {
            let place = if number < BEYOND { number } else { number + along.length };
            for (slot, part) in turned(along.direction).into_iter().enumerate() {
                let values = &layer[part * self.plane()..(part + 1) * self.plane()];
                rows[place][slot] = begins.map(|begin| values[begin]);
            }
        }
    }

    fn scatter(&mut self, along: Rows, first: usize, rows: &[Cells]) {
        let (begins, count) = (self.begins(along, first), self.count());
        let inner = &rows[BEYOND..along.length + BEYOND];
        for (slot, part) in turned(along.direction).into_iter().enumerate() {
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
const fn turned(direction: usize) -> [usize; PARTS] {
    [0, 1 + direction, 1 + (direction + 1) % 3, 1 + (direction + 2) % 3, 4]
}

/// Closes rows to rings: the cells beyond one end repeat the other end.
fn close(rows: &mut [Cells]) {
    let length = rows.len() - 2 * BEYOND;
    for beyond in 0..BEYOND {
        rows[beyond] = rows[length + beyond];
        rows[length + BEYOND + beyond] = rows[BEYOND + beyond];
    }
}
