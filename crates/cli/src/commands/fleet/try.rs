//! `corewise fleet try`: one experiment over many machines. Each node makes blocks of it with its own `corewise try`, wave by wave.

pub mod arguments;
mod story;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use corewise_lab::fleet::folder::FleetFolder;
use corewise_lab::fleet::job::{FleetJob, JobName, KnownNode, MOST_RESULT_BYTES, NodeOutcome};
use corewise_lab::fleet::{FleetError, FleetListener, FleetProgress, FleetRun};
use corewise_lab::session::{StepProgress, seed_from_clock, unix_ms};
use corewise_machine::random::RandomGenerator;
use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::Artifact as _;
use corewise_model::artifact::{ArtifactOrigin, ArtifactProvenance};
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::fleet::experiment::{
    FIRST_BLOCKS, FleetExperiment, FleetExperimentConclusions, FleetVerdict, ForeignRecord, PlannedVisit,
};
use corewise_model::fleet::{NodeProblem, ProblemKind};
use corewise_statistics::experiment::Verdict;
use corewise_sys::input::{self, InputKind};
use corewise_sys::output::replace_file;
use serde::{Deserialize, Serialize};

use super::engine::{FleetRunKind, OpenedFleet, explain_fleet_error, mark_complete};
use crate::app::artifact::{ArtifactForm, PrintedArtifact};
use crate::app::document::ArtifactDocument;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::origin::mark_story;
use crate::app::output::{print_message, show_story};
use crate::app::progress::ProgressDisplay;
use crate::app::settings::ProgramSettings;
use crate::app::user_store::{exit_after_storing, store_artifact_once};
use crate::draw::number::format_count;
use crate::draw::story::Story;
use crate::draw::survey::StorageStatus;
use arguments::{FleetTryArguments, NodeTryWords};

/// Time that a visit takes besides its budget: reaching the node, starting, printing.
const BESIDES: Duration = Duration::from_secs(30);
/// File of a folder of results that says what is tried there.
const PLAN: &str = "experiment.json";

/// The trial and its places: written before the first visit, so that the same command goes on with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FleetTryPlan {
    /// Without credentials in the folder.
    words: NodeTryWords,
    seed: u64,
    started_unix_ms: i64,
    /// The nodes in the order in which they count.
    nodes: Vec<String>,
}

impl FleetTryArguments {
    /// Tries the command on the nodes, stores the experiment and shows it.
    pub fn run_try(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let words = self.tried.shared_words()?;
        let until = Instant::now() + self.budget;
        let is_other = |folder: &FleetFolder| {
            !folder.is_without_results()
                && read_plan(folder).is_ok_and(|plan| plan.is_none_or(|plan| plan.words != words.hide_credentials()))
        };
        let examples = [
            suggested_command::fleet_try(&["llc:0".to_owned()], &["./app".to_owned()]),
            suggested_command::fleet_try_hosts(),
        ];
        let kind = FleetRunKind { word: "try", examples, is_other: &is_other };
        let OpenedFleet { mut engine, folder, nodes: known } = self.engine.open_fleet(&kind, settings)?;
        let interruption = InterruptionWatch::watch_signals()?;
        let plan = self.open_plan(&folder, &known, words)?;
        self.describe_nodes(&plan, &known);
        print_message(&format!("results are in {}", folder.path().display()));
        let mut collector = RecordCollector::new(&plan, &known, &folder, self.budget, settings);
        let made_by = [self.engine.typed_words(), self.tried.typed_words()].concat();
        let mut run = FleetRun::new(&mut *engine, &folder, self.engine.at_once as usize, interruption.stop());
        let mut is_complete = false;
        while !interruption.was_seen() && Instant::now() < until {
            let jobs = collector.plan_jobs(until);
            if jobs.is_empty() {
                is_complete = true;
                break;
            }
            let ended = run.run_jobs(jobs, &mut collector);
            collector.bar.clear_display();
            ended.map_err(explain_fleet_error)?;
            collector.close_wave().map_err(explain_fleet_error)?;
        }
        let mut experiment = collector.conclude(!is_complete)?;
        experiment.made_by = made_by;
        match (is_complete, interruption.was_seen()) {
            (true, _) => mark_complete(&folder)?,
            (false, true) => print_message(&"interrupted: the same command goes on with what is missing"),
            (false, false) => print_message(&"the time is over: the same command goes on with what is missing"),
        }
        let kept = store_artifact_once(&experiment, |stored| experiment.is_copy_of(stored), settings);
        let conclusions = experiment.draw_conclusions();
        show_experiment(&experiment, &conclusions, &kept, settings)?;
        Ok(exit_after_storing(&kept, exit_of_verdict(&conclusions.verdict, interruption.was_seen())))
    }

