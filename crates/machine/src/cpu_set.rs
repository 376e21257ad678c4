//! Sets of cpus of any width, in the notations that kernels and tools use.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Largest cpu number that a parser accepts. Linux itself stops at 8,192 cpus; the limit keeps a hostile "0-4000000000" from taking all
/// memory.
pub const MAXIMUM_CPU: u32 = 65_535;

/// Maximum runs that the strides of a list may make, enough for every second cpu of the largest Linux machine. Runs without strides are not
/// limited: each is written out.
const MOST_RUNS: usize = 4_096;

/// A set of cpus by the operating system's numbers. It has no fixed width: 1,024 is not a limit.
///
/// Prints as a kernel cpu list (`0-3,8`), and is that string in JSON. The empty set prints as "".
///
/// Memory use is proportional to the length of the printed list, and copies share it, since untrusted files may name many large sets.
///
/// # Examples
/// ```
/// use corewise_machine::CpuSet;
///
/// let mut cpus: CpuSet = "0-3,8".parse()?;
/// cpus.insert(9);
/// let first = CpuSet::first_cpus(2);
/// assert_eq!(cpus.difference(&first).to_string(), "2,3,8,9");
/// assert!(first.is_subset(&cpus) && cpus.intersection(&first) == first);
/// assert_eq!((cpus.len(), cpus.lowest(), cpus.highest()), (6, Some(0), Some(9)));
/// # Ok::<(), corewise_machine::cpu_set::CpuSetError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CpuSet {
    /// First and last cpu of each run, ascending. Between two runs lies at least one other cpu, so equal sets are equal vectors.
    runs: Arc<Vec<(u32, u32)>>,
}

/// Reason why a text is not a cpu list or mask.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuSetError {
    /// Something other than a number, a range or a comma.
    #[error("expected a cpu number or a range such as 0-3, found \"{found}\" at character {at}")]
    NotANumber {
        /// The unexpected piece.
        found: String,
        /// Its position in the text, counted from 1.
        at: usize,
    },
    /// A range that ends before it begins.
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
        /// The invalid piece.
        found: String,
    },
    /// A number above [`MAXIMUM_CPU`].
    #[error("cpu {cpu} is above {MAXIMUM_CPU}, the largest supported number")]
    TooLarge {
        /// The number.
        cpu: u64,
    },
    /// Strides that make more than a few thousand runs.
    #[error("the strides make more than {MOST_RUNS} runs of cpus, too many to be meant")]
    Scattered,
    /// Something other than a hexadecimal digit or a comma in a mask.
    #[error("expected hexadecimal digits, found \"{found}\"")]
    NotHexadecimal {
        /// The unexpected character.
        found: char,
    },
}

impl CpuSet {
    /// Returns the empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the set of one cpu.
    pub fn from_cpu(cpu: u32) -> Self {
        Self::from_runs(vec![(cpu, cpu)])
    }

    /// Returns the set of cpus `0..count`.
    pub fn first_cpus(count: u32) -> Self {
        Self::from_runs(count.checked_sub(1).map(|last| (0, last)).into_iter().collect())
    }

    /// Returns the set of runs, which may overlap and be in any order.
    fn from_runs(mut runs: Vec<(u32, u32)>) -> Self {
        merge_runs(&mut runs);
        runs.shrink_to_fit();
        Self { runs: Arc::new(runs) }
    }

    /// Adds a cpu; returns true if it was not in the set.
    pub fn insert(&mut self, cpu: u32) -> bool {
        if self.contains(cpu) {
            return false;
        }
        let runs = Arc::make_mut(&mut self.runs);
        let at = runs.partition_point(|(_, last)| *last < cpu);
        let follows = at > 0 && runs[at - 1].1 + 1 == cpu;
        let precedes = runs.get(at).is_some_and(|(first, _)| *first == cpu + 1);
        match (follows, precedes) {
            (true, true) => runs[at - 1].1 = runs.remove(at).1,
            (true, false) => runs[at - 1].1 = cpu,
            (false, true) => runs[at].0 = cpu,
            (false, false) => runs.insert(at, (cpu, cpu)),
        }
        true
    }

    /// Removes a cpu; returns true if it was in the set.
    pub fn remove(&mut self, cpu: u32) -> bool {
        let present = self.contains(cpu);
        if present {
            *self = self.difference(&Self::from_cpu(cpu));
        }
        present
    }

