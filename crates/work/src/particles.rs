//! Many independent random walks in three dimensions: arithmetic alone, with nothing shared.

pub mod movement;

use std::sync::atomic::AtomicBool;

use corewise_machine::random::RandomGenerator;
use corewise_model::metric_line::MetricLine;

use crate::amount::{ItemSupply, WorkAmount, WorkSpan};
use crate::crew::run_crew;
use crate::{WorkError, WorkloadHost, WorkloadLimit, WorkloadReport, WorkloadSettings};
use movement::{MOVEMENTS, WalkMovement, squared_length};

/// Walks that a thread takes at a time: about 0.1 ms of the quickest movement and less than 1 ms of the slowest.
const WALKS_PER_ITEM: u64 = 8;
/// Steps of each movement in the usual size.
const USUAL_STEPS: u64 = 20_000_000;
/// Minimum number of walks. With fewer, the mean is not yet normal, and six standard errors would be too strict.
const FEWEST_WALKS: u64 = 256;
/// Maximum steps of a walk; a longer one would look at the stop flag too rarely.
const MOST_STEPS: u32 = 10_000;
/// Largest deviation of a mean from its exact value, in standard errors: exceeded once in five hundred million.
const TOLERANCE: f64 = 6.0;
/// Distances are summed as integer multiples of 1 / this, so that the order does not matter.
const FIXED: f64 = (1_u64 << 20) as f64;

/// The workload's own options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticlesOptions {
    /// Steps of a walk, 2 to 10,000.
    pub steps: u32,
}

impl Default for ParticlesOptions {
    fn default() -> Self {
        Self { steps: 1000 }
    }
}

/// Walks with each of six ways to draw a step of length one. Reports the steps per second of each and their geometric mean, in which a
/// percent counts the same for every movement.
///
/// The limit is arithmetic: a thread works in its registers and meets others once in a millisecond, when it takes the next walks. It is
/// faster with each core, and with a higher clock. Two threads of one core share that core's units. That helps more with a movement that
/// waits (`normal`: logarithms and cosines in a row; `disc`, `cube`: unpredictable branches) than with one without waits.
///
/// For each movement the result is checked against two closed forms. Steps that are independent, of length one and isotropic end at the
/// origin in the mean, with a variance of n/3 along each axis, and at a mean squared distance of n. That distance is n + 2 Σ u·v over all
/// pairs of different steps. The pairs are uncorrelated, and the mean of (u·v)² is 1/3, on the sphere and on the lattice. So its variance
/// is 2/3 n (n - 1). Each mean must be within six standard errors.
///
/// # Errors
/// See [`WorkError`].
pub fn run(
    settings: &WorkloadSettings,
    options: &ParticlesOptions,
    company: &mut WorkloadHost<'_>,
) -> Result<WorkloadReport, WorkError> {
    if !(2..=MOST_STEPS).contains(&options.steps) {
        let why = format!("{} is not between 2 and {MOST_STEPS}", options.steps);
        return Err(WorkError::Input { what: "steps".into(), why });
    }
    let walks = USUAL_STEPS / u64::from(options.steps);
    let amount = WorkAmount::from_settings(settings, walks / WALKS_PER_ITEM)?.at_least(FEWEST_WALKS / WALKS_PER_ITEM);
    let (mut rates, mut worst, mut checksum) = (Vec::new(), 0.0_f64, 0_u64);
    for (number, movement) in MOVEMENTS.iter().enumerate() {
        (company.progress)(&format!("walking with {} steps", movement.name));
        let seed = RandomGenerator::new(settings.seed.wrapping_add(number as u64)).next_bits();
        let (tally, seconds) = walk_all(settings, options.steps, movement, seed, sixth_of(amount), company.stop)?;
        company.check_stop()?;
        worst = worst.max(check_walks(movement.name, options.steps, &tally)?);
        checksum = checksum.rotate_left(7).wrapping_add(tally.checksum);
        rates.push((movement.name, tally.walks as f64 * f64::from(options.steps) / seconds));
    }
    Ok(build_report(&rates, worst, amount.is_fixed().then_some(checksum)))
}

/// Returns one movement's share of the amount.
fn sixth_of(amount: WorkAmount) -> WorkAmount {
    match amount {
        WorkAmount::Items(_) => amount,
        WorkAmount::Time(time) => WorkAmount::Time(time / MOVEMENTS.len() as u32),
    }
}

