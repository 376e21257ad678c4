//! `corewise fleet survey`: visits every node twice, and some of them again, until that would change nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use corewise_lab::fleet::folder::FleetFolder;
use corewise_lab::fleet::job::{FleetJob, JobName, KnownNode, NodeOutcome};
use corewise_lab::fleet::{FleetError, FleetListener, FleetProgress, FleetRun};
use corewise_lab::session::{StepProgress, seed_from_clock, unix_ms};
use corewise_machine::random::RandomGenerator;
use corewise_machine::suggested_command;
use corewise_model::artifact::{ArtifactOrigin, ArtifactProvenance};
use corewise_model::digest::MOST_DIGEST_BYTES;
use corewise_model::fleet::node_list::format_node_list;
use corewise_model::fleet::{Fleet, NodeProblem, ProblemKind, VisitPolicy, next_visits};
use corewise_sys::input::{self, InputKind};
use corewise_sys::output::replace_file;
use serde::{Deserialize, Serialize};

use super::arguments::FleetSurveyArguments;
use super::conclude_fleet;
use super::engine::{FleetRunKind, OpenedFleet, explain_fleet_error, mark_complete};
use super::reports::read_report;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::output::print_message;
use crate::app::progress::ProgressDisplay;
use crate::app::settings::ProgramSettings;
use crate::draw::number::{format_count, format_duration};
use crate::draw::suggestion::quote_word;

/// Time that a visit takes besides its budget: reaching the node, starting, calibrating, printing.
const BESIDES: Duration = Duration::from_secs(20);
/// Largest report in bytes: the digest and a line end.
const MOST_REPORT_BYTES: u64 = MOST_DIGEST_BYTES as u64 + 1;

impl FleetSurveyArguments {
    /// Visits the fleet, stores it and shows it.
    pub fn run_survey(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let kind = FleetRunKind {
            word: "survey",
            examples: [suggested_command::fleet_survey_slurm(), suggested_command::fleet_survey_hosts("hosts.txt")],
            is_other: &|_| false,
        };
        let OpenedFleet { mut engine, folder, nodes } = self.engine.open_fleet(&kind, settings)?;
        let interruption = InterruptionWatch::watch_signals()?;
        SurveyPlanFile::note_changes(&folder, self.budget)?;
        let mut collector = VisitCollector::new(&nodes, &self, &folder, settings);
        let count = format_count(nodes.len(), "node");
        print_message(&format!("visiting {count}; results are in {}", folder.path().display()));
        let mut jobs = self.first_jobs(&nodes, &folder, collector.seed())?;
        let mut run = FleetRun::new(&mut *engine, &folder, self.engine.at_once as usize, interruption.stop());
        while !jobs.is_empty() && !interruption.was_seen() {
            let ended = run.run_jobs(jobs, &mut collector);
            collector.bar.clear_display();
            ended.and(collector.take_error()).map_err(explain_fleet_error)?;
            jobs = self.next_jobs(&collector);
        }
        let is_interrupted = interruption.was_seen();
        collector.describe_unlisted();
        let fleet = collector.conclude(is_interrupted);
        if is_interrupted {
            print_message(&"interrupted: the same command goes on with what is missing");
        } else {
            if fleet.nodes.iter().any(|node| !node.visits.is_empty()) {
                mark_complete(&folder)?;
            }
            describe_silent(&fleet, &folder);
        }
        conclude_fleet(&fleet, is_interrupted, settings)
    }

    /// Returns the first visits of all usable nodes in random order, then their second ones in another, and so on; with them the ones of an
    /// earlier run, also of nodes that are no longer listed.
    fn first_jobs(
        &self,
        nodes: &[KnownNode],
        folder: &FleetFolder,
        seed: u64,
    ) -> Result<Vec<FleetJob>, CommandFailure> {
        let mut random = RandomGenerator::new(seed);
        let mut usable: Vec<&KnownNode> = nodes.iter().filter(|node| node.problem.is_none()).collect();
        let mut jobs = Vec::new();
        for visit in 1..=usize::from(self.visits) {
            random.shuffle(&mut usable);
            jobs.extend(usable.iter().map(|node| self.make_job(&node.name, node.rack.as_deref(), visit)));
        }
        let racks: BTreeMap<&str, Option<&str>> =
            nodes.iter().map(|node| (node.name.as_str(), node.rack.as_deref())).collect();
        let planned: BTreeSet<JobName> = jobs.iter().map(|job| job.name.clone()).collect();
        let stored = folder.list_results().map_err(explain_fleet_error)?;
        for name in stored.difference(&planned) {
            let rack = racks.get(name.node.as_str()).copied().flatten();
            jobs.push(self.make_job(&name.node, rack, name.visit as usize));
        }
        Ok(jobs)
    }

