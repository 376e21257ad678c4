//! A program that does not exist, with known effects.

use corewise_model::trial::{Arm, Experiment, Metric, Workload};

use super::ExperimentSubject;
use crate::experiment::Runner;
use crate::experiment::candidates::{CandidatePlanner, CandidateRequest, baseline_arm};
use crate::experiment::context::ExperimentContext;
use crate::experiment::error::ExperimentError;
use crate::experiment::simulated::{SimulatedRunner, Simulation};

/// A simulated program, with an arm for each of its effects.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedSubject {
    /// Name of the simulation, in place of a command.
    pub name: String,
    /// The effects.
    pub simulation: Simulation,
}

impl ExperimentSubject for SimulatedSubject {
    fn describe_workload(&self, metric: Metric, guards: Vec<Metric>) -> Result<Workload, ExperimentError> {
        Ok(Workload { guards, ..Workload::new(vec![self.name.clone()], "".into(), metric) })
    }

    fn plan_arms(
        &self,
        _request: &CandidateRequest,
        _planner: &mut CandidatePlanner<'_>,
    ) -> Result<Vec<Arm>, ExperimentError> {
        let candidates = 1..=self.simulation.effects.gains.len();
        let candidates = candidates.map(|number| Arm::new(format!("candidate {number}"), None, "from the file"));
        Ok(std::iter::once(Arm { reason: "the baseline".to_owned(), ..baseline_arm() }).chain(candidates).collect())
    }

    fn open_runner<'a>(
        &'a self,
        experiment: &Experiment,
        _context: &ExperimentContext<'a>,
    ) -> Result<Box<dyn Runner + 'a>, ExperimentError> {
        Ok(Box::new(SimulatedRunner::new(&self.simulation, experiment.seed)))
    }
}
