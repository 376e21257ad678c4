//! Requests of `corewise place`.

use corewise_machine::placement::notation::Notation;

use super::arguments::PlaceArguments;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::MachineChoice;

/// A placement to show.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceRequest {
    /// The expression as typed.
    pub text: String,
    /// Its notation; `None` for the placement language.
    pub from: Option<Notation>,
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
    /// Interprets the arguments. Several arguments, such as `all - core:0` without quotes, form one expression.
    ///
    /// # Errors
    /// The machine is not known.
    pub fn new(arguments: PlaceArguments) -> Result<Self, CommandFailure> {
        let notation =
            |name: &str| name.parse::<Notation>().map_err(|error| CommandFailure::new(CommandExit::Usage, error));
        Ok(Self {
            text: arguments.expression.join(" "),
            shows_tenants: arguments.who,
            from: arguments.from.as_deref().map(notation).transpose()?,
            alone: arguments.notation.as_deref().map(notation).transpose()?,
            machine: MachineChoice::new(&arguments.machine)?,
        })
    }
}
