//! `cargo xtask schema`: writes the files of docs/schema, as the program prints them, and the table of readers in docs/security.md.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use xtask::{cargo_command, read_output, repository_root, run_command};

/// The test that compares the table of readers with its page, or writes it.
const READERS: &str = "the_table_of_readers";

/// Writes the schema files and the table of readers, and removes schema files that the program no longer has.
pub fn write_schemas() -> Result<()> {
    let test = ["test", "--quiet", "--package", "corewise-sys", "--lib", READERS];
    run_command(cargo_command().args(test).env("COREWISE_WRITE_DOCS", "1"))?;
    let schemas = print_schemas()?;
    fs::create_dir_all(schema_folder()).context("docs/schema cannot be created")?;
    for name in read_files()?.keys().filter(|name| !schemas.contains_key(*name)) {
        fs::remove_file(schema_folder().join(name)).with_context(|| format!("docs/schema/{name} cannot be removed"))?;
        println!("removed docs/schema/{name}");
    }
    for (name, text) in &schemas {
        fs::write(schema_folder().join(name), text).with_context(|| format!("docs/schema/{name} cannot be written"))?;
        println!("wrote docs/schema/{name}");
    }
    Ok(())
}

/// Prints the files that differ from the program's output; returns false if any does.
pub fn check_schemas() -> Result<bool> {
    let differing = list_differences(&read_files()?, &print_schemas()?);
    for line in &differing {
        println!("docs/schema/{line}");
    }
    if !differing.is_empty() {
        println!("run `cargo xtask schema`");
    }
    Ok(differing.is_empty())
}

type SchemaFiles = BTreeMap<String, String>;

fn list_differences(files: &SchemaFiles, schemas: &SchemaFiles) -> Vec<String> {
    let stale = schemas.iter().filter_map(|(name, text)| match files.get(name) {
        None => Some(format!("{name} is missing")),
        Some(file) if file != text => Some(format!("{name} is out of date")),
        Some(_) => None,
    });
    let extra = files.keys().filter(|name| !schemas.contains_key(*name)).map(|name| format!("{name} is of no output"));
    stale.chain(extra).collect()
}

fn schema_folder() -> PathBuf {
    repository_root().join("docs/schema")
}

fn read_files() -> Result<SchemaFiles> {
    let Ok(folder) = fs::read_dir(schema_folder()) else { return Ok(SchemaFiles::new()) };
    let mut files = SchemaFiles::new();
    for file in folder {
        let file = file.context("docs/schema cannot be listed")?;
        let name = file.file_name().to_string_lossy().into_owned();
        if name.ends_with(".json") {
            files.insert(name, fs::read_to_string(file.path()).context("a schema file cannot be read")?);
        }
    }
    Ok(files)
}

/// Returns the output of `corewise schema` for each known name.
fn print_schemas() -> Result<SchemaFiles> {
    let corewise = |name: Option<&str>| {
        let mut command = cargo_command();
        command.args(["run", "--quiet", "--package", "corewise-cli", "--", "schema"]).args(name);
        read_output(&mut command)
    };
    let names = corewise(None)?;
    ensure!(!names.trim().is_empty(), "`corewise schema` names no output");
    names.split_whitespace().map(|name| Ok((format!("{name}.json"), corewise(Some(name))?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_stale_and_superfluous_files_are_named() {
        let files = |entries: &[(&str, &str)]| -> SchemaFiles {
            entries.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect()
        };
        let (there, wanted) =
            (files(&[("a", "1"), ("b", "2"), ("d", "")]), files(&[("a", "1"), ("b", "3"), ("c", "")]));
        assert_eq!(list_differences(&there, &wanted), ["b is out of date", "c is missing", "d is of no output"]);
        assert!(list_differences(&wanted, &wanted).is_empty());
    }
}
