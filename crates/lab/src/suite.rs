//! Suites: an experiment per benchmark, one after the other, on the same placements; their folders, scripts and shares
//! of the time.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corewise_machine::Machine;
use corewise_model::suite::results::RowResult;
use corewise_model::suite::{BUILT_IN, BenchmarkSuite, SuiteBenchmark, SuitePart};
use corewise_model::trial::{self, Experiment, PlacementArm, Trial, TrialOutcome, TriedWorkload, race_of_trials};
use corewise_statistics::experiment::JudgingPolicy;
use corewise_sys::file_place::FileOrigin;
use corewise_sys::input::{InputFile, InputKind};
use corewise_sys::installed::is_installed;
use tempfile::TempDir;

use crate::LabError;
use crate::experiment::{ExperimentEnd, OpenExperiment, create_experiment};
use crate::script::{self, ScriptError};
use crate::session::SessionBudget;

/// Keeps a suite's experiments, and observes it.
pub trait SuiteHost {
    /// Error that ends the suite.
    type Error;

    /// Stores a new experiment.
    ///
    /// # Errors
    /// If it cannot be stored.
    fn keep_experiment(&mut self, experiment: Experiment) -> Result<OpenExperiment, Self::Error>;

    /// Continues an experiment in the current folder, within its share of a budget. Returns all trials, including the
    /// earlier ones.
    ///
    /// # Errors
    /// If its trials cannot be made or stored.
    fn continue_experiment(
        &mut self,
        begun: &OpenExperiment,
        share: Option<BudgetShare>,
    ) -> Result<(Vec<Trial>, ExperimentEnd), Self::Error>;

    /// Called when a script of a benchmark failed without deciding its result.
    fn warn_of_script(&mut self, benchmark: &SuiteBenchmark, why: &str, output: &str);

    /// Called when a benchmark that was begun is over; they count from 0.
    fn end_benchmark(&mut self, number: usize, benchmark: &SuiteBenchmark, result: &RowResult);
}

/// A benchmark's share of a suite's budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetShare {
    /// Equal part of the remaining time.
    pub budget: Duration,
    /// The rest of it, used only if a verdict needs it.
    pub reserve: Duration,
}

/// Suite, and the parameters of trying it.
#[derive(Clone, Copy, Debug)]
pub struct SuitePlan<'a> {
    /// The suite.
    pub suite: &'a BenchmarkSuite,
    /// Folder that its paths are relative to.
    pub folder: &'a Path,
    /// Folders to search for programs, in the form of `PATH`; `None` without any.
    pub search: Option<&'a OsStr>,
    /// The machine.
    pub machine: &'a Machine,
    /// Arms in each benchmark, the baseline first: the OS default, or the first variant with it.
    pub arms: &'a [PlacementArm],
    /// Policy of judging each.
    pub policy: &'a JudgingPolicy,
    /// Seed of the random orders; from the clock if `None`.
    pub seed: Option<u64>,
    /// Maximum runs of an experiment; `None` for no limit.
    pub most_runs: Option<u32>,
    /// Begin of the suite in an earlier session, in milliseconds since 1970-01-01 UTC.
    pub begun_unix_ms: Option<i64>,
    /// Version of corewise, for the record.
    pub corewise: &'static str,
}

/// Suite that was read.
#[derive(Clone, Debug)]
pub struct SuiteSource {
    /// The suite.
    pub suite: BenchmarkSuite,
    /// Folder of its file, which its paths are relative to.
    pub folder: PathBuf,
    /// Text of its file.
    pub text: String,
    /// The origin of its file, since it contains commands; `None` for a built-in one.
    pub origin: Option<FileOrigin>,
}

/// Reads the suite of a file, or a built-in one.
///
/// # Errors
/// [`LabError::Unreadable`], or [`LabError::Suite`] if it is not valid.
pub fn read_suite(file: &str) -> Result<SuiteSource, LabError> {
    let path = Path::new(file);
    let held = BUILT_IN.iter().find(|(name, _)| *name == file);
    let read = InputFile::open(path, InputKind::Suite).and_then(InputFile::text_with_origin);
    let (text, origin) = match (read, held) {
        (Ok((text, origin)), _) => (text, Some(origin)),
        (Err(_), Some((_, text))) => ((*text).to_owned(), None),
        (Err(source), None) => return Err(source.into()),
    };
    let folder = origin.as_ref().and_then(|origin| origin.path().parent()).map(Path::to_owned).unwrap_or_default();
    let suite = BenchmarkSuite::parse(&text).map_err(|source| LabError::Suite { file: file.to_owned(), source })?;
    Ok(SuiteSource { suite, folder, text, origin })
}

