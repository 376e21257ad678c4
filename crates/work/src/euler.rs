//! A gas in a box, by the Euler equations in three dimensions: floating-point arithmetic over much memory, and threads that meet in each
//! step.

mod exchange;
pub mod gas;
mod gate;
pub mod riemann;
mod slab;
mod solver;
mod sweep;

use corewise_machine::random::RandomGenerator;
use corewise_model::metric_line::MetricLine;

use crate::amount::WorkAmount;
use crate::{WorkError, WorkloadHost, WorkloadLimit, WorkloadReport, WorkloadSettings};
use gas::{PrimitiveState, larger_or_nan, to_primitive};
use slab::PARTS;
use solver::{EulerProblem, EulerSolution, SolverEnd, solve_problem};

/// Cells times steps of the usual size.
const USUAL_UPDATES: u64 = 20_000_000;
/// Minimum cells of a box in each direction.
const FEWEST: usize = 4;
/// Maximum cells of a box in all: 2.7 GB.
const MOST: usize = 1 << 26;
/// Cells of each of Sod's two tubes; the box is a ring, so there are two of them, back to back.
const TUBE: usize = 128;
/// Cells across a tube.
const ACROSS: usize = 4;
/// Maximum threads for the tubes; more would only wait for each other in so small a box.
const SOD_THREADS: usize = 8;
/// Time at which the gas in the tubes is checked: before the waves of the two meet.
const SOD_MOMENT: f64 = 0.2;
/// Tolerance of the mean distance from the exact density, velocity and pressure in Sod's tube.
const SOD_TOLERANCE: [f64; 3] = [0.006, 0.012, 0.005];

/// The workload's own options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EulerOptions {
    /// Cells of the box along x, y and z: at least 4 in each direction and at most 2^26 in all. A cell takes 40 bytes. Threads share the
    /// layers along z, so no more threads than layers are at work.
    pub shape: [usize; 3],
}

impl Default for EulerOptions {
    fn default() -> Self {
        Self { shape: [64, 64, 512] }
    }
}

/// Simulates a gas in a box that is a ring in each direction, in which some balls of gas under high pressure burst. Reports the cell
/// updates per second.
///
/// Each thread has some layers of the box, in memory that it touches first, and steps its cells along x, y and z (finite volumes,
/// MUSCL-Hancock, HLLC). In each step it reads two layers of each neighbour, and all threads agree on the length of the step. So a step is
/// as fast as its slowest thread. One core is limited by arithmetic, mostly divisions and square roots, at some hundred cycles an update.
/// Each step moves every cell three times from memory and back, 240 bytes. So many cores may be limited by memory: by the number of
/// channels they use, and by whether a thread stays on the node of its layers.
///
/// The result is checked. Mass, momentum and energy in the box are conserved up to rounding: a bound for 3 sweeps a step, and for the sums
/// themselves. The same solver, on up to eight threads, also runs Sod's shock tube along each of x, y and z. It must agree with the exact
/// solution of Riemann's problem in the mean over 128 cells to 0.006 in density, 0.012 in velocity and 0.005 in pressure.
///
/// # Errors
/// See [`WorkError`].
pub fn run(
    settings: &WorkloadSettings,
    options: &EulerOptions,
    company: &mut WorkloadHost<'_>,
) -> Result<WorkloadReport, WorkError> {
    let cells = count_cells(options.shape)?;
    let until = match WorkAmount::from_settings(settings, (USUAL_UPDATES / cells).max(1))? {
        WorkAmount::Items(steps) => SolverEnd::Steps(steps),
        WorkAmount::Time(time) => SolverEnd::Elapsed(time),
    };
    (company.progress)("simulating the gas");
    let balls = GasBalls::new(options.shape, settings.seed);
    let problem = EulerProblem { shape: options.shape, width: 1.0, gas: &|cell| balls.gas_in(cell), until };
    let solution = solve_problem(settings, &problem, company.stop)?;
    let lost = check_sums(&solution, options.shape)?;
    let checksum = matches!(until, SolverEnd::Steps(_)).then(|| cells_checksum(&solution));
    let (updates, EulerSolution { steps, seconds, .. }) = (cells as f64 * solution.steps as f64, solution);
    (company.progress)("checking with Sod's shock tube");
    let mut farthest = 0.0_f64;
    for direction in 0..3 {
        company.check_stop()?;
        let few = WorkloadSettings { threads: settings.threads.min(SOD_THREADS), ..settings.clone() };
        let tubes = solve_problem(&few, &sod_problem(direction), company.stop)?;
        farthest = farthest.max(check_sod(&tubes, direction)?);
    }
    Ok(WorkloadReport {
        metrics: vec![
            MetricLine::new("cell_updates_per_second", updates / seconds),
            MetricLine::new("steps_per_second", steps as f64 / seconds),
        ],
        limit: WorkloadLimit::Compute,
        checked: format!(
            "mass, momentum and energy are conserved to {lost:.1e}, and Sod's shock tube along x, y and z deviates \
                from the exact solution by {:.0} % of the tolerance",
            100.0 * farthest
        ),
        checksum,
    })
}

