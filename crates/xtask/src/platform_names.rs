//! Only `sys` depends on the operating system: no other shipped file names one in code.

use std::fs;
use std::process::Command;

use anyhow::Result;
use xtask::{cargo_command, read_output, repository_root, run_command};

use crate::packages;
use crate::setup::WINDOWS;

/// `sys`, the first instructions, and crates that are not shipped.
const MAY: [&str; 5] = ["crates/entry/", "crates/sys/", "crates/compare/", "crates/rig/", "crates/xtask/"];
/// Words that code elsewhere may not contain.
const WORDS: [&str; 7] = ["linux", "libc", "rustix", "std::os::", "target_os", "cfg(unix", "cfg(windows"];
/// Forbidden beginnings of strings that are paths, which are strings without white space.
const PATHS: [&str; 4] = ["/proc", "/sys", "proc/", "sys/"];
/// Checks all shipped files; returns false if one names a system, after printing it.
pub fn check_platform_names() -> Result<bool> {
    let files = read_output(
        Command::new("git")
            .args(["ls-files", "-co", "--exclude-standard", "crates/*/src/*.rs"])
            .current_dir(repository_root()),
    )?;
    let mut is_clean = true;
    for file in files.lines().filter(|file| {
        !MAY.iter().any(|may| file.starts_with(may)) && !file.ends_with("tests.rs") && !file.contains("/tests/")
    }) {
        // A file that was removed is still listed until the removal is committed.
        let source = fs::read_to_string(repository_root().join(file)).unwrap_or_default();
        for (line, name) in find_names(&source) {
            println!("{file}:{line}: only crates/sys may name {name}");
            is_clean = false;
        }
    }
    Ok(is_clean)
}

/// Lints the shipped packages as they are compiled for Windows, and their unit tests.
pub fn lint_windows() -> Result<()> {
    let packages: Vec<String> = packages::shipped_names().flat_map(|name| ["--package".to_owned(), name]).collect();
    for profile in ["dev", "test"] {
        let mut clippy = cargo_command();
        clippy.args(["clippy", "--lib", "--bins", "--profile", profile, "--target", WINDOWS]).args(&packages);
        run_command(clippy.args(["--", "-D", "warnings"]))?;
    }
    // As for a library that only places threads.
    run_command(cargo_command().args(["clippy", "--package", "corewise", "--target", WINDOWS, "--", "-D", "warnings"]))
}

/// Returns the forbidden names in a source, with line numbers. Comments, texts (strings with white space) and tests at its end are exempt.
fn find_names(source: &str) -> Vec<(usize, &'static str)> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let (mut found, mut is_string) = (Vec::new(), false);
    for (number, line) in (1..).zip(code.lines()) {
        let plain = line.replace(r"\\", "").replace("\\\"", "").replace("'\"'", "");
        for (at, part) in plain.split('"').enumerate() {
            is_string ^= at > 0;
            if is_string {
                let is_path = !part.contains(char::is_whitespace);
                found.extend(
                    PATHS.iter().filter(|path| is_path && part.starts_with(**path)).map(|path| (number, *path)),
                );
                continue;
            }
            let (code, has_comment) = part.split_once("//").map_or((part, false), |(code, _)| (code, true));
            found.extend(WORDS.iter().filter(|word| code.contains(**word)).map(|word| (number, *word)));
            if has_comment {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_names_a_system_is_found() {
        let source = "use corewise_sys::linux::task;\nlet text = root.read(\"proc/stat\");\n#[cfg(target_os = \"linux\")]\nlet quote = '\"'; libc::kill();\n";
        assert_eq!(find_names(source), [(1, "linux"), (2, "proc/"), (3, "target_os"), (4, "libc")]);
        let long = "let text = \"first\\\n  second\"; std::os::unix::net();";
        assert_eq!(find_names(long), [(2, "std::os::")]);
    }

    #[test]
    fn comments_texts_and_tests_may_name_it() {
        let source = "//! As linux has it in /proc.\nlet why = \"/proc cannot be read\"; // std::os::unix\nlet url = \"https://linux.org\";\n";
        assert_eq!(find_names(source), []);
        assert_eq!(find_names("fn f() {}\n\n#[cfg(test)]\nmod tests {\n    use std::os::unix::fs;\n}\n"), []);
    }
}
