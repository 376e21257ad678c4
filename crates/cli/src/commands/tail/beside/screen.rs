//! The interruptions of a watched program: shares of its time, causes of lost time, and the longest interruptions.

mod accounts;
mod handlers;
mod instead;
mod longest;
mod remarks;
#[cfg(test)]
mod tests;

use corewise_model::beside::{Instead, Report, Seen};

use super::document::ShownBeside;
use crate::draw::number::{ABSENT, brief, count, decimal, duration, whole};
use crate::draw::text::{Line, Screen, Tone};
use crate::draw::wrap::{glued, unbroken, wrap};

/// Maximum width of the command in columns.
const MOST_OF_COMMAND: usize = 40;

/// Returns the whole screen.
pub fn screen(shown: &ShownBeside<'_>, width: usize) -> Screen {
    let mut screen = Screen::new();
    screen.block(head(shown, width));
    match shown.seen {
        Seen::Events(report) => {
            screen.extend(division(report, width));
            screen.block(handlers::handlers(report, width));
            screen.block(instead::instead(report, width));
            screen.block(handlers::cpus(report, width));
            screen.block(remarks::senders(report, width));
            screen.block(longest::longest(report, width));
            screen.block(remarks::besides(report, width));
            screen.extend(remarks::cost(report, shown.event_source, width));
        }
        Seen::Accounts(accounts) => screen.block(accounts::accounts(accounts, width)),
    }
    screen.block(remarks::gaps(shown.gaps, width));
    screen
}

/// Returns the head, such as "./app --fast · 12 s watched · 4 threads · cpus 0-3".
fn head(shown: &ShownBeside<'_>, width: usize) -> Vec<Line> {
    let (watched_s, threads) = match shown.seen {
        Seen::Events(report) => (report.watched_s, report.threads),
        Seen::Accounts(accounts) => (accounts.watched_s, accounts.threads),
    };
    let cpus = if shown.cpus.len() == 1 { "cpu" } else { "cpus" };
    let until = if shown.to_its_end { "" } else { ", then it ran on" };
    let facts = [
        unbroken(&format!("{} watched{until}", seconds(watched_s))),
        unbroken(&count(threads as usize, "thread")),
        unbroken(&format!("{cpus} {}", shown.cpus)),
    ];
    let command = Line::new().strong(unbroken(&shown.command.join(" "))).cut(MOST_OF_COMMAND.min(width));
    wrap(&command.plain(" · ").plain(facts.join(" · ")), width, 2)
}

/// Divides the time in which the program was runnable; the parts add up to all of it.
fn division(report: &Report, width: usize) -> Vec<Line> {
    let wanted_s = report.wanted_s();
    if wanted_s <= 0.0 {
        return wrap(&Line::new().with(Tone::Warn, "None of its threads was seen on a cpu."), width, 2);
    }
    let is_idle = |one: &&Instead| !one.task.is_own && one.task.name == "idle";
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
        told.map(|(_, (time_s, who))| unbroken(&format!("{who} {}", percent(time_s / wanted_s)))).collect();
    let ran = unbroken(&percent((report.on_cpu_s - report.handlers_s) / wanted_s));
    let of = format!(" of the {} in which they were runnable; the rest went to ", seconds(wanted_s));
    let line = Line::new().plain("Its threads ran for ").strong(ran).plain(glued(&of));
    wrap(&line.strong(told.join(", ")).plain("."), width, 2)
}

/// Formats a share with its significant digits, such as "0.031 %".
fn percent(share: f64) -> String {
    format!("{} %", bare_percent(share))
}

fn bare_percent(share: f64) -> String {
    match share * 100.0 {
        percent if !percent.is_finite() => ABSENT.into(),
        0.0 => "0".into(),
        percent if percent < 0.001 => "<0.001".into(),
        percent if percent < 0.1 => decimal(percent, 3),
        percent if percent < 10.0 => decimal(percent, 2),
        percent => decimal(percent, 1),
    }
}

/// Formats a duration given in seconds, with its unit.
fn seconds(value: f64) -> String {
    duration(value * 1e9)
}

/// Formats a number; below 0.95 with at least two significant digits, such as 0.045.
fn fine(value: f64) -> String {
    match value {
        value if value <= 0.0 || value >= 0.95 => brief(value),
        value if value < 0.095 => decimal(value, 3),
        value => decimal(value, 2),
    }
}

/// Formats a count as "1,203 times".
fn times(number: u64) -> String {
    format!("{} {}", whole(number), if number == 1 { "time" } else { "times" })
}
