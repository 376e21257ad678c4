//! `corewise talk`: which threads of a program wake each other, and where they belong.

pub mod arguments;
pub mod document;
mod dot;
mod screen;

use std::borrow::Cow;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use corewise_keep::ProcessScope;
use corewise_lab::experiment::talk::{conclude_talk, watch_command, within_reach};
use corewise_lab::session::unix_ms;
use corewise_lab::talk::{TalkSubject, watch_talk};
use corewise_machine::{Machine, SuggestedCommand, suggested_command};
use corewise_model::keep::RuleMatch;
use corewise_model::talk::TalkGraph;
use corewise_model::talk::compare::compare_talk;
use corewise_model::talk::conclude::TalkConclusions;
use corewise_model::talk::import;
use corewise_sys::execution::ExecutionEnd;
use corewise_sys::input::{InputFile, InputKind};
use corewise_sys::process::{ProcessIdentity, effective_user, is_root};

use crate::app::artifact::{ArtifactForm, PrintedArtifact};
use crate::app::document::ArtifactDocument;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::machine::{self, MachineArguments, MachineChoice, this_machine};
use crate::app::numbers::check_numbers;
use crate::app::origin::{mark_story, mark_together};
use crate::app::output::{print_form, print_message, show_story, write_bytes};
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::app::user_store::{exit_after_storing, store_artifact};
use crate::draw::story::Story;
use crate::draw::survey::StorageStatus;
use arguments::TalkArguments;
use document::TalkComparisonDocument;

/// Default duration for running processes.
const USUAL_DURATION: Duration = Duration::from_secs(10);

impl RunnableCommand for TalkArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[
        command_document::<ArtifactDocument<'_, TalkGraph>>("talk", &["talk --plan edges.csv --machine fx-8150"]),
        command_document::<TalkComparisonDocument<'_>>("talk-comparison", &[]),
    ];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        if let Some(file) = &self.plan {
            let machine = match &self.machine {
                Some(path) => read_other_machine(path)?,
                None => within_reach(&this_machine()?),
            };
            let graph = read_graph(file)?;
            let conclusions = conclude_talk(&graph, Some(&machine), settings);
            show_graph(&graph, &conclusions, Some(&machine), &StorageStatus::No, self.dot, settings)?;
            return Ok(CommandExit::Done);
        }
        let (machine, interruption) = (within_reach(&this_machine()?), InterruptionWatch::watch_signals()?);
        let mut graph = self.watch(&interruption, settings)?;
        graph.machine = Some(machine.clone());
        let conclusions = conclude_talk(&graph, Some(&machine), settings);
        let kept = store_artifact(&graph, settings);
        show_graph(&graph, &conclusions, Some(&machine), &kept, self.dot, settings)?;
        let exit = if interruption.was_seen() { CommandExit::Interrupted } else { CommandExit::Done };
        Ok(exit_after_storing(&kept, exit))
    }
}

impl TalkArguments {
    fn watch(&self, interruption: &InterruptionWatch, settings: &ProgramSettings) -> Result<TalkGraph, CommandFailure> {
        let corewise = env!("CARGO_PKG_VERSION");
        if self.command.is_empty() {
            let processes = self.find_processes()?;
            let subject = TalkSubject { processes: &processes, command: &[], corewise };
            let should_stop = || interruption.stop().load(Ordering::SeqCst);
            return watch_talk(subject, self.duration.unwrap_or(USUAL_DURATION), &should_stop)
                .map_err(CommandFailure::unavailable_error);
        }
        let command: Vec<String> = self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        // Standard output is reserved for documents.
        let is_document = settings.json || self.dot;
        let mut receive = |bytes: &[u8]| {
            let _ = if is_document { std::io::stderr().write_all(bytes).ok() } else { write_bytes(bytes).ok() };
        };
        let (graph, executed) = watch_command(&command, self.duration, corewise, interruption.stop(), &mut receive)?;
        match executed.end {
            ExecutionEnd::Exited(0) | ExecutionEnd::TimedOut | ExecutionEnd::Interrupted => {}
            ExecutionEnd::Exited(status) => print_message(&format!("note: the command ended with status {status}")),
            ExecutionEnd::Killed(signal) => print_message(&format!("note: the command was killed by signal {signal}")),
            ExecutionEnd::Stopped | ExecutionEnd::NothingToFollow => {}
        }
        Ok(graph)
    }