    /// Returns another visit of each node that may differ from its peers.
    fn next_jobs(&self, collector: &VisitCollector<'_>) -> Vec<FleetJob> {
        let policy = VisitPolicy { visits_of_each: usize::from(self.visits), ..VisitPolicy::default() };
        let places = next_visits(&collector.fleet, &policy);
        let nodes = places.into_iter().map(|place| &collector.fleet.nodes[place]);
        let nodes = nodes.filter(|node| collector.listed.contains(&node.name));
        let last = |name: &str| collector.last_visits.get(name).copied().unwrap_or_default() as usize;
        nodes.map(|node| self.make_job(&node.name, node.rack.as_deref(), last(&node.name) + 1)).collect()
    }

    /// Returns the words after `corewise fleet` that make such a survey again.
    fn typed_words(&self) -> Vec<String> {
        let visit = suggested_command::fleet_visit(self.budget).words().iter().skip(3).cloned().collect::<Vec<_>>();
        let visits = usize::from(self.visits);
        let visits =
            (visits != VisitPolicy::default().visits_of_each).then(|| ["--visits".to_owned(), visits.to_string()]);
        let words = ["survey".to_owned()].into_iter().chain(self.engine.typed_words()).chain(visit);
        words.chain(visits.into_iter().flatten()).collect()
    }

    fn make_job(&self, node: &str, rack: Option<&str>, visit: usize) -> FleetJob {
        let mut arguments = suggested_command::fleet_visit(self.budget).words()[1..].to_vec();
        arguments.extend(["--node", node].map(str::to_owned));
        arguments.extend(rack.iter().flat_map(|rack| ["--rack", rack].map(str::to_owned)));
        FleetJob {
            name: JobName { node: node.to_owned(), visit: u32::try_from(visit).unwrap_or(u32::MAX) },
            arguments,
            // A busy node takes longer than its budget.
            limit: self.budget.mul_f64(1.5) + BESIDES,
            most_bytes: MOST_REPORT_BYTES,
        }
    }
}

/// File of a folder of results that says how long its visits take.
const PLAN: &str = "survey.json";

/// The plan of a folder's visits: written before the first one.
#[derive(Serialize, Deserialize)]
struct SurveyPlanFile {
    /// Duration of a visit in seconds.
    budget_s: f64,
}

impl SurveyPlanFile {
    /// Says if the visits of a folder so far had another duration, and writes the present one.
    fn note_changes(folder: &FleetFolder, budget: Duration) -> Result<(), CommandFailure> {
        let (path, plan) = (folder.path().join(PLAN), Self { budget_s: budget.as_secs_f64() });
        let before = input::read_text(&path, InputKind::FleetResult).ok();
        let before = before.and_then(|text| serde_json::from_str::<Self>(&text).ok()).map(|before| before.budget_s);
        if let Some(before) =
            before.filter(|before| before.total_cmp(&plan.budget_s).is_ne() && !folder.is_without_results())
        {
            let [before, now] = [before, plan.budget_s].map(|seconds| format_duration(1e9 * seconds));
            print_message(&format!(
                "note: visits so far took {before} each, new ones take {now}: they are judged together"
            ));
        }
        let text = serde_json::to_vec(&plan).map_err(|error| CommandFailure::new(CommandExit::Internal, error))?;
        replace_file(&path, &text).map_err(|source| explain_fleet_error(FleetError::Folder { path, source }))
    }
}

/// Says how nodes without a result are visited again.
fn describe_silent(fleet: &Fleet, folder: &FleetFolder) {
    let silent = fleet.nodes.iter().filter(|node| node.problem.is_some()).count();
    if silent > 0 {
        let (nodes, to) = (format_count(silent, "node"), quote_word(&folder.path().to_string_lossy()));
        print_message(&format!("{nodes} gave no result: the same command with --to {to} visits only what is missing"));
    }
}

