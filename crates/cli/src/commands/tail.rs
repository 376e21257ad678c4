//! `corewise tail`: looks for stalls on every cpu, names their causes, and shows the conclusions.

pub mod arguments;
pub mod beside;
mod percentiles;
mod recording;
mod story;
pub mod task;

use std::io;
use std::path::Path;

use corewise_lab::session::seed_from_clock;
use corewise_lab::survey::{SurveyPlan, SurveyResult, TailPlan, survey_stalls};
use corewise_model::survey::SurveyRecording;
use corewise_model::{Artifact as _, Survey};
use corewise_statistics::histogram::{LogInterval, format_hlog};
use corewise_sys::output;

use crate::app::artifact;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::lock;
use crate::app::machine::this_machine;
use crate::app::measurement::explain_nothing_measured;
use crate::app::placing::to_measure;
use crate::app::progress::ProgressDisplay;
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::app::user_store::{exit_after_storing, store_artifact};
use crate::draw::survey::StorageStatus;
use arguments::TailArguments;
pub use story::compose_story;
use task::{MeasureTask, TailTask};

impl RunnableCommand for TailArguments {
    const DOCUMENTS: &'static [CommandDocument] =
        &[command_document::<beside::document::BesideDocument<'_>>("beside", &["tail --beside -- true"])];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        run(&TailTask::new(self)?, settings)
    }
}

/// Measures stalls, replays a recording, or watches a command.
fn run(task: &TailTask, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    match task {
        TailTask::Measure(measure) => measure_tails(measure, settings),
        TailTask::Replay { recording, histograms } => replay_recording(recording, histograms.as_deref(), settings),
        TailTask::Process { process, budget } => beside::watch_process(*process, *budget, settings),
        TailTask::Beside { cpus, budget, command } => beside::run(cpus.as_ref(), *budget, command, settings),
    }
}

fn measure_tails(measure: &MeasureTask, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    let _lock = lock::take_lock(settings)?;
    let machine = this_machine()?;
    let cpus = to_measure(measure.cpus.as_ref(), &machine, settings)?;
    let has_watchman = |cpu| machine.allowed.iter().any(|other| other != cpu);
    if measure.fifo && !cpus.iter().all(has_watchman) {
        let what = "--fifo needs a second allowed cpu for its watchdog";
        return Err(
            CommandFailure::unavailable_error(what).with_hint("Leave out --fifo, or allow this process another cpu.")
        );
    }
    // Before measuring: a minute later is too late to report that a file cannot be written.
    let record = measure.record.as_deref().map(recording::create_file).transpose()?;
    let histograms = measure.histograms.as_deref();
    histograms
        .map(|folder| output::make_folder(folder).map_err(|error| explain_unwritten(folder, &error)))
        .transpose()?;
    let plan = SurveyPlan {
        budget: measure.budget_for(cpus.len()),
        cpus,
        seed: measure.seed.unwrap_or_else(seed_from_clock),
        corewise: env!("CARGO_PKG_VERSION"),
        tail: TailPlan {
            work: measure.work,
            threshold: measure.threshold,
            explain: measure.explain,
            first_in_line: measure.fifo,
            keep_events: record.is_some(),
        },
    };
    let interruption = InterruptionWatch::watch_signals()?;
    let bar = ProgressDisplay::new(settings.progress);
    let SurveyResult { survey, recording } =
        survey_stalls(&plan, machine, interruption.stop(), &mut |progress| bar.show_progress(progress));
    bar.clear_display();
    let is_interrupted = survey.provenance.partial && interruption.was_seen();
    if survey.cpus.is_empty() {
        // An empty file would block the next attempt.
        if let Some((place, file)) = &record {
            place.remove_file(file);
        }
        return Err(explain_nothing_measured("survey", "measurement", survey.gaps.first(), is_interrupted));
    }
    let kept = store_artifact(&survey, settings);
    // Whatever becomes of the files, the result is printed and stored.
    let shown = show_survey(&survey, &kept, histograms, settings);
    if let (Some((_, file)), Some(recording)) = (record, &recording) {
        recording::write_recording(file, recording)?;
    }
    shown?;
    Ok(exit_after_storing(&kept, if is_interrupted { CommandExit::Interrupted } else { CommandExit::Done }))
}

fn replay_recording(
    path: &Path,
    histograms: Option<&Path>,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let recording: SurveyRecording = recording::read_recording(path)?;
    let mut survey = recording.replay_survey();
    *survey.origin_mut() = survey.origin().after_import(&path.display().to_string(), "recording of stalls");
    show_survey(&survey, &StorageStatus::No, histograms, settings)?;
    Ok(CommandExit::Done)
}

fn show_survey(
    survey: &Survey,
    kept: &StorageStatus,
    histograms: Option<&Path>,
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    artifact::print_artifact(survey, kept, settings)?;
    let write = |folder| write_histograms(survey, folder).map_err(|error| explain_unwritten(folder, &error));
    histograms.map_or(Ok(()), write)
}

fn explain_unwritten(folder: &Path, error: &io::Error) -> CommandFailure {
    CommandFailure::unavailable_error(format!("cannot write the histograms to {}: {error}", folder.display()))
}

/// Writes a file for each cpu, and one with all.
fn write_histograms(survey: &Survey, folder: &Path) -> io::Result<()> {
    output::make_folder(folder)?;
    for seen in &survey.cpus {
        output::replace_file(&folder.join(format!("cpu{}.hgrm", seen.cpu)), seen.tail.to_hgrm().as_bytes())?;
    }
    let tags: Vec<String> = survey.cpus.iter().map(|seen| format!("cpu{}", seen.cpu)).collect();
    let duration_s = survey.provenance.elapsed_s;
    let with_tags = survey.cpus.iter().zip(&tags);
    let intervals: Vec<LogInterval<'_>> =
        with_tags.map(|(seen, tag)| LogInterval { tag, start_s: 0.0, duration_s, histogram: &seen.tail }).collect();
    let log = format_hlog(survey.provenance.started_unix_ms, &intervals);
    output::replace_file(&folder.join("all.hlog"), log.as_bytes())
}
