//! The system's ssh as the engine: the result is what the command writes to standard output. The user's settings of ssh apply.

mod copied_program;
mod remote;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use corewise_model::fleet::ProblemKind;

use super::collected_child::{ChildOutcome, CollectedChild, EndedChild};
use super::error::FleetError;
use super::folder::describe_too_large;
use super::hosts::SshHost;
use super::job::{FleetJob, JobName, JobStart, KnownNode, NodeOutcome};
use super::{FleetEngine, node_problem};
pub use copied_program::CopiedProgram;

/// Longest time in which a host must answer.
const CONNECT_TIMEOUT_S: u32 = 10;
/// Longest time of copying the program.
const LONGEST_COPY: Duration = Duration::from_mins(5);
/// Largest output of copying, which is the version's line.
const MOST_COPY_BYTES: u64 = 4096;

/// Options of visits by ssh.
#[derive(Clone, Debug, Default)]
pub struct SshOptions {
    /// Another file of settings, as `ssh -F` takes it.
    pub settings: Option<PathBuf>,
    /// Further settings, as `ssh -o` takes them.
    pub options: Vec<String>,
    /// Version that corewise must have on the hosts.
    pub version: String,
    /// The program that hosts without it get.
    pub copy: Option<CopiedProgram>,
}

/// Connections of one run.
#[derive(Debug)]
pub struct SshEngine {
    options: SshOptions,
    hosts: BTreeMap<String, SshHost>,
    /// The hosts' names in the order of the file.
    order: Vec<String>,
    running: BTreeMap<JobName, RunningSsh>,
    /// Hosts that got the program in this run.
    copied: BTreeSet<String>,
    outcomes: Vec<(JobName, NodeOutcome)>,
}

#[derive(Debug)]
struct RunningSsh {
    job: FleetJob,
    step: SshStep,
    child: CollectedChild,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SshStep {
    /// Runs the job.
    Job,
    /// Copies the program; the job follows.
    Copy,
}

impl SshEngine {
    /// Creates an engine for these hosts.
    pub fn new(hosts: Vec<SshHost>, options: SshOptions) -> Self {
        let order = hosts.iter().map(|host| host.name.clone()).collect();
        let hosts = hosts.into_iter().map(|host| (host.name.clone(), host)).collect();
        Self { options, hosts, order, running: BTreeMap::new(), copied: BTreeSet::new(), outcomes: Vec::new() }
    }

    /// Starts ssh for a step of a job.
    fn start_step(&self, job: &FleetJob, step: SshStep) -> std::io::Result<CollectedChild> {
        let host = &self.hosts[&job.name.node];
        let mut command = self.ssh_command(host);
        match (step, &self.options.copy) {
            (SshStep::Copy, Some(program)) => {
                command.arg(remote::write_copy_script(&self.options.version));
                CollectedChild::start(&mut command, program.open_input()?, MOST_COPY_BYTES, LONGEST_COPY)
            }
            _ => {
                command.arg(remote::write_job_script(&self.options.version, &job.arguments));
                CollectedChild::start(&mut command, Stdio::null(), job.most_bytes, job.limit)
            }
        }
    }

    fn ssh_command(&self, host: &SshHost) -> Command {
        let mut command = Command::new("ssh");
        if let Some(settings) = &self.options.settings {
            command.arg("-F").arg(settings);
        }
        // The first value of a setting counts.
        command.args(self.options.options.iter().flat_map(|option| ["-o", option]));
        command.args(["-o", "BatchMode=yes", "-o", &format!("ConnectTimeout={CONNECT_TIMEOUT_S}")]);
        // Leaves no connection behind, and notices a host that died.
        command.args(["-o", "ControlMaster=no", "-o", "ServerAliveInterval=15", "-T", "-x", "-a"]);
        command.args(host.port.iter().flat_map(|port| ["-p".to_owned(), port.to_string()]));
        let user = host.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        command.arg(format!("{user}{}", host.host));
        command
    }

