//! The beginning of a session: a new experiment, or a stored one with its trials.

mod direction;
pub mod live;
mod talk;

use std::path::Path;

use corewise_lab::experiment::simulated::SimulatedTruth;
use corewise_lab::experiment::{
    CandidateRequest, CommandSubject, ExperimentBuilder, ExperimentContext, ExperimentError, ExperimentSubject,
    OpenExperiment, PlacementChoice, PreparationEvent, ProcessesSubject, ServicesSubject, SimulatedSubject,
};
use corewise_lab::session::StepProgress;
use corewise_machine::Machine;
use corewise_machine::identity::is_same_machine;
use corewise_machine::suggested_command;
use corewise_model::credentials::join_words;
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::trial::{Experiment, LiveSource, LiveWorkload, PlacementArm, TriedWorkload};
use corewise_statistics::experiment::JudgingPolicy;
use corewise_store::ArtifactStore;
use corewise_sys::files::path_of;
use corewise_sys::input::{self, InputKind};

use super::retyped::suggest_slot;
use super::task::{ExperimentSource, NewExperiment, PartsSource, RepeatedExperiment, SubjectTask};
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::file_commands::FileCommands;
use crate::app::output::print_message;
use crate::app::placement;
use crate::app::progress::ProgressDisplay;
use crate::app::settings::{HistoryPlace, ProgramSettings, no_journal};
use crate::app::user_store::{explain_store_error, to_write};
use crate::draw::suggestion;

/// An experiment to conduct, and its subject.
pub struct SessionStart {
    /// The experiment with its earlier trials.
    pub begun: OpenExperiment,
    /// The subject.
    pub subject: Box<dyn ExperimentSubject>,
}

impl SessionStart {
    fn new(begun: OpenExperiment, subject: Box<dyn ExperimentSubject>) -> Self {
        Self { begun, subject }
    }
}

impl From<ExperimentError> for CommandFailure {
    fn from(error: ExperimentError) -> Self {
        let hint = error.hint(suggestion::format_mention);
        let longer = match &error {
            ExperimentError::Rare(rare) => rare.fitting_slot().and_then(|(slot_s, _)| suggest_slot(slot_s)),
            _ => None,
        };
        let failure = match error {
            ExperimentError::Expression(error) => return placement::explain_placement_error(CommandExit::Usage, error),
            ExperimentError::Placement(error) => return error.into(),
            ExperimentError::NoJournal => return no_journal(),
            error if error.is_usage() => Self::usage_error(error),
            error if error.is_stop() => Self::new(CommandExit::Interrupted, error),
            error => Self::unavailable_error(error),
        };
        let next = longer.map(|command| format!("Next:  {}", suggestion::format_typed(&command)));
        let lines: Vec<String> = hint.into_iter().chain(next).collect();
        if lines.is_empty() { failure } else { failure.with_hint(lines.join("\n  ")) }
    }
}

/// Opens the experiment of a session.
pub fn begin_session(
    which: &ExperimentSource,
    runs_max: Option<u32>,
    context: &ExperimentContext<'_>,
    settings: &ProgramSettings,
) -> Result<SessionStart, CommandFailure> {
    let mut beginning = match which {
        ExperimentSource::New(new) => start_experiment(new, context, settings)?,
        ExperimentSource::Stored(number) => resume_stored(*number, context, settings)?,
        ExperimentSource::Again(again) => repeat_stored(again, context, settings)?,
        ExperimentSource::Simulated { truth, seed, policy } => start_simulation(truth, *seed, policy, context)?,
    };
    beginning.begun.experiment.policy.most_runs = runs_max;
    Ok(beginning)
}

fn start_experiment(
    new: &NewExperiment,
    context: &ExperimentContext<'_>,
    settings: &ProgramSettings,
) -> Result<SessionStart, CommandFailure> {
    if let Some(question) = &new.direction_question {
        return Err(direction::find_and_ask(question, new, context, settings)?);
    }
    let talked = match new.watches_talk {
        true => Some(talk::add_talk(&new.subject, &new.builder, context, settings)?),
        false => None,
    };
    let (subject, builder) =
        talked.as_ref().map_or((&new.subject, &new.builder), |(subject, builder)| (subject, builder));
    let subject = subject.open(settings)?;
    let experiment = build_experiment(builder, &*subject, context, settings)?;
    Ok(SessionStart::new(store_new(experiment, settings)?, subject))
}

