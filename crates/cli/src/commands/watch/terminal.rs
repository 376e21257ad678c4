//! The terminal: taken over, drawn on, and restored in any case.

use std::io::{self, Stdout, stdout};
use std::sync::Once;
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use corewise_sys::standard_files::wait_for_input;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Terminal as Inner;
use ratatui_core::text::{Line as Drawn, Span};
use ratatui_core::widgets::Widget as _;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::cursor::{Hide, Show};
use ratatui_crossterm::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui_crossterm::crossterm::execute;
use ratatui_crossterm::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::keys::PressedKey;
use super::screen::draw_lines;
use super::view::WatchView;
use crate::app::failure::CommandFailure;
use crate::app::settings::ProgramSettings;
use crate::draw::text::{StyledLine, TextTone};

/// The terminal, taken over while this value lives.
pub struct WatchTerminal {
    inner: Inner<CrosstermBackend<Stdout>>,
    is_coloured: bool,
    is_utf8: bool,
}

/// Checks that there is a terminal to draw on.
///
/// # Errors
/// Standard output is not a terminal, or the terminal cannot be drawn on.
pub fn check_terminal(settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let what = match (settings.stdout_is_terminal, settings.terminal_draws) {
        (true, true) => return Ok(()),
        (false, _) => "standard output is not a terminal",
        (true, false) => "this terminal cannot be drawn on (TERM is dumb)",
    };
    Err(CommandFailure::usage_error(format!("there is no screen to show: {what}"))
        .with_hint("--once prints one moment, --json prints documents, --save writes a file."))
}

impl WatchTerminal {
    /// Takes over the terminal. A panic restores it before its message is printed.
    ///
    /// # Errors
    /// The terminal cannot be set up.
    pub fn take_terminal(settings: &ProgramSettings) -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore_terminal();
                before(panic);
            }));
        });
        let inner = Inner::new(CrosstermBackend::new(stdout()))?;
        let is_coloured = match settings.color {
            ColorChoice::Auto => AutoStream::choice(&stdout()) != ColorChoice::Never,
            choice => choice != ColorChoice::Never,
        };
        enter_screen()?;
        Ok(Self { inner, is_coloured, is_utf8: settings.terminal_is_utf8 })
    }

    /// Draws a view in the present size of the terminal.
    ///
    /// # Errors
    /// The terminal cannot be written.
    pub fn draw_view(&mut self, view: &mut WatchView) -> io::Result<()> {
        let (is_coloured, is_utf8) = (self.is_coloured, self.is_utf8);
        let draw = |frame: &mut ratatui_core::terminal::Frame<'_>| {
            let area = frame.area();
            let (lines, selected) = draw_lines(view, usize::from(area.width), usize::from(area.height));
            for (place, (row, line)) in area.rows().zip(lines).enumerate() {
                let line = if is_utf8 { line } else { line.map_text(to_ascii) };
                let reversed = if Some(place) == selected { Modifier::REVERSED } else { Modifier::empty() };
                let buffer = frame.buffer_mut();
                draw_line(&line, is_coloured).render(row, buffer);
                buffer.set_style(row, Style::new().add_modifier(reversed));
            }
        };
        self.inner.draw(draw).map(|_| ())
    }

    /// Waits for the next key, at most for `patience`; `None` without one. A resize also ends the wait.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the terminal is gone, and other errors of the terminal.
    pub fn read_key(&self, patience: Duration) -> io::Result<Option<PressedKey>> {
        let input = wait_for_input(Duration::ZERO)?;
        // Input that was read before may hold more keys. A wait inside `poll` would never end if the terminal went away.
        let is_there = event::poll(Duration::ZERO)?
            || match input {
                Some(_) => wait_for_input(patience)? == Some(true) && event::poll(Duration::ZERO)?,
                None => event::poll(patience)?,
            };
        if !is_there {
            return Ok(None);
        }
        Ok(match event::read()? {
            Event::Key(pressed) if pressed.kind != KeyEventKind::Release => pressed_key(pressed),
            _ => None,
        })
    }

    /// Restores the terminal, runs `meanwhile`, and takes the terminal over again.
    ///
    /// # Errors
    /// The terminal cannot be set up.
    pub fn step_away(&mut self, meanwhile: impl FnOnce()) -> io::Result<()> {
        restore_terminal();
        meanwhile();
        enter_screen()?;
        self.inner.clear()
    }
}

impl Drop for WatchTerminal {
    fn drop(&mut self) {
        restore_terminal();
    }
}

fn enter_screen() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, Hide)
}

