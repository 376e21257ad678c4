//! A set of cpus of any width, in the notations that kernels and tools use for it.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The largest cpu number that a parser accepts. Linux itself stops at 8,192 cpus; the limit keeps a hostile
/// "0-4000000000" from taking all memory.
pub const MAXIMUM_CPU: u32 = 65_535;

/// A set of cpus by the operating system's numbers. It has no fixed width: 1,024 is not a limit.
///
/// Prints as a kernel cpu list (`0-3,8`), and is that string in JSON. The empty set prints as "".
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CpuSet {
    /// Bit `c % 64` of word `c / 64` is cpu `c`; the last word is never zero, so equal sets are equal vectors.
    words: Vec<u64>,
}

/// Why a text is not a cpu list or mask.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuSetError {
    /// Something other than a number, a range or a comma.
    #[error("expected a cpu number or a range such as 0-3, found \"{found}\" at character {at}")]
    NotANumber {
        /// The piece that was found.
        found: String,
        /// Its place in the text, counted from 1.
        at: usize,
    },
    /// A range whose end comes before its beginning.
    #[error("the range {first}-{last} ends before it begins")]
    Backwards {
        /// The first number of the range.
        first: u32,
        /// The last number of the range.
        last: u32,
    },
    /// A range with a stride of zero, or a group larger than its stride.
    #[error("the stride in \"{found}\" is invalid: it must be at least 1, and a group no larger than its stride")]
    Stride {
        /// The piece that was found.
        found: String,
    },
    /// A number above [`MAXIMUM_CPU`].
    #[error("cpu {cpu} is above {MAXIMUM_CPU}, the largest supported number")]
    TooLarge {
        /// The number that was found.
        cpu: u64,
    },
    /// Something other than a hexadecimal digit or a comma in a mask.
    #[error("expected hexadecimal digits, found \"{found}\"")]
    NotHexadecimal {
        /// The character that was found.
        found: char,
    },
}

