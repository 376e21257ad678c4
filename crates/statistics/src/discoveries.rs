//! Discoveries by e-values, with one error rate over all of them: e-BH.
//!
//! Of `m` hypotheses the `k` with the largest e-values are rejected, for the largest `k` whose `k`-th is at least `m / (rate k)` (Wang and
//! Ramdas, "False discovery rate control with e-values", 2022). The expected share of false ones is at most the rate, however the e-values
//! depend on each other.

/// Returns the number of discoveries among e-values, which are given by their logarithms.
pub fn count_discoveries(logs: &[f64], rate: f64) -> usize {
    let mut falling = logs.to_vec();
    falling.sort_by(|one, other| other.total_cmp(one));
    (1..=falling.len()).rev().find(|listed| falling[listed - 1] >= log_needed(logs.len(), *listed, rate)).unwrap_or(0)
}

/// Returns the logarithm of the e-value that a list of this length among `judged` needs.
pub fn log_needed(judged: usize, listed: usize, rate: f64) -> f64 {
    (judged as f64 / (rate * listed.max(1) as f64)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discoveries_are_the_largest_set_that_is_large_enough() {
        // Four hypotheses at 5 %: 80, 40, 26.7 and 20 are needed.
        let count =
            |values: &[f64]| count_discoveries(&values.iter().map(|value| value.ln()).collect::<Vec<_>>(), 0.05);
        assert_eq!([count(&[1.0, 30.0, 90.0, 27.0]), count(&[1.0, 30.0, 90.0, 26.0])], [3, 1]);
        assert_eq!([count(&[20.1; 4]), count(&[19.9; 4]), count(&[])], [4, 0, 0]);
    }
}
