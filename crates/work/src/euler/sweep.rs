//! One step in one direction along several rows of cells at a time: MUSCL-Hancock with the minmod limiter.
//!
//! After B. van Leer, SIAM Journal on Scientific and Statistical Computing 5, 1984, and E. F. Toro, Riemann Solvers and Numerical Methods
//! for Fluid Dynamics, section 14.4.

use super::gas::{
    ConservedState, PrimitiveState, flux_between, larger_or_nan, sound_speed, state_flux, to_conserved, to_primitive,
};

/// Rows that are processed side by side, so that the compiler can use wide registers.
pub const ROWS: usize = 8;
/// Cells beyond each end of a row that its step reads.
pub const BEYOND: usize = 2;
/// The same cell of all rows: the values of each variable together.
pub type RowCells = [[f64; ROWS]; 5];

/// Steps all rows. `cells` are the rows with [`BEYOND`] more cells at each end, which stay unchanged. `ratio` is the step's time divided by
/// the width of a cell.
pub fn sweep_rows(cells: &mut [RowCells], ratio: f64) {
    let count = cells.len();
    if count < 2 * BEYOND + 1 {
        return;
    }
    let (mut before, mut own) = (to_primitives(&cells[0]), to_primitives(&cells[1]));
    let (mut right, mut inflow) = ([[0.0; ROWS]; 5], None::<RowCells>);
    for place in 1..count - 1 {
        let next = to_primitives(&cells[place + 1]);
        let (edge_left, edge_right) = cell_edges(&cells[place], &before, &own, &next, ratio);
        if place > 1 {
            let outflow = edge_fluxes(&right, &edge_left);
            if let Some(inflow) = inflow {
                update_cells(&mut cells[place - 1], &inflow, &outflow, ratio);
            }
            inflow = Some(outflow);
        }
        (right, before, own) = (edge_right, own, next);
    }
}

/// Returns the largest speed of a wave in any direction in the cells.
pub fn fastest_wave(cells: &[RowCells]) -> f64 {
    let mut fastest = [0.0_f64; ROWS];
    for cell in cells {
        for (row, fastest) in fastest.iter_mut().enumerate() {
            let [density, u, v, w, pressure] = to_primitive(row_of(cell, row));
            let speed = u.abs().max(v.abs()).max(w.abs()) + sound_speed(density, pressure);
            *fastest = larger_or_nan(*fastest, speed);
        }
    }
    fastest.into_iter().fold(0.0, larger_or_nan)
}

#[inline(always)]
fn row_of(cells: &RowCells, row: usize) -> [f64; 5] {
    [cells[0][row], cells[1][row], cells[2][row], cells[3][row], cells[4][row]]
}

#[inline(always)]
fn put_row(cells: &mut RowCells, row: usize, values: [f64; 5]) {
    for part in 0..5 {
        cells[part][row] = values[part];
    }
}

#[inline(always)]
fn to_primitives(cells: &RowCells) -> RowCells {
    let mut found = [[0.0; ROWS]; 5];
    for row in 0..ROWS {
        put_row(&mut found, row, to_primitive(row_of(cells, row)));
    }
    found
}

#[inline(always)]
fn cell_edges(
    state: &RowCells,
    before: &RowCells,
    own: &RowCells,
    next: &RowCells,
    ratio: f64,
) -> (RowCells, RowCells) {
    let (mut left, mut right) = ([[0.0; ROWS]; 5], [[0.0; ROWS]; 5]);
    for row in 0..ROWS {
        let (l, r) = edges_of(row_of(state, row), row_of(before, row), row_of(own, row), row_of(next, row), ratio);
        put_row(&mut left, row, l);
        put_row(&mut right, row, r);
    }
    (left, right)
}

#[inline(always)]
fn edge_fluxes(left: &RowCells, right: &RowCells) -> RowCells {
    let mut found = [[0.0; ROWS]; 5];
    for row in 0..ROWS {
        put_row(&mut found, row, flux_between(row_of(left, row), row_of(right, row)));
    }
    found
}

#[inline(always)]
fn update_cells(cells: &mut RowCells, inflow: &RowCells, outflow: &RowCells, ratio: f64) {
    for part in 0..5 {
        for row in 0..ROWS {
            cells[part][row] += ratio * (inflow[part][row] - outflow[part][row]);
        }
    }
}

/// Returns the states at a cell's two edges after half of the step. A cell that might lose more than it holds is treated as constant.
#[inline(always)]
fn edges_of(
    state: ConservedState,
    before: PrimitiveState,
    own: PrimitiveState,
    next: PrimitiveState,
    ratio: f64,
) -> (ConservedState, ConservedState) {
    let slope: PrimitiveState =
        std::array::from_fn(|part| 0.5 * min_mod(own[part] - before[part], next[part] - own[part]));
    let left: PrimitiveState = std::array::from_fn(|part| own[part] - slope[part]);
    let right: PrimitiveState = std::array::from_fn(|part| own[part] + slope[part]);
    let (left_state, right_state) = (to_conserved(left), to_conserved(right));
    let (inflow, outflow) = (state_flux(left_state, left), state_flux(right_state, right));
    let change: ConservedState = std::array::from_fn(|part| 0.5 * ratio * (inflow[part] - outflow[part]));
    let left_state: ConservedState = std::array::from_fn(|part| left_state[part] + change[part]);
    let right_state: ConservedState = std::array::from_fn(|part| right_state[part] + change[part]);
    // As thirds of the cell: the excess at the edges must be left in the middle (C. Berthon, Numerische Mathematik 104, 2006).
    let middle: ConservedState = std::array::from_fn(|part| 3.0 * state[part] - left_state[part] - right_state[part]);
    let is_even = !(is_gas(left_state) & is_gas(middle) & is_gas(right_state));
    let pick = |edge: ConservedState| std::array::from_fn(|part| if is_even { state[part] } else { edge[part] });
    (pick(left_state), pick(right_state))
}

