//! `corewise try --suite`: an experiment for each benchmark of a suite, one after the other, on the same placements.

pub mod document;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corewise_lab::experiment::Ending;
use corewise_lab::experiment::process::last_lines;
use corewise_model::Machine;
use corewise_model::experiment::{Policy, Verdict};
use corewise_model::suite::{Benchmark, HELD, Part, Suite};
use corewise_model::trial::{self, Arm, Experiment, Outcome, Trial, Workload, standing};
use corewise_store::Store;
use corewise_sys::execution::{End, Execution, USUAL_PATIENCE};
use corewise_sys::installed::{distributions, is_installed};
use tempfile::TempDir;

use super::begin::{self, Begun};
use super::screen::in_words;
use super::screen::suite::{Row, RowResult, ShownSuite, Tried, csv, markdown, screen};
use super::task::{Print, SuiteTask, TryTask, usual_margin};
use super::{lock, session};
use crate::draw::number::count;
use crate::draw::text::printable;
use crate::shell::failure::{Exit, Failure};
use crate::shell::interruption::Interruption;
use crate::shell::machine::this_machine;
use crate::shell::output::{print_text, say, show};
use crate::shell::settings::{History, Settings};
use document::SuiteDocument;

/// Makes a session of a suite.
pub fn run(task: &SuiteTask, limits: &TryTask, settings: &Settings) -> Result<Exit, Failure> {
    let (suite, folder) = read(&task.source)?;
    if task.only_installs {
        return print_text(&installations(&suite, &folder)).map(|()| Exit::Done);
    }
    let _lock = lock::take(&settings.lock)?;
    let machine = this_machine()?;
    let mut earlier = if task.resumes { parts(&suite, &machine, settings)? } else { Vec::new() };
    let begun_unix_ms = earlier.first().and_then(|part| part.experiment.suite.as_ref()).map(|part| part.begun_unix_ms);
    let arms = match earlier.first() {
        Some(part) => part.experiment.arms.clone(),
        None => begin::arms(&task.choices, None, &machine, settings)?,
    };
    // As it was begun: other limits would be another suite.
    let policy = match earlier.first() {
        Some(part) => part.experiment.suite.as_ref().map_or_else(Policy::default, |part| part.policy.clone()),
        None => task.policy.clone(),
    };
    let interruption = Interruption::watch()?;
    let mut session = SuiteSession {
        suite: &suite,
        folder: &folder,
        limits,
        settings,
        machine,
        arms,
        policy: &policy,
        seed: task.seed,
        begun_unix_ms,
        until: limits.budget.map(|budget| Instant::now() + budget),
        decided: Vec::new(),
        interruption: &interruption,
    };
    let is_done = |benchmark: &Benchmark| {
        earlier.iter().any(|part| session.is_of(&part.experiment, benchmark) && is_decided(part))
    };
    session.decided = (0..suite.benchmarks.len()).filter(|&place| is_done(&suite.benchmarks[place])).collect();
    let mut rows = Vec::new();
    for (number, benchmark) in suite.benchmarks.iter().enumerate() {
        let known = earlier.iter().position(|part| session.is_of(&part.experiment, benchmark));
        let known = known.map(|place| earlier.swap_remove(place));
        let result = session.result(number, benchmark, known)?;
        rows.push(Row { benchmark, result });
    }
    let missing: Vec<&Benchmark> =
        rows.iter().filter(|row| matches!(row.result, RowResult::Missing(_))).map(|row| row.benchmark).collect();
    let installation =
        distributions().iter().find_map(|name| suite.installation(name, &missing)).map(|found| found.command);
    let shown = ShownSuite { suite: &suite, arms: &session.arms, policy: &policy, rows: &rows, installation };
    print(&shown, limits.print, settings)?;
    Ok(exit(&rows, &interruption))
}

