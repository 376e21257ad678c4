//! Expressions resolved for commands that place programs, and the knowledge of the machine that experiments need.

use corewise_lab::experiment::ExperimentKnowledge;
pub use corewise_lab::placement::reachable_here;
use corewise_lab::placement::{self, PlacingError};
use corewise_machine::placement::{PlacementExpression, ResolveContext, ResolvedExpression};
use corewise_machine::{CpuSet, Machine};
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::finding::{Finding, FindingTopic};
use corewise_model::links::LinkMap;
use corewise_model::trial::Experiment;
use corewise_statistics::experiment::ExpectedNoise;

use super::failure::{CommandExit, CommandFailure};
use super::placement::{explain_placement_error, latest_conclusions};
use super::settings::ProgramSettings;
use super::user_store::latest_own;

/// Resolves an expression on the machine that corewise runs on.
pub fn resolve_here(
    expression: &PlacementExpression,
    machine: &Machine,
    settings: &ProgramSettings,
) -> Result<ResolvedExpression, CommandFailure> {
    Ok(placement::resolve_here(expression, machine, settings).map_err(PlacingError::from)?)
}

/// Returns the cpus to measure: from an expression, or all in the inherited mask. Named cpus that are not available
/// are included; they are reported as not measured.
pub fn to_measure(
    expression: Option<&PlacementExpression>,
    machine: &Machine,
    settings: &ProgramSettings,
) -> Result<CpuSet, CommandFailure> {
    let Some(expression) = expression else { return Ok(machine.allowed.clone()) };
    let found = resolve_here(expression, machine, settings)?;
    Ok(found.left_out.iter().fold(found.cpus, |cpus, out| cpus.union(&out.named)))
}

/// Resolves an expression on this machine, regardless of which cpus this process may use.
pub fn resolve_for_all(
    expression: &PlacementExpression,
    machine: &Machine,
    settings: &ProgramSettings,
) -> Result<ResolvedExpression, CommandFailure> {
    Ok(placement::resolve_for_all(expression, machine, settings).map_err(PlacingError::from)?)
}

/// Resolves an expression on another machine, with all of its allowed cpus.
pub fn resolve_elsewhere(
    expression: &PlacementExpression,
    machine: &Machine,
) -> Result<ResolvedExpression, CommandFailure> {
    let context = ResolveContext { machine, reachable: &machine.allowed, quiet: None, worth: None };
    Ok(expression.resolve_on(&context).map_err(PlacingError::from)?)
}

impl From<PlacingError> for CommandFailure {
    fn from(error: PlacingError) -> Self {
        let hint = error.suggest_hint();
        let failure = match error {
            PlacingError::Expression(error) => return explain_placement_error(CommandExit::Unavailable, error),
            PlacingError::Unreadable(_) => Self::new(CommandExit::Internal, error),
            _ => Self::unavailable_error(error),
        };
        hint.into_iter().fold(failure, Self::with_hint)
    }
}

impl ExperimentKnowledge for ProgramSettings {
    fn busiest_cpu(&self, machine: &Machine) -> Option<u32> {
        let findings = latest_conclusions(machine, self)?.findings;
        let interrupted =
            findings.iter().filter(|finding| finding.topic == FindingTopic::Interrupts && finding.cpus.len() == 1);
        let ratio = |finding: &&Finding| finding.effects.first().map_or(0.0, |effect| effect.ratio);
        interrupted.max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?.cpus.lowest()
    }

    fn link_map(&self, machine: &Machine) -> Option<LinkMap> {
        let is_whole = |map: &LinkMap| !map.provenance.partial && map.unit.is_nanoseconds();
        latest_own(machine, self, is_whole).map(|(_, map)| map)
    }

    fn expected_noise(&self, experiment: &Experiment) -> Option<ExpectedNoise> {
        let has_noise = |made: &ExperimentRecord| made.noise_for(experiment).is_some();
        let (number, made) = latest_own(&experiment.machine, self, has_noise)?;
        Some(ExpectedNoise { gain_deviation: made.noise_for(experiment)?, experiment: Some(number) })
    }
}
