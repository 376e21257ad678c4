//! The picture of `--svg`; its file is written completely or not at all.

use std::path::Path;

use corewise_machine::suggested_command;
use corewise_model::Artifact as _;
use corewise_model::experiment_record::{ExperimentConclusions, ExperimentRecord};
use corewise_model::trial::Experiment;
use corewise_sys::output::OutputPlace;

use super::screen::{ShownExperiment, draw_svg};
use super::task::no_threads_failure;
use crate::app::failure::CommandFailure;
use crate::draw::suggestion;

/// The destination of a picture.
pub struct DrawingFile(OutputPlace);

impl DrawingFile {
    /// Checks that a picture can be written there, without creating a file.
    pub fn into_file(typed: &Path) -> Result<Self, CommandFailure> {
        OutputPlace::find_place(typed).map(Self).map_err(|why| {
            CommandFailure::unavailable_error(format!("--svg {}: {why}", typed.display()))
                .with_hint("Choose a file in a folder that you may write to.")
        })
    }

    /// Refuses an experiment without several numbers of threads.
    pub fn check_drawable(&self, experiment: &Experiment) -> Result<(), CommandFailure> {
        let mut counts = experiment.arms.iter().filter_map(|arm| arm.threads);
        let first = counts.next();
        if counts.any(|count| Some(count) != first) { Ok(()) } else { Err(no_threads_failure()) }
    }

    /// Draws how the program of an experiment scales with threads.
    pub fn draw_scaling(&self, made: &ExperimentRecord, stored: Option<i64>) -> Result<(), CommandFailure> {
        let (ExperimentRecord { experiment, trials }, shown) = (made, made.draw_conclusions());
        let ExperimentConclusions { standing, threads: report, .. } = shown;
        let shown = ShownExperiment { experiment, trials, standing: &standing, threads: report.as_ref(), stored };
        let Some(picture) = report.as_ref().and_then(|report| draw_svg(shown, report)) else {
            let what =
                format!("--svg {}: nothing can be drawn: no number of threads has a value", self.0.path().display());
            return Err(CommandFailure::unavailable_error(what).with_hint("`--csv` shows why each run failed."));
        };
        self.0.replace_file(picture.as_bytes()).map_err(|error| {
            CommandFailure::unavailable_error(format!("cannot write {}: {error}", self.0.path().display())).with_hint(
                format!("Draw it elsewhere with {}.", suggestion::format_mention(&suggested_command::history_draw())),
            )
        })
    }
}
