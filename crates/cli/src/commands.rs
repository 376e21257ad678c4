//! The commands, and what was typed of them.

pub mod article;
pub mod completions;
pub mod doctor;
pub mod history;
pub mod irq;
pub mod keep;
pub mod links;
pub mod memory;
pub mod place;
pub mod record;
pub mod report;
pub mod run;
pub mod schema;
pub mod survey;
pub mod tail;
pub mod topology;
pub mod r#try;
pub mod undo;
pub mod watch;
#[cfg(feature = "workloads")]
pub mod workload;
pub mod worth;

use std::ffi::OsString;

use clap::{ArgMatches, Args as _, FromArgMatches as _};
use corewise_model::Survey;
use corewise_model::conducted::Conducted;
use corewise_model::links::LinkMap;
use corewise_model::memory::MemoryMap;
use corewise_model::survey::Scope;
use corewise_model::survey::conclude::Conclusions;
use schemars::Schema;

use crate::draw::printable::printable_lines;
use crate::draw::story::Story;
use crate::draw::survey::Kept;
use crate::draw::text::{Line, Screen};
use crate::draw::wrap::wrap;
use crate::shell::arguments::CommonArguments;
use crate::shell::artifact::{self, Form, Kind, Printed, kind};
use crate::shell::failure::{Exit, Failure};
use crate::shell::output::{say, written};
use crate::shell::run::{Document, HELP_WIDTH, Run, alone};
use crate::shell::settings::Settings;
use crate::shell::tip;
use run::arguments::RunArguments;
use survey::arguments::SurveyArguments;

/// The list: a line for each command, in the groups and the order of `--help`.
const COMMANDS: [(&str, &[Room]); 4] = [
    (
        "Survey: what this machine is like",
        &[
            room::<SurveyArguments>(),
            room::<topology::TopologyArguments>(),
            room::<tail::arguments::TailArguments>(),
            room::<links::arguments::LinksArguments>(),
            room::<memory::arguments::MemoryArguments>(),
            room::<worth::WorthArguments>(),
            room::<watch::arguments::WatchArguments>(),
            room::<doctor::DoctorArguments>(),
        ],
    ),
    (
        "Try: which placement wins, or that none does",
        &[
            room::<r#try::arguments::TryArguments>(),
            room::<place::arguments::PlaceArguments>(),
            #[cfg(feature = "workloads")]
            room::<workload::arguments::WorkloadArguments>(),
            room::<article::arguments::ArticleArguments>(),
        ],
    ),
    (
        "Keep: run there, and give everything back",
        &[
            room::<RunArguments>(),
            room::<keep::arguments::KeepArguments>(),
            room::<irq::arguments::IrqArguments>(),
            room::<undo::UndoArguments>(),
        ],
    ),
    (
        "Records",
        &[
            room::<history::arguments::HistoryArguments>(),
            room::<report::arguments::ReportArguments>(),
            room::<record::RecordArguments>(),
            room::<completions::CompletionsArguments>(),
            room::<schema::SchemaArguments>(),
        ],
    ),
];

/// The kinds of what is stored: a line for each.
const KINDS: [Kind; 4] = [kind::<Survey>(), kind::<Conducted>(), kind::<LinkMap>(), kind::<MemoryMap>()];

/// A survey is shown as by the command that made it.
impl Printed for Survey {
    fn print(&self, kept: &Kept, form: &Form, settings: &Settings) -> Result<(), Failure> {
        form.only(&[], "a survey")?;
        artifact::print(self, kept, settings)
    }

    const TITLE: &'static str = "Survey";

    fn story(&self, conclusions: &Conclusions, kept: &Kept, settings: &Settings) -> Story {
        match self.provenance.scope {
            Scope::Machine => survey::story(self, conclusions, kept, survey::memory(self, settings)),
            Scope::Tail => tail::story(self, conclusions, kept),
        }
    }

    fn changes(numbers: [i64; 2], artifacts: [&Self; 2]) -> Option<Story> {
        survey::comparison::changes(numbers, artifacts)
    }

    fn compare(numbers: [i64; 2], artifacts: [&Self; 2], settings: &Settings) -> Result<(), Failure> {
        survey::comparison::print(numbers, artifacts, settings)
    }
}

/// What is to be done.
type Task = Box<dyn FnOnce(&Settings) -> Result<Exit, Failure>>;

/// A command as the list has it.
struct Room {
    definition: fn() -> clap::Command,
    task: fn(&ArgMatches) -> Result<Task, clap::Error>,
    documents: &'static [Document],
}

