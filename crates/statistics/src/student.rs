//! Student's t distribution, as corresponding normal deviates.

/// Returns the standard normal deviate as improbable as Student's `t` with these degrees of freedom, by Wallace's
/// approximation ("Bounds on normal approximations to Student's and the chi-square distributions", 1959).
pub fn normal_deviate(t: f64, degrees_of_freedom: f64) -> f64 {
    let (free, squared) = (degrees_of_freedom, t * t);
    (free * (1.0 + squared / free).ln()).sqrt().copysign(t) * (8.0 * free + 1.0) / (8.0 * free + 3.0)
}

/// Returns the `t` with these degrees of freedom that is as improbable as a standard normal deviate of at least 0: the
/// inverse of [`normal_deviate`].
pub fn t_value(deviate: f64, degrees_of_freedom: f64) -> f64 {
    let free = degrees_of_freedom;
    let scaled = deviate * (8.0 * free + 3.0) / (8.0 * free + 1.0);
    (free * (scaled * scaled / free).exp_m1()).sqrt()
}

/// Computes Welch's test of two samples with unequal variances, as a normal deviate: beyond ±1.96 the means differ at 5
/// %. `None` if a sample has fewer than two values, or if neither varies.
pub fn welch_deviate(first: &[f64], second: &[f64]) -> Option<f64> {
    let (a, b) = (SampleMoments::from_values(first)?, SampleMoments::from_values(second)?);
    let error = a.error_squared + b.error_squared;
    let free = error * error / (a.error_squared.powi(2) / a.free + b.error_squared.powi(2) / b.free);
    (error > 0.0).then(|| normal_deviate((a.mean - b.mean) / error.sqrt(), free))
}

struct SampleMoments {
    mean: f64,
    /// The squared standard error of the mean.
    error_squared: f64,
    free: f64,
}

impl SampleMoments {
    fn from_values(values: &[f64]) -> Option<Self> {
        let (count, free) = (values.len() as f64, values.len() as f64 - 1.0);
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        (free > 0.0).then(|| Self { mean, error_squared: squares / free / count, free })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviates_are_those_of_the_tables() {
        // The two-sided 5 % points of t.
        for (t, free) in [(2.571, 5.0), (2.228, 10.0), (2.042, 30.0)] {
            assert!((normal_deviate(t, free) - 1.960).abs() < 0.01, "{t} with {free}");
            assert!((normal_deviate(-t, free) + 1.960).abs() < 0.01);
        }
    }

    #[test]
    fn a_deviate_and_its_t_belong_together() {
        for (deviate, free) in [(0.0, 3.0), (1.0, 3.0), (1.96, 4.0), (3.3, 40.0)] {
            assert!((normal_deviate(t_value(deviate, free), free) - deviate).abs() < 1e-12);
        }
        assert!((t_value(1.959_964, 19.0) - 2.093).abs() < 0.002);
    }

    #[test]
    fn samples_with_other_variances() {
        // Means 2 and 5, squared errors 1/3 and 5/3: t = -3 / sqrt(2) with 4 / (1/18 + 25/27) degrees of freedom.
        let deviate = welch_deviate(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0, 8.0]).unwrap();
        let expected = normal_deviate(-3.0 / 2.0_f64.sqrt(), 4.0 / (1.0 / 18.0 + 25.0 / 27.0));
        assert!((deviate - expected).abs() < 1e-12, "{deviate}");
        assert!(welch_deviate(&[1.0], &[2.0, 3.0]).is_none() && welch_deviate(&[1.0, 1.0], &[1.0, 1.0]).is_none());
    }
}
