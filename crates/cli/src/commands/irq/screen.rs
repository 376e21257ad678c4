//! The screen of `corewise irq`: the cpus of each device's interrupts, their rates, and whether they can be moved.

mod groups;
pub mod moves;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::CpuSet;
use corewise_machine::interrupt::device::{DeviceInterrupt, InterruptMobility};
use corewise_machine::suggested_command;

use super::document::InterruptListing;
use crate::draw::findings::compose_numbered;
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{ABSENT, format_brief, format_decimal, format_whole};
use crate::draw::story::draw_parts;
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen, TextTone};
use crate::draw::wrap::{glue_numbers, glue_words, wrap_line};
use groups::{InterruptGroup, NamedInterrupt, group_interrupts};

/// Maximum number of cpus named for an interrupt.
const MOST_CPUS: usize = 2;
/// Smallest share, in percent, for which a cpu is named.
const SMALLEST_PERCENT: f64 = 1.0;

/// Returns the table of interrupts, and the meanings of its words.
pub fn draw_screen(listing: &InterruptListing, width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    let counted = match listing.counted_s {
        Some(seconds) => format!(", counted for {} s", format_decimal(seconds, 1)),
        None => ", counted since boot".to_owned(),
    };
    let lost = listing
        .costs
        .as_ref()
        .map_or(String::new(), |costs| format!("; what is lost to each: survey {}", costs.survey));
    let counted = counted + &lost;
    screen.extend(wrap_line(&StyledLine::new().strong("Device interrupts").plain(glue_numbers(&counted)), width, 2));
    screen.add_block(draw_table(listing, width));
    screen.add_block(draw_findings(listing, width));
    screen.add_block(describe_words(&listing.interrupts, width));
    let own = format!(
        "Each cpu's own interrupts (its timer, calls from other cpus) cannot be moved and are not listed; {} counts them.",
        suggestion::format_mention(&suggested_command::survey())
    );
    screen.add_block(wrap_line(&StyledLine::new().faint(own), width, 0));
    screen.extend(listing.irqbalance.map_or_else(Vec::new, |process| describe_irqbalance(process, width)));
    screen.extend(suggest_next(listing).map_or_else(Vec::new, |line| wrap_line(&line, width, 2)));
    screen
}

fn draw_findings(listing: &InterruptListing, width: usize) -> Vec<StyledLine> {
    if listing.findings.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![StyledLine::new().strong("Worth changing")];
    for (index, finding) in listing.findings.iter().enumerate() {
        lines.extend(draw_parts(&compose_numbered(index + 1, finding), width));
    }
    lines
}

fn draw_table(listing: &InterruptListing, width: usize) -> Vec<StyledLine> {
    let struck = if listing.counted_s.is_some() { ("rate", "/s") } else { ("count", "") };
    let mut grid = TextGrid::new(vec![
        GridColumn::number("irq", "", 0).shrinking_to(5),
        GridColumn::text("handler", 0).shrinking_to(9),
        GridColumn::text("driver", 4).shrinking_to(6),
        GridColumn::text("allowed", 3).shrinking_to(8),
        GridColumn::text("now on", 1).shrinking_to(6),
        GridColumn::number(struck.0, struck.1, 2),
        GridColumn::text("most on", 5),
        GridColumn::number("lost to it", "µs/s", 4),
        GridColumn::text("", 2).with_name("whether it can be moved"),
    ])
    .with_indent(2);
    let named = |interrupt: &DeviceInterrupt| NamedInterrupt {
        number: interrupt.number,
        name: interrupt.joined_handlers(),
        device: interrupt.device.clone(),
        key: (format_driver(interrupt), interrupt.mobility),
    };
    let named: Vec<NamedInterrupt<_>> = listing.interrupts.iter().map(named).collect();
    for group in group_interrupts(&named) {
        grid.add_row(draw_row(listing, &group));
    }
    grid.draw_lines(width)
}

fn draw_row(listing: &InterruptListing, group: &InterruptGroup) -> Vec<StyledLine> {
    let members: Vec<&DeviceInterrupt> = group.members.iter().map(|&index| &listing.interrupts[index]).collect();
    let first = members[0];
    let by_cpu = count_by_cpu(listing, &members);
    let struck: Vec<Option<CpuSet>> = members.iter().map(|member| member.struck_cpus()).collect();
    let total: f64 = by_cpu.values().sum();
    let total = if listing.counted_s.is_some() { format_brief(total) } else { format_whole(total as u64) };
    let plain = |text: String| StyledLine::new().plain(text);
    let tone = if first.mobility == InterruptMobility::Movable { TextTone::Plain } else { TextTone::Faint };
    vec![
        plain(group.numbers.clone()),
        StyledLine::new().strong(&group.name),
        plain(format_driver(first).unwrap_or_else(|| ABSENT.to_owned())),
        plain(format_cpus(members.iter().map(|member| member.allowed.as_ref()))),
        plain(format_cpus(struck.iter().map(Option::as_ref))),
        plain(total),
        plain(format_most_struck(&by_cpu)),
        plain(format_cost(listing, &members)),
        StyledLine::new().with(tone, first.mobility.word()),
    ]
}

