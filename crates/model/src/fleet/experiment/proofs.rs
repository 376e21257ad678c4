//! Proofs about single nodes, by one error rate over all of them: e-BH.
//!
//! Of `m` hypotheses with the e-values `e`, the `k` with the largest are rejected, for the largest `k` with `e_(k) >= m / (rate k)` (Wang and
//! Ramdas, "False discovery rate control with e-values", 2022). The expected share of false ones is at most the rate, however the e-values
//! depend on each other. Those of a node hold whenever the experiment ends, so they may be looked at after each wave.

use crate::experiment::{ArmVerdict, NodeRuns};

/// Returns the smallest e-value that counts as proof, or infinity if none does.
pub(super) fn smallest_proof(evidence: &[f64], error_rate: f64) -> f64 {
    let mut falling = evidence.to_vec();
    falling.sort_by(|one, other| other.total_cmp(one));
    let hypotheses = falling.len() as f64;
    let is_enough = |(place, value): (usize, &f64)| *value >= hypotheses / (error_rate * (place + 1) as f64);
    falling.iter().enumerate().rfind(|pair| is_enough(*pair)).map_or(f64::INFINITY, |(_, value)| *value)
}

/// Returns the e-values of a node's candidate that share the error rate: for "better", and against "better by the margin or more".
pub(super) fn node_evidence(runs: &NodeRuns) -> [f64; 2] {
    [runs.e_better, runs.e_not_better]
}

/// Returns what is proven of a candidate on one node if e-values from `proof` on are proof.
pub(super) fn judge_node(runs: &NodeRuns, proof: f64) -> ArmVerdict {
    let [better, not_better] = node_evidence(runs).map(|value| value >= proof);
    match () {
        () if runs.has_failed => ArmVerdict::Failed,
        () if better && not_better => ArmVerdict::RealButBelowMargin,
        () if better => ArmVerdict::Better,
        () if not_better && runs.e_worse >= proof => ArmVerdict::Worse,
        () if not_better => ArmVerdict::NotBetterByMargin,
        () => ArmVerdict::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proof_is_the_largest_set_that_is_large_enough() {
        // Four hypotheses at 5 %: 80, 40, 26.7 and 20 are needed.
        assert!((smallest_proof(&[1.0, 30.0, 90.0, 27.0], 0.05) - 27.0).abs() < 1e-12);
        assert!((smallest_proof(&[1.0, 30.0, 90.0, 26.0], 0.05) - 90.0).abs() < 1e-12);
        assert!((smallest_proof(&[20.0; 4], 0.05) - 20.0).abs() < 1e-12);
        assert!(smallest_proof(&[19.0; 4], 0.05).is_infinite() && smallest_proof(&[], 0.05).is_infinite());
    }
}
