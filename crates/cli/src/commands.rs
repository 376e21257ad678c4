//! The list of commands, and the parsed command line.

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

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use clap::{ArgMatches, Args as _, CommandFactory as _, FromArgMatches as _};
use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::Survey;
use corewise_model::conducted::Conducted;
use corewise_model::links::LinkMap;
use corewise_model::memory::MemoryMap;
use corewise_model::survey::Scope;
use corewise_model::survey::conclude::Conclusions;
use schemars::Schema;

use crate::app::arguments::CommonArguments;
use crate::app::artifact::{self, Form, Kind, Printed, kind};
use crate::app::failure::{Exit, Failure};
use crate::app::output::{say, written};
use crate::app::run::{Document, HELP_WIDTH, Run, alone};
use crate::app::settings::Settings;
use crate::app::tip;
use crate::draw::printable::printable_lines;
use crate::draw::story::Story;
use crate::draw::suggestion;
use crate::draw::suggestion::CarriedOptions;
use crate::draw::survey::Kept;
use crate::draw::text::{Line, Screen};
use crate::draw::wrap::wrap;
use place::arguments::PlaceArguments;
use run::arguments::RunArguments;
use survey::arguments::SurveyArguments;

/// All commands, in the groups and the order of `--help`.
const COMMANDS: [(&str, &[Room]); 4] = [
    (
        "Survey: what this machine is like",
        &[
            room::<SurveyArguments>().with_history(),
            room::<topology::TopologyArguments>(),
            room::<tail::arguments::TailArguments>().with_history(),
            room::<links::arguments::LinksArguments>().with_history(),
            room::<memory::arguments::MemoryArguments>().with_history(),
            room::<worth::WorthArguments>().with_history(),
            room::<watch::arguments::WatchArguments>().with_history(),
            room::<doctor::DoctorArguments>().with_history().with_journals(),
        ],
    ),
    (
        "Try: which placement wins, or that none does",
        &[
            room::<r#try::arguments::TryArguments>().with_history().with_journals(),
            room::<PlaceArguments>().with_history(),
            #[cfg(feature = "workloads")]
            room::<workload::arguments::WorkloadArguments>(),
            room::<article::arguments::ArticleArguments>().with_history(),
        ],
    ),
    (
        "Keep: run there, and give everything back",
        &[
            room::<RunArguments>().with_history().with_journals(),
            room::<keep::arguments::KeepArguments>().with_history().with_journals(),
            room::<irq::arguments::IrqArguments>().with_journals(),
            room::<undo::UndoArguments>().with_journals(),
        ],
    ),
    (
        "Records",
        &[
            room::<history::arguments::HistoryArguments>().with_history(),
            room::<report::arguments::ReportArguments>().with_history(),
            room::<record::RecordArguments>(),
            room::<completions::CompletionsArguments>(),
            room::<schema::SchemaArguments>(),
        ],
    ),
];

const KINDS: [Kind; 4] = [kind::<Survey>(), kind::<Conducted>(), kind::<LinkMap>(), kind::<MemoryMap>()];

/// Prints a survey as the command that made it does.
impl Printed for Survey {
    fn print(&self, kept: &Kept, form: &Form, settings: &Settings) -> Result<(), Failure> {
        form.only(&[], "a survey")?;
        artifact::print(self, kept, settings)
    }

    const TITLE: &'static str = "Survey";

    fn first() -> SuggestedCommand {
        suggested_command::first_survey()
    }

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

type Task = Box<dyn FnOnce(&Settings) -> Result<Exit, Failure>>;

/// Options of a command that its suggestions repeat, and its task.
type ParsedTask = (Vec<String>, Task);

struct Room {
    definition: fn() -> clap::Command,
    parse: fn(&ArgMatches) -> Result<ParsedTask, clap::Error>,
    documents: &'static [Document],
    has_history: bool,
    has_journals: bool,
}

const fn room<C: Run>() -> Room {
    let (has_history, has_journals) = (false, false);
    Room { definition: C::command, parse: parse_task::<C>, documents: C::DOCUMENTS, has_history, has_journals }
}

impl Room {
    /// Marks a command that uses the history: suggestions of it repeat `--store`.
    const fn with_history(mut self) -> Self {
        self.has_history = true;
        self
    }

