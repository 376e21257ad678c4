//! Order in which threads take the cpus of a set, and lists that keep an order.

use super::places::CpuPlaces;
use crate::CpuSet;

/// Formats cpus (or indices) as a list that keeps their order. Ranges are used only for numbers that rise one by one.
pub fn format_list(numbers: &[u32]) -> String {
    in_order(numbers, ",")
}

/// Formats numbers in their order, three or more rising neighbours as a range.
pub(super) fn in_order(numbers: &[u32], separator: &str) -> String {
    let text = |run: &[u32]| match run {
        [first, _, .., last] => format!("{first}-{last}"),
        _ => run.iter().map(u32::to_string).collect::<Vec<_>>().join(separator),
    };
    numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b)).map(text).collect::<Vec<_>>().join(separator)
}

/// Formats cpus with their noun: "cpu 3" or "cpus 0-3,8".
pub(super) fn format_counted(cpus: &CpuSet) -> String {
    if cpus.len() == 1 { format!("cpu {cpus}") } else { format!("cpus {cpus}") }
}

/// Sorts cpus: one of each core before its siblings, larger cores before smaller ones; otherwise in the given order.
pub(super) fn cores_first(cpus: impl IntoIterator<Item = u32>, places: &CpuPlaces) -> Vec<u32> {
    let mut seen: Vec<u32> = Vec::new();
    let mut ranked: Vec<(u32, u8, u32)> = cpus
        .into_iter()
        .map(|cpu| {
            let core = places.core_of(cpu) as usize;
            if seen.len() <= core {
                seen.resize(core + 1, 0);
            }
            seen[core] += 1;
            (seen[core], places.kind_rank(cpu), cpu)
        })
        .collect();
    ranked.sort_by_key(|(rank, kind, _)| (*rank, *kind));
    ranked.into_iter().map(|(_, _, cpu)| cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_their_order() {
        assert_eq!(format_list(&[3, 1, 2, 4, 5, 6, 0]), "3,1,2,4-6,0");
        assert_eq!(format_list(&[1, 0]), "1,0");
        assert_eq!(format_list(&[]), "");
    }
}