fn print(shown: &ShownSuite<'_>, how: Print, settings: &Settings) -> Result<(), Failure> {
    match how {
        Print::Csv => print_text(&csv(shown)),
        Print::Markdown => print_text(&markdown(shown)),
        Print::Screen => show(settings, || SuiteDocument::new(shown), || screen(shown, settings.width)),
    }
}

/// 0 where all that could be tried is decided.
fn exit(rows: &[Row<'_>], interruption: &Interruption) -> Exit {
    let tried = || rows.iter().filter_map(Row::tried);
    let is_open = |tried: &Tried| matches!(tried.standing.verdict, Verdict::Undecided { .. } | Verdict::Unsound { .. });
    let left = rows.iter().any(|row| matches!(row.result, RowResult::NotTried));
    match () {
        () if interruption.was_seen() && (left || tried().any(is_open)) => Exit::Interrupted,
        () if tried().next().is_none() => Exit::Unavailable,
        () if left || tried().any(is_open) => Exit::Undecided,
        () => Exit::Done,
    }
}

/// The suite of a file, and the folder of that; or the one that corewise holds.
fn read(source: &str) -> Result<(Suite, PathBuf), Failure> {
    let told = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("the suite {source}: {error}"))
            .next("`review` and `workloads` are the suites that corewise holds; docs/trying.md says how to write one.")
    };
    let path = Path::new(source);
    let held = HELD.iter().find(|(name, _)| *name == source);
    let text = match (std::fs::read_to_string(path), held) {
        (Ok(text), _) => text,
        (Err(_), Some((_, text))) => (*text).to_owned(),
        (Err(error), None) => return Err(told(&error)),
    };
    let folder = path.canonicalize().ok().and_then(|path| Some(path.parent()?.to_owned())).unwrap_or_default();
    Ok((Suite::parse(&text).map_err(|error| told(&error))?, folder))
}

/// A line for each distribution whose packages are known: what installs the programs that are missing, or all of them where
/// none is.
fn installations(suite: &Suite, folder: &Path) -> String {
    let missing: Vec<&Benchmark> =
        suite.benchmarks.iter().filter(|benchmark| !missing(benchmark, folder).is_empty()).collect();
    let (what, wanted) = match missing.is_empty() {
        true => ("All programs are installed. They are in these packages:", suite.benchmarks.iter().collect()),
        false => ("What is missing:", missing),
    };
    let lines = suite.install.keys().filter_map(|distribution| {
        let found = suite.installation(distribution, &wanted)?;
        let unknown = if found.unknown.is_empty() {
            String::new()
        } else {
            format!("; look for the packages of {}", found.unknown.join(", "))
        };
        Some(format!("    {}    # {distribution}{unknown}", found.command))
    });
    std::iter::once(what.to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
}

/// The programs of a benchmark that are not installed.
fn missing(benchmark: &Benchmark, folder: &Path) -> Vec<String> {
    let path = std::env::var_os("PATH");
    let is_missing = |program: &&String| !is_installed(&from(folder, program), path.as_deref());
    benchmark.programs().iter().filter(is_missing).cloned().collect()
}

/// A program that is named by a path is looked for from the suite's folder.
fn from(folder: &Path, program: &str) -> String {
    if program.contains('/') { folder.join(program).display().to_string() } else { program.to_owned() }
}

/// The stored experiments of a suite's last session on this machine, with their trials.
fn parts(suite: &Suite, machine: &Machine, settings: &Settings) -> Result<Vec<Begun>, Failure> {
    let nothing = || {
        Failure::unavailable(format!(
            "there is no session of the suite \"{}\" on this machine to go on with",
            suite.name
        ))
        .next("Without --resume one begins.")
    };
    let History::At(path) = &settings.history else { return Err(nothing()) };
    let unavailable = |error| Failure::unavailable(error);
    let store = if path.exists() { Store::open(path).map_err(unavailable)? } else { return Err(nothing()) };
    let mut parts: Vec<Begun> = Vec::new();
    for entry in store.experiments(Some(&machine.fingerprint())).map_err(unavailable)?.iter().rev() {
        let (experiment, trials) = store.experiment(entry.id).map_err(unavailable)?;
        let Some(part) = experiment.suite.as_ref().filter(|part| part.suite == suite.name) else { continue };
        let last = parts.first().and_then(|first| first.experiment.suite.as_ref());
        if last.is_none_or(|last| last.begun_unix_ms == part.begun_unix_ms) {
            begin::refuse_other(&experiment, machine, entry.id)?;
            parts.push(Begun { experiment, trials, stored: Some(entry.id), simulation: None });
        }
    }
    if parts.is_empty() { Err(nothing()) } else { Ok(parts) }
}

fn is_decided(begun: &Begun) -> bool {
    trial::race(&begun.experiment, &begun.trials).is_decided()
}

struct SuiteSession<'a> {
    suite: &'a Suite,
    folder: &'a Path,
    limits: &'a TryTask,
    settings: &'a Settings,
    machine: Machine,
    arms: Vec<Arm>,
    policy: &'a Policy,
    seed: Option<u64>,
    /// When the suite was begun; with its first experiment where it is not known.
    begun_unix_ms: Option<i64>,
    until: Option<Instant>,
    /// The benchmarks that earlier sessions have decided, by place.
    decided: Vec<usize>,
    interruption: &'a Interruption,
}

