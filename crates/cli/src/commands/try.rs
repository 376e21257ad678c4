//! `corewise try`: runs a program on placements of this machine, stores every run, and shows the verdict.

pub mod arguments;
mod beginning;
mod confirming;
mod drawing;
mod other_experiments;
mod plan;
mod progress;
mod retyped;
pub mod screen;
pub mod suite;
pub mod task;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use clap::CommandFactory as _;

use corewise_lab::experiment::{
    BUDGET_OF_SLOTS, ExperimentContext, ExperimentEnd, ExperimentLimits, ExperimentObserver, ExperimentSubject,
    ExperimentTime, OpenExperiment, SessionForecast,
};
use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::Artifact as _;
use corewise_model::experiment_record::{ExperimentConclusions, ExperimentRecord};
use corewise_model::trial::{Experiment, GateVerdict, Trial, TrialDesign, TrialOutcome, judge_gate};
use corewise_statistics::experiment::{ExperimentStanding, JudgingPolicy, QuestionKind, Verdict};
use corewise_store::ArtifactStore;
use jiff::tz::TimeZone;

use crate::app::artifact::{ArtifactForm, PageSection, PrintedArtifact};
use crate::app::document::ArtifactDocument;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::lock;
use crate::app::machine::this_machine;
use crate::app::origin::{mark_story, mark_together};
use crate::app::output::{print_form, print_message, show_story};
use crate::app::proof;
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::{HistoryPlace, ProgramSettings};
use crate::app::user_store::{latest_own, to_write};
use crate::draw::markdown;
use crate::draw::number::format_time;
use crate::draw::printable::make_printable;
use crate::draw::story::Story;
use crate::draw::suggestion;
use crate::draw::survey::StorageStatus;
use arguments::TryArguments;
use beginning::SessionStart;
use confirming::ConductedExperiment;
use drawing::DrawingFile;
use progress::SessionProgress;
use screen::{ShownExperiment, write_csv};
use task::{ConfirmationChoice, ExperimentSource, TryFormat, TrySubject, TryTask};

impl RunnableCommand for TryArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[
        command_document::<ArtifactDocument<'_, ExperimentRecord>>(
            "experiment",
            &["try --simulate truth.toml --seed 1"],
        ),
        command_document::<suite::document::SuiteDocument<'_>>("suite", &[]),
        command_document::<plan::PlanDocument>("try-plan", &[]),
    ];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let prove = self.prove.clone();
        let task = TryTask::new(self)?;
        match prove {
            Some(name) => prove_placement(&name, &task, settings),
            None => run_task(&task, settings),
        }
    }
}

/// Runs an experiment, and keeps its winner under a name for the program itself. The last experiment decides: a winner that was tried again
/// must have won again.
fn prove_placement(name: &str, task: &TryTask, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    if !matches!(settings.history, HistoryPlace::At(_)) {
        return Err(
            CommandFailure::usage_error("--prove needs the store").with_hint("Name the store with --store PATH.")
        );
    }
    let latest = |machine| latest_own::<ExperimentRecord>(machine, settings, |_| true).map(|(number, _)| number);
    let machine = this_machine()?;
    let before = latest(&machine);
    let exit = run_task(task, settings)?;
    let Some(made) = latest(&machine).filter(|number| Some(*number) != before) else { return Ok(exit) };
    let written = proof::read_winner(made, settings).and_then(|winner| {
        let place = (winner.on.as_str(), winner.memory.as_ref());
        proof::write_proof(name, place, &winner.evidence, (false, settings))
    });
    match written {
        Ok(file) => print_message(&format!("note: proven for {name}: {}", file.display())),
        Err(failure) => print_message(&format!("note: nothing is proven for {name}: {}", failure.what)),
    }
    Ok(exit)
}

