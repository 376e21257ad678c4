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
use corewise_model::fleet::{Fleet, NodeProblem, ProblemKind, VisitPolicy, next_visits};

use super::arguments::FleetSurveyArguments;
use super::conclude_fleet;
use super::engine::{OpenedFleet, explain_fleet_error, mark_complete};
use super::reports::read_report;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::output::print_message;
use crate::app::progress::ProgressDisplay;
use crate::app::settings::ProgramSettings;
use crate::draw::number::format_count;
use crate::draw::suggestion::quote_word;

/// Time that a visit takes besides its budget: reaching the node, starting, calibrating, printing.
const BESIDES: Duration = Duration::from_secs(20);
/// Largest report in bytes: the digest and a line end.
const MOST_REPORT_BYTES: u64 = MOST_DIGEST_BYTES as u64 + 1;

impl FleetSurveyArguments {
    /// Visits the fleet, stores it and shows it.
    pub fn run_survey(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let OpenedFleet { mut engine, folder } = self.engine.open_fleet("survey", settings)?;
        let interruption = InterruptionWatch::watch_signals()?;
        let nodes = engine.list_nodes().map_err(explain_fleet_error)?;
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
        let fleet = collector.conclude(is_interrupted);
        if is_interrupted {
            print_message(&"interrupted: the same command goes on with what is missing");
        } else {
            mark_complete(&folder)?;
            describe_silent(&fleet, &folder);
        }
        conclude_fleet(&fleet, is_interrupted, settings)
    }

    /// Returns the first visits of all usable nodes in random order, then their second ones in another; with them the ones of an earlier run.
    fn first_jobs(
        &self,
        nodes: &[KnownNode],
        folder: &FleetFolder,
        seed: u64,
    ) -> Result<Vec<FleetJob>, CommandFailure> {
        let mut random = RandomGenerator::new(seed);
        let mut usable: Vec<&KnownNode> = nodes.iter().filter(|node| node.problem.is_none()).collect();
        let mut jobs = Vec::new();
        for visit in 1..=VisitPolicy::default().first_visits {
            random.shuffle(&mut usable);
            jobs.extend(usable.iter().map(|node| self.make_job(&node.name, node.rack.as_deref(), visit)));
        }
        let racks: BTreeMap<&str, Option<&str>> =
            nodes.iter().map(|node| (node.name.as_str(), node.rack.as_deref())).collect();
        let planned: BTreeSet<JobName> = jobs.iter().map(|job| job.name.clone()).collect();
        let stored = folder.list_results().map_err(explain_fleet_error)?;
        for name in stored.difference(&planned) {
            let rack = racks.get(name.node.as_str());
            jobs.extend(rack.map(|rack| self.make_job(&name.node, *rack, name.visit as usize)));
        }
        Ok(jobs)
    }

    /// Returns another visit of each node that may differ from its peers.
    fn next_jobs(&self, collector: &VisitCollector<'_>) -> Vec<FleetJob> {
        let places = next_visits(&collector.fleet, &VisitPolicy::default());
        let nodes = places.into_iter().map(|place| &collector.fleet.nodes[place]);
        let last = |name: &str| collector.last_visits.get(name).copied().unwrap_or_default() as usize;
        nodes.map(|node| self.make_job(&node.name, node.rack.as_deref(), last(&node.name) + 1)).collect()
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
        let bar = ProgressDisplay::new(settings.progress);
        Self { fleet, folder, last_visits: BTreeMap::new(), bar, begun: Instant::now(), error: None }
    }

    fn seed(&self) -> u64 {
        self.fleet.provenance.seed
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
