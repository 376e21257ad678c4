//! A program that does not exist, with known effects.

use corewise_model::artifact::ArtifactOrigin;
use corewise_model::trial::{Experiment, PlacementArm, TrialMetric, TriedWorkload};

use super::ExperimentSubject;
use crate::experiment::TrialRunner;
use crate::experiment::candidates::{CandidatePlanner, CandidateRequest, baseline_arm};
use crate::experiment::context::{ExperimentContext, PreparationEvent};
use crate::experiment::error::ExperimentError;
use crate::experiment::simulated::{SimulatedRunner, SimulatedTruth};

/// A simulated program, with an arm for each of its effects.
///
/// # Examples
/// ```
/// use corewise_lab::experiment::simulated::SimulatedTruth;
/// use corewise_lab::experiment::{ExperimentBuilder, SimulatedSubject};
/// use corewise_statistics::experiment::Verdict;
/// use corewise_statistics::simulate::{ProgramEffects, noise::RunNoise};
/// use corewise_model::Artifact as _;
///
/// // Candidate 1 equals the OS default; candidate 2 is 20 % faster.
/// let simulation = SimulatedTruth { effects: ProgramEffects::from_gains(&[0.0, 0.2]), noise: RunNoise::Typical };
/// let subject = SimulatedSubject { name: "simulated".to_owned(), simulation };
/// let record = ExperimentBuilder::new().seed(7).run(&subject)?;
/// assert_eq!(record.draw_conclusions().standing.verdict, Verdict::Wins { arm: 2 });
/// # Ok::<(), corewise_lab::experiment::ExperimentError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedSubject {
    /// Name of the simulation, in place of a command.
    pub name: String,
    /// The effects.
    pub simulation: SimulatedTruth,
}

impl ExperimentSubject for SimulatedSubject {
    fn describe_workload(
        &self,
        metric: TrialMetric,
        guards: Vec<TrialMetric>,
    ) -> Result<TriedWorkload, ExperimentError> {
        Ok(TriedWorkload { guards, ..TriedWorkload::new(vec![self.name.clone()], "".into(), metric) })
    }

    fn plan_arms(
        &self,
        _request: &CandidateRequest,
        _planner: &mut CandidatePlanner<'_>,
    ) -> Result<Vec<PlacementArm>, ExperimentError> {
        let candidates = 1..=self.simulation.effects.gains.len();
        let candidates =
            candidates.map(|number| PlacementArm::new(format!("candidate {number}"), None, "from the file"));
        Ok(std::iter::once(PlacementArm { reason: "the baseline".to_owned(), ..baseline_arm() })
            .chain(candidates)
            .collect())
    }

    /// Marks the experiment as simulated.
    fn prepare(
        &self,
        experiment: &mut Experiment,
        _context: &ExperimentContext<'_>,
        _events: &mut dyn FnMut(PreparationEvent),
    ) -> Result<(), ExperimentError> {
        experiment.origin = ArtifactOrigin::Simulated { file: self.name.clone() };
        Ok(())
    }

    fn with_candidate(&self, arm: usize) -> Option<Box<dyn ExperimentSubject>> {
        Some(Box::new(Self { name: self.name.clone(), simulation: self.simulation.with_candidate(arm) }))
    }

    fn takes_time(&self) -> bool {
        false
    }

    fn open_runner<'a>(
        &'a self,
        experiment: &Experiment,
        _context: &ExperimentContext<'a>,
    ) -> Result<Box<dyn TrialRunner + 'a>, ExperimentError> {
        Ok(Box::new(SimulatedRunner::new(&self.simulation, experiment.seed)))
    }
}
