//! Names as an attacker chooses them, in every text of a value, and what must hold of whatever is drawn of it.

use proptest::prelude::{Strategy, any, prop};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::printable::{is_hidden, width};
use super::story::Story;
use super::text::Screen;
use super::{csv, json, markdown};

/// How many names there are.
const COUNT: usize = 1000;
/// What names are made of: what steers a terminal, hides, computes, is markup, ends a quotation, or is wide.
const PIECES: [&str; 44] = [
    "\u{1b}[2J",
    "\u{1b}]0;x\u{7}",
    "\u{1b}[8m",
    "\u{7}",
    "\u{7f}",
    "\u{9b}31m",
    "\u{9d}0;x\u{9c}",
    "\0",
    "\u{8}\u{8}",
    "\t",
    "\r",
    "\r\n",
    "\n",
    "\n# ",
    "\u{85}",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "\u{2028}",
    "\u{e0041}",
    "\u{fffe}",
    "e\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}",
    "\u{338}",
    "日本語",
    "👩‍💻",
    "❤\u{fe0f}",
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "<script>alert(1)</script>",
    "]]>",
    "<!--",
    "&lt;",
    "\"",
    "'",
    "`",
    "](javascript:x)",
    "| a |",
    "; rm -rf ~",
    "$(id)",
    "plain name",
];

/// The names: the same ones every time.
pub fn names() -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    let piece = prop::sample::select(&PIECES[..]).prop_map(str::to_owned);
    let other = any::<char>().prop_map(String::from);
    let mixed =
        prop::collection::vec(proptest::prop_oneof![4 => piece, 1 => other], 1..6).prop_map(|parts| parts.concat());
    let mut made: Vec<String> = PIECES.iter().map(|piece| (*piece).to_owned()).collect();
    made.extend([
        "x".repeat(3000),
        "日".repeat(3000),
        "\u{1b}".repeat(3000),
        "a b ".repeat(500),
        "\u{301}".repeat(3000),
    ]);
    while made.len() < COUNT {
        made.push(mixed.new_tree(&mut runner).expect("every name is allowed").current());
    }
    made
}

/// Values like this one, with such names in every text that may be any: as many as it takes until each name was in one.
pub fn copies<T: Serialize + DeserializeOwned>(value: &T) -> Vec<T> {
    let usual = serde_json::to_value(value).expect("what is kept can be written");
    let mut texts = Vec::new();
    pointers(&usual, String::new(), &mut texts);
    let mut free = std::collections::BTreeMap::new();
    texts.retain(|pointer| {
        let shape = pointer.split('/').filter(|part| part.parse::<usize>().is_err()).collect::<Vec<_>>().join("/");
        *free.entry(shape).or_insert_with(|| read::<T>(&usual, [(pointer, &"\u{1b}x".to_owned())]).is_some())
    });
    assert!(!texts.is_empty(), "there is no free text in it");
    let names = names();
    let parts = names.chunks(texts.len());
    parts.map(|part| read(&usual, texts.iter().zip(part.iter().cycle())).expect("each text alone may be any")).collect()
}

/// The JSON pointers of all texts.
fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at),
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(index, one)| pointers(one, format!("{at}/{index}"), found))
        }
        Value::Object(all) => all.iter().for_each(|(name, one)| pointers(one, format!("{at}/{name}"), found)),
        _ => {}
    }
}

fn read<'a, T: DeserializeOwned>(
    usual: &Value,
    texts: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Option<T> {
    let mut copy = usual.clone();
    for (pointer, text) in texts {
        *copy.pointer_mut(pointer)? = Value::String(text.clone());
    }
    serde_json::from_value(copy).ok()
}

/// That a text steers nothing and hides nothing.
pub fn check_text(text: &str) {
    let hidden = text.chars().find(|character| is_hidden(*character) && *character != '\n');
    assert_eq!(hidden, None, "in {text:?}");
}

/// That a screen does neither, with its own styles taken out, and that every line fits.
pub fn check_screen(screen: &Screen, columns: usize) {
    let plain = screen.plain();
    check_text(&plain);
    check_text(&anstream::adapter::strip_str(&screen.styled()).to_string());
    let wide = plain.lines().find(|line| width(line) > columns);
    assert_eq!(wide, None, "wider than {columns}:\n{plain}");
}

