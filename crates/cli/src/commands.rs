//! The list of commands, and the parsed command line.

#[cfg(feature = "measuring")]
pub mod article;
#[cfg(feature = "measuring")]
pub mod completions;
#[cfg(feature = "measuring")]
pub mod doctor;
#[cfg(feature = "measuring")]
pub mod fleet;
#[cfg(feature = "measuring")]
pub mod history;
#[cfg(feature = "measuring")]
pub mod irq;
pub mod keep;
#[cfg(feature = "measuring")]
pub mod links;
#[cfg(feature = "measuring")]
pub mod man;
#[cfg(feature = "measuring")]
pub mod memory;
#[cfg(feature = "measuring")]
pub mod place;
#[cfg(feature = "measuring")]
pub mod record;
#[cfg(feature = "measuring")]
pub mod report;
#[cfg(feature = "measuring")]
pub mod run;
#[cfg(feature = "measuring")]
pub mod schema;
#[cfg(feature = "measuring")]
pub mod survey;
#[cfg(feature = "measuring")]
pub mod tail;
#[cfg(feature = "measuring")]
pub mod talk;
#[cfg(feature = "measuring")]
pub mod topology;
#[cfg(feature = "measuring")]
pub mod r#try;
pub mod undo;
#[cfg(feature = "measuring")]
pub mod watch;
#[cfg(feature = "workloads")]
pub mod workload;
#[cfg(feature = "measuring")]
pub mod worth;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
#[cfg(feature = "measuring")]
use std::sync::LazyLock;

#[cfg(feature = "measuring")]
use clap::CommandFactory as _;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args as _, FromArgMatches as _};
#[cfg(feature = "measuring")]
use corewise_machine::SuggestedCommand;
#[cfg(feature = "measuring")]
use corewise_machine::suggested_command;
#[cfg(feature = "measuring")]
use corewise_model::Survey;
#[cfg(feature = "measuring")]
use corewise_model::experiment_record::ExperimentRecord;
#[cfg(feature = "measuring")]
use corewise_model::fleet::Fleet;
#[cfg(feature = "measuring")]
use corewise_model::fleet::experiment::FleetExperiment;
#[cfg(feature = "measuring")]
use corewise_model::links::LinkMap;
#[cfg(feature = "measuring")]
use corewise_model::memory::MemoryMap;
#[cfg(feature = "measuring")]
use corewise_model::survey::SurveyScope;
#[cfg(feature = "measuring")]
use corewise_model::survey::conclude::SurveyConclusions;
#[cfg(feature = "measuring")]
use corewise_model::talk::TalkGraph;

use crate::app::about::{ABOUT, EXAMPLES, LONG_ABOUT};
use crate::app::arguments::CommonArguments;
#[cfg(feature = "measuring")]
use crate::app::artifact::{self, ArtifactForm, ArtifactKind, PrintedArtifact, artifact_kind};
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::{accept_closed_pipe, print_message};
use crate::app::run::{CommandDocument, HELP_WIDTH, RunnableCommand};
#[cfg(feature = "measuring")]
use crate::app::settings::ProgramEnvironment;
use crate::app::settings::ProgramSettings;
#[cfg(feature = "measuring")]
use crate::app::tip;
use crate::draw::printable::printable_lines;
#[cfg(feature = "measuring")]
use crate::draw::story::Story;
use crate::draw::suggestion;
use crate::draw::suggestion::CarriedOptions;
#[cfg(feature = "measuring")]
use crate::draw::survey::StorageStatus;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::wrap_line;
#[cfg(feature = "measuring")]
use place::arguments::PlaceArguments;
#[cfg(feature = "measuring")]
use run::arguments::RunArguments;
#[cfg(feature = "measuring")]
use survey::arguments::SurveyArguments;

