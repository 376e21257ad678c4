//! The session: alternates between taking frames and handling keys and signals until the user quits.

use std::io;
use std::time::{Duration, Instant};

use corewise_lab::watch::{MachineMonitor, SwitchWatcher, WatchPace, WatchSubject};
use corewise_model::watch::{RuleHolds, WatchFrame};
use corewise_sys::signals::{self, HeldSignals};

use super::keys::KeyEffect;
use super::process_list::ProcessList;
use super::program::WatchedProgram;
use super::recording::{WatchRecorder, WatchRecording};
use super::terminal::WatchTerminal;
use super::trails::LONGEST_TRAIL;
use super::view::{BottomLine, WatchView};
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::keeper::KeeperState;
use crate::app::settings::ProgramSettings;
use crate::app::tenants::list_tenants;

/// Longest delay until a signal is noticed.
const STEP: Duration = Duration::from_millis(50);
/// Delay of the second look, short so that shares appear soon.
const SECOND_LOOK: Duration = Duration::from_millis(200);
/// Time between the two looks at all processes that their list is made from.
const PROCESS_LOOK: Duration = Duration::from_millis(300);

/// The end of watching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEnd {
    /// The user quit; true if the started command is to end too.
    Quit(bool),
    /// A signal arrived.
    Signal(i32),
}

/// Sources of the live machine's frames.
pub struct LiveWatch<'a> {
    /// The monitor of this machine.
    pub monitor: MachineMonitor,
    /// The kernel's events, if a program is watched.
    pub events: Option<SwitchWatcher>,
    /// The program.
    pub program: Option<WatchedProgram>,
    /// The threads held by the rules of a running keeper.
    pub holds: RuleHolds,
    /// Limits how often `holds` is read.
    pub pace: WatchPace,
    /// The settings, with the folder of the keeper's state.
    pub settings: &'a ProgramSettings,
    /// The destination of recorded moments.
    pub recorder: Option<WatchRecorder>,
}

impl LiveWatch<'_> {
    /// Takes a moment, and records it if requested.
    ///
    /// # Errors
    /// The cpus' times cannot be read, or the file cannot be written.
    pub fn take_frame(&mut self) -> Result<WatchFrame, CommandFailure> {
        if let Some(begun) = self.pace.begin_if_due() {
            self.holds = KeeperState::read_state(self.settings)
                .map_or_else(RuleHolds::default, |state| RuleHolds::from_processes(&state.status.processes));
            self.pace.end_turn(begun);
        }
        let processes = self.program.as_mut().map(WatchedProgram::update_processes).unwrap_or_default();
        let end = self.program.as_ref().and_then(WatchedProgram::describe_end);
        let subject = WatchSubject { processes, holds: self.holds.clone(), end };
        let frame = self.monitor.take_frame(&subject, self.events.as_ref());
        let frame = frame
            .map_err(|error| CommandFailure::unavailable_error(format!("the cpus' times cannot be read: {error}")))?;
        self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.add_frame(&frame))?;
        Ok(frame)
    }

    /// Does what a key asked for: lists the processes, or follows one.
    fn answer_request(&mut self, request: KeyEffect, view: &mut WatchView) {
        match request {
            KeyEffect::ListProcesses => {
                let online = &view.header.machine.online;
                view.list = Some(ProcessList::new(list_tenants(online, PROCESS_LOOK), PROCESS_LOOK));
            }
            KeyEffect::Follow(number) => match WatchedProgram::from_numbers(&[number]) {
                Ok(program) => {
                    view.follow_program(program.name.clone());
                    self.program = Some(program);
                    self.events.get_or_insert_with(SwitchWatcher::open);
                }
                Err(failure) => view.bottom = BottomLine::Message(failure.what),
            },
            _ => {}
        }
    }

    fn owns_program(&self) -> bool {
        self.program.as_ref().is_some_and(WatchedProgram::is_ours_and_runs)
    }
}

/// Shows live moments on a terminal.
///
/// # Errors
/// The cpus' times cannot be read, the terminal is gone, or a file cannot be written.
pub fn show_live(
    live: &mut LiveWatch<'_>,
    view: &mut WatchView,
    interval: Duration,
    held: &HeldSignals,
    terminal: &mut WatchTerminal,
) -> Result<WatchEnd, CommandFailure> {
    let mut next = Instant::now();
    let mut pause = SECOND_LOOK.min(interval);
    loop {
        let is_due = next <= Instant::now();
        if is_due {
            next = Instant::now() + std::mem::replace(&mut pause, interval);
            view.add_frame(live.take_frame()?);
            view.owns_program = live.owns_program();
        }
        if let Some(end) = attend_keys(is_due, next, view, held, terminal).map_err(explain_lost_terminal)? {
            return Ok(end);
        }
        if let Some(request) = view.request.take() {
            live.answer_request(request, view);
            (next, pause) = (Instant::now(), SECOND_LOOK.min(interval));
        }
    }
}

