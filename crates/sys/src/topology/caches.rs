//! The caches of a cpu as sysfs lists them.

use std::collections::BTreeMap;

use corewise_machine::assemble::agreement::SharingReading;
use corewise_machine::facts::{CacheFacts, CacheKind};
use corewise_machine::{CpuSet, Gap, GapSubject};

use super::limits::CPUS;
use super::reader::ValueReader;
use super::sharing::{self, NumberedCpu, Sets, SharingFiles, majority_value};

/// Meaning of `indexN` on x86, for recordings that kept neither level nor type: Linux lists data, instructions, L2, L3.
const BY_INDEX: [(u8, CacheKind); 4] =
    [(1, CacheKind::Data), (1, CacheKind::Instruction), (2, CacheKind::Unified), (3, CacheKind::Unified)];

/// The files of a cache that list its cpus.
const FILES: &[&str] = &["shared_cpu_list", "shared_cpu_map"];

const SHARED: &[GapSubject] = &[GapSubject::Caches];

const MOST_NAMED: usize = 4;

/// Smallest size of a cache, in bytes.
const SMALLEST_BYTES: u64 = 1 << 10;

/// Largest size of a cache, in bytes: 16 GiB, above any that was built.
const LARGEST_BYTES: u64 = 16 << 30;

/// Level and kind, which group caches.
type Sort = (u8, CacheKind);

/// One `indexN` of one cpu.
struct CacheIndex {
    cpu: u32,
    index: u32,
    /// Its level and kind from its own files.
    given: Option<Sort>,
    size_bytes: Option<u64>,
}

impl CacheIndex {
    fn file_path(&self, name: &str) -> String {
        cache_file_path(self.cpu, self.index, name)
    }
}

fn cache_file_path(cpu: u32, index: u32, name: &str) -> String {
    format!("{CPUS}/cpu{cpu}/cache/index{index}/{name}")
}

/// Returns the caches of each online cpu. If a cache's files do not list its cpus, it is assigned to the threads of its core, which share
/// it for certain. `cores` are the sets of equal core numbers.
pub fn read_caches(
    reader: &ValueReader,
    online: &CpuSet,
    threads: &Sets,
    cores: &[SharingReading],
) -> BTreeMap<u32, Vec<CacheFacts>> {
    let entries: Vec<CacheIndex> = online.iter().flat_map(|cpu| read_entries(reader, cpu)).collect();
    let mut sorts: BTreeMap<Sort, Vec<&CacheIndex>> = BTreeMap::new();
    for (entry, sort) in entries.iter().zip(sort_entries(reader, &entries)) {
        sort.into_iter().for_each(|sort| sorts.entry(sort).or_default().push(entry));
    }
    let mut found: BTreeMap<u32, Vec<(u32, CacheFacts)>> = BTreeMap::new();
    for ((level, kind), entries) in sorts {
        let index: BTreeMap<u32, u32> = entries.iter().map(|entry| (entry.cpu, entry.index)).collect();
        let name = cache_name(level, kind);
        let what = format!("who shares the {name}");
        // No level of a machine follows from first-level caches.
        let subjects = if level > 1 { SHARED } else { &[] };
        let relation = SharingFiles { what: &what, files: FILES, subjects, repeats_numbers: true };
        let file = |cpu: u32, name: &str| Some(cache_file_path(cpu, *index.get(&cpu)?, name));
        // A first-level cache is a core's own on most processors, or a thread's on some virtual machines: only a core of one thread has no
        // lists of other threads to contradict its own.
        let is_of_one = |core: &&SharingReading| level == 1 && core.cpus.len() == 1;
        let numbered = cores.iter().filter(is_of_one).cloned().chain(numbered_caches(reader, &entries)).collect();
        let sets = sharing::agreed_sets(reader, &relation, online, file, numbered, threads);
        let sizes = agreed_sizes(reader, &name, &entries, &sets);
        // A cpu without files of its own has the caches that others share with it.
        let last = entries.iter().map(|entry| entry.index).max().unwrap_or(0);
        let has_entry = |set: &CpuSet| set.iter().any(|cpu| index.contains_key(&cpu));
        let named =
            sets.iter().filter(|(cpu, set)| !index.contains_key(cpu) && has_entry(set)).map(|(cpu, _)| (*cpu, last));
        for (cpu, index) in entries.iter().map(|entry| (entry.cpu, entry.index)).chain(named) {
            let core = || threads.get(&cpu).cloned().unwrap_or_else(|| CpuSet::from_cpu(cpu));
            let shared_with = sets.get(&cpu).cloned().unwrap_or_else(core);
            let size_bytes = sizes.get(&cpu).copied();
            found.entry(cpu).or_default().push((index, CacheFacts { level, kind, size_bytes, shared_with }));
        }
    }
    let in_order = |mut caches: Vec<(u32, CacheFacts)>| {
        caches.sort_by_key(|(index, _)| *index);
        caches.into_iter().map(|(_, cache)| cache).collect()
    };
    found.into_iter().map(|(cpu, caches)| (cpu, in_order(caches))).collect()
}

