//! Shape of a distribution: its modes.

/// Minimum number of runs for two modes.
const FEWEST: usize = 10;
/// Minimum share of runs in the smaller mode.
const SMALLER: f64 = 0.2;
/// Minimum Ashman's D between the halves of the best split for two modes. The halves of a normal distribution have
/// 2.65, the halves of a uniform one 3.46.
const SEPARATION: f64 = 4.5;

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the number of modes: 2 if the split into two groups with the least variance within (Otsu) leaves groups that
/// are far apart.
pub(super) fn count_modes(values: &[f64]) -> u32 {
    1 + u32::from(split_values(values).is_some())
}

/// Returns the least value of the upper of two modes.
pub fn split_values(values: &[f64]) -> Option<f64> {
    let fewest = ((SMALLER * values.len() as f64).ceil() as usize).max(2);
    if values.len() < FEWEST { None } else { split_modes(values, fewest) }
}

/// Returns the least value of the upper of two groups of at least `fewest` values each that are far apart.
pub(super) fn split_modes(values: &[f64], fewest: usize) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (count, middle) = (sorted.len(), mean(&sorted));
    // The variance between the groups: the least within is the most between.
    let mut sum = 0.0;
    let between = sorted.iter().zip(1..).map(|(value, at)| {
        sum += value - middle;
        (at, sum * sum / (at * (count - at)).max(1) as f64)
    });
    let places = fewest..=count.checked_sub(fewest)?;
    let best = between.filter(|(at, _)| places.contains(at)).max_by(|a, b| a.1.total_cmp(&b.1));
    let at = best.map(|(at, _)| at)?;
    let (low, high) = sorted.split_at(at);
    are_apart(&sample_moments(low), &sample_moments(high)).then(|| high[0])
}

/// Returns the mean and the variance.
fn sample_moments(values: &[f64]) -> (f64, f64) {
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle) * (value - middle)).sum();
    (middle, squares / values.len() as f64)
}

fn are_apart(low: &(f64, f64), high: &(f64, f64)) -> bool {
    let distance = high.0 - low.0;
    distance > SEPARATION * ((low.1 + high.1) / 2.0).sqrt()
}
