//! `corewise try --suite`: conducts an experiment for each benchmark of a suite, one after the other, on the same placements.

pub mod document;

use std::path::Path;

use corewise_lab::experiment::{CommandSubject, ExperimentContext, ExperimentEnd, OpenExperiment};
use corewise_lab::session::SessionBudget;
use corewise_lab::suite::{self, BudgetShare, SuiteHost, SuitePlan, SuiteSource, missing_programs};
use corewise_machine::Machine;
use corewise_model::credentials::join_words;
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::suite::results::{RowResult, SuiteResults, SuiteRow, TriedBenchmark};
use corewise_model::suite::{BUILT_IN, BenchmarkSuite, SuiteBenchmark};
use corewise_model::trial::{Experiment, Trial};
use corewise_statistics::experiment::Verdict;
use corewise_sys::installed::distribution_names;

use super::screen::suite::{compose_story, write_csv};
use super::screen::{ShownExperiment, draw_answer};
use super::task::{SuiteTask, TryFormat, TryTask};
use super::{TrySessions, beginning};
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::file_commands::FileCommands;
use crate::app::interruption::InterruptionWatch;
use crate::app::lock;
use crate::app::machine::this_machine;
use crate::app::output::{print_form, print_message, print_text, show_story};
use crate::app::settings::{HistoryPlace, ProgramSettings};
use crate::app::user_store::to_write;
use crate::draw::markdown;
use crate::draw::printable::{last_lines, make_printable, printable_name};
use document::SuiteDocument;

/// Runs a session of a suite.
pub fn run_suite(
    task: &SuiteTask,
    limits: &TryTask,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let SuiteSource { suite, folder, text, origin } = suite::read_suite(&task.source).map_err(|error| {
        CommandFailure::usage_error(error).with_hint(format!(
            "Built-in suites: {}. docs/trying.md explains how to write one.",
            BUILT_IN.map(|(name, _)| name).join(", ")
        ))
    })?;
    if task.only_installs {
        return print_text(&list_installations(&suite, &folder)).map(|()| CommandExit::Done);
    }
    let lines = suite.benchmarks.iter().flat_map(|benchmark| {
        let script = |script: &Option<String>| script.as_ref().map(|script| script.replace('\n', "; "));
        let removed = benchmark.metric_file.as_ref().map(|file| format!("rm {file}    (before each run)"));
        let variants = benchmark.variants.iter().map(|variant| format!(", {}", variant.typed_text()));
        let command = Some(format!("{}{}", join_words(&benchmark.command), variants.collect::<String>()));
        [script(&benchmark.setup), removed, command, script(&benchmark.cleanup)].into_iter().flatten()
    });
    if let Some(origin) = &origin {
        let file = Path::new(&task.source);
        FileCommands { file, origin, imported: None, content: text.as_bytes(), lines: lines.collect() }
            .check_trust(settings)?;
    }
    let _lock = lock::take_lock(settings)?;
    let machine = this_machine()?;
    let interruption = InterruptionWatch::watch_signals()?;
    let context = ExperimentContext {
        machine: &machine,
        knowledge: settings,
        journals: None,
        estimates_clock: limits.estimates_clock,
        budget: limits.budget,
        stop: interruption.stop(),
    };
    let earlier = if task.resumes { find_session(&suite, &machine, settings)? } else { Vec::new() };
    let first = earlier.first();
    let part = first.and_then(|first| first.experiment.suite.clone());
    let arms = match first {
        Some(first) => first.experiment.arms.clone(),
        None => {
            // The names are the same in all benchmarks.
            let variants = suite.benchmarks.first().map(|first| first.variants.clone()).unwrap_or_default();
            let subject = CommandSubject { variants, ..CommandSubject::default() };
            beginning::plan_arms(&task.candidates, &subject, &context, settings)?
        }
    };
    // The original policy: different limits would make a different suite.
    let policy = part.as_ref().map_or_else(|| task.policy.clone(), |part| part.policy.clone());
    let search = std::env::var_os("PATH");
    let plan = SuitePlan {
        suite: &suite,
        folder: &folder,
        search: search.as_deref(),
        machine: &machine,
        arms: &arms,
        policy: &policy,
        seed: task.seed,
        most_runs: limits.runs_max,
        begun_unix_ms: part.map(|part| part.begun_unix_ms),
        corewise: env!("CARGO_PKG_VERSION"),
    };
    let budget = SessionBudget::new(limits.budget, interruption.stop());
    let sessions = TrySessions { task: limits, context, settings };
    let mut history = SuiteHistory { sessions, benchmarks: suite.benchmarks.len() };
    let results = suite::conduct_suite(plan, earlier, budget, &mut history)?;
    let rows: Vec<SuiteRow<'_>> =
        suite.benchmarks.iter().zip(results).map(|(benchmark, result)| SuiteRow { benchmark, result }).collect();
    let missing: Vec<&SuiteBenchmark> =
        rows.iter().filter(|row| matches!(row.result, RowResult::Missing(_))).map(|row| row.benchmark).collect();
    let installation =
        distribution_names().iter().find_map(|name| suite.find_installation(name, &missing)).map(|found| found.command);
    let shown = SuiteResults { suite: &suite, arms: &arms, policy: &policy, rows: &rows, installation };
    print_results(&shown, limits.print, settings)?;
    Ok(exit_of_suite(&rows, &interruption))
}

/// Stores a suite's experiments in the history, if there is one, and shows their progress.
struct SuiteHistory<'a> {
    sessions: TrySessions<'a>,
    benchmarks: usize,
}

