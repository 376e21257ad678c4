//! What a block says about one candidate.

/// What a failed run counts as: slower than anything that ended.
const FAILED: f64 = 1e6;

/// What a block says about one candidate: its outcome and the baseline's, each as [`super::Run::x`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The candidate's; absent where it failed.
    pub candidate: Option<f64>,
    /// The baseline's; absent where it failed.
    pub baseline: Option<f64>,
    /// The median of the baseline's runs in earlier blocks; absent where they are few. Only the questions of the mean and of slow runs need it.
    pub usual: Option<f64>,
}

impl Outcome {
    /// What a pair of runs says of itself, in the logarithms that [`super::Run::x`] has.
    pub fn pair(candidate: Option<f64>, baseline: Option<f64>) -> Self {
        Self { candidate, baseline, usual: None }
    }

    /// By how much the candidate was better.
    pub(super) fn gain(&self) -> f64 {
        let [candidate, baseline] = self.shifted(0.0);
        baseline - candidate
    }

    /// Both, the candidate's shifted by `theta` unless it failed.
    pub(super) fn shifted(&self, theta: f64) -> [f64; 2] {
        [self.candidate.map_or(FAILED, |x| x + theta), self.baseline.unwrap_or(FAILED)]
    }
}
