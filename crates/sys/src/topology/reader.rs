//! Reads single values from a machine's files; an invalid value becomes a gap.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use corewise_machine::cpu_set::CpuSetError;
use corewise_machine::{CpuSet, Gap, GapSubject};

use super::limits::{LARGEST_CPU, larger_cpus};
use crate::root::FileSource;

/// Maximum number of invalid values that are reported one by one; a broken recording may hold thousands.
const MOST_GAPS: usize = 8;

const MOST_MISSING: usize = 4;

/// Maximum number of texts of one notation whose sets are remembered: those of neighbouring cpus are the same.
const MOST_SETS: usize = 64;

/// Reads values from a source and collects invalid ones.
pub struct ValueReader<'a> {
    source: &'a dyn FileSource,
    gaps: RefCell<Vec<Gap>>,
    doubts: RefCell<Vec<Gap>>,
    asked: RefCell<BTreeMap<String, FileAnswers>>,
    has_larger_cpus: Cell<bool>,
    sets: RefCell<BTreeMap<SetNotation, BTreeMap<String, CpuSet>>>,
}

/// Ways in which files list cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SetNotation {
    List,
    Mask,
}

/// Counts of a file that each cpu, or each node, may have.
#[derive(Default)]
struct FileAnswers {
    found: usize,
    missing: Vec<String>,
}

impl<'a> ValueReader<'a> {
    pub fn new(source: &'a dyn FileSource) -> Self {
        Self {
            source,
            gaps: RefCell::default(),
            doubts: RefCell::default(),
            asked: RefCell::default(),
            has_larger_cpus: Cell::default(),
            sets: RefCell::default(),
        }
    }

    /// Returns the gaps that were found while reading.
    pub fn into_gaps(self) -> Vec<Gap> {
        let mut gaps = self.gaps.into_inner();
        gaps.extend(self.doubts.into_inner());
        gaps.extend(self.asked.into_inner().into_values().filter_map(FileAnswers::missing_gap));
        gaps.extend(self.has_larger_cpus.get().then(larger_cpus));
        gaps
    }

    /// Adds a contradiction between files; reported regardless of the number of invalid values.
    pub fn add_doubt(&self, gap: Gap) {
        self.doubts.borrow_mut().push(gap);
    }

    /// Records that the source names cpus that are not read.
    pub fn saw_larger_cpus(&self) {
        self.has_larger_cpus.set(true);
    }

    /// Returns the supported cpus; larger ones become a single gap, however many times they are named.
    fn readable_cpus(&self, cpus: CpuSet) -> CpuSet {
        if cpus.highest() <= Some(LARGEST_CPU) {
            return cpus;
        }
        self.saw_larger_cpus();
        cpus.iter().take_while(|cpu| *cpu <= LARGEST_CPU).collect()
    }

    pub fn add_gap(&self, gap: Gap) {
        let mut gaps = self.gaps.borrow_mut();
        if gaps.len() < MOST_GAPS {
            gaps.push(gap);
        }
    }

    /// Returns true if the source has a file. It does not count as missed if not.
    pub fn has_file(&self, path: &str) -> bool {
        self.source.file_text(path).is_some()
    }

