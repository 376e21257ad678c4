//! Slurm as the engine: one exclusive job for each visit of a node. Results come as files, on a file system that the nodes share.
//!
//! `squeue` says why a job waits; whether one has ended is decided by its file and by deadlines of our own, since accounting may be missing
//! and a dead node is noticed late (slurm.conf, `SlurmdTimeout`). Only jobs that this engine submitted are cancelled, by their numbers.

mod commands;
mod states;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use corewise_model::fleet::{NodeProblem, ProblemKind};

use super::error::FleetError;
use super::folder::{FleetFolder, last_line, read_file};
use super::job::{FleetJob, JobName, JobStart, KnownNode, NodeOutcome};
use super::{FleetEngine, node_problem};
use commands::{QueuedJob, SlurmCommands, SubmitError};

/// Pause between two looks at the result files.
const BETWEEN_FILES: Duration = Duration::from_millis(250);
/// Shortest and longest pause between two looks at the queue; in between it grows with the time since the last job was submitted.
const BETWEEN_QUEUES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(10)];
/// Time in which the file of a job that has left the queue may still appear: file systems of a network show files late.
const LATE_FILE: Duration = Duration::from_secs(5);

/// Options of visits by Slurm.
#[derive(Clone, Debug)]
pub struct SlurmOptions {
    /// The partition; the default one if absent.
    pub partition: Option<String>,
    /// The nodes, as Slurm writes them: "n[0-3]"; all of the partition if absent.
    pub nodes: Option<String>,
    /// corewise's program, by a path that holds on the nodes.
    pub program: PathBuf,
    /// Longest wait of a job for its node.
    pub patience: Duration,
}

/// Slurm's jobs of one run.
#[derive(Debug)]
pub struct SlurmEngine {
    options: SlurmOptions,
    folder: FleetFolder,
    commands: SlurmCommands,
    jobs: BTreeMap<JobName, SubmittedJob>,
    outcomes: Vec<(JobName, NodeOutcome)>,
    last_files: Option<Instant>,
    last_queue: Option<Instant>,
    last_submission: Instant,
    waiting: Option<String>,
}

#[derive(Debug)]
struct SubmittedJob {
    /// Its number.
    number: u64,
    job: FleetJob,
    /// When it was submitted, and when it was first seen to run.
    submitted: Instant,
    begun: Option<Instant>,
    /// When it was first missing from the queue.
    gone: Option<Instant>,
    /// Why it waits.
    waits_for: String,
}

impl SlurmEngine {
    /// Creates an engine; its jobs write into a folder. `run_name` names its jobs in the queue: letters, digits and `-`.
    pub fn new(options: SlurmOptions, folder: &FleetFolder, run_name: &str) -> Self {
        Self {
            commands: SlurmCommands::new(run_name, options.partition.as_deref()),
            options,
            folder: folder.clone(),
            jobs: BTreeMap::new(),
            outcomes: Vec::new(),
            last_files: None,
            last_queue: None,
            last_submission: Instant::now(),
            waiting: None,
        }
    }

    /// Returns the ending of the files of a job beside its result.
    fn ending_of(number: u64) -> [String; 2] {
        [format!("{number}.part"), format!("{number}.status")]
    }

    /// Takes the outcomes of jobs by their files.
    fn look_at_files(&mut self) {
        if self.last_files.is_some_and(|last| last.elapsed() < BETWEEN_FILES) {
            return;
        }
        self.last_files = Some(Instant::now());
        let names: Vec<JobName> = self.jobs.keys().cloned().collect();
        for name in names {
            let submitted = &self.jobs[&name];
            if let Some(outcome) = self.folder.read_result(&submitted.job).or_else(|| self.read_failure(submitted)) {
                self.take_outcome(&name, outcome);
            }
        }
    }

    /// Reads the exit status that a failed job left; `None` if it has left none.
    fn read_failure(&self, submitted: &SubmittedJob) -> Option<NodeOutcome> {
        let [_, ending] = Self::ending_of(submitted.number);
        let name = &submitted.job.name;
        let status = last_line(&read_file(&self.folder.draft_path(name, &ending)).ok()?);
        let said = self.folder.read_log_end(name);
        let program = self.options.program.display();
        Some(Err(match status.as_str() {
            "126" | "127" => node_problem(
                ProblemKind::NotInstalled,
                format!("{program} cannot be run there: it must be on a file system that the nodes share ({said})"),
            ),
            "" => node_problem(
                ProblemKind::Died,
                "it failed, and could not write why: the disk of the results may be full",
            ),
            _ if said.is_empty() => node_problem(ProblemKind::Died, format!("it failed with status {status}")),
            _ => node_problem(ProblemKind::Died, format!("status {status}: {said}")),
        }))
    }

    fn take_outcome(&mut self, name: &JobName, outcome: NodeOutcome) {
        let Some(submitted) = self.jobs.remove(name) else { return };
        let [part, status] = Self::ending_of(submitted.number);
        self.folder.remove_remains(name, &status);
        if outcome.is_err() {
            self.folder.remove_remains(name, &part);
        }
        self.outcomes.push((name.clone(), outcome));
    }

    /// Asks Slurm for the jobs if that is due, and ends the jobs that cannot start.
    fn look_at_queue(&mut self) {
        let pause = (self.last_submission.elapsed() / 4).clamp(BETWEEN_QUEUES[0], BETWEEN_QUEUES[1]);
        if self.jobs.is_empty() || self.last_queue.is_some_and(|last| last.elapsed() < pause) {
            return;
        }
        // A controller that does not answer is asked again; the files and the deadlines go on.
        if let Ok(queue) = self.commands.read_queue() {
            self.waiting = None;
            let names: Vec<JobName> = self.jobs.keys().cloned().collect();
            names.iter().for_each(|name| self.note_state(name, &queue));
        }
        self.last_queue = Some(Instant::now());
    }

