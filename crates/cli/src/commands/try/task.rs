//! The task of `try`.

mod live;
mod metrics;
mod named_metric;
mod parts;
mod threads;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use corewise_lab::experiment::{
    CandidateRequest, CommandSubject, ExperimentBuilder, ExperimentError, PlacementChoice, ServicesSubject,
    ThreadCounts, ThreadsSubject,
};
use corewise_machine::suggested_command;
use corewise_model::trial::{CommandVariant, TrialMetric, VARIANT_PLACE, VariantError, check_variants};
use corewise_statistics::experiment::{JudgingPolicy, QuestionKind};

use super::arguments::TryArguments;
use crate::app::failure::CommandFailure;
use crate::draw::story::Story;
use crate::draw::suggestion;
pub use live::LiveTask;
use metrics::{read_guard, read_primary};
pub use named_metric::DirectionQuestion;
use named_metric::NamedMetric;
pub use parts::{PartsSource, PartsTask};

/// A session of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct TryTask {
    /// The subject.
    pub subject: TrySubject,
    /// Maximum duration.
    pub budget: Option<Duration>,
    /// Maximum number of runs.
    pub runs_max: Option<u32>,
    /// Number of blocks to make, if neither more nor fewer are wanted.
    pub blocks: Option<u32>,
    /// Rest of the machine before each trial; depends on the duration of a run if `None`.
    pub rest: Option<Duration>,
    /// Minimum duration of a trial of a command; the usual one if `None`.
    pub trial_time: Option<Duration>,
    /// Maximum time for placements that all look worse.
    pub worse_at_most: Option<Duration>,
    /// True if the clock rate is estimated when cycles cannot be counted.
    pub estimates_clock: bool,
    /// Whether a winner is tried again.
    pub confirmation: ConfirmationChoice,
    /// Number of boots over which a winner needs runs.
    pub boots: Option<u32>,
    /// The output format, unless JSON is requested.
    pub print: TryFormat,
    /// The file for the picture of the scaling with numbers of threads.
    pub svg: Option<PathBuf>,
}

/// Whether a winner is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfirmationChoice {
    /// In short stretches, unless it is proven to last.
    IfOpen,
    /// In long stretches.
    InLongStretches,
    /// It is not.
    Never,
}

/// The subject of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum TrySubject {
    /// One program.
    One(ExperimentSource),
    /// The benchmarks of a suite.
    Suite(Box<SuiteTask>),
}

/// The experiment of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum ExperimentSource {
    /// A new experiment.
    New(Box<NewExperiment>),
    /// A stored experiment by its number, or the last one of this machine.
    Stored(Option<i64>),
    /// A new experiment with the workload of a stored one.
    Again(RepeatedExperiment),
    /// A simulated experiment.
    Simulated {
        /// The file with the true effects.
        truth: PathBuf,
        /// The seed; from the clock if not given.
        seed: Option<u64>,
        /// The policy of judging.
        policy: JudgingPolicy,
    },
}

/// A stored experiment to repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatedExperiment {
    /// Its number.
    pub number: i64,
    /// The placements; if empty, its own.
    pub choices: Vec<PlacementChoice>,
    /// The numbers of running processes to place instead of its own, and patterns that such processes match.
    pub processes: (Vec<u32>, Vec<String>),
    /// The seed of the random orders; from the clock if not given.
    pub seed: Option<u64>,
}

/// A new experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct NewExperiment {
    /// The placements, and the policy of judging.
    pub builder: ExperimentBuilder,
    /// The subject.
    pub subject: SubjectTask,
    /// True for a dry run, which only shows the plan.
    pub is_dry: bool,
    /// True to watch a first run, and to try what its threads' talk proposes.
    pub watches_talk: bool,
    /// The question whether more of the metric is better, if nothing says it.
    pub direction_question: Option<DirectionQuestion>,
}

/// The subject of a new experiment.
#[derive(Clone, Debug, PartialEq)]
pub enum SubjectTask {
    /// A command.
    Command(CommandSubject),
    /// A command with several numbers of threads.
    Threads(ThreadsSubject),
    /// Services with a command as their load, and the file of --parts, if any.
    Services(ServicesSubject, Option<PartsSource>),
    /// Running processes.
    Processes(LiveTask),
}