fn run_task(task: &TryTask, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    let which = match &task.subject {
        TrySubject::One(which) => which,
        TrySubject::Suite(suite) => return suite::run_suite(suite, task, settings),
    };
    if let ExperimentSource::New(new) = which
        && let command = new.subject.command()
        && let Some(option) = find_own_option(command)
    {
        let program = command.first().map_or("", String::as_str);
        print_message(&format!(
            "note: {option} is an argument of {program}. Options of try go before the command; put `--` before the command to \
             avoid this note."
        ));
    }
    // Before the experiment: an unusable path could waste hours, and a resumed experiment changes the working directory.
    let drawing = task.svg.as_deref().map(DrawingFile::into_file).transpose()?;
    // A simulation disturbs no other measurement.
    let _lock = if let ExperimentSource::Simulated { .. } = which { None } else { lock::take_lock(settings)? };
    let (machine, interruption) = (this_machine()?, InterruptionWatch::watch_signals()?);
    let context = ExperimentContext {
        machine: &machine,
        knowledge: settings,
        journals: settings.journals.clone(),
        estimates_clock: task.estimates_clock,
        budget: task.budget,
        stop: interruption.stop(),
    };
    if let ExperimentSource::New(new) = which
        && new.is_dry
    {
        return plan::show_plan(new, &context, settings);
    }
    let sessions = TrySessions { task, context, settings };
    let preparing = Instant::now();
    let SessionStart { mut begun, subject } =
        beginning::begin_session(which, task.runs_max, &sessions.context, settings)?;
    drawing.iter().try_for_each(|drawing| drawing.check_drawable(&begun.experiment))?;
    begun.experiment.policy.boots = task.boots;
    if let Some(blocks) = task.blocks {
        let runs = blocks.saturating_mul(begun.experiment.arms.len() as u32);
        begun.experiment.policy =
            JudgingPolicy { least_blocks: blocks, most_runs: Some(runs), ..begun.experiment.policy };
    }
    if let ExperimentSource::Stored(_) = which
        && let Some(note) = confirming::describe_resumption(&begun, task)
    {
        print_message(&note);
    }
    if task.confirmation == ConfirmationChoice::InLongStretches && begun.experiment.policy.what == QuestionKind::Tail {
        return Err(tail_in_stretches_failure());
    }
    let is_live = begun.experiment.workload.live.is_some();
    let until = task.budget.or(is_live.then_some(BUDGET_OF_SLOTS)).map(|budget| preparing + budget);
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let (trials, ending) = sessions.continue_experiment(&begun, &*subject, left, None)?;
    if trials.iter().all(|trial| matches!(trial.outcome, TrialOutcome::Failed { .. })) {
        if trials.is_empty() {
            beginning::forget_empty(&begun, settings);
        }
        return Err(no_value_failure(&begun.experiment, &trials, &ending));
    }
    if ending == ExperimentEnd::Worse {
        print_message(
            &"note: the session ended: enough time was spent on placements that all look worse (--worse-at-most)",
        );
    }
    if let ExperimentEnd::Gone(why) = &ending {
        print_message(&format!("warning: the session ended early: {why}. Earlier measurements are valid."));
    }
    let made = ExperimentRecord { experiment: begun.experiment, trials };
    let first = ConductedExperiment { made: &made, stored: begun.stored, ending: &ending, subject: &*subject, until };
    if let Some(again) = sessions.plan_confirmation(&first) {
        return sessions.confirm_winner(&first, &again);
    }
    let standings = print_experiment(&made, begun.stored, task.print, settings)?;
    if task.blocks.is_some() && ending != ExperimentEnd::Stopped {
        return Ok(CommandExit::Done);
    }
    drawing.iter().try_for_each(|drawing| drawing.draw_scaling(&made, begun.stored))?;
    Ok(standings
        .iter()
        .map(|standing| exit_of_standing(&made.experiment, standing, &ending))
        .max_by_key(|exit| *exit as u8)
        .unwrap_or(CommandExit::Done))
}

/// Returns the failure for --confirm with --what tail: the mean of a stretch hides its slow runs.
pub fn tail_in_stretches_failure() -> CommandFailure {
    CommandFailure::usage_error(
        "--confirm compares stretches of runs, which hide the slow ones: it does not go with --what tail",
    )
}

struct TrySessions<'a> {
    task: &'a TryTask,
    context: ExperimentContext<'a>,
    settings: &'a ProgramSettings,
}

impl TrySessions<'_> {
    /// Continues an experiment for a budget, which may be a part of the task's; returns all its trials.
    fn continue_experiment(
        &self,
        begun: &OpenExperiment,
        subject: &dyn ExperimentSubject,
        budget: Option<Duration>,
        reserve: Option<Duration>,
    ) -> Result<(Vec<Trial>, ExperimentEnd), CommandFailure> {
        let mut session = TrialStore::new(begun, self.settings)?;
        let opening = Instant::now();
        let mut runner = subject.open_runner(&begun.experiment, &self.context)?;
        let budget = budget.map(|budget| budget.saturating_sub(opening.elapsed()));
        let usual = ExperimentLimits::from_session(begun, budget, self.context.stop);
        let worse = self.task.worse_at_most.or(usual.worse);
        let shortest_trial = self.task.trial_time.unwrap_or(usual.shortest_trial);
        let limits = ExperimentLimits { reserve, worse, rest: self.task.rest, shortest_trial, ..usual };
        let made = begun.conduct(&mut *runner, limits, &mut session)?;
        session.progress.clear_lines();
        Ok(made)
    }
}