const fn room<C: Run>() -> Room {
    Room { definition: C::command, task: task::<C>, documents: C::DOCUMENTS }
}

fn task<C: Run>(matches: &ArgMatches) -> Result<Task, clap::Error> {
    let typed = C::from_arg_matches(matches)?;
    Ok(Box::new(move |settings| typed.run(settings)))
}

fn rooms() -> impl Iterator<Item = &'static Room> {
    COMMANDS.iter().flat_map(|(_, rooms)| rooms.iter())
}

/// The schemas of all documents by their names: that of "corewise/links/1" is "links".
fn schemas() -> impl Iterator<Item = (String, Schema)> {
    rooms().flat_map(|room| room.documents).map(|schema| {
        let schema = schema();
        let title = schema.get("title").and_then(|title| title.as_str()).unwrap_or_default();
        (title.split('/').nth(1).unwrap_or(title).to_owned(), schema)
    })
}

const ABOUT: &str = "On which CPUs should this program run, and does it matter at all?";
const LONG_ABOUT: &str = "On which CPUs should this program run, and does it matter at all?

Without a command, corewise surveys this machine: what its CPUs are, how they differ, and what that means.";

const EXAMPLES: &str = "Examples:
  corewise                       survey this machine (30 s up to 32 cpus)
  corewise --quick               the same in 5 s, with wider uncertainty
  corewise topology              packages, nodes, caches, cores and cpus
  corewise place 'all - core:0'  which cpus that selects, in every tool's notation
  corewise try -- ./app          which placement of ./app wins, if any
  corewise run --on llc:0 -- ./app   run ./app on the cpus of the first last-level cache
  corewise tail --explain        how long each cpu stalls, and what causes it
  corewise links                 what talking between any two cpus costs, and which belong together
  corewise memory                what each cpu pays for each memory
  corewise history compare 3 7   what changed between two surveys
  corewise doctor                what cannot be measured here, and why

Exit status:
  0 done   1 try: not decided   2 wrong usage   3 not permitted, or not available here
  4 internal error   130 interrupted, partial results were printed";

/// The definition of the whole command line.
fn program() -> clap::Command {
    let options = CommonArguments::augment_args(SurveyArguments::augment_args(clap::Command::new("corewise")));
    options
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .long_about(LONG_ABOUT)
        .after_help(EXAMPLES)
        .max_term_width(HELP_WIDTH)
        .help_template(template())
        .subcommands(rooms().map(|room| (room.definition)()))
}

/// clap lists all commands under one heading; this is its template with a heading for each group.
fn template() -> String {
    let width = terminal_size::terminal_size().map_or(HELP_WIDTH, |(width, _)| usize::from(width.0)).min(HELP_WIDTH);
    let mut screen = Screen::new();
    for (heading, rooms) in &COMMANDS {
        let mut lines = vec![Line::new().strong(*heading)];
        for definition in rooms.iter().map(|room| (room.definition)()).filter(|command| !command.is_hide_set()) {
            let about = definition.get_about().map(ToString::to_string).unwrap_or_default();
            let line =
                Line::new().plain("  ").strong(format!("{:<12}", definition.get_name())).plain(format!(" {about}"));
            lines.extend(wrap(&line, width, 15));
        }
        screen.block(lines);
    }
    screen.block(vec![Line::new().strong("Options of the survey, and of every command")]);
    let groups = screen.styled();
    format!("{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{{options}}{{after-help}}")
}

/// What was typed: what to do, and the options that every command has.
pub struct Typed {
    /// The options that every command has.
    pub common: CommonArguments,
    task: Task,
}

impl Typed {
    /// The command line of this process. Where there is a mistake in it, or help is asked for, this says so and ends the
    /// process.
    pub fn of_this_process() -> Self {
        let words: Vec<OsString> = std::env::args_os().collect();
        let parsed = beginning_with_run(&words).unwrap_or_else(|| Self::parse(&words));
        parsed.unwrap_or_else(|error| end(&tip::with_whole_line(error, &words)))
    }

