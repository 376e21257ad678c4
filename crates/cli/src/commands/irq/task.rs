//! The task of `irq`.

use std::time::Duration;

use corewise_machine::placement::PlacementExpression;
use corewise_machine::suggested_command;

use super::arguments::IrqArguments;
use crate::app::failure::CommandFailure;
use crate::app::machine::MachineChoice;
use crate::app::placement;
use crate::draw::suggestion;

/// Default duration of counting interrupts.
const COUNTING: Duration = Duration::from_secs(1);

/// Interrupts to show or to move.
#[derive(Clone, Debug, PartialEq)]
pub struct IrqTask {
    /// Duration of counting them, if they are shown.
    pub counting: Duration,
    /// The move; `None` if they are only shown.
    pub moving: Option<MoveRequest>,
    /// The machine.
    pub machine: MachineChoice,
}

/// Interrupts to move.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveRequest {
    /// The expression or device as typed.
    pub text: String,
    /// Its meaning.
    pub aim: MoveAim,
    /// True for a dry run.
    pub dry_run: bool,
}

/// The destination of moved interrupts.
#[derive(Clone, Debug, PartialEq)]
pub enum MoveAim {
    /// Any cpus but these.
    AwayFrom(PlacementExpression),
    /// The cpus near the device that the text names, for its interrupts only.
    Near,
}

impl MoveRequest {
    /// Returns the command that moves them.
    pub fn suggest_command(&self) -> String {
        suggestion::format_typed(&match self.aim {
            MoveAim::AwayFrom(_) => suggested_command::irq_away_from(&self.text),
            MoveAim::Near => suggested_command::irq_near(&self.text),
        })
    }
}

impl IrqTask {
    /// Interprets the arguments.
    ///
    /// # Errors
    /// The expression cannot be read, the machine is not known, or another machine's interrupts would be moved.
    pub fn new(typed: IrqArguments) -> Result<Self, CommandFailure> {
        let machine = MachineChoice::new(&typed.machine)?;
        let dry_run = typed.dry_run;
        let moving = match (typed.away_from, typed.near) {
            (Some(text), _) => {
                Some(MoveRequest { aim: MoveAim::AwayFrom(placement::parse_expression(&text)?), text, dry_run })
            }
            (None, Some(text)) => Some(MoveRequest { aim: MoveAim::Near, text, dry_run }),
            (None, None) => None,
        };
        if machine != MachineChoice::Here && moving.as_ref().is_some_and(|moving| !moving.dry_run) {
            return Err(CommandFailure::usage_error("interrupts can only be moved on this machine")
                .with_hint("--dry-run shows what would be moved on another."));
        }
        Ok(Self { counting: typed.budget.unwrap_or(COUNTING), moving, machine })
    }
}
