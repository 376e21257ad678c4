//! The luck of pairs: what the ratios of pairs' costs in two measurements differ though nothing changed.
//!
//! All visits of a measurement share a pair's pages, so a pair's cost differs between measurements by more than its
//! visits do. How much, the pairs show together: by the spread of their ratios around the median of their class.

use corewise_statistics::normal::two_sided_deviate;
use corewise_statistics::order::{VARIANCE_OF_MEDIAN, median};
use corewise_statistics::student::t_value;

/// Standard deviations of a normal distribution in one median absolute deviation.
const NORMAL: f64 = 1.4826;
/// Efficiency of the median absolute deviation: the degrees of freedom of each value.
const EFFICIENCY: f64 = 0.37;
/// Minimum number of ratios beyond their classes' medians to know their spread.
const FEWEST: usize = 5;
/// Spread of the logarithms of a pair's costs in several measurements, if it is not known: two come out up to 15 % apart.
pub const PAIR_LUCK: f64 = 0.07;

/// Spread of the logarithms of pairs' ratios around their class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairSpread {
    deviation: f64,
    /// Degrees of freedom; `None` if the spread is assumed.
    free: Option<f64>,
}

impl PairSpread {
    /// Computes the spread from the logarithms of the ratios of each class.
    pub fn from_classes<'a>(classes: impl Iterator<Item = &'a [f64]>) -> Self {
        let (mut sizes, mut count) = (Vec::new(), 0);
        for ratios in classes {
            let middle = median(ratios);
            sizes.extend(ratios.iter().map(|ratio| (ratio - middle).abs()));
            count += usize::from(!ratios.is_empty());
        }
        let beyond = sizes.len() - count;
        let unbiased = (sizes.len() as f64 / beyond.max(1) as f64).sqrt();
        let deviation = NORMAL * median(&sizes) * unbiased;
        if beyond < FEWEST {
            return Self { deviation: deviation.max(PAIR_LUCK), free: None };
        }
        Self { deviation, free: Some(EFFICIENCY * beyond as f64) }
    }

    /// Returns how far the ratio of any of the pairs deviates by chance, with a probability of `alpha` for all
    /// together.
    pub fn reach_of_any(self, pairs: usize, alpha: f64) -> f64 {
        self.deviate(alpha / pairs.max(1) as f64) * self.deviation
    }

    /// Returns how far the median ratio of the pairs deviates by chance.
    pub fn reach_of_median(self, pairs: usize, alpha: f64) -> f64 {
        self.deviate(alpha) * self.deviation * (VARIANCE_OF_MEDIAN / pairs.max(1) as f64).sqrt()
    }

    fn deviate(self, alpha: f64) -> f64 {
        let normal = two_sided_deviate(alpha);
        self.free.map_or(normal, |free| t_value(normal, free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewise_machine::random::RandomGenerator;

    /// The spread is that of the pairs in their classes, whatever the classes and a few pairs did.
    #[test]
    fn the_spread_is_that_around_the_classes() {
        let mut random = RandomGenerator::new(5);
        let mut class = |shift: f64| (0..60).map(|_| shift + 0.05 * random.next_normal()).collect::<Vec<f64>>();
        let (one, mut other) = (class(0.0), class(-0.9));
        other[..6].fill(2.0);
        let spread = PairSpread::from_classes([&one[..], &other[..]].into_iter());
        assert!((0.04..0.065).contains(&spread.deviation), "{spread:?}");
        assert!(spread.reach_of_any(120, 0.05) > 3.4 * spread.deviation);
    }

    #[test]
    fn the_spread_of_few_pairs_is_assumed() {
        assert_eq!(PairSpread::from_classes([&[0.3][..], &[0.1, 0.1]].into_iter()).deviation, PAIR_LUCK);
        assert_eq!(PairSpread::from_classes([].into_iter()).deviation, PAIR_LUCK);
    }
}
