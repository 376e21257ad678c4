//! Means of few values, drawn to the mean of all groups as far as groups differ by chance.
//!
//! Fewer values and a smaller variation between groups shrink more, as in Searle, Casella and McCulloch, "Variance Components" (1992),
//! chapter 7. Outliers count as much as values three deviations away (Huber 1964).

use crate::order::{median, median_deviation};

/// Number of deviations at which outliers are clamped.
pub const FAR_OUT: f64 = 3.0;

/// Shrinkage of means of few values towards the mean of all.
#[derive(Clone, Copy, Debug)]
pub struct MeanShrinkage {
    /// The mean of all.
    pub mean: f64,
    /// Weight of the overall mean, in values: the variance within over that between.
    weight: f64,
    /// The same for each value of a group: the variance of the group's luck over that between.
    luck: f64,
}

impl MeanShrinkage {
    /// Computes the shrinkage of groups with values. `luck` is the variance that all values of a group share by chance.
    pub fn from_groups(groups: &[&Vec<f64>], luck: f64) -> Self {
        let means: Vec<f64> = groups.iter().map(|values| robust_mean(values)).collect();
        let mean = median(&means);
        let within: Vec<f64> = groups
            .iter()
            .zip(&means)
            .filter(|(values, _)| values.len() > 1)
            .map(|(values, mean)| {
                let sum: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
                sum / (values.len() - 1) as f64
            })
            .collect();
        // Both are mean squares: if a few blocks differ much, there is no shrinkage.
        let within = if within.is_empty() { 0.0 } else { within.iter().sum::<f64>() / within.len() as f64 };
        let count = means.len() as f64;
        let spread = means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        let typical = groups.iter().map(|values| 1.0 / values.len() as f64).sum::<f64>() / count;
        let between = spread - within * typical - luck;
        // If the means differ by no more than chance, they are all one.
        let over = |variance: f64| if between > 0.0 { variance / between } else { f64::MAX };
        Self { mean, weight: over(within), luck: if luck > 0.0 { over(luck) } else { 0.0 } }
    }

    /// Returns the same shrinkage towards zero.
    pub fn towards_zero(self) -> Self {
        Self { mean: 0.0, ..self }
    }

    /// Returns what to expect of a group with these values.
    pub fn shrink_mean(&self, values: &[f64]) -> f64 {
        let count = values.len() as f64;
        let share = count / (count + self.weight + count * self.luck);
        self.mean + share * (robust_mean(values) - self.mean)
    }
}

/// Returns the mean with outliers clamped.
fn robust_mean(values: &[f64]) -> f64 {
    let middle = median(values);
    let limit = FAR_OUT * median_deviation(values);
    values.iter().map(|value| middle + (value - middle).clamp(-limit, limit)).sum::<f64>() / values.len() as f64
}
