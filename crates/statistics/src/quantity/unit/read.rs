//! Reading of the text after a number.

use super::super::RefusalReason;
use super::super::number::{is_blank, scan_number};
use super::QuantityUnit;
use super::term::{UnitTerm, parse_multiplier, split_count, split_rate};

const LETTER_M: RefusalReason = Some("\"m\" may be minutes, thousandths or millions");
const WORD_AND_DIGITS: RefusalReason = Some("letters and digits follow it");

/// Words that continue a sentence and are not labels.
const PROSE: [&str; 27] = [
    "in", "at", "after", "of", "for", "on", "to", "from", "with", "by", "and", "or", "is", "was", "are", "were",
    "than", "over", "under", "vs", "the", "a", "an", "no", "not", "if", "per",
];
/// Maximum number of words of a label before "per": "million cell updates per second".
const MAX_LABEL_WORDS: usize = 4;

/// Reads the unit after a number: a factor for the number, the unit, and its end. An unknown word is a label with
/// factor 1.
pub(in crate::quantity) fn read_unit(text: &str) -> Result<(f64, QuantityUnit, usize), RefusalReason> {
    let text_behind = skip_deviation(text);
    let skipped = text.len() - text_behind.len();
    let (word, begin) = next_word(text_behind);
    let is_glued = begin == 0 && skipped == 0;
    let end = begin + word.len();
    let rest = &text_behind[end..];
    if is_glued && rest.starts_with(|next: char| next.is_ascii_digit() || next == '_') && !word.is_empty() {
        return Err(WORD_AND_DIGITS);
    }
    if word.is_empty()
        && let Some((unit, used)) = read_brackets(rest)
    {
        return Ok((1.0, unit, skipped + end + used));
    }
    let is_least = word == "min" && rest.trim_start().starts_with(|next: char| next.is_ascii_digit());
    if belongs_elsewhere(is_glued, rest) || (is_least && !is_glued) {
        return Ok((1.0, QuantityUnit::BARE, 0));
    }
    let (scale, unit, used) = read_words(&text_behind[begin..], begin)?;
    Ok((scale, unit, if used == 0 { 0 } else { skipped + begin + used }))
}

/// Returns true if a word after a space belongs to something else: "min" in "60 min=40", "e2e4" in "60 e2e4".
fn belongs_elsewhere(is_glued: bool, rest: &str) -> bool {
    !is_glued && rest.starts_with(|next: char| next.is_ascii_digit() || "_:=-".contains(next))
}

/// Reads a known unit in brackets, as in "0.81 [ms]", with its end.
fn read_brackets(text: &str) -> Option<(QuantityUnit, usize)> {
    let inside = text.strip_prefix(['[', '('])?;
    let end = inside.find([']', ')'])?;
    Some((read_known(inside[..end].trim())?, end + 2))
}

/// Skips "± 5.6" or "±(99.9%) 5.6" before the unit.
fn skip_deviation(text: &str) -> &str {
    let begin = text.trim_start_matches(is_blank);
    let signs = ["±", "+/-", "+-"];
    let behind_sign = signs.iter().find_map(|sign| begin.strip_prefix(sign));
    let number = behind_sign
        .map(|rest| rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest));
    let number = number.map(|rest| rest.trim_start_matches(is_blank));
    match number.and_then(|number| Some(&number[scan_number(number, None).ok()?.end..])) {
        Some(rest) => rest,
        None => text,
    }
}

/// Returns the word after any blanks, and its begin.
fn next_word(text: &str) -> (&str, usize) {
    let begin = text.len() - text.trim_start_matches(|blank: char| is_blank(blank) || blank == '\t').len();
    let rest = &text[begin..];
    if rest.starts_with('%') {
        return (&rest[..1], begin);
    }
    (&rest[..rest.find(|letter: char| !letter.is_alphabetic() && letter != '°').unwrap_or(rest.len())], begin)
}

/// Reads a unit that begins at a word, `distance` bytes after its number; the end is 0 if there is none.
fn read_words(text: &str, distance: usize) -> Result<(f64, QuantityUnit, usize), RefusalReason> {
    let (word, _) = next_word(text);
    let rest = &text[word.len()..];
    let below = |above: UnitTerm| read_below(rest, &above).map(|(below, used)| (above, below, word.len() + used));
    if word.is_empty() || word.eq_ignore_ascii_case("per") {
        let bare = read_below(text, &UnitTerm::BARE);
        return Ok(bare.map_or((1.0, QuantityUnit::BARE, 0), |(below, used)| {
            (1.0, combine_terms(UnitTerm::BARE, Some(below)), used)
        }));
    }
    if word == "m" && is_in_a_time(rest) {
        return Err(LETTER_M);
    }
    if let Some(scale) = parse_multiplier(word) {
        let (more, unit, used) = read_behind_multiplier(rest)?;
        return Ok((scale * more, unit, word.len() + used));
    }
    if let Some(unit) = parse_bit_rate(word) {
        return Ok((1.0, unit, word.len()));
    }
    if let Some(term) = UnitTerm::parse_known(word) {
        return Ok(match below(term.clone()) {
            Some((above, below, end)) => (1.0, combine_terms(above, Some(below)), end),
            None => (1.0, combine_terms(term, None), word.len()),
        });
    }
    Ok(read_label(text, word, distance))
}

