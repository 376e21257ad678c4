//! Credentials in addresses, as in `http://user:password@host/`: they are neither stored nor shown.

use std::borrow::Cow;

/// Replaces the credentials of an address.
const HIDDEN: &str = "***";

/// Replaces the credentials of every address in a text: `http://***@host/`. An address of HTTP loses a user without a password, too, since
/// a token stands there; `ssh://git@host/` stays. Applied to JSON, it gives the JSON of the changed value. Idempotent.
pub fn hide_credentials(text: &str) -> Cow<'_, str> {
    let (mut shown, mut written) = (String::new(), 0);
    for begin in authority_begins(text) {
        let Some(end) = credentials_end(text, begin) else { continue };
        shown.push_str(&text[written..begin]);
        shown.push_str(HIDDEN);
        written = end;
    }
    if written == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(&text[written..]);
    Cow::Owned(shown)
}

/// Returns true if [`hide_credentials`] has replaced some in this text.
pub fn has_hidden_credentials(text: &str) -> bool {
    let mark = format!("{HIDDEN}@");
    authority_begins(text).any(|begin| text[begin..].starts_with(&mark))
}

/// Returns the places behind `://`.
fn authority_begins(text: &str) -> impl Iterator<Item = usize> {
    memchr::memmem::find_iter(text.as_bytes(), "://").map(|at| at + "://".len())
}

/// Returns the end of the credentials that begin here: the place of the last `@` before the host's end (RFC 3986, 3.2). Neither a quotation
/// mark nor a backslash is part of them.
fn credentials_end(text: &str, begin: usize) -> Option<usize> {
    let ends = |character: char| character.is_whitespace() || character.is_control() || "/?#\"\\<>".contains(character);
    let length = text[begin..].find(ends).unwrap_or(text.len() - begin);
    let length = text[begin..begin + length].rfind('@')?;
    let scheme = &text[..begin - "://".len()];
    let is_page = ["http", "https"].iter().any(|name| has_suffix(scheme, name));
    let is_secret = is_page || text[begin..begin + length].contains(':');
    is_secret.then_some(begin + length)
}

/// Returns true if a text ends with a name, whatever the case of its letters.
fn has_suffix(text: &str, name: &str) -> bool {
    let start = text.len().saturating_sub(name.len());
    text.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn addresses_lose_their_passwords_and_nothing_else() {
        for (text, shown) in [
            ("http://admin:hunter2@127.0.0.1:80/good", "http://***@127.0.0.1:80/good"),
            ("HTTPS://token@host", "HTTPS://***@host"),
            ("curl -s 'http://a:b@c/?d=e@f' x@y", "curl -s 'http://***@c/?d=e@f' x@y"),
            ("redis://:secret@host,postgres://u:p@ss@host/db", "redis://***@host,postgres://***@host/db"),
            ("--url=http://a:ä@h --to=amqp://b:c@i", "--url=http://***@h --to=amqp://***@i"),
            ("http://***@host", "http://***@host"),
        ] {
            assert_eq!(hide_credentials(text), shown);
            assert!(has_hidden_credentials(shown), "{shown}");
        }
        for text in ["ssh://git@host/x", "http://host:80/a@b", "http://host?a=b:c@d", "user:password@host", "a://", ""]
        {
            assert!(matches!(hide_credentials(text), Cow::Borrowed(same) if same == text), "{text}");
            assert!(!has_hidden_credentials(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn json_keeps_its_structure(texts in prop::collection::vec("(a|://|@|:|\"|\\\\|\n|/|ä|http){0,12}", 0..4)) {
            let json = serde_json::to_string(&texts).unwrap();
            let hidden: Value = serde_json::from_str(&hide_credentials(&json)).unwrap();
            let each: Vec<Cow<'_, str>> = texts.iter().map(|text| hide_credentials(text)).collect();
            prop_assert_eq!(hidden, serde_json::json!(each));
        }

        #[test]
        fn what_is_hidden_stays_so(text in "(a|://|@|:|/|\\*|http){0,16}") {
            let once = hide_credentials(&text).into_owned();
            prop_assert_eq!(hide_credentials(&once).into_owned(), once);
        }
    }
}