    /// Marks a command that uses the journals of changes: suggestions of it repeat `--journal`.
    const fn with_journals(mut self) -> Self {
        self.has_journals = true;
        self
    }
}

fn parse_task<C: Run>(matches: &ArgMatches) -> Result<ParsedTask, clap::Error> {
    let typed = C::from_arg_matches(matches)?;
    Ok((typed.carried_options(), Box::new(move |settings| typed.run(settings))))
}

fn rooms() -> impl Iterator<Item = &'static Room> {
    COMMANDS.iter().flat_map(|(_, rooms)| rooms.iter())
}

/// Returns what suggestions of each command repeat of what was typed: the options of `own`, the command that runs, and the places that a
/// command uses.
fn carried_options(
    store: Option<&Path>,
    journals: Option<&Path>,
    own: Option<(String, Vec<String>)>,
) -> CarriedOptions {
    let mut by_command: BTreeMap<String, Vec<String>> = own.into_iter().collect();
    // `run` starts at once: the definitions of all commands are not built for nothing.
    if store.is_some() || journals.is_some() {
        for room in rooms() {
            let words = by_command.entry((room.definition)().get_name().to_owned()).or_default();
            let places = [("--store", store, room.has_history), ("--journal", journals, room.has_journals)];
            for (option, path, _) in places.into_iter().filter(|(.., is_used)| *is_used) {
                words.extend(path.into_iter().flat_map(|path| [option.into(), path.to_string_lossy().into_owned()]));
            }
        }
    }
    CarriedOptions { by_command }
}

/// A schema, its name ("links" for "corewise/links/1"), and the command lines that print its document.
struct NamedSchema {
    name: String,
    schema: Schema,
    examples: &'static [&'static str],
}

fn schemas() -> impl Iterator<Item = NamedSchema> {
    rooms().flat_map(|room| room.documents).map(|document| {
        let schema = (document.schema)();
        let title = schema.get("title").and_then(|title| title.as_str()).unwrap_or_default();
        let name = title.split('/').nth(1).unwrap_or(title).to_owned();
        NamedSchema { name, schema, examples: document.examples }
    })
}

const ABOUT: &str = "On which CPUs should this program run, and does it matter at all?";
const LONG_ABOUT: &str = "On which CPUs should this program run, and does it matter at all?

Without a command, corewise surveys this machine: what its CPUs are, how they differ, and what that means.";

const EXAMPLES: &str = "Examples:
  corewise                       survey this machine (30 s up to 32 cpus)
  corewise --quick               the same in 5 s, with wider uncertainty
  corewise topology              packages, nodes, caches, cores and cpus
  corewise place 'all - core:0'  the cpus that this selects, in every tool's notation
  corewise try -- ./app          which placement of ./app wins, if any
  corewise run --on llc:0 -- ./app   run ./app on the cpus of the first last-level cache
  corewise tail --explain        how long each cpu stalls, and what causes it
  corewise links                 the cost of talking between any two cpus, and groups of cpus
  corewise memory                latency and bandwidth of memory, for each cpu
  corewise history compare 3 7   the changes between two surveys
  corewise doctor                gaps: what cannot be measured here, and why

Exit status:
  0 done   1 try: not decided   2 wrong usage   3 not permitted, or not available here
  4 internal error   130 interrupted, partial results were printed";

/// Returns the definition of the whole command line.
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

/// Returns clap's help template with a heading for each group. clap itself lists all commands under one heading.
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

/// A parsed command line: the task, and the options that every command has.
pub struct Typed {
    /// The options that every command has.
    pub common: CommonArguments,
    own: Option<(String, Vec<String>)>,
    task: Task,
}