/// Returns the number of cells.
///
/// # Errors
/// [`WorkError::Input`] if there are too few or too many.
fn count_cells(shape: [usize; 3]) -> Result<u64, WorkError> {
    let cells = shape.into_iter().try_fold(1_usize, usize::checked_mul).filter(|&cells| cells <= MOST);
    let cells = cells.filter(|_| shape.into_iter().all(|along| along >= FEWEST));
    cells.map(|cells| cells as u64).ok_or_else(|| WorkError::Input {
        what: "shape".into(),
        why: format!("{shape:?} is not at least {FEWEST} cells in each direction and at most {MOST} in all"),
    })
}

/// Maximum balls; more do not change the gas much, and each cell tests all of them.
const MOST_BALLS: usize = 64;

/// Balls of gas under high pressure, one in each cube of the box up to [`MOST_BALLS`], in a gas that drifts.
struct GasBalls {
    shape: [usize; 3],
    balls: Vec<GasBall>,
}

struct GasBall {
    centre: [f64; 3],
    squared_radius: f64,
    pressure: f64,
}

impl GasBalls {
    fn new(shape: [usize; 3], seed: u64) -> Self {
        let size = shape.map(|cells| cells as f64);
        let shortest = size[0].min(size[1]).min(size[2]);
        let mut random = RandomGenerator::new(seed);
        let count = ((size[2] / shortest).round() as usize).clamp(1, MOST_BALLS);
        let ball = |_| GasBall {
            centre: size.map(|size| size * random.next_unit()),
            squared_radius: (shortest * (0.1 + 0.15 * random.next_unit())).powi(2),
            pressure: 2.0 + 8.0 * random.next_unit(),
        };
        Self { shape, balls: (0..count).map(ball).collect() }
    }

    /// Returns the gas in a cell.
    fn gas_in(&self, cell: [usize; 3]) -> PrimitiveState {
        let mut pressure = 0.1;
        for ball in &self.balls {
            let apart: [f64; 3] = std::array::from_fn(|axis| {
                let straight = (cell[axis] as f64 + 0.5 - ball.centre[axis]).abs();
                // Or the other way around.
                straight.min(self.shape[axis] as f64 - straight)
            });
            if apart.iter().map(|apart| apart * apart).sum::<f64>() < ball.squared_radius {
                pressure = ball.pressure.max(pressure);
            }
        }
        [1.0, 0.3, -0.2, 0.1, pressure]
    }
}

/// Builds two of Sod's tubes along a direction, back to back: the dense gas is in the middle half of the ring.
fn sod_problem(direction: usize) -> EulerProblem<'static> {
    let mut shape = [ACROSS; 3];
    shape[direction] = 2 * TUBE;
    let gas: &'static (dyn Fn([usize; 3]) -> PrimitiveState + Sync) = match direction {
        0 => &|cell| sod_gas(cell[0]),
        1 => &|cell| sod_gas(cell[1]),
        _ => &|cell| sod_gas(cell[2]),
    };
    EulerProblem { shape, width: 1.0 / TUBE as f64, gas, until: SolverEnd::Moment(SOD_MOMENT) }
}

