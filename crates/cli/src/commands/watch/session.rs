//! The session: alternates between looks, keys and signals until the user quits.

use std::io;
use std::time::{Duration, Instant};

use corewise_lab::watch::{EventEye, Monitor, Pace, Subject};
use corewise_model::watch::{Frame, Holds};
use corewise_sys::signals::{self, Held};

use super::keys::Effect;
use super::program::Program;
use super::recording::{Recorder, Recording};
use super::terminal::Terminal;
use super::trails::LONGEST_TRAIL;
use super::view::View;
use crate::app::failure::{Exit, Failure};
use crate::app::keeper::State;
use crate::app::settings::Settings;

/// Longest delay until a signal is noticed.
const STEP: Duration = Duration::from_millis(50);
/// Delay of the second look, short so that shares appear soon.
const SECOND_LOOK: Duration = Duration::from_millis(200);

/// The end of watching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The user quit; true if the started command is to end too.
    Quit(bool),
    /// A signal arrived.
    Signal(i32),
}

/// Live sources of moments.
pub struct Live<'a> {
    /// The monitor of this machine.
    pub monitor: Monitor,
    /// The kernel's events, if a program is watched.
    pub events: Option<EventEye>,
    /// The program.
    pub program: Option<Program>,
    /// The threads held by the rules of a running keeper.
    pub holds: Holds,
    /// Limits how often `holds` is read.
    pub pace: Pace,
    /// The settings, with the folder of the keeper's state.
    pub settings: &'a Settings,
    /// The destination of recorded moments.
    pub recorder: Option<Recorder>,
}

impl Live<'_> {
    /// Takes a moment, and records it if requested.
    ///
    /// # Errors
    /// The cpus' times cannot be read, or the file cannot be written.
    pub fn look(&mut self) -> Result<Frame, Failure> {
        if let Some(begun) = self.pace.begin() {
            self.holds =
                State::read(self.settings).map_or_else(Holds::default, |state| Holds::of(&state.status.processes));
            self.pace.end(begun);
        }
        let processes = self.program.as_mut().map(Program::processes).unwrap_or_default();
        let end = self.program.as_ref().and_then(Program::end);
        let subject = Subject { processes, holds: self.holds.clone(), end };
        let frame = self.monitor.look(&subject, self.events.as_ref());
        let frame = frame.map_err(|error| Failure::unavailable(format!("the cpus' times cannot be read: {error}")))?;
        self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.add(&frame))?;
        Ok(frame)
    }

    fn owns_program(&self) -> bool {
        self.program.as_ref().is_some_and(Program::is_ours_and_runs)
    }
}

/// Shows live moments on a terminal.
///
/// # Errors
/// The cpus' times cannot be read, the terminal is gone, or a file cannot be written.
pub fn show(
    live: &mut Live<'_>,
    view: &mut View,
    interval: Duration,
    held: &Held,
    terminal: &mut Terminal,
) -> Result<End, Failure> {
    let mut next = Instant::now();
    let mut pause = SECOND_LOOK.min(interval);
    loop {
        let is_due = next <= Instant::now();
        if is_due {
            next = Instant::now() + std::mem::replace(&mut pause, interval);
            view.add(live.look()?);
            view.owns_program = live.owns_program();
        }
        if let Some(end) = attend(is_due, next, view, held, terminal).map_err(gone)? {
            return Ok(end);
        }
    }
}

/// Shows a recording on a terminal.
///
/// # Errors
/// The terminal is gone, or the recording cannot be read.
pub fn replay(
    recording: &mut Recording,
    view: &mut View,
    held: &Held,
    terminal: &mut Terminal,
) -> Result<End, Failure> {
    let all = recording.len();
    let mut shown = 0;
    show_moment(recording, view, shown)?;
    let mut is_new = true;
    let mut next = Instant::now() + until_next(recording, shown)?;
    loop {
        if next <= Instant::now() {
            if !view.is_frozen && shown + 1 < all {
                shown += 1;
                view.show(recording.frame(shown)?, (shown + 1, all));
                is_new = true;
            }
            next = Instant::now() + until_next(recording, shown)?;
        }
        view.step = 0;
        if let Some(end) = attend(is_new, next, view, held, terminal).map_err(gone)? {
            return Ok(end);
        }
        is_new = view.step != 0;
        if is_new {
            shown = shown.saturating_add_signed(view.step).min(all - 1);
            view.is_frozen = true;
            show_moment(recording, view, shown)?;
        }
    }
}

