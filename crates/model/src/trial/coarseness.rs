//! Coarseness of a metric's values, and results that coarse values cannot prove.

use super::value_groups::find_jittered_step;
use corewise_statistics::experiment::{
    ArmVerdict, ExperimentDoubt, ExperimentStanding, JudgingPolicy, QuestionKind, Verdict,
};
use corewise_statistics::order::median;

/// Retracts results that values in steps of half the margin or more cannot prove: that a candidate differs by less than
/// the margin. Proof that it is worse stays. For slow runs, which are counted, nothing is retracted. `values` are the
/// runs', with their arms. Returns the doubt if the verdict rests on a retracted result.
pub(super) fn take_back(
    standing: &mut ExperimentStanding,
    values: &[(usize, f64)],
    policy: &JudgingPolicy,
) -> Option<ExperimentDoubt> {
    if policy.margin <= 0.0 || policy.what == QuestionKind::Tail {
        return None;
    }
    let least = policy.margin / 2.0;
    let of_digits = smallest_step(&values.iter().map(|(_, value)| *value).collect::<Vec<f64>>());
    let step = of_digits.filter(|step| *step >= least).or_else(|| find_jittered_step(values, least))?;
    let is_taken_back = retract_sizes(standing, policy);
    let rests_on_it = matches!(standing.verdict, Verdict::NoMaterialDifference | Verdict::RealButBelowMargin { .. });
    (is_taken_back && rests_on_it).then_some(ExperimentDoubt::CoarseMetric { step })
}

/// Retracts results that arms differ by less than the margin; returns true if any becomes undecided.
pub(super) fn retract_sizes(standing: &mut ExperimentStanding, policy: &JudgingPolicy) -> bool {
    let mut is_taken_back = false;
    for arm in &mut standing.arms {
        let rests_on_size = matches!(
            arm.verdict,
            Some(ArmVerdict::NoMaterialDifference | ArmVerdict::RealButBelowMargin | ArmVerdict::NotBetterByMargin)
        );
        if rests_on_size {
            let is_worse = arm.e_worse >= policy.needed_evidence();
            arm.verdict = Some(if is_worse { ArmVerdict::Worse } else { ArmVerdict::Undecided });
            is_taken_back |= !is_worse;
        }
    }
    is_taken_back
}

/// Returns the step between values, as a share of their median: the largest decimal number of which all are multiples,
/// 0.1 for 10, 12 and 9; 0.025 for 10.25, 10 and 9.75. If all values are equal, their last digit gives the step. `None`
/// without values, or if their median is zero.
pub(super) fn smallest_step(values: &[f64]) -> Option<f64> {
    let finest = values.iter().filter(|value| **value != 0.0).map(|value| last_digit(*value)).min()?;
    let middle = median(values).abs();
    if middle == 0.0 {
        return None;
    }
    let first = values[0];
    let step = match values.iter().all(|value| *value == first) {
        // For a single number, trailing zeros may be digits.
        true => 10_f64.powi(finest.min(0)),
        false => 10_f64.powi(finest) * common_divisor(values, finest),
    };
    Some(step / middle)
}

/// Returns the largest whole number that divides all, counted in units of a digit; 1 if one has too many digits to be
/// counted.
fn common_divisor(values: &[f64], digit: i32) -> f64 {
    const MOST: f64 = 9e15;
    let in_digits: Vec<f64> = values.iter().map(|value| (value.abs() * 10_f64.powi(-digit)).round()).collect();
    if in_digits.iter().any(|value| *value > MOST) {
        return 1.0;
    }
    let divisor = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    in_digits.iter().fold(0, |common, value| divisor(common, *value as u64)).max(1) as f64
}

/// Returns the power of ten of the last non-zero digit.
fn last_digit(value: f64) -> i32 {
    let text = value.abs().to_string();
    match text.split_once('.') {
        Some((_, decimals)) => -(decimals.len() as i32),
        None => (text.len() - text.trim_end_matches('0').len()) as i32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_finest_digit_counts() {
        let rounded = |values: &[f64]| smallest_step(values).map(|step| (step * 1e4).round() / 1e4);
        assert_eq!(rounded(&[10.0, 10.0, 12.0, 9.0]), Some(0.1));
        assert_eq!(rounded(&[10.0, 9.76, 10.25]), Some(0.001));
        assert_eq!(rounded(&[10.0, 9.75, 10.25]), Some(0.025), "in steps of a quarter, whatever the digits");
        assert_eq!(rounded(&[0.25, 0.265_625, 0.234_375]), Some(0.0625), "and of a timer's ticks");
        assert_eq!(rounded(&[1_500_000.0, 1_600_000.0]), Some(0.0645));
        assert_eq!(rounded(&[10.0, 10.0]), Some(0.1));
        assert_eq!((smallest_step(&[]), smallest_step(&[0.0, 0.0])), (None, None));
        assert!(smallest_step(&[0.123_456_789, 0.12]).unwrap() < 1e-7);
        assert!(
            smallest_step(&[0.1, 0.2, 1.234_567_890_123_456_7e-5]).unwrap() < 1e-7,
            "too many digits to be counted"
        );
    }
}
