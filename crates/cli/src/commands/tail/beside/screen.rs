//! The interruptions of a watched program: shares of its time, causes of lost time, and the longest interruptions.

mod accounts;
mod handlers;
mod longest;
mod preempting_tasks;
mod remarks;
#[cfg(test)]
mod tests;

use corewise_model::beside::{BesideOutcome, BesideReport, PreemptedBy};
use corewise_model::credentials::join_words;

use super::document::ShownBeside;
use crate::draw::number::{ABSENT, format_brief, format_count, format_decimal, format_duration, format_whole};
use crate::draw::text::{StyledLine, TextScreen, TextTone};
use crate::draw::wrap::{glue_numbers, glue_words, wrap_line};

/// Maximum width of the command in columns.
const MOST_OF_COMMAND: usize = 40;

/// Returns the whole screen.
pub fn draw_screen(shown: &ShownBeside<'_>, width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    screen.add_block(draw_head(shown, width));
    match shown.seen {
        BesideOutcome::Events(report) => {
            screen.extend(draw_division(report, width));
            screen.add_block(handlers::draw_handlers(report, width));
            screen.add_block(preempting_tasks::draw_preempting_tasks(report, width));
            screen.add_block(handlers::draw_cpus(report, width));
            screen.add_block(remarks::draw_senders(report, width));
            screen.add_block(longest::draw_longest(report, width));
            screen.add_block(remarks::draw_other_counts(report, width));
            screen.extend(remarks::draw_cost(report, shown.event_source, width));
        }
        BesideOutcome::Accounts(accounts) => screen.add_block(accounts::draw_accounts(accounts, width)),
    }
    screen.add_block(remarks::draw_gaps(shown.gaps, width));
    screen
}

/// Returns the head, such as "./app --fast · 12 s watched · 4 threads · cpus 0-3".
fn draw_head(shown: &ShownBeside<'_>, width: usize) -> Vec<StyledLine> {
    let (watched_s, threads) = match shown.seen {
        BesideOutcome::Events(report) => (report.watched_s, report.threads),
        BesideOutcome::Accounts(accounts) => (accounts.watched_s, accounts.threads),
    };
    let cpus = if shown.cpus.len() == 1 { "cpu" } else { "cpus" };
    let until = if shown.to_its_end { "" } else { ", then it ran on" };
    let facts = [
        glue_words(&format!("{} watched{until}", format_seconds(watched_s))),
        glue_words(&format_count(threads as usize, "thread")),
        glue_words(&format!("{cpus} {}", shown.cpus)),
    ];
    let command = StyledLine::new().strong(glue_words(&join_words(shown.command))).cut_to(MOST_OF_COMMAND.min(width));
    wrap_line(&command.plain(" · ").plain(facts.join(" · ")), width, 2)
}

/// Divides the time in which the program was runnable; the parts add up to all of it.
fn draw_division(report: &BesideReport, width: usize) -> Vec<StyledLine> {
    let wanted_s = report.wanted_s();
    if wanted_s <= 0.0 {
        return wrap_line(&StyledLine::new().with(TextTone::Warn, "None of its threads was seen on a cpu."), width, 2);
    }
    let is_idle = |one: &&PreemptedBy| !one.task.is_own && one.task.name == "idle";
    let idle_s: f64 = report.instead.iter().filter(is_idle).map(|one| one.time_s).sum();
    let others_s = report.waited_s - report.waited_for_own_s - idle_s;
    let parts = [
        (report.handlers_s, "interrupts"),
        (others_s, "other tasks"),
        (report.waited_for_own_s, "threads of its own"),
        (idle_s, "an idle cpu"),
    ];
    let told = parts.iter().enumerate().filter(|(place, (time_s, _))| *place < 2 || *time_s > 0.0);
    let told: Vec<String> =
        told.map(|(_, (time_s, who))| glue_words(&format!("{who} {}", format_percent(time_s / wanted_s)))).collect();
    let ran = glue_words(&format_percent((report.on_cpu_s - report.handlers_s) / wanted_s));
    let of = format!(" of the {} in which they were runnable; the rest went to ", format_seconds(wanted_s));
    let line = StyledLine::new().plain("Its threads ran for ").strong(ran).plain(glue_numbers(&of));
    wrap_line(&line.strong(told.join(", ")).plain("."), width, 2)
}

/// Formats a share with its significant digits, such as "0.031 %".
fn format_percent(share: f64) -> String {
    format!("{} %", bare_percent(share))
}

fn bare_percent(share: f64) -> String {
    match share * 100.0 {
        percent if !percent.is_finite() => ABSENT.into(),
        0.0 => "0".into(),
        percent if percent < 0.001 => "<0.001".into(),
        percent if percent < 0.1 => format_decimal(percent, 3),
        percent if percent < 10.0 => format_decimal(percent, 2),
        percent => format_decimal(percent, 1),
    }
}

/// Formats a duration given in seconds, with its unit.
fn format_seconds(value: f64) -> String {
    format_duration(value * 1e9)
}

/// Formats a number; below 0.95 with at least two significant digits, such as 0.045.
fn format_fine(value: f64) -> String {
    match value {
        value if value <= 0.0 || value >= 0.95 => format_brief(value),
        value if value < 0.095 => format_decimal(value, 3),
        value => format_decimal(value, 2),
    }
}

/// Formats a count as "1,203 times".
fn format_times(number: u64) -> String {
    format!("{} {}", format_whole(number), if number == 1 { "time" } else { "times" })
}