    /// Says on how many nodes the command is tried, and why it is another number than was asked for.
    fn describe_nodes(&self, plan: &FleetTryPlan, known: &[KnownNode]) {
        let (nodes, asked) = (plan.nodes.len(), self.count as usize);
        let others = known.iter().filter(|node| !plan.nodes.contains(&node.name)).count();
        let why = match nodes.cmp(&asked) {
            Ordering::Less if others > 0 => {
                format!(", which the folder has; {others} more would be another experiment")
            }
            Ordering::Less => format!(", all that there are (-N {asked})"),
            Ordering::Greater => format!(", which the folder has (-N {asked})"),
            Ordering::Equal => String::new(),
        };
        print_message(&format!("trying on {}{why}", format_count(nodes, "node")));
    }

    /// Reads the plan of the folder, or makes one. A plan without any result is none: nodes and command may have been wrong.
    fn open_plan(
        &self,
        folder: &FleetFolder,
        known: &[KnownNode],
        words: NodeTryWords,
    ) -> Result<FleetTryPlan, CommandFailure> {
        let path = folder.path().join(PLAN);
        if let Some(plan) = read_plan(folder)?.filter(|_| !folder.is_without_results()) {
            let is_same = plan.words == words.hide_credentials();
            return if is_same { Ok(FleetTryPlan { words, ..plan }) } else { Err(refuse_folder(&path)) };
        }
        let seed = self.seed.unwrap_or_else(seed_from_clock);
        let nodes = draw_nodes(known, self.count as usize, seed);
        let stored = FleetTryPlan { words: words.hide_credentials(), seed, started_unix_ms: unix_ms(), nodes };
        let text = serde_json::to_vec(&stored).map_err(|error| CommandFailure::new(CommandExit::Internal, error))?;
        replace_file(&path, &text).map_err(|source| explain_fleet_error(FleetError::Folder { path, source }))?;
        Ok(FleetTryPlan { words, ..stored })
    }
}

/// Reads the plan of a folder; `None` if it has none.
fn read_plan(folder: &FleetFolder) -> Result<Option<FleetTryPlan>, CommandFailure> {
    let path = folder.path().join(PLAN);
    let Ok(text) = input::read_text(&path, InputKind::FleetResult) else { return Ok(None) };
    let plan = serde_json::from_str(&text);
    plan.map(Some).map_err(|error| CommandFailure::unavailable_error(format!("{}: {error}", path.display())))
}

fn refuse_folder(path: &std::path::Path) -> CommandFailure {
    CommandFailure::usage_error(format!("{} is of another experiment", path.display()))
        .with_hint("Name another folder with --to DIR, or go on with the same command.")
}

/// Draws nodes in random order. Unusable ones are among them only if too few are usable.
fn draw_nodes(known: &[KnownNode], count: usize, seed: u64) -> Vec<String> {
    let (mut usable, unusable): (Vec<&KnownNode>, Vec<&KnownNode>) =
        known.iter().partition(|node| node.problem.is_none());
    usable.sort_by(|one, other| one.name.cmp(&other.name));
    RandomGenerator::new(seed).shuffle(&mut usable);
    usable.into_iter().chain(unusable).take(count).map(|node| node.name.clone()).collect()
}

/// Returns the exit status of an answer, as `try` has it. A part of the nodes is not one answer for all.
fn exit_of_verdict(verdict: &FleetVerdict, is_interrupted: bool) -> CommandExit {
    let is_answer = match verdict {
        FleetVerdict::ThisKind { verdict } | FleetVerdict::TheseNodes { verdict } => {
            matches!(verdict, Verdict::Wins { .. } | Verdict::RealButBelowMargin { .. } | Verdict::NoMaterialDifference)
        }
        FleetVerdict::PartOfNodes { .. } | FleetVerdict::Unsound { .. } => false,
    };
    match (is_answer, is_interrupted) {
        (true, _) => CommandExit::Done,
        (false, true) => CommandExit::Interrupted,
        (false, false) => CommandExit::Undecided,
    }
}

