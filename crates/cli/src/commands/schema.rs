//! `corewise schema`: prints the JSON schemas of the outputs.

use clap::Parser;

use super::{NamedSchema, schemas};
use crate::app::failure::{Exit, Failure};
use crate::app::output::{print_json, print_text};
use crate::app::run::Run;
use crate::app::settings::Settings;

/// Print the JSON schema of an output, or the names of all
#[derive(Clone, Debug, Parser)]
#[command(name = "schema", hide = true)]
pub struct SchemaArguments {
    /// The schema to print, such as `survey` [default: list the names of all]
    pub name: Option<String>,
    /// List command lines that print each document: its name, a tab, and the line
    #[arg(long, conflicts_with = "name")]
    pub examples: bool,
}

impl Run for SchemaArguments {
    fn run(self, _: &Settings) -> Result<Exit, Failure> {
        let names: Vec<String> = schemas().map(|schema| schema.name).collect();
        match &self.name {
            None if self.examples => print_text(&examples().join("\n"))?,
            None => print_text(&names.join("\n"))?,
            Some(wanted) => {
                let unknown = || Failure::usage(format!("there is no schema \"{wanted}\"")).next(names.join(", "));
                print_json(&schemas().find(|schema| schema.name == *wanted).ok_or_else(unknown)?.schema)?;
            }
        }
        Ok(Exit::Done)
    }
}

fn examples() -> Vec<String> {
    let lines = |schema: NamedSchema| {
        schema.examples.iter().map(move |line| format!("{} {line}", schema.name)).collect::<Vec<_>>()
    };
    schemas().flat_map(lines).collect()
}