    /// Returns a file's whole text.
    pub fn read_text(&self, path: &str) -> Option<Cow<'a, str>> {
        let text = self.source.file_text(path);
        if let Some(kind) = kind_of_file(path) {
            let mut asked = self.asked.borrow_mut();
            let asked = asked.entry(kind).or_default();
            match text {
                Some(_) => asked.found += 1,
                None => asked.missing.push(path.to_owned()),
            }
        }
        text
    }

    /// Returns a file's text without surrounding white space and zero bytes (device-tree strings end in one); `None` if that leaves it
    /// empty.
    pub fn read_word(&self, path: &str) -> Option<String> {
        let text = self.read_text(path)?;
        let word = trim_text(&text);
        (!word.is_empty()).then(|| word.to_owned())
    }

    /// Returns the number in a file; `None` if it is no such number.
    pub fn read_number<T: FromStr>(&self, path: &str) -> Option<T> {
        let text = self.read_text(path)?;
        let number = trim_text(&text).parse().ok();
        if number.is_none() && !trim_text(&text).starts_with('<') {
            let why = format!("it is \"{}\"", start_of_text(trim_text(&text)));
            let gap = Gap::new(format!("the number in {path}"), why);
            self.add_gap(gap.about(subject_of_path(path).as_slice()));
        }
        number
    }

    /// Returns a number that the kernel gives as -1 if it does not know it; `None` then.
    pub fn known_number(&self, path: &str) -> Option<i64> {
        self.read_number(path).filter(|number| *number >= 0)
    }

    /// Returns the cpu list in a file; some kernels print "(null)" for an empty one.
    pub fn read_list(&self, path: &str) -> Option<CpuSet> {
        self.read_set(path, SetNotation::List)
    }

    /// Returns the cpus in a file: a list if its name ends in "list", else a mask (kernels before 2.6.3x have masks only).
    pub fn read_cpus(&self, path: &str) -> Option<CpuSet> {
        self.read_set(path, if path.ends_with("list") { SetNotation::List } else { SetNotation::Mask })
    }

    /// Returns the names in a folder, sorted.
    pub fn folder_names(&self, folder: &str) -> Vec<String> {
        self.source.folder_names(folder)
    }

    /// Returns the cpus of the names `prefixN` in a folder.
    pub fn numbered_cpus(&self, folder: &str, prefix: &str) -> CpuSet {
        let numbers = self.numbered_names(folder, prefix);
        if numbers.last().is_some_and(|last| *last > LARGEST_CPU) {
            self.saw_larger_cpus();
        }
        numbers.into_iter().take_while(|cpu| *cpu <= LARGEST_CPU).collect()
    }

    /// Returns the numbers N of the names `prefixN` in a folder, rising.
    pub fn numbered_names(&self, folder: &str, prefix: &str) -> Vec<u32> {
        let names = self.source.folder_names(folder);
        let number = |name: &String| {
            let digits = name.strip_prefix(prefix)?;
            if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
        };
        let mut numbers: Vec<u32> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    fn read_set(&self, path: &str, notation: SetNotation) -> Option<CpuSet> {
        let text = self.read_text(path)?;
        let text = trim_text(&text);
        let mut sets = self.sets.borrow_mut();
        let known = sets.entry(notation).or_default();
        if let Some(set) = known.get(text) {
            return Some(set.clone());
        }
        match notation.parse_set(text) {
            Ok(set) => {
                let set = self.readable_cpus(set);
                if known.len() == MOST_SETS {
                    known.clear();
                }
                known.insert(text.to_owned(), set.clone());
                Some(set)
            }
            Err(error) => {
                let gap = Gap::new(format!("the cpus in {path}"), error.to_string());
                self.add_gap(gap.about(subject_of_path(path).as_slice()));
                None
            }
        }
    }
}

impl SetNotation {
    fn parse_set(self, text: &str) -> Result<CpuSet, CpuSetError> {
        match self {
            Self::List if text == "(null)" => Ok(CpuSet::new()),
            Self::List => CpuSet::parse_list(text),
            Self::Mask => CpuSet::parse_mask(text),
        }
    }
}

impl FileAnswers {
    /// Returns the gap of files that most cpus have and some lack.
    fn missing_gap(self) -> Option<Gap> {
        let Self { found, mut missing } = self;
        if missing.is_empty() || found <= missing.len() {
            return None;
        }
        let more = missing.len().saturating_sub(MOST_MISSING);
        let subjects: BTreeSet<GapSubject> = missing.iter().filter_map(|path| subject_of_path(path)).collect();
        missing.truncate(MOST_MISSING);
        missing.extend((more > 0).then(|| format!("{more} more")));
        let why = format!("missing, though others have them: {}", missing.join(", "));
        Some(Gap::new("files of some cpus or nodes", why).about(&subjects.into_iter().collect::<Vec<_>>()))
    }
}

/// Parts of paths, with the part of the machine that the file decides; the first that fits counts.
const SUBJECTS: [(&str, GapSubject); 10] = [
    ("/cache/index", GapSubject::Caches),
    ("/topology/cluster", GapSubject::Caches),
    ("/topology/die", GapSubject::Dies),
    ("/topology/package", GapSubject::Packages),
    ("/topology/core_siblings", GapSubject::Packages),
    ("/topology/physical_package", GapSubject::Packages),
    ("/topology/core", GapSubject::Cores),
    ("/topology/thread", GapSubject::Cores),
    ("/system/node/", GapSubject::Nodes),
    ("sys/devices/cpu_", GapSubject::Kinds),
];

fn subject_of_path(path: &str) -> Option<GapSubject> {
    SUBJECTS.iter().find(|(part, _)| path.contains(part)).map(|(_, subject)| *subject)
}

