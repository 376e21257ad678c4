//! Interface of a command to the program: a definition of its options, and an action.

#[cfg(test)]
use clap::Args as _;
use clap::Parser;
use schemars::JsonSchema;

#[cfg(test)]
use super::arguments::CommonArguments;
use super::failure::{CommandExit, CommandFailure};
use super::settings::ProgramSettings;

/// A command: its options, and its action. The definition has its purpose in one line, and examples; the list of commands has its name.
pub trait RunnableCommand: Parser + 'static {
    /// JSON documents that it prints.
    const DOCUMENTS: &'static [CommandDocument] = &[];

    /// Options that suggestions of the same command repeat, since they decide what it is about.
    fn carried_options(&self) -> Vec<String> {
        Vec::new()
    }

    /// Runs the command.
    ///
    /// # Errors
    /// The failure of its task.
    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure>;
}

/// JSON document of a command.
pub struct CommandDocument {
    /// Name of its schema: "links" for "corewise/links/1".
    pub name: &'static str,
    /// Command lines that print it with `--json`, in the folder that the test of documents prepares. `PID`
    /// stands for a process of the user.
    pub examples: &'static [&'static str],
    /// Returns its schema. The program prints the files of crates/cli/schema, which a test compares with this.
    #[cfg(test)]
    pub schema: fn() -> schemars::Schema,
}

/// Returns the document of a type, with command lines that print it.
#[cfg_attr(not(test), expect(clippy::extra_unused_type_parameters, reason = "tests compare the files with the type"))]
pub const fn command_document<T: JsonSchema>(name: &'static str, examples: &'static [&'static str]) -> CommandDocument {
    CommandDocument {
        name,
        examples,
        #[cfg(test)]
        schema: || schemars::schema_for!(T),
    }
}

/// Maximum columns of help.
pub const HELP_WIDTH: usize = 100;

/// Parses a command line that begins with a command's name.
#[cfg(test)]
pub fn parse_typed<R: RunnableCommand>(words: &[&str]) -> Result<R, String> {
    let definition = CommonArguments::augment_args(R::command()).bin_name(format!("corewise {}", words[0]));
    let parsed = definition.try_get_matches_from(words).and_then(|matches| R::from_arg_matches(&matches));
    parsed.map_err(|error| error.to_string())
}
