//! What the command line means here: options, environment and terminal put together, before anything is done.

pub mod experiment;
pub mod irq;
pub mod links;
pub mod machine;
pub mod place;
pub mod run;
pub mod tail;
pub mod workload;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;

use anstream::ColorChoice;
use corewise_model::{CpuSet, Machine};
use corewise_sys::linux::process;

use crate::args::{
    Arguments, ArticleArguments, Command, CommonArguments, HistoryCommand, PackingName, SurveyArguments, When,
};
use crate::error::Failure;
use experiment::{Print, TryTask};
use irq::IrqTask;
use links::LinksTask;
use machine::MachineChoice;
use place::{CandidatesRequest, PlaceRequest};
use run::RunTask;
use tail::TailTask;
use workload::WorkloadTask;

/// The name that whoever makes an experiment has to itself.
const LOCK: &str = "corewise-experiment";
/// The width of a page where there is no terminal.
const PAGE_WIDTH: usize = 80;
/// Up to so many cpus the default budgets hold; above, they grow with the square root of the number of cpus.
const CPUS_OF_DEFAULT: f64 = 32.0;
const DEFAULT_BUDGET: Duration = Duration::from_secs(30);
const QUICK_BUDGET: Duration = Duration::from_secs(5);

/// What corewise takes from its environment; read once, so that the rest is a function of it.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `XDG_DATA_HOME`.
    pub data_home: Option<OsString>,
    /// `XDG_STATE_HOME`.
    pub state_home: Option<OsString>,
    /// `HOME`.
    pub home: Option<OsString>,
    /// `COREWISE_LOCK`.
    pub lock: Option<String>,
    /// `COLUMNS`.
    pub columns: Option<String>,
    /// The width of the terminal that standard output is, if it is one.
    pub terminal_width: Option<usize>,
    /// Whether corewise has root's rights.
    pub is_root: bool,
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
}

impl Environment {
    /// The environment of this process.
    pub fn of_this_process() -> Self {
        let stdout = std::io::stdout();
        let size = terminal_size::terminal_size_of(&stdout).filter(|_| stdout.is_terminal());
        Self {
            data_home: std::env::var_os("XDG_DATA_HOME"),
            state_home: std::env::var_os("XDG_STATE_HOME"),
            home: std::env::var_os("HOME"),
            lock: std::env::var("COREWISE_LOCK").ok(),
            columns: std::env::var("COLUMNS").ok(),
            terminal_width: size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0),
            is_root: process::effective_user() == 0,
            stdout_is_terminal: stdout.is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
        }
    }
}

/// Where surveys are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum History {
    /// In this file.
    At(PathBuf),
    /// Nowhere, as the user asked.
    Off,
    /// Nowhere: neither `XDG_DATA_HOME` nor `HOME` says where.
    Homeless,
}

/// How to print, and where to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Whether to print JSON.
    pub json: bool,
    /// The columns that text is fitted to.
    pub width: usize,
    /// Whether to use colour.
    pub color: ColorChoice,
    /// Whether standard output is a terminal, which takes text only.
    pub stdout_is_terminal: bool,
    /// Whether to show progress on standard error.
    pub progress: bool,
    /// Where surveys are kept.
    pub history: History,
    /// The store that was named, as it was typed: what is proposed to be typed has to name it too.
    pub named_store: Option<PathBuf>,
    /// The folder of the journals of changes; nothing where neither the user nor the environment says where.
    pub journals: Option<PathBuf>,
    /// The name that whoever makes an experiment has to itself. Tests have one each, so that they do not wait for one another.
    pub lock: String,
}

impl Settings {
    /// Settings of the common options in an environment.
    pub fn new(common: &CommonArguments, environment: &Environment) -> Self {
        Self {
            json: common.json,
            width: width(common, environment),
            color: match common.color {
                When::Auto => ColorChoice::Auto,
                When::Always => ColorChoice::Always,
                When::Never => ColorChoice::Never,
            },
            stdout_is_terminal: environment.stdout_is_terminal,
            progress: environment.stderr_is_terminal,
            history: history(common, environment),
            named_store: common.store.clone(),
            journals: journals(common, environment),
            lock: environment.lock.clone().unwrap_or_else(|| LOCK.to_owned()),
        }
    }
}

fn width(common: &CommonArguments, environment: &Environment) -> usize {
    let columns = || environment.columns.as_ref()?.parse().ok().filter(|columns| (20..=1000).contains(columns));
    common.width.map(usize::from).or(environment.terminal_width).or_else(columns).unwrap_or(PAGE_WIDTH)
}

