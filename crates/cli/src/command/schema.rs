//! `corewise schema`: prints the JSON schemas of the outputs.

use crate::document::{SCHEMAS, schema};
use crate::error::{Exit, Failure};
use crate::output::{print_json, print_text};

/// Prints a schema, or the names of all.
pub fn run(name: Option<&str>) -> Result<Exit, Failure> {
    match name {
        None => print_text(&SCHEMAS.join("\n"))?,
        Some(name) => {
            let unknown = || Failure::usage(format!("there is no schema \"{name}\"")).next(SCHEMAS.join(", "));
            print_json(&schema(name).ok_or_else(unknown)?)?;
        }
    }
    Ok(Exit::Done)
}
