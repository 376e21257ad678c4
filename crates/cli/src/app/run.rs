//! What every command is to the program: a definition of its options, and something to do.

use std::ffi::OsString;

use clap::{Args as _, FromArgMatches as _, Parser};
use schemars::{JsonSchema, Schema, schema_for};

use super::arguments::CommonArguments;
use super::failure::{Exit, Failure};
use super::settings::Settings;

/// A command: what was typed behind its name, and what is done with it. Its definition has its name, what it is for in one line, and examples.
pub trait Run: Parser + 'static {
    /// The JSON documents that it prints.
    const DOCUMENTS: &'static [Document] = &[];

    /// Options that suggestions of the same command repeat: without them they would be about something else.
    fn carried_options(&self) -> Vec<String> {
        Vec::new()
    }

    /// Does what was typed.
    ///
    /// # Errors
    /// Whatever keeps it from that.
    fn run(self, settings: &Settings) -> Result<Exit, Failure>;
}

/// A JSON document of a command.
pub struct Document {
    /// Returns its schema, whose title is "corewise/NAME/VERSION".
    pub schema: fn() -> Schema,
    /// Command lines that print it with `--json`, in the folder that the test of documents prepares. `PID`
    /// stands for a process of the user.
    pub examples: &'static [&'static str],
}

/// The document that a type is, and command lines that print it.
pub const fn document<T: JsonSchema>(examples: &'static [&'static str]) -> Document {
    Document { schema: || schema_for!(T), examples }
}

/// Help is wrapped at this many columns at most.
pub const HELP_WIDTH: usize = 100;

/// Takes a command line apart that begins with a command's name, by the definition of that command alone.
///
/// # Errors
/// What is wrong with the line, or the help that was asked for.
pub fn alone<R: Run>(words: &[OsString]) -> Result<(R, CommonArguments), clap::Error> {
    let definition = CommonArguments::augment_args(R::command()).max_term_width(HELP_WIDTH);
    let name = format!("corewise {}", definition.get_name());
    let matches = definition.bin_name(name).try_get_matches_from(words)?;
    Ok((R::from_arg_matches(&matches)?, CommonArguments::from_arg_matches(&matches)?))
}

/// What a line means that begins with a command's name, or what is wrong with it.
#[cfg(test)]
pub fn typed<R: Run>(words: &[&str]) -> Result<R, String> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    alone(&words).map(|(typed, _)| typed).map_err(|error| error.to_string())
}
