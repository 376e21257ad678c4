//! `corewise survey`: measures this machine, keeps the result, and shows what it means.

pub mod arguments;

mod activity;
mod heatmap;
pub mod screen;
#[cfg(test)]
mod screens;

use corewise_lab::session::seed_of_the_clock;
use corewise_lab::survey::{Plan, TailPlan, survey};
use corewise_model::survey::conclude::conclude;

use crate::draw::survey::Kept;
use crate::shell::document::SurveyDocument;
use crate::shell::failure::{Exit, Failure};
use crate::shell::interruption::Interruption;
use crate::shell::keep::keep;
use crate::shell::machine::this_machine;
use crate::shell::measuring::nothing_measured;
use crate::shell::output::show;
use crate::shell::placing::reachable_here;
use crate::shell::progress::Bar;
use crate::shell::run::{Document, Run, document};
use crate::shell::settings::Settings;
use arguments::SurveyArguments;
use screen::screen;

/// What it is typed as.
pub const NAME: &str = "survey";

impl Run for SurveyArguments {
    const DOCUMENTS: &'static [Document] = &[document::<SurveyDocument<'_>>];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        let machine = this_machine()?;
        let cpus = self.cpus(&machine, &reachable_here(&machine))?;
        let budget = self.budget(cpus.len());
        let seed = self.seed.unwrap_or_else(seed_of_the_clock);
        let plan = Plan { cpus, budget, seed, corewise: env!("CARGO_PKG_VERSION"), tail: TailPlan::of_survey() };
        let interruption = Interruption::watch()?;
        let bar = Bar::new(settings.progress);
        let survey = survey(&plan, machine, interruption.stop(), &mut |progress| bar.show(progress)).survey;
        bar.clear();
        let is_interrupted = survey.provenance.partial && interruption.was_seen();
        if survey.cpus.is_empty() && survey.links.pairs.is_empty() {
            return Err(nothing_measured("survey", "measurement", survey.gaps.first(), is_interrupted));
        }
        let kept = keep(&survey, settings);
        let conclusions = conclude(&survey);
        let stored = if let Kept::Stored(number) = kept { Some(number) } else { None };
        show(
            settings,
            || SurveyDocument::new(&survey, &conclusions, stored),
            || screen(&survey, &conclusions, &kept, settings.width),
        )?;
        Ok(if is_interrupted { Exit::Interrupted } else { Exit::Done })
    }
}