/// That JSON hides nothing and is the same value.
pub fn check_json(value: &impl Serialize) {
    let written = json::text(value).expect("what is printed can be written");
    check_text(&written);
    assert_eq!(serde_json::from_str::<Value>(&written).ok(), serde_json::to_value(value).ok());
}

/// That it is XML of elements, attributes and text alone.
pub fn check_xml(text: &str) {
    check_text(text);
    let document = roxmltree::Document::parse(text).expect("a picture is XML");
    assert!(
        document.descendants().all(|node| !node.is_comment() && !node.is_pi() && !node.has_tag_name("script")),
        "{text}"
    );
}

/// That every record has as many fields as the first, and no field but our own numbers computes.
pub fn check_csv(text: &str) {
    check_text(&text.replace("\r\n", "\n"));
    let mut records = text.split("\r\n").map(fields);
    let first = records.next().map_or(0, |fields| fields.len());
    for fields in records {
        assert_eq!(fields.len(), first, "{fields:?}");
        for field in fields {
            let computes = field.trim_start().starts_with(['=', '+', '-', '@', '\t', '＝', '＋', '－', '＠']);
            assert!(!computes || field.parse::<f64>().is_ok(), "{field:?} computes");
        }
    }
}

/// The fields of a record (RFC 4180).
fn fields(record: &str) -> Vec<String> {
    let (mut fields, mut is_quoted) = (vec![String::new()], false);
    let mut characters = record.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.next_if_eq(&'"').is_some() => {
                fields.last_mut().expect("there is one").push('"')
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            other => fields.last_mut().expect("there is one").push(other),
        }
    }
    assert!(!is_quoted, "a quotation without an end in {record:?}");
    fields
}

/// That Markdown has no HTML and no link, that what is no code of ours begins nothing, and that every row of a table has as many cells as
/// its head.
pub fn check_markdown(text: &str) {
    check_text(text);
    let (mut before, mut indent) = ("", "    ");
    for line in text.lines() {
        if !line.is_empty() && !line.starts_with(' ') {
            // Four spaces are a paragraph of the item where a list goes on.
            indent = if line.starts_with("- ") { "      " } else { "    " };
        }
        let is_code = line.starts_with(indent) && (before.is_empty() || before.starts_with(indent));
        let is_heading = line.starts_with("### ") && before.is_empty();
        let bare = unescaped(line);
        let begins = bare.starts_with(['#', '>', '+', '=']) && !is_heading;
        assert!(is_code || !(begins || bare.contains(['<', '`']) || bare.contains("](")), "{line:?}");
        before = line;
    }
    for table in text.split("\n\n").filter(|part| part.starts_with('|')) {
        let cells: Vec<usize> = table.lines().map(|line| unescaped(line).matches('|').count()).collect();
        assert!(cells.windows(2).all(|pair| pair[0] == pair[1]), "{table}");
    }
}

/// That no form of a story steers or hides.
pub fn check_story(story: &Story) {
    [40, 80, 140].into_iter().for_each(|width| check_screen(&story.at(width), width));
    check_markdown(&markdown::story(story, Some(1)));
    check_text(&story.markup(0).into_string());
    check_text(&json::text(&[story.sentences(), story.commands(), story.notes()]).expect("texts can be written"));
    check_csv(&csv::with_notes("a\r\n1", &story.notes()));
}

/// A text without the characters that a backslash makes plain, and without what stands between backticks.
fn unescaped(text: &str) -> String {
    let mut characters = text.chars();
    let mut rest = String::new();
    let mut code: Option<String> = None;
    while let Some(character) = characters.next() {
        match (character, &mut code) {
            ('`', Some(_)) => code = None,
            (other, Some(known)) => known.push(other),
            ('`', None) => code = Some(String::new()),
            ('\\', None) => _ = characters.next(),
            (plain, None) => rest.push(plain),
        }
    }
    // A span that is not closed is no code.
    rest + &code.map_or_else(String::new, |open| format!("`{open}"))
}
