//! Composes experiments: what is tried, on which placements, and how it is judged.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corewise_machine::Machine;
use corewise_machine::placement::memory::MemoryPolicy;
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::trial::{Experiment, PlacementArm, StretchLength, Trial, TrialDesign, TrialMetric};
use corewise_statistics::experiment::JudgingPolicy;

use super::candidates::{CandidatePlanner, CandidateRequest, refuse_memory_of_others};
use super::choice::PlacementChoice;
use super::confirmation::WinnerConfirmation;
use super::context::{ExperimentContext, NoKnowledge, PreparationEvent};
use super::error::ExperimentError;
use super::subject::ExperimentSubject;
use super::{ExperimentLimits, ExperimentObserver, ExperimentTime, OpenExperiment, create_experiment};

/// An experiment before it begins. `Experiment` is what it becomes: a plain value that is stored.
///
/// # Examples
/// ```no_run
/// use corewise_lab::experiment::{ClosureSubject, ExperimentBuilder};
/// use corewise_model::Artifact as _;
///
/// let subject = ClosureSubject::timed(|| std::hint::black_box((0..1_000_000_u64).sum::<u64>()));
/// let record = ExperimentBuilder::new().on("0")?.on("1")?.run(&subject)?;
/// println!("{:?}", record.draw_conclusions().standing.verdict);
/// # Ok::<(), corewise_lab::experiment::ExperimentError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentBuilder {
    /// The placements to try.
    pub candidates: CandidateRequest,
    /// The metric that decides; the wall time of a run unless another one is named.
    pub metric: TrialMetric,
    /// Metrics that must not get worse.
    pub guards: Vec<TrialMetric>,
    /// How it is judged.
    pub policy: JudgingPolicy,
    /// Seed of the random orders; from the clock if absent.
    pub seed: Option<u64>,
    /// The time for [`Self::run`]; until it is decided if absent.
    pub budget: Option<Duration>,
}

impl Default for ExperimentBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl ExperimentBuilder {
    /// Returns an experiment on planned placements, judged by the wall time of the typical run.
    pub fn new() -> Self {
        Self {
            candidates: CandidateRequest::default(),
            metric: TrialMetric::wall_time(),
            guards: Vec::new(),
            policy: JudgingPolicy::default(),
            seed: None,
            budget: None,
        }
    }

    /// Adds a placement to try, such as `all - core:0` or `llc:0 @ bind:0`.
    ///
    /// # Errors
    /// Those of [`PlacementChoice::parse`].
    pub fn on(mut self, placement: &str) -> Result<Self, ExperimentError> {
        self.candidates.choices.push(PlacementChoice::parse(placement)?);
        Ok(self)
    }

    /// Adds a memory policy, tried on the OS default and on each placement without its own.
    #[must_use]
    pub fn memory(mut self, policy: MemoryPolicy) -> Self {
        self.candidates.memory.push(policy);
        self
    }

    /// Sets the metric that decides.
    #[must_use]
    pub fn metric(mut self, metric: TrialMetric) -> Self {
        self.metric = metric;
        self
    }

    /// Adds a metric that must not get worse.
    #[must_use]
    pub fn guard(mut self, metric: TrialMetric) -> Self {
        self.guards.push(metric);
        self
    }

