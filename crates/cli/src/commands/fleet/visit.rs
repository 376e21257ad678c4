//! `corewise fleet visit`: measures this machine quickly and prints one report.

use std::time::{Duration, Instant};

use corewise_lab::memory::{MeasuredMemory, MemoryRequest, map_memory};
use corewise_lab::session::{seed_from_clock, unix_ms};
use corewise_lab::survey::{SurveyPlan, TailPlan, run_survey};
use corewise_machine::Machine;
use corewise_model::Survey;
use corewise_model::digest::memory_map_digest::MemoryMapDigest;
use corewise_model::digest::survey_digest::SurveyDigest;
use corewise_model::fleet::visit_report::{VISIT_SCHEMA, VisitReport, check_node_name, check_rack_name};
use corewise_sys::Root;
use corewise_sys::condition::read_node_settings;
use corewise_sys::process::{boot_id, host_name};

use super::arguments::FleetVisitArguments;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::lock::take_lock;
use crate::app::machine::this_machine;
use crate::app::measurement::explain_nothing_measured;
use crate::app::output::print_form;
use crate::app::progress::ProgressDisplay;
use crate::app::settings::ProgramSettings;
use crate::draw::json::to_json_line;

/// Smallest budget in which memory is measured too: its buffers alone take seconds.
const LEAST_WITH_MEMORY: Duration = Duration::from_secs(10);
/// Smallest rest of the budget in which memory is measured.
const LEAST_FOR_MEMORY: Duration = Duration::from_secs(3);
/// Share of the budget for the survey if memory is measured.
const SHARE_OF_SURVEY: f64 = 0.6;
/// Variable in which Slurm names the node.
const SLURM_NODE: &str = "SLURMD_NODENAME";

impl FleetVisitArguments {
    /// Measures this machine and prints the report.
    pub fn visit_machine(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let node = self.choose_node()?;
        let machine = this_machine()?;
        let _lock = take_lock(settings)?;
        let interruption = InterruptionWatch::watch_signals()?;
        let bar = ProgressDisplay::new(settings.progress);
        let started_unix_ms = unix_ms();
        let begun = Instant::now();
        let survey = measure_survey(&machine, survey_budget(self.budget), &interruption, &bar)?;
        let left = memory_budget(self.budget, begun.elapsed());
        let memory = left.and_then(|left| measure_memory(machine, left, &interruption, &bar));
        bar.clear_display();
        if interruption.was_seen() {
            return Err(CommandFailure::new(CommandExit::Interrupted, "the visit was interrupted"));
        }
        let report = VisitReport {
            schema: VISIT_SCHEMA.to_owned(),
            node,
            rack: self.rack,
            boot_id: boot_id().ok(),
            started_unix_ms,
            survey: SurveyDigest::from_survey(&survey),
            memory,
            configuration: read_node_settings(&Root::this_machine()),
        };
        let line = to_json_line(&report.fit()).map_err(|error| CommandFailure::new(CommandExit::Internal, error))?;
        print_form(&line)?;
        Ok(CommandExit::Done)
    }

    fn choose_node(&self) -> Result<String, CommandFailure> {
        let of_slurm = || std::env::var(SLURM_NODE).ok().filter(|name| !name.is_empty());
        let node = self.node.clone().or_else(of_slurm).unwrap_or_else(host_name);
        let wrong = |why| CommandFailure::usage_error(why).with_hint("Name this machine with --node NAME.");
        check_node_name(&node).map_err(wrong)?;
        self.rack.iter().try_for_each(|rack| check_rack_name(rack)).map_err(CommandFailure::usage_error)?;
        Ok(node)
    }
}

/// Returns the measuring time of the survey.
fn survey_budget(budget: Duration) -> Duration {
    if budget < LEAST_WITH_MEMORY { budget } else { budget.mul_f64(SHARE_OF_SURVEY) }
}

/// Returns the time of the memory map after a survey that took `passed`: the rest. A short visit leaves it out, also one whose survey took
/// nearly all, on a busy machine.
fn memory_budget(budget: Duration, passed: Duration) -> Option<Duration> {
    let left = budget.saturating_sub(passed);
    (budget >= LEAST_WITH_MEMORY && left >= LEAST_FOR_MEMORY).then_some(left)
}

fn measure_survey(
    machine: &Machine,
    budget: Duration,
    interruption: &InterruptionWatch,
    bar: &ProgressDisplay,
) -> Result<Survey, CommandFailure> {
    let (cpus, seed, corewise) = (machine.allowed.clone(), seed_from_clock(), env!("CARGO_PKG_VERSION"));
    let plan = SurveyPlan { cpus, budget, seed, corewise, tail: TailPlan::for_survey() };
    let stop = interruption.stop();
    let survey = run_survey(&plan, machine.clone(), stop, &mut |step| bar.show_progress(step)).survey;
    match survey.cpus.is_empty() {
        true => Err(explain_nothing_measured("survey", "measurement", survey.gaps.first(), interruption.was_seen())),
        false => Ok(survey),
    }
}

/// Measures memory; `None` if nothing could be measured.
fn measure_memory(
    machine: Machine,
    budget: Duration,
    interruption: &InterruptionWatch,
    bar: &ProgressDisplay,
) -> Option<MemoryMapDigest> {
    let seed = seed_from_clock();
    let cpus = machine.allowed.clone();
    let request = MemoryRequest { cpus, budget, buffer_bytes: None, seed, corewise: env!("CARGO_PKG_VERSION") };
    let mut here = MeasuredMemory::new(seed, interruption.stop());
    let map = map_memory(&request, machine, &mut here, interruption.stop(), &mut |step| bar.show_progress(step));
    (!map.is_empty()).then(|| MemoryMapDigest::from_map(&map))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_visit_leaves_memory_out_and_none_takes_longer_than_its_budget() {
        let seconds = Duration::from_secs;
        assert_eq!((survey_budget(seconds(5)), memory_budget(seconds(5), seconds(1))), (seconds(5), None));
        assert_eq!(
            (survey_budget(seconds(30)), memory_budget(seconds(30), seconds(20))),
            (seconds(18), Some(seconds(10)))
        );
        assert_eq!(memory_budget(seconds(30), seconds(29)), None, "a survey on a busy machine took it all");
    }
}
