//! The task of `links`.

use std::path::PathBuf;
use std::time::Duration;

use corewise_machine::placement::PlacementExpression;
use corewise_machine::ring::RingSlots;
use corewise_machine::suggested_command;
use corewise_model::links::TalkWay;
use corewise_model::links::explore::ExploreLimits;

use super::arguments::{KindName, LinksArguments, LinksCommand, LinksFormatName, OrderName, UnitName};
use crate::app::failure::CommandFailure;
use crate::app::machine::MachineChoice;
use crate::app::option_values::SlotsName;
use crate::app::placement::parse_expression;
use crate::draw::suggestion::quote_words;

/// Default limit of the duration of a map.
const BUDGET: Duration = Duration::from_secs(60);
/// Limit with --all-pairs alone: a day, the maximum of any command.
const NO_LIMIT: Duration = Duration::from_secs(86_400);

/// A parsed `links` command.
#[derive(Clone, Debug, PartialEq)]
pub struct LinksTask {
    /// The action.
    pub action: LinksAction,
    /// The output format.
    pub format: LinksFormatName,
    /// The order of cpus in pictures.
    pub order: Option<OrderName>,
}

/// An action of `links`.
#[derive(Clone, Debug, PartialEq)]
pub enum LinksAction {
    /// Measure this machine, or simulate another.
    Map(MapRequest),
    /// Import files.
    Import {
        /// The files.
        files: Vec<PathBuf>,
        /// The unit of their numbers, if given.
        unit: Option<UnitName>,
        /// Their machine, if given.
        machine: Option<MachineChoice>,
    },
    /// Compare two maps.
    Compare {
        /// The earlier map.
        before: LinkMapSource,
        /// The later map.
        after: LinkMapSource,
        /// The machine of imported files, if given.
        machine: Option<MachineChoice>,
    },
    /// Show a stored map.
    Show(i64),
}

/// A request for a new map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapRequest {
    /// The ways to talk.
    pub kinds: Vec<TalkWay>,
    /// The cpus; all allowed cpus if not given.
    pub cpus: Option<PlacementExpression>,
    /// Maximum duration.
    pub budget: Duration,
    /// Limits of the number of pairs.
    pub limits: ExploreLimits,
    /// The seed.
    pub seed: Option<u64>,
    /// The matrix that stands for the machine.
    pub simulate: Option<LinksSimulation>,
}

/// A simulated machine.
#[derive(Clone, Debug, PartialEq)]
pub struct LinksSimulation {
    /// The matrix's file.
    pub matrix: PathBuf,
    /// The file from which noise is drawn.
    pub noise: Option<PathBuf>,
    /// The machine of the matrix, if given.
    pub machine: Option<MachineChoice>,
}

/// The source of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkMapSource {
    /// The history.
    Stored(i64),
    /// A file.
    File(PathBuf),
}

impl LinkMapSource {
    /// Interprets a number as one of the history; `./3` is a file.
    fn new(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::File(text.into()), Self::Stored)
    }

    /// Returns the command line that compares two sources.
    pub fn suggest_comparison(both: [&Self; 2]) -> String {
        let typed = |source: &Self| match source {
            Self::Stored(number) => number.to_string(),
            Self::File(path) => path.to_string_lossy().into_owned(),
        };
        let command = match both {
            [Self::Stored(before), Self::Stored(after)] => suggested_command::history_compare([*before, *after]),
            [before, after] => suggested_command::links_compare(&typed(before), &typed(after)),
        };
        quote_words(command.words())
    }

    /// Returns the number of a stored map.
    pub const fn stored_number(&self) -> Option<i64> {
        if let Self::Stored(number) = self { Some(*number) } else { None }
    }

    /// Describes the source: "map 3", or the path of a file.
    pub fn to_text(&self) -> String {
        match self {
            Self::Stored(number) => format!("map {number}"),
            Self::File(path) => path.display().to_string(),
        }
    }
}

impl LinksTask {
    /// Interprets the arguments.
    ///
    /// # Errors
    /// The options contradict each other, or an expression is invalid.
    pub fn new(typed: LinksArguments) -> Result<Self, CommandFailure> {
        let (format, order) = (typed.format, typed.order);
        let machine =
            typed.machine.machine.as_ref().map(|_| MachineChoice::new(&typed.machine.to_arguments())).transpose()?;
        if let Some(refused) = typed.explain_misuse() {
            return Err(refused);
        }
        let action = match &typed.command {
            Some(_) if typed.is_measuring() => {
                let what =
                    "--kind, --slots, --cpus, --budget, --all-pairs, --seed and --simulate are only for a new map";
                return Err(CommandFailure::usage_error(what).with_hint("Leave them out, or the word after `links`."));
            }
            Some(LinksCommand::Import { files, unit }) => {
                LinksAction::Import { files: files.clone(), unit: *unit, machine }
            }
            Some(LinksCommand::Compare { before, after }) => {
                LinksAction::Compare { before: LinkMapSource::new(before), after: LinkMapSource::new(after), machine }
            }
            Some(LinksCommand::Show { number }) => LinksAction::Show(*number),
            None if machine.is_some() && typed.simulate.is_none() => {
                let what = "--machine names the machine of a matrix, and there is no matrix";
                return Err(CommandFailure::usage_error(what)
                    .with_hint("Name the matrix: links --simulate FILE, or links import FILE."));
            }
            None => LinksAction::Map(map_request(&typed, machine)?),
        };
        Ok(Self { action, format, order })
    }
}

