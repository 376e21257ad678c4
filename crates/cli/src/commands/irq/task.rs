//! The task of `irq`.

use std::time::Duration;

use corewise_machine::CpuSet;
use corewise_machine::placement::PlacementExpression;
use corewise_machine::suggested_command;

use super::arguments::IrqArguments;
use super::document::MoveKind;
use crate::app::failure::CommandFailure;
use crate::app::machine::MachineChoice;
use crate::app::placement;
use crate::draw::printable::printable_name;
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
    /// A cpu for each interrupt of the device that the text names: one of these, or any.
    Spread(Option<PlacementExpression>),
    /// These cpus for each of these interrupts.
    Named(Vec<(u32, CpuSet)>),
}

impl MoveAim {
    /// Returns the kind, for the report.
    pub const fn kind(&self) -> MoveKind {
        match self {
            Self::AwayFrom(_) => MoveKind::AwayFrom,
            Self::Near => MoveKind::Near,
            Self::Spread(_) => MoveKind::Spread,
            Self::Named(_) => MoveKind::Named,
        }
    }

    /// Returns true if the text names a device.
    pub const fn names_device(&self) -> bool {
        matches!(self, Self::Near | Self::Spread(_))
    }
}

impl MoveRequest {
    /// Returns the command that moves them.
    pub fn suggest_command(&self) -> String {
        suggestion::format_typed(&match &self.aim {
            MoveAim::AwayFrom(_) => suggested_command::irq_away_from(&self.text),
            MoveAim::Near => suggested_command::irq_near(&self.text),
            MoveAim::Spread(None) => suggested_command::irq_spread(&self.text),
            MoveAim::Spread(Some(over)) => suggested_command::irq_spread_over(&self.text, &over.to_string()),
            MoveAim::Named(_) => suggested_command::irq_set(&self.text),
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
        let over = typed.over.as_deref().map(placement::parse_expression).transpose()?;
        let aim = match (typed.away_from, typed.near, typed.spread) {
            (Some(text), ..) => Some((MoveAim::AwayFrom(placement::parse_expression(&text)?), text)),
            (None, Some(text), _) => Some((MoveAim::Near, text)),
            (None, None, Some(text)) => Some((MoveAim::Spread(over), text)),
            (None, None, None) if typed.set.is_empty() => None,
            (None, None, None) => Some((parse_named(&typed.set)?, typed.set.join(" "))),
        };
        let moving = aim.map(|(aim, text)| MoveRequest { text, aim, dry_run });
        if machine != MachineChoice::Here && moving.as_ref().is_some_and(|moving| !moving.dry_run) {
            return Err(CommandFailure::usage_error("interrupts can only be moved on this machine")
                .with_hint("--dry-run shows what would be moved on another."));
        }
        Ok(Self { counting: typed.budget.unwrap_or(COUNTING), moving, machine })
    }
}

/// Parses "45=2" and "46=4-7".
fn parse_named(words: &[String]) -> Result<MoveAim, CommandFailure> {
    let parse = |word: &String| {
        let (number, cpus) = word.split_once('=')?;
        let cpus = CpuSet::parse_list(cpus).ok().filter(|cpus| !cpus.is_empty())?;
        Some((number.trim().parse().ok()?, cpus))
    };
    let wrong = |word: &String| {
        CommandFailure::usage_error(format!("--set {}: not NUMBER=CPUS, as in 45=2 or 46=4-7", printable_name(word)))
    };
    let named = words.iter().map(|word| parse(word).ok_or_else(|| wrong(word)));
    named.collect::<Result<_, _>>().map(MoveAim::Named)
}
