//! The screen of `corewise irq`: the cpus of each device's interrupts, their rates, and whether they can be moved.

pub mod away;
mod groups;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::CpuSet;
use corewise_machine::interrupt::device::{DeviceInterrupt, Mobility};
use corewise_machine::suggested_command;

use super::document::Listing;
use crate::draw::grid::{Column, Grid};
use crate::draw::number::{ABSENT, brief, decimal, whole};
use crate::draw::suggestion;
use crate::draw::text::{Line, Screen, Tone};
use crate::draw::wrap::{glued, unbroken, wrap};
use groups::{Group, Named, groups};

/// Maximum number of cpus named for an interrupt.
const MOST_CPUS: usize = 2;
/// Smallest share, in percent, for which a cpu is named.
const SMALLEST_PERCENT: f64 = 1.0;

/// Returns the table of interrupts, and the meanings of its words.
pub fn screen(listing: &Listing, width: usize) -> Screen {
    let mut screen = Screen::new();
    let counted = match listing.counted_s {
        Some(seconds) => format!(", counted for {} s", decimal(seconds, 1)),
        None => ", counted since boot".to_owned(),
    };
    screen.extend(wrap(&Line::new().strong("Device interrupts").plain(glued(&counted)), width, 2));
    screen.block(table(listing, width));
    screen.block(meanings(&listing.interrupts, width));
    let own = format!(
        "Each cpu's own interrupts (its timer, calls from other cpus) cannot be moved and are not listed; {} counts them.",
        suggestion::mention(&suggested_command::survey())
    );
    screen.block(wrap(&Line::new().faint(own), width, 0));
    screen.extend(listing.irqbalance.map_or_else(Vec::new, |process| balanced(process, width)));
    screen.extend(next(listing).map_or_else(Vec::new, |line| wrap(&line, width, 2)));
    screen
}

fn table(listing: &Listing, width: usize) -> Vec<Line> {
    let struck = if listing.counted_s.is_some() { ("rate", "/s") } else { ("count", "") };
    let mut grid = Grid::new(vec![
        Column::number("irq", "", 0).shrinking_to(5),
        Column::text("handler", 0).shrinking_to(9),
        Column::text("driver", 4).shrinking_to(6),
        Column::text("allowed", 3).shrinking_to(8),
        Column::text("now on", 1).shrinking_to(6),
        Column::number(struck.0, struck.1, 2),
        Column::text("most on", 5),
        Column::number("lost to it", "µs/s", 4),
        Column::text("", 2).named("whether it can be moved"),
    ])
    .indented(2);
    let named = |interrupt: &DeviceInterrupt| Named {
        number: interrupt.number,
        name: interrupt.name(),
        device: interrupt.device.clone(),
        key: (driver(interrupt), interrupt.mobility),
    };
    let named: Vec<Named<_>> = listing.interrupts.iter().map(named).collect();
    for group in groups(&named) {
        grid.row(row(listing, &group));
    }
    grid.lines(width)
}

fn row(listing: &Listing, group: &Group) -> Vec<Line> {
    let members: Vec<&DeviceInterrupt> = group.members.iter().map(|&index| &listing.interrupts[index]).collect();
    let first = members[0];
    let by_cpu = by_cpu(listing, &members);
    let total: f64 = by_cpu.values().sum();
    let total = if listing.counted_s.is_some() { brief(total) } else { whole(total as u64) };
    let plain = |text: String| Line::new().plain(text);
    let tone = if first.mobility == Mobility::Movable { Tone::Plain } else { Tone::Faint };
    vec![
        plain(group.numbers.clone()),
        Line::new().strong(&group.name),
        plain(driver(first).unwrap_or_else(|| ABSENT.to_owned())),
        plain(cpus(members.iter().map(|member| member.allowed.as_ref()))),
        plain(cpus(members.iter().map(|member| member.effective.as_ref()))),
        plain(total),
        plain(most(&by_cpu)),
        plain(cost(listing, &members)),
        Line::new().with(tone, first.mobility.word()),
    ]
}

/// Returns the driver, or the controller if no driver is known, without the address of a device behind it.
fn driver(interrupt: &DeviceInterrupt) -> Option<String> {
    let chip = || {
        let chip = interrupt.chip.as_deref()?;
        let address = interrupt.device.as_deref().unwrap_or_default();
        Some(chip.strip_suffix(address).unwrap_or(chip).trim_end_matches('-').to_owned())
    };
    interrupt.driver.clone().or_else(chip)
}