/// A suite, and options of its session.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteTask {
    /// The file, or the name of a built-in suite.
    pub source: String,
    /// The placements.
    pub candidates: CandidateRequest,
    /// The policy of each experiment.
    pub policy: JudgingPolicy,
    /// The seed of the random orders; from the clock if not given.
    pub seed: Option<u64>,
    /// True to continue its last session.
    pub resumes: bool,
    /// True to print only the command that installs its programs.
    pub only_installs: bool,
}

/// The format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryFormat {
    /// A screen, or JSON if the common options request it.
    Screen,
    /// A line for each run.
    Csv,
    /// A table in Markdown.
    Markdown,
}

impl TryFormat {
    /// Returns the format that the options select.
    pub fn new(csv: bool, markdown: bool) -> Self {
        match (csv, markdown) {
            (true, _) => Self::Csv,
            (false, true) => Self::Markdown,
            (false, false) => Self::Screen,
        }
    }

    /// Composes a story. Markdown is meant for other readers.
    pub fn compose_story(self, make: impl FnOnce() -> Story) -> Story {
        if self == Self::Markdown { suggestion::write_for_others(make) } else { make() }
    }
}

impl TrySubject {
    /// Returns true if several numbers of threads may be tried; for a stored experiment that is not known yet.
    fn may_have_threads(&self) -> bool {
        match self {
            Self::One(ExperimentSource::New(new)) => match &new.subject {
                SubjectTask::Threads(subject) => subject.threads.counts.len() > 1,
                SubjectTask::Services(subject, _) => {
                    subject.threads.as_ref().is_some_and(|threads| threads.counts.len() > 1)
                }
                SubjectTask::Command(_) | SubjectTask::Processes(_) => false,
            },
            Self::One(ExperimentSource::Stored(_)) => true,
            Self::One(ExperimentSource::Simulated { .. } | ExperimentSource::Again(_)) | Self::Suite(_) => false,
        }
    }
}

/// Returns the failure for `--svg` without several numbers of threads.
pub fn no_threads_failure() -> CommandFailure {
    CommandFailure::usage_error("--svg needs at least two numbers of threads")
        .with_hint(format!("For example: {}", suggestion::format_typed(&suggested_command::try_threads_drawn())))
}

impl TryTask {
    /// Interprets the arguments.
    ///
    /// # Errors
    /// An expression or a metric cannot be read, or the command is not UTF-8 text.
    pub fn new(typed: TryArguments) -> Result<Self, CommandFailure> {
        let print = TryFormat::new(typed.csv, typed.markdown);
        let (budget, runs_max, estimates_clock) = (typed.budget, typed.runs_max, typed.estimate_clock);
        let (rest, trial_time) = (typed.rest, typed.trial_time);
        let blocks = typed.blocks;
        let (svg, boots) = (typed.svg.clone(), typed.boots);
        let confirmation = match (typed.confirm, typed.no_confirm) {
            (true, _) => ConfirmationChoice::InLongStretches,
            (false, true) => ConfirmationChoice::Never,
            (false, false) => ConfirmationChoice::IfOpen,
        };
        let worse_at_most = typed.worse_at_most;
        let policy = read_policy(&typed)?;
        if typed.confirm && policy.what == QuestionKind::Tail {
            return Err(super::tail_in_stretches_failure());
        }
        // If a command is given, clap skips these checks, because `--suite` and `--resume` conflict with a command.
        if typed.boots.is_some() && typed.resume.is_none() {
            return Err(CommandFailure::usage_error("--boots needs --resume").with_hint(suggestion::format_typed(
                &suggested_command::try_resume_over_boots(12, typed.boots.unwrap_or(3)),
            )));
        }
        if typed.install && typed.suite.is_none() {
            return Err(CommandFailure::usage_error("--install needs --suite")
                .with_hint(suggestion::format_typed(&suggested_command::try_suite_install())));
        }
        let one = TrySubject::One;
        let again = typed.again;
        let subject = match (typed.resume, typed.simulate.clone()) {
            (None, None) if let Some(number) = again => {
                let processes = (typed.pid.clone(), live::read_matches(&typed)?);
                let choices = PlacementChoice::parse_all(&typed.on, None)?;
                one(ExperimentSource::Again(RepeatedExperiment { number, choices, processes, seed: typed.seed }))
            }
            (resume, None) if typed.suite.is_some() => {
                TrySubject::Suite(Box::new(SuiteTask::new(typed, policy, resume)?))
            }
            (Some(number), _) => one(ExperimentSource::Stored(number)),
            (None, Some(truth)) => one(ExperimentSource::Simulated { truth, seed: typed.seed, policy }),
            (None, None) => one(ExperimentSource::New(Box::new(NewExperiment::new(typed, policy)?))),
        };
        if svg.is_some() && !subject.may_have_threads() {
            return Err(no_threads_failure());
        }
        Ok(Self {
            subject,
            budget,
            runs_max,
            blocks,
            rest,
            trial_time,
            worse_at_most,
            estimates_clock,
            confirmation,
            boots,
            print,
            svg,
        })
    }
}