fn build_report(rates: &[(&str, f64)], worst: f64, checksum: Option<u64>) -> WorkloadReport {
    let mean = (rates.iter().map(|(_, rate)| rate.ln()).sum::<f64>() / rates.len() as f64).exp();
    let each = rates.iter().map(|(name, rate)| MetricLine::new(format!("{name}_steps_per_second"), *rate));
    WorkloadReport {
        metrics: std::iter::once(MetricLine::new("steps_per_second", mean)).chain(each).collect(),
        limit: WorkloadLimit::Compute,
        checked: format!(
            "the mean end and the mean squared distance of each movement's walks match the closed forms; the largest \
                deviation is {worst:.1} standard errors ({TOLERANCE} allowed)"
        ),
        checksum,
    }
}

/// Sums over some walks, independent of their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct WalkTally {
    walks: u64,
    /// Sum of the ends, in 1 / FIXED.
    end: [i128; 3],
    /// Sum of the squared distances, in 1 / FIXED.
    squared: i128,
    /// Number of walks without a finite end.
    broken: u64,
    checksum: u64,
}

impl WalkTally {
    fn record_walk(&mut self, end: [f64; 3]) {
        let fixed = |number: f64| (number * FIXED).round() as i128;
        self.walks += 1;
        (0..3).for_each(|axis| self.end[axis] += fixed(end[axis]));
        self.squared += fixed(squared_length(end));
        self.broken += u64::from(end.iter().any(|along| !along.is_finite()));
        let [x, y, z] = end.map(f64::to_bits);
        let mixed = RandomGenerator::new(x ^ y.rotate_left(21) ^ z.rotate_left(42)).next_bits();
        self.checksum = self.checksum.wrapping_add(mixed);
    }

    fn add_tally(mut self, other: &Self) -> Self {
        self.walks += other.walks;
        (0..3).for_each(|axis| self.end[axis] += other.end[axis]);
        self.squared += other.squared;
        self.broken += other.broken;
        self.checksum = self.checksum.wrapping_add(other.checksum);
        self
    }
}

/// Makes all walks of a movement; returns their sums and the seconds they took.
fn walk_all(
    settings: &WorkloadSettings,
    steps: u32,
    movement: &WalkMovement,
    seed: u64,
    amount: WorkAmount,
    stop: &AtomicBool,
) -> Result<(WalkTally, f64), WorkError> {
    let supply = ItemSupply::new(amount, stop);
    let work = |_| {
        Ok(WorkSpan::time_work(|| {
            let mut tally = WalkTally::default();
            while let Some(item) = supply.take_item() {
                walk_some(movement, steps, &mut RandomGenerator::new(seed.wrapping_add(item)), &mut tally);
            }
            tally
        }))
    };
    let (tallies, spans): (Vec<WalkTally>, Vec<WorkSpan>) = run_crew(settings, "particles", work)?.into_iter().unzip();
    Ok((tallies.iter().fold(WalkTally::default(), WalkTally::add_tally), WorkSpan::total_seconds(spans)))
}

fn walk_some(movement: &WalkMovement, steps: u32, random: &mut RandomGenerator, tally: &mut WalkTally) {
    for _ in 0..WALKS_PER_ITEM {
        tally.record_walk((movement.walk)(random, steps));
    }
}

/// Returns the variance of the squared distance after a number of steps.
fn squared_distance_variance(steps: f64) -> f64 {
    2.0 / 3.0 * steps * (steps - 1.0)
}

/// Returns the largest deviation of a mean from its closed form, in standard errors.
///
/// # Errors
/// [`WorkError::Wrong`] if it is over the tolerance.
fn check_walks(name: &str, steps: u32, tally: &WalkTally) -> Result<f64, WorkError> {
    let (steps, walks) = (f64::from(steps), tally.walks as f64);
    let mean = |sum: i128| sum as f64 / FIXED / walks;
    let off = |mean: f64, wanted: f64, variance: f64| (mean - wanted).abs() / (variance / walks).sqrt();
    let ends = tally.end.iter().map(|&end| off(mean(end), 0.0, steps / 3.0));
    let distance = off(mean(tally.squared), steps, squared_distance_variance(steps));
    let worst = ends.chain([distance]).fold(0.0, f64::max);
    if tally.broken > 0 {
        return Err(WorkError::Wrong(format!("{} walks of {name} steps have no valid end", tally.broken)));
    }
    if worst <= TOLERANCE {
        return Ok(worst);
    }
    let (end, squared) = (tally.end.map(mean), mean(tally.squared));
    Err(WorkError::Wrong(format!(
        "{walks} walks of {steps} {name} steps have the mean end {end:?} and the mean squared distance {squared}, a \
            deviation of {worst:.1} standard errors"
    )))
}

#[cfg(test)]
mod tests;
