//! Questions about texts that nothing here knows: a list or mask of cpus beside a word such as "cpu" or "affinity".

use super::text::{TextFault, TextPiece};
use super::{Notation, NotationChoice};
use crate::suggested_command;

/// Parts of words that speak of cpus.
const OF_CPUS: [&str; 8] = ["cpu", "core", "affinity", "pin", "isol", "processor", "bind", "rank"];
/// Parts of words that speak of something else.
const OF_OTHERS: [&str; 6] = ["mem", "node", "numa", "port", "version", "cell"];

/// Returns the question whether the list behind an unknown key names cpus.
pub(super) fn ask_about_value(key: &str, value: TextPiece<'_>) -> Option<TextFault> {
    let notation = form_of(value.text)?;
    let what = format!("\"{key}\" is no setting that is known here; does \"{}\" name cpus?", value.text);
    Some(value.fault_here(what).with_choices(vec![offer_reading(value, notation)]))
}

/// Returns the question whether the one list or mask in a text names cpus.
pub(super) fn ask_about(text: TextPiece<'_>) -> Option<TextFault> {
    let lower = text.text.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if !has(&OF_CPUS) || has(&OF_OTHERS) {
        return None;
    }
    let mut values: Vec<(TextPiece<'_>, Notation)> = Vec::new();
    for word in text.split(|c| c.is_whitespace() || "=:'\"()[]{}<>;|`".contains(c)) {
        let word = word.strip_suffix(",").unwrap_or(word);
        let found = form_of(word.text).map(|notation| (word, notation));
        values.extend(found.filter(|(word, _)| !values.iter().any(|(known, _)| known.text == word.text)));
    }
    let [(value, notation)] = values.as_slice() else { return None };
    let what = format!("this is no setting that is known here; does \"{}\" name the cpus?", value.text);
    Some(value.fault_here(what).with_choices(vec![offer_reading(*value, *notation)]))
}

/// Returns the choice to read a value in a notation.
fn offer_reading(value: TextPiece<'_>, notation: Notation) -> NotationChoice {
    let options = ["--from".to_owned(), notation.word().to_owned()];
    NotationChoice {
        meaning: format!("{notation}: {}", value.text),
        command: suggested_command::place_from(&options, &[value.text.to_owned()]),
    }
}

/// Returns the notation of a word that has the form of several cpus.
fn form_of(word: &str) -> Option<Notation> {
    if let Some(digits) = word.strip_prefix("0x") {
        let is_mask = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        return is_mask.then_some(Notation::Hexadecimal);
    }
    let is_range = |item: &str| {
        let bounds: Vec<&str> = item.split('-').collect();
        let is_number =
            |bound: &&str| !bound.is_empty() && bound.len() < 5 && bound.bytes().all(|c| c.is_ascii_digit());
        bounds.len() < 3 && bounds.iter().all(is_number)
    };
    (word.contains(['-', ',']) && word.split(',').all(|item| is_range(item.trim()))).then_some(Notation::List)
}
