//! The longest interruptions, each from its beginning to its end.

use corewise_model::attribution::Phase;
use corewise_model::beside::{Interruption, Report};

use crate::draw::number::{brief, decimal, duration};
use crate::draw::printable::named;
use crate::draw::text::Line;
use crate::draw::wrap::{unbroken, wrap};

/// Parts shorter than this share of an interruption are left out.
const LITTLE: f64 = 0.01;

/// Returns all stored interruptions, longest first; empty without any.
pub fn longest(report: &Report, width: usize) -> Vec<Line> {
    if report.worst.is_empty() {
        return Vec::new();
    }
    let text = "interruptions, each with the interrupted thread and its parts in µs";
    let mut lines = wrap(&Line::new().strong("Longest").plain("  ").faint(text), width, 2);
    for one in &report.worst {
        let head = format!("{:>7}  ", duration(one.taken_ns as f64));
        let place = format!("cpu {} at {} s", one.cpu, decimal(one.begin_ns as f64 * 1e-9, 2));
        let who = format!(", {} ({}):", named(&one.name), one.thread);
        let line = Line::new().strong(unbroken(&head)).faint(unbroken(&place)).faint(unbroken(&who)).plain(" ");
        let parts: Vec<String> = parts(one).iter().map(|part| unbroken(part)).collect();
        lines.extend(wrap(&line.plain(parts.join(", ")), width, 9));
    }
    lines
}

/// Returns the parts that are long enough, in order, such as "timer 5.1, task rcu_preempt (17) 12".
fn parts(one: &Interruption) -> Vec<String> {
    let mut told: Vec<(String, u64)> = Vec::new();
    let mut between_ns = 0;
    for part in &one.parts {
        if part.phase == Phase::Between {
            between_ns += part.length_ns;
            continue;
        }
        let name = named(&part.cause.name());
        match told.iter_mut().find(|(known, _)| *known == name) {
            Some((_, length_ns)) => *length_ns += part.length_ns,
            None => told.push((name, part.length_ns)),
        }
    }
    told.retain(|(_, length_ns)| *length_ns as f64 >= LITTLE * one.length_ns as f64);
    if between_ns as f64 >= LITTLE * one.length_ns as f64 {
        told.push(("between them".to_owned(), between_ns));
    }
    told.into_iter().map(|(name, length_ns)| format!("{name} {}", brief(length_ns as f64 / 1e3))).collect()
}
