//! Lists of words are written once: tables of documents and help are made from them, and no other place types one by hand. Suggested
//! commands repeat the options that decide where they look.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use corewise_machine::Level;
use corewise_machine::placement::notation::Notation;
use corewise_machine::placement::{CpuSetName, language_table};
use corewise_model::finding::FindingTopic;
use corewise_model::keep::MatchField;
use corewise_model::sample::METRIC_FORMS;
use support::{TestPlace, text};

/// Pages of commands that are not named for them.
const PAGES: [(&str, &str); 8] = [
    ("survey", "reading-a-survey"),
    ("place", "placement"),
    ("run", "running"),
    ("try", "trying"),
    ("irq", "interrupts"),
    ("workload", "workloads"),
    ("article", "articles"),
    ("fleet", "fleets"),
];
/// Begins a table that is made, before its name.
const BEGIN: &str = "<!-- made by cargo xtask tables: ";
/// Ends it.
const END: &str = "<!-- end of what is made -->";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let header: Vec<String> = header.iter().map(|&cell| cell.to_owned()).collect();
    let rule = format!("|{}", "---|".repeat(header.len()));
    [line(&header), rule].into_iter().chain(rows.into_iter().map(|row| line(&row))).collect::<Vec<_>>().join("\n")
}

/// The row of a command, with its page if it has one.
fn command_row(name: &str, about: &str) -> Vec<String> {
    let page = PAGES.iter().find(|(command, _)| *command == name).map_or(name, |(_, page)| page);
    let file = format!("docs/{page}.md");
    let is_there = root().join(&file).is_file();
    assert!(is_there || page == name, "{file} is not there");
    let command = format!("`corewise {name}`");
    vec![if is_there { format!("[{command}]({file})") } else { command }, about.to_owned()]
}

/// The commands as `--help` lists them: a row for each group and each command.
fn command_rows() -> Vec<Vec<String>> {
    let help = text(&TestPlace::new().corewise(&["--help"]).output().unwrap().stdout);
    let listed = help.split("Usage: ").nth(1).unwrap().split("\nOptions of").next().unwrap();
    let mut entries: Vec<(String, String)> = Vec::new();
    for line in listed.lines().skip(1).filter(|line| !line.is_empty()) {
        match (line.strip_prefix("               "), line.strip_prefix("  ")) {
            (Some(more), _) => entries.last_mut().unwrap().1 += &format!(" {more}"),
            (None, Some(command)) => {
                let (name, about) = command.split_once(' ').unwrap();
                entries.push((name.to_owned(), about.trim_start().to_owned()));
            }
            (None, None) => entries.push((String::new(), line.to_owned())),
        }
    }
    let row = |(name, about): &(String, String)| match name.as_str() {
        "" => vec![format!("**{about}**"), String::new()],
        name => command_row(name, about),
    };
    entries.iter().map(row).collect()
}

/// The tables by the document and the name in its markers.
fn tables() -> Vec<(&'static str, &'static str, String)> {
    let code = |word: &str| format!("`{word}`");
    let notation =
        |notation: Notation| [notation.word()].iter().chain(notation.columns()).map(|&cell| cell.to_owned()).collect();
    let pair = |first: String, second: &str| vec![first, second.to_owned()];
    vec![
        ("README.md", "commands", table(&["command", "what it does"], command_rows())),
        ("docs/placement.md", "language", language_table(4)),
        (
            "docs/placement.md",
            "names",
            table(&["name", "cpus"], CpuSetName::ALL.map(|name| pair(code(name.word()), name.meaning()))),
        ),
        (
            "docs/placement.md",
            "notations",
            table(&["name", "what is printed", "what is read"], Notation::ALL.map(notation)),
        ),
        (
            "docs/keep.md",
            "fields",
            table(
                &["key of `match`", "what it is compared with"],
                MatchField::ALL.map(|field| pair(code(field.word()), field.meaning())),
            ),
        ),
        (
            "docs/trying.md",
            "metrics",
            table(&["`--metric`, `--guard`", "reads"], METRIC_FORMS.map(|(form, reads)| pair(form.to_owned(), reads))),
        ),
        (
            "docs/reading-a-survey.md",
            "topics",
            table(&["topic", "meaning"], FindingTopic::ALL.map(|topic| pair(code(topic.word()), topic.meaning()))),
        ),
    ]
}

