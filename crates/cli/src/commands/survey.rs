//! `corewise survey`: measures this machine, stores the result, and shows the conclusions.

pub mod arguments;

mod activity;
pub mod comparison;
mod heatmap;
#[cfg(test)]
mod screens;
mod story;

use corewise_lab::session::seed_of_the_clock;
use corewise_lab::survey::{Plan, TailPlan, survey};
use corewise_machine::suggested_command;
use corewise_model::{Artifact as _, Survey};
use jiff::tz::TimeZone;

use crate::app::artifact;
use crate::app::document::ArtifactDocument;
use crate::app::failure::{Exit, Failure};
use crate::app::history::keep;
use crate::app::interruption::Interruption;
use crate::app::lock;
use crate::app::machine::this_machine;
use crate::app::measuring::nothing_measured;
use crate::app::placing::latest_memory;
use crate::app::placing::{expression, to_measure};
use crate::app::progress::Bar;
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use crate::draw::number::when;
use crate::draw::suggestion;
use crate::draw::text::Line;
use crate::draw::wrap::glued;
use arguments::SurveyArguments;
use comparison::ComparisonDocument;
pub use story::story;

/// The name of the command.
pub const NAME: &str = "survey";

impl Run for SurveyArguments {
    const DOCUMENTS: &'static [Document] = &[
        document::<ArtifactDocument<'_, Survey>>(&["survey --budget 1s", "history show 1"]),
        document::<ComparisonDocument<'_>>(&["history compare 1 2"]),
    ];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        let wanted = self.cpus.as_deref().map(expression).transpose()?;
        let machine = this_machine()?;
        let cpus = to_measure(wanted.as_ref(), &machine, settings)?;
        let budget = self.budget(cpus.len());
        let seed = self.seed.unwrap_or_else(seed_of_the_clock);
        let plan = Plan { cpus, budget, seed, corewise: env!("CARGO_PKG_VERSION"), tail: TailPlan::of_survey() };
        let _lock = lock::take(settings)?;
        let interruption = Interruption::watch()?;
        let bar = Bar::new(settings.progress);
        let survey = survey(&plan, machine, interruption.stop(), &mut |progress| bar.show(progress)).survey;
        bar.clear();
        let is_interrupted = survey.provenance.partial && interruption.was_seen();
        if survey.cpus.is_empty() && survey.links.pairs.is_empty() {
            return Err(nothing_measured("survey", "measurement", survey.gaps.first(), is_interrupted));
        }
        artifact::print(&survey, &keep(&survey, settings), settings)?;
        Ok(if is_interrupted { Exit::Interrupted } else { Exit::Done })
    }
}

/// Returns a line on the latest map of memory. A survey has no time for buffers that are larger than all caches.
pub fn memory(survey: &Survey, settings: &Settings) -> Vec<Line> {
    let Some((number, map)) = latest_memory(&survey.machine, settings) else { return Vec::new() };
    let costs = map.conclude().memory_costs();
    let (Some(least), Some(most)) = (costs.iter().map(|cost| cost.ns).min(), costs.iter().map(|cost| cost.ns).max())
    else {
        return Vec::new();
    };
    let made = when(map.provenance.started_unix_ms, &TimeZone::system());
    let range = if least == most { format!("{least} ns") } else { format!("{least} to {most} ns by cpus and node") };
    let words = format!(
        "memory: a load costs {range} (map {number} of {made}: {})",
        suggestion::mention(&suggested_command::history_show(&number.to_string()))
    );
    vec![Line::new().faint(glued(&words))]
}
