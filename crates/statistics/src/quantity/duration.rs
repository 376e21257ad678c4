//! Durations of several parts: "12:30", "1:02:03", "0m1.231s", "1h02m", "1m 23s", "1 min 23 s".

use super::RefusalReason;
use super::number::{ScannedNumber, count_digits, is_blank, scan_number};
use super::unit::time_factor_s;

const NO_DURATION: RefusalReason = Some("it is neither a number nor a duration such as 12:30 or 1:02:03");
const NO_PARTS: RefusalReason = Some("its parts are not those of a duration such as 1h02m or 0m1.231s");
/// Shortest part that others may follow after a space: "1s 234ms".
const SHORTEST_SPACED_S: f64 = 1.0;

/// Reads "12:30" and "1:02:03.5" as seconds, with the byte after them; `None` if no colon joins digits there.
pub(super) fn scan_clock(text: &str) -> Result<Option<(f64, usize)>, RefusalReason> {
    let mut end = count_digits(text);
    let joins = |at: usize| text[at..].strip_prefix(':').is_some_and(|rest| count_digits(rest) > 0);
    if end == 0 || !joins(end) {
        return Ok(None);
    }
    let mut seconds: f64 = text[..end].parse().map_err(|_| NO_DURATION)?;
    let mut parts = 1;
    while joins(end) {
        let digits = count_digits(&text[end + 1..]);
        let part: f64 = text[end + 1..=end + digits].parse().map_err(|_| NO_DURATION)?;
        if digits != 2 || part >= 60.0 {
            return Err(NO_DURATION);
        }
        (seconds, parts, end) = (60.0 * seconds + part, parts + 1, end + 3);
    }
    let fraction = text[end..].strip_prefix('.').map_or(0, count_digits);
    if fraction > 0 {
        seconds += text[end..=end + fraction].parse::<f64>().map_err(|_| NO_DURATION)?;
        end += 1 + fraction;
    }
    let goes_on = text[end..].strip_prefix([',', '.', '-']).is_some_and(|rest| count_digits(rest) > 0);
    if parts > 3 || goes_on || is_of_hours(&text[end..]) { Err(NO_DURATION) } else { Ok(Some((seconds, end))) }
}

/// Returns true if hours are named after a clock, which is then of hours and minutes.
fn is_of_hours(rest: &str) -> bool {
    let word = word_of(rest.trim_start_matches(is_blank));
    time_factor_s(word).is_some_and(|factor| factor >= 3_600.0)
}

fn word_of(text: &str) -> &str {
    &text[..text.find(|character: char| !character.is_alphabetic()).unwrap_or(text.len())]
}

/// Returns the length of the one blank that may stand at a byte.
fn blank_at(text: &str, at: usize) -> usize {
    text[at..].chars().next().filter(|blank| is_blank(*blank)).map_or(0, char::len_utf8)
}

/// Reads the parts after a first number as seconds, with the byte after them; `None` if there is only one part.
pub(super) fn scan_parts(text: &str, first: &ScannedNumber) -> Result<Option<(f64, usize)>, RefusalReason> {
    let (mut part, mut end, mut seconds, mut parts) = (*first, first.end, 0.0, 0);
    let mut is_glued;
    loop {
        let blank = blank_at(text, end);
        let word = word_of(&text[end + blank..]);
        let Some(factor) = time_factor_s(word) else {
            return if parts == 0 { Ok(None) } else { Err(NO_PARTS) };
        };
        is_glued = blank == 0;
        (seconds, parts, end) = (seconds + part.value * factor, parts + 1, end + blank + word.len());
        let Some((next, next_end, next_factor)) = next_part(text, end, factor) else { break };
        // A fraction, or a longer part after a shorter one: columns of a table, or nonsense.
        if !part.is_whole || next_factor >= factor {
            return if next_end.is_glued { Err(NO_PARTS) } else { Ok((parts > 1).then_some((seconds, end))) };
        }
        (part, end) = (next, next_end.at);
    }
    let is_cut_off = text[end..].starts_with(|character: char| character.is_ascii_digit());
    if is_cut_off && is_glued { Err(NO_PARTS) } else { Ok((parts > 1).then_some((seconds, end))) }
}

/// The byte after a part's number; true if the part follows without a space.
struct PartEnd {
    at: usize,
    is_glued: bool,
}

/// Reads the next part's number and the factor of its unit; `None` if none follows.
fn next_part(text: &str, end: usize, factor: f64) -> Option<(ScannedNumber, PartEnd, f64)> {
    let blank = blank_at(text, end);
    let begin = end + blank;
    let is_digit = text[begin..].starts_with(|character: char| character.is_ascii_digit());
    if !is_digit || (blank > 0 && factor < SHORTEST_SPACED_S) {
        return None;
    }
    let number = scan_number(&text[begin..], None).ok()?;
    let at = begin + number.end;
    let next_factor = time_factor_s(word_of(&text[at + blank_at(text, at)..]))?;
    Some((ScannedNumber { end: at, ..number }, PartEnd { at, is_glued: blank == 0 }, next_factor))
}