/// The XDG base directory specification says that a relative XDG_DATA_HOME is to be ignored.
fn history(common: &CommonArguments, environment: &Environment) -> History {
    if common.no_store {
        return History::Off;
    }
    if let Some(path) = &common.store {
        // As it is now: suites and stored experiments are run in folders of their own.
        return History::At(std::path::absolute(path).unwrap_or_else(|_| path.clone()));
    }
    let data = folder(&environment.data_home).or_else(|| Some(folder(&environment.home)?.join(".local/share")));
    data.map_or(History::Homeless, |data| History::At(data.join("corewise/history.db")))
}

/// Root's journals go with the boot, as the changes do; others may not write where that is so on every machine.
fn journals(common: &CommonArguments, environment: &Environment) -> Option<PathBuf> {
    if let Some(path) = &common.journal {
        return Some(path.clone());
    }
    if environment.is_root {
        return Some(PathBuf::from("/run/corewise"));
    }
    let state = folder(&environment.state_home).or_else(|| Some(folder(&environment.home)?.join(".local/state")))?;
    Some(state.join("corewise"))
}

fn folder(variable: &Option<OsString>) -> Option<PathBuf> {
    variable.clone().map(PathBuf::from).filter(|path| path.is_absolute())
}

/// What to do, once the command line is understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// Survey this machine.
    Survey(SurveyArguments),
    /// Show a machine.
    Topology(MachineChoice),
    /// Say which cpus a placement is.
    Place(PlaceRequest),
    /// List the placements that are worth trying.
    Candidates(CandidatesRequest),
    /// List the machines that the program holds.
    Machines,
    /// Try a command on placements.
    Try(Box<TryTask>),
    /// Run a command.
    Run(Box<RunTask>),
    /// Look for stalls.
    Tail(Box<TailTask>),
    /// Measure, import, show and compare links.
    Links(Box<LinksTask>),
    /// Make an article's experiment.
    Article(ArticleArguments),
    /// Run a built-in workload.
    Workload(Box<WorkloadTask>),
    /// Show interrupts, or move them.
    Irq(IrqTask),
    /// Record this machine in a file, packed as its name says or as told.
    Record(PathBuf, Option<PackingName>),
    /// List the stored surveys: of this machine, or all.
    List {
        /// Of all machines.
        all: bool,
    },
    /// Show a stored survey.
    Show(i64),
    /// Show a stored experiment, how, and the file to draw into how it scales.
    ShowExperiment(i64, Print, Option<PathBuf>),
    /// Compare two stored surveys.
    Compare(i64, i64),
    /// List the gaps of this machine.
    Doctor,
    /// Take back what crashed corewise processes changed.
    Undo {
        /// Only show it.
        dry_run: bool,
    },
    /// Print a schema, or the names of all.
    Schema(Option<String>),
}

impl Task {
    /// The task that was typed. Options of the survey may stand before or after the word `survey`, and before no other.
    pub fn new(arguments: Arguments) -> Result<Self, Failure> {
        let before = arguments.survey;
        let is_free = before == SurveyArguments::default();
        Ok(match arguments.command {
            None => Self::Survey(before),
            Some(Command::Survey(after)) => Self::Survey(if is_free { after } else { both(before, after)? }),
            Some(_) if !is_free => {
                let what = "--quick, --budget, --seed and --cpus are options of the survey, not of this command";
                return Err(Failure::usage(what).next("See `corewise --help`."));
            }
            Some(Command::Topology(topology)) if topology.machine.asks_for_list() => Self::Machines,
            Some(Command::Topology(topology)) => Self::Topology(MachineChoice::new(&topology.machine)?),
            Some(Command::Place(place)) if place.candidates => Self::Candidates(CandidatesRequest::new(&place)?),
            Some(Command::Place(place)) => Self::Place(PlaceRequest::new(place)?),
            Some(Command::Run(_)) if arguments.common.json => {
                return Err(Failure::usage("run has nothing to print as JSON")
                    .next("What it prints is its command's. `corewise place EXPR --json` says where it would run."));
            }
            Some(Command::Run(run)) => Self::Run(Box::new(RunTask::new(run)?)),
            Some(Command::Try(typed)) => Self::Try(Box::new(TryTask::new(*typed)?)),
            Some(Command::Tail(typed)) => Self::Tail(Box::new(TailTask::new(typed)?)),
            Some(Command::Links(typed)) => Self::Links(Box::new(LinksTask::new(*typed)?)),
            Some(Command::Article(typed)) => Self::Article(typed),
            Some(Command::Workload(typed)) => Self::Workload(Box::new(WorkloadTask::new(*typed)?)),
            Some(Command::Irq(irq)) => Self::Irq(IrqTask::new(irq)?),
            Some(Command::Record(record)) => Self::Record(record.output, record.packing),
            Some(Command::Doctor) => Self::Doctor,
            Some(Command::Undo(undo)) => Self::Undo { dry_run: undo.dry_run },
            Some(Command::Schema(schema)) => Self::Schema(schema.name),
            Some(Command::History(history)) => match history.command {
                None => Self::List { all: history.all },
                Some(HistoryCommand::List { all }) => Self::List { all: all || history.all },
                Some(HistoryCommand::Show { number }) => Self::Show(number),
                Some(HistoryCommand::Experiment { number, csv, markdown, svg }) => {
                    Self::ShowExperiment(number, Print::new(csv, markdown), svg)
                }
                Some(HistoryCommand::Compare { before, after }) => Self::Compare(before, after),
            },
        })
    }
}

