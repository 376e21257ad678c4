//! Comments and names of product code, read line by line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context, Result};
use regex_lite::Regex;
use xtask::repository_root;

/// Folders left out wherever they are: tests, and crates that are not shipped.
const FOLDERS_LEFT_OUT: [&str; 9] =
    ["target", "tests", "fixtures", "snapshots", "benches", "fuzz", "xtask", "compare", "rig"];
/// Number of lines after `#[cfg(test)]` in which its module must begin.
const MAX_LINES_OF_ATTRIBUTES: usize = 3;

/// Definition of a type on a line without indentation.
static TYPE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:pub(?:\([a-z: ]+\))? )?(?:struct|enum|trait|union) (\w+)").expect("a valid pattern")
});
/// Definition of a function on a line without indentation.
static FUNCTION: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"^(?:pub(?:\([a-z: ]+\))? )?(?:const )?(?:async )?(?:unsafe )?(?:extern "C" )?fn (\w+)"#;
    Regex::new(pattern).expect("a valid pattern")
});

/// Comments and names of some files.
#[derive(Debug, Default)]
pub struct SourceFacts {
    /// Every line that is only a comment.
    pub comments: Vec<CommentLine>,
    /// The places at which a type of each name is defined.
    pub types: BTreeMap<String, Vec<String>>,
    /// The name of every function, as often as it is defined.
    pub functions: Vec<String>,
}

/// A line that is only a comment.
#[derive(Debug)]
pub struct CommentLine {
    /// File and line number, "crates/cli/src/main.rs:1".
    pub place: String,
    /// Text after the slashes.
    pub text: String,
}

impl SourceFacts {
    /// Adds the facts of a file; test modules inside it are ignored.
    pub fn add_file(&mut self, file: &str, text: &str) {
        for (line, number) in blank_test_modules(text).iter().zip(1..) {
            self.add_line(line.trim(), || format!("{file}:{number}"));
        }
    }

    fn add_line(&mut self, line: &str, place: impl Fn() -> String) {
        if let Some(text) = parse_comment(line) {
            self.comments.push(CommentLine { place: place(), text: text.to_owned() });
        } else if let Some(name) = capture_name(&TYPE, line) {
            self.types.entry(name).or_default().push(place());
        } else if let Some(name) = capture_name(&FUNCTION, line) {
            self.functions.push(name);
        }
    }
}

fn capture_name(pattern: &Regex, line: &str) -> Option<String> {
    Some(pattern.captures(line)?[1].to_owned())
}

/// Returns the text of a line comment, or `None` if the line is code.
fn parse_comment(line: &str) -> Option<&str> {
    let text = line.strip_prefix("//")?;
    let text = text.strip_prefix(['/', '!']).unwrap_or(text);
    Some(text.strip_prefix(char::is_whitespace).unwrap_or(text))
}

/// Returns the lines of a file, with those of `#[cfg(test)]` modules empty.
fn blank_test_modules(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut inside = None;
    let blank = |(at, line): (usize, &&'_ str)| {
        inside = inside.or_else(|| find_test_module(&lines[at..]));
        let is_blank = inside.is_some();
        if inside == Some(indentation(line)) && line.trim() == "}" {
            inside = None;
        }
        is_blank
    };
    let blanks: Vec<bool> = lines.iter().enumerate().map(blank).collect();
    lines.into_iter().zip(blanks).map(|(line, is_blank)| if is_blank { "" } else { line }).collect()
}

/// Returns the indentation of the test module whose attributes begin on the first line, if one does.
fn find_test_module(lines: &[&str]) -> Option<usize> {
    let attribute = lines.first()?.trim_start();
    let is_of_tests = ["#[cfg(test", "#[cfg(all(test"].iter().any(|start| attribute.starts_with(start));
    let mut next = lines.iter().skip(1).take(MAX_LINES_OF_ATTRIBUTES);
    let item = next.find(|line| !line.trim_start().starts_with('#')).filter(|_| is_of_tests)?;
    opens_module(item).then(|| indentation(item))
}

