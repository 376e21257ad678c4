//! Runs of like values: whether what happened in some rounds happened in successive ones.

/// Returns the probability that values in random order form as few runs of like ones, or fewer (Wald and Wolfowitz 1940):
/// small if they are bunched.
pub fn bunching_probability(values: &[bool]) -> f64 {
    let marked = values.iter().filter(|value| **value).count();
    let (marked, others) = (marked, values.len() - marked);
    let runs = values.chunk_by(|one, next| one == next).count();
    let orders = count_choices(values.len(), marked);
    let ways = |runs: usize| {
        let parts = runs / 2;
        let compose = |of: usize, parts: usize| match (of, parts) {
            (0, 0) => 1.0,
            (0, _) | (_, 0) => 0.0,
            _ => count_choices(of - 1, parts - 1),
        };
        let first = |of_marked: usize, of_others: usize| compose(marked, of_marked) * compose(others, of_others);
        if runs.is_multiple_of(2) {
            2.0 * first(parts, parts)
        } else {
            first(parts + 1, parts) + first(parts, parts + 1)
        }
    };
    (1..=runs).map(ways).sum::<f64>().max(0.0) / orders
}

/// Returns the number of ways to choose `some` of `all`.
fn count_choices(all: usize, some: usize) -> f64 {
    if some > all {
        return 0.0;
    }
    (0..some).map(|taken| (all - taken) as f64 / (taken + 1) as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(values: &str) -> f64 {
        bunching_probability(&values.chars().map(|value| value == 'x').collect::<Vec<bool>>())
    }

    /// Of the 6 orders of two and two, 2 have two runs, 2 three and 2 four.
    #[test]
    fn probabilities_are_those_of_all_orders() {
        for (values, expected) in [("xx..", 2.0 / 6.0), ("x..x", 4.0 / 6.0), ("x.x.", 1.0)] {
            assert!((probability(values) - expected).abs() < 1e-12, "{values}");
        }
        // Three of 24 in a row: two orders of 2,024 have two runs, and 22 three, of which two begin and end with them.
        assert!((probability("xxxxxxxxxx...xxxxxxxxxxx") - 24.0 / 2024.0).abs() < 1e-12);
        assert!((probability("xxxxxxxxxxxxxxxxxxxxx...") - 2.0 / 2024.0).abs() < 1e-12);
    }

    #[test]
    fn values_of_one_kind_show_nothing() {
        for values in ["x", ".", "xxxx", "........"] {
            assert!((probability(values) - 1.0).abs() < 1e-12, "{values}");
        }
    }
}
