//! A difference of some rounds only: something that came and went, and no property of a cpu.

use corewise_machine::CpuSet;

use crate::finding::FindingEffect;
use corewise_statistics::order::{median, quantile};
use corewise_statistics::runs::bunching_probability;

/// The probability that rounds in random order are called an episode.
const ERROR_RATE: f64 = 0.05;
/// Quantile of the ratios that counts as the largest one.
const LARGEST: f64 = 0.9;

/// A column that differed from the others for a while, and did not in other rounds.
#[derive(Clone, Debug)]
pub struct RoundEpisode {
    /// Its ratio to the others over all rounds.
    pub effect: FindingEffect,
    /// The rounds in which it differed, counted from 1.
    differing: Vec<u32>,
    rounds: usize,
    /// The median ratio of these rounds.
    ratio: f64,
}

impl RoundEpisode {
    /// Returns the episode behind a difference: if the rounds in which the column differs more than halfway to its largest
    /// ratios are bunched, and in the others it does not differ by the margin.
    pub fn find(ratios: &[f64], effect: &FindingEffect, margin: f64) -> Option<Self> {
        let size = |ratio: f64| if effect.ratio < 1.0 { 1.0 / ratio } else { ratio };
        let halfway = quantile(&ratios.iter().map(|ratio| size(*ratio)).collect::<Vec<f64>>(), LARGEST).sqrt();
        let is_high = |ratio: &f64| size(*ratio) >= halfway;
        let low: Vec<f64> = ratios.iter().filter(|ratio| !is_high(ratio)).map(|ratio| size(*ratio)).collect();
        let is_bunched = bunching_probability(&ratios.iter().map(is_high).collect::<Vec<bool>>()) <= ERROR_RATE;
        if low.is_empty() || median(&low) >= margin || !is_bunched {
            return None;
        }
        let high = (1_u32..).zip(ratios).filter(|(_, ratio)| is_high(ratio));
        let (differing, of_differing): (Vec<u32>, Vec<f64>) = high.unzip();
        Some(Self { effect: effect.clone(), differing, rounds: ratios.len(), ratio: median(&of_differing) })
    }

    /// Returns the ratio in the rounds of the episode.
    pub const fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Describes its rounds: "rounds 5-12,18 of 24".
    pub fn describe_rounds(&self) -> String {
        let rounds: CpuSet = self.differing.iter().copied().collect();
        format!("rounds {rounds} of {}", self.rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ratios: &[f64]) -> Option<(String, f64)> {
        let effect = FindingEffect {
            quantity: "p50".to_owned(),
            against: "cpu 1".to_owned(),
            ratio: median(ratios),
            low: 1.0,
            high: 2.0,
            p_value: None,
        };
        RoundEpisode::find(ratios, &effect, 1.25).map(|episode| (episode.describe_rounds(), episode.ratio()))
    }

    fn ratios(high: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..24).map(|round| high(round) + 0.01 * (round * 7 % 5) as f64).collect()
    }

    #[test]
    fn an_episode_is_named_by_its_rounds() {
        let with = |is_high: fn(usize) -> bool| found(&ratios(|round| if is_high(round) { 3.0 } else { 1.0 }));
        assert_eq!(with(|round| (4..18).contains(&round)).unwrap().0, "rounds 5-18 of 24");
        assert_eq!(with(|round| !(9..14).contains(&round)).unwrap().0, "rounds 1-9,15-24 of 24");
        assert_eq!(with(|_| true), None);
        assert!(with(|round| round < 14).unwrap().1 > 2.9);
        assert_eq!(with(|round| ![0, 5, 6, 7, 12, 16, 20].contains(&round)), None, "scattered rounds are no episode");
    }

    /// A cpu that differs all the time, and for a while by more, differs.
    #[test]
    fn a_difference_that_grows_is_no_episode() {
        assert_eq!(found(&ratios(|round| if round < 12 { 2.0 } else { 8.0 })), None);
    }
}
