//! Notation for repeated objects: `"0-2,24-26 x8"` is eight objects of three cores with their siblings.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use crate::CpuSet;

/// Largest cpu number that a file may name: Linux is built for at most 8,192 cpus.
pub const LARGEST_CPU: u32 = 8_191;

/// Help for messages on malformed objects.
const EXPECTED: &str = "write a cpu list, alone or repeated, such as \"0-3\", \"0,16 x16\" or \"0-3 x4 step 8\"";

/// Objects of a level in the order of the file: one text, or a list of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectList(Vec<RepeatedObjects>);

/// Objects of one text; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedObjects(Vec<CpuSet>);

impl ObjectList {
    /// Returns the cpus of each object.
    pub fn object_sets(&self) -> impl Iterator<Item = &CpuSet> {
        self.0.iter().flat_map(|repeated| &repeated.0)
    }
}

impl RepeatedObjects {
    /// Reads `LIST`, `LIST xCOUNT` or `LIST xCOUNT step STEP`.
    ///
    /// The first object is the list; each further object is the previous one moved by the step. The default step is the length of the
    /// list's first run: 8 for `0-7,16-23`, 2 for `0,1`, 1 for `0,16`. So the next object begins at the end of that run.
    fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let at = words.iter().position(|word| word.starts_with('x')).unwrap_or(words.len());
        let (list, repetition) = words.split_at(at);
        let first = CpuSet::parse_list(&list.join(" ")).map_err(|error| format!("{error}; {EXPECTED}"))?;
        if first.is_empty() {
            return Err(format!("no cpu; {EXPECTED}"));
        }
        let number = |text: &str| text.parse::<u32>().map_err(|_| format!("\"{text}\" is not a number; {EXPECTED}"));
        let (count, step) = match repetition {
            [] => (1, first_run(&first)),
            [count] => (number(&count[1..])?, first_run(&first)),
            [count, "step", step] => (number(&count[1..])?, number(step)?),
            _ => return Err(format!("\"{}\" was not understood; {EXPECTED}", repetition.join(" "))),
        };
        repeat_object(&first, count, step).map(Self)
    }
}

/// Returns the length of a set's first run.
fn first_run(set: &CpuSet) -> u32 {
    let lowest = set.lowest().unwrap_or_default();
    set.iter().zip(lowest..).take_while(|(cpu, expected)| cpu == expected).count() as u32
}

fn repeat_object(first: &CpuSet, count: u32, step: u32) -> Result<Vec<CpuSet>, String> {
    if count == 0 || (step == 0 && count > 1) {
        return Err("a repetition has a count and a step of at least 1".to_owned());
    }
    let highest = u64::from(first.highest().unwrap_or_default()) + u64::from(count - 1) * u64::from(step);
    // Disjoint objects cannot have more cpus together than there are numbers.
    if highest > LARGEST_CPU.into() || first.len() as u64 * u64::from(count) > u64::from(LARGEST_CPU) + 1 {
        return Err(format!("the repetition goes beyond cpu {LARGEST_CPU}, the largest supported number"));
    }
    Ok((0..count).map(|at| first.iter().map(|cpu| cpu + at * step).collect()).collect())
}

impl<'de> Deserialize<'de> for RepeatedObjects {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = RepeatedObjects;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text such as \"0,16 x16\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<RepeatedObjects, E> {
                RepeatedObjects::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

impl<'de> Deserialize<'de> for ObjectList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrList;
        impl<'de> Visitor<'de> for TextOrList {
            type Value = ObjectList;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text such as \"0,16 x16\", or a list of such texts")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<ObjectList, E> {
                RepeatedObjects::parse(text).map(|repeated| ObjectList(vec![repeated])).map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ObjectList, A::Error> {
                let mut objects = Vec::new();
                while let Some(repeated) = list.next_element()? {
                    objects.push(repeated);
                }
                Ok(ObjectList(objects))
            }
        }
        deserializer.deserialize_any(TextOrList)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lists(text: &str) -> Result<Vec<String>, String> {
        Ok(RepeatedObjects::parse(text)?.0.iter().map(CpuSet::to_string).collect())
    }

    #[test]
    fn an_object_is_repeated_where_its_first_run_ends() {
        assert_eq!(lists("0-3").unwrap(), ["0-3"]);
        assert_eq!(lists("0,1 x3").unwrap(), ["0,1", "2,3", "4,5"], "siblings adjacent");
        assert_eq!(lists("0,16 x3").unwrap(), ["0,16", "1,17", "2,18"], "siblings n and n+16");
        assert_eq!(lists("0-2,24-26 x2").unwrap(), ["0-2,24-26", "3-5,27-29"]);
        assert_eq!(lists("0-7:2 x2").unwrap(), ["0,2,4,6", "1,3,5,7"], "dealt out in turn");
        assert_eq!(lists("16 x2").unwrap(), ["16", "17"]);
        assert_eq!(lists(" 0 , 4  x2  step 8 ").unwrap(), ["0,4", "8,12"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_was_expected() {
        let error = |text: &str| lists(text).unwrap_err();
        for text in ["", "0-x", "0 y4", "0 x", "0 x4 step", "0 x4 stride 2", "0 x4 step 2 3", "0 x-1", "3-1 x2"] {
            assert!(error(text).contains("write a cpu list"), "{text}: {}", error(text));
        }
        assert!(error("0 x0").contains("at least 1") && error("0 x2 step 0").contains("at least 1"));
        assert!(error("0-1 x4097").contains("beyond cpu 8191") && error("9000").contains("beyond cpu 8191"));
        assert!(error("0-4095 x4097 step 1").contains("beyond"), "not seventeen million cpus");
    }

    proptest! {
        #[test]
        fn every_object_is_the_first_one_moved(
            cpus in proptest::collection::btree_set(0_u32..64, 1..9), count in 1_u32..20, step in 1_u32..99,
        ) {
            let first: CpuSet = cpus.iter().copied().collect();
            let objects = RepeatedObjects::parse(&format!("{first} x{count} step {step}")).unwrap().0;
            prop_assert_eq!(objects.len(), count as usize);
            for (at, object) in (0..).zip(&objects) {
                prop_assert_eq!(object, &first.iter().map(|cpu| cpu + at * step).collect::<CpuSet>());
            }
        }
    }
}
