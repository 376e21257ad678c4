//! `corewise watch`: shows the cpus of a machine and the threads of a running program, on a screen, as text, or in a file.

pub mod arguments;
mod columns;
pub mod document;

mod keys;
mod program;
mod recording;
mod row;
mod rows;
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

use corewise_lab::watch::{EventEye, Monitor, Pace};
use corewise_model::watch::{Frame, Header, Holds};
use corewise_model::worth::speeds;
use corewise_sys::open_files::OpenFiles;
use corewise_sys::output;
use corewise_sys::signals::{self, Held};

use crate::app::failure::{Exit, Failure};
use crate::app::history::latest_survey;
use crate::app::machine::this_machine;
use crate::app::output::{has_no_reader, print_json, say, show};
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use crate::app::worth::speeds_in_words;
use arguments::WatchArguments;
use document::WatchDocument;
use program::{Output, Program};
use recording::{Recorder, Recording};
use session::{End, Live};
use terminal::Terminal;
use view::View;

/// Maximum time that a single moment waits for the kernel's events.
const SETTLING: Duration = Duration::from_secs(2);

impl Run for WatchArguments {
    const DOCUMENTS: &'static [Document] = &[
        document::<WatchDocument<'_>>(&[
            "watch --once",
            "watch --once --match name=*",
            "watch --once --save moments.jsonl",
        ]),
        document::<Header>(&[]),
    ];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        match &self.replay {
            Some(path) => replayed(path, self.once, settings),
            None => watched(&self, settings),
        }
    }
}

fn watched(typed: &WatchArguments, settings: &Settings) -> Result<Exit, Failure> {
    let is_screen = !typed.once && !settings.json && (settings.stdout_is_terminal || typed.save.is_none());
    if is_screen {
        terminal::check(settings)?;
    }
    let held = Held::new().map_err(|error| Failure::new(Exit::Internal, error))?;
    // Each watched thread needs two open files, and each cpu with visible events another.
    let limit = OpenFiles::raise().ok();
    let machine = this_machine()?;
    let survey = latest_survey(&machine, settings, |_| true);
    let speeds = speeds(&machine, survey.as_ref());
    let known = speeds_in_words(speeds.iter().map(|speed| speed.source));
    let monitor = Monitor::new(&machine, speeds)
        .map_err(|error| Failure::unavailable(format!("the cpus' times cannot be read: {error}")))?;
    let output = if typed.command.is_empty() { None } else { Some(output_of_command(typed, settings)?) };
    let mut program = program(typed, output.as_ref(), limit, &held)?;
    let name = program.as_ref().map(|program| program.name.clone());
    let header = Header::new(env!("CARGO_PKG_VERSION"), machine, &known, name, typed.interval.as_secs_f64());
    let recorder = typed.save.as_deref().map(|path| Recorder::create(path, &header)).transpose();
    let recorder = recorder.inspect_err(|_| program.iter_mut().for_each(Program::ask_to_end))?;
    let mut live = Live {
        monitor,
        events: program.as_ref().map(|_| EventEye::open()),
        program,
        holds: Holds::default(),
        pace: Pace::default(),
        settings,
        recorder,
    };
    let output = output.as_ref().and_then(|output| match output {
        Output::File(path, _) => Some(path.display().to_string()),
        Output::Error => None,
    });
    let end = match () {
        () if typed.once => once(&mut live, &header, typed.interval, &held, settings),
        () if is_screen => on_screen(&mut live, header, output.clone(), typed.interval, &held, settings),
        () => streamed(&mut live, &header, typed, &held, settings),
    };
    ended(end, &mut live, output.as_deref(), held)
}

/// Ends the command unless it was to continue, and ends this process by a signal that arrived.
fn ended(end: Result<End, Failure>, live: &mut Live<'_>, output: Option<&str>, held: Held) -> Result<Exit, Failure> {
    let is_left = matches!(end, Ok(End::Quit(false)));
    if let Some(program) = live.program.as_mut().filter(|_| !is_left) {
        program.ask_to_end();
    }
    if let Some(output) = output {
        say(&format!("the command's output is in {output}"));
    }
    match end? {
        End::Quit(_) => Ok(Exit::Done),
        End::Signal(number) => {
            held.end(number);
            // Reached if the signal does not end this process, as for the first process of a container.
            Ok(Exit::Interrupted)
        }
    }
}

