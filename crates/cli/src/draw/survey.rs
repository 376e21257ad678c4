//! What begins and ends every screen of a survey: the machine, what to know before the first number, what was not measured, where it is kept.

use corewise_machine::Gap;
use corewise_model::Survey;

use super::findings::gaps;
use super::machine::headline;
use super::number::{count, decimal};
use super::story::StoryPart;
use super::text::{Line, Tone};
use super::wrap::glued;

/// A share of the machine's time that others may use without a word.
const LITTLE: f64 = 0.05;
/// A share that is said first.
const MUCH: f64 = 0.25;

/// Where what was made is kept, as its screen says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// In the history, under this number.
    Stored(i64),
    /// Nowhere, as the user asked.
    No,
    /// Nowhere, because the history failed; the reason was said elsewhere.
    Failed,
    /// It comes from the history: its number, and when it was made.
    Recalled(i64, String),
}

impl Kept {
    /// Its number in the history.
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Stored(number) | Self::Recalled(number, _) => Some(*number),
            Self::No | Self::Failed => None,
        }
    }

    /// The sentence that says where a map is stored, if its reader does not know; `None` after a failure that was reported already.
    pub fn of_map(&self) -> Option<String> {
        match self {
            Self::Stored(number) => Some(format!("stored as map {number}")),
            Self::No => Some("not stored".to_owned()),
            Self::Failed | Self::Recalled(..) => None,
        }
    }
}

/// The beginning: where it comes from, what spoils its numbers, and the machine.
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

/// Whatever differs on such a machine, its cpus do not.
pub fn emulated_remark() -> Line {
    let text = "EMULATED: every instruction of this machine is emulated";
    Line::new().with(Tone::Warn, text).plain("; the times below mean nothing.")
}

/// Others were so busy that they are in every number: that is to be known before the first number is read.
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

/// What was not measured, what disturbed the survey, and where it is kept.
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
