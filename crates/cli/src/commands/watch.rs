//! `corewise watch`: shows the cpus of a machine and the threads of a running program, on a screen, as text, or in a file.

pub mod arguments;
mod columns;
pub mod document;

mod keys;
mod process_list;
mod program;
mod recording;
mod row;
mod row_layout;
mod screen;
mod session;
mod terminal;
#[cfg(test)]
mod tests;
mod trails;
mod tree;
mod view;

use std::path::Path;
use std::time::{Duration, Instant};

use corewise_lab::watch::{MachineMonitor, SwitchWatcher, WatchPace};
use corewise_model::watch::{RuleHolds, WatchFrame, WatchHeader};
use corewise_model::worth::cpu_speeds;
use corewise_sys::open_files::OpenFiles;
use corewise_sys::output;
use corewise_sys::signals::{self, HeldSignals};

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::this_machine;
use crate::app::output::{has_no_reader, print_json, print_message, show_result};
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::app::user_store::latest_own;
use crate::app::worth::describe_speeds;
use arguments::WatchArguments;
use document::WatchDocument;
use program::{ProgramOutput, WatchedProgram};
use recording::{WatchRecorder, WatchRecording};
use session::{LiveWatch, WatchEnd};
use terminal::WatchTerminal;
use view::WatchView;

/// Maximum time that a single moment waits for the kernel's events.
const SETTLING: Duration = Duration::from_secs(2);

impl RunnableCommand for WatchArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[
        command_document::<WatchDocument<'_>>(
            "watch",
            &["watch --once", "watch --once --match name=*", "watch --once --save moments.jsonl"],
        ),
        command_document::<WatchHeader>("watch-recording", &[]),
    ];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        if self.once && !self.command.is_empty() {
            return Err(CommandFailure::usage_error(
                "--once shows one moment, and a command that just started has none",
            )
            .with_hint("Leave out --once; or start the command first, and name it by --pid or --match."));
        }
        match &self.replay {
            Some(path) => replay_recording(path, self.once, settings),
            None => watch_live(&self, settings),
        }
    }
}

fn watch_live(typed: &WatchArguments, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    let is_screen = !typed.once && !settings.json && (settings.stdout_is_terminal || typed.save.is_none());
    if is_screen {
        terminal::check_terminal(settings)?;
    }
    let held = HeldSignals::new().map_err(|error| CommandFailure::new(CommandExit::Internal, error))?;
    // Each watched thread needs two open files, and each cpu with visible events another.
    let limit = OpenFiles::raise_limit().ok();
    let machine = this_machine()?;
    let survey = latest_own(&machine, settings, |_| true).map(|(_, survey)| survey);
    let speeds = cpu_speeds(&machine, survey.as_ref());
    let known = describe_speeds(speeds.iter().map(|speed| speed.source));
    let monitor = MachineMonitor::new(&machine, speeds)
        .map_err(|error| CommandFailure::unavailable_error(format!("the cpus' times cannot be read: {error}")))?;
    let output = if typed.command.is_empty() { None } else { Some(open_output(typed, settings)?) };
    let mut program = find_program(typed, output.as_ref(), limit, &held)?;
    let name = program.as_ref().map(|program| program.name.clone());
    let header = WatchHeader::new(env!("CARGO_PKG_VERSION"), machine, &known, name, typed.interval.as_secs_f64());
    let recorder = typed.save.as_deref().map(|path| WatchRecorder::create_file(path, &header)).transpose();
    let recorder = recorder.inspect_err(|_| program.iter_mut().for_each(WatchedProgram::ask_to_end))?;
    let mut live = LiveWatch {
        monitor,
        events: program.as_ref().map(|_| SwitchWatcher::open()),
        program,
        holds: RuleHolds::default(),
        pace: WatchPace::default(),
        settings,
        recorder,
    };
    let output = output.as_ref().and_then(|output| match output {
        ProgramOutput::File(path, _) => Some(path.display().to_string()),
        ProgramOutput::Error => None,
    });
    let end = match () {
        () if typed.once => show_once(&mut live, &header, typed.interval, &held, settings),
        () if is_screen => watch_on_screen(&mut live, header, output.clone(), typed.interval, &held, settings),
        () => stream_frames(&mut live, &header, typed, &held, settings),
    };
    finish_watch(end, &mut live, output.as_deref(), held)
}

/// Ends the command unless it was to continue, and ends this process by a signal that arrived.
fn finish_watch(
    end: Result<WatchEnd, CommandFailure>,
    live: &mut LiveWatch<'_>,
    output: Option<&str>,
    held: HeldSignals,
) -> Result<CommandExit, CommandFailure> {
    let is_left = matches!(end, Ok(WatchEnd::Quit(false)));
    if let Some(program) = live.program.as_mut().filter(|_| !is_left) {
        program.ask_to_end();
    }
    if let Some(output) = output {
        print_message(&format!("the command's output is in {output}"));
    }
    match end? {
        WatchEnd::Quit(_) => Ok(CommandExit::Done),
        WatchEnd::Signal(number) => {
            held.end_self(number);
            // Reached if the signal does not end this process, as for the first process of a container.
            Ok(CommandExit::Interrupted)
        }
    }
}