fn both(before: SurveyArguments, after: SurveyArguments) -> Result<SurveyArguments, Failure> {
    let joined = SurveyArguments {
        quick: before.quick || after.quick,
        budget: after.budget.or(before.budget),
        seed: after.seed.or(before.seed),
        cpus: after.cpus.or(before.cpus),
    };
    if joined.quick && joined.budget.is_some() {
        return Err(Failure::usage("--quick and --budget cannot be used together").next("Leave one of them out."));
    }
    Ok(joined)
}

/// The cpus to survey: those asked for, or all in the mask that was inherited. Who names isolated cpus, or others outside that mask, means
/// them; those that the cpuset keeps back become gaps of the survey, and where none is left, there is nothing to survey.
pub fn cpus(survey: &SurveyArguments, machine: &Machine, reachable: &CpuSet) -> Result<CpuSet, Failure> {
    let Some(wanted) = &survey.cpus else { return Ok(machine.allowed.clone()) };
    let unknown = wanted.difference(&machine.possible.union(&machine.online));
    if !unknown.is_empty() {
        let what = format!("--cpus names {unknown}, which this machine does not have");
        return Err(
            Failure::usage(what).next(format!("Its cpus are {}; `corewise topology` shows them.", machine.online))
        );
    }
    if wanted.is_disjoint(reachable) {
        let what = format!("none of the cpus {wanted} may be used by this process");
        let next = format!("Its cpuset lets it use {reachable}.");
        return Err(Failure::unavailable(what).next(next));
    }
    Ok(wanted.clone())
}

/// How long a survey of so many cpus may take: what was asked for; otherwise 30 s (quick: 5 s) up to 32 cpus, and above
/// as much more as the square root of their number: 60 s at 128 cpus, 120 s at 512.
pub fn budget(survey: &SurveyArguments, cpus: usize) -> Duration {
    let default = if survey.quick { QUICK_BUDGET } else { DEFAULT_BUDGET };
    survey.budget.unwrap_or_else(|| grown(default, cpus))
}