impl Typed {
    /// Parses the command line of this process. On a mistake, or if help is requested, prints the message and ends the process.
    pub fn of_this_process() -> Self {
        let words: Vec<OsString> = std::env::args_os().collect();
        let parsed = beginning_with_run(&words).unwrap_or_else(|| Self::parse(&words));
        parsed.unwrap_or_else(|error| {
            let place = CommonArguments::augment_args(PlaceArguments::command());
            end(&tip::with_whole_line(error, &words, &place))
        })
    }

    /// Runs the parsed command.
    ///
    /// # Errors
    /// Any failure of the command.
    pub fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        let CommonArguments { store, journal, .. } = self.common;
        suggestion::carry(carried_options(store.as_deref(), journal.as_deref(), self.own));
        (self.task)(settings)
    }

    /// Parses a command line. Options of the survey may stand before or after the word `survey`, and before no other command.
    fn parse(words: &[OsString]) -> Result<Self, clap::Error> {
        let matches = program().try_get_matches_from(words)?;
        let common = CommonArguments::from_arg_matches(&matches)?;
        let before = SurveyArguments::from_arg_matches(&matches)?;
        let mut own = None;
        let task: Task = match matches.subcommand() {
            None => Box::new(move |settings| before.run(settings)),
            Some((survey::NAME, own)) => {
                let after = SurveyArguments::from_arg_matches(own)?;
                Box::new(move |settings| before.joined(after)?.run(settings))
            }
            Some(_) if before != SurveyArguments::default() => Box::new(|_| {
                let what = "--quick, --budget, --seed and --cpus are options of the survey, not of this command";
                Err(Failure::usage(what).next(format!("See {}.", suggestion::mention(&suggested_command::help()))))
            }),
            Some((name, typed)) => {
                let found = rooms().find(|room| (room.definition)().get_name() == name);
                let room = found.ok_or_else(|| clap::Error::new(clap::error::ErrorKind::InvalidSubcommand))?;
                let (options, task) = (room.parse)(typed)?;
                own = Some((name.to_owned(), options));
                task
            }
        };
        Ok(Self { common, own, task })
    }
}

/// Parses a command line that begins with `run`; returns `None` for any other.
///
/// This needs only the definition of `run`. To build the definitions of all commands takes longer than the rest of `run`.
fn beginning_with_run(words: &[OsString]) -> Option<Result<Typed, clap::Error>> {
    let words = words.get(1..)?;
    (words.first()? == run::NAME).then(|| {
        let (run, common) = alone::<RunArguments>(words)?;
        Ok(Typed { common, own: None, task: Box::new(|settings| run.run(settings)) })
    })
}

