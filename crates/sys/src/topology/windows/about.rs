//! Facts in a recording of Windows besides buffers, as lines `KEY: VALUE`: names of processor and system, memory, affinity.

use std::collections::BTreeMap;

use corewise_machine::machine::{ProcessorFacts, SystemFacts};

use crate::logical_processors::relations::GroupMask;

/// The facts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SystemDescription {
    pub processor: ProcessorFacts,
    pub system: SystemFacts,
    /// Version of Wine, if Windows is imitated by it.
    pub wine: Option<String>,
    /// The memory of the whole machine in bytes.
    pub memory_bytes: Option<u64>,
    /// Free memory of each node, in bytes.
    pub free_bytes: BTreeMap<u32, u64>,
    /// The cpus that the process may use.
    pub affinity: Vec<GroupMask>,
}

/// Parses the lines; skips others.
pub fn parse_about(text: &str) -> SystemDescription {
    let mut about = SystemDescription::default();
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let words: Vec<&str> = key.split_whitespace().collect();
        match words.as_slice() {
            _ if value.is_empty() => (),
            ["processor"] => about.processor.model_name = Some(value),
            ["vendor"] => about.processor.vendor = Some(value),
            ["identifier"] => identify_processor(&mut about.processor, &value),
            ["architecture"] => about.system.architecture = Some(value),
            ["version"] => about.system.kernel = Some(format!("Windows {value}")),
            ["wine"] => about.wine = Some(value),
            ["memory"] => about.memory_bytes = value.parse().ok(),
            ["free", "node", number] => {
                let free: Option<(u32, u64)> = number.parse().ok().zip(value.parse().ok());
                about.free_bytes.extend(free);
            }
            ["affinity", "group", number] => about.affinity.extend(parse_mask(number, &value)),
            _ => (),
        }
    }
    if let Some(wine) = &about.wine {
        let version = about.system.kernel.take().unwrap_or_default();
        about.system.kernel = Some(format!("Wine {wine} {version}").trim_end().to_owned());
    }
    about
}

fn parse_mask(group: &str, bits: &str) -> Option<GroupMask> {
    Some(GroupMask { group: group.parse().ok()?, bits: u64::from_str_radix(bits, 16).ok()? })
}

/// Parses "Intel64 Family 6 Model 151 Stepping 2" from the registry. On Arm these numbers are different ones, and hexadecimal.
fn identify_processor(processor: &mut ProcessorFacts, identifier: &str) {
    let words: Vec<&str> = identifier.split(' ').collect();
    let after = |name: &str| words.iter().position(|word| *word == name).and_then(|at| words.get(at + 1)?.parse().ok());
    if words[0].starts_with("ARM") {
        return;
    }
    processor.family = after("Family");
    processor.model = after("Model");
    processor.stepping = after("Stepping");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_others_passed_over() {
        let about = parse_about(
            "processor: AMD  FX(tm)-8150 \nvendor: AuthenticAMD\nidentifier: AMD64 Family 21 Model 1 Stepping 2\nversion: 10.0.19045\n\
             memory: 17179869184\nfree node 1: 4096\nfree node x: 1\naffinity group 0: ff\naffinity group 9: \nnonsense\nother: 1\n",
        );
        let ProcessorFacts { model_name, family, model, stepping, .. } = &about.processor;
        assert_eq!(
            (model_name.as_deref(), *family, *model, *stepping),
            (Some("AMD FX(tm)-8150"), Some(21), Some(1), Some(2))
        );
        assert_eq!(about.system.kernel.as_deref(), Some("Windows 10.0.19045"));
        assert_eq!((about.memory_bytes, &about.free_bytes), (Some(16 << 30), &BTreeMap::from([(1, 4096)])));
        assert_eq!(about.affinity, [GroupMask { group: 0, bits: 0xff }]);
    }

    #[test]
    fn wine_is_named_first() {
        let kernel = |text| parse_about(text).system.kernel;
        assert_eq!(kernel("version: 10.0.19043\nwine: 8.0\n").as_deref(), Some("Wine 8.0 Windows 10.0.19043"));
        assert_eq!(kernel("wine: 8.0\n").as_deref(), Some("Wine 8.0"));
    }

    #[test]
    fn numbers_of_arm_processors_are_none_of_x86() {
        let about = parse_about("identifier: ARMv8 (64-bit) Family 8 Model D4B Revision   201\n");
        assert_eq!(about.processor, ProcessorFacts::default());
    }
}