/// All commands, in the groups and the order of `--help`.
const COMMANDS: [(&str, &[ListedCommand]); 4] = [
    (
        "Survey: what this machine is like",
        &[
            #[cfg(feature = "measuring")]
            list_command::<SurveyArguments>("survey").with_history(),
            #[cfg(feature = "measuring")]
            list_command::<topology::TopologyArguments>("topology"),
            #[cfg(feature = "measuring")]
            list_command::<tail::arguments::TailArguments>("tail").with_history(),
            #[cfg(feature = "measuring")]
            list_command::<links::arguments::LinksArguments>("links").with_history(),
            #[cfg(feature = "measuring")]
            list_command::<memory::arguments::MemoryArguments>("memory").with_history(),
            #[cfg(feature = "measuring")]
            list_command::<talk::arguments::TalkArguments>("talk").with_history(),
            #[cfg(feature = "measuring")]
            list_command::<fleet::arguments::FleetArguments>("fleet").with_history(),
            #[cfg(feature = "measuring")]
            list_command::<worth::WorthArguments>("worth").with_history(),
            #[cfg(feature = "measuring")]
            list_command::<watch::arguments::WatchArguments>("watch").with_history(),
            #[cfg(feature = "measuring")]
            list_command::<doctor::DoctorArguments>("doctor").with_history().with_journals(),
        ],
    ),
    (
        "Try: which placement wins, or that none does",
        &[
            #[cfg(feature = "measuring")]
            list_command::<r#try::arguments::TryArguments>("try").with_history().with_journals(),
            #[cfg(feature = "measuring")]
            list_command::<PlaceArguments>("place").with_history(),
            #[cfg(feature = "workloads")]
            list_command::<workload::arguments::WorkloadArguments>("workload"),
            #[cfg(feature = "measuring")]
            list_command::<article::arguments::ArticleArguments>("article").with_history(),
        ],
    ),
    (
        "Keep: run there, and give everything back",
        &[
            #[cfg(feature = "measuring")]
            list_command::<RunArguments>("run").with_history().with_journals(),
            list_command::<keep::arguments::KeepArguments>("keep").with_history().with_journals(),
            #[cfg(feature = "measuring")]
            list_command::<irq::arguments::IrqArguments>("irq").with_journals(),
            list_command::<undo::UndoArguments>("undo").with_journals(),
        ],
    ),
    (
        "Records",
        &[
            #[cfg(feature = "measuring")]
            list_command::<history::arguments::HistoryArguments>("history").with_history(),
            #[cfg(feature = "measuring")]
            list_command::<report::arguments::ReportArguments>("report").with_history(),
            #[cfg(feature = "measuring")]
            list_command::<record::RecordArguments>("record").with_history(),
            #[cfg(feature = "measuring")]
            list_command::<completions::CompletionsArguments>("completions"),
            #[cfg(feature = "measuring")]
            list_command::<man::ManArguments>("man"),
            #[cfg(feature = "measuring")]
            list_command::<schema::SchemaArguments>("schema"),
        ],
    ),
];

type CommandTask = Box<dyn FnOnce(&ProgramSettings) -> Result<CommandExit, CommandFailure>>;

/// Options of a command that its suggestions repeat, and its task.
type ParsedTask = (Vec<String>, CommandTask);

struct ListedCommand {
    name: &'static str,
    options: fn() -> clap::Command,
    parse: fn(&ArgMatches) -> Result<ParsedTask, clap::Error>,
    documents: &'static [CommandDocument],
    has_history: bool,
    has_journals: bool,
}

const fn list_command<C: RunnableCommand>(name: &'static str) -> ListedCommand {
    let (options, parse, documents) = (C::command, parse_task::<C>, C::DOCUMENTS);
    ListedCommand { name, options, parse, documents, has_history: false, has_journals: false }
}

impl ListedCommand {
    /// Marks a command that uses the history: suggestions of it repeat `--store`.
    const fn with_history(mut self) -> Self {
        self.has_history = true;
        self
    }

    /// Returns its definition, without the options that every command has.
    fn definition(&self) -> clap::Command {
        (self.options)().name(self.name)
    }

    /// Marks a command that uses the journals of changes: suggestions of it repeat `--journal`.
    const fn with_journals(mut self) -> Self {
        self.has_journals = true;
        self
    }
}

fn parse_task<C: RunnableCommand>(matches: &ArgMatches) -> Result<ParsedTask, clap::Error> {
    let typed = C::from_arg_matches(matches)?;
    Ok((typed.carried_options(), Box::new(move |settings| typed.run(settings))))
}

fn find_command(name: impl AsRef<OsStr>) -> Option<&'static ListedCommand> {
    all_commands().find(|room| room.name == name.as_ref())
}

fn all_commands() -> impl Iterator<Item = &'static ListedCommand> {
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
    for room in all_commands() {
        let words = by_command.entry(room.name.to_owned()).or_default();
        let places = [("--store", store, room.has_history), ("--journal", journals, room.has_journals)];
        for (option, path, _) in places.into_iter().filter(|(.., is_used)| *is_used) {
            words.extend(path.into_iter().flat_map(|path| [option.into(), path.to_string_lossy().into_owned()]));
        }
    }
    CarriedOptions { by_command }
}

/// Iterates over the JSON documents of all commands.
fn all_documents() -> impl Iterator<Item = &'static CommandDocument> {
    all_commands().flat_map(|room| room.documents)
}

/// Returns the definition of the whole command line. To build it takes longer than most commands.
fn build_definition() -> clap::Command {
    build_root().help_template(help_template()).subcommands(all_commands().map(ListedCommand::definition))
}

