//! The longest interruptions, each from its beginning to its end.

use corewise_model::attribution::CausePhase;
use corewise_model::beside::{BesideReport, ProgramInterruption};

use crate::draw::number::{format_brief, format_decimal, format_duration};
use crate::draw::printable::printable_name;
use crate::draw::text::StyledLine;
use crate::draw::wrap::{glue_words, wrap_line};

/// Parts shorter than this share of an interruption are left out.
const LITTLE: f64 = 0.01;

/// Returns all stored interruptions, longest first; empty without any.
pub fn draw_longest(report: &BesideReport, width: usize) -> Vec<StyledLine> {
    if report.worst.is_empty() {
        return Vec::new();
    }
    let text = "interruptions, each with the interrupted thread and its parts in µs";
    let mut lines = wrap_line(&StyledLine::new().strong("Longest").plain("  ").faint(text), width, 2);
    for one in &report.worst {
        let head = format!("{:>7}  ", format_duration(one.taken_ns as f64));
        let place = format!("cpu {} at {} s", one.cpu, format_decimal(one.begin_ns as f64 * 1e-9, 2));
        let who = format!(", {} ({}):", printable_name(&one.name), one.thread);
        let line =
            StyledLine::new().strong(glue_words(&head)).faint(glue_words(&place)).faint(glue_words(&who)).plain(" ");
        let parts: Vec<String> = format_parts(one).iter().map(|part| glue_words(part)).collect();
        lines.extend(wrap_line(&line.plain(parts.join(", ")), width, 9));
    }
    lines
}

/// Returns the parts that are long enough, in order, such as "timer 5.1, task rcu_preempt (17) 12".
fn format_parts(one: &ProgramInterruption) -> Vec<String> {
    let mut told: Vec<(String, u64)> = Vec::new();
    let mut between_ns = 0;
    for part in &one.parts {
        if part.phase == CausePhase::Between {
            between_ns += part.length_ns;
            continue;
        }
        let name = printable_name(&part.cause.plain_name());
        match told.iter_mut().find(|(known, _)| *known == name) {
            Some((_, length_ns)) => *length_ns += part.length_ns,
            None => told.push((name, part.length_ns)),
        }
    }
    told.retain(|(_, length_ns)| *length_ns as f64 >= LITTLE * one.length_ns as f64);
    if between_ns as f64 >= LITTLE * one.length_ns as f64 {
        told.push(("between them".to_owned(), between_ns));
    }
    told.into_iter().map(|(name, length_ns)| format!("{name} {}", format_brief(length_ns as f64 / 1e3))).collect()
}
