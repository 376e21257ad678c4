//! Groups interrupts into one row if their names differ only in one number: a drive may have one for each of 128 cpus.

use corewise_machine::placement::format_list;

/// Smallest number of interrupts that share a row.
const FEWEST: usize = 4;

/// An interrupt, with the properties that must be equal within a row.
pub struct NamedInterrupt<K> {
    /// Its number.
    pub number: u32,
    /// Its handlers.
    pub name: String,
    /// The device that raises it. Names that differ in a number share a row only if they have the same device.
    pub device: Option<String>,
    /// Further properties that must be equal.
    pub key: K,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterruptGroup {
    /// Indices of its interrupts.
    pub members: Vec<usize>,
    /// Their numbers, such as "24-151".
    pub numbers: String,
    /// Their common name, such as "nvme0q1-128".
    pub name: String,
}

/// Groups interrupts, sorted by number, into rows in the order of their first members.
pub fn group_interrupts<K: PartialEq>(named: &[NamedInterrupt<K>]) -> Vec<InterruptGroup> {
    let mut patterns: Vec<NamePattern> = Vec::new();
    for (index, interrupt) in named.iter().enumerate() {
        let tokens = split_name(&interrupt.name);
        let place = patterns.iter().enumerate().find_map(|(at, pattern)| {
            let first = &named[pattern.members[0]];
            let place = pattern.place_of(&tokens, first.device == interrupt.device)?;
            (first.key == interrupt.key).then_some((at, place))
        });
        match place {
            Some((at, place)) => patterns[at].add_member(index, &tokens, place),
            None => patterns.push(NamePattern { members: vec![index], varying: None, values: Vec::new(), tokens }),
        }
    }
    let mut groups: Vec<InterruptGroup> = patterns.iter().flat_map(|pattern| pattern.to_groups(named)).collect();
    groups.sort_by_key(|group| group.members[0]);
    groups
}

/// A part of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameToken<'a> {
    Text(&'a str),
    Number(u32),
}

/// Splits a name into numbers and the text between them. Numbers with leading zeros are addresses, not queues, and count as text.
fn split_name(name: &str) -> Vec<NameToken<'_>> {
    let is_digit = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    let mut tokens = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| c.is_ascii_digit() != first.is_ascii_digit()).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        let number = part.parse().ok().filter(|_| is_digit(part) && (part == "0" || !part.starts_with('0')));
        tokens.push(number.map_or(NameToken::Text(part), NameToken::Number));
        rest = after;
    }
    tokens
}

/// Names that are equal, or differ only in one number.
struct NamePattern<'a> {
    members: Vec<usize>,
    tokens: Vec<NameToken<'a>>,
    varying: Option<usize>,
    /// The numbers at the varying place; empty if all names are equal.
    values: Vec<u32>,
}