/// Returns the definition of a line without the name of a command, which surveys.
fn build_root() -> clap::Command {
    let program = clap::Command::new("corewise");
    #[cfg(feature = "measuring")]
    let program = SurveyArguments::augment_args(program);
    #[cfg(not(feature = "measuring"))]
    let program = program.subcommand_required(true);
    CommonArguments::augment_args(program)
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .long_about(LONG_ABOUT)
        .after_help(EXAMPLES)
        .max_term_width(HELP_WIDTH)
}

/// Returns clap's help template with a heading for each group. clap itself lists all commands under one heading.
fn help_template() -> String {
    // As clap finds the width of the rest.
    let typed = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|width| *width > 0);
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let width = terminal.or_else(typed).unwrap_or(HELP_WIDTH).min(HELP_WIDTH);
    let mut screen = TextScreen::new();
    for (heading, rooms) in COMMANDS.iter().filter(|(_, rooms)| !rooms.is_empty()) {
        let mut lines = vec![StyledLine::new().strong(*heading)];
        for definition in rooms.iter().map(ListedCommand::definition).filter(|command| !command.is_hide_set()) {
            let about = definition.get_about().map(ToString::to_string).unwrap_or_default();
            let line = StyledLine::new()
                .plain("  ")
                .strong(format!("{:<12}", definition.get_name()))
                .plain(format!(" {about}"));
            lines.extend(wrap_line(&line, width, 15));
        }
        screen.add_block(lines);
    }
    screen.add_block(vec![StyledLine::new().strong("Options of the survey, and of every command")]);
    let groups = screen.to_styled();
    format!("{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{{options}}{{after-help}}")
}

/// A parsed command line: the task, and the options that every command has.
pub struct TypedCommand {
    /// The options that every command has.
    pub common: CommonArguments,
    own: Option<(String, Vec<String>)>,
    task: CommandTask,
}

impl TypedCommand {
    /// Parses the command line of this process. On a mistake, or if help is requested, prints the message and ends the process.
    pub fn from_process() -> Self {
        let words: Vec<OsString> = std::env::args_os().collect();
        let parsed = Self::parse(&words);
        #[cfg(feature = "measuring")]
        let parsed = parsed.map_err(|error| {
            let place = CommonArguments::augment_args(PlaceArguments::command()).name("place");
            let below = words.iter().skip(1).find_map(find_command);
            let definition = below.map_or_else(build_root, |room| CommonArguments::augment_args(room.definition()));
            let error = tip::with_other_name(error, below.map(|room| room.name));
            tip::with_whole_line(tip::with_own_option(error, &words, &definition), &words, &place)
        });
        parsed.unwrap_or_else(|error| exit_with(&error))
    }

    /// Runs the parsed command.
    ///
    /// # Errors
    /// Any failure of the command.
    pub fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let CommonArguments { store, journal, .. } = self.common;
        suggestion::carry_options(carried_options(store.as_deref(), journal.as_deref(), self.own));
        (self.task)(settings)
    }

    /// Parses a command line, by the definition of its command alone if it begins with that, else as a survey. All definitions together are
    /// for the rest: help, mistakes, and options before a command.
    fn parse(words: &[OsString]) -> Result<Self, clap::Error> {
        let alone = match words.get(1).and_then(find_command) {
            Some(room) => Self::parse_alone(room, &words[1..]),
            None => build_root().try_get_matches_from(words).and_then(|matches| Self::of_line(&matches)),
        };
        match alone {
            Err(error) if error.kind() != ErrorKind::DisplayVersion => {
                Self::of_line(&build_definition().try_get_matches_from(words)?)
            }
            parsed => parsed,
        }
    }

    fn parse_alone(room: &ListedCommand, words: &[OsString]) -> Result<Self, clap::Error> {
        let matches = CommonArguments::augment_args(room.definition()).try_get_matches_from(words)?;
        Self::of_command(room, CommonArguments::from_arg_matches(&matches)?, &matches)
    }

    fn of_line(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let common = CommonArguments::from_arg_matches(matches)?;
        #[cfg(feature = "measuring")]
        if let Some(task) = parse_survey(matches)? {
            return Ok(Self { common, own: None, task });
        }
        let missing = || clap::Error::new(ErrorKind::InvalidSubcommand);
        let (name, typed) = matches.subcommand().ok_or_else(missing)?;
        Self::of_command(find_command(name).ok_or_else(missing)?, common, typed)
    }

    fn of_command(room: &ListedCommand, common: CommonArguments, matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (options, task) = (room.parse)(matches)?;
        Ok(Self { common, own: Some((room.name.to_owned(), options)), task })
    }
}

