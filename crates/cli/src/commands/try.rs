//! `corewise try`: runs a program on placements of this machine, keeps every run, and shows what they prove.

pub mod arguments;
mod begin;
mod drawing;
mod plan;
mod progress;
mod registry;
pub mod screen;
pub mod suite;
pub mod task;

use std::borrow::Cow;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use clap::CommandFactory as _;

use corewise_lab::experiment::process::ProcessRunner;
use corewise_lab::experiment::simulated::{SimulatedRunner, Simulation};
use corewise_lab::experiment::{Begun, Ending, Limits, Runner, Time, Watcher, begun_now, conduct};
use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::Artifact as _;
use corewise_model::conducted::{Conducted, ExperimentConclusions};
use corewise_model::experiment::{Policy, Standing, Verdict, What};
use corewise_model::stats::order::median;
use corewise_model::trial::{Design, Experiment, Outcome, Stretch, Trial};
use corewise_store::Store;
use corewise_sys::cpuset;
use jiff::tz::TimeZone;

use crate::app::artifact::{Form, Printed, Section};
use crate::app::document::ArtifactDocument;
use crate::app::failure::{Exit, Failure};
use crate::app::history::to_write;
use crate::app::interruption::Interruption;
use crate::app::lock;
use crate::app::output::{print_form, print_text, say, show_story};
use crate::app::run::{Document, Run, document};
use crate::app::settings::{History, Settings};
use crate::draw::markdown;
use crate::draw::number::when;
use crate::draw::printable::printable;
use crate::draw::story::Story;
use crate::draw::suggestion;
use crate::draw::survey::Kept;
use arguments::TryArguments;
use drawing::Drawing;
use progress::SessionProgress;
use screen::{Shown, csv};
use task::{Print, Subject, TryTask, Which};

/// After so many blocks a session ends that is not decided; who wants more goes on.
const MOST_BLOCKS: u32 = 60;
/// Means and slow runs take more.
const MOST_BLOCKS_OF_RARE: u32 = 200;
/// Slots are short, and take no start.
const MOST_BLOCKS_OF_SLOTS: u32 = 1_000;
/// Running processes are not disturbed for longer than this, where nothing is said.
const BUDGET_OF_SLOTS: Duration = Duration::from_mins(10);

impl Run for TryArguments {
    const DOCUMENTS: &'static [Document] = &[
        document::<ArtifactDocument<'_, Conducted>>(&["try --simulate truth.toml --seed 1"]),
        document::<suite::document::SuiteDocument<'_>>(&[]),
        document::<plan::PlanDocument>(&[]),
    ];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        run(&TryTask::new(self)?, settings)
    }
}

/// Makes a session of an experiment.
fn run(task: &TryTask, settings: &Settings) -> Result<Exit, Failure> {
    let which = match &task.subject {
        Subject::One(which) => which,
        Subject::Suite(suite) => return suite::run(suite, task, settings),
    };
    if let Which::New(new) = which
        && let Some(option) = ours_behind(&new.command)
    {
        let program = new.command.first().map_or("", String::as_str);
        say(&format!(
            "note: {option} is given to {program}, because it stands behind it. Options of try go before the command; `--` before the \
                command says that this is meant."
        ));
    }
    // Before the experiment: hours could be lost, and one that goes on changes the folder.
    let drawing = task.svg.as_deref().map(Drawing::into_file).transpose()?;
    // What is made up disturbs nobody.
    let _lock = if let Which::Simulated { .. } = which { None } else { lock::take(settings)? };
    if let Which::New(new) = which
        && new.is_dry
    {
        return plan::show(new, settings);
    }
    let interruption = Interruption::watch()?;
    let (begun, simulation) = begin::begin(which, task.runs_max, (task.budget, interruption.stop()), settings)?;
    drawing.iter().try_for_each(|drawing| drawing.can_be_of(&begun.experiment))?;
    if task.confirms && begun.experiment.policy.what == What::Tail {
        return Err(not_in_stretches());
    }
    let since = Instant::now();
    let (trials, ending) = session(&begun, simulation.as_ref(), task, task.budget, interruption.stop(), settings)?;
    if trials.iter().all(|trial| matches!(trial.outcome, Outcome::Failed { .. })) {
        return Err(nothing_ran(&begun.experiment, &trials, &ending));
    }
    if ending == Ending::Worse {
        say(&"note: the session ended: enough time was spent on placements that all look worse (--worse-at-most)");
    }
    if let Ending::Gone(why) = &ending {
        say(&format!("warning: the session ended early: {why}. What was measured before is valid."));
    }
    let made = Conducted { experiment: begun.experiment, trials };
    if task.confirms
        && matches!(ending, Ending::Decided | Ending::Limit | Ending::Budget)
        && let Verdict::Wins { arm } = made.conclude().standing.verdict
    {
        let number = begun.stored;
        if task.print == Print::Screen && !settings.json {
            print(&made, number, task.print, settings)?;
        }
        let left = task.budget.map(|budget| budget.saturating_sub(since.elapsed()));
        return confirm(&made, number, arm, simulation.as_ref(), (task, left, interruption.stop()), settings);
    }
    let standings = print(&made, begun.stored, task.print, settings)?;
    drawing.iter().try_for_each(|drawing| drawing.draw(&made, begun.stored))?;
    Ok(standings.iter().map(|standing| exit(standing, &ending)).max_by_key(|exit| *exit as u8).unwrap_or(Exit::Done))
}