/// Returns the programs of a benchmark that are not installed. Those with a path are relative to the suite's folder.
/// Others are searched in the folders of `search`, in the form of `PATH`.
pub fn missing_programs(benchmark: &SuiteBenchmark, folder: &Path, search: Option<&OsStr>) -> Vec<String> {
    let is_missing = |program: &String| !is_installed(&resolve_program(folder, program), search);
    benchmark.needed_programs().into_iter().filter(is_missing).collect()
}

/// Name by which suites call corewise, for its workloads.
const OWN_NAME: &str = "corewise";

/// Resolves a program with a path relative to the suite's folder. corewise itself is the running program if it is not installed.
fn resolve_program(folder: &Path, program: &str) -> String {
    if program.contains(std::path::is_separator) {
        return folder.join(program).display().to_string();
    }
    let is_absent = || !is_installed(program, std::env::var_os("PATH").as_deref());
    let is_own = |path: &PathBuf| path.file_stem().is_some_and(|name| name == OWN_NAME);
    let own = || std::env::current_exe().ok().filter(is_own).map(|path| path.display().to_string());
    let own = Some(program).filter(|program| *program == OWN_NAME && is_absent()).and_then(|_| own());
    own.unwrap_or_else(|| program.to_owned())
}

/// Tries a suite within a budget, shared by the benchmarks that can be tried and are not decided yet. Returns their
/// results in order.
///
/// # Errors
/// Those of the keeper.
pub fn conduct_suite<K: SuiteHost>(
    plan: SuitePlan<'_>,
    mut earlier: Vec<OpenExperiment>,
    budget: SessionBudget<'_>,
    keeper: &mut K,
) -> Result<Vec<RowResult>, K::Error> {
    let is_known = |benchmark: &SuiteBenchmark| {
        earlier.iter().any(|begun| plan.is_of(&begun.experiment, benchmark) && is_decided(begun))
    };
    let decided = plan.suite.benchmarks.iter().map(is_known).collect();
    let mut session = SuiteSession { plan, begun_unix_ms: plan.begun_unix_ms, decided, budget, keeper };
    let results = plan.suite.benchmarks.iter().enumerate().map(|(number, benchmark)| {
        let known = earlier.iter().position(|begun| plan.is_of(&begun.experiment, benchmark));
        let known = known.map(|known| earlier.swap_remove(known));
        session.try_benchmark(number, benchmark, known)
    });
    results.collect()
}

impl SuitePlan<'_> {
    /// Returns true if an experiment is that of a benchmark in its present form.
    fn is_of(&self, experiment: &Experiment, benchmark: &SuiteBenchmark) -> bool {
        let part = experiment.suite.as_ref();
        part.is_some_and(|part| part.benchmark == benchmark.name && part.setup == benchmark.setup)
            && experiment.workload.timeout_s == benchmark.timeout_s
            && experiment.workload.metric_file == benchmark.metric_file
            && experiment.workload.metric == benchmark.deciding_metric()
            && experiment.workload.variants == benchmark.variants
            && experiment.workload.command == self.benchmark_command(benchmark)
    }

    fn benchmark_command(&self, benchmark: &SuiteBenchmark) -> Vec<String> {
        let mut command = benchmark.command.clone();
        if let Some(program) = command.first_mut() {
            *program = resolve_program(self.folder, program);
        }
        command
    }

    fn new_experiment(&self, number: usize, benchmark: &SuiteBenchmark, folder: &Path) -> Experiment {
        let metric = benchmark.deciding_metric();
        let least_blocks = self.policy.blocks_of_a_mean(self.arms.len() - 1);
        let policy = JudgingPolicy { least_blocks, margin: metric.usual_margin(self.policy), ..self.policy.clone() };
        let workload = TriedWorkload {
            variants: benchmark.variants.clone(),
            metric_file: benchmark.metric_file.clone(),
            timeout_s: benchmark.timeout_s,
            ..TriedWorkload::new(
                self.benchmark_command(benchmark),
                trial::FolderText::of_bytes(folder.as_os_str().as_encoded_bytes().to_vec()),
                metric,
            )
        };
        // Each experiment has orders of its own.
        let seed = self.seed.map(|seed| seed.wrapping_add(number as u64));
        create_experiment(self.corewise, self.machine.clone(), workload, self.arms.to_vec(), policy, seed)
    }
}