    fn note_state(&mut self, name: &JobName, queue: &BTreeMap<u64, QueuedJob>) {
        let Some(submitted) = self.jobs.get_mut(name) else { return };
        match queue.get(&submitted.number) {
            None => drop(submitted.gone.get_or_insert_with(Instant::now)),
            Some(job) if job.is_pending() => {
                submitted.waits_for.clone_from(&job.reason);
                let hopeless = states::is_hopeless(&job.reason);
                self.waiting = self.waiting.take().or_else(|| Some(format!("{} waits: {}", name.node, job.reason)));
                if hopeless {
                    let reason = format!("Slurm: {}", job.reason);
                    self.give_up(name, node_problem(ProblemKind::NotStarted, reason));
                }
            }
            Some(_) => drop(submitted.begun.get_or_insert_with(Instant::now)),
        }
    }

    /// Ends the jobs that are over their time, or have left the queue without a result.
    fn look_at_clock(&mut self) {
        let overdue =
            |(name, submitted): (&JobName, &SubmittedJob)| Some((name.clone(), submitted.find_overdue(&self.options)?));
        let overdue: Vec<(JobName, OverdueJob)> = self.jobs.iter().filter_map(overdue).collect();
        for (name, how) in overdue {
            let problem = match how {
                OverdueJob::Waited(problem) => problem,
                OverdueJob::Gone(number) => self.describe_gone(number),
            };
            self.give_up(&name, problem);
        }
    }

    fn describe_gone(&self, number: u64) -> NodeProblem {
        let shared = format!("{} must be on a file system that the nodes share", self.folder.path().display());
        let kind = ProblemKind::Died;
        match self.commands.read_end(number) {
            Some(end) if end.starts_with("COMPLETED") => {
                node_problem(kind, format!("it ended, but its file did not come: {shared}"))
            }
            // Slurm cannot open the log.
            Some(end) if end.contains("JobLaunchFailure") => node_problem(kind, format!("Slurm: {end}; {shared}")),
            Some(end) => node_problem(kind, format!("Slurm: {end}")),
            None => node_problem(kind, "it left the queue without a result"),
        }
    }

    /// Cancels a job for good.
    fn give_up(&mut self, name: &JobName, problem: NodeProblem) {
        if let Some(submitted) = self.jobs.get(name) {
            self.commands.cancel_jobs(&[submitted.number]);
            self.take_outcome(name, Err(problem));
        }
    }
}

/// Why a job is given up.
enum OverdueJob {
    /// It ran or waited for too long.
    Waited(NodeProblem),
    /// It left the queue without a result; holds its number.
    Gone(u64),
}

impl SubmittedJob {
    fn find_overdue(&self, options: &SlurmOptions) -> Option<OverdueJob> {
        let late = |what: String| Some(OverdueJob::Waited(node_problem(ProblemKind::TimedOut, what)));
        match (self.gone, self.begun) {
            (Some(gone), _) if gone.elapsed() > LATE_FILE => Some(OverdueJob::Gone(self.number)),
            (None, Some(begun)) if begun.elapsed() > self.job.limit => {
                late(format!("no result {} s after its beginning: the node may be dead", self.job.limit.as_secs()))
            }
            (None, None) if self.submitted.elapsed() > options.patience => {
                let (seconds, reason) = (options.patience.as_secs(), &self.waits_for);
                late(format!("did not get the node within {seconds} s (Slurm: {reason})"))
            }
            _ => None,
        }
    }
}

impl FleetEngine for SlurmEngine {
    fn list_nodes(&mut self) -> Result<Vec<KnownNode>, FleetError> {
        self.commands.list_nodes(self.options.nodes.as_deref())
    }

    fn start_job(&mut self, job: &FleetJob) -> JobStart {
        let place = commands::JobFiles::new(&self.folder, &job.name);
        match self.commands.submit_job(job, &self.options.program, &place) {
            Ok(number) => {
                let submitted = Instant::now();
                self.last_submission = submitted;
                let (begun, gone, waits_for) = (None, None, String::new());
                let job = SubmittedJob { number, job: job.clone(), submitted, begun, gone, waits_for };
                self.jobs.insert(job.job.name.clone(), job);
                JobStart::Started
            }
            Err(SubmitError::Full(why)) => {
                JobStart::Later(node_problem(ProblemKind::NotStarted, format!("Slurm: {why}")))
            }
            Err(SubmitError::Refused(why)) => {
                JobStart::Failed(node_problem(ProblemKind::NotStarted, format!("Slurm: {why}")))
            }
        }
    }

    fn collect_outcomes(&mut self) -> Vec<(JobName, NodeOutcome)> {
        self.look_at_files();
        self.look_at_queue();
        self.look_at_clock();
        std::mem::take(&mut self.outcomes)
    }

    fn end_jobs(&mut self, names: &[JobName]) {
        let ended: Vec<SubmittedJob> = names.iter().filter_map(|name| self.jobs.remove(name)).collect();
        self.commands.cancel_jobs(&ended.iter().map(|job| job.number).collect::<Vec<_>>());
        for job in ended {
            let [part, status] = Self::ending_of(job.number);
            [part, status].iter().for_each(|ending| self.folder.remove_remains(&job.job.name, ending));
        }
    }

    fn describe_waiting(&self) -> Option<String> {
        self.waiting.clone()
    }
}
