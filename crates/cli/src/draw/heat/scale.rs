//! Colour scale of heat maps: the position of a cost on it, and the colour of a position.

use corewise_statistics::order::quantile;

use crate::draw::number::format_brief;
use crate::draw::shades::FLAT;

/// Quantiles at the ends of the scale, so that a few outliers do not stretch it.
const ENDS: [f64; 2] = [0.01, 0.99];

/// Viridis, by Stéfan van der Walt, Nathaniel Smith and Eric Firing (CC0), at 17 even positions. Values from
/// matplotlib 3 (`lib/matplotlib/_cm_listed.py`). Its lightness rises evenly, also for readers with colour-blindness.
/// Interpolation in between differs from the table of 256 by at most 6 of 255.
const VIRIDIS: [[u8; 3]; 17] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x18, 0x6a],
    [0x47, 0x2d, 0x7b],
    [0x42, 0x40, 0x86],
    [0x3b, 0x52, 0x8b],
    [0x33, 0x63, 0x8d],
    [0x2c, 0x72, 0x8e],
    [0x26, 0x82, 0x8e],
    [0x21, 0x91, 0x8c],
    [0x1f, 0xa0, 0x88],
    [0x28, 0xae, 0x80],
    [0x3f, 0xbc, 0x73],
    [0x5e, 0xc9, 0x62],
    [0x84, 0xd4, 0x4b],
    [0xad, 0xdc, 0x30],
    [0xd8, 0xe2, 0x19],
    [0xfd, 0xe7, 0x25],
];

/// Logarithmic scale over costs of one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostScale {
    low: f64,
    high: f64,
    lowest: f64,
    highest: f64,
}

impl CostScale {
    /// Returns a scale between the given ends, or else between quantiles; `None` if no cost is known.
    pub fn from_costs(costs: &[f64], ends: Option<[f64; 2]>) -> Option<Self> {
        let known = || costs.iter().copied().filter(|cost| cost.is_finite());
        let (lowest, highest) = (known().fold(f64::NAN, f64::min), known().fold(f64::NAN, f64::max));
        // A coarse clock also yields costs of 0, which have no logarithm.
        let quantiles = || {
            let positive: Vec<f64> = known().filter(|&cost| cost > 0.0).collect();
            ENDS.map(|end| quantile(&positive, end))
        };
        let [low, high] = ends.unwrap_or_else(quantiles);
        match low.is_finite() && lowest.is_finite() {
            true => Some(Self { low, high, lowest, highest }),
            false => lowest.is_finite().then_some(Self { low: 0.0, high: 0.0, lowest, highest }),
        }
    }

    /// Returns true if the costs differ too little for several colours: noise is not a pattern.
    pub fn is_flat(&self) -> bool {
        self.high <= self.low * FLAT
    }

    /// Returns the position of a cost, from 0 for the cheapest to 1; 0 on a flat scale.
    pub fn position_of(&self, cost: f64) -> f64 {
        if self.is_flat() || cost <= self.low {
            return 0.0;
        }
        ((cost / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 1.0)
    }

    /// Returns the cost at a position as text beside the scale; with "≤" or "≥" at an end that some costs exceed.
    pub fn format_mark(&self, position: f64) -> String {
        let text = format_brief(self.low * (self.high / self.low).powf(position));
        if position <= 0.0 && format_brief(self.lowest) != text {
            format!("≤{text}")
        } else if position >= 1.0 && format_brief(self.highest) != text {
            format!("≥{text}")
        } else {
            text
        }
    }

    /// Formats the lowest and the highest cost.
    pub fn format_range(&self) -> String {
        let [lowest, highest] = [self.lowest, self.highest].map(format_brief);
        if lowest == highest { lowest } else { format!("{lowest} to {highest}") }
    }
}

/// Returns the colour of a position on the scale, as red, green and blue.
pub fn colour_at(position: f64) -> [u8; 3] {
    let last = VIRIDIS.len() - 1;
    let place = position.clamp(0.0, 1.0) * last as f64;
    let below = (place as usize).min(last - 1);
    let share = place - below as f64;
    let mix = |from: u8, to: u8| (f64::from(from) + (f64::from(to) - f64::from(from)) * share).round() as u8;
    std::array::from_fn(|part| mix(VIRIDIS[below][part], VIRIDIS[below + 1][part]))
}

/// Returns true if black is easier to read on a colour than white. Uses the relative luminance and contrast ratio of
/// the Web Content Accessibility Guidelines 2.2.
pub fn is_light([red, green, blue]: [u8; 3]) -> bool {
    relative_luminance([red, green, blue]) > 0.179
}

/// Returns the relative luminance of a colour, from 0 to 1.
pub fn relative_luminance(colour: [u8; 3]) -> f64 {
    let [red, green, blue] = colour.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dearer_is_lighter() {
        let light: Vec<f64> = (0..=64).map(|step| relative_luminance(colour_at(f64::from(step) / 64.0))).collect();
        assert!(light.is_sorted_by(|a, b| a < b), "{light:?}");
        assert_eq!([colour_at(-1.0), colour_at(0.5), colour_at(2.0)], [VIRIDIS[0], VIRIDIS[8], VIRIDIS[16]]);
        assert!(!is_light(colour_at(0.4)) && is_light(colour_at(0.6)));
    }

    #[test]
    fn outliers_do_not_stretch_the_scale() {
        let mut costs: Vec<f64> = (0..1000).map(|index| if index % 2 == 0 { 10.0 } else { 90.0 }).collect();
        costs.extend([1.0, 5000.0, f64::NAN]);
        let scale = CostScale::from_costs(&costs, None).unwrap();
        assert_eq!([0.0, 0.5, 1.0].map(|position| scale.format_mark(position)), ["≤10", "30", "≥90"]);
        assert_eq!([1.0, 10.0, 90.0, 5000.0].map(|cost| scale.position_of(cost)), [0.0, 0.0, 1.0, 1.0]);
        assert!((scale.position_of(30.0) - 0.5).abs() < 1e-9);
    }

    /// Two of a thousand pairs are siblings, and one pair was disturbed: given the ends, neither is lost and nothing else is.
    #[test]
    fn ends_of_classes_keep_few_siblings_apart() {
        let mut costs: Vec<f64> = (0..1000).map(|index| if index % 2 == 0 { 25.0 } else { 100.0 }).collect();
        costs.extend([7.0, 7.0, 5000.0]);
        let position = |ends| CostScale::from_costs(&costs, ends).unwrap().position_of(25.0);
        assert_eq!(position(None), 0.0);
        assert!((0.4..0.6).contains(&position(Some([7.0, 100.0]))));
    }

    #[test]
    fn noise_is_one_colour_and_nothing_has_no_scale() {
        let flat = CostScale::from_costs(&[18.0, 20.0, 19.0], None).unwrap();
        assert!(flat.is_flat());
        assert_eq!((flat.position_of(20.0), flat.format_range()), (0.0, "18 to 20".to_owned()));
        assert_eq!(CostScale::from_costs(&[f64::NAN], None), None);
        let broken = CostScale::from_costs(&[0.0, 0.0], None).unwrap();
        assert_eq!((broken.is_flat(), broken.position_of(0.0), broken.format_range()), (true, 0.0, "0".to_owned()));
    }
}
