//! The screen of `corewise doctor`: gaps of this machine, their reasons and their cures.

use super::document::{CheckState, DoctorCheck};
use crate::draw::text::{StyledLine, TextScreen, TextTone};
use crate::draw::wrap::wrap_line;

impl CheckState {
    const fn state_word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Note => "note",
            Self::Gap => "gap",
        }
    }

    const fn state_tone(self) -> TextTone {
        match self {
            Self::Good => TextTone::Good,
            Self::Note => TextTone::Plain,
            Self::Gap => TextTone::Warn,
        }
    }
}

/// Returns the list of checks: gaps first, then notes, then the rest.
pub fn draw_screen(checks: &[DoctorCheck], width: usize) -> TextScreen {
    let gaps = checks.iter().filter(|check| check.state == CheckState::Gap).count();
    let summary = match gaps {
        0 => "corewise can measure everything here.".to_owned(),
        1 => "One thing cannot be measured here; a survey lists it as not measured.".to_owned(),
        _ => format!("{gaps} things cannot be measured here; a survey lists them as not measured."),
    };
    draw_checks(checks, &summary, width)
}

/// Returns checks, gaps first, and a sentence at the end.
pub fn draw_checks(checks: &[DoctorCheck], summary: &str, width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    for state in [CheckState::Gap, CheckState::Note, CheckState::Good] {
        for check in checks.iter().filter(|check| check.state == state) {
            screen.extend(draw_check(check, width));
        }
    }
    screen.add_block(wrap_line(&StyledLine::new().plain(summary), width, 0));
    screen
}

fn draw_check(check: &DoctorCheck, width: usize) -> Vec<StyledLine> {
    let head = StyledLine::new()
        .with(check.state.state_tone(), format!("{:<6}", check.state.state_word()))
        .strong(&check.what);
    let mut lines = wrap_line(&head.plain(format!(": {}", check.why)), width, 6);
    if let Some(cure) = &check.cure {
        lines.extend(wrap_line(&StyledLine::new().plain(" ".repeat(8)).strong(cure), width, 8));
    }
    lines
}