/// Removes an experiment without a run from the history.
pub fn forget_empty(begun: &OpenExperiment, settings: &ProgramSettings) {
    if let (HistoryPlace::At(path), Some(number)) = (&settings.history, begun.stored)
        && let Ok(mut store) = to_write(path, settings)
    {
        let _ = store.withdraw_artifact(number);
    }
}

fn build_experiment(
    builder: &ExperimentBuilder,
    subject: &dyn ExperimentSubject,
    context: &ExperimentContext<'_>,
    settings: &ProgramSettings,
) -> Result<Experiment, CommandFailure> {
    let bar = ProgressDisplay::new(settings.progress);
    let mut report = |event| show_preparation(event, &bar);
    let built = builder.build(subject, context, env!("CARGO_PKG_VERSION"), &mut report);
    bar.clear_display();
    Ok(built?)
}

/// Shows an event of the preparation on standard error.
fn show_preparation(event: PreparationEvent, bar: &ProgressDisplay) {
    match event {
        PreparationEvent::Note(note) => print_message(&format!("note: {note}")),
        PreparationEvent::SearchingSlot { elapsed, limit } => bar.show_progress(&StepProgress {
            step: "finding how long slots should be; nothing is changed".to_owned(),
            done: (elapsed.as_secs_f64() / limit.as_secs_f64()).min(1.0),
            left: limit.saturating_sub(elapsed),
        }),
        PreparationEvent::FoundSlot(found) => {
            bar.clear_display();
            print_message(&live::describe_slot(&found));
        }
    }
}

/// Returns the arms of a request without an experiment.
pub fn plan_arms(
    candidates: &CandidateRequest,
    subject: &dyn ExperimentSubject,
    context: &ExperimentContext<'_>,
    settings: &ProgramSettings,
) -> Result<Vec<PlacementArm>, CommandFailure> {
    let builder = ExperimentBuilder { candidates: candidates.clone(), ..ExperimentBuilder::new() };
    let bar = ProgressDisplay::new(settings.progress);
    Ok(builder.plan_arms(subject, context, &mut |event| show_preparation(event, &bar))?)
}

impl SubjectTask {
    /// Finds running processes, and refuses a file of commands that another user may have written.
    ///
    /// # Errors
    /// The processes cannot be found or placed, or the file is refused.
    pub fn open(&self, settings: &ProgramSettings) -> Result<Box<dyn ExperimentSubject>, CommandFailure> {
        Ok(match self {
            Self::Command(command) => Box::new(command.clone()),
            Self::Threads(threads) => Box::new(threads.clone()),
            Self::Services(services, file) => {
                file.iter().try_for_each(|file| check_file(file, services, settings))?;
                Box::new(services.clone())
            }
            Self::Processes(live) => Box::new(live.find()?),
        })
    }
}

fn check_file(file: &PartsSource, subject: &ServicesSubject, settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let PartsSource { file, origin, text } = file;
    let services = subject.parts.services.iter();
    let scripts = services.flat_map(|service| std::iter::once(service.start.clone()).chain(service.ready.clone()));
    let lines = scripts.chain(std::iter::once(join_words(&subject.load.command))).collect();
    FileCommands { file, origin, imported: None, content: text.as_bytes(), lines }.check_trust(settings)
}

/// Returns the subject of a stored workload, with its processes as they are now.
pub fn reopen_subject(workload: &TriedWorkload) -> Result<Box<dyn ExperimentSubject>, CommandFailure> {
    if let Some(live) = &workload.live {
        let processes = live::find_processes(live)?;
        let (live, thread_roles) = (live.clone(), workload.thread_roles.clone());
        return Ok(Box::new(ProcessesSubject { live, processes, has_slot: true, thread_roles }));
    }
    Ok(match ServicesSubject::from_workload(workload) {
        Some(services) => Box::new(services),
        None => Box::new(CommandSubject::from_workload(workload)),
    })
}