/// Collects the nodes' records, wave by wave.
struct RecordCollector<'a> {
    plan: &'a FleetTryPlan,
    folder: &'a FleetFolder,
    bar: ProgressDisplay,
    begun: Instant,
    budget: Duration,
    /// The experiment, once the first node answered.
    experiment: Option<FleetExperiment>,
    /// Nodes with a problem before that.
    problems: BTreeMap<String, NodeProblem>,
    /// Number of visits of each node that ended.
    visits: BTreeMap<String, u32>,
    /// Outcomes of this wave.
    came: BTreeMap<String, (JobName, NodeOutcome)>,
}

/// A document of `try --json`; its conclusions are drawn anew.
#[derive(Deserialize)]
struct RecordDocument {
    schema: String,
    observed: ExperimentRecord,
}

impl<'a> RecordCollector<'a> {
    fn new(
        plan: &'a FleetTryPlan,
        known: &[KnownNode],
        folder: &'a FleetFolder,
        budget: Duration,
        settings: &ProgramSettings,
    ) -> Self {
        let of_plan = known.iter().filter(|node| plan.nodes.contains(&node.name));
        let problems = of_plan.filter_map(|node| Some((node.name.clone(), node.problem.clone()?)));
        Self {
            plan,
            folder,
            bar: ProgressDisplay::new(settings.progress),
            begun: Instant::now(),
            budget,
            experiment: None,
            problems: problems.collect(),
            visits: BTreeMap::new(),
            came: BTreeMap::new(),
        }
    }

    /// Returns the jobs of the next wave; empty if the plan is over.
    fn plan_jobs(&mut self, until: Instant) -> Vec<FleetJob> {
        let visits = match &mut self.experiment {
            Some(experiment) => experiment.plan_wave(),
            None if self.visits.is_empty() => {
                let usable = self.plan.nodes.iter().filter(|node| !self.problems.contains_key(*node));
                usable.map(|node| PlannedVisit { node: node.clone(), blocks: FIRST_BLOCKS }).collect()
            }
            None => Vec::new(),
        };
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
        visits.into_iter().map(|visit| self.make_job(visit, left)).collect()
    }

    fn make_job(&self, visit: PlannedVisit, left: Duration) -> FleetJob {
        let number = self.visits.get(&visit.node).copied().unwrap_or_default() + 1;
        FleetJob {
            name: JobName { node: visit.node, visit: number },
            arguments: self.plan.words.visit_arguments(visit.blocks, left),
            limit: left + BESIDES,
            most_bytes: MOST_RESULT_BYTES,
        }
    }

    /// Takes the outcomes of a wave into account, in the order in which the nodes count: whichever came first, the result is the same.
    fn close_wave(&mut self) -> Result<(), FleetError> {
        let mut came = std::mem::take(&mut self.came);
        for node in &self.plan.nodes {
            let Some((name, outcome)) = came.remove(node) else { continue };
            *self.visits.entry(node.clone()).or_default() += 1;
            let added = outcome.and_then(|bytes| {
                let added = self.add_record(node, &bytes);
                added.map_err(|reason| NodeProblem { kind: ProblemKind::Unreadable, reason })
            });
            let Err(problem) = added else { continue };
            if problem.kind == ProblemKind::Unreadable {
                self.folder.discard_result(&name)?;
                self.folder.keep_problem(&name, &problem)?;
            }
            self.add_problem(node, problem);
        }
        Ok(())
    }

    fn add_problem(&mut self, node: &str, problem: NodeProblem) {
        print_message(&format!("{node}: {}", problem.reason));
        match &mut self.experiment {
            Some(experiment) => experiment.add_problem(node, problem),
            None => drop(self.problems.insert(node.to_owned(), problem)),
        }
    }