    /// Sets how it is judged.
    #[must_use]
    pub fn policy(mut self, policy: JudgingPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the seed of the random orders.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the time for [`Self::run`].
    #[must_use]
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Returns the arms of the experiment, the OS default first.
    ///
    /// # Errors
    /// Why a placement cannot be had, or why there is nothing to compare.
    pub fn plan_arms(
        &self,
        subject: &dyn ExperimentSubject,
        context: &ExperimentContext<'_>,
        events: &mut dyn FnMut(PreparationEvent),
    ) -> Result<Vec<PlacementArm>, ExperimentError> {
        let mut planner = CandidatePlanner::new(context.machine, context.knowledge);
        let arms = subject.plan_arms(&self.candidates, &mut planner);
        planner.take_notes().into_iter().map(PreparationEvent::Note).for_each(events);
        arms
    }

    /// Composes the experiment, and checks that its subject can be tried. Its bets are chosen for the noise of an earlier experiment,
    /// if one is known. Nothing is stored or placed; services are started once, and
    /// ended. `corewise` is the version for the record.
    ///
    /// # Errors
    /// Why it cannot be begun.
    pub fn build(
        &self,
        subject: &dyn ExperimentSubject,
        context: &ExperimentContext<'_>,
        corewise: &str,
        events: &mut dyn FnMut(PreparationEvent),
    ) -> Result<Experiment, ExperimentError> {
        let arms = self.plan_arms(subject, context, events)?;
        let workload = subject.describe_workload(self.metric.clone(), self.guards.clone())?;
        refuse_memory_of_others(&workload, &arms)?;
        let policy = subject.revise_policy(&self.policy);
        check_gate(&policy, &arms)?;
        let mut experiment = create_experiment(corewise, context.machine.clone(), workload, arms, policy, self.seed);
        subject.prepare(&mut experiment, context, events)?;
        experiment.policy.expected_noise = context.knowledge.expected_noise(&experiment);
        Ok(experiment)
    }

    /// Runs the experiment on this machine until it is decided or the budget is spent, and keeps nothing. For progress, storage,
    /// earlier measurements or an order to stop use [`Self::build`] and [`OpenExperiment::conduct`].
    ///
    /// # Errors
    /// Why it cannot be begun.
    pub fn run(&self, subject: &dyn ExperimentSubject) -> Result<ExperimentRecord, ExperimentError> {
        let machine = crate::this_machine()?;
        let stop = AtomicBool::new(false);
        let context = self.silent_context(&machine, &stop);
        let experiment = self.build(subject, &context, env!("CARGO_PKG_VERSION"), &mut |_| {})?;
        self.run_silently(subject, experiment, &context)
    }

    /// Tries the winner of an experiment again, alone against the OS default: no sooner than a minute after the
    /// experiment began, and in short stretches of runs, so that neither a moment's luck nor an effect of one run on the
    /// next makes it win twice. `None` if the experiment has no winner. A win is confirmed if the second experiment has a
    /// winner, too.
    ///
    /// # Errors
    /// Why it cannot be run.
    pub fn confirm(
        &self,
        subject: &dyn ExperimentSubject,
        first: &ExperimentRecord,
    ) -> Result<Option<ExperimentRecord>, ExperimentError> {
        let Some(again) = WinnerConfirmation::plan(first, None, subject, StretchLength::Short) else {
            return Ok(None);
        };
        let stop = AtomicBool::new(false);
        let context = self.silent_context(&first.experiment.machine, &stop);
        again.wait(&stop, |_| {});
        let of_winner = subject.with_candidate(again.winner());
        let subject = of_winner.as_deref().unwrap_or(subject);
        self.run_silently(subject, again.begin(env!("CARGO_PKG_VERSION")), &context).map(Some)
    }

    fn silent_context<'a>(&self, machine: &'a Machine, stop: &'a AtomicBool) -> ExperimentContext<'a> {
        let budget = self.budget;
        ExperimentContext { machine, knowledge: &NoKnowledge, journals: None, estimates_clock: false, budget, stop }
    }

    fn run_silently(
        &self,
        subject: &dyn ExperimentSubject,
        experiment: Experiment,
        context: &ExperimentContext<'_>,
    ) -> Result<ExperimentRecord, ExperimentError> {
        let begun = OpenExperiment { experiment, trials: Vec::new(), stored: None };
        let mut runner = subject.open_runner(&begun.experiment, context)?;
        let limits = ExperimentLimits::from_session(&begun, self.budget, context.stop);
        let Ok((trials, _)) = begun.conduct(&mut *runner, limits, &mut SilentWatcher);
        drop(runner);
        Ok(ExperimentRecord { experiment: begun.experiment, trials })
    }
}

/// Refuses a gate about an arm that is not tried.
fn check_gate(policy: &JudgingPolicy, arms: &[PlacementArm]) -> Result<(), ExperimentError> {
    let Some(name) = policy.gate.as_ref().and_then(|gate| gate.of.clone()) else { return Ok(()) };
    let known: Vec<String> = arms.iter().skip(1).map(|arm| arm.name.clone()).collect();
    if known.contains(&name) { Ok(()) } else { Err(ExperimentError::UnknownCandidate { name, known }) }
}

/// Keeps nothing, and shows nothing.
struct SilentWatcher;

impl ExperimentObserver for SilentWatcher {
    type Error = std::convert::Infallible;

    fn begin_trial(&mut self, _: u32, _: usize, _: &ExperimentTime) {}

    fn keep_trial(&mut self, _: &Trial) -> Result<(), Self::Error> {
        Ok(())
    }

    fn show_standing(&mut self, _: &TrialDesign) {}
}
