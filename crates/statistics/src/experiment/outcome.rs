//! Outcome of one block for one candidate.

/// The value of a failed run: slower than any finished one.
const FAILED: f64 = 1e6;

/// Outcome of one block for one candidate: its value and the baseline's, each as [`super::Run::x`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockOutcome {
    /// The candidate's value; `None` if it failed.
    pub candidate: Option<f64>,
    /// The baseline's value; `None` if it failed.
    pub baseline: Option<f64>,
    /// The median of the baseline's runs in earlier blocks; `None` if they are few. Only the questions of the mean and
    /// of slow runs need it.
    pub usual: Option<f64>,
}

impl BlockOutcome {
    /// Creates the outcome of a pair of runs, in the logarithms of [`super::Run::x`].
    pub fn from_pair(candidate: Option<f64>, baseline: Option<f64>) -> Self {
        Self { candidate, baseline, usual: None }
    }

    /// Returns the candidate's advantage.
    pub(super) fn logarithmic_gain(&self) -> f64 {
        let [candidate, baseline] = self.shift_candidate(0.0);
        baseline - candidate
    }

    /// Returns both values, the candidate's shifted by `theta` unless it failed.
    pub(super) fn shift_candidate(&self, theta: f64) -> [f64; 2] {
        [self.candidate.map_or(FAILED, |x| x + theta), self.baseline.unwrap_or(FAILED)]
    }
}