/// Shows a recording on a terminal.
///
/// # Errors
/// The terminal is gone, or the recording cannot be read.
pub fn show_recording(
    recording: &mut WatchRecording,
    view: &mut WatchView,
    held: &HeldSignals,
    terminal: &mut WatchTerminal,
) -> Result<WatchEnd, CommandFailure> {
    let all = recording.len();
    let mut shown = 0;
    show_moment(recording, view, shown)?;
    let mut is_new = true;
    let mut next = Instant::now() + pause_until_next(recording, shown)?;
    loop {
        if next <= Instant::now() {
            if !view.is_frozen && shown + 1 < all {
                shown += 1;
                view.show_frame(recording.read_frame(shown)?, (shown + 1, all));
                is_new = true;
            }
            next = Instant::now() + pause_until_next(recording, shown)?;
        }
        view.step = 0;
        if let Some(end) = attend_keys(is_new, next, view, held, terminal).map_err(explain_lost_terminal)? {
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

/// Shows one frame of a recording, with the trails of the frames before it.
fn show_moment(recording: &mut WatchRecording, view: &mut WatchView, number: usize) -> Result<(), CommandFailure> {
    view.begin_trails();
    for earlier in number.saturating_sub(LONGEST_TRAIL)..number {
        view.add_to_trails(&recording.read_frame(earlier)?);
    }
    view.show_frame(recording.read_frame(number)?, (number + 1, recording.len()));
    Ok(())
}

/// Returns the time between two moments of the recording, at most 2 s.
fn pause_until_next(recording: &mut WatchRecording, shown: usize) -> Result<Duration, CommandFailure> {
    let is_last = shown + 1 == recording.len();
    let seconds = if is_last { 1.0 } else { recording.read_frame(shown + 1)?.elapsed_s };
    Ok(Duration::from_secs_f64(if seconds.is_finite() { seconds.clamp(0.05, 2.0) } else { 1.0 }))
}

/// Draws new content, then handles keys and signals for a while. Returns the end, if it comes.
fn attend_keys(
    is_new: bool,
    next: Instant,
    view: &mut WatchView,
    held: &HeldSignals,
    terminal: &mut WatchTerminal,
) -> io::Result<Option<WatchEnd>> {
    if is_new {
        terminal.draw_view(view)?;
    }
    let mut patience = next.saturating_duration_since(Instant::now()).min(STEP);
    let mut draws = false;
    loop {
        let pressed = match terminal.read_key(patience) {
            // The terminal is gone, and with it the user.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Some(WatchEnd::Quit(true))),
            other => other?,
        };
        let Some(pressed) = pressed else { break };
        match view.press_key(pressed) {
            KeyEffect::Draw => {}
            KeyEffect::Quit => return Ok(Some(WatchEnd::Quit(false))),
            KeyEffect::EndProgram => return Ok(Some(WatchEnd::Quit(true))),
            KeyEffect::Stop => terminal.step_away(|| held.stop_self(signals::STOP))?,
            KeyEffect::Step(count) => view.step += count,
            request @ (KeyEffect::ListProcesses | KeyEffect::Follow(_)) => view.request = Some(request),
        }
        draws = true;
        // Further pending keys are handled before a single redraw.
        patience = Duration::ZERO;
    }
    while let Some(signal) = held.next(Duration::ZERO) {
        if signals::is_from_terminal(signal.number) {
            terminal.step_away(|| held.stop_self(signal.number))?;
        } else if signals::ends_process(signal.number)
            && !signals::is_about_children(signal.number)
            && !signals::is_ignored(signal.number)
        {
            return Ok(Some(WatchEnd::Signal(signal.number)));
        }
        // The size may have changed, or the process was continued.
        draws = true;
    }
    if draws {
        terminal.draw_view(view)?;
    }
    Ok(None)
}

/// Takes moments until a signal comes, the program ends, or `take` returns false.
///
/// # Errors
/// The cpus' times cannot be read, or `take` fails.
pub fn stream_frames(
    live: &mut LiveWatch<'_>,
    interval: Duration,
    held: &HeldSignals,
    take: &mut dyn FnMut(&WatchFrame) -> Result<bool, CommandFailure>,
) -> Result<WatchEnd, CommandFailure> {
    loop {
        let next = Instant::now() + interval;
        let frame = live.take_frame()?;
        if !take(&frame)? || frame.end.is_some() {
            return Ok(WatchEnd::Quit(true));
        }
        if let Some(number) = wait_until(next, held) {
            return Ok(WatchEnd::Signal(number));
        }
    }
}

/// Waits until a time, or until a fatal signal, which is returned.
pub fn wait_until(until: Instant, held: &HeldSignals) -> Option<i32> {
    loop {
        let patience = until.saturating_duration_since(Instant::now());
        let signal = held.next(patience.max(Duration::from_micros(1)));
        match signal {
            Some(signal) if signals::is_from_terminal(signal.number) => held.stop_self(signal.number),
            Some(signal) if signals::ends_process(signal.number) && !signals::is_ignored(signal.number) => {
                return Some(signal.number);
            }
            _ => {}
        }
        if until <= Instant::now() {
            return None;
        }
    }
}

fn explain_lost_terminal(error: io::Error) -> CommandFailure {
    CommandFailure::new(CommandExit::Unavailable, format!("the terminal cannot be used: {error}"))
}
