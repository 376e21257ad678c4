//! Medians, quantiles, and intervals that hold for any distribution.

use crate::normal::two_sided_deviate;

/// Standard deviations of a normal distribution in one median absolute deviation.
const NORMAL: f64 = 1.4826;
/// Variance of a median over that of a mean, for many normal values.
pub const VARIANCE_OF_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// Returns the median; the mean of the middle two for an even count; NaN without values. NaN values are left out.
pub fn median(values: &[f64]) -> f64 {
    match values {
        // Fast path: callers may ask for millions of single values.
        [value] => *value,
        _ => quantile(values, 0.5),
    }
}

/// Returns the quantile by linear interpolation between order statistics (type 7 of Hyndman and Fan 1996); NaN without
/// values. NaN values are left out.
pub fn quantile(values: &[f64], at: f64) -> f64 {
    let mut known = list_known(values);
    let Some(last) = known.len().checked_sub(1) else { return f64::NAN };
    let place = at.clamp(0.0, 1.0) * last as f64;
    let (place, share) = (place.floor() as usize, place.fract());
    let (_, low, above) = known.select_nth_unstable_by(place, f64::total_cmp);
    match above.iter().copied().min_by(f64::total_cmp) {
        Some(high) if share > 0.0 => *low + (high - *low) * share,
        _ => *low,
    }
}

/// Returns the quantile of rising values with weights, each value in the middle of its weight, by linear interpolation
/// (type 5 of Hyndman and Fan 1996 if all weights are equal); NaN without values.
pub fn weighted_quantile(sorted: impl Iterator<Item = (f64, f64)> + Clone, at: f64) -> f64 {
    let wanted = at * sorted.clone().map(|(_, weight)| weight).sum::<f64>();
    let (mut before, mut place_before) = (None, 0.0);
    let mut sum = 0.0;
    for (value, weight) in sorted {
        let place = sum + weight / 2.0;
        if place >= wanted {
            return match before {
                Some(before) if place > place_before => {
                    before + (value - before) * ((wanted - place_before) / (place - place_before))
                }
                _ => value,
            };
        }
        sum += weight;
        (before, place_before) = (Some(value), place);
    }
    before.unwrap_or(f64::NAN)
}

/// Returns the median distance from the median, scaled to estimate the standard deviation of normal values; NaN without
/// values.
pub fn median_deviation(values: &[f64]) -> f64 {
    let middle = median(values);
    NORMAL * median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>())
}

/// Returns half of the interquartile range: the spread behind "±"; `None` for fewer than two values.
pub fn half_range(values: &[f64]) -> Option<f64> {
    let usable = values.iter().filter(|value| value.is_finite()).count();
    (usable >= 2).then(|| (quantile(values, 0.75) - quantile(values, 0.25)) / 2.0)
}

/// Returns the least and the greatest value; infinity and negative infinity without values.
pub fn value_range(values: &[f64]) -> (f64, f64) {
    let (least, greatest) = (f64::INFINITY, f64::NEG_INFINITY);
    values.iter().fold((least, greatest), |(low, high), value| (low.min(*value), high.max(*value)))
}

/// Returns a confidence interval for the median from order statistics, valid for any distribution of independent
/// values.
///
/// Counts the pairs of order statistics (the sign test inverted): the interval between the `k`-th smallest and the
/// `k`-th largest misses the median with probability `2 P(Binomial(n, 1/2) < k)`. `None` if even the whole range covers
/// less than `confidence` (fewer than 6 values at 95 %, fewer than 8 at 99 %).
pub fn median_interval(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let sorted = sort_values(values);
    let count = sorted.len();
    if count > EXACT {
        // Far from both ends the binomial is normal, with the continuity correction of a half.
        let depth = (count as f64 - two_sided_deviate(1.0 - confidence) * (count as f64).sqrt()) / 2.0 - 0.5;
        let k = depth.floor() as usize;
        return Some((sorted[k], sorted[count - 1 - k]));
    }
    let mut term = 0.5_f64.powi(i32::try_from(count).ok()?);
    let mut below = 0.0;
    let mut depth = None;
    for k in 0..count.div_ceil(2) {
        below += term;
        if 2.0 * below > 1.0 - confidence {
            break;
        }
        depth = Some(k);
        term *= (count - k) as f64 / (k + 1) as f64;
    }
    depth.map(|k| (sorted[k], sorted[count - 1 - k]))
}

/// Maximum number of values for exact binomial probabilities; beyond about a thousand the first of them underflows.
const EXACT: usize = 500;

fn sort_values(values: &[f64]) -> Vec<f64> {
    let mut sorted = list_known(values);
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn list_known(values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|value| !value.is_nan()).collect()
}

/// Returns true if two intervals are disjoint.
pub fn are_apart(one: (f64, f64), other: (f64, f64)) -> bool {
    one.1 < other.0 || other.1 < one.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_takes_two_values() {
        assert_eq!(half_range(&[10.0, 20.0, 30.0, 40.0, 50.0]), Some(10.0));
        assert_eq!(half_range(&[10.0]), None);
    }

    #[test]
    fn quantiles_interpolate_as_everywhere_else() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(quantile(&[10.0, 20.0, 30.0, 40.0, 50.0], 0.9), 46.0);
        assert_eq!(median(&[f64::INFINITY, 2.0, 1.0]), 2.0, "no value is between it and the next");
        assert!(median(&[]).is_nan());
        assert_eq!(median(&[f64::NAN, 7.0]), 7.0);
    }

    #[test]
    fn weights_are_how_often_a_value_is_there() {
        let equal: Vec<(f64, f64)> = [1.0, 2.0, 3.0, 4.0].map(|value| (value, 1.0)).into();
        assert_eq!(weighted_quantile(equal.iter().copied(), 0.5), 2.5);
        assert_eq!([0.0, 1.0].map(|at| weighted_quantile(equal.iter().copied(), at)), [1.0, 4.0]);
        assert_eq!(weighted_quantile([(1.0, 1.0), (2.0, 98.0), (3.0, 1.0)].into_iter(), 0.5), 2.0);
        assert!(weighted_quantile(std::iter::empty(), 0.5).is_nan());
    }

    /// The depths are those of the sign test's table: n = 6 gives the range at 95 %, n = 20 the 6th and 15th value.
    #[test]
    fn intervals_have_the_depth_of_the_sign_test() {
        let values = |count: u32| (1..=count).map(f64::from).collect::<Vec<_>>();
        assert_eq!(median_interval(&values(5), 0.95), None);
        assert_eq!(median_interval(&values(6), 0.95), Some((1.0, 6.0)));
        assert_eq!(median_interval(&values(20), 0.95), Some((6.0, 15.0)));
        assert_eq!(median_interval(&values(7), 0.99), None);
        assert_eq!(median_interval(&values(8), 0.99), Some((1.0, 8.0)));
    }

    /// Both ways to have the depth agree where they meet, and many values have an interval too.
    #[test]
    fn intervals_of_many_values_are_those_of_the_normal_distribution() {
        let values = |count: u32| (1..=count).map(f64::from).collect::<Vec<_>>();
        assert_eq!(median_interval(&values(500), 0.95), Some((228.0, 273.0)));
        assert_eq!(median_interval(&values(501), 0.95), Some((229.0, 273.0)));
        assert_eq!(median_interval(&values(2000), 0.95), Some((956.0, 1045.0)));
        assert_eq!(median_interval(&values(130_816), 0.95), Some((65_054.0, 65_763.0)));
    }
}