/// Returns the path of a cpu's or node's file without its number, if each of them should have it. Files of cpufreq, and the switches of
/// cpus, are excluded: some cpus cannot be switched off.
fn kind_of_file(path: &str) -> Option<String> {
    let (folder, rest) = ["sys/devices/system/cpu/cpu", "sys/devices/system/node/node"]
        .into_iter()
        .find_map(|folder| Some((folder, path.strip_prefix(folder)?)))?;
    let (number, name) = rest.split_once('/')?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    let is_general = name != "online" && !name.starts_with("cpufreq") && !name.starts_with("access");
    (is_number && is_general).then(|| format!("{folder}{name}"))
}

/// Maximum number of characters shown of an invalid number.
const MOST_SHOWN: usize = 20;

fn start_of_text(text: &str) -> &str {
    text.char_indices().nth(MOST_SHOWN).map_or(text, |(at, _)| &text[..at])
}

fn trim_text(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    #[test]
    fn values_are_tidied_and_nonsense_becomes_a_gap() {
        let root = Root::from_files([
            ("word", " a b \n\0"),
            ("empty", "\n"),
            ("seven", "7\0\n"),
            ("unknown", "-1\n"),
            ("none", "   (null)\n"),
            ("list", "0-1,4\n"),
            ("mask", "13\n"),
            ("bad_list", "0-x\n"),
            ("large_list", "8191-65535\n"),
        ]);
        let reader = ValueReader::new(&root);
        assert_eq!(reader.read_word("word").as_deref(), Some("a b"));
        assert_eq!(reader.read_word("empty"), None);
        assert_eq!(reader.read_number::<u32>("seven"), Some(7));
        assert_eq!(reader.known_number("unknown"), None);
        assert_eq!(reader.read_list("none"), Some(CpuSet::new()));
        assert_eq!(reader.read_cpus("list").unwrap().to_string(), "0,1,4");
        assert_eq!(reader.read_cpus("mask").unwrap().to_string(), "0,1,4");
        assert_eq!(reader.read_cpus("bad_list"), None);
        assert_eq!(reader.read_cpus("large_list").unwrap().to_string(), "8191");
        assert_eq!(reader.read_number::<u32>("list"), None);
        let gaps = reader.into_gaps();
        let what: Vec<&str> = gaps.iter().map(|gap| gap.what.as_str()).collect();
        assert_eq!(what, ["the cpus in bad_list", "the number in list", "cpus above 8191"]);
    }

    /// Twice as many as are remembered, each read again.
    #[test]
    fn a_text_has_a_set_of_its_own_in_each_notation() {
        let texts = 2 * MOST_SETS as u32;
        let files =
            (0..texts).flat_map(|cpu| [format!("{cpu}_list"), cpu.to_string()].map(|name| (name, cpu.to_string())));
        let root = Root::from_files(files);
        let reader = ValueReader::new(&root);
        for cpu in (0..texts).chain(0..texts) {
            let text = cpu.to_string();
            assert_eq!(reader.read_cpus(&format!("{cpu}_list")), Some(CpuSet::from_cpu(cpu)));
            assert_eq!(reader.read_cpus(&text), CpuSet::parse_mask(&text).ok());
        }
    }

    #[test]
    fn a_file_that_most_cpus_have_is_missed_by_name() {
        let file = |cpu: u32, name: &str| format!("sys/devices/system/cpu/cpu{cpu}/{name}");
        let root = Root::from_files([0, 1, 2].map(|cpu| (file(cpu, "topology/core_id"), "0")));
        let reader = ValueReader::new(&root);
        for cpu in 0..4 {
            let _ = (reader.read_text(&file(cpu, "topology/core_id")), reader.read_text(&file(cpu, "online")));
            let _ = reader.read_text(&file(cpu, if cpu == 3 { "topology/core_id" } else { "cpu_capacity" }));
        }
        let gaps = reader.into_gaps();
        assert_eq!(gaps.len(), 1);
        assert!(gaps[0].why.contains(&file(3, "topology/core_id")) && !gaps[0].why.contains("cpu2"), "{gaps:?}");
    }

    #[test]
    fn numbered_names_are_found_in_order() {
        let root = Root::from_files([
            ("d/cpu10/x", ""),
            ("d/cpu9/x", ""),
            ("d/cpufreq/x", ""),
            ("d/cpu", ""),
            ("d/cpu+1", ""),
        ]);
        assert_eq!(ValueReader::new(&root).numbered_names("d", "cpu"), [9, 10]);
    }
}
