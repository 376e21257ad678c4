//! An image in bands of rows, one for each thread.

use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Columns and rows that are transposed at a time, so that source and destination stay in the nearest cache.
const TILE: usize = 16;

/// Values in rows. Thread `k` alone writes band `k`. Others read it only between meetings in which it is not written, so that no lock is
/// ever contended.
pub struct BandedPlane<T> {
    width: usize,
    height: usize,
    bands: Vec<RwLock<Vec<T>>>,
}

impl<T: Copy + Default> BandedPlane<T> {
    /// Creates rows of a width in bands, without memory yet.
    pub fn new(width: usize, height: usize, bands: usize) -> Self {
        Self { width, height, bands: (0..bands).map(|_| RwLock::default()).collect() }
    }

    /// Allocates a band; call it on the thread that will use it, so that the memory lies on its node.
    pub fn allocate_band(&self, band: usize) {
        *self.write_band(band) = vec![T::default(); self.band_rows(band).len() * self.width];
    }

    /// Returns the length of a row.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Returns the rows of a band; empty if there are more bands than rows.
    pub const fn band_rows(&self, band: usize) -> Range<usize> {
        let bands = self.bands.len();
        band * self.height / bands..(band + 1) * self.height / bands
    }

    /// Returns the band of a row.
    pub const fn band_with_row(&self, row: usize) -> usize {
        // The first band that ends behind it.
        ((row + 1) * self.bands.len()).div_ceil(self.height) - 1
    }

    /// Locks a band for its thread to write.
    pub fn write_band(&self, band: usize) -> RwLockWriteGuard<'_, Vec<T>> {
        self.bands[band].write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks a band for reading, with at most `more` rows above and below it.
    pub fn read_around(&self, band: usize, more: usize) -> PlaneWindow<'_, T> {
        let rows = self.band_rows(band);
        self.read_rows(rows.start.saturating_sub(more)..(rows.end + more).min(self.height))
    }

    /// Locks some rows for reading.
    pub fn read_rows(&self, rows: Range<usize>) -> PlaneWindow<'_, T> {
        let overlaps = |band: &usize| {
            let band = self.band_rows(*band);
            band.start.max(rows.start) < band.end.min(rows.end)
        };
        let lock =
            |band: usize| (self.band_rows(band), self.bands[band].read().unwrap_or_else(PoisonError::into_inner));
        let bands = (0..self.bands.len()).filter(overlaps).map(lock).collect();
        PlaneWindow { width: self.width, height: self.height, bands }
    }

    /// Locks all rows for reading.
    pub fn read_all(&self) -> PlaneWindow<'_, T> {
        self.read_rows(0..self.height)
    }

    /// Returns all values, row by row.
    pub fn copy_values(&self) -> Vec<T> {
        self.read_all().bands.iter().flat_map(|(_, band)| band.iter().copied()).collect()
    }
}

/// Rows of a plane locked for reading.
pub struct PlaneWindow<'a, T> {
    width: usize,
    /// Height of the whole plane.
    height: usize,
    bands: Vec<(Range<usize>, RwLockReadGuard<'a, Vec<T>>)>,
}

impl<T: Copy> PlaneWindow<'_, T> {
    /// Returns a row, by its number in the plane.
    ///
    /// # Panics
    /// If it is not among the locked rows.
    #[inline]
    pub fn row_at(&self, row: usize) -> &[T] {
        let band = self.bands.partition_point(|(rows, _)| rows.end <= row);
        let (rows, values) = &self.bands[band];
        let begin = (row - rows.start) * self.width;
        &values[begin..begin + self.width]
    }

    /// Returns a value, by its number in the plane, row by row.
    #[inline]
    pub fn value_at(&self, number: usize) -> T {
        self.row_at(number / self.width)[number % self.width]
    }

    /// Returns a row; the first or the last of the plane if the number is outside.
    #[inline]
    pub fn clamped_row(&self, row: isize) -> &[T] {
        self.row_at(row.clamp(0, self.height as isize - 1) as usize)
    }

    /// Transposes columns to rows: `turned` gets one row for each of these columns, from top to bottom. All rows must be locked.
    pub fn turn_columns(&self, columns: Range<usize>, turned: &mut [T]) {
        for left in columns.clone().step_by(TILE) {
            let right = (left + TILE).min(columns.end);
            for top in (0..self.height).step_by(TILE) {
                for row in top..(top + TILE).min(self.height) {
                    let values = &self.row_at(row)[left..right];
                    let begin = (left - columns.start) * self.height + row;
                    for (value, place) in values.iter().zip(turned[begin..].iter_mut().step_by(self.height)) {
                        *place = *value;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_in_their_bands_and_columns_turn_into_rows() {
        for bands in [1, 2, 5, 37, 50] {
            let (width, height) = (19, 37);
            let plane = BandedPlane::<usize>::new(width, height, bands);
            for band in 0..bands {
                plane.allocate_band(band);
                let first = plane.band_rows(band).start * width;
                plane.write_band(band).iter_mut().enumerate().for_each(|(number, value)| *value = first + number);
            }
            assert_eq!(plane.copy_values(), (0..width * height).collect::<Vec<_>>());
            assert!((0..height).all(|row| plane.band_rows(plane.band_with_row(row)).contains(&row)));
            let all = plane.read_all();
            assert!(
                (0..height)
                    .all(|row| all.row_at(row)[3] == row * width + 3 && all.value_at(row * width) == row * width)
            );
            assert_eq!((all.clamped_row(-3)[0], all.clamped_row(99)[0]), (0, 36 * width));
            let mut turned = vec![0; 17 * height];
            all.turn_columns(2..19, &mut turned);
            assert!(
                turned.iter().enumerate().all(|(place, value)| *value == place % height * width + 2 + place / height)
            );
            assert_eq!(plane.read_around(bands - 1, 1).clamped_row(40)[18], width * height - 1);
        }
    }
}