/// The mean of a stretch hides the slow runs in it.
pub fn not_in_stretches() -> Failure {
    Failure::usage("--confirm compares stretches of runs, which hide the slow ones: it does not go with --what tail")
}

/// Runs a winner and the OS default again, in long stretches, in what is left of the budget. Only this is printed where one document is asked
/// for.
fn confirm(
    made: &Conducted,
    stored: Option<i64>,
    winner: usize,
    simulation: Option<&Simulation>,
    (task, left, stop): (&TryTask, Option<Duration>, &AtomicBool),
    settings: &Settings,
) -> Result<Exit, Failure> {
    let Experiment { machine, workload, arms, policy, seed, .. } = &made.experiment;
    let times: Vec<f64> =
        made.trials.iter().map(|trial| trial.observed.wall_s).filter(|seconds| *seconds > 0.0).collect();
    let arms = vec![arms[0].clone(), arms[winner].clone()];
    // Long slots leave little behind that short ones do not.
    let policy = Policy { most_runs: None, least_blocks: 0, ..policy.clone() };
    let again =
        begun_now(env!("CARGO_PKG_VERSION"), machine.clone(), workload.clone(), arms, policy, seed.checked_add(1));
    let stretch = Some(Stretch::of_runs(median(&times), stored));
    let begun = match simulation {
        // A simulated experiment is not stored.
        Some(_) => Begun { experiment: Experiment { stretch, ..again }, trials: Vec::new(), stored: None },
        None => begin::kept(Experiment { stretch, ..again }, settings)?,
    };
    let simulation = simulation.map(|simulation| simulation.alone(winner));
    let (trials, ending) = session(&begun, simulation.as_ref(), task, left, stop, settings)?;
    if trials.iter().all(|trial| matches!(trial.outcome, Outcome::Failed { .. })) {
        return Err(nothing_ran(&begun.experiment, &trials, &ending));
    }
    let made = Conducted { experiment: begun.experiment, trials };
    if task.print == Print::Screen && !settings.json {
        print_text("")?;
    }
    let standings = print(&made, begun.stored, task.print, settings)?;
    Ok(standings.first().map_or(Exit::Done, |standing| exit(standing, &ending)))
}

/// The first of a command's words that is an option of `try`, where no `--` says that all behind it are the command's.
fn ours_behind(command: &[String]) -> Option<&str> {
    if std::env::args_os().any(|word| word == "--") {
        return None;
    }
    let definition = TryArguments::command();
    let ours: Vec<&str> = definition.get_arguments().filter_map(clap::Arg::get_long).collect();
    let name = |word: &'_ String| word.strip_prefix("--").map(|name| name.split('=').next().unwrap_or(name).to_owned());
    command.iter().skip(1).find(|word| name(word).is_some_and(|name| ours.contains(&name.as_str()))).map(String::as_str)
}

