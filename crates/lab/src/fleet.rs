//! Runs one command on each of many nodes and collects a file from each, by Slurm or over ssh.
//!
//! The engine knows nothing of what the command does. All of its state lies in a [`FleetFolder`], so a run that was interrupted goes on with
//! what is missing.

pub mod collected_child;
pub mod error;
pub mod folder;
pub mod hosts;
pub mod job;
pub mod slurm;
pub mod ssh;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corewise_model::fleet::{NodeProblem, ProblemKind};

pub use error::FleetError;
use folder::FleetFolder;
use job::{FleetJob, JobName, JobStart, KnownNode, NodeOutcome};

/// Pause between two looks at all that runs.
const PAUSE: Duration = Duration::from_millis(50);

/// A way to run commands on nodes.
pub trait FleetEngine {
    /// Lists the nodes, each with its problem if nothing can run there now.
    ///
    /// # Errors
    /// If the nodes cannot be listed, or there is none.
    fn list_nodes(&mut self) -> Result<Vec<KnownNode>, FleetError>;

    /// Starts a job. Returns before it has ended.
    fn start_job(&mut self, job: &FleetJob) -> JobStart;

    /// Looks at all that run, without waiting; returns the outcomes since the last look.
    fn collect_outcomes(&mut self) -> Vec<(JobName, NodeOutcome)>;

    /// Ends these jobs. Only jobs that this engine started are touched; they have no outcome any more.
    fn end_jobs(&mut self, names: &[JobName]);

    /// Describes why jobs wait for their nodes; `None` if none is known to wait.
    fn describe_waiting(&self) -> Option<String>;
}

/// Receiver of what a fleet's run does.
pub trait FleetListener {
    /// Receives the outcome of a job; also of the jobs of an earlier run.
    fn receive_outcome(&mut self, job: &FleetJob, outcome: NodeOutcome);

    /// Receives the progress, several times a second.
    fn show_progress(&mut self, progress: &FleetProgress);
}

/// Progress of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetProgress {
    /// Number of jobs that have an outcome.
    pub done: usize,
    /// Number of all jobs.
    pub all: usize,
    /// Number of jobs that were started and have no outcome yet.
    pub running: usize,
    /// Why jobs wait for their nodes, if they do.
    pub waiting: Option<String>,
}

/// A run of jobs by one engine, with its results in one folder.
pub struct FleetRun<'a> {
    engine: &'a mut dyn FleetEngine,
    folder: &'a FleetFolder,
    at_once: usize,
    stop: &'a AtomicBool,
    running: BTreeMap<JobName, FleetJob>,
    failed_nodes: BTreeSet<String>,
}

impl<'a> FleetRun<'a> {
    /// Prepares a run that starts at most `at_once` jobs at a time, and ends early once `stop` is set.
    pub fn new(engine: &'a mut dyn FleetEngine, folder: &'a FleetFolder, at_once: usize, stop: &'a AtomicBool) -> Self {
        let (running, failed_nodes) = (BTreeMap::new(), BTreeSet::new());
        Self { engine, folder, at_once: at_once.max(1), stop, running, failed_nodes }
    }

    /// Runs the jobs that have no result in the folder, in their order; two jobs of one node never at a time. A node with a problem gets
    /// no further jobs in this run. Results and problems are stored as they come.
    ///
    /// # Errors
    /// [`FleetError::Folder`] if a result or a problem cannot be stored. All that ran is ended then; what came before is kept.
    pub fn run_jobs(&mut self, jobs: Vec<FleetJob>, listener: &mut dyn FleetListener) -> Result<(), FleetError> {
        let all = jobs.len();
        let mut waiting = self.take_stored(jobs, listener)?;
        let ended = self.run_missing(&mut waiting, all, listener);
        ended.and(self.end_running(listener))
    }

