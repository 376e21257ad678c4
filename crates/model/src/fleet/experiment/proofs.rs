//! Proofs about single nodes, by one error rate over all of them ([`count_discoveries`]). E-values of a node hold whenever the experiment ends,
//! so they may be looked at after each wave.

use corewise_statistics::discoveries::count_discoveries;
use corewise_statistics::experiment::{ArmVerdict, NodeRuns};

/// Returns the smallest e-value that counts as proof, or infinity if none does.
pub(super) fn smallest_proof(evidence: &[f64], error_rate: f64) -> f64 {
    let mut falling = evidence.to_vec();
    falling.sort_by(|one, other| other.total_cmp(one));
    let logs: Vec<f64> = falling.iter().map(|value| value.ln()).collect();
    count_discoveries(&logs, error_rate).checked_sub(1).map_or(f64::INFINITY, |last| falling[last])
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
    fn the_smallest_discovery_is_the_proof() {
        assert!((smallest_proof(&[1.0, 30.0, 90.0, 27.0], 0.05) - 27.0).abs() < 1e-12);
        assert!(smallest_proof(&[19.0; 4], 0.05).is_infinite() && smallest_proof(&[], 0.05).is_infinite());
    }
}