impl LinksArguments {
    /// Returns the failure for options that do not apply to the subcommand.
    fn explain_misuse(&self) -> Option<CommandFailure> {
        let refused = |what: &str, next: &str| Some(CommandFailure::usage_error(what).with_hint(next));
        let is_table = self.format != LinksFormatName::Text;
        match &self.command {
            Some(LinksCommand::Compare { .. }) if is_table || self.order.is_some() => {
                refused("compare has no picture and no table of visits", "It prints text or, with --json, JSON.")
            }
            Some(LinksCommand::Show { .. }) if self.machine.machine.is_some() => {
                refused("--machine names the machine of a file, and no file is read here", "Leave out --machine.")
            }
            Some(LinksCommand::Import { files, .. }) if files.len() > 1 && self.format != LinksFormatName::Text => {
                refused("several files cannot be written as one", "Import one at a time.")
            }
            None if self.simulate.is_some() && (self.channel || !self.kind.is_empty() || !self.slots.is_empty()) => {
                refused("--simulate uses the matrix's way to talk", "Leave out --kind, --channel and --slots.")
            }
            _ => None,
        }
    }

    /// Returns true if an option of a new map is given.
    fn is_measuring(&self) -> bool {
        let said = [self.channel, self.all_pairs, self.cpus.is_some(), self.budget.is_some(), self.seed.is_some()];
        said.contains(&true) || !self.kind.is_empty() || !self.slots.is_empty() || self.simulate.is_some()
    }
}

fn map_request(typed: &LinksArguments, machine: Option<MachineChoice>) -> Result<MapRequest, CommandFailure> {
    let default = if typed.all_pairs { NO_LIMIT } else { BUDGET };
    let simulation = |matrix: &PathBuf| LinksSimulation { matrix: matrix.clone(), noise: typed.noise.clone(), machine };
    Ok(MapRequest {
        kinds: parse_kinds(typed)?,
        cpus: typed.cpus.as_deref().map(parse_expression).transpose()?,
        budget: typed.budget.unwrap_or(default),
        limits: ExploreLimits { all: typed.all_pairs, ..ExploreLimits::default() },
        seed: typed.seed,
        simulate: typed.simulate.as_ref().map(simulation),
    })
}

/// Returns the ways to talk, each once, in the order in which they were named.
fn parse_kinds(typed: &LinksArguments) -> Result<Vec<TalkWay>, CommandFailure> {
    let mut names = typed.kind.clone();
    if typed.channel {
        names.push(KindName::Channel);
    }
    let slots: Vec<RingSlots> = typed.slots.iter().map(|slots| SlotsName::to_slots(*slots)).collect();
    if !slots.is_empty() && !names.iter().any(|name| matches!(name, KindName::Channel | KindName::Queue)) {
        return Err(CommandFailure::usage_error("--slots needs a queue")
            .with_hint("Add --kind queue, or --channel, which also measures queues with these slots."));
    }
    if !slots.is_empty() && !names.contains(&KindName::Queue) {
        names.push(KindName::Queue);
    }
    if names.is_empty() {
        names.push(KindName::Cas);
    }
    let slots = if slots.is_empty() { RingSlots::ALL.to_vec() } else { slots };
    let mut kinds: Vec<TalkWay> = Vec::new();
    for what in names.into_iter().flat_map(|name| name.to_talks(&slots)) {
        if !kinds.contains(&what) {
            kinds.push(what);
        }
    }
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::run::parse_typed;

    fn task(line: &str) -> Result<LinksTask, CommandFailure> {
        LinksTask::new(parse_typed(&line.split(' ').collect::<Vec<_>>()).unwrap())
    }

    fn kinds_of(line: &str) -> String {
        let LinksAction::Map(request) = task(line).unwrap().action else { panic!("no map") };
        request.kinds.iter().map(|what| what.describe_way()).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn kinds_are_what_was_named_once_each() {
        assert_eq!(kinds_of("links"), "compare-and-swap");
        assert_eq!(kinds_of("links --kind wakeup,cas --kind wakeup"), "wake-up; compare-and-swap");
        assert_eq!(kinds_of("links --channel"), "channel of 64; channel without a bound");
        assert_eq!(
            kinds_of("links --channel --slots padded,packed"),
            "channel of 64; channel without a bound; queue, padded slots; queue, packed slots"
        );
        assert_eq!(kinds_of("links --kind queue"), "queue, packed slots; queue, padded slots");
        let refused = task("links --slots packed").unwrap_err();
        assert_eq!(refused.what, "--slots needs a queue");
    }

    #[test]
    fn all_pairs_have_no_limit_of_time_unless_one_is_set() {
        let budget = |line| match task(line).unwrap().action {
            LinksAction::Map(request) => request.budget.as_secs(),
            other => panic!("{other:?}"),
        };
        assert_eq!(budget("links"), 60);
        assert_eq!(budget("links --all-pairs"), 86_400);
        assert_eq!(budget("links --all-pairs --budget 5m"), 300);
    }

    #[test]
    fn a_number_is_a_stored_map_and_anything_else_a_file() {
        let LinksAction::Compare { before, after, .. } = task("links compare 3 ./3").unwrap().action else { panic!() };
        assert_eq!((before, after), (LinkMapSource::Stored(3), LinkMapSource::File("./3".into())));
        assert!(task("links --kind cas compare 1 2").is_err());
        assert!(task("links --machine fx-8150").is_err());
    }
}
