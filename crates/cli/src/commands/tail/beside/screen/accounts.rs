//! Observations that need no privilege: the kernel's accounts of a program's threads, and the interrupts on its cpus.

use corewise_machine::interrupt::plain_name;
use corewise_model::beside::ProgramAccounts;

use super::{format_percent, format_seconds, format_times};
use crate::draw::number::format_brief;
use crate::draw::text::StyledLine;
use crate::draw::wrap::{glue_numbers, glue_words, wrap_line};

/// Maximum number of cpus shown one by one.
const MOST_CPUS: usize = 8;

/// Returns the accounts.
pub fn draw_accounts(accounts: &ProgramAccounts, width: usize) -> Vec<StyledLine> {
    let wanted_s = accounts.on_cpu_s + accounts.waited_s;
    let ran = format!("Its threads ran for {}", format_seconds(accounts.on_cpu_s));
    let waited = format!(
        "waited for a cpu for another {} ({} of both), after a preemption or a wake-up.",
        format_seconds(accounts.waited_s),
        format_percent(if wanted_s > 0.0 { accounts.waited_s / wanted_s } else { 0.0 }),
    );
    let switched = format!(
        "They were preempted {}, and waited voluntarily {}.",
        format_times(accounts.involuntary_switches),
        format_times(accounts.voluntary_switches)
    );
    let mut lines = wrap_line(&StyledLine::new().plain(glue_numbers(&format!("{ran} and {waited}"))), width, 2);
    lines.extend(wrap_line(&StyledLine::new().plain(glue_numbers(&switched)), width, 2));
    lines.extend(draw_interrupts(accounts, width));
    lines
}

fn draw_interrupts(accounts: &ProgramAccounts, width: usize) -> Vec<StyledLine> {
    if accounts.interrupts.is_empty() {
        return Vec::new();
    }
    let text = "on its cpus, whatever ran there, per second";
    let mut lines = vec![StyledLine::new()];
    lines.extend(wrap_line(&StyledLine::new().strong("Interrupts").plain("  ").faint(text), width, 2));
    for cpu in accounts.interrupts.iter().take(MOST_CPUS) {
        let rate = |count: u64| format_brief(count as f64 / accounts.watched_s);
        let total: u64 = cpu.sources.iter().map(|source| source.count).sum();
        let told = cpu.sources.iter().filter(|source| source.count * 100 >= total);
        let told: Vec<String> =
            told.map(|source| glue_words(&format!("{} {}", plain_name(&source.source), rate(source.count)))).collect();
        let line = StyledLine::new().strong(format!("{}  ", cpu.cpu)).plain(told.join(", "));
        lines.extend(wrap_line(&line, width, 3));
    }
    if accounts.interrupts.len() > MOST_CPUS {
        let text = format!("and {} other cpus (see --json)", accounts.interrupts.len() - MOST_CPUS);
        lines.extend(wrap_line(&StyledLine::new().faint(text), width, 2));
    }
    lines
}