impl SuiteSession<'_> {
    /// Whether a stored experiment is that of a benchmark, as the suite describes it now.
    fn is_of(&self, experiment: &Experiment, benchmark: &Benchmark) -> bool {
        let part = experiment.suite.as_ref();
        part.is_some_and(|part| part.benchmark == benchmark.name && part.setup == benchmark.setup)
            && experiment.workload.timeout_s == benchmark.timeout_s
            && experiment.workload.metric == benchmark.metric()
            && experiment.workload.command == self.command(benchmark)
    }

    fn command(&self, benchmark: &Benchmark) -> Vec<String> {
        let mut command = benchmark.command.clone();
        if let Some(program) = command.first_mut() {
            *program = from(self.folder, program);
        }
        command
    }

    /// Tries a benchmark, unless it is decided or the time is up.
    fn result(&mut self, number: usize, benchmark: &Benchmark, known: Option<Begun>) -> Result<RowResult, Failure> {
        let missing = missing(benchmark, self.folder);
        let is_over = self.interruption.was_seen() || self.left(number).is_some_and(|left| left.is_zero());
        let instead = match () {
            () if !missing.is_empty() => Some(RowResult::Missing(missing)),
            () if is_over => Some(RowResult::NotTried),
            () => None,
        };
        if instead.is_some() || known.as_ref().is_some_and(is_decided) {
            let known = known.map(|known| of(known.experiment, known.trials, known.stored));
            return Ok(known.or(instead).unwrap_or(RowResult::NotTried));
        }
        let began = std::env::current_dir().ok();
        let result = self.place(benchmark).and_then(|place| self.in_place(number, benchmark, known, &place));
        if let Some(began) = began {
            let _ = std::env::set_current_dir(began);
        }
        let result = match result {
            Ok(result) => result,
            Err(Stopped::Row(result)) => *result,
            Err(Stopped::Session(failure)) => return Err(failure),
        };
        self.say(number, benchmark, &result);
        Ok(result)
    }

    /// A benchmark's part of the time that is left: shared with those after it that can be tried and are not decided yet.
    fn left(&self, number: usize) -> Option<Duration> {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let take_time = |place: &usize| {
            let benchmark = &self.suite.benchmarks[*place];
            !self.decided.contains(place) && missing(benchmark, self.folder).is_empty()
        };
        let waiting = (number..self.suite.benchmarks.len()).filter(take_time).count();
        left.map(|left| left / waiting.max(1) as u32)
    }

    /// Sets a benchmark up, tries it, and clears up after it.
    fn in_place(
        &mut self,
        number: usize,
        benchmark: &Benchmark,
        known: Option<Begun>,
        place: &Place,
    ) -> Result<RowResult, Stopped> {
        std::env::set_current_dir(place.path())
            .map_err(|error| failed(format!("{}: {error}", place.path().display())))?;
        if let Some(script) = &benchmark.setup
            && let Err(stopped) = scripted("set-up", script, self.interruption.stop())
        {
            let Some(known) = known.filter(|known| !known.trials.is_empty()) else { return Err(stopped) };
            // What it has shown so far stays; only there is nothing new.
            if let Stopped::Row(row) = &stopped
                && let RowResult::Failed { why, output, .. } = &**row
            {
                let lines: String = output.lines().map(|line| format!("\n    {}", printable(line))).collect();
                say(&format!("warning: {}: {why}{lines}", printable(&benchmark.name)));
            }
            return Ok(of(known.experiment, known.trials, known.stored));
        }
        let budget = self.left(number);
        let result = self.tried(number, benchmark, known, place.path(), budget);
        // It is for what the set-up has made elsewhere, so that Ctrl-C must not end it.
        let never = AtomicBool::new(false);
        if let Some(script) = &benchmark.cleanup
            && let Err(Stopped::Row(row)) = scripted("clean-up", script, &never)
            && let RowResult::Failed { why, .. } = *row
        {
            say(&format!("warning: {}: {why}", printable(&benchmark.name)));
        }
        result.map_err(Stopped::Session)
    }

    /// The folder that a benchmark is run in.
    fn place(&self, benchmark: &Benchmark) -> Result<Place, Stopped> {
        match &benchmark.folder {
            Some(folder) => Ok(Place::Named(self.folder.join(folder))),
            None => tempfile::Builder::new()
                .prefix("corewise-")
                .tempdir()
                .map(Place::Own)
                .map_err(|error| failed(format!("no folder could be made for it: {error}"))),
        }
    }

    fn tried(
        &mut self,
        number: usize,
        benchmark: &Benchmark,
        known: Option<Begun>,
        folder: &Path,
        budget: Option<Duration>,
    ) -> Result<RowResult, Failure> {
        let mut begun = match known {
            Some(begun) => begun,
            None => begin::kept(self.begin(number, benchmark, folder), self.settings)?,
        };
        begun.experiment.policy.most_runs = self.limits.runs_max;
        let (trials, ending) = session(&begun, self.limits, budget, self.interruption.stop(), self.settings)?;
        if trials.is_empty() || (ending == Ending::Stopped && trials.iter().all(|trial| trial.block == 0)) {
            return Ok(RowResult::NotTried);
        }
        Ok(of(begun.experiment, trials, begun.stored))
    }

    fn begin(&mut self, number: usize, benchmark: &Benchmark, folder: &Path) -> Experiment {
        let workload = Workload {
            command: self.command(benchmark),
            folder: folder.display().to_string(),
            metric: benchmark.metric(),
            guards: Vec::new(),
            timeout_s: benchmark.timeout_s,
            threads_as: Vec::new(),
            pins_as: Vec::new(),
        };
        let (machine, arms) = (self.machine.clone(), self.arms.clone());
        let least_blocks = self.policy.blocks_of_a_mean(arms.len() - 1);
        let margin = usual_margin(self.policy, &workload.metric);
        let policy = Policy { least_blocks, margin, ..self.policy.clone() };
        // Each has orders of its own.
        let seed = self.seed.map(|seed| seed.wrapping_add(number as u64));
        let mut experiment = begin::started_now(machine, workload, arms, policy, seed);
        experiment.suite = Some(Part {
            suite: self.suite.name.clone(),
            begun_unix_ms: *self.begun_unix_ms.get_or_insert(experiment.started_unix_ms),
            benchmark: benchmark.name.clone(),
            category: benchmark.category.clone(),
            setup: benchmark.setup.clone(),
            policy: self.policy.clone(),
        });
        experiment
    }

    /// A line when a benchmark is over: a suite takes long.
    fn say(&self, number: usize, benchmark: &Benchmark, result: &RowResult) {
        let RowResult::Tried(tried) = result else { return };
        if self.settings.progress {
            let (all, name) = (self.suite.benchmarks.len(), printable(&benchmark.name));
            say(&format!("{} of {all}  {name}: {}", number + 1, in_words(tried.shown()).to_plain()));
        }
    }
}

