//! Lines in which programs write a metric, found without a regular expression from the user.

use std::fmt;

use corewise_statistics::quantity::{QuantityUnit, is_time_word};

/// "metric NAME VALUE": the name is of letters, digits, `_`, `.` and `-` and ends in its unit; the value is a decimal
/// number. It stands on a line of its own. The name's words decide whether more is better ([`more_is_better`]); without
/// any, it is a cost.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricLine {
    /// The name, such as "rays_per_second" or "p99_ns".
    pub name: String,
    /// The value, in the name's unit.
    pub value: f64,
}

impl MetricLine {
    /// Creates a line.
    pub fn new(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value }
    }
}

/// Returns true if a text is a valid name of a metric line.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.-".contains(letter))
}

/// How the numbers of a column become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ColumnSummary {
    Mean,
    Sum,
    Last,
    /// A quantile: 0 is the least value, 1 the greatest.
    Quantile(f64),
}

/// Splits "p99(frametime)" into its summary and the name, in any case and with spaces; `None` for any other name.
pub(crate) fn split_summary(text: &str) -> Option<(ColumnSummary, &str)> {
    let (word, rest) = text.split_once('(')?;
    Some((parse_summary(word)?, rest.trim_end().strip_suffix(')')?.trim()))
}

/// Returns the function with this name, in any case: "max", "p99".
pub(crate) fn parse_summary(word: &str) -> Option<ColumnSummary> {
    let word = word.trim().to_lowercase();
    let percentile = || Some(word.strip_prefix('p')?.parse::<f64>().ok()?).filter(|part| (0.0..=100.0).contains(part));
    Some(match word.as_str() {
        "mean" | "avg" => ColumnSummary::Mean,
        "median" => ColumnSummary::Quantile(0.5),
        "min" => ColumnSummary::Quantile(0.0),
        "max" => ColumnSummary::Quantile(1.0),
        "sum" => ColumnSummary::Sum,
        "last" => ColumnSummary::Last,
        _ => ColumnSummary::Quantile(percentile()? / 100.0),
    })
}

/// Returns the name of the column in a call of a function: "fps" of "p1(fps)"; `None` for any other name.
fn column_of_call(name: &str) -> Option<&str> {
    split_summary(name).map(|(_, column)| column)
}

/// Words of metrics of which more is better, in names, units and patterns.
const MORE: [&str; 28] = [
    "fps",
    "framerate",
    "throughput",
    "ops",
    "iops",
    "qps",
    "rps",
    "tps",
    "hz",
    "mhz",
    "ghz",
    "mips",
    "flops",
    "gflops",
    "rate",
    "score",
    "rating",
    "points",
    "speed",
    "speedup",
    "bandwidth",
    "frames",
    "rays",
    "hits",
    "kbps",
    "mbps",
    "gbps",
    "ipc",
];

/// Words of metrics of which less is better, besides units of time; if both occur, as in "error rate", these decide.
const LESS: [&str; 31] = [
    "time",
    "times",
    "frametime",
    "frametimes",
    "runtime",
    "latencies",
    "wall",
    "elapsed",
    "duration",
    "latency",
    "delay",
    "jitter",
    "stall",
    "stalls",
    "error",
    "errors",
    "miss",
    "misses",
    "fault",
    "faults",
    "retries",
    "drops",
    "dropped",
    "lost",
    "cost",
    "cycles",
    "cpi",
    "joules",
    "watts",
    "tail",
    "overruns",
];

