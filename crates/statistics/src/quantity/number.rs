//! Numbers as programs print them: with thousands separators, a fraction, an exponent.

use super::RefusalReason;

const COMMA: RefusalReason = Some("a comma may separate thousands (\"12,400\") or a fraction (\"1,5\")");
const GROUPS: RefusalReason = Some("its groups of digits are not thousands");
const SEVERAL: RefusalReason = Some("it has several points, dashes or commas, like a version, a date or a range");

/// A number at the beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScannedNumber {
    pub value: f64,
    /// The byte after it.
    pub end: usize,
    /// True if it consists of digits alone.
    pub is_whole: bool,
}

/// Returns true for a space that may stand within a number or before a unit.
pub(super) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
}

/// Returns the number of digits that a text begins with.
pub(super) fn count_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn begins_with_digit(text: &str) -> bool {
    count_digits(text) > 0
}

/// Reads the number that a text begins with. From `fields_begin` on, a comma or a blank separates fields, not
/// thousands.
pub(super) fn scan_number(text: &str, fields_begin: Option<usize>) -> Result<ScannedNumber, RefusalReason> {
    let sign = text.chars().next().filter(|sign| "+-\u{2212}".contains(*sign));
    let begin = sign.map_or(0, char::len_utf8);
    let whole_end = begin + scan_thousands(&text[begin..], fields_begin.map(|at| at.saturating_sub(begin)))?;
    let fraction_end = whole_end + scan_fraction(&text[whole_end..]);
    if fraction_end == begin {
        return Err(None);
    }
    let end = fraction_end + scan_exponent(&text[fraction_end..]);
    check_end(&text[end..], fraction_end > whole_end, fields_begin.is_some_and(|fields| end >= fields))?;
    let mut digits: String = text[begin..end].chars().filter(|character| is_of_number(*character)).collect();
    if sign.is_some_and(|sign| sign != '+') {
        digits.insert(0, '-');
    }
    let value = digits.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or(None)?;
    Ok(ScannedNumber { value, end, is_whole: end == whole_end && sign.is_none() })
}

fn is_of_number(character: char) -> bool {
    character.is_ascii_digit() || ".eE+-".contains(character)
}

/// Returns the length of the digits before a fraction, with their thousands separators.
fn scan_thousands(text: &str, fields_begin: Option<usize>) -> Result<usize, RefusalReason> {
    let first = count_digits(text);
    let mut end = first;
    let mut separator = None;
    while let Some(next) = text[end..].chars().next().filter(|next| is_blank(*next) || ",'’_".contains(*next)) {
        let group = &text[end + next.len_utf8()..];
        let is_field = fields_begin.is_some_and(|fields| end >= fields) && (next == ',' || is_blank(next));
        if first == 0 || !begins_with_digit(group) || is_field {
            break;
        }
        let is_same = separator.is_none_or(|separator| separator == next);
        let is_group = count_digits(group) == 3 && first <= 3 && !text.starts_with('0') && is_same;
        match is_group {
            true => (separator, end) = (Some(next), end + next.len_utf8() + 3),
            // These are columns of a table, not groups of digits.
            false if is_blank(next) => return Ok(if separator.is_some_and(is_blank) { first } else { end }),
            false => return Err(if next == ',' { COMMA } else { GROUPS }),
        }
    }
    Ok(end)
}

fn scan_fraction(text: &str) -> usize {
    match text.strip_prefix('.').map_or(0, count_digits) {
        0 => 0,
        digits => 1 + digits,
    }
}

fn scan_exponent(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return 0 };
    let unsigned = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    match count_digits(unsigned) {
        0 => 0,
        digits => text.len() - unsigned.len() + digits,
    }
}

/// Refuses a number with an invalid continuation.
fn check_end(rest: &str, has_fraction: bool, is_at_fields: bool) -> Result<(), RefusalReason> {
    let mut characters = rest.chars();
    let (next, is_digit) = (characters.next(), begins_with_digit(characters.as_str()));
    match next {
        Some(',') if is_digit && !is_at_fields => Err(if has_fraction { COMMA } else { SEVERAL }),
        Some('.' | '-' | ':') if is_digit => Err(SEVERAL),
        Some('\'' | '’' | '_') if is_digit => Err(GROUPS),
        _ => Ok(()),
    }
}