/// Goes on with an experiment for a budget, which may be a part of the task's; gives all its trials.
fn session(
    begun: &Begun,
    simulation: Option<&Simulation>,
    task: &TryTask,
    budget: Option<Duration>,
    stop: &AtomicBool,
    settings: &Settings,
) -> Result<(Vec<Trial>, Ending), Failure> {
    let done = begun.trials.iter().map(|trial| trial.block).max().unwrap_or_default();
    let mut session = Session::new(&begun.experiment, begun.trials.clone(), begun.stored, settings)?;
    let live = begun.experiment.workload.live.as_ref();
    let mut runner: Box<dyn Runner> = match simulation {
        Some(simulation) => Box::new(SimulatedRunner::new(simulation, begun.experiment.seed)),
        None if begun.experiment.workload.parts.is_some() => {
            let load = runner(&begun.experiment, stop)?;
            Box::new(begin::parts::runner(&begun.experiment, load, stop, settings)?)
        }
        None if let Some(live) = live => Box::new(begin::live::of_stored(&begun.experiment, live, stop, settings)?),
        // Whoever takes a cpu for a millisecond makes a tail of its own, and a longer one where threads cannot get out of the way.
        None if task.estimates_clock && !begun.experiment.workload.tells_of_tails() => {
            Box::new(runner(&begun.experiment, stop)?.estimating_clock())
        }
        None => Box::new(runner(&begun.experiment, stop)?),
    };
    let most = match begun.experiment.policy.what {
        _ if live.is_some() => MOST_BLOCKS_OF_SLOTS,
        What::Typical => MOST_BLOCKS,
        What::Mean | What::Tail => MOST_BLOCKS_OF_RARE,
    };
    let budget = budget.or(live.map(|_| BUDGET_OF_SLOTS));
    // Who uses running processes has to bear what is worse.
    let worse = task.worse_at_most.or(live.and(budget).map(|budget| budget / 2));
    let limits = Limits { blocks: done + most, budget, worse, rest: task.rest, stop };
    let (_, ending) = conduct(&begun.experiment, &begun.trials, &mut *runner, limits, &mut session)?;
    session.progress.clear();
    Ok((session.trials, ending))
}

fn runner<'a>(experiment: &Experiment, stop: &'a AtomicBool) -> Result<ProcessRunner<'a>, Failure> {
    let all = cpuset::reachable().unwrap_or_else(|_| experiment.machine.allowed.clone());
    ProcessRunner::new(&experiment.workload, all, experiment.seed, stop).map_err(Failure::unavailable)
}

impl Printed for Conducted {
    fn print(&self, kept: &Kept, form: &Form, settings: &Settings) -> Result<(), Failure> {
        let drawing = form.svg.as_deref().map(Drawing::into_file).transpose()?;
        drawing.iter().try_for_each(|drawing| drawing.can_be_of(&self.experiment))?;
        print(self, kept.number(), Print::new(form.csv, form.markdown), settings)?;
        drawing.iter().try_for_each(|drawing| drawing.draw(self, kept.number()))
    }

    const TITLE: &'static str = "Experiment";

    fn first() -> SuggestedCommand {
        suggested_command::try_command()
    }

    fn story(&self, conclusions: &ExperimentConclusions, kept: &Kept, settings: &Settings) -> Story {
        experiment_story(self, conclusions, kept.number(), settings)
    }

    /// The table of each suite whose experiments are several of these.
    fn together(several: &[(i64, Self)]) -> Vec<Section> {
        let mut sessions: Vec<(String, Vec<&(i64, Self)>)> = Vec::new();
        for made in several {
            let Some(session) = made.1.session() else { continue };
            match sessions.iter_mut().find(|(known, _)| *known == session) {
                Some((_, parts)) => parts.push(made),
                None => sessions.push((session, vec![made])),
            }
        }
        let table = |(session, parts): (String, Vec<&(i64, Self)>)| {
            let story = screen::suite::stored_story(&parts).filter(|_| parts.len() > 1)?;
            Some(Section::new(format!("suite-{}", parts[0].0), session, story))
        };
        sessions.into_iter().filter_map(table).collect()
    }

    fn session(&self) -> Option<String> {
        let part = self.experiment.suite.as_ref()?;
        Some(format!("Suite {}, begun {}", printable(&part.suite), when(part.begun_unix_ms, &TimeZone::system())))
    }

    fn imported(mut self, file: &str) -> Self {
        self.experiment.imported = Some(file.to_owned());
        self
    }

    fn changes(_: [i64; 2], _: [&Self; 2]) -> Option<Story> {
        None
    }

    fn compare(numbers: [i64; 2], _: [&Self; 2], _: &Settings) -> Result<(), Failure> {
        let what = format!("experiments {} and {} cannot be compared", numbers[0], numbers[1]);
        let both = suggestion::typed(&suggested_command::try_both_of());
        Err(Failure::usage(what).next(format!("Compare both placements in one experiment: {both}")))
    }
}

/// Composes the story of an experiment beside the others on its command.
fn experiment_story(
    made: &Conducted,
    conclusions: &ExperimentConclusions,
    stored: Option<i64>,
    settings: &Settings,
) -> Story {
    screen::story(shown(made, conclusions, stored), registry::lines(made, stored, settings))
}