fn find_program(
    typed: &WatchArguments,
    output: Option<&ProgramOutput>,
    limit: Option<OpenFiles>,
    held: &HeldSignals,
) -> Result<Option<WatchedProgram>, CommandFailure> {
    match output {
        Some(output) => WatchedProgram::start_command(&typed.command, output, limit, held).map(Some),
        None if !typed.pid.is_empty() => WatchedProgram::from_numbers(&typed.pid).map(Some),
        None if !typed.matches.is_empty() => WatchedProgram::match_processes(&typed.matches).map(Some),
        None => Ok(None),
    }
}

/// Opens the destination of the command's output, which must not mix with the screen or with documents.
fn open_output(typed: &WatchArguments, settings: &ProgramSettings) -> Result<ProgramOutput, CommandFailure> {
    let failed = |path: &Path, error: &std::io::Error| {
        CommandFailure::unavailable_error(format!("cannot create {} for the command's output: {error}", path.display()))
    };
    match &typed.output {
        Some(path) => {
            let file = output::create_file(path).map_err(|error| failed(path, &error))?;
            Ok(ProgramOutput::File(path.clone(), file))
        }
        None if settings.json => Ok(ProgramOutput::Error),
        None => {
            let file = tempfile::Builder::new().prefix("corewise-watch-").suffix(".txt").tempfile();
            let kept = file.and_then(|file| file.keep().map_err(|error| error.error));
            let (file, path) = kept.map_err(|error| failed(&std::env::temp_dir(), &error))?;
            Ok(ProgramOutput::File(path, file))
        }
    }
}

fn watch_on_screen(
    live: &mut LiveWatch<'_>,
    header: WatchHeader,
    output: Option<String>,
    interval: Duration,
    held: &HeldSignals,
    settings: &ProgramSettings,
) -> Result<WatchEnd, CommandFailure> {
    let mut view = WatchView::new(header);
    view.output = output;
    view.is_recorded = live.recorder.is_some();
    let mut terminal = take_terminal(settings)?;
    session::show_live(live, &mut view, interval, held, &mut terminal)
}

fn take_terminal(settings: &ProgramSettings) -> Result<WatchTerminal, CommandFailure> {
    WatchTerminal::take_terminal(settings)
        .map_err(|error| CommandFailure::unavailable_error(format!("the terminal cannot be used: {error}")))
}

fn show_once(
    live: &mut LiveWatch<'_>,
    header: &WatchHeader,
    interval: Duration,
    held: &HeldSignals,
    settings: &ProgramSettings,
) -> Result<WatchEnd, CommandFailure> {
    if let Some(events) = &live.events {
        events.wait_until_settled(SETTLING);
    }
    live.take_frame()?;
    if let Some(signal) = session::wait_until(Instant::now() + interval, held) {
        return Ok(WatchEnd::Signal(signal));
    }
    live.monitor.hurry_next();
    let frame = live.take_frame()?;
    print_once(header, frame, None, settings)?;
    Ok(WatchEnd::Quit(true))
}

fn print_once(
    header: &WatchHeader,
    frame: WatchFrame,
    place: Option<(usize, usize)>,
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    show_result(
        settings,
        || WatchDocument::new(header, &frame),
        || {
            let mut view = WatchView::new(header.clone());
            view.place = place;
            view.add_frame(frame.clone());
            screen::draw_whole(&mut view, settings.width)
        },
    )
}

fn stream_frames(
    live: &mut LiveWatch<'_>,
    header: &WatchHeader,
    typed: &WatchArguments,
    held: &HeldSignals,
    settings: &ProgramSettings,
) -> Result<WatchEnd, CommandFailure> {
    if let Some(path) = typed.save.as_ref().filter(|_| !settings.json) {
        print_message(&format!("writing moments into {}, until the program ends or Ctrl-C", path.display()));
    }
    let end = session::stream_frames(live, typed.interval, held, &mut |frame| {
        if settings.json {
            print_json(&WatchDocument::new(header, frame))?;
        }
        Ok(!has_no_reader())
    })?;
    // Ctrl-C is the usual way to end this.
    Ok(if end == WatchEnd::Signal(signals::INTERRUPT) { WatchEnd::Quit(true) } else { end })
}

fn replay_recording(path: &Path, is_once: bool, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    if !is_once && !settings.json {
        terminal::check_terminal(settings)?;
    }
    let mut recording = WatchRecording::open(path)?;
    let all = recording.len();
    if is_once {
        let last = recording.read_frame(all - 1)?;
        print_once(&recording.header, last, Some((all, all)), settings)?;
        return Ok(CommandExit::Done);
    }
    if settings.json {
        for number in 0..all {
            let frame = recording.read_frame(number)?;
            print_json(&WatchDocument::new(&recording.header, &frame))?;
        }
        return Ok(CommandExit::Done);
    }
    let held = HeldSignals::new().map_err(|error| CommandFailure::new(CommandExit::Internal, error))?;
    let mut view = WatchView::new(recording.header.clone());
    let end = {
        let mut terminal = take_terminal(settings)?;
        session::show_recording(&mut recording, &mut view, &held, &mut terminal)?
    };
    if let WatchEnd::Signal(number) = end {
        held.end_self(number);
    }
    Ok(CommandExit::Done)
}
