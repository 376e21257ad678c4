//! Effects as text: "2.4x", "+4.6 %".

use corewise_model::experiment::{BaselineEffect, QuestionKind};

use crate::draw::number::format_decimal;

/// Ratio above which, or below its inverse, "2.4x" is clearer than "140 %".
const AS_FACTOR: f64 = 1.5;

/// Formats an effect, a difference of two logarithms, as "+4.6 %" or "2.4x".
pub fn format_gain(effect: f64) -> String {
    let ratio = effect.exp();
    if !(1.0 / AS_FACTOR..AS_FACTOR).contains(&ratio) { format_factor(ratio) } else { signed_percent(ratio) }
}

/// Formats the size of an effect without its sign, as "4.6 %" or "2.4x".
pub fn format_size(effect: f64) -> String {
    let ratio = effect.abs().exp();
    if ratio >= AS_FACTOR { format_factor(ratio) } else { format!("{} %", format_decimal((ratio - 1.0) * 100.0, 1)) }
}

/// Formats the interval of an effect as "[2.1, 7.4]", in the unit of [`format_size`]; an open end is "…".
pub fn format_interval(effect: &BaselineEffect) -> String {
    let is_factor = effect.estimate.abs().exp() >= AS_FACTOR;
    let end = |end: Option<f64>| {
        end.map_or_else(
            || "…".to_owned(),
            |end| match is_factor {
                true => format_decimal(end.exp(), needed_digits(end.exp())),
                false => format_decimal((end.exp() - 1.0) * 100.0, 1),
            },
        )
    };
    format!("[{}, {}]", end(effect.low), end(effect.high))
}

/// Formats an effect in the scale of a question; for slow runs it is a number of 100 runs, such as "4.5 fewer".
pub fn format_gain_in(what: QuestionKind, effect: f64) -> String {
    match what {
        QuestionKind::Tail => {
            format!("{} {}", format_size_in(what, effect), if effect < 0.0 { "more" } else { "fewer" })
        }
        _ => format_gain(effect),
    }
}

/// Formats like [`format_size`], in the scale of a question.
pub fn format_size_in(what: QuestionKind, effect: f64) -> String {
    match what {
        QuestionKind::Tail => format_decimal(100.0 * effect.abs(), 1),
        _ => format_size(effect),
    }
}

/// Formats like [`format_interval`], in the scale of a question.
pub fn format_interval_in(what: QuestionKind, effect: &BaselineEffect) -> String {
    let end = |end: Option<f64>| end.map_or_else(|| "…".to_owned(), |end| format_decimal(100.0 * end, 1));
    match what {
        QuestionKind::Tail => format!("[{}, {}]", end(effect.low), end(effect.high)),
        _ => format_interval(effect),
    }
}

/// Formats like [`format_interval_in`] for a sentence: an interval without ends is named as such.
pub fn interval_words(what: QuestionKind, effect: &BaselineEffect) -> String {
    match (effect.low, effect.high) {
        (None, None) => "(too few runs for an interval)".to_owned(),
        _ => format_interval_in(what, effect),
    }
}

/// Formats the proven lower bound of a gain; `None` if none is proven, or if it would print as zero.
pub fn format_least(what: QuestionKind, low: Option<f64>) -> Option<String> {
    low.filter(|low| *low > 0.0).map(|low| format_size_in(what, low)).filter(|text| !text.starts_with("0.0"))
}

/// Formats the bounds of a gain, such as "at least 1.2 % and at most 2.7 % (about 1.9 %)": what is proven, and the
/// estimate as one.
pub fn format_bounds(what: QuestionKind, effect: &BaselineEffect) -> String {
    let least = format_least(what, effect.low).map(|least| format!("at least {least}"));
    let most = effect.high.filter(|high| *high > 0.0).map(|most| format!("at most {}", format_size_in(what, most)));
    let bounds: Vec<String> = least.into_iter().chain(most).collect();
    let about = format!("about {}", format_size_in(what, effect.estimate));
    if bounds.is_empty() { about } else { format!("{} ({about})", bounds.join(" and ")) }
}

fn format_factor(ratio: f64) -> String {
    format!("{}x", format_decimal(ratio, needed_digits(ratio)))
}

fn needed_digits(ratio: f64) -> usize {
    if ratio < 1.0 { 2 } else { usize::from(ratio < 9.95) }
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
        assert_eq!([format_size(-0.05), format_size(0.9)], ["5.1 %", "2.5x"]);
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
    fn an_interval_has_the_unit_of_its_estimate() {
        let effect = |estimate: f64, low: Option<f64>, high: Option<f64>| {
            format_interval(&BaselineEffect { estimate: estimate.ln(), low: low.map(f64::ln), high: high.map(f64::ln) })
        };
        assert_eq!(effect(1.046, Some(1.02), Some(1.081)), "[2.0, 8.1]");
        assert_eq!(effect(2.4, Some(1.9), None), "[1.9, …]");
    }
}
