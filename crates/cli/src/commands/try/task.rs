//! The task of `try`.

mod live;
mod parts;
mod threads;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use corewise_lab::experiment::{
    CandidateRequest, CommandSubject, ExperimentBuilder, PlacementChoice, ServicesSubject, ThreadCounts, ThreadsSubject,
};
use corewise_machine::suggested_command;
use corewise_model::experiment::{JudgingPolicy, QuestionKind};
use corewise_model::metric_line;
use corewise_model::sample::QuantityFinder;
use corewise_model::trial::TrialMetric;

use super::arguments::TryArguments;
use crate::app::failure::CommandFailure;
use crate::draw::story::Story;
use crate::draw::suggestion;
use crate::draw::suggestion::quote_word;
pub use live::LiveTask;
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
    /// Rest of the machine before each trial; depends on the duration of a run if `None`.
    pub rest: Option<Duration>,
    /// Maximum time for placements that all look worse.
    pub worse_at_most: Option<Duration>,
    /// True if the clock rate is estimated when cycles cannot be counted.
    pub estimates_clock: bool,
    /// True if a winner is to be confirmed in long stretches.
    pub confirms: bool,
    /// The output format, unless JSON is requested.
    pub print: TryFormat,
    /// The file for the picture of the scaling with numbers of threads.
    pub svg: Option<PathBuf>,
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
            Self::One(ExperimentSource::New(new)) => {
                matches!(&new.subject, SubjectTask::Threads(subject) if subject.threads.counts.len() > 1)
            }
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
        let (budget, runs_max, rest, estimates_clock) =
            (typed.budget, typed.runs_max, typed.rest, typed.estimate_clock);
        let (svg, confirms) = (typed.svg.clone(), typed.confirm);
        let worse_at_most = typed.worse_at_most;
        let policy = read_policy(&typed)?;
        if confirms && policy.what == QuestionKind::Tail {
            return Err(super::tail_in_stretches_failure());
        }
        // If a command is given, clap skips this check, because `--suite` conflicts with a command.
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
        Ok(Self { subject, budget, runs_max, rest, worse_at_most, estimates_clock, confirms, print, svg })
    }
}