/// Shows a moment of a recording, with its preceding trails.
fn show_moment(recording: &mut Recording, view: &mut View, number: usize) -> Result<(), Failure> {
    view.begin_trails();
    for earlier in number.saturating_sub(LONGEST_TRAIL)..number {
        view.add_to_trails(&recording.frame(earlier)?);
    }
    view.show(recording.frame(number)?, (number + 1, recording.len()));
    Ok(())
}

/// Returns the time between two moments of the recording, at most 2 s.
fn until_next(recording: &mut Recording, shown: usize) -> Result<Duration, Failure> {
    let is_last = shown + 1 == recording.len();
    let seconds = if is_last { 1.0 } else { recording.frame(shown + 1)?.elapsed_s };
    Ok(Duration::from_secs_f64(if seconds.is_finite() { seconds.clamp(0.05, 2.0) } else { 1.0 }))
}

/// Draws new content, then handles keys and signals for a while. Returns the end, if it comes.
fn attend(
    is_new: bool,
    next: Instant,
    view: &mut View,
    held: &Held,
    terminal: &mut Terminal,
) -> io::Result<Option<End>> {
    if is_new {
        terminal.draw(view)?;
    }
    let mut patience = next.saturating_duration_since(Instant::now()).min(STEP);
    let mut draws = false;
    loop {
        let pressed = match terminal.key(patience) {
            // The terminal is gone, and with it the user.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Some(End::Quit(true))),
            other => other?,
        };
        let Some(pressed) = pressed else { break };
        match view.press(pressed) {
            Effect::Draw => {}
            Effect::Quit => return Ok(Some(End::Quit(false))),
            Effect::EndProgram => return Ok(Some(End::Quit(true))),
            Effect::Stop => terminal.away(|| held.stop(signals::STOP))?,
            Effect::Step(count) => view.step += count,
        }
        draws = true;
        // Further pending keys are handled before a single redraw.
        patience = Duration::ZERO;
    }
    while let Some(signal) = held.next(Duration::ZERO) {
        if signals::is_from_terminal(signal.number) {
            terminal.away(|| held.stop(signal.number))?;
        } else if signals::ends(signal.number)
            && !signals::is_about_children(signal.number)
            && !signals::is_ignored(signal.number)
        {
            return Ok(Some(End::Signal(signal.number)));
        }
        // The size may have changed, or the process was continued.
        draws = true;
    }
    if draws {
        terminal.draw(view)?;
    }
    Ok(None)
}

/// Takes moments until a signal comes, the program ends, or `take` returns false.
///
/// # Errors
/// The cpus' times cannot be read, or `take` fails.
pub fn stream(
    live: &mut Live<'_>,
    interval: Duration,
    held: &Held,
    take: &mut dyn FnMut(&Frame) -> Result<bool, Failure>,
) -> Result<End, Failure> {
    loop {
        let next = Instant::now() + interval;
        let frame = live.look()?;
        if !take(&frame)? || frame.end.is_some() {
            return Ok(End::Quit(true));
        }
        if let Some(number) = wait(next, held) {
            return Ok(End::Signal(number));
        }
    }
}

/// Waits until a time, or until a fatal signal, which is returned.
pub fn wait(until: Instant, held: &Held) -> Option<i32> {
    loop {
        let patience = until.saturating_duration_since(Instant::now());
        let signal = held.next(patience.max(Duration::from_micros(1)));
        match signal {
            Some(signal) if signals::is_from_terminal(signal.number) => held.stop(signal.number),
            Some(signal) if signals::ends(signal.number) && !signals::is_ignored(signal.number) => {
                return Some(signal.number);
            }
            _ => {}
        }
        if until <= Instant::now() {
            return None;
        }
    }
}

fn gone(error: io::Error) -> Failure {
    Failure::new(Exit::Unavailable, format!("the terminal cannot be used: {error}"))
}