impl NewExperiment {
    fn new(typed: TryArguments, policy: JudgingPolicy) -> Result<Self, CommandFailure> {
        let NamedMetric { metric, direction_question } = read_primary(&typed)?;
        if typed.metric_file.is_some()
            && typed.metric.is_none()
            && typed.guard.is_empty()
            && typed.guard_higher.is_empty()
        {
            return Err(CommandFailure::usage_error(
                "--metric-file needs --metric, which names the number in the file",
            )
            .with_hint("For example: --metric fps --metric-file results.json"));
        }
        let guards = typed.guard.iter().map(|text| read_guard(text, false, &typed));
        let guards = guards.chain(typed.guard_higher.iter().map(|text| read_guard(text, true, &typed)));
        let guards = guards.collect::<Result<Vec<TrialMetric>, _>>()?;
        let live = LiveTask::new(&typed, &metric, &guards)?;
        let parts = PartsTask::new(&typed)?;
        let (threads, table) = threads::read_threads(&typed, &parts)?;
        if typed.dry_run && live.is_none() && parts.parts.is_none() {
            return Err(CommandFailure::usage_error(
                "--dry-run needs running processes, or services: --pid, --unit, --match or --start",
            ));
        }
        let on = if typed.on.is_empty() { &parts.placements } else { &typed.on };
        let choices = match PlacementChoice::parse_all(on, typed.near.as_deref()) {
            Err(ExperimentError::OnlyOsDefault) if !typed.variant.is_empty() => Vec::new(),
            choices => choices?,
        };
        let (seed, is_dry, memory) = (typed.seed, typed.dry_run, typed.memory.clone());
        let watches_talk = typed.talk;
        let subject = match live {
            Some(_) if choices.iter().any(|choice| matches!(choice, PlacementChoice::WithMemory(..))) => {
                let what = "the memory policy of a running process cannot be changed from outside";
                return Err(CommandFailure::usage_error(what)
                    .with_hint("Leave out the policy, or run the program as a command."));
            }
            Some(live) => SubjectTask::Processes(LiveTask { thread_roles: parts.thread_roles, ..live }),
            None => SubjectTask::from_command(typed, threads, table, parts)?,
        };
        let builder = ExperimentBuilder {
            candidates: CandidateRequest { choices, memory },
            metric,
            guards,
            policy,
            seed,
            ..ExperimentBuilder::new()
        };
        if watches_talk && !matches!(subject, SubjectTask::Command(_) | SubjectTask::Processes(_)) {
            let what = "--talk watches a command with one number of threads, or running processes";
            return Err(CommandFailure::usage_error(what));
        }
        Ok(Self { builder, subject, is_dry, watches_talk, direction_question })
    }
}

impl SubjectTask {
    /// Returns the command; empty for running processes.
    pub fn command(&self) -> &[String] {
        match self {
            Self::Command(command) => &command.command,
            Self::Threads(threads) => &threads.command.command,
            Self::Services(services, _) => &services.load.command,
            Self::Processes(_) => &[],
        }
    }