/// Stores a new experiment in the history, if there is one.
pub fn store_new(experiment: Experiment, settings: &ProgramSettings) -> Result<OpenExperiment, CommandFailure> {
    let stored = store_experiment(&experiment, settings)?;
    Ok(OpenExperiment { experiment, trials: Vec::new(), stored })
}

/// Stores the experiment in the history, if there is one. Fails if it cannot be stored, because hours could be lost.
fn store_experiment(experiment: &Experiment, settings: &ProgramSettings) -> Result<Option<i64>, CommandFailure> {
    match &settings.history {
        HistoryPlace::Off => Ok(None),
        HistoryPlace::Homeless => {
            print_message(
                &"warning: the runs are not stored: neither XDG_DATA_HOME nor HOME is set\n  store them with --store \
                    PATH",
            );
            Ok(None)
        }
        HistoryPlace::At(path) => {
            let made = ExperimentRecord::from(experiment.clone());
            let begun = to_write(path, settings).and_then(|mut store| store.add_artifact(&made));
            begun.map(Some).map_err(|error| {
                CommandFailure::unavailable_error(format!("the experiment cannot be stored: {error}"))
                    .with_hint("Choose another store with --store PATH, or none with --no-store.")
            })
        }
    }
}

/// Returns a simulated program, with a candidate for each gain of the file.
fn start_simulation(
    path: &Path,
    seed: Option<u64>,
    policy: &JudgingPolicy,
    context: &ExperimentContext<'_>,
) -> Result<SessionStart, CommandFailure> {
    let told = |error: &dyn std::fmt::Display| {
        CommandFailure::usage_error(format!("{}: {error}", path.display())).with_hint(
            "For example:  gains = [0.05, 0.0]  and  noise = \"typical\"  (docs/statistics.md lists the noises)",
        )
    };
    let text = input::read_text(path, InputKind::Simulation).map_err(|error| told(&error))?;
    let simulation: SimulatedTruth = toml::from_str(&text).map_err(|error| told(&error))?;
    if simulation.effects.gains.is_empty() || !simulation.effects.gains.iter().all(|gain| gain.is_finite()) {
        return Err(told(&"`gains` must be a list of at least one number"));
    }
    let subject = SimulatedSubject { name: path.display().to_string(), simulation };
    let builder = ExperimentBuilder { policy: policy.clone(), seed, ..ExperimentBuilder::new() };
    let experiment = builder.build(&subject, context, env!("CARGO_PKG_VERSION"), &mut |_| {})?;
    let begun = OpenExperiment { experiment, trials: Vec::new(), stored: None };
    Ok(SessionStart::new(begun, Box::new(subject)))
}

/// Opens a stored experiment with its trials, to continue it.
fn resume_stored(
    number: Option<i64>,
    context: &ExperimentContext<'_>,
    settings: &ProgramSettings,
) -> Result<SessionStart, CommandFailure> {
    let (number, ExperimentRecord { experiment, trials }) = find_stored(number, context.machine, settings)?;
    refuse_other(&experiment, context.machine, number)?;
    if let Some(part) = &experiment.suite {
        let what = format!("experiment {number} is part of the suite \"{}\"", part.suite);
        return Err(CommandFailure::unavailable_error(what).with_hint(format!(
            "Continue all of it with {}.",
            suggestion::format_mention(&suggested_command::try_suite_resume())
        )));
    }
    enter_folder(&experiment, number)?;
    let subject = reopen_subject(&experiment.workload)?;
    Ok(SessionStart::new(OpenExperiment { experiment, trials, stored: Some(number) }, subject))
}