/// Prints the help or the error of the command line, and ends the process.
fn end(message: &clap::Error) -> ! {
    // Without clap's colours if the message repeats a word that contains control characters.
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

    /// Parses a line with the program's definition; placeholders of numbers stand for one.
    fn parse_back<T: AsRef<str>>(words: &[T]) -> Result<(), String> {
        let number = |word: &T| match word.as_ref() {
            "N" | "PID" => "1".to_owned(),
            other => other.to_owned(),
        };
        let parsed = program().try_get_matches_from(words.iter().map(number));
        match parsed {
            Err(error) if error.use_stderr() => Err(error.to_string()),
            _ => Ok(()),
        }
    }

    #[test]
    fn every_suggested_command_can_be_typed() {
        for (name, command) in suggested_command::examples() {
            if command.command().is_some() {
                parse_back(command.words()).unwrap_or_else(|error| panic!("{name}: {}\n{error}", command.line()));
            }
        }
    }

    #[test]
    fn what_suggestions_repeat_can_be_typed_with_them() {
        for (name, command) in suggested_command::examples() {
            let own = Some(("keep".to_owned(), ["--user", "--rules", "my.toml"].map(str::to_owned).into()));
            let carried = carried_options(Some(Path::new("a store.db")), Some(Path::new("journals")), own);
            if command.command().is_some() {
                let repeated = suggestion::repeating(&command, &carried);
                parse_back(repeated.words()).unwrap_or_else(|error| panic!("{name}: {}\n{error}", repeated.line()));
            }
        }
    }

    #[test]
    fn a_suggestion_repeats_the_places_that_its_command_uses() {
        let carried = carried_options(Some(Path::new("s.db")), Some(Path::new("j")), None);
        let line = |command: SuggestedCommand| suggestion::repeating(&command, &carried).line();
        assert_eq!(line(suggested_command::first_survey()), "corewise --store s.db");
        assert_eq!(line(suggested_command::undo()), "corewise undo --journal j");
        assert_eq!(line(suggested_command::topology()), "corewise topology");
        assert_eq!(
            line(suggested_command::run_on("llc:0")),
            "corewise run --on llc:0 --store s.db --journal j -- ./app"
        );
    }

    /// The examples of a command's help, and of the commands below it: lines of two spaces, up to what explains them.
    fn examples_of_help(command: &clap::Command, found: &mut Vec<String>) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let help = help.replace("\\\n", " ");
        let lines = help.lines().filter(|line| line.starts_with("  corewise"));
        found.extend(lines.map(|line| line.trim().split("  ").next().unwrap_or_default().to_owned()));
        command.get_subcommands().for_each(|inner| examples_of_help(inner, found));
    }

    /// Calls `look` with each command whose help is printed, with the options that every command has.
    fn each_command(definition: &clap::Command, look: &mut impl FnMut(&clap::Command)) {
        look(definition);
        definition.get_subcommands().for_each(|inner| each_command(inner, look));
    }

    #[test]
    fn help_of_many_options_is_in_groups() {
        let mut program = program();
        program.build();
        each_command(&program, &mut |command| {
            let visible = command.get_opts().filter(|option| !option.is_hide_set());
            let options: Vec<&clap::Arg> =
                visible.filter(|option| !["help", "version"].contains(&option.get_id().as_str())).collect();
            let group = |heading| options.iter().filter(|option| option.get_help_heading() == heading).count();
            if options.len() > 15 && command.get_name() != "corewise" {
                let name = command.get_bin_name().unwrap_or_default();
                assert_eq!(group(None), 0, "{name}: options without a heading");
                let largest = options.iter().map(|option| group(option.get_help_heading())).max();
                assert!(largest <= Some(15), "{name}: {largest:?} under one heading");
            }
        });
    }

    #[test]
    fn one_word_stands_for_one_thing() {
        let mut program = program();
        program.build();
        each_command(&program, &mut |command| {
            let name = command.get_bin_name().unwrap_or_default().to_owned();
            let option = |long: &str| command.get_opts().find(|option| option.get_long() == Some(long));
            assert!(option("for").is_none(), "{name}: how long is --budget");
            for option in ["anyway", "trust"] {
                let found = command.get_opts().find(|found| found.get_long() == Some(option));
                assert!(found.is_none_or(|found| !found.is_hide_set()), "{name}: messages recommend --{option}");
            }
            for long in ["format", "as"] {
                let values = option(long).map(clap::Arg::get_possible_values).unwrap_or_default();
                assert!(values.iter().all(|value| value.get_name() != "json"), "{name}: JSON is --json");
            }
        });
    }

    #[test]
    fn every_example_in_help_can_be_typed() {
        let mut examples = Vec::new();
        examples_of_help(&program(), &mut examples);
        assert!(examples.len() > 60, "{}", examples.len());
        for example in examples {
            let line = example.split(" > ").next().and_then(|line| line.split(" >> ").next()).unwrap_or_default();
            let words = shell_words(line);
            parse_back(&words).unwrap_or_else(|error| panic!("{example}\n{error}"));
        }
    }

    /// The words of a line, quotation marks taken away.
    fn shell_words(line: &str) -> Vec<String> {
        let (mut words, mut is_quoted) = (vec![String::new()], false);
        for character in line.chars() {
            match character {
                '\'' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                other => words.last_mut().unwrap().push(other),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

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