/// Adds the reports of visits to a fleet.
struct VisitCollector<'a> {
    fleet: Fleet,
    folder: &'a FleetFolder,
    /// Names of the nodes that can be visited. The folder may have results of others.
    listed: BTreeSet<String>,
    /// Number of the last visit of each node that was made or failed.
    last_visits: BTreeMap<String, u32>,
    bar: ProgressDisplay,
    begun: Instant,
    /// First failure of removing a report that cannot be read.
    error: Option<FleetError>,
}

impl<'a> VisitCollector<'a> {
    fn new(
        nodes: &[KnownNode],
        arguments: &FleetSurveyArguments,
        folder: &'a FleetFolder,
        settings: &ProgramSettings,
    ) -> Self {
        let mut fleet = Fleet::new(ArtifactProvenance {
            origin: ArtifactOrigin::Measured,
            corewise: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_ms: unix_ms(),
            elapsed_s: 0.0,
            budget_s: arguments.budget.as_secs_f64(),
            seed: arguments.seed.unwrap_or_else(seed_from_clock),
            partial: false,
        });
        for node in nodes {
            fleet.set_rack(&node.name, node.rack.clone());
            if let Some(problem) = &node.problem {
                fleet.add_problem(&node.name, problem.clone());
            }
        }
        fleet.made_by = arguments.typed_words();
        let bar = ProgressDisplay::new(settings.progress);
        let listed = nodes.iter().map(|node| node.name.clone()).collect();
        Self { fleet, folder, listed, last_visits: BTreeMap::new(), bar, begun: Instant::now(), error: None }
    }

    fn seed(&self) -> u64 {
        self.fleet.provenance.seed
    }

    /// Says which nodes take part by their earlier visits alone.
    fn describe_unlisted(&self) {
        let nodes = self.fleet.nodes.iter().map(|node| node.name.as_str());
        let unlisted: Vec<&str> = nodes.filter(|node| !self.listed.contains(*node)).collect();
        if !unlisted.is_empty() {
            let (count, list) = (format_count(unlisted.len(), "node"), format_node_list(unlisted.iter().copied()));
            print_message(&format!(
                "note: {count} of {} not listed any more, counted with earlier visits only: {list}",
                self.folder.path().display()
            ));
        }
    }

    fn take_error(&mut self) -> Result<(), FleetError> {
        self.error.take().map_or(Ok(()), Err)
    }

    fn conclude(mut self, is_partial: bool) -> Fleet {
        self.fleet.provenance.elapsed_s = self.begun.elapsed().as_secs_f64();
        self.fleet.provenance.partial = is_partial;
        self.fleet
    }

    /// Adds a report, or the reason why it cannot be read; such a report is removed, so that the next run visits the node again.
    fn add_report(&mut self, job: &FleetJob, bytes: &[u8]) -> Result<(), NodeProblem> {
        let read = read_report(bytes).and_then(|report| match report.node == job.name.node {
            true => Ok(report),
            false => Err(format!("it is a report of {}", report.node)),
        });
        let report = read.map_err(|reason| {
            let problem = NodeProblem { kind: ProblemKind::Unreadable, reason };
            let removed = self.folder.discard_result(&job.name);
            let noted = removed.and_then(|()| self.folder.keep_problem(&job.name, &problem));
            self.error = self.error.take().or_else(|| noted.err());
            problem
        })?;
        self.fleet.add_visit(&report);
        Ok(())
    }
}

impl FleetListener for VisitCollector<'_> {
    fn receive_outcome(&mut self, job: &FleetJob, outcome: NodeOutcome) {
        let last = self.last_visits.entry(job.name.node.clone()).or_default();
        *last = job.name.visit.max(*last);
        let added = outcome.and_then(|bytes| self.add_report(job, &bytes));
        if let Err(problem) = added {
            print_message(&format!("{}: {}", job.name.node, problem.reason));
            self.fleet.add_problem(&job.name.node, problem);
        }
    }

    fn show_progress(&mut self, progress: &FleetProgress) {
        let FleetProgress { done, all, running, .. } = *progress;
        let share = done as f64 / all.max(1) as f64;
        let each = self.begun.elapsed().checked_div(u32::try_from(done).unwrap_or(u32::MAX)).unwrap_or_default();
        let left = each.saturating_mul(u32::try_from(all - done).unwrap_or(u32::MAX));
        let waiting = progress.waiting.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
        let step = format!("{done} of {all} visits, {running} under way{waiting}");
        self.bar.show_progress(&StepProgress { step, done: share, left });
    }
}
