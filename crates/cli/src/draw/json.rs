//! JSON (RFC 8259) for people and programs, with hidden characters escaped and without credentials.

use std::borrow::Cow;
use std::io::{self, Write};

use corewise_model::credentials::hide_in_json;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use super::printable::is_hidden;

/// Returns a value as indented JSON; hidden characters in strings become `\uXXXX`.
///
/// # Errors
/// If the value cannot be represented in JSON.
pub fn to_json(value: &impl Serialize) -> serde_json::Result<String> {
    write_with(value, Some(PrettyFormatter::new()))
}

/// Returns a value as JSON on one line, as [`to_json`] does.
///
/// # Errors
/// As [`to_json`].
pub fn to_json_line(value: &impl Serialize) -> serde_json::Result<String> {
    write_with(value, None)
}

fn write_with(value: &impl Serialize, indenting: Option<PrettyFormatter<'static>>) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, VisibleFormatter { indenting }))?;
    let json = String::from_utf8(bytes).map_err(serde::ser::Error::custom)?;
    Ok(match hide_in_json(&json) {
        Cow::Owned(hidden) => hidden,
        Cow::Borrowed(_) => json,
    })
}

/// Writes as the usual formatters do, with hidden characters escaped; serde_json itself escapes the controls below U+0020. One type for both
/// layouts: serde compiles the writer of every document once for each.
struct VisibleFormatter {
    /// Formatter of indented JSON; `None` for JSON on one line.
    indenting: Option<PrettyFormatter<'static>>,
}

macro_rules! as_usual {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(fn $name<W: ?Sized + Write>(&mut self, writer: &mut W $(, $argument: $kind)*) -> io::Result<()> {
            match &mut self.indenting {
                Some(formatter) => formatter.$name(writer $(, $argument)*),
                None => CompactFormatter.$name(writer $(, $argument)*),
            }
        })*
    };
}

impl Formatter for VisibleFormatter {
    as_usual! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut written = 0;
        for (place, hidden) in fragment.char_indices().filter(|(_, character)| is_hidden(*character)) {
            writer.write_all(&fragment.as_bytes()[written..place])?;
            for unit in hidden.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            written = place + hidden.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[written..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_left_out_between_escapes_too() {
        let written = to_json_line(&["\"http://a:b@c/\n\u{202e}x://d:e@f\""]).unwrap();
        assert_eq!(written, "[\"\\\"http://***@c/\\n\\u202ex://***@f\\\"\"]");
        let written =
            to_json(&serde_json::json!({"command": ["mysql", "--password", "x"], "name": "PGPASSWORD=y"})).unwrap();
        let command = "[\n    \"mysql\",\n    \"--password\",\n    \"***\"\n  ]";
        assert_eq!(written, format!("{{\n  \"command\": {command},\n  \"name\": \"PGPASSWORD=***\"\n}}"));
    }

    #[test]
    fn the_value_is_the_same_and_nothing_is_hidden() {
        let name = "a\u{1b}\u{7f}\u{9b}\u{202e}\u{e0041}\"日\n";
        let written = to_json(&[name]).unwrap();
        assert_eq!(written, "[\n  \"a\\u001b\\u007f\\u009b\\u202e\\udb40\\udc41\\\"日\\n\"\n]");
        assert_eq!(serde_json::from_str::<[String; 1]>(&written).unwrap(), [name]);
        let value = serde_json::json!({"a": [1, -2.5, null, true, {}], "b\u{9b}": []});
        for written in [to_json(&value).unwrap(), to_json_line(&value).unwrap()] {
            assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), value);
        }
    }
}
