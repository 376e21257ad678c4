//! Parameters of the Linux kernel that keep everything else off a set of cpus.

use super::list::{self, format_counted};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading};
use crate::{CpuSet, Machine};

/// Prints the parameters for these cpus, with interrupts on the others.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, machine, .. } = chosen;
    let others = machine.online.difference(cpus);
    let interrupts = if others.is_empty() { String::new() } else { format!(" irqaffinity={others}") };
    let text = format!("isolcpus=managed_irq,domain,{cpus} nohz_full={cpus} rcu_nocbs={cpus}{interrupts}");
    let long = text.len() > 2047;
    let line = NotationLine::new("kernel command line", text)
        .with_remark("Takes effect at the next boot; nothing runs on these cpus unless it is placed there.")
        .with_remark("A cpuset partition (cpuset.cpus.partition = isolated) does most of it without a reboot.");
    let nothing_left = "No cpu is left for everything else: leave out at least one.".to_owned();
    let boot = "Cpu 0 usually boots the machine, and the kernel may keep its tick and timekeeping there.".to_owned();
    let length = "Longer than the 2,047 characters that x86 kernels accept.".to_owned();
    vec![
        line.with_remarks(others.is_empty().then_some(nothing_left))
            .with_remarks(cpus.contains(0).then_some(boot))
            .with_remarks(long.then_some(length)),
    ]
}

/// Parameters that keep cpus free, the most informative about a placement first.
const KEPT_FREE: [&str; 3] = ["isolcpus", "nohz_full", "rcu_nocbs"];

/// Parameters that name cpus.
pub(super) const KEYS: [&str; 6] =
    ["isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity", "kthread_cpus", "systemd.cpu_affinity"];

/// Keys of a boot loader's configuration, which hold a command line.
const BOOT_LOADERS: [&str; 4] = ["GRUB_CMDLINE", "linux ", "options ", "cmdline"];

/// Splits a text into parameters; the quoted value of a boot loader's key holds several.
fn find_parameters(text: TextPiece<'_>) -> Vec<TextPiece<'_>> {
    let words = text.split_words().into_iter();
    words.flat_map(|word| quoted_line(word).map_or_else(|| vec![word], find_parameters)).collect()
}

/// Returns the command line inside the quotation marks of a word.
fn quoted_line(word: TextPiece<'_>) -> Option<TextPiece<'_>> {
    let place = word.text.find(['"', '\''])?;
    let inner = word.sub_piece(place + 1, word.text.len());
    let inner = inner.strip_suffix(&word.text[place..=place]).unwrap_or(inner);
    let holds = inner.text.contains(char::is_whitespace)
        || BOOT_LOADERS.iter().any(|key| word.text.contains(key))
        || KEYS.iter().any(|key| inner.text.starts_with(key));
    (holds && inner.text.contains('=')).then_some(inner)
}

/// Reads a list, or a command line with `isolcpus=` and its companions; also in the configuration of a boot loader.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let rules = list::kernel_syntax(machine.possible.highest());
    let mut found: Vec<(&str, CpuSet)> = Vec::new();
    let mut remarks = Vec::new();
    for word in find_parameters(text) {
        let Some((key, value)) = word.split_once('=') else { continue };
        // GRUB_CMDLINE_LINUX=isolcpus=2-7
        let (key, value) =
            value.split_once('=').filter(|(inner, _)| KEYS.contains(&inner.text)).unwrap_or((key, value));
        let Some(key) = KEYS.into_iter().find(|known| key.text == *known) else { continue };
        let value = value.without_quotes();
        let value = if key == "isolcpus" { skip_flags(value, &mut remarks)? } else { value };
        let cpus = list::read_list(value, rules)?.into_iter().collect();
        if let Some((_, earlier)) = found.iter().find(|(known, _)| *known == key)
            && *earlier != cpus
        {
            return Err(word.fault_here(format!("{key}= is given twice, with different cpus: {earlier} before")));
        }
        if !found.iter().any(|(known, _)| *known == key) {
            found.push((key, cpus));
        }
    }
    if found.is_empty() && !text.text.contains('=') {
        return Ok(NotationReading::from_set(list::read_list(text, rules)?.into_iter().collect()));
    }
    let first = KEPT_FREE.iter().find_map(|name| found.iter().position(|(key, _)| key == name));
    let index = match first {
        Some(index) => index,
        None if found.is_empty() => {
            return Err(text.fault_here("no parameter here names cpus; an example is isolcpus=2-7"));
        }
        None => 0,
    };
    let (key, cpus) = found.remove(index);
    let others = found.iter().map(|(other, set)| describe_companion(other, set, &cpus));
    Ok(NotationReading::from_set(cpus.clone())
        .with_remark(parameter_meaning(key))
        .with_remarks(remarks)
        .with_remarks(others))
}

/// Returns the list after the flags of `isolcpus`, which begin with letters; adds a remark about them.
fn skip_flags<'a>(value: TextPiece<'a>, remarks: &mut Vec<String>) -> Result<TextPiece<'a>, TextFault> {
    let mut rest = value;
    let mut domain = None;
    while let Some((flag, behind)) = rest.split_once(',') {
        match flag.text {
            "domain" => domain = Some(true),
            "nohz" | "managed_irq" => domain = Some(domain.unwrap_or(false)),
            "all" | "N" => break,
            other if other.starts_with(|c: char| c.is_ascii_alphabetic() && c != 'N') => {
                return Err(flag
                    .fault_here(format!("isolcpus has no flag \"{other}\""))
                    .with_hint("nohz, domain, managed_irq"));
            }
            _ => break,
        }
        rest = behind;
    }
    if domain == Some(false) {
        remarks.push("Without the flag domain the scheduler still balances over these cpus.".into());
    }
    Ok(rest)
}

fn parameter_meaning(key: &str) -> &'static str {
    match key {
        "isolcpus" => {
            "isolcpus= excludes these cpus from the scheduler's balancing: only what is placed there runs there."
        }
        "nohz_full" => "nohz_full= stops the tick on these cpus while one task runs.",
        "rcu_nocbs" => "rcu_nocbs= moves RCU callbacks away from these cpus.",
        "irqaffinity" => "irqaffinity= names the cpus that interrupts go to by default.",
        "systemd.cpu_affinity" => "systemd.cpu_affinity= names the cpus that services start on.",
        _ => "kthread_cpus= names the cpus that unbound kernel threads run on.",
    }
}

/// Describes another parameter of the same line in relation to these cpus.
fn describe_companion(key: &str, set: &CpuSet, cpus: &CpuSet) -> String {
    let for_others = matches!(key, "irqaffinity" | "kthread_cpus" | "systemd.cpu_affinity");
    let shared = set.intersection(cpus);
    match (for_others, shared.is_empty()) {
        (true, true) => format!("{key}= is {}, none of these.", format_counted(set)),
        (true, false) => {
            format!("{key}= is {}, which includes {} of these.", format_counted(set), format_counted(&shared))
        }
        (false, _) if set == cpus => format!("{key}= names the same cpus."),
        (false, _) => format!("{key}= names other cpus: {set}."),
    }
}