/// Returns true if a rate follows: there are no minutes per second.
fn is_in_a_time(rest: &str) -> bool {
    let next = rest.trim_start_matches(is_blank);
    read_below(rest, &UnitTerm::BARE).is_some() || (rest.len() - next.len() <= 1 && read_label_per_time(next).is_some())
}

fn combine_terms(above: UnitTerm, below: Option<UnitTerm>) -> QuantityUnit {
    QuantityUnit { above, below }
}

/// Reads the optional unit after "k" or "million".
fn read_behind_multiplier(rest: &str) -> Result<(f64, QuantityUnit, usize), RefusalReason> {
    let (word, begin) = next_word(rest);
    let is_word = begin <= 1 && !belongs_elsewhere(false, &rest[begin + word.len()..]);
    if !is_word || (begin == 0 && !word.is_empty()) {
        return Ok((1.0, QuantityUnit::BARE, 0));
    }
    let (scale, unit, used) = read_words(&rest[begin..], begin)?;
    Ok((scale, unit, if used == 0 { 0 } else { begin + used }))
}

/// Parses "Mbps" and "MBps".
fn parse_bit_rate(word: &str) -> Option<QuantityUnit> {
    let data = word.strip_suffix("ps").filter(|data| data.ends_with(['b', 'B']))?;
    UnitTerm::parse_known(data).map(|above| combine_terms(above, Some(UnitTerm::seconds())))
}

/// Reads the unit after "/" or "per", with its end. After a space or a bare number it must be a time.
fn read_below(text: &str, above: &UnitTerm) -> Option<(UnitTerm, usize)> {
    let trimmed = text.trim_start_matches(is_blank);
    let is_spaced = trimmed.len() < text.len();
    let behind_sign = trimmed.strip_prefix('/').or_else(|| {
        let is_per = trimmed.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("per"));
        trimmed.get(3..).filter(|rest| is_per && rest.starts_with(is_blank))
    })?;
    let is_slash = trimmed.starts_with('/');
    let (word, begin) = next_word(behind_sign);
    if word.is_empty() || (is_slash && begin > usize::from(is_spaced)) {
        return None;
    }
    let known = UnitTerm::parse_known(word);
    let must_be_time = is_slash && is_spaced || above.is_bare();
    let term = match known {
        Some(term) if term.is_time() || !must_be_time => term,
        None if !must_be_time => UnitTerm::from_label(word),
        _ => return None,
    };
    Some((term, text.len() - behind_sign.len() + begin + word.len()))
}

/// Reads a word that is no known unit as a label. A multiplier before it is split off only from known ones.
fn read_label(text: &str, word: &str, distance: usize) -> (f64, QuantityUnit, usize) {
    if let Some((scale, rate)) = split_rate(word) {
        return (scale, combine_terms(UnitTerm::from_label(rate), None), word.len());
    }
    if let Some((label, below, end)) = read_label_per_time(text) {
        let (scale, label) = split_count(label).unwrap_or((1.0, label));
        return (scale, combine_terms(UnitTerm::from_label(label), Some(below)), end);
    }
    let is_prose = PROSE.iter().any(|prose| word.eq_ignore_ascii_case(prose));
    if distance > 1 || is_prose {
        return (1.0, QuantityUnit::BARE, 0);
    }
    let label = UnitTerm::from_label(word);
    match read_below(&text[word.len()..], &label) {
        Some((below, used)) => (1.0, combine_terms(label, Some(below)), word.len() + used),
        None => (1.0, combine_terms(label, None), word.len()),
    }
}

/// Reads one or several words per time: "cell updates per second".
fn read_label_per_time(text: &str) -> Option<(&str, UnitTerm, usize)> {
    let mut end = 0;
    for _ in 0..MAX_LABEL_WORDS {
        let (word, begin) = next_word(&text[end..]);
        if word.is_empty() || begin > 1 {
            return None;
        }
        end += begin + word.len();
        let label = UnitTerm::from_label(&text[..end]);
        if let Some((below, used)) = read_below(&text[end..], &label) {
            return below.is_time().then_some((&text[..end], below, end + used));
        }
    }
    None
}

/// Reads a text that is a known unit as a whole.
pub(super) fn read_known(text: &str) -> Option<QuantityUnit> {
    let (scale, unit, end) = read_words(text, 0).ok()?;
    let is_known = !unit.above.is_label() || unit.below.as_ref().is_some_and(UnitTerm::is_time);
    (scale == 1.0 && end == text.len() && is_known && !unit.is_bare()).then_some(unit)
}

/// Reads a stored unit: each side a known one or a label.
pub(super) fn read_stored(text: &str) -> QuantityUnit {
    let term = |text: &str| UnitTerm::parse_known(text).unwrap_or_else(|| UnitTerm::from_label(text));
    match text.rsplit_once('/') {
        Some((above, below)) => combine_terms(term(above), Some(term(below))),
        None => combine_terms(term(text), None),
    }
}