impl CpuSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// The set of one cpu.
    pub fn of(cpu: u32) -> Self {
        Self::from_iter([cpu])
    }

    /// Cpus `0..count`.
    pub fn first(count: u32) -> Self {
        (0..count).collect()
    }

    /// Adds a cpu; true when it was not there before.
    pub fn insert(&mut self, cpu: u32) -> bool {
        let (word, bit) = (cpu as usize / 64, 1_u64 << (cpu % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let absent = self.words[word] & bit == 0;
        self.words[word] |= bit;
        absent
    }

    /// Takes a cpu out; true when it was there.
    pub fn remove(&mut self, cpu: u32) -> bool {
        let (word, bit) = (cpu as usize / 64, 1_u64 << (cpu % 64));
        let present = self.contains(cpu);
        if present {
            self.words[word] &= !bit;
            self.trim();
        }
        present
    }

    /// Whether the cpu is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.words.get(cpu as usize / 64).is_some_and(|word| word & (1 << (cpu % 64)) != 0)
    }

    /// How many cpus are in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no cpu is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The lowest cpu of the set.
    pub fn lowest(&self) -> Option<u32> {
        self.iter().next()
    }

    /// The highest cpu of the set.
    pub fn highest(&self) -> Option<u32> {
        let last = self.words.last()?;
        Some((self.words.len() as u32 - 1) * 64 + 63 - last.leading_zeros())
    }

    /// The cpus in rising order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(index as u32 * 64 + bit)
            })
        })
    }

    /// The cpus in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a | b)
    }

    /// The cpus in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a & b)
    }

    /// The cpus of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a & !b)
    }

    /// Whether every cpu of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).is_empty()
    }

    /// Whether the sets have no cpu in common.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.intersection(other).is_empty()
    }

    /// The words of the set, lowest cpus first, as `sched_setaffinity` takes them.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The set from words as `sched_getaffinity` fills them.
    pub fn from_words(words: impl Into<Vec<u64>>) -> Self {
        let mut set = Self { words: words.into() };
        set.trim();
        set
    }

    /// Reads a kernel cpu list: `0-3,8,16-30:2/4` (ranges with strides and groups as in the kernel's bitmap lists).
    /// White space around the whole text and around its pieces is passed over; an empty text is the empty set.
    pub fn parse_list(text: &str) -> Result<Self, CpuSetError> {
        let mut set = Self::new();
        if text.trim().is_empty() {
            return Ok(set);
        }
        let mut at = 1;
        for piece in text.split(',') {
            let lead = piece.chars().take_while(|c| c.is_whitespace()).count();
            set.insert_piece(piece.trim(), at + lead)?;
            at += piece.chars().count() + 1;
        }
        Ok(set)
    }

    fn insert_piece(&mut self, piece: &str, at: usize) -> Result<(), CpuSetError> {
        let stride_error = || CpuSetError::Stride { found: piece.to_owned() };
        let (range, stride) = match piece.split_once(':') {
            Some((range, stride)) => (range, Some(stride)),
            None => (piece, None),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (cpu_number(first, at)?, cpu_number(last, at + first.chars().count() + 1)?),
            None => {
                let only = cpu_number(range, at)?;
                (only, only)
            }
        };
        if last < first {
            return Err(CpuSetError::Backwards { first, last });
        }
        let (group, stride) = match stride {
            None => (1, 1),
            Some(text) => match text.split_once('/') {
                None => (1, text.parse().map_err(|_| stride_error())?),
                Some((used, group)) => {
                    (used.parse().map_err(|_| stride_error())?, group.parse::<u32>().map_err(|_| stride_error())?)
                }
            },
        };
        if stride == 0 || group == 0 || group > stride {
            return Err(stride_error());
        }
        for cpu in (first..=last).filter(|cpu| (cpu - first) % stride < group) {
            self.insert(cpu);
        }
        Ok(())
    }

    /// Reads a hexadecimal mask as the kernel prints it (`ff,ffffffff`: groups of 32 bits, highest first) or as people
    /// write it (`0xFF`, `FFFF FFFF`). White space, `0x` and commas are passed over.
    ///
    /// A comma group shorter than eight digits is filled with zeros in front, as the kernel does.
    pub fn parse_mask(text: &str) -> Result<Self, CpuSetError> {
        let text = text.trim();
        let text = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        let mut nibbles = Vec::new();
        for (index, group) in text.split(',').enumerate() {
            let digits: Vec<char> = group.chars().filter(|c| !c.is_whitespace() && *c != '_').collect();
            if index > 0 {
                nibbles.extend(std::iter::repeat_n(0, 8_usize.saturating_sub(digits.len())));
            }
            for digit in digits {
                nibbles.push(digit.to_digit(16).ok_or(CpuSetError::NotHexadecimal { found: digit })?);
            }
        }
        let mut set = Self::new();
        for (place, nibble) in nibbles.iter().rev().enumerate() {
            for bit in (0..4).filter(|bit| nibble & (1 << bit) != 0) {
                let cpu = place as u64 * 4 + bit;
                if cpu > u64::from(MAXIMUM_CPU) {
                    return Err(CpuSetError::TooLarge { cpu });
                }
                set.insert(cpu as u32);
            }
        }
        Ok(set)
    }

    /// The mask in hexadecimal without prefix or commas, as `taskset` and `start /affinity` take it; "0" when empty.
    pub fn to_hexadecimal(&self) -> String {
        let mut words = self.words.iter().rev();
        let Some(top) = words.next() else { return "0".into() };
        let mut text = format!("{top:x}");
        for word in words {
            text.push_str(&format!("{word:016x}"));
        }
        text
    }

    fn combine(&self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Self {
        let length = self.words.len().max(other.words.len());
        let word = |set: &Self, index: usize| set.words.get(index).copied().unwrap_or(0);
        Self::from_words((0..length).map(|i| with(word(self, i), word(other, i))).collect::<Vec<_>>())
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

fn cpu_number(text: &str, at: usize) -> Result<u32, CpuSetError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(CpuSetError::NotANumber { found: text.to_owned(), at });
    }
    let number: u64 = text.parse().map_err(|_| CpuSetError::TooLarge { cpu: u64::MAX })?;
    match u32::try_from(number) {
        Ok(cpu) if cpu <= MAXIMUM_CPU => Ok(cpu),
        _ => Err(CpuSetError::TooLarge { cpu: number }),
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = Self::new();
        set.extend(cpus);
        set
    }
}