fn opens_module(line: &str) -> bool {
    let line = line.trim_start();
    let name = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ").and_then(|rest| rest.split_once(" {"));
    name.is_some_and(|(name, _)| !name.contains(|letter: char| letter != '_' && !letter.is_alphanumeric()))
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Reads all product code below a folder of the repository.
pub fn read_product_code(folder: &Path) -> Result<SourceFacts> {
    let mut facts = SourceFacts::default();
    for path in list_product_files(folder)? {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let file = path.strip_prefix(repository_root()).unwrap_or(&path);
        facts.add_file(&file.display().to_string(), &text);
    }
    Ok(facts)
}

/// Returns the files of product code below a folder, sorted.
fn list_product_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !FOLDERS_LEFT_OUT.contains(&name.as_ref()) {
            found.extend(list_product_files(&path)?);
        } else if path.is_file() && is_product_file(&name) {
            found.push(path);
        }
    }
    Ok(found)
}

fn is_product_file(name: &str) -> bool {
    name.ends_with(".rs") && !["tests.rs", "build.rs"].contains(&name) && !name.ends_with("_tests.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nested_test_module_does_not_count() {
        let text = "struct One;\nmod inner {\n    // Two.\n    #[cfg(all(test, unix))]\n    #[expect(missing_docs)]\n    mod tests {\n\
            \x20       // Not.\n        struct Not;\n        fn not() {\n        }\n    }\n    struct Three;\n}\n\
            #[cfg(test)]\npub mod samples {\n    struct Not;\n}\nfn four() {}\n";
        let mut facts = SourceFacts::default();
        facts.add_file("a.rs", text);
        let comments: Vec<&str> = facts.comments.iter().map(|comment| comment.text.as_str()).collect();
        assert_eq!(comments, ["Two."]);
        assert_eq!(facts.comments[0].place, "a.rs:3");
        assert_eq!(Vec::from_iter(facts.types.keys()), ["One", "Three"]);
        assert_eq!(facts.types["Three"], ["a.rs:12"]);
        assert_eq!(facts.functions, ["four"]);
    }

    #[test]
    fn code_beside_test_modules_counts() {
        for before in ["#[cfg(test)]\nmod tests;\n", "#[cfg(test)]\nuse a::b;\n", "#[cfg(unix)]\nmod a {\n"] {
            let mut facts = SourceFacts::default();
            facts.add_file("a.rs", &format!("{before}struct Counted;\n"));
            assert!(facts.types.contains_key("Counted"), "{before}");
        }
    }

    #[test]
    fn a_comment_loses_its_slashes() {
        for (line, expected) in
            [("// a", Some("a")), ("/// a", Some("a")), ("//!  a", Some(" a")), ("//", Some("")), ("a // b", None)]
        {
            assert_eq!(parse_comment(line), expected, "{line}");
        }
    }

    #[test]
    fn tests_and_crates_that_are_not_shipped_are_left_out() {
        for (name, expected) in [
            ("main.rs", true),
            ("contests.rs", true),
            ("tests.rs", false),
            ("map_tests.rs", false),
            ("build.rs", false),
            ("a.md", false),
        ] {
            assert_eq!(is_product_file(name), expected, "{name}");
        }
        let folder = repository_root().join("crates");
        let files = list_product_files(&folder).unwrap();
        assert!(files.contains(&folder.join("cli/src/main.rs")));
        let is_left_out = |path: &PathBuf| {
            let inside = path.strip_prefix(&folder).unwrap();
            inside.iter().any(|part| FOLDERS_LEFT_OUT.iter().any(|name| part == *name))
        };
        assert_eq!(files.iter().find(|path| is_left_out(path)), None);
        assert!(!list_product_files(&folder.join("xtask")).unwrap().is_empty(), "a folder that is asked for is read");
    }
}
