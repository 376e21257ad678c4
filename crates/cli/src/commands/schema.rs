//! `corewise schema`: prints the JSON schemas of the outputs.

use clap::Parser;

use super::schemas;
use crate::shell::failure::{Exit, Failure};
use crate::shell::output::{print_json, print_text};
use crate::shell::run::Run;
use crate::shell::settings::Settings;

/// Print the JSON schema of an output, or the names of all
#[derive(Clone, Debug, Parser)]
#[command(name = "schema", hide = true)]
pub struct SchemaArguments {
    /// The schema to print, such as `survey` [default: list the names of all]
    pub name: Option<String>,
}

impl Run for SchemaArguments {
    fn run(self, _: &Settings) -> Result<Exit, Failure> {
        let names: Vec<String> = schemas().map(|(name, _)| name).collect();
        match &self.name {
            None => print_text(&names.join("\n"))?,
            Some(wanted) => {
                let unknown = || Failure::usage(format!("there is no schema \"{wanted}\"")).next(names.join(", "));
                print_json(&schemas().find(|(name, _)| name == wanted).ok_or_else(unknown)?.1)?;
            }
        }
        Ok(Exit::Done)
    }
}