    /// Does what was typed.
    ///
    /// # Errors
    /// Whatever keeps the command from it.
    pub fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        (self.task)(settings)
    }

    /// Options of the survey may stand before or after the word `survey`, and before no other command.
    fn parse(words: &[OsString]) -> Result<Self, clap::Error> {
        let matches = program().try_get_matches_from(words)?;
        let common = CommonArguments::from_arg_matches(&matches)?;
        let before = SurveyArguments::from_arg_matches(&matches)?;
        let task: Task = match matches.subcommand() {
            None => Box::new(move |settings| before.run(settings)),
            Some((survey::NAME, own)) => {
                let after = SurveyArguments::from_arg_matches(own)?;
                Box::new(move |settings| before.joined(after)?.run(settings))
            }
            Some(_) if before != SurveyArguments::default() => Box::new(|_| {
                let what = "--quick, --budget, --seed and --cpus are options of the survey, not of this command";
                Err(Failure::usage(what).next("See `corewise --help`."))
            }),
            Some((name, own)) => {
                let found = rooms().find(|room| (room.definition)().get_name() == name);
                found.map_or_else(
                    || Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand)),
                    |room| (room.task)(own),
                )?
            }
        };
        Ok(Self { common, task })
    }
}

/// Takes a command line apart that begins with `run`, for nothing but which the definition of `run` is needed: that of all
/// commands takes longer to build than everything else that `run` does. Nothing where it begins otherwise.
fn beginning_with_run(words: &[OsString]) -> Option<Result<Typed, clap::Error>> {
    let words = words.get(1..)?;
    (words.first()? == run::NAME).then(|| {
        let (run, common) = alone::<RunArguments>(words)?;
        Ok(Typed { common, task: Box::new(|settings| run.run(settings)) })
    })
}

/// Says what is wrong with the command line, or the help that was asked for, and ends the process.
fn end(message: &clap::Error) -> ! {
    // Where a mistake is repeated that could steer the terminal, clap's colours are given up.
    let steers = |word: OsString| word.to_str().is_none_or(|word| printable_lines(word) != word);
    let ours = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("COREWISE_"));
    let mut typed = std::env::args_os().chain(ours.map(|(_, value)| value));
    if message.use_stderr() && typed.any(steers) {
        say(&message.render().to_string().trim_end());
        std::process::exit(message.exit_code());
    }
    match written(message.print()) {
        Err(failure) if !message.use_stderr() => {
            say(&failure);
            std::process::exit(failure.exit as i32)
        }
        _ => std::process::exit(message.exit_code()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_definition_holds_together() {
        program().debug_assert();
    }

    #[test]
    fn help_lists_every_command_once_in_its_group() {
        let help = program().render_help().to_string();
        for name in rooms().map(|room| (room.definition)()).filter(|command| !command.is_hide_set()) {
            let line = format!("\n  {:<9} ", name.get_name());
            assert_eq!(help.matches(&line).count(), 1, "{line} in\n{help}");
        }
        assert!(help.contains("\nRecords\n  history"), "{help}");
        assert!(!help.contains("schema"), "{help}");
    }

    #[test]
    fn survey_options_stand_on_either_side_of_the_word() {
        for line in ["corewise --quick", "corewise survey --quick", "corewise --quick survey", "corewise history --all"]
        {
            assert!(Typed::parse(&words(line)).is_ok(), "{line}");
        }
        let both = SurveyArguments { quick: true, ..SurveyArguments::default() };
        assert_eq!(both.clone().joined(SurveyArguments::default()).unwrap(), both);
        let budget = SurveyArguments { budget: Some(std::time::Duration::from_secs(9)), ..SurveyArguments::default() };
        assert_eq!(both.joined(budget).unwrap_err().exit, Exit::Usage);
    }

    /// What both definitions make of a line: that it can be run, or what is printed instead.
    fn both(line: &str) -> [String; 2] {
        let words = words(line);
        let short = beginning_with_run(&words).expect("the line begins with run");
        [short, Typed::parse(&words)].map(|parsed| match parsed {
            Ok(typed) => format!("{:?}", typed.common),
            Err(error) => error.render().to_string(),
        })
    }

    #[test]
    fn run_means_the_same_by_its_own_definition_and_among_the_others() {
        for line in [
            "corewise run --on 0 -- ls -l",
            "corewise run --on 0 --memory bind:0 --enforce exact -v --no-store ls --json",
            "corewise run --on 0 --one-per-thread --cgroup --color never ls",
            "corewise run --on 0 --one-per-thread --roles a=b:0 ls",
            "corewise run --on 0",
            "corewise run ls",
            "corewise run --onn 0 ls",
            "corewise run --on 0 --enforce hard ls",
            "corewise run --on 0 --memory far ls",
            "corewise run --width 5 --on 0 ls",
            "corewise run --help",
            "corewise run -h",
        ] {
            let [short, long] = both(line);
            assert_eq!(short, long, "{line}");
        }
        assert!(beginning_with_run(&words("corewise runs")).is_none());
        assert!(beginning_with_run(&words("corewise")).is_none());
    }
}