    /// Goes on with a job after a step.
    fn take_end(&mut self, running: RunningSsh, ended: &EndedChild) {
        let RunningSsh { job, step, .. } = running;
        let (name, may_copy) = (&job.name, self.options.copy.is_some() && !self.copied.contains(&job.name.node));
        let next = match (step, remote::read_status(ended)) {
            (SshStep::Job, Some(status)) if may_copy && remote::lacks_program(status) => Some(SshStep::Copy),
            (SshStep::Copy, Some(0)) => Some(SshStep::Job),
            _ => None,
        };
        match next {
            Some(next) => {
                if next == SshStep::Copy {
                    self.copied.insert(name.node.clone());
                }
                self.begin_step(job, next);
            }
            None => self.outcomes.push((name.clone(), self.conclude_step(&job, step, ended))),
        }
    }

    fn conclude_step(&self, job: &FleetJob, step: SshStep, ended: &EndedChild) -> NodeOutcome {
        match (&ended.outcome, step) {
            (ChildOutcome::Exited(Some(0)), SshStep::Job) => Ok(ended.output.clone()),
            (ChildOutcome::WroteTooMuch, SshStep::Job) => Err(describe_too_large(job.most_bytes)),
            (ChildOutcome::TimedOut, step) => {
                let limit = if step == SshStep::Job { job.limit } else { LONGEST_COPY };
                Err(node_problem(ProblemKind::TimedOut, format!("no result within {} s", limit.as_secs())))
            }
            (_, SshStep::Copy) => Err(remote::describe_failed_copy(ended)),
            (_, SshStep::Job) => Err(remote::describe_failure(ended, &self.options.version)),
        }
    }

    /// Starts a step; if that is not possible, the job has its outcome.
    fn begin_step(&mut self, job: FleetJob, step: SshStep) {
        match self.start_step(&job, step) {
            Ok(child) => drop(self.running.insert(job.name.clone(), RunningSsh { job, step, child })),
            Err(error) => {
                let problem = node_problem(ProblemKind::NotStarted, format!("ssh cannot be started: {error}"));
                self.outcomes.push((job.name, Err(problem)));
            }
        }
    }
}

impl FleetEngine for SshEngine {
    fn list_nodes(&mut self) -> Result<Vec<KnownNode>, FleetError> {
        let mut version = Command::new("ssh");
        let started = CollectedChild::start(version.arg("-V"), Stdio::null(), MOST_COPY_BYTES, LONGEST_COPY);
        started.map_err(|source| FleetError::NoProgram { program: "ssh", source })?.wait_for_end();
        let known =
            |name: &String| KnownNode { name: name.clone(), rack: self.hosts[name].rack.clone(), problem: None };
        Ok(self.order.iter().map(known).collect())
    }

    fn start_job(&mut self, job: &FleetJob) -> JobStart {
        if !self.hosts.contains_key(&job.name.node) {
            let reason = format!("the list of hosts has no {}", job.name.node);
            return JobStart::Failed(node_problem(ProblemKind::NotStarted, reason));
        }
        self.begin_step(job.clone(), SshStep::Job);
        JobStart::Started
    }

    fn collect_outcomes(&mut self) -> Vec<(JobName, NodeOutcome)> {
        let names: Vec<JobName> = self.running.keys().cloned().collect();
        for name in names {
            let Some(ended) = self.running.get_mut(&name).and_then(|running| running.child.poll_end()) else {
                continue;
            };
            if let Some(running) = self.running.remove(&name) {
                self.take_end(running, &ended);
            }
        }
        std::mem::take(&mut self.outcomes)
    }

    fn end_jobs(&mut self, names: &[JobName]) {
        // Each ssh ends with its value.
        names.iter().for_each(|name| drop(self.running.remove(name)));
    }

    fn describe_waiting(&self) -> Option<String> {
        None
    }
}