    fn add_record(&mut self, node: &str, bytes: &[u8]) -> Result<(), String> {
        let document: RecordDocument =
            input::read_json(bytes).map_err(|error| format!("its result cannot be read: {error}"))?;
        if document.schema != ExperimentRecord::SCHEMA {
            return Err(format!("its result is a document {}", document.schema));
        }
        let record = document.observed;
        record.check_loaded()?;
        if record.trials.iter().all(|trial| trial.block == 0) {
            return Err("its time ended before the first block".to_owned());
        }
        let experiment = self.experiment.get_or_insert_with(|| {
            let mut experiment =
                FleetExperiment::new(new_provenance(self.plan, self.budget), &record.experiment, &self.plan.nodes);
            for (node, problem) in &self.problems {
                experiment.add_problem(node, problem.clone());
            }
            experiment
        });
        experiment.add_record(node, &record).map_err(|foreign| {
            match foreign {
                ForeignRecord::OtherWorkload => "it tried another command, metric or margin",
                ForeignRecord::OtherPlacements => "it has none of the first node's placements: name them with --on",
            }
            .to_owned()
        })
    }

    fn conclude(self, is_partial: bool) -> Result<FleetExperiment, CommandFailure> {
        let Some(mut experiment) = self.experiment else {
            let reasons: Vec<String> =
                self.problems.iter().take(3).map(|(node, problem)| format!("{node}: {}", problem.reason)).collect();
            let failure = CommandFailure::unavailable_error("no node gave a result");
            return Err(if reasons.is_empty() { failure } else { failure.with_hint(reasons.join("\n")) });
        };
        experiment.provenance.elapsed_s = self.begun.elapsed().as_secs_f64();
        experiment.provenance.partial = is_partial;
        Ok(experiment)
    }
}

fn new_provenance(plan: &FleetTryPlan, budget: Duration) -> ArtifactProvenance {
    ArtifactProvenance {
        origin: ArtifactOrigin::Measured,
        corewise: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: plan.started_unix_ms,
        elapsed_s: 0.0,
        budget_s: budget.as_secs_f64(),
        seed: plan.seed,
        partial: false,
    }
}

impl FleetListener for RecordCollector<'_> {
    fn receive_outcome(&mut self, job: &FleetJob, outcome: NodeOutcome) {
        self.came.insert(job.name.node.clone(), (job.name.clone(), outcome));
    }

    fn show_progress(&mut self, progress: &FleetProgress) {
        let FleetProgress { done, all, running, .. } = *progress;
        let waiting = progress.waiting.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
        let step = format!("{done} of {all} nodes of this wave, {running} under way{waiting}");
        let left = self.budget.saturating_sub(self.begun.elapsed());
        self.bar.show_progress(&StepProgress { step, done: done as f64 / all.max(1) as f64, left });
    }
}

fn show_experiment(
    experiment: &FleetExperiment,
    conclusions: &FleetExperimentConclusions,
    kept: &StorageStatus,
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    let story = mark_story(story::compose_story(experiment, conclusions, kept), experiment);
    let document =
        || ArtifactDocument::new(Cow::Borrowed(experiment), conclusions.clone(), &story, kept.stored_number());
    show_story(settings, document, &story)
}

impl PrintedArtifact for FleetExperiment {
    fn print_in_form(
        &self,
        kept: &StorageStatus,
        form: &ArtifactForm,
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure> {
        form.refuse_options(&[], "an experiment over many machines")?;
        show_experiment(self, &self.draw_conclusions(), kept, settings)
    }

    const TITLE: &'static str = "Fleet experiment";

    fn first_command() -> SuggestedCommand {
        suggested_command::fleet_try(&[], &["./app".to_owned()])
    }

    fn compose_story(
        &self,
        conclusions: &FleetExperimentConclusions,
        kept: &StorageStatus,
        _: &ProgramSettings,
    ) -> Story {
        story::compose_story(self, conclusions, kept)
    }

    fn compose_changes(_: [i64; 2], _: [&Self; 2]) -> Option<Story> {
        None
    }

    fn print_comparison(numbers: [i64; 2], _: [&Self; 2], _: &ProgramSettings) -> Result<(), CommandFailure> {
        let what = format!("fleet experiments {} and {} cannot be compared", numbers[0], numbers[1]);
        Err(CommandFailure::usage_error(what).with_hint("Try both placements in one experiment: --on A --on B"))
    }
}