fn sod_gas(place: usize) -> PrimitiveState {
    let [density, velocity, pressure] =
        if (TUBE / 2..3 * TUBE / 2).contains(&place) { riemann::SOD_LEFT } else { riemann::SOD_RIGHT };
    [density, velocity, 0.0, 0.0, pressure]
}

/// Returns the distance of the tubes from the exact solution, relative to the tolerance.
///
/// # Errors
/// [`WorkError::Wrong`] if it is over one, or if rows of cells differ.
fn check_sod(tubes: &EulerSolution, direction: usize) -> Result<f64, WorkError> {
    let mut apart = [0.0; 3];
    for place in 0..2 * TUBE {
        let mut cell = [0; 3];
        cell[direction] = place;
        let [density, velocity, pressure] = gas_along(tubes, cell, direction);
        cell[(direction + 1) % 3] = ACROSS - 1;
        cell[(direction + 2) % 3] = 1;
        if gas_along(tubes, cell, direction) != [density, velocity, pressure] {
            return Err(WorkError::Wrong(format!(
                "the rows of Sod's tube differ at cell {place} along axis {direction}"
            )));
        }
        // The second half of the ring is the tube itself, the first half its mirror image.
        let way = if place < TUBE { -1.0 } else { 1.0 };
        let from_middle = (place as f64 + 0.5 - TUBE as f64).abs() / TUBE as f64 - 0.5;
        let exact = riemann::gas_at(riemann::SOD_LEFT, riemann::SOD_RIGHT, from_middle / SOD_MOMENT);
        for (part, found) in [density, way * velocity, pressure].into_iter().enumerate() {
            apart[part] += (found - exact[part]).abs() / (2 * TUBE) as f64;
        }
    }
    let farthest = (0..3).map(|part| apart[part] / SOD_TOLERANCE[part]).fold(0.0, larger_or_nan);
    if farthest <= 1.0 {
        return Ok(farthest);
    }
    Err(WorkError::Wrong(format!(
        "Sod's tube along axis {direction} deviates by {apart:?} from the exact density, velocity and pressure; the \
            tolerance is {SOD_TOLERANCE:?}"
    )))
}

/// Returns density, velocity along a direction, and pressure in a cell.
fn gas_along(solution: &EulerSolution, cell: [usize; 3], direction: usize) -> riemann::GasState {
    let slab = solution.slabs.iter().find(|slab| slab.layers().contains(&cell[2]));
    let gas = slab.map_or([f64::NAN; PARTS], |slab| to_primitive(slab.cell_at(cell)));
    [gas[0], gas[1 + direction], gas[4]]
}

/// Returns the largest relative change of mass, momentum or energy.
///
/// # Errors
/// [`WorkError::Wrong`] if it is more than rounding.
fn check_sums(solution: &EulerSolution, shape: [usize; 3]) -> Result<f64, WorkError> {
    let [before, after] = solution.sums;
    // The largest momentum possible with all mass and all energy.
    let momentum = (2.0 * before[0] * before[4]).sqrt();
    let scale = [before[0], momentum, momentum, momentum, before[4]];
    let lost = (0..PARTS).map(|part| (after[part] - before[part]).abs() / scale[part]);
    let most = lost.fold(0.0, larger_or_nan);
    // Each of three sweeps rounds each cell three times; each sum rounds once per cell of a layer and once per layer.
    let roundings = 9 * solution.steps + 2 * (shape[0] * shape[1] + shape[2]) as u64;
    if most <= roundings as f64 * f64::EPSILON {
        return Ok(most);
    }
    Err(WorkError::Wrong(format!(
        "mass, momentum and energy were {before:?} and are {after:?}: a share of {most:e} is lost"
    )))
}

/// Returns a number that depends on every bit of every cell.
fn cells_checksum(solution: &EulerSolution) -> u64 {
    let layers = solution.slabs.iter().flat_map(|slab| slab.layers().map(move |layer| (slab, layer)));
    let values = layers.flat_map(|(slab, layer)| (0..PARTS).flat_map(move |part| slab.layer_part(layer, part)));
    values
        .fold(solution.steps, |sum, value| (sum ^ value.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}

#[cfg(test)]
mod tests;
