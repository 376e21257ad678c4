//! Numbers for people: grouped thousands, only significant digits, units elsewhere.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Placeholder for an unavailable value.
pub const ABSENT: &str = "–";

/// Formats a whole number with grouped thousands: 1,912.
pub fn format_whole(value: u64) -> String {
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
pub fn format_decimal(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.into();
    }
    let text = format!("{:.decimals$}", value.abs());
    let (integer, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let integer = integer.parse().map_or_else(|_| integer.to_owned(), format_whole);
    let zero = text.chars().all(|c| matches!(c, '0' | '.'));
    let sign = if value < 0.0 && !zero { "-" } else { "" };
    let point = if decimals > 0 { "." } else { "" };
    format!("{sign}{integer}{point}{fraction}")
}

/// Formats a value with at least two significant digits and at most one decimal: 7.4, 261, 11,300.
pub fn format_brief(value: f64) -> String {
    if value != 0.0 && value.abs() < 9.95 { format_decimal(value, 1) } else { format_decimal(value, 0) }
}

/// Formats a duration given in nanoseconds, with its unit: "23 µs".
pub fn format_duration(nanoseconds: f64) -> String {
    match nanoseconds {
        ns if ns < 1e3 => format!("{} ns", format_brief(ns)),
        ns if ns < 1e6 => format!("{} µs", format_brief(ns / 1e3)),
        ns if ns < 1e9 => format!("{} ms", format_brief(ns / 1e6)),
        ns => format!("{} s", format_brief(ns / 1e9)),
    }
}

/// Formats a value with at least this many significant digits: 1.25 and 525 with three.
pub fn format_digits(value: f64, digits: i32) -> String {
    let decimals = if value == 0.0 { 0 } else { (digits - 1 - value.abs().log10().floor() as i32).clamp(0, 9) };
    format_decimal(value, decimals.unsigned_abs() as usize)
}

/// Formats a duration in nanoseconds with its unit, and with at least this many significant digits: "1.25 s".
pub fn format_duration_digits(nanoseconds: f64, digits: i32) -> String {
    let (unit_ns, unit) = match nanoseconds {
        ns if ns < 1e3 => (1.0, "ns"),
        ns if ns < 1e6 => (1e3, "µs"),
        ns if ns < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {unit}", format_digits(nanoseconds / unit_ns, digits))
}

/// Formats an amount of cache or memory; 1 KB is 1,024 bytes, as hwloc and processor vendors count.
pub fn format_bytes(size_bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let mut size = size_bytes as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    let text = format_decimal(size, usize::from(size < 9.95));
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), UNITS[unit])
}

/// Formats a count and its noun: "1 core", "16 cores".
pub fn format_count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", format_whole(number as u64))
}

/// Formats a time in the user's time zone: "2026-11-21 08:53".
pub fn format_time(unix_ms: i64, zone: &TimeZone) -> String {
    format_time_as(unix_ms, zone, "%Y-%m-%d %H:%M")
}

/// Formats a time in the user's time zone, to the second: "2026-11-21 08:53:07".
pub fn format_exact_time(unix_ms: i64, zone: &TimeZone) -> String {
    format_time_as(unix_ms, zone, "%Y-%m-%d %H:%M:%S")
}

/// Formats a time in a time zone, with a strftime(3) format.
pub fn format_time_as(unix_ms: i64, zone: &TimeZone, form: &str) -> String {
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
        assert_eq!(
            [format_whole(0), format_whole(999), format_whole(1000), format_whole(12_345_678)],
            ["0", "999", "1,000", "12,345,678"]
        );
        assert_eq!(
            [format_brief(0.0), format_brief(0.04), format_brief(7.42), format_brief(9.96), format_brief(261.3)],
            ["0", "0.0", "7.4", "10", "261"]
        );
        assert_eq!(
            [format_decimal(f64::NAN, 1), format_decimal(-0.01, 1), format_decimal(-1234.56, 1)],
            ["–", "0.0", "-1,234.6"]
        );
        assert_eq!(
            [format_duration(261.0), format_duration(23_100.0), format_duration(6.4e6)],
            ["261 ns", "23 µs", "6.4 ms"]
        );
        assert_eq!(
            [(1.2512e9, 3), (525.4e6, 3), (1.2512e9, 4), (99_960.0, 3)]
                .map(|(ns, digits)| format_duration_digits(ns, digits)),
            ["1.25 s", "525 ms", "1.251 s", "100.0 µs"]
        );
        assert_eq!(
            [
                format_bytes(0),
                format_bytes(48 << 10),
                format_bytes(1280 << 10),
                format_bytes(5118 << 10),
                format_bytes(96 << 20),
                format_bytes(67_341_258_752)
            ],
            ["0 B", "48 KB", "1.2 MB", "5 MB", "96 MB", "63 GB"]
        );
        assert_eq!([format_count(1, "core"), format_count(16, "core")], ["1 core", "16 cores"]);
    }
}