/// Returns the driver, or the controller if no driver is known, without the address of a device behind it.
fn format_driver(interrupt: &DeviceInterrupt) -> Option<String> {
    let chip = || {
        let chip = interrupt.chip.as_deref()?;
        let address = interrupt.device.as_deref().unwrap_or_default();
        Some(chip.strip_suffix(address).unwrap_or(chip).trim_end_matches('-').to_owned())
    };
    interrupt.driver.clone().or_else(chip)
}

/// Returns the cpus of several interrupts in one text.
fn format_cpus<'a>(sets: impl Iterator<Item = Option<&'a CpuSet>>) -> String {
    let sets: Vec<Option<&CpuSet>> = sets.collect();
    if sets.windows(2).all(|pair| pair[0] == pair[1]) {
        return sets.first().copied().flatten().map_or_else(|| ABSENT.to_owned(), CpuSet::to_string);
    }
    let known = || sets.iter().flatten();
    let all = known().fold(CpuSet::new(), |all, set| all.union(set));
    if known().all(|set| set.len() == 1) { format!("1 each: {all}") } else { format!("parts of {all}") }
}

/// Returns the interrupts that each cpu handled: a second if they were counted, otherwise since boot.
fn count_by_cpu(listing: &InterruptListing, members: &[&DeviceInterrupt]) -> BTreeMap<u32, f64> {
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
fn format_most_struck(by_cpu: &BTreeMap<u32, f64>) -> String {
    let total: f64 = by_cpu.values().sum();
    let percent = by_cpu.iter().map(|(cpu, struck)| (*cpu, 100.0 * struck / total));
    let mut shares: Vec<(u32, f64)> = percent.filter(|(_, percent)| *percent >= SMALLEST_PERCENT).collect();
    if shares.len() < 2 {
        return String::new();
    }
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let named: Vec<String> = shares
        .iter()
        .take(MOST_CPUS)
        .map(|(cpu, percent)| format!("{cpu} {} %", format_decimal(*percent, 0)))
        .collect();
    named.join(", ") + if shares.len() > MOST_CPUS { " …" } else { "" }
}

/// Returns the largest time that a cpu lost to one of them.
fn format_cost(listing: &InterruptListing, members: &[&DeviceInterrupt]) -> String {
    let Some(costs) = &listing.costs else { return String::new() };
    let most = members.iter().filter_map(|member| costs.by_number.get(&member.number)).map(|cost| cost.lost_us_per_s);
    most.reduce(f64::max).map_or_else(|| ABSENT.to_owned(), format_brief)
}

fn describe_words(interrupts: &[DeviceInterrupt], width: usize) -> Vec<StyledLine> {
    describe_mobilities(interrupts.iter().map(|interrupt| interrupt.mobility), width)
}

fn describe_mobilities(mobilities: impl Iterator<Item = InterruptMobility>, width: usize) -> Vec<StyledLine> {
    let words: BTreeSet<InterruptMobility> =
        mobilities.filter(|mobility| *mobility != InterruptMobility::Movable).collect();
    let line = |word: &InterruptMobility| StyledLine::new().strong(word.word()).plain(format!(": {}.", word.meaning()));
    words.iter().flat_map(|word| wrap_line(&line(word), width, 2)).collect()
}

fn describe_irqbalance(process: u32, width: usize) -> Vec<StyledLine> {
    let line = StyledLine::new()
        .strong("irqbalance")
        .plain(format!(" (process {process}) is running and may move interrupts."));
    wrap_line(&line, width, 2)
}

/// Suggests a command for the cpu that handles most movable interrupts; `None` for a recording, which has no counts.
fn suggest_next(listing: &InterruptListing) -> Option<StyledLine> {
    listing.counted_s?;
    let movable: Vec<&DeviceInterrupt> =
        listing.interrupts.iter().filter(|interrupt| interrupt.mobility == InterruptMobility::Movable).collect();
    let by_cpu = count_by_cpu(listing, &movable);
    let (cpu, _) = by_cpu.into_iter().filter(|(_, struck)| *struck > 0.0).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let command = suggestion::format_typed(&suggested_command::irq_see_away_from(&cpu.to_string()));
    Some(
        StyledLine::new()
            .plain(format!("Next, to see what would move to keep cpu {cpu} free of them:  "))
            .strong(glue_words(&command)),
    )
}