/// Returns true if more of a metric is better, by the words and the unit of its name and of its pattern; `None` if they
/// do not say, or contradict each other. Of "p1(fps)" the column decides. "frames/s" is a rate, and so is "events per second".
pub fn more_is_better(name: &str, pattern: &str) -> Option<bool> {
    let by_words = |text: &str| {
        // The letter after a backslash is no word: "\\s", "\\d".
        let text: String = text
            .split('\\')
            .enumerate()
            .map(|(at, part)| if at == 0 { part } else { part.get(1..).unwrap_or_default() })
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase();
        let is_rate =
            ["/s", "/sec", "/second", "/min", " per s", "_per_", "/m]"].iter().any(|unit| text.contains(unit));
        let words = || text.split(|letter: char| !letter.is_alphanumeric() && letter != '.');
        let is_percentile = |word: &str| {
            word.strip_prefix('p')
                .is_some_and(|number| number.parse::<f64>().is_ok_and(|number| (1.0..=100.0).contains(&number)))
        };
        if words().any(|word| {
            ["error", "errors", "miss", "misses", "faults", "drops", "dropped", "lost", "stalls"].contains(&word)
        }) {
            return Some(false);
        }
        if is_rate {
            return Some(true);
        }
        let less = words().any(|word| LESS.contains(&word) || is_time_word(word) || is_percentile(word));
        let more = words().any(|word| MORE.contains(&word));
        match (more, less) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        }
    };
    let by_unit = |unit: QuantityUnit| match () {
        () if unit.is_time() => Some(false),
        () if unit.is_rate() => Some(true),
        () => None,
    };
    let by_name = |name: &str| by_words(name).or_else(|| by_unit(QuantityUnit::of_name(name)));
    column_of_call(name).and_then(by_name).or_else(|| by_name(name)).or_else(|| by_words(pattern))
}