impl SuiteHost for SuiteHistory<'_> {
    type Error = CommandFailure;

    fn keep_experiment(&mut self, experiment: Experiment) -> Result<OpenExperiment, CommandFailure> {
        beginning::store_new(experiment, self.sessions.settings)
    }

    fn continue_experiment(
        &mut self,
        begun: &OpenExperiment,
        share: Option<BudgetShare>,
    ) -> Result<(Vec<Trial>, ExperimentEnd), CommandFailure> {
        let subject = CommandSubject::from_workload(&begun.experiment.workload);
        let (budget, reserve) = (share.map(|share| share.budget), share.map(|share| share.reserve));
        self.sessions.continue_experiment(begun, &subject, budget, reserve)
    }

    fn warn_of_script(&mut self, benchmark: &SuiteBenchmark, why: &str, output: &str) {
        let lines: String = last_lines(output, usize::MAX).iter().map(|line| format!("\n    {line}")).collect();
        print_message(&format!("warning: {}: {why}{lines}", printable_name(&benchmark.name)));
    }

    /// Prints a line for each finished benchmark, because a suite takes long.
    fn end_benchmark(&mut self, number: usize, benchmark: &SuiteBenchmark, result: &RowResult) {
        let RowResult::Tried(tried) = result else { return };
        if self.sessions.settings.progress {
            let (all, name) = (self.benchmarks, printable_name(&benchmark.name));
            print_message(&format!(
                "{} of {all}  {name}: {}",
                number + 1,
                draw_answer(ShownExperiment::from_tried(tried)).to_plain()
            ));
        }
    }
}

fn print_results(shown: &SuiteResults<'_>, how: TryFormat, settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let story = how.compose_story(|| compose_story(shown));
    match how {
        TryFormat::Csv => print_form(&write_csv(shown, &story.note_sentences())),
        TryFormat::Markdown => print_form(&markdown::write_story(&story, None)),
        TryFormat::Screen => show_story(settings, || SuiteDocument::new(shown, &story), &story),
    }
}

/// Returns `Done` if everything that could be tried is decided.
fn exit_of_suite(rows: &[SuiteRow<'_>], interruption: &InterruptionWatch) -> CommandExit {
    let tried = || rows.iter().filter_map(SuiteRow::tried_benchmark);
    let is_open = |tried: &TriedBenchmark| {
        tried.standing.verdict.is_open() || matches!(tried.standing.verdict, Verdict::Unsound { .. })
    };
    let left = rows.iter().any(|row| matches!(row.result, RowResult::NotTried | RowResult::Dropped { .. }));
    match () {
        () if interruption.was_seen() && (left || tried().any(is_open)) => CommandExit::Interrupted,
        () if tried().next().is_none() => CommandExit::Unavailable,
        () if left || tried().any(is_open) => CommandExit::Undecided,
        () => CommandExit::Done,
    }
}

/// Returns a line for each distribution with known packages: the command that installs the missing programs, or all
/// programs if none is missing.
fn list_installations(suite: &BenchmarkSuite, folder: &Path) -> String {
    let search = std::env::var_os("PATH");
    let missing: Vec<&SuiteBenchmark> = suite
        .benchmarks
        .iter()
        .filter(|benchmark| !missing_programs(benchmark, folder, search.as_deref()).is_empty())
        .collect();
    let (what, wanted) = match missing.is_empty() {
        true => ("All programs are installed. Their packages:", suite.benchmarks.iter().collect()),
        false => ("Missing:", missing),
    };
    let lines = suite.install.keys().filter_map(|distribution| {
        let found = suite.find_installation(distribution, &wanted)?;
        let unknown = if found.unknown.is_empty() {
            String::new()
        } else {
            format!("; find packages with {}", found.unknown.join(", "))
        };
        // Only the end of the line ends the remark.
        Some(make_printable(&format!("    {}    # {distribution}{unknown}", found.command)))
    });
    std::iter::once(what.to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
}

/// Returns the stored experiments of a suite's last session on this machine, with their trials.
fn find_session(
    suite: &BenchmarkSuite,
    machine: &Machine,
    settings: &ProgramSettings,
) -> Result<Vec<OpenExperiment>, CommandFailure> {
    let nothing = || {
        CommandFailure::unavailable_error(format!(
            "there is no session of the suite \"{}\" on this machine to continue",
            suite.name
        ))
        .with_hint("Start one without --resume.")
    };
    let HistoryPlace::At(path) = &settings.history else { return Err(nothing()) };
    let unavailable = |error| CommandFailure::unavailable_error(error);
    let store = if path.exists() { to_write(path, settings).map_err(unavailable)? } else { return Err(nothing()) };
    let mut parts: Vec<OpenExperiment> = Vec::new();
    for read in store.own_artifacts(machine, |_| true).map_err(unavailable)? {
        let (number, ExperimentRecord { experiment, trials }) = read.map_err(unavailable)?;
        let Some(part) = experiment.suite.as_ref().filter(|part| part.suite == suite.name) else { continue };
        let last = parts.first().and_then(|first| first.experiment.suite.as_ref());
        if last.is_none_or(|last| last.begun_unix_ms == part.begun_unix_ms) {
            beginning::refuse_other(&experiment, machine, number)?;
            parts.push(OpenExperiment { experiment, trials, stored: Some(number) });
        }
    }
    let experiments: Vec<&Experiment> = parts.iter().map(|part| &part.experiment).collect();
    beginning::check_owner(&store, &experiments, settings)?;
    if parts.is_empty() { Err(nothing()) } else { Ok(parts) }
}
