//! `corewise survey`: measures this machine, stores the result, and shows the conclusions.

pub mod arguments;

mod activity;
pub mod comparison;
mod heatmap;
#[cfg(test)]
mod screens;
mod story;

use corewise_lab::session::seed_from_clock;
use corewise_lab::survey::{SurveyPlan, TailPlan, run_survey};
use corewise_machine::suggested_command;
use corewise_model::{Artifact as _, Survey};
use jiff::tz::TimeZone;

use crate::app::artifact;
use crate::app::document::ArtifactDocument;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::lock;
use crate::app::machine::this_machine;
use crate::app::measurement::explain_nothing_measured;
use crate::app::placement::latest_memory;
use crate::app::placement::parse_expression;
use crate::app::placing::to_measure;
use crate::app::progress::ProgressDisplay;
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::app::user_store::{exit_after_storing, store_artifact};
use crate::draw::number::format_time;
use crate::draw::suggestion;
use crate::draw::text::StyledLine;
use crate::draw::wrap::glue_numbers;
use arguments::SurveyArguments;
use comparison::ComparisonDocument;
pub use story::compose_story;

/// The name of the command.
pub const NAME: &str = "survey";

impl RunnableCommand for SurveyArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[
        command_document::<ArtifactDocument<'_, Survey>>("survey", &["survey --budget 1s", "history show 1"]),
        command_document::<ComparisonDocument<'_>>("comparison", &["history compare 1 2"]),
    ];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let wanted = self.cpus.as_deref().map(parse_expression).transpose()?;
        let machine = this_machine()?;
        let cpus = to_measure(wanted.as_ref(), &machine, settings)?;
        let budget = self.budget_for(cpus.len());
        let seed = self.seed.unwrap_or_else(seed_from_clock);
        let plan = SurveyPlan { cpus, budget, seed, corewise: env!("CARGO_PKG_VERSION"), tail: TailPlan::for_survey() };
        let _lock = lock::take_lock(settings)?;
        let interruption = InterruptionWatch::watch_signals()?;
        let bar = ProgressDisplay::new(settings.progress);
        let survey =
            run_survey(&plan, machine, interruption.stop(), &mut |progress| bar.show_progress(progress)).survey;
        bar.clear_display();
        let is_interrupted = survey.provenance.partial && interruption.was_seen();
        if survey.cpus.is_empty() && survey.links.pairs.is_empty() {
            return Err(explain_nothing_measured("survey", "measurement", survey.gaps.first(), is_interrupted));
        }
        let kept = store_artifact(&survey, settings);
        artifact::print_artifact(&survey, &kept, settings)?;
        Ok(exit_after_storing(&kept, if is_interrupted { CommandExit::Interrupted } else { CommandExit::Done }))
    }
}

/// Returns a line that summarizes the latest memory map of a survey's machine, or nothing if there is none or the survey was
/// not measured here. A survey cannot measure memory
/// itself: buffers larger than all caches take too long.
pub fn draw_memory_line(survey: &Survey, settings: &ProgramSettings) -> Vec<StyledLine> {
    if !survey.origin().is_measured() {
        return Vec::new();
    }
    let Some((number, map)) = latest_memory(&survey.machine, settings) else { return Vec::new() };
    let costs = map.draw_conclusions().memory_costs();
    let (Some(least), Some(most)) = (costs.iter().map(|cost| cost.ns).min(), costs.iter().map(|cost| cost.ns).max())
    else {
        return Vec::new();
    };
    let made = format_time(map.provenance.started_unix_ms, &TimeZone::system());
    let range =
        if least == most { format!("{least} ns") } else { format!("{least} to {most} ns, depending on cpu and node") };
    let words = format!(
        "memory: a load costs {range} (map {number}, made {made}; show it with {})",
        suggestion::format_mention(&suggested_command::history_show(&number.to_string()))
    );
    vec![StyledLine::new().faint(glue_numbers(&words))]
}
