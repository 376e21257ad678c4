//! The task of `irq`.

use std::time::Duration;

use corewise_machine::placement::Expression;
use corewise_machine::suggested_command;

use super::arguments::IrqArguments;
use crate::app::failure::Failure;
use crate::app::machine::MachineChoice;
use crate::app::placing;
use crate::draw::suggestion;

/// Default duration of counting interrupts.
const COUNTING: Duration = Duration::from_secs(1);

/// Interrupts to show or to move.
#[derive(Clone, Debug, PartialEq)]
pub struct IrqTask {
    /// Duration of counting them, if they are shown.
    pub counting: Duration,
    /// The move; `None` if they are only shown.
    pub moving: Option<Moving>,
    /// The machine.
    pub machine: MachineChoice,
}

/// Interrupts to move.
#[derive(Clone, Debug, PartialEq)]
pub struct Moving {
    /// The expression or device as typed.
    pub text: String,
    /// Its meaning.
    pub aim: Aim,
    /// True for a dry run.
    pub dry_run: bool,
}

/// The destination of moved interrupts.
#[derive(Clone, Debug, PartialEq)]
pub enum Aim {
    /// Any cpus but these.
    AwayFrom(Expression),
    /// The cpus near the device that the text names, for its interrupts only.
    Near,
}

impl Moving {
    /// Returns the command that moves them.
    pub fn command(&self) -> String {
        suggestion::typed(&match self.aim {
            Aim::AwayFrom(_) => suggested_command::irq_away_from(&self.text),
            Aim::Near => suggested_command::irq_near(&self.text),
        })
    }
}

impl IrqTask {
    /// Interprets the arguments.
    ///
    /// # Errors
    /// The expression cannot be read, the machine is not known, or another machine's interrupts would be moved.
    pub fn new(typed: IrqArguments) -> Result<Self, Failure> {
        let machine = MachineChoice::new(&typed.machine)?;
        let dry_run = typed.dry_run;
        let moving = match (typed.away_from, typed.near) {
            (Some(text), _) => Some(Moving { aim: Aim::AwayFrom(placing::expression(&text)?), text, dry_run }),
            (None, Some(text)) => Some(Moving { aim: Aim::Near, text, dry_run }),
            (None, None) => None,
        };
        if machine != MachineChoice::Here && moving.as_ref().is_some_and(|moving| !moving.dry_run) {
            return Err(Failure::usage("interrupts can only be moved on this machine")
                .next("--dry-run shows what would be moved on another."));
        }
        Ok(Self { counting: typed.budget.unwrap_or(COUNTING), moving, machine })
    }
}
