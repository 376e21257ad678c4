//! The screen of `corewise doctor`: gaps of this machine, their reasons and their cures.

use super::document::{Check, State};
use crate::draw::text::{Line, Screen, Tone};
use crate::draw::wrap::wrap;

impl State {
    const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Note => "note",
            Self::Gap => "gap",
        }
    }

    const fn tone(self) -> Tone {
        match self {
            Self::Good => Tone::Good,
            Self::Note => Tone::Plain,
            Self::Gap => Tone::Warn,
        }
    }
}

/// Returns the list of checks: gaps first, then notes, then the rest.
pub fn screen(checks: &[Check], width: usize) -> Screen {
    let mut screen = Screen::new();
    for state in [State::Gap, State::Note, State::Good] {
        for check in checks.iter().filter(|check| check.state == state) {
            screen.extend(lines(check, width));
        }
    }
    let gaps = checks.iter().filter(|check| check.state == State::Gap).count();
    let summary = match gaps {
        0 => "corewise can measure everything here.".to_owned(),
        1 => "One thing cannot be measured here; a survey lists it as not measured.".to_owned(),
        _ => format!("{gaps} things cannot be measured here; a survey lists them as not measured."),
    };
    screen.block(wrap(&Line::new().plain(summary), width, 0));
    screen
}

fn lines(check: &Check, width: usize) -> Vec<Line> {
    let head = Line::new().with(check.state.tone(), format!("{:<6}", check.state.word())).strong(&check.what);
    let mut lines = wrap(&head.plain(format!(": {}", check.why)), width, 6);
    if let Some(cure) = &check.cure {
        lines.extend(wrap(&Line::new().plain(" ".repeat(8)).strong(cure), width, 8));
    }
    lines
}