/// Returns the sets of equal numbers of caches of one level and kind, which newer kernels give beside the lists. Caches of different kinds of
/// core may have equal numbers.
fn numbered_caches(reader: &ValueReader, entries: &[&CacheIndex]) -> Vec<SharingReading> {
    let number = |entry: &&CacheIndex| {
        let file = entry.file_path("id");
        Some(NumberedCpu { cpu: entry.cpu, number: reader.read_number(&file)?, file })
    };
    sharing::group_by_numbers(&entries.iter().filter_map(number).collect::<Vec<_>>(), |_| ())
}

fn read_entries(reader: &ValueReader, cpu: u32) -> Vec<CacheIndex> {
    let entry = |index| {
        let file = |name: &str| cache_file_path(cpu, index, name);
        let level = reader.read_number(&file("level")).filter(|level| (1..=4).contains(level));
        let given = level.zip(reader.read_word(&file("type")).and_then(|word| parse_kind(&word)));
        let size_bytes = read_size(reader, &file("size"));
        CacheIndex { cpu, index, given, size_bytes }
    };
    let found: Vec<u32> = reader.numbered_names(&format!("{CPUS}/cpu{cpu}/cache"), "index");
    // The kernel leaves out no number: a number missing below another one exists, too.
    let missing: Vec<u32> =
        (0..found.iter().copied().max().unwrap_or(0)).filter(|index| !found.contains(index)).collect();
    if !missing.is_empty() && missing.len() < found.len() {
        let files: Vec<String> = missing.iter().map(|index| cache_file_path(cpu, *index, FILES[0])).collect();
        let why = format!("not there, although later caches are: {}", files.join("; "));
        reader.add_doubt(Gap::new("caches", why).about(SHARED));
        return found.into_iter().chain(missing).map(entry).collect();
    }
    found.into_iter().map(entry).collect()
}

/// Returns the size in a file; `None` for zero. What no cache can have is the rest of a file that was cut, or damaged.
fn read_size(reader: &ValueReader, file: &str) -> Option<u64> {
    let word = reader.read_word(file)?;
    let size = size_bytes(&word).filter(|size| *size > 0)?;
    let fault = match size {
        ..SMALLEST_BYTES => "small",
        SMALLEST_BYTES..=LARGEST_BYTES => return Some(size),
        _ => "large",
    };
    reader.add_doubt(Gap::new(format!("the size in {file}"), format!("it is \"{word}\", too {fault} for a cache")));
    None
}

/// Returns the level and kind of each entry: its own, unless it alone differs from all others with its index; the others' if it has none;
/// by the index if no entry has one.
fn sort_entries(reader: &ValueReader, entries: &[CacheIndex]) -> Vec<Option<Sort>> {
    let mut of_index: BTreeMap<u32, BTreeMap<Sort, usize>> = BTreeMap::new();
    for entry in entries {
        let counts = of_index.entry(entry.index).or_default();
        entry.given.into_iter().for_each(|sort| *counts.entry(sort).or_default() += 1);
    }
    let mut wrong = Vec::new();
    let mut sort = |entry: &CacheIndex| {
        let counts = &of_index[&entry.index];
        let common = counts.iter().max_by_key(|(_, count)| **count).map(|(sort, count)| (*sort, *count));
        match (entry.given, common) {
            // If each is given once, both are named.
            (Some(own), Some((common, count))) if counts[&own] == 1 && (own != common || counts.len() > 1) => {
                let is_used = count > 2;
                wrong.push(format!(
                    "{} and {} say {}",
                    entry.file_path("level"),
                    entry.file_path("type"),
                    cache_name(own.0, own.1)
                ));
                Some(if is_used { common } else { own })
            }
            (Some(own), _) => Some(own),
            (None, Some((common, _))) => {
                let file = if reader
                    .read_number::<u8>(&entry.file_path("level"))
                    .is_some_and(|level| (1..=4).contains(&level))
                {
                    entry.file_path("type")
                } else {
                    entry.file_path("level")
                };
                wrong.push(format!("{file} says nothing sensible"));
                Some(common)
            }
            (None, None) => {
                let is_there =
                    |entry: &CacheIndex| FILES.iter().any(|name| reader.read_cpus(&entry.file_path(name)).is_some());
                let is_there = entries.iter().any(|other| other.index == entry.index && is_there(other));
                BY_INDEX.get(entry.index as usize).copied().filter(|_| is_there)
            }
        }
    };
    let sorts = entries.iter().map(&mut sort).collect();
    wrong.truncate(MOST_NAMED);
    if !wrong.is_empty() {
        let why = format!("files differ from those of the other cpus: {}", wrong.join("; "));
        reader.add_doubt(Gap::new("caches", why).about(SHARED));
    }
    sorts
}

