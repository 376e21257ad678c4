//! Head and foot of every screen of a survey: the machine, warnings, gaps, and storage.

use corewise_machine::Gap;
use corewise_model::Survey;

use super::findings::compose_gaps;
use super::machine::compose_headline;
use super::number::{format_count, format_decimal};
use super::story::StoryPart;
use super::text::{StyledLine, TextTone};
use super::wrap::glue_numbers;

/// Share of the machine's time that other programs may use without a remark.
const LITTLE: f64 = 0.05;
/// Share from which the remark comes first.
const MUCH: f64 = 0.25;

/// Storage of a result, as its screen reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageStatus {
    /// Stored in the history under this number.
    Stored(i64),
    /// Not stored, as the user asked.
    No,
    /// Not stored because the history failed; the reason was reported elsewhere.
    Failed,
    /// Read from the history: its number, and when it was made.
    Recalled(i64, String),
}

impl StorageStatus {
    /// Returns its number in the history.
    pub fn stored_number(&self) -> Option<i64> {
        match self {
            Self::Stored(number) | Self::Recalled(number, _) => Some(*number),
            Self::No | Self::Failed => None,
        }
    }

    /// Returns a sentence on where a map is stored, if that is news; `None` after a failure that was reported already.
    pub fn describe_stored_map(&self) -> Option<String> {
        match self {
            Self::Stored(number) => Some(format!("stored as map {number}")),
            Self::No => Some("not stored".to_owned()),
            Self::Failed | Self::Recalled(..) => None,
        }
    }
}

/// Composes the head: origin, warnings about the numbers, and the machine.
pub fn compose_head(survey: &Survey, kept: &StorageStatus) -> Vec<StoryPart> {
    let mut parts = Vec::new();
    if let StorageStatus::Recalled(number, when) = kept {
        parts.push(StyledLine::new().faint(format!("survey {number}, made {when}")).into_paragraph(2));
    }
    if survey.machine.system.emulated {
        parts.push(emulated_remark().into_paragraph(2));
    }
    if survey.provenance.partial {
        parts.push(partial_remark(survey).into_paragraph(2));
    }
    parts.extend(busy_remark(survey).map(|line| line.into_paragraph(2)));
    parts.push(compose_headline(&survey.machine, &[format_timing(survey)]));
    parts
}

fn partial_remark(survey: &Survey) -> StyledLine {
    let rounds = survey.provenance.rounds;
    let text = format!("PARTIAL: ended early, after {}", format_count(rounds as usize, "whole round"));
    StyledLine::new().with(TextTone::Warn, text).plain("; partial results follow.")
}

/// Warning for emulated machines: their differences between cpus mean nothing.
pub fn emulated_remark() -> StyledLine {
    let text = "EMULATED: every instruction of this machine is emulated";
    StyledLine::new().with(TextTone::Warn, text).plain("; the times below mean nothing.")
}

/// Warning that other programs affected every number; shown before the first number.
fn busy_remark(survey: &Survey) -> Option<StyledLine> {
    let share = survey.provenance.others_busy.filter(|share| *share >= MUCH)?;
    let text = format!("BUSY: other programs used {} of the machine meanwhile", format_percent(share));
    Some(StyledLine::new().with(TextTone::Warn, text).plain("; this affects every number below."))
}

fn format_percent(share: f64) -> String {
    glue_numbers(&format!("{} %", format_decimal(share * 100.0, 0)))
}

fn format_timing(survey: &Survey) -> String {
    let provenance = &survey.provenance;
    format!("{} s, {}", format_decimal(provenance.elapsed_s, 0), format_count(provenance.rounds as usize, "round"))
}

/// Composes the foot: gaps, disturbances, and storage.
pub fn compose_foot(survey: &Survey, kept: &StorageStatus) -> Vec<StoryPart> {
    let all: Vec<Gap> =
        [&survey.machine.gaps, &survey.gaps, &survey.links.gaps].into_iter().flatten().cloned().collect();
    let mut lines = compose_gaps(&all);
    let mut items = Vec::new();
    if let Some(share) = survey.provenance.others_busy.filter(|share| (LITTLE..MUCH).contains(share)) {
        items.push(
            StyledLine::new()
                .with(TextTone::Warn, format!("other programs used {} of the machine", format_percent(share))),
        );
    }
    items.push(StyledLine::new().faint(format!("seed {}, clock {}", survey.provenance.seed, survey.clock.source)));
    if let StorageStatus::Stored(number) = kept {
        items.push(StyledLine::new().plain(format!("stored as survey {number}")));
    }
    let mut line = StyledLine::new();
    for (place, item) in items.into_iter().enumerate() {
        line = line.faint(if place > 0 { " · " } else { "" }).then(item);
    }
    lines.push(line.into_paragraph(2));
    lines
}