impl NewExperiment {
    fn new(typed: TryArguments, policy: JudgingPolicy) -> Result<Self, CommandFailure> {
        let (threads, table) = threads::read_threads(&typed)?;
        let metric = read_primary(&typed)?;
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
        if typed.dry_run && live.is_none() && parts.parts.is_none() {
            return Err(CommandFailure::usage_error(
                "--dry-run needs running processes, or services: --pid, --unit, --match or --start",
            ));
        }
        let on = if typed.on.is_empty() { &parts.placements } else { &typed.on };
        let choices = PlacementChoice::parse_all(on, typed.near.as_deref())?;
        let (seed, is_dry, memory) = (typed.seed, typed.dry_run, typed.memory.clone());
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
        Ok(Self { builder, subject, is_dry })
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
        let command = if command.is_empty() { parts.load } else { command };
        if command.is_empty() {
            return Err(CommandFailure::usage_error("services need a load: the command that is run beside them")
                .with_hint("Give it behind `--`, or as `load = [\"program\", \"argument\"]` in the file of --parts."));
        }
        let command = CommandSubject {
            command,
            threads,
            metric_file: typed.metric_file,
            vary: typed.vary,
            follow: typed.follow,
            timeout: typed.timeout,
        };
        Ok(match (table, parts.parts) {
            (Some(threads), _) => Self::Threads(ThreadsSubject { command, threads }),
            (None, Some(services)) => Self::Services(
                ServicesSubject { load: command, parts: services, thread_roles: parts.thread_roles },
                parts.file,
            ),
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

fn read_policy(typed: &TryArguments) -> Result<JudgingPolicy, CommandFailure> {
    let default = JudgingPolicy::default();
    let policy = JudgingPolicy {
        error_rate: typed.error_rate.unwrap_or(default.error_rate),
        margin: typed.margin.unwrap_or(default.margin),
        guard_margin: typed.guard_margin.unwrap_or(default.guard_margin),
        what: typed.what.map_or(default.what, QuestionKind::from),
        slow: typed.slow.unwrap_or(default.slow),
        cap: typed.cap.unwrap_or(default.cap),
        ..default
    };
    let margin = if typed.margin.is_none() { read_primary(typed)?.usual_margin(&policy) } else { policy.margin };
    Ok(JudgingPolicy { margin, ..policy })
}

fn read_primary(typed: &TryArguments) -> Result<TrialMetric, CommandFailure> {
    if live::is_live(typed) {
        return live::read_primary(typed);
    }
    let Some(text) = &typed.metric else { return Ok(TrialMetric::wall_time()) };
    let metric = parse_metric("--metric", text, typed.higher)?;
    if typed.higher || typed.lower {
        return Ok(metric);
    }
    // A pattern made by corewise itself carries no direction.
    let pattern = metric.pattern.as_deref().filter(|_| text.contains('=')).unwrap_or_default();
    let said = metric_line::more_is_better(&metric.name, pattern);
    let higher_is_better = said.ok_or_else(|| {
        let typed = quote_word(text);
        CommandFailure::usage_error(format!("--metric: is more of \"{}\" better, or less?", metric.name))
            .with_hint(format!("Add one of:  --metric {typed} --higher    --metric {typed} --lower"))
    })?;
    Ok(TrialMetric { higher_is_better, ..metric })
}

fn read_guard(text: &str, higher_is_better: bool, typed: &TryArguments) -> Result<TrialMetric, CommandFailure> {
    let option = if higher_is_better { "--guard-higher" } else { "--guard" };
    if live::is_live(typed) {
        return live::parse_metric((option, text, Some(higher_is_better)), false, typed);
    }
    parse_metric(option, text, higher_is_better)
}

/// Parses a metric: "throughput=([0-9.]+) MB/s", or a name alone.
fn parse_metric(option: &str, text: &str, higher_is_better: bool) -> Result<TrialMetric, CommandFailure> {
    let example = "For example: --metric 'throughput=([0-9.]+) MB/s' --higher";
    let (name, pattern) = text.split_once('=').map_or((text, None), |(name, pattern)| (name, Some(pattern)));
    if name.trim().is_empty() || pattern.is_some_and(str::is_empty) {
        return Err(CommandFailure::usage_error(format!("{option}: expected NAME or NAME=REGEX, found \"{text}\""))
            .with_hint(example));
    }
    let name = name.trim().to_owned();
    let pattern = pattern.map_or_else(|| metric_line::metric_pattern(&name), str::to_owned);
    QuantityFinder::new(&pattern)
        .map_err(|error| CommandFailure::usage_error(format!("{option}: {error}")).with_hint(example))?;
    Ok(TrialMetric { name, pattern: Some(pattern), higher_is_better, reading: None })
}

/// Converts a word to text, which stored and resumed commands must be.
fn read_word(word: OsString) -> Result<String, CommandFailure> {
    word.into_string().map_err(|word| {
        CommandFailure::usage_error(format!("the command is not UTF-8 text: {}", word.display()))
            .with_hint("Put it into a script with a UTF-8 name.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::run::parse_typed;

    fn task(words: &[&str]) -> Result<TryTask, String> {
        TryTask::new(parse_typed(&[&["try"], words].concat())?).map_err(|failure| failure.what)
    }

    fn new(words: &[&str]) -> NewExperiment {
        match task(words).unwrap().subject {
            TrySubject::One(ExperimentSource::New(new)) => *new,
            other => panic!("{other:?}"),
        }
    }

    fn command(words: &[&str]) -> CommandSubject {
        match new(words).subject {
            SubjectTask::Command(command) => command,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_suggested_line_of_try_is_understood() {
        for (name, command) in suggested_command::examples() {
            // A and B stand for placements that the reader has.
            if command.command() != Some("try") || name == "try_both_of" {
                continue;
            }
            let words: Vec<&str> = command.words()[1..].iter().map(String::as_str).collect();
            let task = parse_typed::<TryArguments>(&words).map(TryTask::new);
            let failure = task.unwrap_or_else(|error| panic!("{name}: {error}")).err();
            assert!(failure.is_none(), "{name}: {}: {failure:?}", command.shell_line());
        }
    }

    #[test]
    fn the_operating_systems_choice_is_one_of_them_only_where_it_is_named_twice() {
        assert!(task(&["--on", "os", "--", "ls"]).is_err());
        let choices = |words: &[&str]| new(words).builder.candidates.choices;
        assert_eq!(choices(&["--on", "os", "--on", "OS", "--", "ls"]), [PlacementChoice::OsDefault]);
        let of_two = ["--on", "0", "--on", "os", "--", "ls", "-l", "--on", "9"];
        assert!(matches!(&choices(&of_two)[..], [PlacementChoice::Placement(text, _)] if text == "0"));
        assert_eq!(command(&of_two).command, ["ls", "-l", "--on", "9"]);
        assert!(choices(&["--", "ls"]).is_empty());
    }

    #[test]
    fn a_metric_has_a_name_and_a_pattern() {
        let metric = new(&["--metric", "rate=([0-9.]+) MB/s", "--higher", "ls"]).builder.metric;
        assert_eq!((metric.name.as_str(), metric.pattern.as_deref()), ("rate", Some("([0-9.]+) MB/s")));
        assert!(metric.higher_is_better);
        let direction = |words: &[&str]| {
            task(words).map(|task| match task.subject {
                TrySubject::One(ExperimentSource::New(new)) => new.builder.metric.higher_is_better,
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(direction(&["--metric", "fps=([0-9]+)", "ls"]), Ok(true));
        assert_eq!(direction(&["--metric", "x=([0-9]+) ms", "ls"]), Ok(false));
        assert_eq!(direction(&["--metric", "fps=([0-9]+)", "--lower", "ls"]), Ok(false));
        assert_eq!(
            direction(&["--metric", "x=([0-9]+)", "ls"]).unwrap_err(),
            "--metric: is more of \"x\" better, or less?"
        );
        for wrong in ["=x", "rate=", "rate=(", "rate=["] {
            assert!(task(&["--metric", wrong, "ls"]).unwrap_err().starts_with("--metric: "), "{wrong}");
        }
        assert!(task(&["--higher", "ls"]).is_err());
    }

    #[test]
    fn a_metric_line_is_found_by_its_name_and_the_name_says_whether_more_is_better() {
        let metric = |name| new(&["--metric", name, "ls"]).builder.metric;
        assert!(metric("rays_per_second").higher_is_better && !metric("p99_ns").higher_is_better);
        assert_eq!(metric("p99.9_ns").pattern, Some(metric_line::metric_pattern("p99.9_ns")));
        assert_eq!(metric("Requests/sec").pattern, Some(metric_line::metric_pattern("Requests/sec")));
        assert_eq!(
            task(&["--metric", "result", "ls"]).unwrap_err(),
            "--metric: is more of \"result\" better, or less?",
            "NAME: 12 may be anything"
        );
        assert!(metric("p99.9_ns").is_tail() && metric("max_ns").is_tail() && !metric("p50_ns").is_tail());
    }

    #[test]
    fn a_metric_file_needs_to_know_what_is_looked_for() {
        let file = |words: &[&str]| task(&[words, &["--metric-file", "out.json", "ls"]].concat());
        assert_eq!(
            command(&["--metric", "fps", "--metric-file", "out.json", "ls"]).metric_file.as_deref(),
            Some("out.json")
        );
        assert!(file(&["--guard", "errors"]).is_ok());
        assert!(file(&[]).unwrap_err().starts_with("--metric-file needs --metric"));
        assert!(file(&["--suite", "review"]).is_err() && file(&["--resume"]).is_err());
    }

    #[test]
    fn slow_runs_are_not_confirmed_in_stretches() {
        assert!(task(&["--confirm", "--what", "mean", "--", "ls"]).is_ok());
        assert!(task(&["--confirm", "--what", "tail", "--", "ls"]).unwrap_err().contains("--what tail"));
    }

    #[test]
    fn tails_have_a_margin_of_their_own() {
        let margin = |words: &[&str]| new(words).builder.policy.margin;
        assert_eq!(margin(&["ls"]), 0.03);
        assert_eq!(margin(&["--metric", "p99.9=([0-9]+)", "ls"]), 0.10);
        assert_eq!(margin(&["--metric", "p99.9=([0-9]+)", "--margin", "2%", "ls"]), 0.02);
        assert_eq!(margin(&["--metric", "p50=([0-9]+)", "ls"]), 0.03);
    }

    #[test]
    fn a_stored_experiment_has_its_command() {
        assert_eq!(task(&["--resume"]).unwrap().subject, TrySubject::One(ExperimentSource::Stored(None)));
        assert_eq!(
            task(&["--resume=7", "--budget", "2m"]).unwrap().subject,
            TrySubject::One(ExperimentSource::Stored(Some(7)))
        );
        assert!(task(&["--resume", "ls"]).is_err() && task(&[]).is_err());
    }

    #[test]
    fn a_picture_is_of_numbers_of_threads() {
        let svg = |words: &[&str]| task(&[&["--svg", "a.svg"], words].concat()).map(|task| task.svg);
        let drawn = Ok(Some(PathBuf::from("a.svg")));
        assert_eq!(svg(&["--threads", "1,2", "--", "ls", "{threads}"]), drawn);
        assert_eq!(svg(&["--resume"]), drawn);
        let others =
            [&["ls"][..], &["--threads", "2", "ls", "{threads}"], &["--on", "0", "ls"], &["--suite", "review"]];
        for words in others.into_iter().chain([&["--simulate", "truth.toml"][..]]) {
            let told = svg(words).unwrap_err();
            assert!(told.starts_with("--svg needs at least two numbers"), "{words:?}: {told}");
        }
    }

    #[test]
    fn a_suite_has_its_commands_and_goes_on_as_a_whole() {
        let suite = |words: &[&str]| match task(words)?.subject {
            TrySubject::Suite(suite) => Ok(*suite),
            other => Err(format!("{other:?}")),
        };
        let resumed = suite(&["--suite", "review", "--resume"]).unwrap();
        assert!(resumed.resumes && resumed.source == "review" && !suite(&["--suite", "review"]).unwrap().resumes);
        assert_eq!(suite(&["--suite", "review", "--on", "0"]).unwrap().candidates.choices.len(), 1);
        for wrong in [&["--suite", "review", "ls"][..], &["--suite", "review", "--resume=3"], &["--install", "ls"]] {
            assert!(task(wrong).is_err(), "{wrong:?}");
        }
    }
}