/// Returns the task if the line is one of the survey. Its options may stand before or after the word `survey`, and before no other command.
#[cfg(feature = "measuring")]
fn parse_survey(matches: &ArgMatches) -> Result<Option<CommandTask>, clap::Error> {
    let before = SurveyArguments::from_arg_matches(matches)?;
    Ok(match matches.subcommand() {
        None => Some(Box::new(move |settings| before.run(settings))),
        Some((survey::NAME, own)) => {
            let after = SurveyArguments::from_arg_matches(own)?;
            Some(Box::new(move |settings| before.join_with(after)?.run(settings)))
        }
        Some(_) if before != SurveyArguments::default() => Some(Box::new(|_| {
            let what = "--quick, --budget, --seed and --cpus are options of the survey, not of this command";
            Err(CommandFailure::usage_error(what)
                .with_hint(format!("See {}.", suggestion::format_mention(&suggested_command::help()))))
        })),
        Some(_) => None,
    })
}

/// Prints the help or the error of the command line, and ends the process.
fn exit_with(message: &clap::Error) -> ! {
    // Without clap's colours if the message repeats a word that contains control characters.
    let steers = |word: OsString| word.to_str().is_none_or(|word| printable_lines(word) != word);
    let ours = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("COREWISE_"));
    let mut typed = std::env::args_os().chain(ours.map(|(_, value)| value));
    if message.use_stderr() && typed.any(steers) {
        print_message(&message.render().to_string().trim_end());
        std::process::exit(message.exit_code());
    }
    match accept_closed_pipe(message.print()) {
        Err(failure) if !message.use_stderr() => {
            print_message(&failure);
            std::process::exit(failure.exit as i32)
        }
        _ => std::process::exit(message.exit_code()),
    }
}

/// All kinds of artifacts.
#[cfg(feature = "measuring")]
pub const KINDS: [ArtifactKind; 7] = [
    artifact_kind::<Survey>(),
    artifact_kind::<ExperimentRecord>(),
    artifact_kind::<FleetExperiment>(),
    artifact_kind::<LinkMap>(),
    artifact_kind::<MemoryMap>(),
    artifact_kind::<TalkGraph>(),
    artifact_kind::<Fleet>(),
];

#[cfg(feature = "measuring")]
/// Prints a result as [`crate::rehearse_result`] says, with the settings of a command without options.
pub fn rehearse_result(schema: &str, json: &[u8]) -> Result<(), String> {
    static SETTINGS: LazyLock<ProgramSettings> = LazyLock::new(|| {
        let typed = TypedCommand::parse(&["corewise", "--no-store"].map(OsString::from)).expect("these options exist");
        ProgramSettings::new(&typed.common, &ProgramEnvironment::from_process())
    });
    history::rehearse_result(schema, json, &SETTINGS)
}

#[cfg(feature = "measuring")]
/// Prints a survey as the command that made it does.
impl PrintedArtifact for Survey {
    fn print_in_form(
        &self,
        kept: &StorageStatus,
        form: &ArtifactForm,
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure> {
        form.refuse_options(&[], "a survey")?;
        artifact::print_artifact(self, kept, settings)
    }

    const TITLE: &'static str = "Survey";

    fn first_command() -> SuggestedCommand {
        suggested_command::first_survey()
    }

    fn compose_story(
        &self,
        conclusions: &SurveyConclusions,
        kept: &StorageStatus,
        settings: &ProgramSettings,
    ) -> Story {
        match self.provenance.scope {
            SurveyScope::Machine => {
                survey::compose_story(self, conclusions, kept, survey::draw_memory_line(self, settings))
            }
            SurveyScope::Tail => tail::compose_story(self, conclusions, kept),
        }
    }

    fn compose_changes(numbers: [i64; 2], artifacts: [&Self; 2]) -> Option<Story> {
        survey::comparison::compose_changes(numbers, artifacts)
    }

    fn print_comparison(
        numbers: [i64; 2],
        artifacts: [&Self; 2],
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure> {
        survey::comparison::print_comparison(numbers, artifacts, settings)
    }
}

/// Refuses the words of a `try` that runs elsewhere as that one would: "try", its options, and its command.
///
/// # Errors
/// The failure of wrong usage.
#[cfg(feature = "measuring")]
pub fn check_try_words(words: impl Iterator<Item = String>) -> Result<(), CommandFailure> {
    let typed = parse_try(words).map_err(|error| {
        let said = error.to_string();
        let first = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
        CommandFailure::usage_error(first.to_owned())
    })?;
    r#try::task::TryTask::new(typed).map(drop)
}

#[cfg(feature = "measuring")]
fn parse_try(words: impl Iterator<Item = String>) -> Result<r#try::arguments::TryArguments, clap::Error> {
    let definition = CommonArguments::augment_args(r#try::arguments::TryArguments::command());
    r#try::arguments::TryArguments::from_arg_matches(&definition.try_get_matches_from(words)?)
}

#[cfg(test)]
mod tests;
