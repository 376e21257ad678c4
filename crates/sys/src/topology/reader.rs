//! Reads single values out of a machine's files; a value that makes no sense becomes a gap.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::str::FromStr;

use corewise_model::cpu_set::CpuSetError;
use corewise_model::{CpuSet, Gap};

use super::limits::{LARGEST_CPU, larger_cpus};
use crate::root::Source;

/// How many senseless values are told one by one; a broken recording may hold thousands.
const MOST_GAPS: usize = 8;

/// Reads values from a source and collects what made no sense.
pub struct Reader<'a> {
    source: &'a dyn Source,
    gaps: RefCell<Vec<Gap>>,
    has_larger_cpus: Cell<bool>,
}

impl<'a> Reader<'a> {
    pub fn new(source: &'a dyn Source) -> Self {
        Self { source, gaps: RefCell::default(), has_larger_cpus: Cell::default() }
    }

    /// The gaps that were found while reading.
    pub fn into_gaps(self) -> Vec<Gap> {
        let mut gaps = self.gaps.into_inner();
        gaps.extend(self.has_larger_cpus.get().then(larger_cpus));
        gaps
    }

    /// The source names cpus that are not read.
    pub fn saw_larger_cpus(&self) {
        self.has_larger_cpus.set(true);
    }

    /// The cpus that are read; that there are others becomes one gap, however often they are named.
    fn readable(&self, cpus: CpuSet) -> CpuSet {
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

    /// A file's whole text.
    pub fn text(&self, path: &str) -> Option<Cow<'a, str>> {
        self.source.text(path)
    }

    /// A file's text without the white space and the zero bytes around it (device-tree strings end in one); nothing
    /// where that leaves nothing.
    pub fn word(&self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        let word = tidy(&text);
        (!word.is_empty()).then(|| word.to_owned())
    }

    /// The number in a file; nothing where it is no such number.
    pub fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        tidy(&self.text(path)?).parse().ok()
    }

    /// A number that the kernel gives as -1 where it does not know it.
    pub fn known_number(&self, path: &str) -> Option<i64> {
        self.number(path).filter(|number| *number >= 0)
    }

    /// The cpu list in a file; "(null)" is what some kernels print for none.
    pub fn list(&self, path: &str) -> Option<CpuSet> {
        self.set(path, |text| if text == "(null)" { Ok(CpuSet::new()) } else { CpuSet::parse_list(text) })
    }

    /// The cpus in a file with a list, or else in one with a mask (kernels before 2.6.3x have masks only).
    pub fn list_or_mask(&self, list: &str, mask: &str) -> Option<CpuSet> {
        self.list(list).or_else(|| self.set(mask, CpuSet::parse_mask))
    }

    /// The cpus of the names `prefixN` in a folder.
    pub fn numbered_cpus(&self, folder: &str, prefix: &str) -> CpuSet {
        let numbers = self.numbered(folder, prefix);
        if numbers.last().is_some_and(|last| *last > LARGEST_CPU) {
            self.saw_larger_cpus();
        }
        numbers.into_iter().take_while(|cpu| *cpu <= LARGEST_CPU).collect()
    }

    /// The numbers N of the names `prefixN` in a folder, rising.
    pub fn numbered(&self, folder: &str, prefix: &str) -> Vec<u32> {
        let names = self.source.names(folder);
        let number = |name: &String| {
            let digits = name.strip_prefix(prefix)?;
            if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
        };
        let mut numbers: Vec<u32> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    fn set(&self, path: &str, parse: impl Fn(&str) -> Result<CpuSet, CpuSetError>) -> Option<CpuSet> {
        let text = self.text(path)?;
        match parse(tidy(&text)) {
            Ok(set) => Some(self.readable(set)),
            Err(error) => {
                self.add_gap(Gap::new(format!("the cpus in {path}"), error.to_string()));
                None
            }
        }
    }
}

fn tidy(text: &str) -> &str {
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
            ("bad", "0-x\n"),
            ("large", "8191-65535\n"),
        ]);
        let reader = Reader::new(&root);
        assert_eq!(reader.word("word").as_deref(), Some("a b"));
        assert_eq!(reader.word("empty"), None);
        assert_eq!(reader.number::<u32>("seven"), Some(7));
        assert_eq!(reader.known_number("unknown"), None);
        assert_eq!(reader.list("none"), Some(CpuSet::new()));
        assert_eq!(reader.list_or_mask("list", "mask").unwrap().to_string(), "0,1,4");
        assert_eq!(reader.list_or_mask("absent", "mask").unwrap().to_string(), "0,1,4");
        assert_eq!(reader.list("bad"), None);
        assert_eq!(reader.list("large").unwrap().to_string(), "8191");
        let gaps = reader.into_gaps();
        let what: Vec<&str> = gaps.iter().map(|gap| gap.what.as_str()).collect();
        assert_eq!(what, ["the cpus in bad", "cpus above 8191"]);
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
        assert_eq!(Reader::new(&root).numbered("d", "cpu"), [9, 10]);
    }
}
