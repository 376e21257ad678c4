//! A survey as it is stored and listed.

use super::{SurveyConclusions, conclude};
use crate::artifact::{Artifact, ArtifactCircumstances, ArtifactOrigin, check_numbers, format_count};
use crate::finding::CONFIDENCE;
use crate::survey::{CpuObservation, SurveyProvenance};
use crate::trend::TrendValue;
use crate::{Survey, links};
use corewise_statistics::order::median;
use corewise_statistics::session::SessionLevel;

impl Artifact for Survey {
    const KIND: &'static str = "survey";
    const SCHEMA: &'static str = "corewise/survey/3";
    type Conclusions = SurveyConclusions;

    fn check_loaded(&self) -> Result<(), String> {
        self.machine.check_consistency()?;
        check_numbers(self)?;
        check_clocks(self)?;
        if !self.cpus.is_sorted_by(|one, next| one.cpu < next.cpu) {
            return Err("its cpus are not in order".to_owned());
        }
        if let Some(seen) = self.cpus.iter().find(|seen| !self.machine.possible.contains(seen.cpu)) {
            return Err(format!("its machine has no cpu {}", seen.cpu));
        }
        links::check_pairs(&self.links.pairs, &self.machine.possible)?;
        links::check_width(links::measured_cpus(&self.links).len(), 1)
    }

    fn circumstances(&self) -> ArtifactCircumstances<'_> {
        let SurveyProvenance { corewise, started_unix_ms, seed, partial, .. } = &self.provenance;
        let (started_unix_ms, seed, partial) = (*started_unix_ms, *seed, *partial);
        ArtifactCircumstances { machine: Some(&self.machine), started_unix_ms, corewise, seed, partial }
    }

    fn origin(&self) -> &ArtifactOrigin {
        &self.provenance.origin
    }

    fn origin_mut(&mut self) -> &mut ArtifactOrigin {
        &mut self.provenance.origin
    }

    fn describe_contents(&self) -> String {
        let SurveyProvenance { scope, rounds, elapsed_s, .. } = &self.provenance;
        let scope = if scope.is_machine() { "" } else { "tail: " };
        let (cpus, rounds) = (format_count(self.cpus.len(), "cpu"), format_count(*rounds as usize, "round"));
        format!("{scope}{cpus}, {rounds} in {elapsed_s:.0} s")
    }

    fn draw_conclusions(&self) -> SurveyConclusions {
        conclude(self)
    }

    /// Returns the worst cpu's value, and the median cpu's; surveys of another piece of work have another quantity.
    fn trend_values(&self) -> Vec<TrendValue> {
        let quantity = format!("99.9th percentile of a piece of `{}`, ns", self.work.kind.name());
        let mut cpus = cpu_levels(self);
        cpus.sort_by(|one, other| one.0.total_cmp(&other.0));
        let value = |name: &str, at: usize, interval| TrendValue::new(&quantity, name, cpus[at].0, interval);
        match cpus.len() {
            0 => Vec::new(),
            1 => vec![value("its cpu", 0, interval_of(&cpus[0], 1))],
            count => {
                let middle = (count - 1) / 2;
                vec![
                    value("the worst cpu", count - 1, interval_of_worst(&cpus)),
                    value("the median cpu", middle, interval_of(&cpus[middle], count)),
                ]
            }
        }
    }
}

/// Checks that all durations of one sort are in ticks of one clock: durations of pieces in the survey's own, durations
/// of stalls in nanoseconds.
fn check_clocks(survey: &Survey) -> Result<(), String> {
    let own = survey.clock.nanoseconds_per_tick;
    let is_tick = |tick: f64, of: f64| (tick - of).abs() <= f64::EPSILON * of;
    let is_wrong = |seen: &&CpuObservation| {
        let mut causes = seen.stalls.iter().flat_map(|stalls| &stalls.causes);
        let is_of_stalls = causes.all(|cause| is_tick(cause.lengths.nanoseconds_per_tick(), 1.0));
        !is_of_stalls || !is_tick(seen.tail.nanoseconds_per_tick(), own)
    };
    match survey.cpus.iter().find(is_wrong) {
        Some(seen) => Err(format!("the durations of cpu {} are those of another clock", seen.cpu)),
        None if own.is_finite() && own > 0.0 => Ok(()),
        None => Err("its clock is impossible".to_owned()),
    }
}

/// The median over a cpu's rounds of the 99.9th percentile, and its level with the drift between surveys; no level after
/// too few rounds.
type CpuLevel = (f64, Option<SessionLevel>);

/// Returns the levels of all cpus with timed rounds.
fn cpu_levels(survey: &Survey) -> Vec<CpuLevel> {
    let timed = |seen: &CpuObservation| -> Vec<f64> {
        seen.rounds.iter().map(|round| round.tail.p99_9_ns).filter(|ns| *ns > 0.0).collect()
    };
    let rounds: Vec<Vec<f64>> = survey.cpus.iter().map(timed).filter(|rounds| !rounds.is_empty()).collect();
    let logarithms: Vec<Vec<f64>> = rounds.iter().map(|rounds| rounds.iter().map(|ns| ns.ln()).collect()).collect();
    rounds.iter().map(|rounds| median(rounds)).zip(SessionLevel::from_series(&logarithms)).collect()
}

/// Returns the 95 % interval of a cpu's value, chosen by its place among several.
fn interval_of((value, level): &CpuLevel, chosen_among: usize) -> Option<(f64, f64)> {
    let reach = (*level)?.reach(1.0 - CONFIDENCE, chosen_among).exp();
    Some((value / reach, value * reach))
}

/// Returns the 95 % interval of the largest true value of all cpus. It is not above the highest of all upper ends, each
/// of which holds by itself, and not below the highest of all lower ends, which hold together.
fn interval_of_worst(cpus: &[CpuLevel]) -> Option<(f64, f64)> {
    let highest = |ends: Vec<Option<f64>>| ends.into_iter().try_fold(0.0, |highest: f64, end| Some(highest.max(end?)));
    let lower = highest(cpus.iter().map(|cpu| interval_of(cpu, cpus.len()).map(|ends| ends.0)).collect())?;
    let upper = highest(cpus.iter().map(|cpu| interval_of(cpu, 1).map(|ends| ends.1)).collect())?;
    Some((lower, upper))
}