/// Returns each cpu's cache size as reported by most of its sharing cpus, if any do.
fn agreed_sizes(reader: &ValueReader, name: &str, entries: &[&CacheIndex], sets: &Sets) -> BTreeMap<u32, u64> {
    let of: BTreeMap<u32, &&CacheIndex> = entries.iter().map(|entry| (entry.cpu, entry)).collect();
    let mut sizes = BTreeMap::new();
    let mut wrong = Vec::new();
    for entry in entries {
        let alone = CpuSet::from_cpu(entry.cpu);
        let sharing = sets.get(&entry.cpu).unwrap_or(&alone);
        if sharing.lowest() != Some(entry.cpu) && sizes.contains_key(&entry.cpu) {
            continue;
        }
        let given = || sharing.iter().filter_map(|cpu| Some((of.get(&cpu)?, of.get(&cpu)?.size_bytes?)));
        let Some(first) = given().next().map(|(_, size)| size) else { continue };
        let size = majority_value(given().map(|(_, size)| size)).unwrap_or(first);
        let differs = given().filter(|(_, other)| *other != size);
        let against = |entry: &CacheIndex, other| {
            let used =
                given().find(|(_, used)| *used == size).map(|(used, _)| used.file_path("size")).unwrap_or_default();
            format!("{} says {other} bytes, {used} says {size}", entry.file_path("size"))
        };
        wrong.extend(differs.map(|(entry, other)| against(entry, other)));
        sizes.extend(sharing.iter().map(|cpu| (cpu, size)));
    }
    wrong.truncate(MOST_NAMED);
    if !wrong.is_empty() {
        reader.add_doubt(Gap::new(
            format!("size of the {name}"),
            format!("files contradict each other: {}", wrong.join("; ")),
        ));
    }
    sizes
}

fn cache_name(level: u8, kind: CacheKind) -> String {
    let letter = match kind {
        CacheKind::Data => "d",
        CacheKind::Instruction => "i",
        CacheKind::Unified => "",
    };
    format!("L{level}{letter}")
}

fn parse_kind(word: &str) -> Option<CacheKind> {
    match word {
        "Data" => Some(CacheKind::Data),
        "Instruction" => Some(CacheKind::Instruction),
        "Unified" => Some(CacheKind::Unified),
        _ => None,
    }
}

