//! Placements that are proposed by which threads of a program wake each other in a first run, which is watched.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corewise_machine::Machine;
use corewise_machine::placement::roles::placed_roles;
use corewise_model::talk::TalkGraph;
use corewise_model::talk::conclude::TalkConclusions;
use corewise_model::talk::plan::TalkProposal;
use corewise_model::trial::{ThreadRole, TrialMetric};
use corewise_statistics::experiment::JudgingPolicy;
use corewise_sys::execution::{CommandExecution, ExecutionResult};

use super::candidates::{ExperimentKnowledge, baseline_arm};
use super::choice::PlacementChoice;
use super::context::ExperimentContext;
use super::error::ExperimentError;
use super::subject::ExperimentSubject;
use super::subject::command::check_installed;
use super::{RunnerEnd, TrialRequest, create_experiment};
use crate::placement::reachable_here;
use crate::talk::{TalkSubject, TalkWatcher, watch_talk};

/// Longest time for which a first run is watched.
const LONGEST_WATCH: Duration = Duration::from_secs(30);
/// Time for which running processes are watched, unless this share of the session's time is shorter.
const RUNNING_WATCH: Duration = Duration::from_secs(10);
const RUNNING_SHARE: u32 = 6;

/// Placements that a graph proposes, as an experiment takes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TalkCandidates {
    /// The threads with a placement of their own.
    pub thread_roles: Vec<ThreadRole>,
    /// The placements.
    pub choices: Vec<PlacementChoice>,
}

impl TalkCandidates {
    /// Returns the placements of a graph's proposals; `source` names the graph.
    ///
    /// # Errors
    /// [`ExperimentError::Expression`] if a proposal is not of the placement language.
    pub fn new(proposals: &[TalkProposal], source: &str) -> Result<Self, ExperimentError> {
        let mut found = Self::default();
        for proposal in proposals {
            let text = proposal.choice_text();
            let choice = match proposal.on {
                Some(_) => PlacementChoice::parse(&text)?,
                None => PlacementChoice::Roles(text.clone(), placed_roles(&text)?),
            };
            found.choices.push(PlacementChoice::Proposed(Box::new(choice), format!("{source}: {}", proposal.reason)));
            for role in &proposal.roles {
                if found.thread_roles.iter().all(|known| known.name != role.name) {
                    found.thread_roles.push(ThreadRole { name: role.name.clone(), pattern: role.pattern.clone() });
                }
            }
        }
        Ok(found)
    }
}

/// Draws conclusions of a graph for a machine, with the costs of the latest map of its links if there is one. On the machine of this process
/// the plan is within its cpuset.
pub fn conclude_talk(
    graph: &TalkGraph,
    machine: Option<&Machine>,
    knowledge: &dyn ExperimentKnowledge,
) -> TalkConclusions {
    let map = machine.and_then(|machine| knowledge.link_map(machine));
    TalkConclusions::new(graph, machine, map.as_ref())
}

/// Restricts a machine to the cpus that this process may use.
pub fn within_reach(machine: &Machine) -> Machine {
    Machine { allowed: reachable_here(machine), ..machine.clone() }
}

/// Runs a command once and watches it; `receive` gets its output. The command is ended after `limit`.
///
/// # Errors
/// [`ExperimentError::Workload`] if no wakes can be seen, and if the command cannot be started.
pub fn watch_command(
    command: &[String],
    limit: Option<Duration>,
    corewise: &str,
    stop: &AtomicBool,
    receive: &mut dyn FnMut(&[u8]),
) -> Result<(TalkGraph, ExecutionResult), ExperimentError> {
    check_installed(command)?;
    let mut words = command.iter().map(OsString::from);
    let (program, arguments) = (words.next().unwrap_or_default(), words.collect::<Vec<OsString>>());
    let stops = [stop];
    let execution = CommandExecution { timeout: limit, ..CommandExecution::new(&program, &arguments, &stops) };
    let subject = TalkSubject { processes: &[], command, corewise };
    let (graph, executed) = watch_during(subject, limit.unwrap_or(Duration::MAX), stop, || execution.run(receive))?;
    let not_started = |error| ExperimentError::NotBegun(RunnerEnd::Gone(format!("it cannot be started: {error}")));
    Ok((graph, executed.map_err(not_started)?))
}

/// Watches a first run of an experiment's command on the OS default.
///
/// # Errors
/// Why it cannot be run, or why no wakes can be seen.
pub fn watch_first_run(
    subject: &dyn ExperimentSubject,
    context: &ExperimentContext<'_>,
    corewise: &str,
) -> Result<TalkGraph, ExperimentError> {
    let workload = subject.describe_workload(TrialMetric::wall_time(), Vec::new())?;
    let command = workload.command.clone();
    let experiment = create_experiment(
        corewise,
        context.machine.clone(),
        workload,
        vec![baseline_arm()],
        JudgingPolicy::default(),
        None,
    );
    let mut runner = subject.open_runner(&experiment, context)?;
    let until = Some(std::time::Instant::now() + LONGEST_WATCH);
    let request = TrialRequest { repeats: 1, trial: 0, longest: None, until };
    let watched = TalkSubject { processes: &[], command: &command, corewise };
    let (graph, _) =
        watch_during(watched, LONGEST_WATCH, context.stop, || runner.run(&experiment.arms[0], 0, request))?;
    if context.stop.load(Ordering::SeqCst) { Err(ExperimentError::NotBegun(RunnerEnd::Stopped)) } else { Ok(graph) }
}

/// Watches running processes and their descendants before an experiment; nothing is changed.
///
/// # Errors
/// Why no wakes can be seen; that the session was stopped.
pub fn watch_running(
    processes: &[u32],
    context: &ExperimentContext<'_>,
    corewise: &str,
) -> Result<TalkGraph, ExperimentError> {
    let limit = context.budget.map_or(RUNNING_WATCH, |budget| RUNNING_WATCH.min(budget / RUNNING_SHARE));
    let is_stopped = || context.stop.load(Ordering::SeqCst);
    let graph = watch_talk(TalkSubject { processes, command: &[], corewise }, limit, &is_stopped)?;
    if is_stopped() { Err(ExperimentError::NotBegun(RunnerEnd::Stopped)) } else { Ok(graph) }
}

/// Watches what `run` starts on this thread, until it returns.
fn watch_during<T>(
    subject: TalkSubject<'_>,
    limit: Duration,
    stop: &AtomicBool,
    run: impl FnOnce() -> T,
) -> Result<(TalkGraph, T), ExperimentError> {
    let watcher = TalkWatcher::open(subject)?;
    let is_over = AtomicBool::new(false);
    let (mut graph, ran) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| watcher.watch(limit, &|| is_over.load(Ordering::SeqCst)));
        let ran = run();
        is_over.store(true, Ordering::SeqCst);
        (watching.join(), ran)
    });
    // The end of the program is no early end.
    if let Ok(graph) = &mut graph {
        graph.provenance.partial = stop.load(Ordering::SeqCst);
    }
    graph.map(|graph| (graph, ran)).map_err(|_| ExperimentError::NotBegun(RunnerEnd::Stopped))
}
