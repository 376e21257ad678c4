//! What `corewise place` is asked for.

use corewise_machine::placement::notation::Notation;

use super::arguments::PlaceArguments;
use crate::app::failure::{Exit, Failure};
use crate::app::machine::MachineChoice;

/// A placement to be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceRequest {
    /// What was written.
    pub text: String,
    /// The notation it is written in; absent for the placement language.
    pub from: Option<Notation>,
    /// The one notation to print, instead of the screen.
    pub alone: Option<Notation>,
    /// The machine it is about.
    pub machine: MachineChoice,
}

/// The placements that are worth trying.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidatesRequest {
    /// How many threads the program has, where that was said.
    pub threads: Option<u32>,
    /// The machine it is about.
    pub machine: MachineChoice,
}

impl CandidatesRequest {
    /// What the arguments ask for.
    ///
    /// # Errors
    /// [`Failure`] for a machine that is not known.
    pub fn new(arguments: &PlaceArguments) -> Result<Self, Failure> {
        Ok(Self { threads: arguments.threads, machine: MachineChoice::new(&arguments.machine)? })
    }
}

impl PlaceRequest {
    /// What the arguments ask for. An expression in several arguments, such as `all - core:0` without quotes, is one.
    ///
    /// # Errors
    /// [`Failure`] for a machine that is not known.
    pub fn new(arguments: PlaceArguments) -> Result<Self, Failure> {
        let notation = |name: &str| name.parse::<Notation>().map_err(|error| Failure::new(Exit::Usage, error));
        Ok(Self {
            text: arguments.expression.join(" "),
            from: arguments.from.as_deref().map(notation).transpose()?,
            alone: arguments.notation.as_deref().map(notation).transpose()?,
            machine: MachineChoice::new(&arguments.machine)?,
        })
    }
}