/// Returns the first of a command's words that is also an option of `try`, unless a `--` separates them.
fn find_own_option(command: &[String]) -> Option<&str> {
    if std::env::args_os().any(|word| word == "--") {
        return None;
    }
    let definition = TryArguments::command();
    let ours: Vec<&str> = definition.get_arguments().filter_map(clap::Arg::get_long).collect();
    let name = |word: &'_ String| word.strip_prefix("--").map(|name| name.split('=').next().unwrap_or(name).to_owned());
    command.iter().skip(1).find(|word| name(word).is_some_and(|name| ours.contains(&name.as_str()))).map(String::as_str)
}

impl PrintedArtifact for ExperimentRecord {
    fn print_in_form(
        &self,
        kept: &StorageStatus,
        form: &ArtifactForm,
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure> {
        let drawing = form.svg.as_deref().map(DrawingFile::into_file).transpose()?;
        drawing.iter().try_for_each(|drawing| drawing.check_drawable(&self.experiment))?;
        print_experiment(self, kept.stored_number(), TryFormat::new(form.csv, form.markdown), settings)?;
        drawing.iter().try_for_each(|drawing| drawing.draw_scaling(self, kept.stored_number()))
    }

    const TITLE: &'static str = "Experiment";

    fn first_command() -> SuggestedCommand {
        suggested_command::try_command()
    }

    fn compose_story(
        &self,
        conclusions: &ExperimentConclusions,
        kept: &StorageStatus,
        settings: &ProgramSettings,
    ) -> Story {
        compose_experiment(self, conclusions, kept.stored_number(), settings)
    }

    /// Returns a table for each suite with several of these experiments.
    fn compose_sections(several: &[(i64, Self)]) -> Vec<PageSection> {
        let mut sessions: Vec<(String, Vec<&(i64, Self)>)> = Vec::new();
        for made in several {
            let Some(session) = made.1.session_name() else { continue };
            match sessions.iter_mut().find(|(known, _)| *known == session) {
                Some((_, parts)) => parts.push(made),
                None => sessions.push((session, vec![made])),
            }
        }
        let table = |(session, parts): (String, Vec<&(i64, Self)>)| {
            let story = screen::suite::stored_story(&parts).filter(|_| parts.len() > 1)?;
            let story = mark_together(story, Self::TITLE, parts.iter().map(|(number, part)| (*number, part)));
            Some(PageSection::new(format!("suite-{}", parts[0].0), session, story))
        };
        sessions.into_iter().filter_map(table).collect()
    }

    fn session_name(&self) -> Option<String> {
        let part = self.experiment.suite.as_ref()?;
        Some(format!(
            "Suite {}, begun {}",
            make_printable(&part.suite),
            format_time(part.begun_unix_ms, &TimeZone::system())
        ))
    }

    fn compose_changes(_: [i64; 2], _: [&Self; 2]) -> Option<Story> {
        None
    }

    fn print_comparison(numbers: [i64; 2], _: [&Self; 2], _: &ProgramSettings) -> Result<(), CommandFailure> {
        let what = format!("experiments {} and {} cannot be compared", numbers[0], numbers[1]);
        let both = suggestion::format_typed(&suggested_command::try_both_of());
        Err(CommandFailure::usage_error(what).with_hint(format!("Compare both placements in one experiment: {both}")))
    }
}

/// Composes the story of an experiment, with the other experiments on its command.
fn compose_experiment(
    made: &ExperimentRecord,
    conclusions: &ExperimentConclusions,
    stored: Option<i64>,
    settings: &ProgramSettings,
) -> Story {
    screen::compose_story(show_record(made, conclusions, stored), other_experiments::draw_lines(made, stored, settings))
}

fn show_record<'a>(
    ExperimentRecord { experiment, trials }: &'a ExperimentRecord,
    ExperimentConclusions { standing, threads, .. }: &'a ExperimentConclusions,
    stored: Option<i64>,
) -> ShownExperiment<'a> {
    ShownExperiment { experiment, trials, standing, threads: threads.as_ref(), stored }
}

/// Prints the result of an experiment, and returns the standings of all its questions.
fn print_experiment(
    made: &ExperimentRecord,
    stored: Option<i64>,
    how: TryFormat,
    settings: &ProgramSettings,
) -> Result<Vec<ExperimentStanding>, CommandFailure> {
    let conclusions = made.draw_conclusions();
    let story = how.compose_story(|| compose_experiment(made, &conclusions, stored, settings));
    let story = mark_story(story, made);
    match how {
        TryFormat::Csv => print_form(&write_csv(show_record(made, &conclusions, stored), &story.note_sentences()))?,
        TryFormat::Markdown => print_form(&markdown::write_story(&story, stored))?,
        TryFormat::Screen => {
            let document = || ArtifactDocument::new(Cow::Borrowed(made), conclusions.clone(), &story, stored);
            show_story(settings, document, &story)?;
        }
    }
    let ExperimentConclusions { standing, threads, .. } = conclusions;
    let pinned = threads.into_iter().flat_map(|report| report.standing.pinned).filter(|pinned| !pinned.has_failed());
    Ok(std::iter::once(standing).chain(pinned.map(|pinned| pinned.standing)).collect())
}