/// The budget of so many cpus, where nothing was asked for: the default up to 32, and as much more as the square root.
fn grown(default: Duration, cpus: usize) -> Duration {
    let growth = (cpus as f64 / CPUS_OF_DEFAULT).sqrt().max(1.0);
    Duration::from_secs((default.as_secs_f64() * growth).round() as u64)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn parsed(line: &str) -> Arguments {
        Arguments::try_parse_from(line.split(' ')).unwrap()
    }

    fn settings(line: &str, environment: &Environment) -> Settings {
        Settings::new(&parsed(line).common, environment)
    }

    #[test]
    fn the_option_is_stronger_than_the_terminal_and_the_terminal_than_columns() {
        let width = |line, terminal_width, columns: Option<&str>| {
            let columns = columns.map(str::to_owned);
            settings(line, &Environment { terminal_width, columns, ..Environment::default() }).width
        };
        assert_eq!(width("corewise --width 40", Some(120), Some("100")), 40);
        assert_eq!(width("corewise", Some(120), Some("100")), 120);
        assert_eq!(width("corewise", None, Some("100")), 100);
        assert_eq!(width("corewise", None, Some("wide")), 80);
    }

    #[test]
    fn the_history_lies_in_the_data_folder() {
        let at = |line, data_home: Option<&str>, home: Option<&str>| {
            let [data_home, home] = [data_home, home].map(|text| text.map(OsString::from));
            settings(line, &Environment { data_home, home, ..Environment::default() }).history
        };
        let file = |path: &str| History::At(PathBuf::from(path));
        assert_eq!(at("corewise", Some("/data"), Some("/home/me")), file("/data/corewise/history.db"));
        assert_eq!(at("corewise", Some("data"), Some("/home/me")), file("/home/me/.local/share/corewise/history.db"));
        assert_eq!(at("corewise", None, None), History::Homeless);
        assert_eq!(at("corewise --no-store", Some("/data"), None), History::Off);
        assert_eq!(
            at("corewise history --store x.db", Some("/data"), None),
            History::At(std::path::absolute("x.db").unwrap())
        );
    }

    #[test]
    fn the_journals_of_root_go_with_the_boot() {
        let at = |line, is_root, state_home: Option<&str>, home: Option<&str>| {
            let [state_home, home] = [state_home, home].map(|text| text.map(OsString::from));
            settings(line, &Environment { is_root, state_home, home, ..Environment::default() }).journals
        };
        let folder = |path: &str| Some(PathBuf::from(path));
        assert_eq!(at("corewise undo", true, Some("/state"), Some("/root")), folder("/run/corewise"));
        assert_eq!(at("corewise undo", false, Some("/state"), Some("/home/me")), folder("/state/corewise"));
        assert_eq!(at("corewise undo", false, None, Some("/home/me")), folder("/home/me/.local/state/corewise"));
        assert_eq!(at("corewise undo", false, Some("state"), None), None);
        assert_eq!(at("corewise undo --journal here", true, None, None), folder("here"));
    }

    #[test]
    fn survey_options_stand_on_either_side_of_the_word() {
        let quick = Task::Survey(SurveyArguments { quick: true, ..SurveyArguments::default() });
        for line in ["corewise --quick", "corewise survey --quick", "corewise --quick survey"] {
            assert_eq!(Task::new(parsed(line)).unwrap(), quick);
        }
        assert_eq!(Task::new(parsed("corewise --quick doctor")).unwrap_err().exit, crate::error::Exit::Usage);
        assert!(Task::new(parsed("corewise --quick survey --budget 9s")).is_err());
        assert_eq!(Task::new(parsed("corewise history --all")).unwrap(), Task::List { all: true });
    }

    #[test]
    fn the_cpus_to_survey_are_those_of_the_machine_that_can_be_had() {
        let mut machine = crate::view::fabricated::ryzen_9950x3d();
        machine.allowed = CpuSet::first(4);
        let reachable = CpuSet::first(8);
        let cpus = |arguments: &SurveyArguments| cpus(arguments, &machine, &reachable);
        let wanted = |list: &str| SurveyArguments { cpus: CpuSet::parse_list(list).ok(), ..SurveyArguments::default() };
        assert_eq!(cpus(&SurveyArguments::default()).unwrap(), machine.allowed);
        assert_eq!(cpus(&wanted("3,8")).unwrap().to_string(), "3,8");
        assert_eq!(cpus(&wanted("5-7")).unwrap().to_string(), "5-7", "outside the inherited mask, but named");
        let unknown = cpus(&wanted("3,32")).unwrap_err();
        assert_eq!(unknown.what, "--cpus names 32, which this machine does not have");
        let denied = cpus(&wanted("8-11")).unwrap_err();
        assert_eq!(denied.what, "none of the cpus 8-11 may be used by this process");
        assert_eq!([unknown.exit, denied.exit], [crate::error::Exit::Usage, crate::error::Exit::Unavailable]);
    }

    #[test]
    fn budgets_grow_with_the_machine_but_slower() {
        let default = SurveyArguments::default();
        let seconds = [1, 32, 64, 128, 512].map(|cpus| budget(&default, cpus).as_secs());
        assert_eq!(seconds, [30, 30, 42, 60, 120]);
        let quick = SurveyArguments { quick: true, ..default.clone() };
        assert_eq!(budget(&quick, 32), Duration::from_secs(5));
        let given = SurveyArguments { budget: Some(Duration::from_secs(7)), ..default };
        assert_eq!(budget(&given, 512), Duration::from_secs(7));
    }
}
