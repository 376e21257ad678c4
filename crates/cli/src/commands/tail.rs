//! `corewise tail`: looks for stalls on every cpu, names their causes, and shows the conclusions.

pub mod arguments;
pub mod beside;
mod percentiles;
mod recording;
mod story;
pub mod task;

use std::io;
use std::path::Path;

use corewise_lab::session::seed_of_the_clock;
use corewise_lab::survey::{Plan, Surveyed, TailPlan, look};
use corewise_model::Survey;
use corewise_model::histogram::{Interval, hlog};
use corewise_model::survey::Recording;
use corewise_sys::output;

use crate::app::artifact;
use crate::app::failure::{Exit, Failure};
use crate::app::history::keep;
use crate::app::interruption::Interruption;
use crate::app::lock;
use crate::app::machine::this_machine;
use crate::app::measuring::nothing_measured;
use crate::app::placing::to_measure;
use crate::app::progress::Bar;
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use crate::draw::survey::Kept;
use arguments::TailArguments;
pub use story::story;
use task::{Measure, TailTask};

impl Run for TailArguments {
    const DOCUMENTS: &'static [Document] =
        &[document::<beside::document::BesideDocument<'_>>(&["tail --beside -- true"])];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        run(&TailTask::new(self)?, settings)
    }
}

/// Measures stalls, replays a recording, or watches a command.
fn run(task: &TailTask, settings: &Settings) -> Result<Exit, Failure> {
    match task {
        TailTask::Measure(measure) => measured(measure, settings),
        TailTask::Replay { recording, histograms } => replayed(recording, histograms.as_deref(), settings),
        TailTask::Beside { cpus, budget, command } => beside::run(cpus.as_ref(), *budget, command, settings),
    }
}

fn measured(measure: &Measure, settings: &Settings) -> Result<Exit, Failure> {
    let _lock = lock::take(settings)?;
    let machine = this_machine()?;
    let cpus = to_measure(measure.cpus.as_ref(), &machine, settings)?;
    let has_watchman = |cpu| machine.allowed.iter().any(|other| other != cpu);
    if measure.fifo && !cpus.iter().all(has_watchman) {
        let what = "--fifo needs a second allowed cpu for its watchdog";
        return Err(Failure::unavailable(what).next("Leave out --fifo, or allow this process another cpu."));
    }
    // Before measuring: a minute later is too late to report that the file cannot be written.
    let record = measure.record.as_deref().map(recording::create).transpose()?;
    let plan = Plan {
        budget: measure.budget(cpus.len()),
        cpus,
        seed: measure.seed.unwrap_or_else(seed_of_the_clock),
        corewise: env!("CARGO_PKG_VERSION"),
        tail: TailPlan {
            work: measure.work,
            threshold: measure.threshold,
            explain: measure.explain,
            first_in_line: measure.fifo,
            keep_events: record.is_some(),
        },
    };
    let interruption = Interruption::watch()?;
    let bar = Bar::new(settings.progress);
    let Surveyed { survey, recording } = look(&plan, machine, interruption.stop(), &mut |progress| bar.show(progress));
    bar.clear();
    let is_interrupted = survey.provenance.partial && interruption.was_seen();
    if survey.cpus.is_empty() {
        // An empty file would block the next attempt.
        if let Some((place, file)) = &record {
            place.remove(file);
        }
        return Err(nothing_measured("survey", "measurement", survey.gaps.first(), is_interrupted));
    }
    if let (Some((_, file)), Some(recording)) = (record, &recording) {
        recording::write(file, recording)?;
    }
    let kept = keep(&survey, settings);
    shown(&survey, &kept, measure.histograms.as_deref(), settings)?;
    Ok(if is_interrupted { Exit::Interrupted } else { Exit::Done })
}

fn replayed(path: &Path, histograms: Option<&Path>, settings: &Settings) -> Result<Exit, Failure> {
    let recording: Recording = recording::read(path)?;
    shown(&recording.replayed(), &Kept::No, histograms, settings)?;
    Ok(Exit::Done)
}

fn shown(survey: &Survey, kept: &Kept, histograms: Option<&Path>, settings: &Settings) -> Result<(), Failure> {
    if let Some(folder) = histograms {
        write_histograms(survey, folder).map_err(|error| {
            Failure::unavailable(format!("cannot write the histograms to {}: {error}", folder.display()))
        })?;
    }
    artifact::print(survey, kept, settings)
}

/// Writes a file for each cpu, and one with all.
fn write_histograms(survey: &Survey, folder: &Path) -> io::Result<()> {
    output::make_folder(folder)?;
    for seen in &survey.cpus {
        output::replace(&folder.join(format!("cpu{}.hgrm", seen.cpu)), seen.tail.to_hgrm().as_bytes())?;
    }
    let tags: Vec<String> = survey.cpus.iter().map(|seen| format!("cpu{}", seen.cpu)).collect();
    let duration_s = survey.provenance.elapsed_s;
    let with_tags = survey.cpus.iter().zip(&tags);
    let intervals: Vec<Interval<'_>> =
        with_tags.map(|(seen, tag)| Interval { tag, start_s: 0.0, duration_s, histogram: &seen.tail }).collect();
    let log = hlog(survey.provenance.started_unix_ms, &intervals);
    output::replace(&folder.join("all.hlog"), log.as_bytes())
}
