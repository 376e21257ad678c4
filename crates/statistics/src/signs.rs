//! The sign test.

/// Returns the probability that signs are shared at least as unequally as these numbers of them if both are equally likely.
pub fn sign_test(positive: u32, negative: u32) -> f64 {
    let (all, fewer) = (positive + negative, positive.min(negative));
    // Logarithms of binomial coefficients: a thousand signs would underflow.
    let mut term = -f64::from(all) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for count in 0..=fewer {
        tail += term.exp();
        term += (f64::from(all - count) / f64::from(count + 1)).ln();
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_test_is_that_of_the_binomial_distribution() {
        for (signs, expected) in [([0, 0], 1.0), ([6, 0], 0.03125), ([2, 8], 0.109375), ([5, 5], 1.0)] {
            let found = sign_test(signs[0], signs[1]);
            assert!((found - expected).abs() < 1e-12, "{signs:?}: {found}");
        }
        assert!(sign_test(2_000, 0) >= 0.0 && sign_test(1_000, 1_000) == 1.0);
    }
}
