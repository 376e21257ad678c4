//! Head and foot of every screen of a survey: the machine, warnings, gaps, and storage.

use corewise_machine::Gap;
use corewise_model::Survey;

use super::findings::gaps;
use super::machine::headline;
use super::number::{count, decimal};
use super::story::StoryPart;
use super::text::{Line, Tone};
use super::wrap::glued;

/// Share of the machine's time that other programs may use without a remark.
const LITTLE: f64 = 0.05;
/// Share from which the remark comes first.
const MUCH: f64 = 0.25;

/// Storage of a result, as its screen reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Stored in the history under this number.
    Stored(i64),
    /// Not stored, as the user asked.
    No,
    /// Not stored because the history failed; the reason was reported elsewhere.
    Failed,
    /// Read from the history: its number, and when it was made.
    Recalled(i64, String),
}

impl Kept {
    /// Returns its number in the history.
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Stored(number) | Self::Recalled(number, _) => Some(*number),
            Self::No | Self::Failed => None,
        }
    }

    /// Returns a sentence on where a map is stored, if that is news; `None` after a failure that was reported already.
    pub fn of_map(&self) -> Option<String> {
        match self {
            Self::Stored(number) => Some(format!("stored as map {number}")),
            Self::No => Some("not stored".to_owned()),
            Self::Failed | Self::Recalled(..) => None,
        }
    }
}

/// Composes the head: origin, warnings about the numbers, and the machine.
pub fn head(survey: &Survey, kept: &Kept) -> Vec<StoryPart> {
    let mut parts = Vec::new();
    if let Kept::Recalled(number, when) = kept {
        parts.push(Line::new().faint(format!("survey {number}, made {when}")).hanging(2));
    }
    if survey.machine.system.emulated {
        parts.push(emulated_remark().hanging(2));
    }
    if survey.provenance.partial {
        parts.push(partial_remark(survey).hanging(2));
    }
    parts.extend(busy_remark(survey).map(|line| line.hanging(2)));
    parts.push(headline(&survey.machine, &[timing(survey)]));
    parts
}

fn partial_remark(survey: &Survey) -> Line {
    let rounds = survey.provenance.rounds;
    let text = format!("PARTIAL: ended early, after {}", count(rounds as usize, "whole round"));
    Line::new().with(Tone::Warn, text).plain("; partial results follow.")
}

/// Warning for emulated machines: their differences between cpus mean nothing.
pub fn emulated_remark() -> Line {
    let text = "EMULATED: every instruction of this machine is emulated";
    Line::new().with(Tone::Warn, text).plain("; the times below mean nothing.")
}

/// Warning that other programs affected every number; shown before the first number.
fn busy_remark(survey: &Survey) -> Option<Line> {
    let share = survey.provenance.others_busy.filter(|share| *share >= MUCH)?;
    let text = format!("BUSY: other programs used {} of the machine meanwhile", percent(share));
    Some(Line::new().with(Tone::Warn, text).plain("; this affects every number below."))
}

fn percent(share: f64) -> String {
    glued(&format!("{} %", decimal(share * 100.0, 0)))
}

fn timing(survey: &Survey) -> String {
    let provenance = &survey.provenance;
    format!("{} s, {}", decimal(provenance.elapsed_s, 0), count(provenance.rounds as usize, "round"))
}

/// Composes the foot: gaps, disturbances, and storage.
pub fn foot(survey: &Survey, kept: &Kept) -> Vec<StoryPart> {
    let all: Vec<Gap> =
        [&survey.machine.gaps, &survey.gaps, &survey.links.gaps].into_iter().flatten().cloned().collect();
    let mut lines = gaps(&all);
    let mut items = Vec::new();
    if let Some(share) = survey.provenance.others_busy.filter(|share| (LITTLE..MUCH).contains(share)) {
        items.push(Line::new().with(Tone::Warn, format!("other programs used {} of the machine", percent(share))));
    }
    items.push(Line::new().faint(format!("seed {}, clock {}", survey.provenance.seed, survey.clock.source)));
    if let Kept::Stored(number) = kept {
        items.push(Line::new().plain(format!("stored as survey {number}")));
    }
    let mut line = Line::new();
    for (place, item) in items.into_iter().enumerate() {
        line = line.faint(if place > 0 { " · " } else { "" }).then(item);
    }
    lines.push(line.hanging(2));
    lines
}