/// The document with one of its tables made anew.
fn made_anew(document: &str, name: &str, table: &str) -> String {
    let begin = format!("{BEGIN}{name} -->\n");
    let (before, rest) = document.split_once(&begin).unwrap_or_else(|| panic!("no marker {begin}"));
    let (_, after) = rest.split_once(END).unwrap_or_else(|| panic!("no {END} after {begin}"));
    format!("{before}{begin}\n{table}\n\n{END}{after}")
}

#[test]
fn tables_of_documents_are_made_from_the_lists() {
    let mut old = Vec::new();
    for (file, name, table) in tables() {
        let path = root().join(file);
        let is = fs::read_to_string(&path).unwrap();
        let wanted = made_anew(&is, name, &table);
        if is != wanted && std::env::var_os("COREWISE_WRITE_TABLES").is_some() {
            fs::write(&path, wanted).unwrap();
        } else if is != wanted {
            old.push(format!("{file}: {name}"));
        }
    }
    assert!(old.is_empty(), "run `cargo xtask tables`; out of date: {}", old.join(", "));
}

/// The kinds of what is stored, as `history --help` lists them.
fn kinds() -> Vec<String> {
    let help = text(&TestPlace::new().corewise(&["history", "--help"]).output().unwrap().stdout);
    let after = help.split("Include only this kind").nth(1).unwrap().split("[possible values: ").nth(1).unwrap();
    let listed = after.split(']').next().unwrap();
    listed.split(',').map(|kind| kind.split_whitespace().collect()).collect()
}

/// A vocabulary: its name, its words, how many of them in a row are a list, and the files that hold it.
struct Vocabulary {
    name: &'static str,
    words: Vec<String>,
    most_in_a_row: usize,
    files: &'static [&'static str],
}

fn vocabularies() -> Vec<Vocabulary> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    vec![
        Vocabulary { name: "kinds of artifacts", words: kinds(), most_in_a_row: 2, files: &[] },
        Vocabulary {
            name: "notations",
            words: words(&Notation::ALL.map(Notation::word)),
            most_in_a_row: 4,
            files: &["placement/notation/name.rs", "placement/notation.rs", "placement/notation/dispatch.rs"],
        },
        Vocabulary {
            name: "names of cpus",
            words: words(&CpuSetName::ALL.map(CpuSetName::word)),
            most_in_a_row: 3,
            // The generator of random expressions uses four of them.
            files: &["placement/expression.rs", "simulate/expression.rs"],
        },
        Vocabulary {
            name: "levels",
            words: words(&Level::ALL.map(Level::word)),
            most_in_a_row: 5,
            // Variables of the relation of two cpus are named after levels.
            files: &["src/level.rs", "model/src/links.rs"],
        },
        Vocabulary {
            name: "fields of rules",
            words: words(&MatchField::ALL.map(MatchField::word)),
            most_in_a_row: 4,
            files: &["keep/rule.rs"],
        },
        Vocabulary {
            name: "topics of findings",
            words: words(&FindingTopic::ALL.map(FindingTopic::word)),
            // Some topics are also commands and probes.
            most_in_a_row: 3,
            files: &["model/src/finding.rs"],
        },
    ]
}

/// The longest list of words that stands in a text: words with nothing but commas, quotes, bars, "or" and "and" between them.
fn longest_list(text: &str, words: &[String]) -> Vec<String> {
    let (mut longest, mut row): (Vec<String>, Vec<String>) = Default::default();
    let is_of_word = |c: char| c.is_alphanumeric() || "-_:.()<>/=#*".contains(c);
    for part in text.split(|c: char| !is_of_word(c) && c != '{' && c != '}' && c != ';') {
        match part {
            "" | "or" | "and" => continue,
            _ if words.iter().any(|word| word == part) && !row.iter().any(|word| word == part) => {
                row.push(part.to_owned())
            }
            _ => row.clear(),
        }
        if row.len() > longest.len() {
            longest.clone_from(&row);
        }
    }
    longest
}

