//! Numbers for people: grouped thousands, only significant digits, units elsewhere.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Placeholder for an unavailable value.
pub const ABSENT: &str = "–";

/// Formats a whole number with grouped thousands: 1,912.
pub fn whole(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number with this many decimals and grouped thousands; [`ABSENT`] if it is not finite.
pub fn decimal(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.into();
    }
    let text = format!("{:.decimals$}", value.abs());
    let (integer, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let integer = integer.parse().map_or_else(|_| integer.to_owned(), whole);
    let zero = text.chars().all(|c| matches!(c, '0' | '.'));
    let sign = if value < 0.0 && !zero { "-" } else { "" };
    let point = if decimals > 0 { "." } else { "" };
    format!("{sign}{integer}{point}{fraction}")
}

/// Formats a value with at least two significant digits and at most one decimal: 7.4, 261, 11,300.
pub fn brief(value: f64) -> String {
    if value != 0.0 && value.abs() < 9.95 { decimal(value, 1) } else { decimal(value, 0) }
}

/// Formats a duration given in nanoseconds, with its unit: "23 µs".
pub fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        ns if ns < 1e3 => format!("{} ns", brief(ns)),
        ns if ns < 1e6 => format!("{} µs", brief(ns / 1e3)),
        ns if ns < 1e9 => format!("{} ms", brief(ns / 1e6)),
        ns => format!("{} s", brief(ns / 1e9)),
    }
}

/// Formats an amount of cache or memory; 1 KB is 1,024 bytes, as hwloc and processor vendors count.
pub fn bytes(size_bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let mut size = size_bytes as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    let text = decimal(size, usize::from(size < 9.95));
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), UNITS[unit])
}

/// Formats a count and its noun: "1 core", "16 cores".
pub fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", whole(number as u64))
}

/// Formats a time in the user's time zone: "2026-11-21 08:53".
pub fn when(unix_ms: i64, zone: &TimeZone) -> String {
    moment(unix_ms, zone, "%Y-%m-%d %H:%M")
}

/// Formats a time in the user's time zone, to the second: "2026-11-21 08:53:07".
pub fn when_exactly(unix_ms: i64, zone: &TimeZone) -> String {
    moment(unix_ms, zone, "%Y-%m-%d %H:%M:%S")
}

/// Formats a time in a time zone, with a strftime(3) format.
pub fn moment(unix_ms: i64, zone: &TimeZone, form: &str) -> String {
    match Timestamp::from_millisecond(unix_ms) {
        Ok(moment) => moment.to_zoned(zone.clone()).strftime(form).to_string(),
        Err(_) => "at an unknown time".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_what_is_meant() {
        assert_eq!([whole(0), whole(999), whole(1000), whole(12_345_678)], ["0", "999", "1,000", "12,345,678"]);
        assert_eq!([brief(0.0), brief(0.04), brief(7.42), brief(9.96), brief(261.3)], ["0", "0.0", "7.4", "10", "261"]);
        assert_eq!([decimal(f64::NAN, 1), decimal(-0.01, 1), decimal(-1234.56, 1)], ["–", "0.0", "-1,234.6"]);
        assert_eq!([duration(261.0), duration(23_100.0), duration(6.4e6)], ["261 ns", "23 µs", "6.4 ms"]);
        assert_eq!(
            [bytes(0), bytes(48 << 10), bytes(1280 << 10), bytes(5118 << 10), bytes(96 << 20), bytes(67_341_258_752)],
            ["0 B", "48 KB", "1.2 MB", "5 MB", "96 MB", "63 GB"]
        );
        assert_eq!([count(1, "core"), count(16, "core")], ["1 core", "16 cores"]);
    }
}
