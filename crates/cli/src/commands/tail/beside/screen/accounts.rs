//! Observations that need no privilege: the kernel's accounts of a program's threads, and the interrupts on its cpus.

use corewise_machine::interrupt::plain_name;
use corewise_model::beside::Accounts;

use super::{percent, seconds, times};
use crate::draw::number::brief;
use crate::draw::text::Line;
use crate::draw::wrap::{glued, unbroken, wrap};

/// Maximum number of cpus shown one by one.
const MOST_CPUS: usize = 8;

/// Returns the accounts.
pub fn accounts(accounts: &Accounts, width: usize) -> Vec<Line> {
    let wanted_s = accounts.on_cpu_s + accounts.waited_s;
    let ran = format!("Its threads ran for {}", seconds(accounts.on_cpu_s));
    let waited = format!(
        "waited for a cpu for another {} ({} of both), after a preemption or a wake-up.",
        seconds(accounts.waited_s),
        percent(if wanted_s > 0.0 { accounts.waited_s / wanted_s } else { 0.0 }),
    );
    let switched = format!(
        "They were preempted {}, and waited voluntarily {}.",
        times(accounts.involuntary_switches),
        times(accounts.voluntary_switches)
    );
    let mut lines = wrap(&Line::new().plain(glued(&format!("{ran} and {waited}"))), width, 2);
    lines.extend(wrap(&Line::new().plain(glued(&switched)), width, 2));
    lines.extend(interrupts(accounts, width));
    lines
}

fn interrupts(accounts: &Accounts, width: usize) -> Vec<Line> {
    if accounts.interrupts.is_empty() {
        return Vec::new();
    }
    let text = "on its cpus, whatever ran there, per second";
    let mut lines = vec![Line::new()];
    lines.extend(wrap(&Line::new().strong("Interrupts").plain("  ").faint(text), width, 2));
    for cpu in accounts.interrupts.iter().take(MOST_CPUS) {
        let rate = |count: u64| brief(count as f64 / accounts.watched_s);
        let total: u64 = cpu.sources.iter().map(|source| source.count).sum();
        let told = cpu.sources.iter().filter(|source| source.count * 100 >= total);
        let told: Vec<String> =
            told.map(|source| unbroken(&format!("{} {}", plain_name(&source.source), rate(source.count)))).collect();
        let line = Line::new().strong(format!("{}  ", cpu.cpu)).plain(told.join(", "));
        lines.extend(wrap(&line, width, 3));
    }
    if accounts.interrupts.len() > MOST_CPUS {
        let text = format!("and {} other cpus (see --json)", accounts.interrupts.len() - MOST_CPUS);
        lines.extend(wrap(&Line::new().faint(text), width, 2));
    }
    lines
}
