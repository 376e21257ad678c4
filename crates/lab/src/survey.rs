//! Surveys: the full survey runs every probe on every allowed cpu within a time budget; the stall survey runs the tail
//! probe alone.
//!
//! Each probe of the survey is a file here: its visits of a round, the folding of visits, and its gaps. To add a
//! probe, add such a file, a field of [`Survey`] for its findings, and its line in [`made`].

pub mod links;
mod schedule;
pub mod tail;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use corewise_machine::{CpuSet, Gap, Machine};
use corewise_model::Survey;
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::links::LinkFindings;
use corewise_model::survey::{SurveyProvenance, SurveyRecording, SurveyScope};
use corewise_sys::clock::TickClock;
use corewise_sys::counts::KernelCounts;
use corewise_sys::cpuset;
use corewise_sys::thread::process_cpu_time;

use crate::kernel_events;
use crate::session::{ProbeSession, SessionBudget, StepProgress, clock_facts, unix_ms};
use links::LinkProbe;
pub use tail::TailPlan;
use tail::{TailProbe, WatchedAndUnwatched};

/// Grace period of a stall survey, in which it begins and ends watching.
const GRACE: Duration = Duration::from_secs(1);

/// Options of a survey.
#[derive(Clone, Debug)]
pub struct SurveyPlan {
    /// The cpus to visit, whatever mask this process inherited. Unavailable ones become gaps.
    pub cpus: CpuSet,
    /// Measuring time. Set-up (clock calibration) is not included.
    pub budget: Duration,
    /// Seed of the random orders.
    pub seed: u64,
    /// Version of corewise, for the record.
    pub corewise: &'static str,
    /// Options of the tail probe.
    pub tail: TailPlan,
}

/// A survey and the recording it was made from.
#[derive(Debug)]
pub struct SurveyResult {
    /// The survey.
    pub survey: Survey,
    /// The data from which its causes are computed, if it was to be kept.
    pub recording: Option<SurveyRecording>,
}

/// Surveys the machine with every probe. Ends within half a second after `stop` becomes true, with a partial result.
pub fn run_survey(
    plan: &SurveyPlan,
    machine: Machine,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&StepProgress),
) -> SurveyResult {
    run_probes(SurveyScope::Machine, plan, machine, stop, progress)
}

/// Surveys stalls alone and their causes. Ends early as [`survey`] does.
pub fn survey_stalls(
    plan: &SurveyPlan,
    machine: Machine,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&StepProgress),
) -> SurveyResult {
    run_probes(SurveyScope::Tail, plan, machine, stop, progress)
}

fn run_probes(
    scope: SurveyScope,
    plan: &SurveyPlan,
    machine: Machine,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&StepProgress),
) -> SurveyResult {
    let (recorder, refused) = match plan.tail.explain.then(kernel_events::open_recorder).transpose() {
        Ok(recorder) => (recorder, None),
        Err(gap) => (None, Some(gap)),
    };
    progress(&StepProgress { step: "calibrating the clock".into(), done: 0.0, left: plan.budget });
    let start = SessionStart::from_now();
    let clock = TickClock::calibrate_best();
    let reachable = cpuset::reachable_cpus().unwrap_or_else(|_| machine.allowed.clone());
    let cpus = plan.cpus.intersection(&reachable);
    let mut gaps: Vec<Gap> = refused.into_iter().chain(unreachable_gap(&plan.cpus.difference(&reachable))).collect();

    let count_every = schedule::count_every(start.counts.reading, plan.budget, cpus.len());
    let mut tail = TailProbe::new(&plan.tail, clock, &machine, &cpus, recorder.as_ref(), count_every);
    let (work, mut links) = (tail.timed_work(), None);
    let rounds = match scope {
        SurveyScope::Machine => {
            // All of it is watched; a stall survey measures what that costs.
            tail.set_watching(true, stop);
            links = Some(LinkProbe::new(clock, &machine, &cpus));
            schedule::count_rounds(plan.budget, cpus.len())
        }
        SurveyScope::Tail => schedule::tail_rounds(plan.budget, cpus.len(), plan.tail.first_in_line),
    };
    let grace = if links.is_some() { Duration::ZERO } else { GRACE };
    let mut session =
        ProbeSession::new(SessionBudget::new(Some(plan.budget), stop).with_grace(grace), plan.seed, progress);
    let made = match &mut links {
        Some(links) => session.run_rounds(rounds, &mut [&mut tail, links]),
        None => session.run_rounds(rounds, &mut [&mut WatchedAndUnwatched(&mut tail)]),
    };

    let cure = longer_budget_option(plan.budget);
    if !session.budget.is_stopped() {
        gaps.extend(missed_visits(rounds, made, links.as_ref().map_or(0, LinkProbe::waiting_pairs), &cure));
    }
    let seen = tail.finish_probe(scope, &cure);
    gaps.extend(seen.gaps);
    gaps.sort();
    gaps.dedup();
    let survey = Survey {
        provenance: start.build_provenance(scope, plan, made, made < rounds),
        clock: clock_facts(&clock),
        work,
        links: links.map_or_else(LinkFindings::default, |links| links.conclude_links()),
        watch: Some(seen.watch),
        cpus: seen.cpus,
        machine,
        gaps,
    };
    let recording =
        seen.recorded.map(|(surroundings, visits)| SurveyRecording { survey: survey.clone(), surroundings, visits });
    SurveyResult { survey, recording }
}

/// Start of a session, and the machine's counters then.
struct SessionStart {
    at: Instant,
    unix_ms: i64,
    counts: KernelCounts,
    cpu_time: Duration,
}

impl SessionStart {
    fn from_now() -> Self {
        Self {
            at: Instant::now(),
            unix_ms: unix_ms(),
            counts: KernelCounts::read_now(),
            cpu_time: process_cpu_time().unwrap_or_default(),
        }
    }

    fn build_provenance(&self, scope: SurveyScope, plan: &SurveyPlan, rounds: u32, partial: bool) -> SurveyProvenance {
        SurveyProvenance {
            origin: ArtifactOrigin::Measured,
            scope,
            corewise: plan.corewise.to_owned(),
            started_unix_ms: self.unix_ms,
            elapsed_s: self.at.elapsed().as_secs_f64(),
            budget_s: plan.budget.as_secs_f64(),
            seed: plan.seed,
            rounds,
            partial,
            others_busy: self.share_of_others(),
        }
    }

    /// Returns the share of all cpus' time that other programs used since the start: the kernel's busy time less this process's own.
    fn share_of_others(&self) -> Option<f64> {
        let own = process_cpu_time().ok()?.saturating_sub(self.cpu_time);
        KernelCounts::read_now().busy_since(&self.counts, own)
    }
}

/// The option that doubles the budget.
fn longer_budget_option(budget: Duration) -> String {
    format!("--budget {}s", (budget.as_secs_f64() * 2.0).ceil().max(1.0))
}

/// Returns gaps for everything that the budget was too short for: rounds, and pairs never visited.
fn missed_visits(rounds: u32, made: u32, pairs: usize, cure: &str) -> Vec<Gap> {
    let gap = |what: String| Gap::new(what, "the budget ended first").cured_by(cure);
    let rounds = (made < rounds).then(|| gap(format!("{} of {rounds} rounds", rounds - made)));
    let pairs = (pairs > 0).then(|| gap(format!("links of {pairs} pairs")));
    rounds.into_iter().chain(pairs).collect()
}

fn unreachable_gap(missing: &CpuSet) -> Option<Gap> {
    let why = "this process may not use them, or they are offline";
    (!missing.is_empty()).then(|| Gap::new(format!("cpus {missing}"), why))
}