    /// Returns true if the cpu is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        let at = self.runs.partition_point(|(_, last)| *last < cpu);
        self.runs.get(at).is_some_and(|(first, _)| *first <= cpu)
    }

    /// Returns the number of cpus.
    pub fn len(&self) -> usize {
        self.runs.iter().map(|(first, last)| (last - first) as usize + 1).sum()
    }

    /// Returns the number of runs of consecutive cpus.
    pub fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// Returns true if the set has no cpu.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the lowest cpu, or `None` if the set is empty.
    pub fn lowest(&self) -> Option<u32> {
        self.runs.first().map(|(first, _)| *first)
    }

    /// Returns the highest cpu, or `None` if the set is empty.
    pub fn highest(&self) -> Option<u32> {
        self.runs.last().map(|(_, last)| *last)
    }

    /// Iterates over the cpus in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs.iter().flat_map(|(first, last)| *first..=*last)
    }

    /// Returns the cpus in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::from_runs([self.runs.as_slice(), &other.runs].concat())
    }

    /// Returns the cpus in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self::from_runs(self.shared_runs(other).collect())
    }

    /// Iterates over the runs in both sets, ascending.
    fn shared_runs<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (u32, u32)> + 'a {
        let (mut mine, mut theirs) = (self.runs.iter().peekable(), other.runs.iter().peekable());
        std::iter::from_fn(move || {
            loop {
                let (a, b) = (**mine.peek()?, **theirs.peek()?);
                if a.1 < b.1 {
                    mine.next()
                } else {
                    theirs.next()
                };
                let both = (a.0.max(b.0), a.1.min(b.1));
                if both.0 <= both.1 {
                    return Some(both);
                }
            }
        })
    }

    /// Returns the cpus of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        // The gaps between the other set's runs, and beyond them.
        let begins = std::iter::once(0).chain(other.runs.iter().map(|(_, last)| last.saturating_add(1)));
        let ends = other.runs.iter().map(|(first, _)| first.checked_sub(1)).chain([Some(u32::MAX)]);
        let gaps = begins.zip(ends).filter_map(|(begin, end)| Some((begin, end?))).filter(|(begin, end)| begin <= end);
        self.intersection(&Self { runs: Arc::new(gaps.collect()) })
    }

    /// Returns true if every cpu of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        let holds = |(first, last): &(u32, u32)| {
            let at = other.runs.partition_point(|(_, end)| end < first);
            other.runs.get(at).is_some_and(|(begin, end)| begin <= first && last <= end)
        };
        self == other || self.runs.iter().all(holds)
    }

    /// Returns true if the sets have no cpu in common.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.shared_runs(other).next().is_none()
    }

    /// Returns the set as a bit mask for `sched_setaffinity`: bit `c % 64` of word `c / 64` is cpu `c`, and the last word is not zero. The
    /// empty set has no words.
    ///
    /// # Examples
    /// ```
    /// use corewise_machine::CpuSet;
    ///
    /// let cpus: CpuSet = [0, 1, 64].into_iter().collect();
    /// assert_eq!(cpus.to_words(), [0b11, 0b1]);
    /// assert_eq!(CpuSet::from_words(&cpus.to_words()), cpus);
    /// ```
    pub fn to_words(&self) -> Vec<u64> {
        let mut words = vec![0; self.highest().map_or(0, |highest| highest as usize / 64 + 1)];
        self.iter().for_each(|cpu| words[cpu as usize / 64] |= 1 << (cpu % 64));
        words
    }

    /// Builds the set from the words of `sched_getaffinity`.
    pub fn from_words(words: &[u64]) -> Self {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (begin, word) in (0_u32..).step_by(64).zip(words) {
            let mut at = 0;
            while at < 64 && word >> at != 0 {
                let first = at + (word >> at).trailing_zeros();
                at = first + (word >> first).trailing_ones();
                match runs.last_mut() {
                    Some((_, last)) if *last + 1 == begin + first => *last = begin + at - 1,
                    _ => runs.push((begin + first, begin + at - 1)),
                }
            }
        }
        runs.shrink_to_fit();
        Self { runs: Arc::new(runs) }
    }

    /// Reads a kernel cpu list: `0-3,8,16-30:2/4` (ranges with strides and groups as in the kernel's bitmap lists). White space around the
    /// text and its pieces is ignored; an empty text is the empty set.
    ///
    /// # Errors
    /// If a piece is malformed, or a number is above [`MAXIMUM_CPU`]; [`CpuSetError::Scattered`] if the strides make more than 4,096 runs.
    ///
    /// # Examples
    /// ```
    /// use corewise_machine::cpu_set::{CpuSet, CpuSetError};
    ///
    /// assert_eq!(CpuSet::parse_list("0-7:2, 16-23:2/4")?.to_string(), "0,2,4,6,16,17,20,21");
    /// let error = CpuSet::parse_list("0-3,x").unwrap_err();
    /// assert_eq!(error, CpuSetError::NotANumber { found: "x".to_owned(), at: 5 });
    /// # Ok::<(), CpuSetError>(())
    /// ```
    pub fn parse_list(text: &str) -> Result<Self, CpuSetError> {
        if text.trim().is_empty() {
            return Ok(Self::new());
        }
        let (mut runs, mut strided, mut at) = (Vec::new(), 0, 1);
        for piece in text.split(',') {
            let lead = piece.chars().take_while(|c| c.is_whitespace()).count();
            let before = runs.len();
            add_piece(&mut runs, piece.trim(), at + lead)?;
            strided += runs.len() - before - 1;
            if strided > MOST_RUNS {
                return Err(CpuSetError::Scattered);
            }
            at += piece.chars().count() + 1;
        }
        Ok(Self::from_runs(runs))
    }

    /// Reads a hexadecimal mask as the kernel prints it (`ff,ffffffff`: groups of 32 bits, highest first) or as people write it (`0xFF`,
    /// `FFFF FFFF`). White space, `0x` and commas are ignored.
    ///
    /// A group after a comma that has fewer than eight digits is padded with leading zeros, as the kernel does.
    ///
    /// # Errors
    /// [`CpuSetError::NotHexadecimal`] at another character; [`CpuSetError::TooLarge`] for a cpu above [`MAXIMUM_CPU`].
    ///
    /// # Examples
    /// ```
    /// use corewise_machine::CpuSet;
    ///
    /// let cpus = CpuSet::parse_mask("0x55")?;
    /// assert_eq!((cpus.to_string(), cpus.to_hexadecimal()), ("0,2,4,6".to_owned(), "55".to_owned()));
    /// assert_eq!(CpuSet::parse_mask("1,00000000")?, CpuSet::from_cpu(32));
    /// # Ok::<(), corewise_machine::cpu_set::CpuSetError>(())
    /// ```
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
        let too_high = nibbles.len().saturating_sub(MAXIMUM_CPU as usize / 4 + 1);
        if let Some(lowest) = nibbles[..too_high].iter().rposition(|nibble| *nibble != 0) {
            let cpu = (nibbles.len() - 1 - lowest) as u64 * 4 + u64::from(nibbles[lowest].trailing_zeros());
            return Err(CpuSetError::TooLarge { cpu });
        }
        let word = |nibbles: &[u32]| nibbles.iter().fold(0, |word, nibble| word << 4 | u64::from(*nibble));
        Ok(Self::from_words(&nibbles[too_high..].rchunks(16).map(word).collect::<Vec<_>>()))
    }

    /// Formats the mask in hexadecimal without prefix or commas, as `taskset` and `start /affinity` take it; "0" if empty.
    pub fn to_hexadecimal(&self) -> String {
        let words = self.to_words();
        let mut words = words.iter().rev();
        let Some(top) = words.next() else { return "0".into() };
        let mut text = format!("{top:x}");
        for word in words {
            text.push_str(&format!("{word:016x}"));
        }
        text
    }
}