impl Extend<u32> for CpuSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, cpus: I) {
        for cpu in cpus {
            self.insert(cpu);
        }
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if_eq(&(last + 1)) {
                last = next;
            }
            match last - first {
                0 => write!(formatter, "{separator}{first}")?,
                1 => write!(formatter, "{separator}{first},{last}")?,
                _ => write!(formatter, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CpuSet({self})")
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse_list(text)
    }
}

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::parse_list(&text).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for CpuSet {
    fn schema_name() -> Cow<'static, str> {
        "CpuSet".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A kernel cpu list, such as 0-3,8; empty for no cpu.",
            "pattern": "^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str) -> CpuSet {
        CpuSet::parse_list(text).unwrap()
    }

    #[test]
    fn lists_of_the_kernel_are_read() {
        assert_eq!(list("0-3,8\n").iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
        assert_eq!(list(" ").len(), 0);
        assert_eq!(list("0-31:2"), (0..32).step_by(2).collect());
        assert_eq!(list("0-15:2/8"), list("0,1,8,9"));
        assert_eq!(list("1500-1535").len(), 36);
    }

    #[test]
    fn wrong_lists_say_where() {
        let error = |text: &str| CpuSet::parse_list(text).unwrap_err().to_string();
        assert_eq!(error("0-3,x"), "expected a cpu number or a range such as 0-3, found \"x\" at character 5");
        assert_eq!(error("3-1"), "the range 3-1 ends before it begins");
        assert_eq!(
            error("0-8:0"),
            "the stride in \"0-8:0\" is invalid: it must be at least 1, and a group no larger than its stride"
        );
        assert_eq!(
            error("0-99999999999999999999"),
            format!("cpu {} is above 65535, the largest supported number", u64::MAX)
        );
        assert_eq!(error("1,,2"), "expected a cpu number or a range such as 0-3, found \"\" at character 3");
    }

    #[test]
    fn masks_of_kernel_and_people_are_read() {
        let mask = |text: &str| CpuSet::parse_mask(text).unwrap();
        assert_eq!(mask("0x55"), list("0,2,4,6"));
        assert_eq!(mask("FFFF FFFF FFFF FFFC"), list("2-63"));
        assert_eq!(mask("1,00000000,00000003"), list("0,1,64"));
        assert_eq!(mask("1,3"), list("0,1,32"));
        assert!(CpuSet::parse_mask("0xg").is_err());
    }

    #[test]
    fn hexadecimal_is_what_taskset_prints() {
        assert_eq!(list("2-63").to_hexadecimal(), "fffffffffffffffc");
        assert_eq!(list("64").to_hexadecimal(), "10000000000000000");
        assert_eq!(CpuSet::new().to_hexadecimal(), "0");
    }

    proptest! {
        #[test]
        fn printing_and_parsing_gives_the_same_set(cpus in proptest::collection::btree_set(0_u32..2000, 0..80)) {
            let set: CpuSet = cpus.iter().copied().collect();
            prop_assert_eq!(&CpuSet::parse_list(&set.to_string()).unwrap(), &set);
            prop_assert_eq!(&CpuSet::parse_mask(&set.to_hexadecimal()).unwrap(), &set);
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), cpus.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.len(), cpus.len());
            prop_assert_eq!(set.highest(), cpus.last().copied());
        }

        #[test]
        fn set_laws_hold(a in proptest::collection::btree_set(0_u32..300, 0..40), b in proptest::collection::btree_set(0_u32..300, 0..40)) {
            let (x, y): (CpuSet, CpuSet) = (a.iter().copied().collect(), b.iter().copied().collect());
            prop_assert_eq!(x.difference(&y), a.difference(&b).copied().collect());
            prop_assert_eq!(x.union(&y), a.union(&b).copied().collect());
            prop_assert_eq!(x.intersection(&y), a.intersection(&b).copied().collect());
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
        }
    }
}
