//! Meaning of a survey in plain words, and its gaps.

use corewise_machine::Gap;
use corewise_machine::suggested_command;
use corewise_model::Survey;
use corewise_model::finding::Finding;
use corewise_model::forecast;
use corewise_model::survey::conclude::{PendingAnswer, SurveyConclusions};

use super::printable::printable_prefix;
use super::repeat_survey::repeat_survey;
use super::story::StoryPart;
use super::suggestion;
use super::text::StyledLine;
use super::wrap::{glue_numbers, glue_words};

/// Maximum columns of a sentence, whatever the devices and tasks in it are called.
const LONGEST_SENTENCE: usize = 1000;

/// Composes the numbered findings, each with a next step, then the properties that were tested and do not differ.
pub fn compose_findings(survey: &Survey, conclusions: &SurveyConclusions) -> Vec<StoryPart> {
    let mut lines = vec![StyledLine::new().strong("What this means").into_paragraph(0)];
    if let Some(first) = &conclusions.first_cpu {
        let question = format!(" ?{gap}Is cpu {} worse than its peers? ", first.cpu, gap = glue_words("  "));
        let line = StyledLine::new().plain(question).strong(glue_numbers(&first.answer));
        lines.push(line.into_paragraph(4));
    }
    if conclusions.findings.is_empty() {
        let text = if survey.cpus.is_empty() {
            " Nothing was measured."
        } else if !conclusions.undecided.is_empty() {
            " Cannot tell yet whether anything stands out:"
        } else if conclusions.no_difference.is_empty() {
            " Nothing could be tested: tests need two cpus and several whole rounds."
        } else if survey.cpus.len() == 1 {
            " One cpu has no peers to be compared with. Tested by itself:"
        } else if conclusions.first_cpu.as_ref().is_some_and(|first| first.is_worse == PendingAnswer::CannotTellYet) {
            " Nothing else stands out. Tested:"
        } else {
            " Nothing stands out: leave placement to the scheduler. Tested:"
        };
        lines.push(StyledLine::new().plain(text).into_paragraph(1));
    }
    for (index, finding) in conclusions.findings.iter().enumerate() {
        lines.extend(compose_numbered(index + 1, finding));
    }
    // If every cpu is suitable, the list has no information.
    let quiet = conclusions.quiet.len();
    if quiet > 0 && quiet < survey.cpus.len() {
        let line = StyledLine::new().plain("    for latency-sensitive work: ").strong(conclusions.quiet.to_string());
        lines.push(line.into_paragraph(4));
    }
    for sentence in &conclusions.undecided {
        lines.push(StyledLine::new().plain(" ?  ").plain(glue_numbers(sentence)).into_paragraph(4));
    }
    for sentence in &conclusions.no_difference {
        lines.push(StyledLine::new().faint(" =  ").faint(glue_numbers(sentence)).into_paragraph(4));
    }
    if let Some(seconds) = conclusions.longer_s {
        let command =
            suggestion::format_typed(&repeat_survey(survey, &forecast::format_estimate_option(seconds as f64)));
        lines.push(StyledLine::new().plain("    To decide all that is open:  ").strong(command).into_paragraph(8));
    }
    lines
}

/// Composes the meaning of a map: the remark, its findings, and the properties that were tested and do not differ.
pub fn compose_meaning(remark: Option<&str>, findings: &[Finding], no_difference: &[String]) -> Vec<StoryPart> {
    let mut lines = vec![StyledLine::new().strong("What this means").into_paragraph(0)];
    lines.extend(remark.map(|text| StyledLine::new().plain(format!(" {text}")).into_paragraph(1)));
    for (index, finding) in findings.iter().enumerate() {
        lines.extend(compose_numbered(index + 1, finding));
    }
    for sentence in no_difference {
        lines.push(StyledLine::new().faint(" =  ").faint(glue_numbers(sentence)).into_paragraph(4));
    }
    lines
}

/// Composes a finding with its number and its next step.
pub fn compose_numbered(number: usize, finding: &Finding) -> Vec<StoryPart> {
    let head = format!("{number:>2}{gap}", gap = glue_words("  "));
    let statement =
        StyledLine::new().strong(head).plain(glue_numbers(&printable_prefix(&finding.statement, LONGEST_SENTENCE)));
    let advice =
        StyledLine::new().plain("    ").plain(glue_numbers(&printable_prefix(&finding.advice, LONGEST_SENTENCE)));
    let next = match &finding.command {
        Some(command) => {
            StoryPart::Step { advice, command: StyledLine::new().strong(suggestion::format_typed(command)) }
        }
        None => advice.into_paragraph(4),
    };
    vec![statement.into_paragraph(4), next]
}

/// Composes one sentence of all gaps, with a command to learn more. Gaps with the same reason are combined.
pub fn compose_gaps(gaps: &[Gap]) -> Vec<StoryPart> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for gap in gaps {
        match reasons.iter_mut().find(|(why, _)| *why == gap.why) {
            Some((_, whats)) if whats.contains(&gap.what.as_str()) => {}
            Some((_, whats)) => whats.push(&gap.what),
            None => reasons.push((&gap.why, vec![&gap.what])),
        }
    }
    if reasons.is_empty() {
        return Vec::new();
    }
    let told = reasons.iter().take(MOST_GAPS).map(|(why, whats)| match whats.as_slice() {
        [first, _, _, ..] => format!("{first} and {} more ({why})", whats.len() - 1),
        _ => format!("{} ({why})", whats.join(", ")),
    });
    let mut told: Vec<String> = told.collect();
    if reasons.len() > MOST_GAPS {
        told.push(format!("{} more", reasons.len() - MOST_GAPS));
    }
    let line = StyledLine::new().plain(glue_numbers(&format!("Not measured: {}.", told.join("; "))));
    vec![
        line.faint(" Next:  ")
            .strong(glue_words(&suggestion::format_typed(&suggested_command::doctor())))
            .into_paragraph(2),
    ]
}

/// Maximum number of reasons that are listed; of more, only the count is shown.
const MOST_GAPS: usize = 5;
