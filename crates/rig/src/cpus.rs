//! Sets of cpus, and the kernel's lists of them.

use std::collections::BTreeSet;

/// A set of cpus, by the kernel's numbers.
pub type CpuNumbers = BTreeSet<u32>;

/// Formats a set as "0-2,6-8"; empty for an empty set.
pub fn format_list(cpus: &CpuNumbers) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let texts = ranges.iter().map(|&(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(",")
}

/// Parses a list such as "0-2,6-8"; `None` if the text is no list.
pub fn parse_list(list: &str) -> Option<CpuNumbers> {
    let pieces = list.split(',').filter(|piece| !piece.trim().is_empty());
    let mut cpus = CpuNumbers::new();
    for piece in pieces {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        cpus.extend(first.trim().parse::<u32>().ok()?..=last.trim().parse().ok()?);
    }
    Some(cpus)
}

/// Parses a list in a machine's description.
///
/// # Panics
///
/// If the text is no list.
pub fn parse(list: &str) -> CpuNumbers {
    parse_list(list).unwrap_or_else(|| panic!("{list:?} is no list of cpus"))
}

/// Formats a set as taskset takes it: "0x1c7".
pub fn format_mask(cpus: &CpuNumbers) -> String {
    let digits = cpus.last().map_or(1, |highest| highest / 4 + 1);
    let digit = |at: u32| (0..4).map(|bit| u32::from(cpus.contains(&(at * 4 + bit))) << bit).sum::<u32>();
    let digits: String = (0..digits).rev().map(|at| format!("{:x}", digit(at))).collect();
    format!("0x{digits}")
}

/// Parses a mask as hwloc writes it, "0x00000001,0x800001c7"; `None` if the text is no mask.
pub fn of_mask(mask: &str) -> Option<CpuNumbers> {
    let mut cpus = CpuNumbers::new();
    for (group, text) in mask.split(',').rev().enumerate() {
        // A group without any cpu may be left empty.
        let bits = if text.is_empty() { 0 } else { u32::from_str_radix(text.trim_start_matches("0x"), 16).ok()? };
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| group as u32 * 32 + bit));
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        for text in ["", "0", "0-1", "0,2", "0-2,6-8,63-64,127"] {
            assert_eq!(format_list(&parse(text)), text);
        }
        assert_eq!(format_list(&parse("3, 1,2")), "1-3");
        assert_eq!(parse_list("all"), None);
    }

    #[test]
    fn masks_are_read_and_written() {
        assert_eq!(format_mask(&parse("0-2,6-8")), "0x1c7");
        assert_eq!(format_mask(&parse("64")), "0x10000000000000000");
        assert_eq!(of_mask("0x00000001,0x800001c7"), Some(parse("0-2,6-8,31-32")));
        assert_eq!(of_mask("0x1,,0x3"), Some(parse("0-1,64")));
        assert_eq!(of_mask("0xf...f"), None);
    }
}