fn is_decided(begun: &OpenExperiment) -> bool {
    race_of_trials(&begun.experiment, &begun.trials).is_decided()
}

fn known_row(begun: OpenExperiment) -> RowResult {
    RowResult::from_trials(begun.experiment, begun.trials, begun.stored)
}

struct SuiteSession<'a, 'k, K> {
    plan: SuitePlan<'a>,
    /// Begin of the suite; set by its first experiment if unknown.
    begun_unix_ms: Option<i64>,
    /// Whether earlier sessions have decided each benchmark.
    decided: Vec<bool>,
    budget: SessionBudget<'a>,
    keeper: &'k mut K,
}

/// Reason why a benchmark was not tried to its end.
enum CutBenchmark<E> {
    /// It ends this benchmark only.
    Row(RowResult),
    /// It ends the suite.
    Suite(E),
}

impl<K: SuiteHost> SuiteSession<'_, '_, K> {
    /// Tries a benchmark, unless it is decided or the time is up.
    fn try_benchmark(
        &mut self,
        number: usize,
        benchmark: &SuiteBenchmark,
        known: Option<OpenExperiment>,
    ) -> Result<RowResult, K::Error> {
        let missing = missing_programs(benchmark, self.plan.folder, self.plan.search);
        let is_over = self.budget.is_stopped() || self.time_share(number).is_some_and(|share| share.is_zero());
        let instead = match () {
            () if !missing.is_empty() => Some(RowResult::Missing(missing)),
            () if is_over => Some(RowResult::NotTried),
            () => None,
        };
        if instead.is_some() || known.as_ref().is_some_and(is_decided) {
            return Ok(known.map(known_row).or(instead).unwrap_or(RowResult::NotTried));
        }
        let began = std::env::current_dir().ok();
        let tried = self.try_in_folder(number, benchmark, known);
        if let Some(began) = began {
            let _ = std::env::set_current_dir(began);
        }
        let result = match tried {
            Ok(result) | Err(CutBenchmark::Row(result)) => result,
            Err(CutBenchmark::Suite(error)) => return Err(error),
        };
        self.keeper.end_benchmark(number, benchmark, &result);
        Ok(result)
    }

    /// Returns a benchmark's part of the remaining time, shared with later ones that can be tried and are not decided
    /// yet.
    fn time_share(&self, number: usize) -> Option<Duration> {
        let suite = self.plan.suite.benchmarks.iter().zip(&self.decided).skip(number);
        let waits = suite.filter(|(benchmark, decided)| {
            !**decided && missing_programs(benchmark, self.plan.folder, self.plan.search).is_empty()
        });
        let waiting = waits.count();
        self.budget.time_left().map(|left| left / waiting.max(1) as u32)
    }

    /// Sets a benchmark up, tries it, and cleans up.
    fn try_in_folder(
        &mut self,
        number: usize,
        benchmark: &SuiteBenchmark,
        known: Option<OpenExperiment>,
    ) -> Result<RowResult, CutBenchmark<K::Error>> {
        let folder = BenchmarkFolder::from_benchmark(benchmark, self.plan.folder).map_err(CutBenchmark::Row)?;
        std::env::set_current_dir(folder.folder_path())
            .map_err(|error| CutBenchmark::Row(failed_row(format!("{}: {error}", folder.folder_path().display()))))?;
        if let Some(script) = &benchmark.setup
            && let Err(result) = run_script("set-up", script, self.budget.stop())
        {
            let Some(known) = known.filter(|known| !known.trials.is_empty()) else {
                return Err(CutBenchmark::Row(result));
            };
            // Earlier results stay; there are just no new ones.
            if let RowResult::Failed { why, output, .. } = &result {
                self.keeper.warn_of_script(benchmark, why, output);
            }
            return Ok(known_row(known));
        }
        let result = self.conduct_benchmark(number, benchmark, known, folder.folder_path());
        // It undoes the set-up's work elsewhere, so Ctrl-C must not end it.
        if let Some(script) = &benchmark.cleanup
            && let Err(RowResult::Failed { why, .. }) = run_script("clean-up", script, &AtomicBool::new(false))
        {
            self.keeper.warn_of_script(benchmark, &why, "");
        }
        result.map_err(CutBenchmark::Suite)
    }

