//! How coarse the numbers of a metric are, and what such numbers cannot prove.

use crate::experiment::{ArmVerdict, Doubt, Policy, Standing, Verdict, What};
use crate::stats::order::median;

/// Takes back what numbers in steps of half the margin or more cannot prove: that a candidate differs by less than the margin. That it is worse they
/// can. Of slow runs, which are counted, it takes nothing back. Gives the doubt where the verdict rests on what was taken back.
pub(super) fn take_back(standing: &mut Standing, values: &[f64], policy: &Policy) -> Option<Doubt> {
    let may_be_coarse = policy.margin > 0.0 && policy.what != What::Tail;
    let step = step(values).filter(|step| may_be_coarse && *step >= policy.margin / 2.0)?;
    let mut is_taken_back = false;
    for arm in &mut standing.arms {
        let rests_on_size = matches!(
            arm.verdict,
            Some(ArmVerdict::NoMaterialDifference | ArmVerdict::RealButBelowMargin | ArmVerdict::NotBetterByMargin)
        );
        if rests_on_size {
            let is_worse = arm.e_worse >= policy.enough();
            arm.verdict = Some(if is_worse { ArmVerdict::Worse } else { ArmVerdict::Undecided });
            is_taken_back |= !is_worse;
        }
    }
    let rests_on_it = matches!(standing.verdict, Verdict::NoMaterialDifference | Verdict::RealButBelowMargin { .. });
    (is_taken_back && rests_on_it).then_some(Doubt::CoarseMetric { step })
}

/// The smallest step that numbers can differ by, going by the digits that they are written with, as a share of their median: 0.1 for 10, 12 and
/// 9; 0.01 for 9.75 at the finest. Absent without numbers, or where their median is zero.
pub(super) fn step(values: &[f64]) -> Option<f64> {
    let finest = values.iter().filter(|value| **value != 0.0).map(|value| last_digit(*value)).min()?;
    // The zeros of one number alone may be digits.
    let are_equal = values.iter().all(|value| *value == values[0]);
    let finest = if are_equal { finest.min(0) } else { finest };
    let middle = median(values).abs();
    (middle > 0.0).then(|| 10_f64.powi(finest) / middle)
}

/// The power of ten of the last digit that is not zero.
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
        let rounded = |values: &[f64]| step(values).map(|step| (step * 1e4).round() / 1e4);
        assert_eq!(rounded(&[10.0, 10.0, 12.0]), Some(0.1));
        assert_eq!(rounded(&[10.0, 9.75, 10.0]), Some(0.001));
        assert_eq!(rounded(&[1_500_000.0, 1_600_000.0]), Some(0.0645));
        assert_eq!(rounded(&[10.0, 10.0]), Some(0.1));
        assert_eq!((step(&[]), step(&[0.0, 0.0])), (None, None));
        assert!(step(&[0.123_456_789, 0.12]).unwrap() < 1e-7);
    }
}
