//! `corewise schema`: prints the JSON schemas of the outputs.

use clap::Parser;

use super::{NamedSchema, all_schemas};
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::{print_json, print_text};
use crate::app::run::RunnableCommand;
use crate::app::settings::ProgramSettings;

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

impl RunnableCommand for SchemaArguments {
    fn run(self, _: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let names: Vec<String> = all_schemas().map(|schema| schema.name).collect();
        match &self.name {
            None if self.examples => print_text(&list_examples().join("\n"))?,
            None => print_text(&names.join("\n"))?,
            Some(wanted) => {
                let unknown = || {
                    CommandFailure::usage_error(format!("there is no schema \"{wanted}\"")).with_hint(names.join(", "))
                };
                print_json(&all_schemas().find(|schema| schema.name == *wanted).ok_or_else(unknown)?.schema)?;
            }
        }
        Ok(CommandExit::Done)
    }
}

fn list_examples() -> Vec<String> {
    let lines = |schema: NamedSchema| {
        schema.examples.iter().map(move |line| format!("{} {line}", schema.name)).collect::<Vec<_>>()
    };
    all_schemas().flat_map(lines).collect()
}