    /// Ends what still runs, and hands over what came meanwhile.
    fn end_running(&mut self, listener: &mut dyn FleetListener) -> Result<(), FleetError> {
        let running = std::mem::take(&mut self.running);
        let last = self.engine.collect_outcomes();
        self.engine.end_jobs(&running.keys().cloned().collect::<Vec<_>>());
        for (name, job) in &running {
            // Problems come of being ended.
            let last = last.iter().find(|(known, outcome)| known == name && outcome.is_ok());
            let came = last.map(|(_, outcome)| outcome.clone()).or_else(|| self.folder.read_result(job));
            if let Some(Ok(bytes)) = came {
                self.keep_outcome(job, Ok(bytes), listener)?;
            }
        }
        Ok(())
    }

    /// Hands over what the folder has, and returns the other jobs.
    fn take_stored(
        &self,
        jobs: Vec<FleetJob>,
        listener: &mut dyn FleetListener,
    ) -> Result<VecDeque<FleetJob>, FleetError> {
        let stored = self.folder.list_results()?;
        let (done, missing): (Vec<FleetJob>, Vec<FleetJob>) =
            jobs.into_iter().partition(|job| stored.contains(&job.name));
        for job in &done {
            let outcome = self.folder.read_result(job);
            let lost = || Err(node_problem(ProblemKind::Unreadable, "its file is gone"));
            listener.receive_outcome(job, outcome.unwrap_or_else(lost));
        }
        Ok(missing.into())
    }

    fn run_missing(
        &mut self,
        waiting: &mut VecDeque<FleetJob>,
        all: usize,
        listener: &mut dyn FleetListener,
    ) -> Result<(), FleetError> {
        let mut at_once = self.at_once;
        while !self.stop.load(Ordering::SeqCst) && (!waiting.is_empty() || !self.running.is_empty()) {
            let before = self.running.len();
            while self.running.len() < at_once && !self.stop.load(Ordering::SeqCst) {
                let Some(job) = self.take_next(waiting) else { break };
                match self.engine.start_job(&job) {
                    JobStart::Started => drop(self.running.insert(job.name.clone(), job)),
                    // The site's limit is lower than ours.
                    JobStart::Later(_) if !self.running.is_empty() => {
                        at_once = self.running.len();
                        waiting.push_front(job);
                    }
                    JobStart::Later(problem) | JobStart::Failed(problem) => {
                        self.keep_outcome(&job, Err(problem), listener)?
                    }
                }
            }
            let outcomes = self.engine.collect_outcomes();
            let is_idle = outcomes.is_empty() && before == self.running.len();
            for (name, outcome) in outcomes {
                if let Some(job) = self.running.remove(&name) {
                    self.keep_outcome(&job, outcome, listener)?;
                }
            }
            let (running, waits) = (self.running.len(), self.engine.describe_waiting());
            listener.show_progress(&FleetProgress {
                done: all - waiting.len() - running,
                all,
                running,
                waiting: waits,
            });
            if is_idle && !self.running.is_empty() {
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Takes the first job of a node that runs none. Jobs of nodes with a problem are dropped.
    fn take_next(&self, waiting: &mut VecDeque<FleetJob>) -> Option<FleetJob> {
        waiting.retain(|job| !self.failed_nodes.contains(&job.name.node));
        let is_free = |job: &FleetJob| !self.running.values().any(|running| running.name.node == job.name.node);
        let at = waiting.iter().position(is_free)?;
        waiting.remove(at)
    }

    fn keep_outcome(
        &mut self,
        job: &FleetJob,
        outcome: NodeOutcome,
        listener: &mut dyn FleetListener,
    ) -> Result<(), FleetError> {
        match &outcome {
            Ok(bytes) => self.folder.keep_result(&job.name, bytes)?,
            Err(problem) => {
                self.failed_nodes.insert(job.name.node.clone());
                self.folder.keep_problem(&job.name, problem)?;
            }
        }
        listener.receive_outcome(job, outcome);
        Ok(())
    }
}

/// Returns a problem with its reason.
pub(crate) fn node_problem(kind: ProblemKind, reason: impl Into<String>) -> NodeProblem {
    NodeProblem { kind, reason: reason.into() }
}

#[cfg(test)]
mod tests;
