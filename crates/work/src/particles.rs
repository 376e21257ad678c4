//! Many independent random walks in three dimensions: arithmetic alone, with nothing shared.

pub mod movement;

use std::sync::atomic::AtomicBool;

use corewise_machine::random::Random;
use corewise_model::metric_line::MetricLine;

use crate::amount::{Amount, Span, Supply};
use crate::crew::crew;
use crate::{Company, Error, Limit, Report, Settings};
use movement::{MOVEMENTS, Movement, squared_length};

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
pub struct Options {
    /// Steps of a walk, 2 to 10,000.
    pub steps: u32,
}

impl Default for Options {
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
/// See [`Error`].
pub fn run(settings: &Settings, options: &Options, company: &mut Company<'_>) -> Result<Report, Error> {
    if !(2..=MOST_STEPS).contains(&options.steps) {
        let why = format!("{} is not between 2 and {MOST_STEPS}", options.steps);
        return Err(Error::Input { what: "steps".into(), why });
    }
    let walks = USUAL_STEPS / u64::from(options.steps);
    let amount = Amount::of(settings, walks / WALKS_PER_ITEM)?.at_least(FEWEST_WALKS / WALKS_PER_ITEM);
    let (mut rates, mut worst, mut checksum) = (Vec::new(), 0.0_f64, 0_u64);
    for (number, movement) in MOVEMENTS.iter().enumerate() {
        (company.progress)(&format!("walking with {} steps", movement.name));
        let seed = Random::new(settings.seed.wrapping_add(number as u64)).bits();
        let (tally, seconds) = all_walks(settings, options.steps, movement, seed, of_six(amount), company.stop)?;
        company.go_on()?;
        worst = worst.max(check(movement.name, options.steps, &tally)?);
        checksum = checksum.rotate_left(7).wrapping_add(tally.checksum);
        rates.push((movement.name, tally.walks as f64 * f64::from(options.steps) / seconds));
    }
    Ok(report(&rates, worst, amount.is_fixed().then_some(checksum)))
}

/// Returns one movement's share of the amount.
fn of_six(amount: Amount) -> Amount {
    match amount {
        Amount::Items(_) => amount,
        Amount::Time(time) => Amount::Time(time / MOVEMENTS.len() as u32),
    }
}

fn report(rates: &[(&str, f64)], worst: f64, checksum: Option<u64>) -> Report {
    let mean = (rates.iter().map(|(_, rate)| rate.ln()).sum::<f64>() / rates.len() as f64).exp();
    let each = rates.iter().map(|(name, rate)| MetricLine::new(format!("{name}_steps_per_second"), *rate));
    Report {
        metrics: std::iter::once(MetricLine::new("steps_per_second", mean)).chain(each).collect(),
        limit: Limit::Compute,
        checked: format!(
            "the mean end and the mean squared distance of each movement's walks match the closed forms; the largest \
                deviation is {worst:.1} standard errors ({TOLERANCE} allowed)"
        ),
        checksum,
    }
}

/// Sums over some walks, independent of their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    walks: u64,
    /// Sum of the ends, in 1 / FIXED.
    end: [i128; 3],
    /// Sum of the squared distances, in 1 / FIXED.
    squared: i128,
    /// Number of walks without a finite end.
    broken: u64,
    checksum: u64,
}

impl Tally {
    fn record(&mut self, end: [f64; 3]) {
        let fixed = |number: f64| (number * FIXED).round() as i128;
        self.walks += 1;
        (0..3).for_each(|axis| self.end[axis] += fixed(end[axis]));
        self.squared += fixed(squared_length(end));
        self.broken += u64::from(end.iter().any(|along| !along.is_finite()));
        let [x, y, z] = end.map(f64::to_bits);
        let mixed = Random::new(x ^ y.rotate_left(21) ^ z.rotate_left(42)).bits();
        self.checksum = self.checksum.wrapping_add(mixed);
    }

    fn add(mut self, other: &Self) -> Self {
        self.walks += other.walks;
        (0..3).for_each(|axis| self.end[axis] += other.end[axis]);
        self.squared += other.squared;
        self.broken += other.broken;
        self.checksum = self.checksum.wrapping_add(other.checksum);
        self
    }
}

/// Makes all walks of a movement; returns their sums and the seconds they took.
fn all_walks(
    settings: &Settings,
    steps: u32,
    movement: &Movement,
    seed: u64,
    amount: Amount,
    stop: &AtomicBool,
) -> Result<(Tally, f64), Error> {
    let supply = Supply::new(amount, stop);
    let work = |_| {
        Ok(Span::of(|| {
            let mut tally = Tally::default();
            while let Some(item) = supply.take() {
                some_walks(movement, steps, &mut Random::new(seed.wrapping_add(item)), &mut tally);
            }
            tally
        }))
    };
    let (tallies, spans): (Vec<Tally>, Vec<Span>) = crew(settings, "particles", work)?.into_iter().unzip();
    Ok((tallies.iter().fold(Tally::default(), Tally::add), Span::seconds(spans)))
}

fn some_walks(movement: &Movement, steps: u32, random: &mut Random, tally: &mut Tally) {
    for _ in 0..WALKS_PER_ITEM {
        tally.record((movement.walk)(random, steps));
    }
}

/// Returns the variance of the squared distance after a number of steps.
fn squared_distance_variance(steps: f64) -> f64 {
    2.0 / 3.0 * steps * (steps - 1.0)
}

/// Returns the largest deviation of a mean from its closed form, in standard errors.
///
/// # Errors
/// [`Error::Wrong`] if it is over the tolerance.
fn check(name: &str, steps: u32, tally: &Tally) -> Result<f64, Error> {
    let (steps, walks) = (f64::from(steps), tally.walks as f64);
    let mean = |sum: i128| sum as f64 / FIXED / walks;
    let off = |mean: f64, wanted: f64, variance: f64| (mean - wanted).abs() / (variance / walks).sqrt();
    let ends = tally.end.iter().map(|&end| off(mean(end), 0.0, steps / 3.0));
    let distance = off(mean(tally.squared), steps, squared_distance_variance(steps));
    let worst = ends.chain([distance]).fold(0.0, f64::max);
    if tally.broken > 0 {
        return Err(Error::Wrong(format!("{} walks of {name} steps have no valid end", tally.broken)));
    }
    if worst <= TOLERANCE {
        return Ok(worst);
    }
    let (end, squared) = (tally.end.map(mean), mean(tally.squared));
    Err(Error::Wrong(format!(
        "{walks} walks of {steps} {name} steps have the mean end {end:?} and the mean squared distance {squared}, a \
            deviation of {worst:.1} standard errors"
    )))
}

#[cfg(test)]
mod tests;