/// Returns the exit status of an answer. A provisional winner counts as undecided, unless it is a number of
/// threads, which is not tried again.
fn exit_of_standing(experiment: &Experiment, standing: &ExperimentStanding, ending: &ExperimentEnd) -> CommandExit {
    let is_so_far = !standing.open_points.is_empty() && experiment.thread_cells().is_none();
    let is_open = standing.verdict.is_open() || is_so_far;
    match judge_gate(experiment, standing) {
        Some(GateVerdict::Passed) => return CommandExit::Done,
        Some(GateVerdict::Undecided) if *ending == ExperimentEnd::Stopped => return CommandExit::Interrupted,
        Some(GateVerdict::Undecided | GateVerdict::Failed) => return CommandExit::Undecided,
        None => {}
    }
    match standing.verdict {
        _ if is_open && *ending == ExperimentEnd::Stopped => CommandExit::Interrupted,
        _ if is_open => CommandExit::Undecided,
        Verdict::Wins { .. } | Verdict::RealButBelowMargin { .. } | Verdict::NoMaterialDifference => CommandExit::Done,
        Verdict::Undecided { .. } | Verdict::Better { .. } | Verdict::Unsound { .. } => CommandExit::Undecided,
    }
}

/// Returns the failure for a session without any value, with the reason of the first failed run.
fn no_value_failure(experiment: &Experiment, trials: &[Trial], ending: &ExperimentEnd) -> CommandFailure {
    let first = trials.iter().find_map(|trial| match &trial.outcome {
        TrialOutcome::Failed { why, output } => Some((why, output)),
        TrialOutcome::Value(_) => None,
    });
    let Some((why, output)) = first else {
        let what = match ending {
            ExperimentEnd::Gone(why) => return CommandFailure::unavailable_error(format!("nothing was tried: {why}")),
            ExperimentEnd::Stopped => "nothing was tried: it was ended before the first run finished",
            ExperimentEnd::Limit => "nothing was tried: --runs-max is smaller than one block",
            _ => "nothing was tried: the budget ended before the first run finished, which was cut off",
        };
        return match ending {
            ExperimentEnd::Stopped => CommandFailure::new(CommandExit::Interrupted, what),
            ExperimentEnd::Limit => CommandFailure::unavailable_error(what),
            _ => {
                CommandFailure::unavailable_error(what).with_hint("Give it longer with --budget, or a shorter command.")
            }
        };
    };
    beginning::explain_failed_run(experiment, why, output)
}

/// Stores the trials as they come, and shows the progress of the experiment.
struct TrialStore<'a> {
    has_trials: bool,
    keeper: Option<(ArtifactStore, i64)>,
    progress: SessionProgress<'a>,
}

impl<'a> TrialStore<'a> {
    fn new(begun: &'a OpenExperiment, settings: &ProgramSettings) -> Result<Self, CommandFailure> {
        let keeper = match (&settings.history, begun.stored) {
            (HistoryPlace::At(path), Some(number)) => {
                let store = to_write(path, settings).map_err(|error| {
                    CommandFailure::unavailable_error(format!("the runs cannot be stored: {error}"))
                        .with_hint("Choose another store with --store PATH.")
                })?;
                Some((store, number))
            }
            _ => None,
        };
        let progress = SessionProgress::new(&begun.experiment, settings);
        Ok(Self { has_trials: !begun.trials.is_empty(), keeper, progress })
    }
}

impl ExperimentObserver for TrialStore<'_> {
    type Error = CommandFailure;

    fn begin_trial(&mut self, block: u32, arm: usize, time: &ExperimentTime) {
        self.progress.show_trial(block, arm, time);
    }

    fn keep_trial(&mut self, trial: &Trial) -> Result<(), CommandFailure> {
        if let Some((store, number)) = &mut self.keeper
            && let Err(error) = store.add_trial(*number, trial)
        {
            self.progress.clear_lines();
            return Err(CommandFailure::unavailable_error(format!("the run cannot be stored: {error}")).with_hint(
                format!(
                    "Earlier runs are stored as experiment {number}: continue with {}.",
                    suggestion::format_mention(&suggested_command::try_resume(*number))
                ),
            ));
        }
        let is_first = !std::mem::replace(&mut self.has_trials, true);
        if is_first && matches!(trial.outcome, TrialOutcome::Failed { .. }) {
            self.progress.warn_first_failure(trial);
        }
        Ok(())
    }

    fn show_forecast(&mut self, forecast: &SessionForecast) {
        self.progress.show_forecast(forecast);
    }

    fn show_standing(&mut self, design: &TrialDesign) {
        self.progress.show_standing(design);
    }
}