/// Creates a new experiment with the workload of a stored one.
fn repeat_stored(
    again: &RepeatedExperiment,
    context: &ExperimentContext<'_>,
    settings: &ProgramSettings,
) -> Result<SessionStart, CommandFailure> {
    let (number, ExperimentRecord { experiment, .. }) = find_stored(Some(again.number), context.machine, settings)?;
    if experiment.arms.iter().any(|arm| arm.threads.is_some()) {
        let what = format!("experiment {number} is about numbers of threads, not about placements");
        return Err(CommandFailure::usage_error(what).with_hint("Type its command line again, with --threads."));
    }
    let choices = match again.choices.is_empty() {
        true if !experiment.workload.variants.is_empty() => own_choices_of_variants(&experiment)?,
        true => PlacementChoice::parse_all(&experiment.arms.iter().map(typed_choice).collect::<Vec<_>>(), None)?,
        false => again.choices.clone(),
    };
    let Experiment { mut workload, policy, .. } = experiment.clone();
    let (processes, matches) = &again.processes;
    if !(processes.is_empty() && matches.is_empty()) {
        let Some(live) = &mut workload.live else {
            let what = format!("experiment {} runs a command: there are no processes to choose", again.number);
            return Err(CommandFailure::usage_error(what).with_hint("Leave out --pid, --unit and --match."));
        };
        (live.processes, live.matches) = (live::identify_processes(processes)?, matches.clone());
    }
    if let Some(origin) = experiment.origin.describe_origin() {
        print_message(&format!(
            "note: experiment {number} was {origin}: only its command is repeated, none of its runs counts here"
        ));
    }
    enter_folder(&experiment, number)?;
    let subject = reopen_subject(&workload)?;
    let TriedWorkload { metric, guards, .. } = workload;
    let candidates = CandidateRequest { choices, memory: Vec::new() };
    let builder =
        ExperimentBuilder { candidates, metric, guards, policy, seed: again.seed, ..ExperimentBuilder::new() };
    let experiment = build_experiment(&builder, &*subject, context, settings)?;
    Ok(SessionStart::new(store_new(experiment, settings)?, subject))
}

/// Returns an arm's placement as it is typed.
fn typed_choice(arm: &PlacementArm) -> String {
    if arm.is_left_alone() { "os" } else { arm.choice_text() }.to_owned()
}

/// Returns the placements on which the first variant was tried, besides the OS default.
fn own_choices_of_variants(experiment: &Experiment) -> Result<Vec<PlacementChoice>, CommandFailure> {
    let of_first = experiment.arms.iter().filter(|arm| arm.variant == experiment.arms[0].variant);
    let named: Vec<String> = of_first.filter(|arm| !arm.is_left_alone()).map(typed_choice).collect();
    Ok(PlacementChoice::parse_all(&named, None)?)
}

/// Returns a stored experiment by its number, or the last one of this machine, after a check that its command may run.
fn find_stored(
    number: Option<i64>,
    machine: &Machine,
    settings: &ProgramSettings,
) -> Result<(i64, ExperimentRecord), CommandFailure> {
    let nothing = || {
        CommandFailure::unavailable_error("there is no such stored experiment of this machine")
            .with_hint(format!("Start one with {}.", suggestion::format_mention(&suggested_command::try_command())))
    };
    let HistoryPlace::At(path) = &settings.history else {
        return Err(CommandFailure::usage_error("a stored experiment needs the store")
            .with_hint("Leave out --no-store, or name the store with --store PATH."));
    };
    let unavailable = |error| CommandFailure::unavailable_error(error);
    let store = if path.exists() { to_write(path, settings).map_err(unavailable)? } else { return Err(nothing()) };
    let (number, made) = match number {
        Some(number) => (number, store.get_artifact::<ExperimentRecord>(number).map_err(explain_store_error)?),
        None => store.latest_own(machine, |_| true).map_err(unavailable)?.ok_or_else(nothing)?,
    };
    check_owner(&store, &[&made.experiment], settings)?;
    Ok((number, made))
}

