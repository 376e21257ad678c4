//! What `irq` is to do.

use std::time::Duration;

use corewise_model::placement::Expression;

use super::arguments::IrqArguments;
use crate::shell::failure::Failure;
use crate::shell::machine::MachineChoice;
use crate::shell::placing;

/// How long interrupts are counted where nothing is said.
const COUNTING: Duration = Duration::from_secs(1);

/// Interrupts to show or to move.
#[derive(Clone, Debug, PartialEq)]
pub struct IrqTask {
    /// How long to count them, where they are shown.
    pub counting: Duration,
    /// The cpus to move them away from; nothing where they are shown.
    pub away: Option<Away>,
    /// The machine.
    pub machine: MachineChoice,
}

/// Cpus to move interrupts away from.
#[derive(Clone, Debug, PartialEq)]
pub struct Away {
    /// What was typed.
    pub text: String,
    /// What it means.
    pub expression: Expression,
    /// Only say what would be done.
    pub dry_run: bool,
}

impl IrqTask {
    /// What was typed, understood.
    ///
    /// # Errors
    /// Where the expression cannot be read, the machine is not known, and where another machine's interrupts would be moved.
    pub fn new(typed: IrqArguments) -> Result<Self, Failure> {
        let machine = MachineChoice::new(&typed.machine)?;
        let dry_run = typed.dry_run;
        let away = |text: String| Ok::<_, Failure>(Away { expression: placing::expression(&text)?, text, dry_run });
        let away = typed.away_from.map(away).transpose()?;
        if machine != MachineChoice::Here && away.as_ref().is_some_and(|away| !away.dry_run) {
            return Err(Failure::usage("interrupts can only be moved on this machine")
                .next("--dry-run shows what would be moved on another."));
        }
        Ok(Self { counting: typed.counting.unwrap_or(COUNTING), away, machine })
    }
}