/// Returns the cpus of several interrupts in one text.
fn cpus<'a>(sets: impl Iterator<Item = Option<&'a CpuSet>>) -> String {
    let sets: Vec<Option<&CpuSet>> = sets.collect();
    if sets.windows(2).all(|pair| pair[0] == pair[1]) {
        return sets.first().copied().flatten().map_or_else(|| ABSENT.to_owned(), CpuSet::to_string);
    }
    let known = || sets.iter().flatten();
    let all = known().fold(CpuSet::new(), |all, set| all.union(set));
    if known().all(|set| set.len() == 1) { format!("1 each: {all}") } else { format!("parts of {all}") }
}

/// Returns the interrupts that each cpu handled: a second if they were counted, otherwise since boot.
fn by_cpu(listing: &Listing, members: &[&DeviceInterrupt]) -> BTreeMap<u32, f64> {
    let mut by_cpu = BTreeMap::new();
    for count in members.iter().flat_map(|member| &member.counts) {
        let struck = match listing.counted_s {
            Some(_) => count.per_second.unwrap_or(0.0),
            None => count.since_boot as f64,
        };
        *by_cpu.entry(count.cpu).or_default() += struck;
    }
    by_cpu
}

/// Returns the cpus with the largest shares. Empty for a single cpu, which the column of effective cpus shows.
fn most(by_cpu: &BTreeMap<u32, f64>) -> String {
    let total: f64 = by_cpu.values().sum();
    let percent = by_cpu.iter().map(|(cpu, struck)| (*cpu, 100.0 * struck / total));
    let mut shares: Vec<(u32, f64)> = percent.filter(|(_, percent)| *percent >= SMALLEST_PERCENT).collect();
    if shares.len() < 2 {
        return String::new();
    }
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let named: Vec<String> =
        shares.iter().take(MOST_CPUS).map(|(cpu, percent)| format!("{cpu} {} %", decimal(*percent, 0))).collect();
    named.join(", ") + if shares.len() > MOST_CPUS { " …" } else { "" }
}

/// Returns the largest time that a cpu lost to one of them.
fn cost(listing: &Listing, members: &[&DeviceInterrupt]) -> String {
    let Some(costs) = &listing.costs else { return String::new() };
    let most = members.iter().filter_map(|member| costs.get(&member.number)).map(|cost| cost.lost_us_per_s);
    most.reduce(f64::max).map_or_else(|| ABSENT.to_owned(), brief)
}

fn meanings(interrupts: &[DeviceInterrupt], width: usize) -> Vec<Line> {
    meanings_of(interrupts.iter().map(|interrupt| interrupt.mobility), width)
}

fn meanings_of(mobilities: impl Iterator<Item = Mobility>, width: usize) -> Vec<Line> {
    let words: BTreeSet<Mobility> = mobilities.filter(|mobility| *mobility != Mobility::Movable).collect();
    let line = |word: &Mobility| Line::new().strong(word.word()).plain(format!(": {}.", word.meaning()));
    words.iter().flat_map(|word| wrap(&line(word), width, 2)).collect()
}

fn balanced(process: u32, width: usize) -> Vec<Line> {
    let line =
        Line::new().strong("irqbalance").plain(format!(" (process {process}) is running and may move interrupts."));
    wrap(&line, width, 2)
}

/// Suggests a command for the cpu that handles most movable interrupts; `None` for a recording, which has no counts.
fn next(listing: &Listing) -> Option<Line> {
    listing.counted_s?;
    let movable: Vec<&DeviceInterrupt> =
        listing.interrupts.iter().filter(|interrupt| interrupt.mobility == Mobility::Movable).collect();
    let by_cpu = by_cpu(listing, &movable);
    let (cpu, _) = by_cpu.into_iter().filter(|(_, struck)| *struck > 0.0).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let command = suggestion::typed(&suggested_command::irq_see_away_from(&cpu.to_string()));
    Some(
        Line::new()
            .plain(format!("Next, to see what would move to keep cpu {cpu} free of them:  "))
            .strong(unbroken(&command)),
    )
}
