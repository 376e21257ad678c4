//! Requests of `corewise place`.

use std::path::Path;

use corewise_machine::placement::notation::Notation;
use corewise_sys::input::{self, InputKind};

use super::arguments::{PlaceArguments, RECOGNIZED};
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::MachineChoice;
use crate::app::standard_input::read_standard_input;

/// Notation of a text that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceNotation {
    /// This one.
    Named(Notation),
    /// The notation of the text.
    Recognized,
}

/// A placement to show.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceRequest {
    /// The expression as typed.
    pub text: String,
    /// Its notation; `None` for the placement language.
    pub from: Option<SourceNotation>,
    /// The machine as typed, which suggested commands repeat.
    pub machine_option: Vec<String>,
    /// The one notation to print, instead of the screen.
    pub alone: Option<Notation>,
    /// True if the processes that may run there are shown.
    pub shows_tenants: bool,
    /// The machine.
    pub machine: MachineChoice,
}

/// A request for the placements worth trying.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidatesRequest {
    /// Number of threads of the program, if given.
    pub threads: Option<u32>,
    /// The machine.
    pub machine: MachineChoice,
}

impl CandidatesRequest {
    /// Interprets the arguments.
    ///
    /// # Errors
    /// The machine is not known.
    pub fn new(arguments: &PlaceArguments) -> Result<Self, CommandFailure> {
        Ok(Self { threads: arguments.threads, machine: MachineChoice::new(&arguments.machine)? })
    }
}

impl PlaceRequest {
    /// Interprets the arguments. Several arguments, such as `all - core:0` without quotes, form one expression. A text in another
    /// tool's notation may be in a file, or come from standard input.
    ///
    /// # Errors
    /// The machine is not known, or the file cannot be read.
    pub fn new(arguments: PlaceArguments) -> Result<Self, CommandFailure> {
        let notation =
            |name: &str| name.parse::<Notation>().map_err(|error| CommandFailure::new(CommandExit::Usage, error));
        let is_of_ranks = |name: &&str| name.parse::<Notation>().is_err();
        if let Some(form) = arguments.notation.as_deref().filter(is_of_ranks) {
            return Err(CommandFailure::usage_error(format!("--as {form} is for the ranks of a program"))
                .with_hint("Give their number with --ranks N."));
        }
        let source = |name: &str| match name.eq_ignore_ascii_case(RECOGNIZED) {
            true => Ok(SourceNotation::Recognized),
            false => notation(name).map(SourceNotation::Named),
        };
        let from = arguments.from.as_deref().map(source).transpose()?;
        let machine_name = arguments.machine.machine.as_ref().and_then(|machine| machine.to_str());
        Ok(Self {
            shows_tenants: arguments.who,
            text: if from.is_some() { read_source(&arguments.expression)? } else { arguments.expression.join(" ") },
            from,
            machine_option: machine_name
                .into_iter()
                .flat_map(|name| ["--machine".to_owned(), name.to_owned()])
                .collect(),
            alone: arguments.notation.as_deref().map(notation).transpose()?,
            machine: MachineChoice::new(&arguments.machine)?,
        })
    }
}

/// Returns the text to read: standard input for `-`, the contents of a file, or the words themselves.
fn read_source(words: &[String]) -> Result<String, CommandFailure> {
    match words {
        [only] if only == "-" => {
            let bytes = read_standard_input(InputKind::NotationText.most_bytes())?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        [only] if Path::new(only).is_file() => {
            input::read_text(Path::new(only), InputKind::NotationText).map_err(CommandFailure::unavailable_error)
        }
        _ => Ok(words.join(" ")),
    }
}