fn shown<'a>(
    Conducted { experiment, trials }: &'a Conducted,
    ExperimentConclusions { standing, threads, .. }: &'a ExperimentConclusions,
    stored: Option<i64>,
) -> Shown<'a> {
    Shown { experiment, trials, standing, threads: threads.as_ref(), stored }
}

/// Prints what an experiment shows; gives the answers to all that it asks.
fn print(made: &Conducted, stored: Option<i64>, how: Print, settings: &Settings) -> Result<Vec<Standing>, Failure> {
    let conclusions = made.conclude();
    let story = how.compose(|| experiment_story(made, &conclusions, stored, settings));
    match how {
        Print::Csv => print_form(&csv(shown(made, &conclusions, stored), &story.notes()))?,
        Print::Markdown => print_form(&markdown::story(&story, stored))?,
        Print::Screen => {
            let document = || ArtifactDocument::new(Cow::Borrowed(made), conclusions.clone(), &story, stored);
            show_story(settings, document, &story)?;
        }
    }
    let ExperimentConclusions { standing, threads, .. } = conclusions;
    let pinned = threads.into_iter().flat_map(|report| report.standing.pinned).filter(|pinned| !pinned.has_failed());
    Ok(std::iter::once(standing).chain(pinned.map(|pinned| pinned.standing)).collect())
}

fn exit(standing: &Standing, ending: &Ending) -> Exit {
    match standing.verdict {
        Verdict::Wins { .. } | Verdict::RealButBelowMargin { .. } | Verdict::NoMaterialDifference => Exit::Done,
        Verdict::Undecided { .. } if *ending == Ending::Stopped => Exit::Interrupted,
        Verdict::Undecided { .. } | Verdict::Unsound { .. } => Exit::Undecided,
    }
}

/// There is nothing to compare then; the first failure says why.
fn nothing_ran(experiment: &Experiment, trials: &[Trial], ending: &Ending) -> Failure {
    let first = trials.iter().find_map(|trial| match &trial.outcome {
        Outcome::Failed { why, output } => Some((why, output)),
        Outcome::Value(_) => None,
    });
    let Some((why, output)) = first else {
        let what = match ending {
            Ending::Gone(why) => return Failure::unavailable(format!("nothing was tried: {why}")),
            Ending::Stopped => "nothing was tried: it was ended before the first run finished",
            Ending::Limit => "nothing was tried: --runs-max is smaller than one block",
            _ => "nothing was tried: the budget ended before the first run finished",
        };
        return Failure::new(if *ending == Ending::Stopped { Exit::Interrupted } else { Exit::Unavailable }, what);
    };
    let command = experiment.workload.command.first().map_or("", String::as_str);
    let failure = Failure::unavailable(format!("{command}: no run produced a number: {why}"));
    let wrote = if output.trim().is_empty() {
        "It printed nothing.".to_owned()
    } else {
        format!("It printed:\n{}", indented(output))
    };
    failure.next(wrote)
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// Keeps the trials as they come, and shows how it stands.
struct Session<'a> {
    trials: Vec<Trial>,
    keeper: Option<(Store, i64)>,
    progress: SessionProgress<'a>,
}

impl<'a> Session<'a> {
    fn new(
        experiment: &'a Experiment,
        trials: Vec<Trial>,
        stored: Option<i64>,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let keeper = match (&settings.history, stored) {
            (History::At(path), Some(number)) => {
                let store = to_write(path, settings).map_err(|error| {
                    Failure::unavailable(format!("the runs cannot be stored: {error}"))
                        .next("Choose another store with --store PATH.")
                })?;
                Some((store, number))
            }
            _ => None,
        };
        Ok(Self { trials, keeper, progress: SessionProgress::new(experiment, settings) })
    }
}

impl Watcher for Session<'_> {
    type Error = Failure;

    fn begins(&mut self, block: u32, arm: usize, time: &Time) {
        self.progress.begins(block, arm, time);
    }

    fn ended(&mut self, trial: &Trial) -> Result<(), Failure> {
        if let Some((store, number)) = &mut self.keeper
            && let Err(error) = store.add_trial(*number, trial)
        {
            self.progress.clear();
            return Err(Failure::unavailable(format!("the run cannot be stored: {error}")).next(format!(
                "Earlier runs are stored as experiment {number}: continue with {}.",
                suggestion::mention(&suggested_command::try_resume(*number))
            )));
        }
        let is_first_failure = self.trials.is_empty() && matches!(trial.outcome, Outcome::Failed { .. });
        self.trials.push(trial.clone());
        if is_first_failure {
            self.progress.first_failed(trial);
        }
        Ok(())
    }

    fn stands(&mut self, design: &Design) {
        self.progress.stands(design);
    }
}
