//! Lists of nodes as Slurm writes them: n[0-3,7].

use std::collections::BTreeMap;

/// Formats node names as a list for Slurm: numbers at the end of a name become ranges, with their leading zeros. Each name is in it once.
pub fn format_node_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut numbers = BTreeMap::<&str, Vec<&str>>::new();
    for name in names {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        numbers.entry(prefix).or_default().push(&name[prefix.len()..]);
    }
    numbers.into_iter().map(|(prefix, numbers)| format_prefix(prefix, numbers)).collect::<Vec<_>>().join(",")
}

fn format_prefix(prefix: &str, mut numbers: Vec<&str>) -> String {
    numbers.sort_by_key(|number| (number.len(), *number));
    numbers.dedup();
    let mut ranges: Vec<[&str; 2]> = Vec::new();
    for number in &numbers {
        match ranges.last_mut() {
            Some([_, last]) if follows(last, number) => *last = number,
            _ => ranges.push([number, number]),
        }
    }
    let range = |[first, last]: &[&str; 2]| if first == last { (*first).to_owned() } else { format!("{first}-{last}") };
    match &numbers[..] {
        [only] => format!("{prefix}{only}"),
        // A name without a number beside others with one.
        ["", rest @ ..] => format!("{prefix},{}", format_prefix(prefix, rest.to_vec())),
        _ => format!("{prefix}[{}]", ranges.iter().map(range).collect::<Vec<_>>().join(",")),
    }
}

/// Returns true if `next` is the number after `last` in a range: as long as it, or longer without a leading zero.
fn follows(last: &str, next: &str) -> bool {
    let is_alike = last.len() == next.len() || !last.starts_with('0') && !next.starts_with('0');
    let number = |text: &str| text.parse::<u64>().ok();
    is_alike && number(last).and_then(|last| last.checked_add(1)).is_some_and(|after| number(next) == Some(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_as_slurm_writes_them() {
        let list = |names: &[&str]| format_node_list(names.iter().copied());
        assert_eq!(list(&["n7", "n0", "n1", "n2", "n3"]), "n[0-3,7]");
        assert_eq!(list(&["n9", "n10", "n11"]), "n[9-11]");
        assert_eq!(list(&["n08", "n09", "n10", "n100"]), "n[08-10,100]");
        assert_eq!(list(&["gpu-1", "n5", "login"]), "gpu-1,login,n5");
        assert_eq!(list(&["n", "n1", "n2", "n2"]), "n,n[1-2]");
        assert_eq!(
            list(&["n99999999999999999999", "n100000000000000000000"]),
            "n[99999999999999999999,100000000000000000000]"
        );
        assert_eq!(list(&[]), "");
    }
}