/// Parses a size as the kernel writes it: "32K", "96M", or bare bytes.
fn size_bytes(word: &str) -> Option<u64> {
    let (digits, shift) = match word.char_indices().last()? {
        (at, 'K' | 'k') => (&word[..at], 10),
        (at, 'M' | 'm') => (&word[..at], 20),
        (at, 'G' | 'g') => (&word[..at], 30),
        _ => (word, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    #[test]
    fn sizes_are_in_bytes() {
        let sizes = ["32K", "96M", "1G", "512", "", "K", "-1K", "99999999999999999999K", "18446744073709551615K"];
        let found: Vec<_> = sizes.iter().map(|word| size_bytes(word)).collect();
        assert_eq!(found, [Some(32_768), Some(96 << 20), Some(1 << 30), Some(512), None, None, None, None, None]);
    }

    fn found(files: &[(&str, &str)], count: u32, threads: &Sets) -> (BTreeMap<u32, Vec<CacheFacts>>, String) {
        let root = Root::from_files(files.iter().map(|(path, text)| (format!("{CPUS}/{path}"), *text)));
        let reader = ValueReader::new(&root);
        let caches = read_caches(&reader, &CpuSet::first_cpus(count), threads, &[]);
        (caches, reader.into_gaps().into_iter().map(|gap| gap.why).collect::<Vec<_>>().join(" | "))
    }

    #[test]
    fn level_and_type_are_read_or_guessed_by_index() {
        let (caches, _) = found(
            &[
                ("cpu1/cache/index0/level", "1\n"),
                ("cpu1/cache/index0/type", "Data\n"),
                ("cpu1/cache/index0/size", "0K\n"),
                ("cpu1/cache/index2/shared_cpu_list", "0-1\n"),
                ("cpu1/cache/index7/shared_cpu_list", "0-1\n"),
                ("cpu1/cache/index3/id", "0"),
                ("cpu1/cache/index4/level", "77"),
                ("cpu1/cache/index4/type", "Unified"),
            ],
            2,
            &Sets::new(),
        );
        assert_eq!(
            caches[&1],
            [
                CacheFacts { level: 1, kind: CacheKind::Data, size_bytes: None, shared_with: CpuSet::from_cpu(1) },
                CacheFacts { level: 2, kind: CacheKind::Unified, size_bytes: None, shared_with: CpuSet::first_cpus(2) },
            ]
        );
    }

    #[test]
    fn a_map_of_zeros_says_nothing_and_the_core_shares() {
        let files = |cpu: u32| {
            [("level", "3"), ("type", "Unified"), ("shared_cpu_map", "00000000")]
                .map(|(name, text)| (format!("cpu{cpu}/cache/index3/{name}"), text))
        };
        let files: Vec<(String, &str)> = (0..4).flat_map(files).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let set = |list: &str| CpuSet::parse_list(list).unwrap();
        let threads = Sets::from([(0, set("0,2")), (1, set("1,3")), (2, set("0,2")), (3, set("1,3"))]);
        let (caches, gaps) = found(&files, 4, &threads);
        assert_eq!(caches[&2][0].shared_with, set("0,2"));
        assert!(gaps.contains("cpu3/cache/index3/shared_cpu_map names no online cpu"), "{gaps}");
    }

    #[test]
    fn a_cpu_without_files_has_the_cache_that_others_share_with_it() {
        let lists = [("cpu0/cache/index3/shared_cpu_list", "0-2"), ("cpu1/cache/index3/shared_cpu_list", "0-2")];
        let (caches, _) = found(&lists, 4, &Sets::new());
        let third =
            CacheFacts { level: 3, kind: CacheKind::Unified, size_bytes: None, shared_with: CpuSet::first_cpus(3) };
        assert_eq!((caches.get(&2), caches.get(&3)), (Some(&vec![third]), None));
    }

    #[test]
    fn numbers_of_caches_part_cpus_but_do_not_join_them() {
        let files = |lists: [&'static str; 6]| {
            let of = |(cpu, list): (usize, &'static str)| {
                let id = ["0", "1", "8", "0", "9", "10"][cpu];
                [("level", "2"), ("type", "Unified"), ("shared_cpu_list", list), ("id", id)]
                    .map(|(name, text)| (format!("cpu{cpu}/cache/index2/{name}"), text))
            };
            lists.into_iter().enumerate().flat_map(of).collect::<Vec<_>>()
        };
        let found = |lists| {
            let files: Vec<(String, &str)> = files(lists);
            let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
            found(&files, 6, &Sets::new()).1
        };
        assert_eq!(found(["0", "1", "2", "3", "4", "5"]), "", "cpus 0 and 3 have equal numbers of different caches");
        let gap = found(["0-1", "0-1", "2", "3", "4", "5"]);
        assert!(gap.contains("cpu0/cache/index2/shared_cpu_list says 0,1"), "two lists agree: {gap}");
    }

    #[test]
    fn a_lone_file_that_differs_is_named_and_not_believed() {
        let files = |cpu: u32| {
            let level = if cpu == 1 { "2" } else { "3" };
            let size = if cpu == 2 { "9K" } else { "8K" };
            [("level", level), ("type", "Unified"), ("size", size), ("shared_cpu_list", "0-3")]
                .map(|(name, text)| (format!("cpu{cpu}/cache/index3/{name}"), text))
        };
        let files: Vec<(String, &str)> = (0..4).flat_map(files).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let (caches, gaps) = found(&files, 4, &Sets::new());
        assert_eq!((caches[&1][0].level, caches[&2][0].size_bytes), (3, Some(8 << 10)));
        assert!(gaps.contains("cpu1/cache/index3/level") && gaps.contains("cpu2/cache/index3/size"), "{gaps}");
    }
}
