//! Sets of cpus, and the lists that the kernel writes them as.

use std::collections::BTreeSet;

/// A set of cpus, by the kernel's numbers.
pub type Cpus = BTreeSet<u32>;

/// "0-2,6-8" for a set; empty for none.
pub fn list(cpus: &Cpus) -> String {
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

/// The set of a list such as "0-2,6-8".
///
/// # Panics
///
/// Where the text is no list: lists are written in machine descriptions, not read from outside.
pub fn parse(list: &str) -> Cpus {
    let number = |text: &str| -> u32 { text.trim().parse().unwrap_or_else(|_| panic!("{list:?} is no list of cpus")) };
    let pieces = list.split(',').filter(|piece| !piece.trim().is_empty());
    pieces
        .flat_map(|piece| {
            let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
            number(first)..=number(last)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        for text in ["", "0", "0-1", "0,2", "0-2,6-8,63-64,127"] {
            assert_eq!(list(&parse(text)), text);
        }
        assert_eq!(list(&parse("3, 1,2")), "1-3");
    }
}
