//! Checks that documents for contributors name code that exists.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::Result;
use xtask::{read_output, repository_root};

/// Documents that explain the code.
const DOCUMENTS: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/testing.md"];
/// Word that stands for a name of the reader's choice.
const PLACEHOLDER: &str = "NAME";

/// Checks the code between backticks; returns false if a type or a file there does not exist, after printing it.
pub fn check_named_code() -> Result<bool> {
    let listed = read_output(
        Command::new("git").args(["ls-files", "-co", "--exclude-standard"]).current_dir(repository_root()),
    )?;
    let files = listed.lines().filter(|file| file.ends_with(".rs"));
    let sources: String = files.filter_map(|file| fs::read_to_string(repository_root().join(file)).ok()).collect();
    let known: BTreeSet<&str> = sources.split(is_outside).collect();
    let mut is_clean = true;
    let exists = |path: &str| repository_root().join(path).exists();
    for document in DOCUMENTS {
        let text = fs::read_to_string(repository_root().join(document))?;
        for (line, name) in find_missing(&text, &known, exists) {
            println!("{document}:{line}: there is no {name}");
            is_clean = false;
        }
    }
    Ok(is_clean)
}

fn is_outside(letter: char) -> bool {
    !letter.is_alphanumeric() && letter != '_'
}

/// Returns the missing types and files of crates that a document names between backticks, with line numbers.
fn find_missing<'a>(document: &'a str, known: &BTreeSet<&str>, exists: impl Fn(&str) -> bool) -> Vec<(usize, &'a str)> {
    let mut missing = Vec::new();
    for (number, line) in (1..).zip(document.lines()) {
        for code in line.split('`').skip(1).step_by(2).filter(|code| !code.contains(PLACEHOLDER)) {
            if code.starts_with("crates/") {
                missing.extend((!exists(code)).then_some((number, code)));
                continue;
            }
            let is_type = |word: &&str| word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase);
            missing.extend(
                code.split(is_outside).filter(is_type).filter(|word| !known.contains(*word)).map(|word| (number, word)),
            );
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_types_and_files_are_found() {
        let known = BTreeSet::from(["CpuSet"]);
        let document = "`CpuSet` and `sys::CpuSett`,\n`crates/sys/lib.rs`, `crates/sys/gone.rs` and `crates/NAME.rs`, `impl Gone for NameX`";
        let missing = find_missing(document, &known, |path| path.ends_with("lib.rs"));
        assert_eq!(missing, [(1, "CpuSett"), (2, "crates/sys/gone.rs"), (2, "Gone"), (2, "NameX")]);
    }
}