/// What the trials of a benchmark came to.
fn of(experiment: Experiment, trials: Vec<Trial>, stored: Option<i64>) -> RowResult {
    let failed = trials.iter().find_map(|trial| match &trial.outcome {
        Outcome::Failed { why, output } => Some((why.clone(), output.clone())),
        Outcome::Value(_) => None,
    });
    let gave_a_number = |trial: &Trial| matches!(trial.outcome, Outcome::Value(_));
    match failed {
        Some((why, output)) if !trials.iter().any(gave_a_number) => RowResult::Failed { why, output, stored },
        _ => {
            let (standing, race) = (standing(&experiment, &trials), trial::race(&experiment, &trials));
            RowResult::Tried(Box::new(Tried { experiment, trials, standing, race, stored }))
        }
    }
}

/// A benchmark's folder; one of its own is removed with it.
enum Place {
    Own(TempDir),
    Named(PathBuf),
}

impl Place {
    fn path(&self) -> &Path {
        match self {
            Self::Own(folder) => folder.path(),
            Self::Named(folder) => folder,
        }
    }
}

/// Why a benchmark was not tried to its end.
enum Stopped {
    /// For a reason of its own: a row says it.
    Row(Box<RowResult>),
    /// For a reason that ends the session.
    Session(Failure),
}

