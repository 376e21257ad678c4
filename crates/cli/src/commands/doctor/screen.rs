//! The screen of `corewise doctor`: what this machine cannot tell, why, and what would change that.

use schemars::JsonSchema;
use serde::Serialize;

use crate::draw::text::{Line, Screen, Tone};
use crate::draw::wrap::wrap;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    /// What was looked at: "hardware counters".
    pub what: String,
    /// How it stands.
    pub state: State,
    /// What was found, and for a gap what it costs.
    pub why: String,
    /// A command or an instruction that would change it, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cure: Option<String>,
}

/// How a thing stands that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// In order.
    Good,
    /// It works, and results must be read with it in mind.
    Note,
    /// Something cannot be measured.
    Gap,
}

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

/// The list of checks: gaps first, then notes, then what is in order.
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
