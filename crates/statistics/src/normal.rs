//! Tail of the normal distribution, and the expanded percentiles of a bootstrap interval.

use crate::student::t_value;

/// The two-sided 5 % point of the standard normal distribution.
const TWO_SIDED_95: f64 = 1.959_964;

/// Returns the probability that a standard normal number is above `z`, for `z` of at least 0, to 1e-7 (Zelen and
/// Severo, formula 26.2.17 of Abramowitz and Stegun's "Handbook of Mathematical Functions", 1964).
pub fn upper_tail(z: f64) -> f64 {
    const TERMS: [f64; 5] = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let step = 1.0 / (1.0 + 0.231_641_9 * z);
    let sum = TERMS.iter().rev().fold(0.0, |sum, term| (sum + term) * step);
    sum * (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

/// Returns the deviate beyond which a standard normal number is with a probability of `alpha`, on both sides together.
pub fn two_sided_deviate(alpha: f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if 2.0 * upper_tail(middle) > alpha { low = middle } else { high = middle }
    }
    high
}

/// Returns the share of a bootstrap's draws to cut off on each side for an interval of 95 % from few values (at least
/// two). It is the normal tail beyond `t sqrt(n / (n - 1))`, with `t` Student's two-sided 5 % point (Hesterberg's
/// expanded percentile interval, "What teachers should know about the bootstrap", 2015).
pub fn expanded_tail_95(values: usize) -> f64 {
    let (count, free) = (values as f64, values as f64 - 1.0);
    upper_tail(t_value(TWO_SIDED_95, free) * (count / free).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_the_tables() {
        for (z, tail) in [(0.0, 0.5), (1.0, 0.158_655_3), (1.959_964, 0.025), (3.090_232, 0.001)] {
            assert!((upper_tail(z) - tail).abs() < 2e-7, "{z}");
        }
    }

    /// With many values it is the usual 2.5 %; with few, much less is cut off. 0.0159: t is 2.093 for 20 values.
    #[test]
    fn fewer_values_are_cut_less() {
        let of = expanded_tail_95;
        assert!((of(100_000) - 0.025).abs() < 1e-4 && (of(20) - 0.0159).abs() < 2e-4, "{} {}", of(100_000), of(20));
        assert!(of(4) < 0.001 && of(4) > 0.0 && of(5) > of(4));
    }
}