fn failed(why: String) -> Stopped {
    Stopped::Row(Box::new(RowResult::Failed { why, output: String::new(), stored: None }))
}

/// A script takes no longer, so that one that hangs does not hold up the others.
const LONGEST_SCRIPT: Duration = Duration::from_mins(10);

/// Runs a suite's script in the current folder. What it leaves running is ended, and a failure: it would run beside
/// everything that is measured.
fn scripted(what: &str, script: &str, stop: &AtomicBool) -> Result<(), Stopped> {
    let execution = Execution {
        program: &"sh".into(),
        arguments: &["-e".into(), "-c".into(), script.into()],
        environment: &[],
        cpus: None,
        timeout: Some(LONGEST_SCRIPT),
        patience: USUAL_PATIENCE,
        clock: None,
        stop,
    };
    let ran =
        execution.run(&mut |_| {}).map_err(|error| failed(format!("its {what} could not be started: {error}")))?;
    // Whoever ends corewise may end all that it started: that is no failure of the script.
    let is_done = ran.end == End::Exited(0) && ran.left_behind == 0;
    if stop.load(Ordering::SeqCst) && !is_done {
        return Err(Stopped::Row(Box::new(RowResult::NotTried)));
    }
    let why = match ran.end {
        End::Exited(0) if ran.left_behind > 0 => {
            format!("its {what} left {} behind, which was ended", count(ran.left_behind as usize, "running process"))
        }
        End::Exited(0) => return Ok(()),
        End::Exited(status) => format!("its {what} failed: exit status {status}"),
        End::Interrupted => format!("its {what} was interrupted"),
        End::Killed(signal) => format!("its {what} was killed by signal {signal}"),
        End::Stopped => format!("its {what} was ended: it wanted the terminal"),
        End::TimedOut => format!("its {what} was ended: it took longer than {} minutes", LONGEST_SCRIPT.as_secs() / 60),
    };
    Err(Stopped::Row(Box::new(RowResult::Failed { why, output: last_lines(&ran.output), stored: None })))
}
