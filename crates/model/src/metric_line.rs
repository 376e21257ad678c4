//! The line in which a program tells a metric, so that nobody needs a regular expression to find it.

use std::fmt;

/// "metric NAME VALUE": the name is of letters, digits, `_`, `.` and `-` and carries its unit; the value is a decimal number. It stands on a line
/// of its own. A name with `_per_` in it is a rate, of which more is better; every other is a cost.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricLine {
    /// The name, such as "rays_per_second" or "p99_ns".
    pub name: String,
    /// The value, in the unit that the name ends in.
    pub value: f64,
}

impl MetricLine {
    /// A line.
    pub fn new(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value }
    }
}

/// Whether something is the name of a metric line.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.-".contains(letter))
}

/// Whether more of a metric is better, by its name.
pub fn is_rate(name: &str) -> bool {
    name.contains("_per_")
}

/// The regular expression that finds the metric line of a name.
pub fn pattern(name: &str) -> String {
    format!("^metric {} ([-+.0-9eE]+)$", name.replace('.', "\\."))
}

impl fmt::Display for MetricLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "metric {} {}", self.name, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_its_name_alone() {
        let line = MetricLine::new("p99.9_ns", 1234.5).to_string();
        assert_eq!(line, "metric p99.9_ns 1234.5");
        let found = |name: &str, line: &str| {
            let finder = regex_lite::Regex::new(&pattern(name)).unwrap();
            finder.captures(line).and_then(|found| found[1].parse::<f64>().ok())
        };
        assert_eq!(found("p99.9_ns", &line), Some(1234.5));
        assert_eq!(found("p99.9_ns", "metric p99a9_ns 1"), None, "a dot is a dot");
        assert_eq!(found("p99", &line), None);
        for value in [0.0, -1.5, 1e-300, 12_345_678.9, f64::MAX] {
            assert_eq!(found("x", &MetricLine::new("x", value).to_string()), Some(value));
        }
    }

    #[test]
    fn names_tell_whether_more_is_better() {
        assert!(is_rate("rays_per_second") && !is_rate("p99_ns"));
        assert!(is_name("a_b-c.9") && !is_name("") && !is_name("a b") && !is_name("a=b"));
    }
}