/// Sorts runs, and joins those that overlap or meet.
fn merge_runs(runs: &mut Vec<(u32, u32)>) {
    runs.sort_unstable();
    runs.dedup_by(|next, before| {
        let is_joined = next.0 <= before.1.saturating_add(1);
        if is_joined {
            before.1 = before.1.max(next.1);
        }
        is_joined
    });
}

/// Appends a cpu to runs in any order. They take no more than twice the memory of the set, however often a cpu is added.
fn add_cpu(runs: &mut Vec<(u32, u32)>, cpu: u32) {
    match runs.last_mut() {
        Some((_, last)) if last.checked_add(1) == Some(cpu) => *last = cpu,
        _ => {
            if runs.len() == runs.capacity() {
                merge_runs(runs);
                runs.reserve(runs.len() + 1);
            }
            runs.push((cpu, cpu));
        }
    }
}

/// Appends the runs of one piece of a list, at least one.
fn add_piece(runs: &mut Vec<(u32, u32)>, piece: &str, at: usize) -> Result<(), CpuSetError> {
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
    match group == stride {
        true => runs.push((first, last)),
        false => runs.extend(
            (first..=last).step_by(stride as usize).take(MOST_RUNS + 2).map(|at| (at, last.min(at + group - 1))),
        ),
    }
    Ok(())
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
        let mut runs = self.runs.to_vec();
        cpus.into_iter().for_each(|cpu| add_cpu(&mut runs, cpu));
        *self = Self::from_runs(runs);
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (first, last) in self.runs.iter() {
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

#[cfg(feature = "json")]
mod json;
#[cfg(test)]
mod tests;