fn program(
    typed: &WatchArguments,
    output: Option<&Output>,
    limit: Option<OpenFiles>,
    held: &Held,
) -> Result<Option<Program>, Failure> {
    match output {
        Some(output) => Program::started(&typed.command, output, limit, held).map(Some),
        None if !typed.pid.is_empty() => Program::of_numbers(&typed.pid).map(Some),
        None if !typed.matches.is_empty() => Program::matching(&typed.matches).map(Some),
        None => Ok(None),
    }
}

/// Opens the destination of the command's output, which must not mix with the screen or with documents.
fn output_of_command(typed: &WatchArguments, settings: &Settings) -> Result<Output, Failure> {
    let failed = |path: &Path, error: &std::io::Error| {
        Failure::unavailable(format!("cannot create {} for the command's output: {error}", path.display()))
    };
    match &typed.output {
        Some(path) => {
            let file = output::create(path).map_err(|error| failed(path, &error))?;
            Ok(Output::File(path.clone(), file))
        }
        None if settings.json => Ok(Output::Error),
        None => {
            let file = tempfile::Builder::new().prefix("corewise-watch-").suffix(".txt").tempfile();
            let kept = file.and_then(|file| file.keep().map_err(|error| error.error));
            let (file, path) = kept.map_err(|error| failed(&std::env::temp_dir(), &error))?;
            Ok(Output::File(path, file))
        }
    }
}

fn on_screen(
    live: &mut Live<'_>,
    header: Header,
    output: Option<String>,
    interval: Duration,
    held: &Held,
    settings: &Settings,
) -> Result<End, Failure> {
    let mut view = View::new(header);
    view.output = output;
    let mut terminal = taken(settings)?;
    session::show(live, &mut view, interval, held, &mut terminal)
}

fn taken(settings: &Settings) -> Result<Terminal, Failure> {
    Terminal::take(settings).map_err(|error| Failure::unavailable(format!("the terminal cannot be used: {error}")))
}

fn once(
    live: &mut Live<'_>,
    header: &Header,
    interval: Duration,
    held: &Held,
    settings: &Settings,
) -> Result<End, Failure> {
    if let Some(events) = &live.events {
        events.settle(SETTLING);
    }
    live.look()?;
    if let Some(signal) = session::wait(Instant::now() + interval, held) {
        return Ok(End::Signal(signal));
    }
    live.monitor.hurry();
    let frame = live.look()?;
    print_once(header, frame, None, settings)?;
    Ok(End::Quit(true))
}

fn print_once(
    header: &Header,
    frame: Frame,
    place: Option<(usize, usize)>,
    settings: &Settings,
) -> Result<(), Failure> {
    show(
        settings,
        || WatchDocument::new(header, &frame),
        || {
            let mut view = View::new(header.clone());
            view.place = place;
            view.add(frame.clone());
            screen::whole(&mut view, settings.width)
        },
    )
}

fn streamed(
    live: &mut Live<'_>,
    header: &Header,
    typed: &WatchArguments,
    held: &Held,
    settings: &Settings,
) -> Result<End, Failure> {
    if let Some(path) = typed.save.as_ref().filter(|_| !settings.json) {
        say(&format!("writing moments into {}, until the program ends or Ctrl-C", path.display()));
    }
    let end = session::stream(live, typed.interval, held, &mut |frame| {
        if settings.json {
            print_json(&WatchDocument::new(header, frame))?;
        }
        Ok(!has_no_reader())
    })?;
    // Ctrl-C is the usual way to end this.
    Ok(if end == End::Signal(signals::INTERRUPT) { End::Quit(true) } else { end })
}

fn replayed(path: &Path, is_once: bool, settings: &Settings) -> Result<Exit, Failure> {
    if !is_once && !settings.json {
        terminal::check(settings)?;
    }
    let mut recording = Recording::open(path)?;
    let all = recording.len();
    if is_once {
        let last = recording.frame(all - 1)?;
        print_once(&recording.header, last, Some((all, all)), settings)?;
        return Ok(Exit::Done);
    }
    if settings.json {
        for number in 0..all {
            let frame = recording.frame(number)?;
            print_json(&WatchDocument::new(&recording.header, &frame))?;
        }
        return Ok(Exit::Done);
    }
    let held = Held::new().map_err(|error| Failure::new(Exit::Internal, error))?;
    let mut view = View::new(recording.header.clone());
    let end = {
        let mut terminal = taken(settings)?;
        session::replay(&mut recording, &mut view, &held, &mut terminal)?
    };
    if let End::Signal(number) = end {
        held.end(number);
    }
    Ok(Exit::Done)
}
