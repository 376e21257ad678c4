//! Effects as text: "2.4x", "+4.6 %".

use corewise_statistics::experiment::{BaselineEffect, QuestionKind};

use crate::draw::number::format_decimal;

/// Ratio above which, or below its inverse, "2.4x" is clearer than "140 %": what rounds to a doubling.
const AS_FACTOR: f64 = 1.95;

/// The scale of all numbers of a sentence about one effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectScale {
    /// "4.6 %".
    Percent,
    /// "2.4x".
    Factor,
    /// A number of 100 runs.
    Runs,
}

impl EffectScale {
    /// Returns the scale for an effect of this size, in the answer to a question.
    pub fn from_estimate(what: QuestionKind, estimate: f64) -> Self {
        match what {
            QuestionKind::Tail => Self::Runs,
            _ if estimate.abs() >= AS_FACTOR.ln() => Self::Factor,
            _ => Self::Percent,
        }
    }

    /// Formats an effect, a difference of two logarithms, as "+4.6 %", "2.4x" or "4.5 fewer" slow runs of 100.
    pub fn format_gain(self, effect: f64) -> String {
        match self {
            Self::Percent => signed_percent(effect.exp()),
            Self::Factor => format_factor(effect.exp()),
            Self::Runs => format!("{} {}", self.format_size(effect), if effect < 0.0 { "more" } else { "fewer" }),
        }
    }

    /// Formats the size of an effect without its sign, as "4.6 %", "2.4x" or "4.5".
    pub fn format_size(self, effect: f64) -> String {
        match self {
            Self::Percent => format!("{} %", format_decimal((effect.abs().exp() - 1.0) * 100.0, 1)),
            Self::Factor => format_factor(effect.abs().exp()),
            Self::Runs => format_decimal(100.0 * effect.abs(), 1),
        }
    }

    /// Formats the proven lower bound of a gain; `None` if none is proven, or if it would print as zero.
    pub fn format_least(self, low: Option<f64>) -> Option<String> {
        let is_zero = |text: &String| text.starts_with("0.0") || text == "1.00x";
        low.filter(|low| *low > 0.0).map(|low| self.format_size(low)).filter(|text| !is_zero(text))
    }

    /// Formats the end of an interval without its unit, as "4.6".
    fn format_end(self, end: f64) -> String {
        match self {
            Self::Percent => format_decimal((end.exp() - 1.0) * 100.0, 1),
            Self::Factor => format_decimal(end.exp(), if end < 0.0 { 2 } else { usize::from(end.exp() < 9.95) }),
            Self::Runs => format_decimal(100.0 * end, 1),
        }
    }
}

/// Formats an effect by itself, a difference of two logarithms, as "+4.6 %" or "2.4x".
pub fn format_gain(effect: f64) -> String {
    format_gain_in(QuestionKind::Typical, effect)
}

/// Formats the size of an effect by itself, without its sign, as "4.6 %" or "2.4x".
pub fn format_size(effect: f64) -> String {
    format_size_in(QuestionKind::Typical, effect)
}

/// Formats the interval of an effect as "[2.1, 7.4]", in the unit of [`format_size`]; an open end is "…".
pub fn format_interval(effect: &BaselineEffect) -> String {
    format_interval_in(QuestionKind::Typical, effect)
}

/// Formats an effect by itself in the scale of a question; for slow runs it is a number of 100 runs, such as "4.5 fewer".
pub fn format_gain_in(what: QuestionKind, effect: f64) -> String {
    EffectScale::from_estimate(what, effect).format_gain(effect)
}

/// Formats like [`format_size`], in the scale of a question.
pub fn format_size_in(what: QuestionKind, effect: f64) -> String {
    EffectScale::from_estimate(what, effect).format_size(effect)
}

/// Formats like [`format_interval`], in the scale of a question.
pub fn format_interval_in(what: QuestionKind, effect: &BaselineEffect) -> String {
    let scale = EffectScale::from_estimate(what, effect.estimate);
    let end = |end: Option<f64>| end.map_or_else(|| "…".to_owned(), |end| scale.format_end(end));
    format!("[{}, {}]", end(effect.low), end(effect.high))
}

/// Formats like [`format_interval_in`] for a sentence: an interval without ends is named as such.
pub fn interval_words(what: QuestionKind, effect: &BaselineEffect) -> String {
    match (effect.low, effect.high) {
        (None, None) => "(too few runs for an interval)".to_owned(),
        _ => format_interval_in(what, effect),
    }
}

/// Formats the proven lower bound of a gain by itself; `None` if none is proven, or if it would print as zero.
pub fn format_least(what: QuestionKind, low: Option<f64>) -> Option<String> {
    EffectScale::from_estimate(what, low?).format_least(low)
}

