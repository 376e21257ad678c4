//! Units in a metric's name: "p99_ns", "Requests/sec", "Latency (ms)", "rays_per_second".

use super::QuantityUnit;
use super::term::{UnitTerm, is_time_word};

/// Returns the unit of a name, if it has one.
pub(super) fn read_name(name: &str) -> Option<QuantityUnit> {
    let name = name.trim();
    let name = name.split('{').next().unwrap_or(name).trim();
    if let Some((before, inside)) = name.strip_suffix([')', ']']).and_then(|name| name.rsplit_once(['(', '['])) {
        let is_call = !before.is_empty() && !before.ends_with(' ');
        return QuantityUnit::parse_known(inside).or_else(|| if is_call { read_name(inside) } else { None });
    }
    let name = name.strip_suffix("_total").unwrap_or(name);
    read_ratio(name).or_else(|| known_word(last_word(name), name != last_word(name)).map(QuantityUnit::from))
}

fn last_word(name: &str) -> &str {
    name.rsplit(|letter: char| !letter.is_alphanumeric()).next().unwrap_or(name)
}

/// Returns the unit of a word that can only be a unit; a single letter must end the name, as in "time_s".
fn known_word(word: &str, is_end: bool) -> Option<UnitTerm> {
    let is_long = word.chars().count() > 1;
    let is_clear = is_time_word(word) && (is_long || is_end);
    let term = UnitTerm::parse_known(word)?;
    (is_clear || (!term.is_time() && is_long)).then_some(term)
}

/// Reads "rays_per_second", "ns per op", "Requests/sec".
fn read_ratio(name: &str) -> Option<QuantityUnit> {
    let signs = ["_per_", " per ", "/"];
    let (above, below) = signs.iter().find_map(|sign| name.rsplit_once(sign))?;
    let above = last_word(above);
    let known = known_word(above, true);
    let below = match known_word(below, true).filter(UnitTerm::is_time) {
        Some(time) => time,
        None if known.is_some() && below.chars().all(char::is_alphabetic) => UnitTerm::from_label(below),
        None => return None,
    };
    Some(QuantityUnit { above: known.unwrap_or_else(|| UnitTerm::from_label(above)), below: Some(below) })
}
