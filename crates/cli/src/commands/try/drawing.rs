//! The picture of `--svg`; its file is written completely or not at all.

use std::path::Path;

use corewise_machine::suggested_command;
use corewise_model::Artifact as _;
use corewise_model::conducted::{Conducted, ExperimentConclusions};
use corewise_model::trial::Experiment;
use corewise_sys::output::OutputPlace;

use super::screen::{Shown, svg};
use super::task::no_threads;
use crate::app::failure::Failure;
use crate::draw::suggestion;

/// The destination of a picture.
pub struct Drawing(OutputPlace);

impl Drawing {
    /// Checks that a picture can be written there, without creating a file.
    pub fn into_file(typed: &Path) -> Result<Self, Failure> {
        OutputPlace::find(typed).map(Self).map_err(|why| {
            Failure::unavailable(format!("--svg {}: {why}", typed.display()))
                .next("Choose a file in a folder that you may write to.")
        })
    }

    /// Refuses an experiment without several numbers of threads.
    pub fn can_be_of(&self, experiment: &Experiment) -> Result<(), Failure> {
        let mut counts = experiment.arms.iter().filter_map(|arm| arm.threads);
        let first = counts.next();
        if counts.any(|count| Some(count) != first) { Ok(()) } else { Err(no_threads()) }
    }

    /// Draws how the program of an experiment scales with threads.
    pub fn draw(&self, made: &Conducted, stored: Option<i64>) -> Result<(), Failure> {
        let (Conducted { experiment, trials }, shown) = (made, made.conclude());
        let ExperimentConclusions { standing, threads: report, .. } = shown;
        let shown = Shown { experiment, trials, standing: &standing, threads: report.as_ref(), stored };
        let Some(picture) = report.as_ref().and_then(|report| svg(shown, report)) else {
            let what =
                format!("--svg {}: nothing can be drawn: no number of threads has a value", self.0.path().display());
            return Err(Failure::unavailable(what).next("`--csv` shows why each run failed."));
        };
        self.0.replace(picture.as_bytes()).map_err(|error| {
            Failure::unavailable(format!("cannot write {}: {error}", self.0.path().display()))
                .next(format!("Draw it elsewhere with {}.", suggestion::mention(&suggested_command::history_draw())))
        })
    }
}