    fn conduct_benchmark(
        &mut self,
        number: usize,
        benchmark: &SuiteBenchmark,
        known: Option<OpenExperiment>,
        folder: &Path,
    ) -> Result<RowResult, K::Error> {
        let mut begun = match known {
            Some(begun) => begun,
            None => self.begin_experiment(number, benchmark, folder)?,
        };
        begun.experiment.policy.most_runs = self.plan.most_runs;
        let share = self.time_share(number).map(|budget| BudgetShare {
            budget,
            reserve: self.budget.time_left().unwrap_or_default().saturating_sub(budget),
        });
        let (trials, ending) = self.keeper.continue_experiment(&begun, share)?;
        if trials.iter().any(|trial| trial.block > 0 || matches!(trial.outcome, TrialOutcome::Failed { .. })) {
            return Ok(RowResult::from_trials(begun.experiment, trials, begun.stored));
        }
        let dropped = |why: String| RowResult::Dropped { why };
        Ok(match (ending, share) {
            (ExperimentEnd::TooShort(forecast), _) => {
                let seconds = forecast.earliest.as_secs_f64();
                dropped(format!("a verdict takes {seconds:.0} s at least, more than is left of the budget"))
            }
            (ExperimentEnd::Budget, Some(BudgetShare { budget, .. })) => {
                let seconds = budget.as_secs_f64();
                dropped(format!("one run on each placement takes longer than its part of the budget, {seconds:.1} s"))
            }
            _ => RowResult::NotTried,
        })
    }

    fn begin_experiment(
        &mut self,
        number: usize,
        benchmark: &SuiteBenchmark,
        folder: &Path,
    ) -> Result<OpenExperiment, K::Error> {
        let mut experiment = self.plan.new_experiment(number, benchmark, folder);
        experiment.suite = Some(SuitePart {
            suite: self.plan.suite.name.clone(),
            begun_unix_ms: *self.begun_unix_ms.get_or_insert(experiment.started_unix_ms),
            benchmark: benchmark.name.clone(),
            category: benchmark.category.clone(),
            setup: benchmark.setup.clone(),
            policy: self.plan.policy.clone(),
        });
        self.keeper.keep_experiment(experiment)
    }
}

/// Folder that a benchmark runs in; a temporary one is removed with this value.
enum BenchmarkFolder {
    Own(TempDir),
    Named(PathBuf),
}

impl BenchmarkFolder {
    fn from_benchmark(benchmark: &SuiteBenchmark, suite: &Path) -> Result<Self, RowResult> {
        match &benchmark.folder {
            Some(folder) => Ok(Self::Named(suite.join(folder))),
            None => tempfile::Builder::new()
                .prefix("corewise-")
                .tempdir()
                .map(Self::Own)
                .map_err(|error| failed_row(format!("its folder cannot be created: {error}"))),
        }
    }

    fn folder_path(&self) -> &Path {
        match self {
            Self::Own(folder) => folder.path(),
            Self::Named(folder) => folder,
        }
    }
}

fn failed_row(why: String) -> RowResult {
    RowResult::Failed { why, output: String::new(), stored: None }
}

/// Runs a script of a benchmark.
fn run_script(what: &str, script: &str, stop: &AtomicBool) -> Result<(), RowResult> {
    script::run(&format!("its {what}"), script, &[], stop).map_err(|trouble| match trouble {
        ScriptError::Interrupted => RowResult::NotTried,
        ScriptError::Failed { why, output } => RowResult::Failed { why, output, stored: None },
    })
}
