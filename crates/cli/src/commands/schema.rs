//! `corewise schema`: prints the JSON schemas of the outputs.

use std::io::{self, Read as _};

use clap::Parser;
use corewise_sys::input::JSON_BYTES;
use flate2::read::GzDecoder;

use super::all_documents;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::{print_form, print_text};
use crate::app::run::{CommandDocument, RunnableCommand};
use crate::app::settings::ProgramSettings;

/// The files of crates/cli/schema, each after its name and before a NUL, as the build script packs them. Deriving them here would take a
/// megabyte of code.
const PACKED_SCHEMAS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.gz"));

/// Print the JSON schema of an output, or the names of all
#[derive(Clone, Debug, Parser)]
#[command(hide = true)]
pub struct SchemaArguments {
    /// The schema to print, such as `survey` [default: list the names of all]
    pub name: Option<String>,
    /// List command lines that print each document: its name, a tab, and the line
    #[arg(long, conflicts_with = "name")]
    pub examples: bool,
}

impl RunnableCommand for SchemaArguments {
    fn run(self, _: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let names: Vec<&str> = all_documents().map(|document| document.name).collect();
        match &self.name {
            None if self.examples => print_text(&list_examples().join("\n"))?,
            None => print_text(&names.join("\n"))?,
            Some(wanted) => {
                let schema = find_schema(wanted).map_err(|error| CommandFailure::new(CommandExit::Internal, error))?;
                print_form(&schema.ok_or_else(|| {
                    CommandFailure::usage_error(format!("there is no schema \"{wanted}\"")).with_hint(names.join(", "))
                })?)?;
            }
        }
        Ok(CommandExit::Done)
    }
}

/// Returns the text of a schema, without the last line end; `None` if there is none of this name.
fn find_schema(name: &str) -> io::Result<Option<String>> {
    let mut files = String::new();
    GzDecoder::new(PACKED_SCHEMAS).take(JSON_BYTES).read_to_string(&mut files)?;
    let mut texts = files.split('\0').filter_map(|file| file.strip_prefix(name)?.strip_prefix('\n'));
    Ok(texts.next().map(|text| text.trim_end().to_owned()))
}

fn list_examples() -> Vec<String> {
    let lines =
        |document: &'static CommandDocument| document.examples.iter().map(|line| format!("{} {line}", document.name));
    all_documents().flat_map(lines).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::draw::json::to_json;

    /// With `COREWISE_WRITE_DOCS` the folder gets the schemas instead.
    #[test]
    fn the_schema_files_are_those_of_the_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
        let mut schemas = BTreeMap::new();
        for document in all_documents() {
            let schema = (document.schema)();
            let title = schema.get("title").and_then(|title| title.as_str()).unwrap_or_default();
            assert_eq!(title.split('/').nth(1), Some(document.name), "the name of {title}");
            schemas.insert(format!("{}.json", document.name), to_json(&schema).unwrap() + "\n");
        }
        let listed = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: BTreeMap<String, String> =
            listed.map(|name| (name.clone(), fs::read_to_string(folder.join(name)).unwrap())).collect();
        if std::env::var_os("COREWISE_WRITE_DOCS").is_some() {
            files
                .keys()
                .filter(|name| !schemas.contains_key(*name))
                .for_each(|name| fs::remove_file(folder.join(name)).unwrap());
            schemas.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
            files.clone_from(&schemas);
        }
        let differing = schemas.iter().filter(|(name, text)| files.get(*name) != Some(text)).map(|(name, _)| name);
        let differing: Vec<&String> =
            differing.chain(files.keys().filter(|name| !schemas.contains_key(*name))).collect();
        assert!(differing.is_empty(), "files in crates/cli/schema are old: {differing:?}: cargo xtask schema");
    }
}
