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
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let fewest = ((SMALLER * sorted.len() as f64).ceil() as usize).max(2);
    if sorted.len() < FEWEST {
        return 1;
    }
    let split = (fewest..=sorted.len() - fewest).map(|at| sorted.split_at(at));
    let best = split
        .map(|(low, high)| (sample_moments(low), sample_moments(high)))
        .min_by(|a, b| variance_within(a).total_cmp(&variance_within(b)));
    best.map_or(1, |(low, high)| 1 + u32::from(are_apart(&low, &high)))
}

/// Returns count, mean and variance.
fn sample_moments(values: &[f64]) -> (f64, f64, f64) {
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle) * (value - middle)).sum();
    (values.len() as f64, middle, squares / values.len() as f64)
}

fn variance_within((low, high): &((f64, f64, f64), (f64, f64, f64))) -> f64 {
    low.0 * low.2 + high.0 * high.2
}

fn are_apart(low: &(f64, f64, f64), high: &(f64, f64, f64)) -> bool {
    let distance = high.1 - low.1;
    distance > SEPARATION * ((low.2 + high.2) / 2.0).sqrt()
}