impl<'a> NamePattern<'a> {
    /// Returns `None` if a name does not belong here, otherwise the place at which it differs, or `Some(None)` if it is equal.
    fn place_of(&self, tokens: &[NameToken<'_>], is_same_device: bool) -> Option<Option<usize>> {
        if tokens.len() != self.tokens.len() {
            return None;
        }
        let mut differing = (0..tokens.len()).filter(|&at| tokens[at] != self.tokens[at]);
        match (differing.next(), differing.next()) {
            (None, _) => Some(None),
            (Some(at), None) if is_same_device && self.varying.is_none_or(|varying| varying == at) => {
                let both = matches!((tokens[at], self.tokens[at]), (NameToken::Number(_), NameToken::Number(_)));
                both.then_some(Some(at))
            }
            _ => None,
        }
    }

    fn add_member(&mut self, index: usize, tokens: &[NameToken<'_>], place: Option<usize>) {
        self.members.push(index);
        let number = |tokens: &[NameToken<'_>], at: usize| match tokens[at] {
            NameToken::Number(number) => Some(number),
            NameToken::Text(_) => None,
        };
        if let Some(at) = place {
            if self.varying.is_none() {
                self.varying = Some(at);
                self.values.extend(number(&self.tokens, at));
            }
            self.values.extend(number(tokens, at));
        }
    }

    fn to_groups<K>(&self, named: &[NamedInterrupt<K>]) -> Vec<InterruptGroup> {
        if self.members.len() >= FEWEST {
            let mut numbers: Vec<u32> = self.members.iter().map(|&index| named[index].number).collect();
            numbers.sort_unstable();
            return vec![InterruptGroup {
                members: self.members.clone(),
                numbers: format_list(&numbers),
                name: self.format_name(),
            }];
        }
        let alone = |&index: &usize| InterruptGroup {
            members: vec![index],
            numbers: named[index].number.to_string(),
            name: named[index].name.clone(),
        };
        self.members.iter().map(alone).collect()
    }

    fn format_name(&self) -> String {
        let mut values = self.values.clone();
        values.sort_unstable();
        values.dedup();
        let word = |(at, token): (usize, &NameToken<'_>)| match token {
            _ if self.varying == Some(at) => format_list(&values),
            NameToken::Text(text) => (*text).to_owned(),
            NameToken::Number(number) => number.to_string(),
        };
        let name: String = self.tokens.iter().enumerate().map(word).collect();
        if self.varying.is_some() { name } else { format!("{name} ×{}", self.members.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(names: &[(&str, &str)]) -> Vec<String> {
        let named = |(number, (name, device)): (u32, &(&str, &str))| NamedInterrupt {
            number,
            name: (*name).to_owned(),
            device: Some((*device).to_owned()),
            key: name.contains("q0"),
        };
        let named: Vec<_> = (24..).zip(names).map(named).collect();
        group_interrupts(&named).into_iter().map(|group| format!("{} {}", group.numbers, group.name)).collect()
    }

    #[test]
    fn queues_of_a_device_share_a_row() {
        let names: Vec<String> = (0..=128).map(|queue| format!("nvme0q{queue}")).collect();
        let names: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "0000:01:00.0")).collect();
        assert_eq!(rows(&names), ["24 nvme0q0", "25-152 nvme0q1-128"], "the first has another key");
        assert_eq!(rows(&names[1..4]), ["24 nvme0q1", "25 nvme0q2", "26 nvme0q3"], "three are shown as they are");
    }

    #[test]
    fn queues_that_take_turns_are_told_apart() {
        let turns =
            ["rx-0", "tx-0", "rx-1", "tx-1", "rx-2", "tx-2", "rx-3", "tx-5"].map(|queue| format!("eth0-{queue}"));
        let names = turns.each_ref().map(|name| (name.as_str(), "a"));
        assert_eq!(rows(&names), ["24,26,28,30 eth0-rx-0-3", "25,27,29,31 eth0-tx-0-2,5"]);
    }

    #[test]
    fn only_one_place_varies_and_an_address_never_does() {
        let mlx = |port: u32| (0..4).map(move |queue| format!("mlx5_comp{queue}@pci:0000:3b:00.{port}"));
        let names: Vec<String> = mlx(0).chain(mlx(1)).collect();
        let names: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), &name[name.len() - 1..])).collect();
        assert_eq!(rows(&names), ["24-27 mlx5_comp0-3@pci:0000:3b:00.0", "28-31 mlx5_comp0-3@pci:0000:3b:00.1"]);
    }

    #[test]
    fn names_of_several_devices_share_a_row_only_where_they_are_equal() {
        let config =
            [("virtio0-config", "a"), ("virtio1-config", "b"), ("virtio2-config", "c"), ("virtio3-config", "d")];
        assert_eq!(rows(&config).len(), 4);
        assert_eq!(
            rows(&["a", "b", "c", "d"].map(|device| ("PCIe PME, aerdrv", device))),
            ["24-27 PCIe PME, aerdrv ×4"]
        );
    }

    #[test]
    fn any_name_is_survived() {
        let odd = ["", "7", "007", "99999999999", "é1", "×"].map(|name| (name, "a"));
        assert_eq!(rows(&odd).len(), 6);
    }
}