    fn from_command(
        typed: TryArguments,
        threads: Option<u32>,
        table: Option<ThreadCounts>,
        parts: PartsTask,
    ) -> Result<Self, CommandFailure> {
        let command: Vec<String> = typed.command.into_iter().map(read_word).collect::<Result<_, _>>()?;
        let command = match command.is_empty() {
            true if parts.load.is_empty() && !typed.variant.is_empty() => vec![VARIANT_PLACE.to_owned()],
            true => parts.load,
            false => command,
        };
        if command.is_empty() {
            return Err(CommandFailure::usage_error("services need a load: the command that is run beside them")
                .with_hint("Give it behind `--`, or as `load = [\"program\", \"argument\"]` in the file of --parts."));
        }
        let command = CommandSubject {
            command,
            variants: typed.variant.iter().map(|typed| read_variant(typed)).collect::<Result<_, _>>()?,
            threads,
            metric_file: typed.metric_file,
            input: typed.input,
            on_terminal: typed.tty,
            leaves_processes: typed.leave,
            vary: typed.vary,
            prepare: typed.prepare,
            accepted: typed.ok,
            follow: typed.follow,
            timeout: typed.timeout,
            thread_roles: if parts.parts.is_none() { parts.thread_roles.clone() } else { Vec::new() },
        };
        let scripts = parts.parts.iter().flat_map(|parts| &parts.services).map(|service| &service.start);
        let has_place = command.command.iter().chain(scripts).any(|text| text.contains(VARIANT_PLACE));
        check_variants(&command.variants, has_place).map_err(explain_variant_error)?;
        Ok(match (parts.parts, table) {
            (Some(services), threads) => Self::Services(
                ServicesSubject { load: command, parts: services, thread_roles: parts.thread_roles, threads },
                parts.file,
            ),
            (None, Some(threads)) => Self::Threads(ThreadsSubject { command, threads }),
            (None, None) => Self::Command(command),
        })
    }
}

impl SuiteTask {
    fn new(typed: TryArguments, policy: JudgingPolicy, resume: Option<Option<i64>>) -> Result<Self, CommandFailure> {
        if let Some(Some(_)) = resume {
            return Err(CommandFailure::usage_error(
                "--resume with --suite takes no number: it continues the suite's last session",
            ));
        }
        Ok(Self {
            source: typed.suite.unwrap_or_default(),
            candidates: CandidateRequest {
                choices: PlacementChoice::parse_all(&typed.on, typed.near.as_deref())?,
                memory: typed.memory,
            },
            policy,
            seed: typed.seed,
            resumes: resume.is_some(),
            only_installs: typed.install,
        })
    }
}

fn read_variant(typed: &str) -> Result<CommandVariant, CommandFailure> {
    CommandVariant::parse(typed).map_err(explain_variant_error)
}

fn explain_variant_error(error: VariantError) -> CommandFailure {
    let example = suggestion::format_typed(&suggested_command::try_variants());
    CommandFailure::usage_error(format!("--variant: {error}")).with_hint(format!("For example: {example}"))
}

fn read_policy(typed: &TryArguments) -> Result<JudgingPolicy, CommandFailure> {
    let default = JudgingPolicy::default();
    let policy = JudgingPolicy {
        error_rate: typed.error_rate.unwrap_or(default.error_rate),
        margin: typed.margin.unwrap_or(default.margin),
        guard_margin: typed.guard_margin.unwrap_or(default.guard_margin),
        what: typed.what.map_or(default.what, QuestionKind::from),
        slow: typed.slow.unwrap_or(default.slow),
        cap: typed.cap.unwrap_or(default.cap),
        gate: typed.gate.as_ref().map(|typed| typed.gate.clone()),
        ..default
    };
    if let Some(typed) = &typed.gate {
        return Ok(JudgingPolicy { margin: typed.margin, ..policy });
    }
    let margin = if typed.margin.is_none() { read_primary(typed)?.metric.usual_margin(&policy) } else { policy.margin };
    Ok(JudgingPolicy { margin, ..policy })
}

/// Converts a word to text, which stored and resumed commands must be.
fn read_word(word: OsString) -> Result<String, CommandFailure> {
    word.into_string().map_err(|word| {
        CommandFailure::usage_error(format!("the command is not UTF-8 text: {}", word.display()))
            .with_hint("Put it into a script with a UTF-8 name.")
    })
}

#[cfg(test)]
mod tests;
