//! Probability of a sum of Rayleigh statistics for random phases.

/// Returns the natural logarithm of the probability that the sum of `visits` independent standard exponential numbers
/// is above `sum`: half of a chi-squared variable with two degrees of freedom a visit.
///
/// The closed form for whole degrees, `exp(-z) * (1 + z + z^2 / 2! + … + z^(v - 1) / (v - 1)!)`, summed from its
/// largest end downwards so that nothing overflows.
pub fn log_upper_tail(sum: f64, visits: usize) -> f64 {
    if visits == 0 || sum <= 0.0 {
        return 0.0;
    }
    let (mut term, mut total, mut log_last) = (1.0, 1.0, 0.0);
    for power in (1..visits).rev() {
        log_last += (sum / power as f64).ln();
        term *= power as f64 / sum;
        total += term;
        // Below the mean the terms grow; the probability is then near one, and useless.
        if total > 1e200 {
            return 0.0;
        }
    }
    (log_last + total.ln() - sum).min(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice the sum against the chi-squared table: 1 % points of 2, 20 and 100 degrees of freedom.
    #[test]
    fn the_tail_is_that_of_the_tables() {
        for (point, visits) in [(9.210, 1), (37.566, 10), (135.807, 50)] {
            let probability = log_upper_tail(point / 2.0, visits).exp();
            assert!((probability - 0.01).abs() < 1e-5, "{probability} for {visits}");
        }
    }

    #[test]
    fn the_ends_are_finite() {
        assert_eq!(log_upper_tail(0.0, 5), 0.0);
        assert_eq!(log_upper_tail(3.0, 0), 0.0);
        assert!(log_upper_tail(1.0, 300) > -1e-9);
        assert!((log_upper_tail(2000.0, 1) + 2000.0).abs() < 1e-9);
        assert!(log_upper_tail(3000.0, 300).is_finite());
    }
}