/// Restores the terminal; errors mean that it is gone, and are ignored.
fn restore_terminal() {
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

fn pressed_key(pressed: KeyEvent) -> Option<PressedKey> {
    let has_control = pressed.modifiers.contains(KeyModifiers::CONTROL);
    Some(match pressed.code {
        KeyCode::Char('c') if has_control => PressedKey::Interrupt,
        KeyCode::Char('z') if has_control => PressedKey::Stop,
        KeyCode::Char(_) if has_control => return None,
        KeyCode::Char(character) => PressedKey::Character(character),
        KeyCode::Enter => PressedKey::Enter,
        KeyCode::Esc => PressedKey::Escape,
        KeyCode::Backspace => PressedKey::Backspace,
        KeyCode::Up => PressedKey::Up,
        KeyCode::Down => PressedKey::Down,
        KeyCode::Left => PressedKey::Left,
        KeyCode::Right => PressedKey::Right,
        KeyCode::PageUp => PressedKey::PageUp,
        KeyCode::PageDown => PressedKey::PageDown,
        KeyCode::Home => PressedKey::Home,
        KeyCode::End => PressedKey::End,
        KeyCode::Tab => PressedKey::Tab,
        _ => return None,
    })
}

fn draw_line(line: &StyledLine, is_coloured: bool) -> Drawn<'_> {
    Drawn::from_iter(line.spans().map(|(tone, text)| Span::styled(text, tone_style(tone, is_coloured))))
}

fn tone_style(tone: TextTone, is_coloured: bool) -> Style {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    match tone {
        TextTone::Strong => bold,
        TextTone::Faint => Style::new().add_modifier(Modifier::DIM),
        TextTone::Warn if is_coloured => bold.fg(Color::Yellow),
        TextTone::Good if is_coloured => bold.fg(Color::Green),
        TextTone::Warn | TextTone::Good => bold,
        TextTone::Plain | TextTone::Heat(_) | TextTone::Paint { .. } => Style::new(),
    }
}

/// Replaces symbols on a terminal without UTF-8.
fn to_ascii(text: &str) -> String {
    let shown = |character: char| match character {
        '─' | '–' | '·' => '-',
        '›' => '>',
        '…' => '~',
        '▕' | '▏' => '|',
        '▁' => '.',
        '▂' => ':',
        '▃' => '-',
        '▄' => '=',
        '▅' => '+',
        '▆' => '*',
        '▇' => '%',
        '█' => '#',
        '▒' => 'i',
        '░' => 'h',
        other if other.is_ascii() => other,
        _ => '?',
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::settings::ProgramEnvironment;

    #[test]
    fn a_terminal_of_ascii_shows_ascii() {
        assert_eq!(to_ascii("1─12›3 ▕▁█▏ é…"), "1-12>3 |.#| ?~");
    }

    #[test]
    fn colours_are_shown_where_there_are_some() {
        assert_eq!(tone_style(TextTone::Warn, true).fg, Some(Color::Yellow));
        assert_eq!(tone_style(TextTone::Warn, false), tone_style(TextTone::Strong, false));
    }

    #[test]
    fn what_is_no_screen_is_said() {
        let settings = |stdout_is_terminal, terminal: &str| {
            let terminal = Some(terminal.to_owned());
            ProgramSettings::from_environment(&ProgramEnvironment {
                stdout_is_terminal,
                terminal,
                ..ProgramEnvironment::default()
            })
        };
        assert!(check_terminal(&settings(true, "xterm")).is_ok());
        assert!(check_terminal(&settings(true, "dumb")).unwrap_err().what.contains("TERM is dumb"));
        assert!(check_terminal(&settings(false, "xterm")).unwrap_err().what.contains("not a terminal"));
    }

    #[test]
    fn a_panic_gives_the_terminal_back() {
        // On a terminal of its own it is this test again that panics.
        const PANICS: &str = "COREWISE_TEST_PANICS";
        if std::env::var_os(PANICS).is_some() {
            let _terminal =
                WatchTerminal::take_terminal(&ProgramSettings::from_environment(&ProgramEnvironment::default()))
                    .unwrap();
            panic!("on purpose");
        }
        let program = std::env::current_exe().unwrap();
        let words = "--exact commands::watch::terminal::tests::a_panic_gives_the_terminal_back --nocapture";
        let script = format!("{PANICS}=1 '{}' {words} 2>&1; stty -a", program.display());
        let run = std::process::Command::new("script").args(["-q", "-c", &script, "/dev/null"]).output();
        let Ok(run) = run else { return println!("skipped: script is not installed, which gives a terminal") };
        let seen = String::from_utf8_lossy(&run.stdout).into_owned();
        let at = |text: &str| seen.find(text).unwrap_or_else(|| panic!("{text:?} is not in {seen:?}"));
        let (taken, given_back, said) = (at("\u{1b}[?1049h"), at("\u{1b}[?1049l"), at("on purpose"));
        assert!(taken < given_back && given_back < said, "{seen:?}");
        assert!(seen[said..].contains(" icanon") && seen[said..].contains(" echo "), "{seen:?}");
    }
}