/// Formats the bounds of a gain, such as "at least 1.2 % and at most 2.7 % (about 1.9 %)": what is proven, and the
/// estimate as one.
pub fn format_bounds(what: QuestionKind, effect: &BaselineEffect) -> String {
    let scale = EffectScale::from_estimate(what, effect.estimate);
    let least = scale.format_least(effect.low).map(|least| format!("at least {least}"));
    let most = effect.high.filter(|high| *high > 0.0).map(|most| format!("at most {}", scale.format_size(most)));
    let bounds: Vec<String> = least.into_iter().chain(most).collect();
    let about = format!("about {}", scale.format_size(effect.estimate));
    if bounds.is_empty() { about } else { format!("{} ({about})", bounds.join(" and ")) }
}

fn format_factor(ratio: f64) -> String {
    format!("{}x", format_decimal(ratio, needed_digits(ratio)))
}

fn needed_digits(ratio: f64) -> usize {
    if ratio < 1.495 { 2 } else { usize::from(ratio < 9.95) }
}

fn signed_percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let text = format_decimal(percent, 1);
    let sign = if percent > 0.0 && text != "0.0" { "+" } else { "" };
    format!("{sign}{text} %")
}

/// Formats a share as "5 %" or "0.5 %".
pub fn format_percent(share: f64) -> String {
    let text = format_decimal(share * 100.0, 1);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_effects_are_percent_and_large_ones_factors() {
        let of = |ratio: f64| format_gain(ratio.ln());
        assert_eq!(
            [of(1.046), of(0.954), of(1.0), of(2.41), of(0.4), of(12.3)],
            ["+4.6 %", "-4.6 %", "0.0 %", "2.4x", "0.40x", "12x"]
        );
        assert_eq!([format_size(-0.05), format_size(0.65), format_size(0.9)], ["5.1 %", "91.6 %", "2.5x"]);
        assert_eq!(
            [format_gain_in(QuestionKind::Tail, 0.045), format_gain_in(QuestionKind::Tail, -0.1)],
            ["4.5 fewer", "10.0 more"]
        );
        let effect = BaselineEffect { estimate: 0.05, low: Some(-0.01), high: None };
        assert_eq!(format_interval_in(QuestionKind::Tail, &effect), "[-1.0, …]");
    }

    #[test]
    fn a_bound_that_would_print_as_zero_is_none() {
        let least = |low: f64| format_least(QuestionKind::Typical, Some(low));
        assert_eq!([least(0.0), least(0.000_4), least(0.000_6)], [None, None, Some("0.1 %".to_owned())]);
        assert_eq!(format_least(QuestionKind::Tail, Some(0.000_4)), None);
        let bounds = |low, high| format_bounds(QuestionKind::Typical, &BaselineEffect { estimate: 0.019, low, high });
        assert_eq!(bounds(Some(0.012), Some(0.027)), "at least 1.2 % and at most 2.7 % (about 1.9 %)");
        assert_eq!([bounds(Some(0.012), None), bounds(None, None)], ["at least 1.2 % (about 1.9 %)", "about 1.9 %"]);
    }

    #[test]
    fn a_sentence_has_one_scale() {
        let bounds = |estimate: f64, low: f64, high: f64| {
            let effect = BaselineEffect { estimate: estimate.ln(), low: Some(low.ln()), high: Some(high.ln()) };
            format_bounds(QuestionKind::Typical, &effect)
        };
        assert_eq!(bounds(1.6, 1.036, 3.0), "at least 3.6 % and at most 200.0 % (about 60.0 %)");
        assert_eq!(bounds(2.4, 1.036, 3.0), "at least 1.04x and at most 3.0x (about 2.4x)");
        assert_eq!(bounds(2.4, 1.004, 1.9), "at most 1.9x (about 2.4x)");
        let worse = EffectScale::from_estimate(QuestionKind::Mean, 0.4_f64.ln());
        assert_eq!([worse.format_gain(0.97_f64.ln()), worse.format_gain(0.4_f64.ln())], ["0.97x", "0.40x"]);
    }

    #[test]
    fn an_interval_has_the_unit_of_its_estimate() {
        let effect = |estimate: f64, low: Option<f64>, high: Option<f64>| {
            format_interval(&BaselineEffect { estimate: estimate.ln(), low: low.map(f64::ln), high: high.map(f64::ln) })
        };
        assert_eq!(effect(1.046, Some(1.02), Some(1.081)), "[2.0, 8.1]");
        assert_eq!(effect(2.4, Some(1.9), None), "[1.9, …]");
    }
}
