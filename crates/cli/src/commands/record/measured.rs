//! What was measured on this machine: the latest stored results, or quick ones that are measured now.

use std::time::Duration;

use corewise_lab::experiment::ExperimentKnowledge as _;
use corewise_lab::links::measured::MeasuredLinks;
use corewise_lab::links::{CHOICES, LinksPlan, map_links};
use corewise_lab::session::seed_from_clock;
use corewise_lab::survey::{SurveyPlan, TailPlan, run_survey};
use corewise_machine::{CpuSet, Machine};
use corewise_model::Survey;
use corewise_model::digest::MachineDigest;
use corewise_model::digest::link_map_digest::LinkMapDigest;
use corewise_model::digest::memory_map_digest::MemoryMapDigest;
use corewise_model::digest::survey_digest::SurveyDigest;
use corewise_model::links::explore::ExploreLimits;
use corewise_model::links::{LinkMap, TalkWay};
use corewise_sys::lock::FileLock;

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::lock::take_lock;
use crate::app::machine::this_machine;
use crate::app::measurement::{explain_nothing_measured, grow_budget};
use crate::app::output::print_message;
use crate::app::placement::latest_memory;
use crate::app::progress::ProgressDisplay;
use crate::app::settings::ProgramSettings;
use crate::app::user_store::{latest_own, store_artifact};

/// Maximum duration of a quick survey, and of a quick link map, up to 32 cpus.
const QUICK_BUDGET: Duration = Duration::from_secs(5);

/// Makes the digest of this machine. Says on standard error what is measured because the store has none.
pub fn digest_machine(settings: &ProgramSettings) -> Result<MachineDigest, CommandFailure> {
    let machine = this_machine()?;
    let survey = latest_own(&machine, settings, |survey| is_whole(survey, &machine)).map(|(_, survey)| survey);
    let (survey, links) = match (survey, settings.link_map(&machine)) {
        (Some(survey), links) if links.is_some() || machine.allowed.len() < 2 => (survey, links),
        (survey, links) => QuickMeasuring::begin(&machine, settings)?.complete_results(survey, links)?,
    };
    Ok(MachineDigest {
        survey: SurveyDigest::from_survey(&survey),
        links: links.as_ref().map(LinkMapDigest::from_map),
        memory: latest_memory(&machine, settings).map(|(_, map)| MemoryMapDigest::from_map(&map)),
    })
}

/// Returns true for a survey by every probe, of all cpus that this process may use.
fn is_whole(survey: &Survey, machine: &Machine) -> bool {
    let visited: CpuSet = survey.cpus.iter().map(|seen| seen.cpu).collect();
    survey.provenance.scope.is_machine() && machine.allowed.is_subset(&visited)
}

/// Quick measuring, which holds the lock of measurements.
struct QuickMeasuring<'a> {
    machine: &'a Machine,
    settings: &'a ProgramSettings,
    budget: Duration,
    interruption: InterruptionWatch,
    _lock: Option<FileLock>,
}

impl<'a> QuickMeasuring<'a> {
    fn begin(machine: &'a Machine, settings: &'a ProgramSettings) -> Result<Self, CommandFailure> {
        let _lock = take_lock(settings)?;
        let budget = grow_budget(QUICK_BUDGET, machine.allowed.len());
        Ok(Self { machine, settings, budget, interruption: InterruptionWatch::watch_signals()?, _lock })
    }

    /// Measures what is missing.
    fn complete_results(
        &self,
        survey: Option<Survey>,
        links: Option<LinkMap>,
    ) -> Result<(Survey, Option<LinkMap>), CommandFailure> {
        let survey = survey.map_or_else(|| self.measure_survey(), Ok)?;
        let links = match links {
            None if self.machine.allowed.len() > 1 => Some(self.measure_links()?),
            links => links,
        };
        Ok((survey, links))
    }

    fn measure_survey(&self) -> Result<Survey, CommandFailure> {
        let bar = self.announce("survey");
        let (cpus, seed) = (self.machine.allowed.clone(), seed_from_clock());
        let (budget, corewise) = (self.budget, env!("CARGO_PKG_VERSION"));
        let plan = SurveyPlan { cpus, budget, seed, corewise, tail: TailPlan::for_survey() };
        let stop = self.interruption.stop();
        let survey = run_survey(&plan, self.machine.clone(), stop, &mut |step| bar.show_progress(step)).survey;
        bar.clear_display();
        self.refuse_nothing("survey", "measurement", !survey.cpus.is_empty())?;
        store_artifact(&survey, self.settings);
        Ok(survey)
    }

    fn measure_links(&self) -> Result<LinkMap, CommandFailure> {
        let bar = self.announce("link map");
        let seed = seed_from_clock();
        let plan = LinksPlan {
            cpus: self.machine.allowed.clone(),
            kinds: vec![TalkWay::default()],
            budget: self.budget,
            limits: ExploreLimits::default(),
            seed,
            choices: CHOICES,
            corewise: env!("CARGO_PKG_VERSION"),
        };
        let stop = self.interruption.stop();
        let mut talk = MeasuredLinks::new(self.machine, seed, stop);
        let map = map_links(&plan, Some(self.machine.clone()), &mut talk, stop, &mut |step| bar.show_progress(step));
        bar.clear_display();
        self.refuse_nothing("link map", "pair", map.series.iter().any(|series| !series.links.pairs.is_empty()))?;
        store_artifact(&map, self.settings);
        Ok(map)
    }

    fn announce(&self, what: &str) -> ProgressDisplay {
        let seconds = self.budget.as_secs();
        print_message(&format!("no {what} of this machine is stored: measuring a quick one, up to {seconds} s"));
        ProgressDisplay::new(self.settings.progress)
    }

    /// Refuses to go on if the user interrupted, or if nothing was measured.
    fn refuse_nothing(&self, what: &str, first: &str, is_measured: bool) -> Result<(), CommandFailure> {
        match self.interruption.was_seen() {
            true => Err(CommandFailure::new(CommandExit::Interrupted, format!("the {what} was interrupted"))
                .with_hint("Nothing was recorded.")),
            false if is_measured => Ok(()),
            false => Err(explain_nothing_measured(what, first, self.machine.gaps.first(), false)),
        }
    }
}