fn without_made_tables(document: &str) -> String {
    let mut pieces = document.split(BEGIN);
    let first = pieces.next().unwrap_or_default().to_owned();
    first + &pieces.map(|piece| piece.split_once(END).map_or("", |(_, after)| after)).collect::<String>()
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["target", "schema", "tests"].contains(&name.as_str()) {
            files_below(&path, found);
        } else if (name.ends_with(".rs") && name != "tests.rs") || name.ends_with(".md") {
            found.push(path);
        }
    }
}

#[test]
fn no_list_of_words_is_typed_by_hand() {
    let mut files = Vec::new();
    for crate_name in ["cli", "model", "lab", "library", "library-c", "keep", "store", "sys", "work"] {
        files_below(&root().join("crates").join(crate_name).join("src"), &mut files);
    }
    files_below(&root().join("docs"), &mut files);
    assert!(files.len() > 400, "{}", files.len());
    let mut typed = Vec::new();
    for vocabulary in vocabularies() {
        for file in files.iter().filter(|file| {
            !vocabulary.files.iter().any(|own| file.ends_with(own) || file.to_string_lossy().ends_with(own))
        }) {
            let source = fs::read_to_string(file).unwrap();
            let product = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let list = longest_list(&without_made_tables(product), &vocabulary.words);
            if list.len() > vocabulary.most_in_a_row {
                typed.push(format!("{}: {}: {}", file.display(), vocabulary.name, list.join(", ")));
            }
        }
    }
    assert!(typed.is_empty(), "typed by hand:\n{}", typed.join("\n"));
}

#[test]
fn a_list_that_is_typed_is_found() {
    let words = ["survey", "experiment", "links", "memory"].map(str::to_owned);
    assert_eq!(longest_list("Include only this kind: survey, experiment or links", &words).len(), 3);
    assert_eq!(longest_list("a survey of `links`, memory", &words).len(), 2);
    assert_eq!(longest_list("survey. An experiment", &words).len(), 1);
}

#[test]
fn a_kind_that_is_not_stored_is_wrong_usage() {
    let place = TestPlace::new();
    for arguments in
        [&["history", "--kind", "survy"][..], &["history", "prune", "--older-than", "1d", "--kind", "survy"]]
    {
        let run = place.corewise(arguments).output().unwrap();
        let error = text(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{error}");
        assert!(error.contains("a similar value exists: 'survey'"), "{error}");
        assert!(kinds().iter().all(|kind| error.contains(kind.as_str())), "{error}");
    }
    for kind in kinds() {
        let run = place.corewise(&["history", "--kind", &kind]).output().unwrap();
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        let said = text(&run.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("yet. Next: corewise"), "{said}");
    }
    assert!(kinds().contains(&"memory".to_owned()));
}

#[test]
fn an_unknown_notation_is_answered_with_the_list() {
    let run = TestPlace::new().corewise(&["place", "0", "--as", "taskett"]).output().unwrap();
    let error = text(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{error}");
    assert!(error.contains("a similar value exists: 'taskset'"), "{error}");
    assert!(Notation::ALL.into_iter().all(|notation| error.contains(notation.word())), "{error}");
}

/// The line of a screen that suggests what to type.
fn suggested(place: &TestPlace, arguments: &[&str]) -> String {
    let run = place.corewise(arguments).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let printed = text(&run.stdout);
    printed
        .split_once("Next:")
        .unwrap_or_else(|| panic!("{printed}"))
        .1
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_suggestion_names_the_store_that_was_named() {
    let place = TestPlace::new();
    assert_eq!(suggested(&place, &["history"]), "corewise");
    assert_eq!(suggested(&place, &["history", "--store", "my.db"]), "corewise --store my.db");
    assert_eq!(suggested(&place, &["history", "--kind", "links", "--store", "my.db"]), "corewise links --store my.db");
}

#[test]
fn a_suggestion_of_keep_is_about_the_same_rules() {
    let place = TestPlace::new();
    let add = ["keep", "add", "x", "--match", "exe=/no/such/program", "--on", "0"];
    assert_eq!(suggested(&place, &[&add[..], &["--rules", "my.toml"]].concat()), "corewise keep plan --rules my.toml");
    let config = place.path().join("config");
    let run = place.corewise(&[&add[..], &["--user"]].concat()).env("XDG_CONFIG_HOME", config).output().unwrap();
    let printed = text(&run.stdout);
    assert!(printed.contains("corewise keep plan --user"), "{printed}{}", text(&run.stderr));
}
