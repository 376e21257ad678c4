//! Checks that suggested commands of corewise are values: no other text of the product names one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ItemConst, ItemMod, LitStr, Macro};
use xtask::repository_root;

/// The file that makes suggested commands.
const MAKER: &str = "machine/src/suggested_command.rs";
/// Constants with help texts: a test of the program parses their examples.
const HELP: [&str; 3] = ["AFTER", "EXAMPLES", "USAGE"];
/// Crates that print, or that provide printed texts.
const CRATES: [&str; 11] =
    ["cli", "keep", "lab", "library", "library-c", "machine", "model", "statistics", "store", "sys", "work"];

/// Checks the product's texts; returns false if one names a command, after printing it.
pub fn check_suggestions() -> Result<bool> {
    let commands = list_commands()?;
    let mut is_clean = true;
    for name in CRATES {
        let files = source_files(&repository_root().join("crates").join(name).join("src"))?;
        let sources =
            files.iter().map(|file| Ok((file.as_path(), fs::read_to_string(file)?))).collect::<Result<Vec<_>>>()?;
        let of_tests: Vec<PathBuf> = sources.iter().flat_map(|(file, source)| modules_of_tests(file, source)).collect();
        for (file, source) in sources {
            if file.ends_with(MAKER) || of_tests.iter().any(|module| file.with_extension("").starts_with(module)) {
                continue;
            }
            for text in find_named(&source, &commands).with_context(|| file.display().to_string())? {
                println!(
                    "{}: a suggested command is a value (corewise_machine::suggested_command), not \"{text}\"",
                    file.display()
                );
                is_clean = false;
            }
        }
    }
    Ok(is_clean)
}

/// Returns the commands, by the names of their folders.
fn list_commands() -> Result<BTreeSet<String>> {
    let folder = repository_root().join("crates/cli/src/commands");
    let names = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path().file_stem().map(|name| name.to_string_lossy().into_owned())));
    Ok(names.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Returns the source files below a folder, without tests.
fn source_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            found.extend(source_files(&path)?);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
    Ok(found)
}

/// Returns the modules that a file declares for tests only, as paths without an extension.
fn modules_of_tests(file: &Path, source: &str) -> Vec<PathBuf> {
    let is_parent = file.file_stem().is_some_and(|stem| ["mod", "lib", "main"].iter().any(|name| stem == *name));
    let folder = if is_parent { file.with_file_name("") } else { file.with_extension("") };
    let declared = source.split("#[cfg(test)]\n").skip(1).filter_map(|rest| rest.split_once("mod ")?.1.split_once(';'));
    declared.map(|(name, _)| folder.join(name)).filter(|path| !path.to_string_lossy().contains(['{', '\n'])).collect()
}

/// Returns the texts of a source that name a command, except in tests, comments and help.
fn find_named(source: &str, commands: &BTreeSet<String>) -> Result<Vec<String>> {
    let mut reader = TextReader { commands, found: Vec::new() };
    reader.visit_file(&syn::parse_file(source)?);
    Ok(reader.found)
}

struct TextReader<'a> {
    commands: &'a BTreeSet<String>,
    found: Vec<String>,
}

impl TextReader<'_> {
    fn read_text(&mut self, text: &str) {
        let names_one = text.split("corewise ").skip(1).any(|rest| {
            let word = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or_default();
            self.commands.contains(word) || word.starts_with("--")
        });
        if names_one {
            self.found.push(text.to_owned());
        }
    }

    fn read_tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.read_tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<LitStr>(&literal.to_string()) {
                        self.read_text(&text.value());
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for TextReader<'_> {
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        if !HELP.iter().any(|name| item.ident == name) {
            visit::visit_item_const(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let is_of_tests = item.attrs.iter().any(|attribute| {
            attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
        });
        if !is_of_tests {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        self.read_text(&text.value());
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.read_tokens(item.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        let commands = ["tail", "history"].map(str::to_owned).into();
        find_named(source, &commands).unwrap()
    }

    #[test]
    fn a_text_that_names_a_command_is_found() {
        let source = r#"fn f() { g("Next: corewise tail"); h(format!("`corewise history show {number}`")); }
            const NEXT: &str = "corewise --quick";"#;
        assert_eq!(texts(source), ["Next: corewise tail", "`corewise history show {number}`", "corewise --quick"]);
    }

    #[test]
    fn help_comments_and_tests_may_name_it() {
        let source = r#"//! corewise tail
            const EXAMPLES: &str = "Examples:\n  corewise tail";
            /// `corewise tail` shows stalls
            fn f() { g("corewise measures"); }
            #[cfg(test)]
            mod tests { fn f() { g("corewise tail"); } }"#;
        assert_eq!(texts(source), [""; 0]);
    }
}
