//! Values of options: durations, sizes, and layouts of queues.

use std::time::Duration;

use clap::ValueEnum;
use corewise_machine::ring::RingSlots;
use jiff::{Span, SpanRelativeTo};

use crate::draw::suggestion::quote_words;

/// Returns a parser for a duration within [least, most]: with a unit (500ms, 1m30s), or a bare number of seconds.
pub fn duration_between(least: &'static str, most: &'static str) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |text| {
        let bounds = parse_duration(least).zip(parse_duration(most));
        let is_within = |given: &Duration| bounds.is_some_and(|(least, most)| (least..=most).contains(given));
        let given = parse_duration(text).ok_or_else(|| format!("expected a duration such as {least} or {most}"))?;
        Some(given).filter(is_within).ok_or_else(|| format!("expected a duration between {least} and {most}"))
    }
}

/// Parses a measuring budget.
pub fn parse_budget(text: &str) -> Result<Duration, String> {
    duration_between("1s", "24h")(text)
}

fn parse_duration(text: &str) -> Option<Duration> {
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => {
            let days = SpanRelativeTo::days_are_24_hours();
            Duration::try_from(text.parse::<Span>().ok()?.to_duration(days).ok()?).ok()
        }
    }
}

/// Parses the number of a process.
pub fn process_number(text: &str) -> Result<u32, String> {
    let name = quote_words([text]);
    text.parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("expected the number of a process; `pgrep {name}` has those with this name"))
}

/// Parses a size of memory in bytes: with a unit (512KiB, 256MiB, 2G), or a bare number of bytes.
pub fn size_bytes(text: &str) -> Result<u64, String> {
    let expected = || "expected a size between 1MiB and 1TiB, such as 256MiB or 2GiB".to_owned();
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(expected()),
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    bytes.filter(|bytes| (1 << 20..=1 << 40).contains(bytes)).ok_or_else(expected)
}

/// The layout of a queue's slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SlotsName {
    /// One after the other
    Packed,
    /// Each in its own pair of lines
    Padded,
}

impl SlotsName {
    /// Returns the model's value.
    pub const fn to_slots(self) -> RingSlots {
        match self {
            Self::Packed => RingSlots::Packed,
            Self::Padded => RingSlots::Padded,
        }
    }
}

/// Parses the name of a unit; without an ending it is a service, as for systemctl(1).
///
/// # Errors
/// It is empty.
pub fn parse_unit(text: &str) -> Result<String, String> {
    let is_whole = text.contains(['.', '*']);
    if text.is_empty() {
        Err("expected the name of a unit".to_owned())
    } else if is_whole {
        Ok(text.to_owned())
    } else {
        Ok(format!("{text}.service"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit_or_is_in_bytes() {
        assert_eq!(
            [size_bytes("256MiB"), size_bytes("2g"), size_bytes("1048576")],
            [Ok(256 << 20), Ok(2 << 30), Ok(1 << 20)]
        );
        for text in ["", "MiB", "4", "-5M", "1.5G", "99999999999G", "2TiB", "5 MiB", "5X"] {
            assert!(size_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_number_of_a_process_is_not_its_name() {
        assert_eq!(process_number("4711"), Ok(4711));
        let by_name = "expected the number of a process; `pgrep 'my app'` has those with this name";
        assert_eq!(process_number("my app"), Err(by_name.to_owned()));
        for text in ["", "0", "-1", "4294967296", "1.5"] {
            assert!(process_number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_duration_has_a_unit_or_is_in_seconds() {
        assert_eq!(parse_budget("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(
            [parse_budget("30"), parse_budget("1.5")],
            [Ok(Duration::from_secs(30)), Ok(Duration::from_millis(1500))]
        );
        assert_eq!(parse_budget("0.5s"), Err("expected a duration between 1s and 24h".to_owned()));
        assert_eq!(duration_between("100ns", "1s")("5 µs"), Ok(Duration::from_micros(5)));
        assert_eq!(duration_between("1s", "90d")("1w 2d"), Ok(Duration::from_secs(9 * 86_400)));
        for text in ["-5s", "-5", "soon", "", "nan", "inf", "1e30", "25h", "0"] {
            assert!(parse_budget(text).is_err(), "{text}");
        }
    }
}