    /// Returns the numbers of the running processes.
    fn find_processes(&self) -> Result<Vec<u32>, CommandFailure> {
        check_numbers()?;
        if let Some(gone) = self.pid.iter().find(|number| ProcessIdentity::find_task(**number).is_err()) {
            return Err(CommandFailure::unavailable_error(format!("there is no process {gone}")));
        }
        let units = self.unit.iter().map(|unit| format!("unit={unit}"));
        let texts: Vec<String> = units.chain(self.matches.iter().cloned()).collect();
        if texts.is_empty() {
            return Ok(self.pid.clone());
        }
        let matches = RuleMatch::of_texts(&texts).map_err(CommandFailure::usage_error)?;
        let scope = if is_root() { ProcessScope::System } else { ProcessScope::User(effective_user()) };
        let found: Vec<u32> =
            corewise_keep::matching_processes(scope, &matches).iter().map(|process| process.id).collect();
        if found.is_empty() {
            return Err(CommandFailure::unavailable_error(format!("there is no process with {matches}")));
        }
        Ok(found)
    }
}

fn read_other_machine(path: &Path) -> Result<Machine, CommandFailure> {
    Ok(machine::read_machine(&MachineChoice::new(&MachineArguments { machine: Some(path.to_owned()) })?)?.machine)
}

fn read_graph(path: &Path) -> Result<TalkGraph, CommandFailure> {
    let hint = "It can be JSON of the command talk, lines of WAKER,WAKEE,WAKES, or a matrix with or without names.";
    // The error contains the name of the file.
    let text = InputFile::open(path, InputKind::TalkGraph).and_then(InputFile::read_bytes);
    let text = text.map_err(|error| CommandFailure::unavailable_error(error).with_hint(hint))?;
    let record = (unix_ms(), env!("CARGO_PKG_VERSION"));
    import::read_talk(&String::from_utf8_lossy(&text), &path.display().to_string(), record)
        .map_err(|error| CommandFailure::unavailable_error(format!("{}: {error}", path.display())).with_hint(hint))
}

fn show_graph(
    graph: &TalkGraph,
    conclusions: &TalkConclusions,
    machine: Option<&Machine>,
    kept: &StorageStatus,
    is_dot: bool,
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    if is_dot {
        return print_form(dot::write_dot(conclusions, graph.seconds).trim_end());
    }
    let story = mark_story(screen::compose_story(graph, conclusions, machine, kept), graph);
    let document = || ArtifactDocument::new(Cow::Borrowed(graph), conclusions.clone(), &story, kept.stored_number());
    show_story(settings, document, &story)
}

impl PrintedArtifact for TalkGraph {
    fn print_in_form(
        &self,
        kept: &StorageStatus,
        form: &ArtifactForm,
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure> {
        form.refuse_options(&[], "a talk graph")?;
        let conclusions = conclude_talk(self, self.machine.as_ref(), settings);
        show_graph(self, &conclusions, self.machine.as_ref(), kept, false, settings)
    }

    const TITLE: &'static str = "Talk graph";

    fn first_command() -> SuggestedCommand {
        suggested_command::talk(&["./app".to_owned()])
    }

    fn compose_story(&self, conclusions: &TalkConclusions, kept: &StorageStatus, _: &ProgramSettings) -> Story {
        screen::compose_story(self, conclusions, self.machine.as_ref(), kept)
    }

    fn compose_changes(numbers: [i64; 2], [before, after]: [&Self; 2]) -> Option<Story> {
        Some(screen::compose_comparison(numbers, [before, after], &compare_talk(before, after)))
    }

    fn print_comparison(
        numbers: [i64; 2],
        artifacts: [&Self; 2],
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure> {
        let changes = compare_talk(artifacts[0], artifacts[1]);
        let story = screen::compose_comparison(numbers, artifacts, &changes);
        let story = mark_together(story, Self::TITLE, numbers.into_iter().zip(artifacts));
        show_story(settings, || TalkComparisonDocument::new(numbers, &story, &changes), &story)
    }
}