/// Returns the failure of a run without a number, with its output.
pub fn explain_failed_run(experiment: &Experiment, why: &str, output: &str) -> CommandFailure {
    let words = experiment.arms.first().map(|arm| experiment.workload.command_of(arm)).unwrap_or_default();
    let command = words.first().map_or("", String::as_str);
    let failure = CommandFailure::unavailable_error(format!("{command}: no run produced a number: {why}"));
    let wrote = if output.trim().is_empty() {
        "It printed nothing.".to_owned()
    } else {
        format!("It printed:\n{}", indent_lines(output))
    };
    failure.with_hint(wrote)
}

fn indent_lines(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// Changes to the folder in which an experiment was begun.
fn enter_folder(experiment: &Experiment, number: i64) -> Result<(), CommandFailure> {
    let folder = path_of(experiment.workload.folder.path_bytes());
    std::env::set_current_dir(&folder).map_err(|error| {
        CommandFailure::unavailable_error(format!("the folder {} of experiment {number}: {error}", folder.display()))
    })
}

/// Checks that no other user can have written the stored commands, which are to be executed, and that they are complete.
///
/// # Errors
/// Another user may have written them, and the error lists the commands; or one had credentials, which are not stored.
pub fn check_owner(
    store: &ArtifactStore,
    experiments: &[&Experiment],
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    if experiments.iter().any(|experiment| experiment.workload.needs_credentials()) {
        let what = "the experiment cannot be repeated: it had a password or a token, which is not stored";
        return Err(CommandFailure::unavailable_error(what)
            .with_hint("Begin it anew. A command can read the password from a file, as curl --netrc does."));
    }
    let imported = experiments.iter().find_map(|experiment| experiment.origin.imported_file());
    let workloads: Vec<_> = experiments.iter().map(|experiment| (&experiment.workload, &experiment.suite)).collect();
    let content = serde_json::to_vec(&workloads).map_err(|error| CommandFailure::new(CommandExit::Internal, error))?;
    let line = |workload: &TriedWorkload| {
        let removes = workload.metric_file.as_ref().map_or_else(String::new, |file| format!(", after removing {file}"));
        let varies =
            workload.vary.iter().chain(&workload.prepare).map(|script| format!(", after {script}")).collect::<String>();
        let services: String = workload.service_scripts().map(|script| format!("{script}; ")).collect();
        let variants: String = workload.variants.iter().map(|variant| format!(", {}", variant.typed_text())).collect();
        let command = match &workload.live {
            None => format!("{services}{}{variants}", join_words(&workload.command)),
            Some(LiveWorkload { source: LiveSource::Command(script), .. }) => script.clone(),
            Some(LiveWorkload { source: LiveSource::Page(address), .. }) => format!("read {address}"),
            Some(_) => "place running processes".to_owned(),
        };
        format!("in {}{removes}{varies}: {command}", path_of(workload.folder.path_bytes()).display())
    };
    let lines = experiments.iter().map(|experiment| line(&experiment.workload)).collect();
    FileCommands { file: store.path(), origin: store.origin(), imported, content: &content, lines }
        .check_trust(settings)
}

/// Refuses to continue an experiment that was not measured here, on another machine, or with other cpus.
pub fn refuse_other(experiment: &Experiment, machine: &Machine, number: i64) -> Result<(), CommandFailure> {
    if let Some(origin) = experiment.origin.describe_origin() {
        let what = format!("experiment {number} was {origin}: its runs and new ones cannot be compared");
        return Err(CommandFailure::unavailable_error(what).with_hint(format!(
            "Make it anew here with {}.",
            suggestion::format_mention(&suggested_command::try_again(number))
        )));
    }
    if !is_same_machine(&experiment.machine.identity(), &machine.identity()) {
        let what = format!("experiment {number} was made on another machine, or on this one with other cpus");
        return Err(CommandFailure::unavailable_error(what).with_hint("Its runs and new ones cannot be compared."));
    }
    if experiment.machine.allowed != machine.allowed {
        let what = format!(
            "experiment {number} was started with cpus {}, but this process may use {}",
            experiment.machine.allowed, machine.allowed
        );
        return Err(CommandFailure::unavailable_error(what)
            .with_hint("With other cpus the OS default is a different placement."));
    }
    Ok(())
}