/// Returns a regular expression that finds the begin of a name's number in a line, in any notation: "metric NAME 12.3",
/// "NAME: 12.3 ms", "NAME=12.3k", "NAME (ms): 12.3", `"NAME": 12.3` (JSON). The name is whole: no letter, digit, `_`,
/// `.` or `-` comes before it, and a quotation mark, a bracket, a colon, an equals sign or a space follows it.
/// [`crate::quantity`] reads the number itself.
pub fn metric_pattern(name: &str) -> String {
    format!(r#"{}(?:\s*[:=]\s*|\s+)["']?([-+−]?\.?[0-9])"#, name_pattern(name))
}

/// Returns a regular expression that finds a text behind a name and a colon or an equals sign: "NAME: NaN".
pub fn text_pattern(name: &str) -> String {
    format!(r#"{}\s*[:=]\s*["']?([^\s"',;(){{}}\[\]]+)"#, name_pattern(name))
}

/// Returns a regular expression of a whole name, with a unit in brackets behind it.
fn name_pattern(name: &str) -> String {
    const BRACKETS: &str = r"(?:\s*[(\[][^()\[\]]{1,24}[)\]])?";
    format!(r#"(?:^|[^A-Za-z0-9_.-]){}["']?{BRACKETS}"#, regex_lite::escape(name))
}

/// Returns true if a pattern is the one generated for the name.
pub fn is_by_name(name: &str, pattern: &str) -> bool {
    pattern == self::metric_pattern(name)
}

impl fmt::Display for MetricLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "metric {} {}", self.name, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::QuantityFinder;
    use corewise_statistics::quantity::MeasuredQuantity;

    #[test]
    fn names_and_units_say_whether_more_is_better() {
        let more = [
            "fps",
            "throughput",
            "ops/s",
            "frames/s",
            "score",
            "requests per second",
            "steps_per_second",
            "MB/s",
            "IPC",
        ];
        let less = [
            "latency",
            "p99",
            "p99.9_ns",
            "time",
            "wall ms",
            "error rate",
            "cache misses",
            "errors/s",
            "total_seconds",
            "tail",
            "x usec",
            "x (h)",
        ];
        for (names, expected) in [(&more[..], true), (&less[..], false)] {
            for name in names {
                assert_eq!(more_is_better(name, ""), Some(expected), "{name}");
            }
        }
        for name in ["p1(fps)", "p99(fps)", "max( fps )", "MIN(frames/s)", "framerate"] {
            assert_eq!(more_is_better(name, ""), Some(true), "{name}");
        }
        for name in ["p1(frametime)", "max(frametime)", "frametime", "frametimes", "p99(x)", "min(x_ms)"] {
            assert_eq!(more_is_better(name, ""), Some(false), "{name}");
        }
        for name in ["x", "result", "value", "my number", "score time"] {
            assert_eq!(more_is_better(name, "([0-9.]+)"), None, "{name}");
        }
        assert_eq!(more_is_better("x", "([0-9.]+) MB/s"), Some(true), "the pattern has the unit");
        assert_eq!(more_is_better("x", "took ([0-9.]+) ms"), Some(false));
        assert_eq!(more_is_better("x", "^x:\\s+(\\d+)$"), None, "a class of characters is no unit");
        assert_eq!(more_is_better("fps", "took ([0-9.]+) ms"), Some(true), "the name comes first");
    }

    #[test]
    fn a_line_is_found_by_its_name_alone() {
        let line = MetricLine::new("p99.9_ns", 1234.5).to_string();
        assert_eq!(line, "metric p99.9_ns 1234.5");
        let found = |name: &str, line: &str| {
            let finder = QuantityFinder::for_metric(name, &metric_pattern(name)).unwrap();
            finder.find_quantity(line).map(|found| found.unwrap().quantity)
        };
        let nanoseconds = MeasuredQuantity { value: 1234.5, unit: QuantityUnit::of_name("x_ns") };
        assert_eq!(found("p99.9_ns", &line), Some(nanoseconds), "the name carries the unit");
        assert_eq!(found("p99.9_ns", "metric p99a9_ns 1"), None, "a dot is a dot");
        assert_eq!(found("p99", &line), None);
        for value in [0.0, -1.5, 1e-300, 12_345_678.9, f64::MAX] {
            assert_eq!(
                found("x", &MetricLine::new("x", value).to_string()),
                Some(MeasuredQuantity::without_unit(value))
            );
        }
    }

    #[test]
    fn a_pattern_by_name_is_known() {
        assert!(is_by_name("p99.9_ns", &metric_pattern("p99.9_ns")));
        assert!(!is_by_name("p99", &metric_pattern("p50")) && !is_by_name("p99", "p99: ([0-9]+)"));
    }

    /// What programs write, and what must not be taken for it.
    #[test]
    fn a_name_is_found_however_its_number_is_written() {
        let found = |name: &str, line: &str| {
            let found = QuantityFinder::for_metric(name, &metric_pattern(name)).unwrap().find_quantity(line);
            found.map(|found| found.map(|found| found.quantity.to_string()).map_err(|error| error.to_string()))
        };
        let lines = [
            ("fps: 60.5", "60.5"),
            ("fps=60.5", "60.5"),
            ("fps = 60.5 frames", "60.5 frames"),
            ("fps 60.5", "60.5"),
            ("mean fps:60.5ms,", "60.5 ms"),
            (r#"{"time": 1, "fps": 60.5, "p99": 3}"#, "60.5"),
            (r#""fps":"60.5""#, "60.5"),
            ("fps: 60.5.", "60.5"),
            ("\tfps\t60.5", "60.5"),
            ("fps (Hz): 60.5", "60.5 Hz"),
            ("fps [1/s] 60.5", "60.5"),
        ];
        for (line, expected) in lines {
            assert_eq!(found("fps", line), Some(Ok(expected.to_owned())), "{line}");
        }
        for line in ["fps", "fps:", "fps2 60.5", "my_fps 60.5", "fps60.5", "fps of 60", "fps: n/a"] {
            assert_eq!(found("fps", line), None, "{line}");
        }
        for line in ["fps 1,5", "fps 1.2.3", "fps 1.234,5", "fps: 7e2e3", "fps 12:3"] {
            let message = found("fps", line).unwrap().unwrap_err();
            assert!(message.contains("which is not a "), "{line}: {message}");
        }
        let found = |name: &str, line: &str| found(name, line).unwrap().unwrap();
        assert_eq!(found("Requests/sec", "Requests/sec:  12,345.67"), "12345.67 Requests/s");
        assert_eq!(found("error rate", "error rate: -1.5e-3 %"), "-0.0015%");
        assert_eq!(found("x", "x: .5"), "0.5");
    }

    #[test]
    fn names_tell_whether_more_is_better() {
        assert_eq!(more_is_better("rays_per_second", ""), Some(true));
        assert!(is_name("a_b-c.9") && !is_name("") && !is_name("a b") && !is_name("a=b"));
    }
}
