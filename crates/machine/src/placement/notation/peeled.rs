//! What surrounds a value: quotation marks, brackets, a key before it.

use super::text::TextPiece;

/// A value with the key before it, and without its surroundings.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeeledValue<'a> {
    pub key: Option<&'a str>,
    pub value: TextPiece<'a>,
}

/// Words before an assignment.
const BEFORE_ASSIGNMENTS: [&str; 6] = ["export ", "set ", "setenv ", "-e ", "--env ", "--env="];

/// Removes quotation marks, brackets, a key, and separators around a value.
pub(super) fn peel_value(text: TextPiece<'_>) -> PeeledValue<'_> {
    let mut peeled = PeeledValue { key: None, value: text.trim() };
    // Each turn removes a layer; texts have few.
    for _ in 0..8 {
        let value = peeled.value;
        let next = unwrap_layer(value).or_else(|| {
            let (key, rest) = split_key(value)?;
            peeled.key = Some(key);
            Some(rest)
        });
        match next {
            Some(next) => peeled.value = next.trim(),
            None => break,
        }
    }
    peeled
}

fn unwrap_layer(value: TextPiece<'_>) -> Option<TextPiece<'_>> {
    let unquoted = value.without_quotes();
    if unquoted.text != value.text {
        return Some(unquoted);
    }
    let inside = |open: &str, close: &str| value.strip_prefix(open)?.strip_suffix(close);
    let ending = || [";", ",", "\\"].iter().find_map(|end| value.strip_suffix(end));
    let begin = || BEFORE_ASSIGNMENTS.iter().find_map(|begin| value.strip_prefix(begin));
    inside("[", "]").or_else(|| inside("(", ")")).or_else(ending).or_else(begin).or_else(|| value.strip_prefix("- "))
}

/// Splits off a key: a word or a path before `=`, `:` or a space.
fn split_key(value: TextPiece<'_>) -> Option<(&str, TextPiece<'_>)> {
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || "_-./\"'".contains(c);
    let length = value.text.find(|c| !is_of_key(c))?;
    let key = value.text[..length].trim_matches(['"', '\'']);
    let begins = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '_') || key.starts_with("--");
    let rest = value.sub_piece(length, value.text.len()).trim();
    let behind = rest.strip_prefix("=").or_else(|| rest.strip_prefix(":"));
    let is_hexadecimal = key.len() > 1 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    // core:0 and S0:0-3 are objects: a key has more than a few letters, or a separator with spaces.
    let is_object = behind.is_some()
        && rest.text.starts_with(':')
        && !rest.text.starts_with(": ")
        && !key.contains(['/', '_', '.']);
    if !begins || is_hexadecimal || is_object {
        return None;
    }
    let rest = behind.unwrap_or(rest).trim();
    (behind.is_some() || rest.text.starts_with(|c: char| c.is_ascii_digit() || "\"'[".contains(c)))
        .then_some((key, rest))
}
