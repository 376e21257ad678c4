//! The order in which threads take the cpus of a set, and lists that keep an order.

use std::collections::HashMap;

use super::resolve::Places;

/// Cpus (or indices) as a list that keeps their order; ranges only where they rise one by one.
pub fn list(numbers: &[u32]) -> String {
    let mut pieces: Vec<String> = Vec::new();
    let mut rest = numbers;
    while let Some(&first) = rest.first() {
        let run = rest.iter().zip(first..).take_while(|(number, expected)| **number == *expected).count();
        pieces.push(match run {
            1 => first.to_string(),
            2 => format!("{first},{}", rest[1]),
            _ => format!("{first}-{}", rest[run - 1]),
        });
        rest = &rest[run..];
    }
    pieces.join(",")
}

/// Cpus with one of each core before their siblings, larger cores before smaller ones; otherwise as they come.
pub(super) fn cores_first(cpus: impl IntoIterator<Item = u32>, places: &Places) -> Vec<u32> {
    let mut seen: HashMap<u32, u32> = HashMap::new();
    let mut ranked: Vec<(u32, u8, u32)> = cpus
        .into_iter()
        .map(|cpu| {
            let of_core = seen.entry(places.core(cpu)).or_default();
            *of_core += 1;
            (*of_core, places.kind_rank(cpu), cpu)
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
        assert_eq!(list(&[3, 1, 2, 4, 5, 6, 0]), "3,1,2,4-6,0");
        assert_eq!(list(&[1, 0]), "1,0");
        assert_eq!(list(&[]), "");
    }
}