/// Returns true if density is positive, and energy exceeds kinetic energy.
#[inline(always)]
fn is_gas([density, normal, first, second, energy]: ConservedState) -> bool {
    (density > 0.0) & (2.0 * density * energy > normal * normal + first * first + second * second)
}

/// Returns the smaller of two differences if both have the same sign, otherwise zero.
#[inline(always)]
fn min_mod(a: f64, b: f64) -> f64 {
    let smaller = if a.abs() < b.abs() { a } else { b };
    if a * b > 0.0 { smaller } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use corewise_machine::random::RandomGenerator;

    use super::*;

    const LENGTH: usize = 24;

    /// Rows of gases as different as can be, closed to rings.
    fn random_rows(random: &mut RandomGenerator, mach: f64) -> Vec<RowCells> {
        let mut cells = vec![[[0.0; ROWS]; 5]; LENGTH + 2 * BEYOND];
        for cell in &mut cells[BEYOND..LENGTH + BEYOND] {
            for row in 0..ROWS {
                let [density, pressure] = [(); 2].map(|()| 10_f64.powf(6.0 * random.next_unit() - 3.0));
                let speed = mach * sound_speed(density, pressure);
                let [u, v, w] = [(); 3].map(|()| speed * (2.0 * random.next_unit() - 1.0));
                put_row(cell, row, to_conserved([density, u, v, w, pressure]));
            }
        }
        close(&mut cells);
        cells
    }

    fn close(cells: &mut [RowCells]) {
        for beyond in 0..BEYOND {
            cells[beyond] = cells[LENGTH + beyond];
            cells[LENGTH + BEYOND + beyond] = cells[BEYOND + beyond];
        }
    }

    fn inner(cells: &[RowCells]) -> &[RowCells] {
        &cells[BEYOND..LENGTH + BEYOND]
    }

    /// Of eight thousand rings of each of three kinds: still, some times as fast as sound, and much faster.
    #[test]
    fn density_and_pressure_stay_positive() {
        for mach in [0.0, 3.0, 20.0] {
            let mut random = RandomGenerator::new(11);
            for ring in 0..1000 {
                let mut cells = random_rows(&mut random, mach);
                for step in 0..4 {
                    let ratio = 0.4 / fastest_wave(inner(&cells));
                    sweep_rows(&mut cells, ratio);
                    close(&mut cells);
                    for cell in inner(&cells) {
                        for row in 0..ROWS {
                            let gas = to_primitive(row_of(cell, row));
                            assert!(gas[0] > 0.0 && gas[4] > 0.0, "mach {mach}, ring {ring}, step {step}: {gas:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_conserved_is_conserved() {
        let mut cells = random_rows(&mut RandomGenerator::new(5), 1.0);
        let sums = |cells: &[RowCells]| -> [f64; 5] {
            std::array::from_fn(|part| inner(cells).iter().flat_map(|cell| cell[part]).sum())
        };
        let before = sums(&cells);
        let ratio = 0.4 / fastest_wave(inner(&cells));
        sweep_rows(&mut cells, ratio);
        let after = sums(&cells);
        let scale = before[0] + before[4];
        assert!((0..5).all(|part| (before[part] - after[part]).abs() < 1e-12 * scale), "{before:?} {after:?}");
        sweep_rows(&mut cells[..4], ratio);
        assert_eq!(sums(&cells), after, "rows of no cell are left alone");
    }

    #[test]
    fn an_even_gas_stays_as_it_is_and_each_row_goes_its_own_way() {
        let gas = to_conserved([1.5, 0.7, -0.2, 0.3, 2.0]);
        let mut cells = vec![[[0.0; ROWS]; 5]; LENGTH + 2 * BEYOND];
        cells.iter_mut().for_each(|cell| (0..ROWS).for_each(|row| put_row(cell, row, gas)));
        sweep_rows(&mut cells, 0.1);
        for cell in &cells {
            let found = row_of(cell, 3);
            assert!((0..5).all(|part| (found[part] - gas[part]).abs() < 1e-14), "{found:?}");
        }
        // The same ring in another row gives the same.
        let mut cells = random_rows(&mut RandomGenerator::new(3), 1.0);
        cells.iter_mut().for_each(|cell| put_row(cell, 6, row_of(cell, 1)));
        let ratio = 0.4 / fastest_wave(inner(&cells));
        sweep_rows(&mut cells, ratio);
        assert!(cells.iter().all(|cell| row_of(cell, 1) == row_of(cell, 6)));
        assert!(cells.iter().any(|cell| row_of(cell, 1) != row_of(cell, 2)));
    }

    #[test]
    fn what_is_no_number_is_the_fastest() {
        let mut cells = random_rows(&mut RandomGenerator::new(3), 1.0);
        cells[5][4][2] = f64::NAN;
        assert!(fastest_wave(&cells).is_nan());
    }
}
