//! Longest stalls, each in its parts from beginning to end.

use corewise_model::Survey;
use corewise_model::attribution::{CausePhase, StallCause, StallPart, StallTimeline};

use crate::draw::number::{format_brief, format_decimal, format_duration};
use crate::draw::printable::printable_name;
use crate::draw::story::StoryPart;
use crate::draw::text::StyledLine;
use crate::draw::wrap::glue_words;

/// Maximum number of stalls that are listed.
const MOST_LISTED: usize = 5;
/// Share of a stall below which its parts are left out.
const LITTLE: f64 = 0.02;

/// Returns the longest stalls of all cpus with their timelines; empty if there are none.
pub fn compose_longest(survey: &Survey) -> Vec<StoryPart> {
    let mut all: Vec<(u32, &StallTimeline)> = survey
        .cpus
        .iter()
        .filter_map(|seen| Some((seen.cpu, seen.stalls.as_ref()?)))
        .flat_map(|(cpu, stalls)| {
            stalls.causes.iter().flat_map(move |cause| cause.worst.iter().map(move |one| (cpu, one)))
        })
        .collect();
    if all.is_empty() {
        return Vec::new();
    }
    all.sort_by_key(|(cpu, one)| (std::cmp::Reverse(one.length_ns), *cpu, one.begin_ns));
    let mut lines =
        vec![StyledLine::new().strong("Longest").plain("  ").faint("each with its parts in µs").into_paragraph(2)];
    for (cpu, one) in all.into_iter().take(MOST_LISTED) {
        let head = format!(
            "{:>8}  cpu {cpu} at {} s  ",
            format_duration(one.length_ns as f64),
            format_decimal(one.begin_ns as f64 * 1e-9, 2)
        );
        let parts: Vec<String> = format_parts(one).into_iter().map(|text| glue_words(&text)).collect();
        lines.push(StyledLine::new().strong(glue_words(&head)).plain(parts.join(", ")).into_paragraph(10));
    }
    lines
}

/// Lists the important parts in order, and the sum of the others: "timer 5.1", "entry to nvme0q1 7.2", "rest 1.3".
fn format_parts(one: &StallTimeline) -> Vec<String> {
    let is_told =
        |part: &&StallPart| part.cause != StallCause::Work && part.length_ns as f64 >= LITTLE * one.length_ns as f64;
    let mut told: Vec<(String, u64)> = Vec::new();
    for part in one.parts.iter().filter(is_told) {
        let name = match part.phase {
            CausePhase::Delivery => format!("entry to {}", printable_name(&part.cause.plain_name())),
            CausePhase::Return => format!("return from {}", printable_name(&part.cause.plain_name())),
            CausePhase::Between | CausePhase::Running => printable_name(&part.cause.plain_name()),
        };
        match told.last_mut() {
            Some((last, length_ns)) if *last == name => *length_ns += part.length_ns,
            _ => told.push((name, part.length_ns)),
        }
    }
    let rest_ns = one.length_ns.saturating_sub(told.iter().map(|(_, length_ns)| length_ns).sum());
    if rest_ns as f64 >= LITTLE * one.length_ns as f64 {
        told.push(("rest".to_owned(), rest_ns));
    }
    told.into_iter().map(|(name, length_ns)| format!("{name} {}", format_brief(length_ns as f64 / 1e3))).collect()
}
