//! The caches of a cpu as sysfs lists them.

use std::collections::BTreeMap;

use corewise_machine::facts::{CacheFacts, CacheKind};
use corewise_machine::{CpuSet, Gap};

use super::limits::CPUS;
use super::reader::Reader;
use super::sharing::{self, Relation, Sets, common};

/// Meaning of `indexN` on x86, for recordings that kept neither level nor type: Linux lists data, instructions, L2, L3.
const BY_INDEX: [(u8, CacheKind); 4] =
    [(1, CacheKind::Data), (1, CacheKind::Instruction), (2, CacheKind::Unified), (3, CacheKind::Unified)];

/// The files of a cache that list its cpus.
const FILES: &[&str] = &["shared_cpu_list", "shared_cpu_map"];

const MOST_NAMED: usize = 4;

/// Level and kind, which group caches.
type Sort = (u8, CacheKind);

/// One `indexN` of one cpu.
struct Entry {
    cpu: u32,
    index: u32,
    /// Its level and kind from its own files.
    given: Option<Sort>,
    size_bytes: Option<u64>,
}

impl Entry {
    fn file(&self, name: &str) -> String {
        path(self.cpu, self.index, name)
    }
}

fn path(cpu: u32, index: u32, name: &str) -> String {
    format!("{CPUS}/cpu{cpu}/cache/index{index}/{name}")
}

/// Returns the caches of each online cpu. If a cache's files do not list its cpus, it is assigned to the threads of its core, which share
/// it for certain.
pub fn caches(reader: &Reader, online: &CpuSet, threads: &Sets) -> BTreeMap<u32, Vec<CacheFacts>> {
    let entries: Vec<Entry> = online.iter().flat_map(|cpu| entries(reader, cpu)).collect();
    let mut sorts: BTreeMap<Sort, Vec<&Entry>> = BTreeMap::new();
    for (entry, sort) in entries.iter().zip(sorted(reader, &entries)) {
        sort.into_iter().for_each(|sort| sorts.entry(sort).or_default().push(entry));
    }
    let mut found: BTreeMap<u32, Vec<(u32, CacheFacts)>> = BTreeMap::new();
    for ((level, kind), entries) in sorts {
        let index: BTreeMap<u32, u32> = entries.iter().map(|entry| (entry.cpu, entry.index)).collect();
        let name = cache_name(level, kind);
        let what = format!("who shares the {name}");
        let relation = Relation { what: &what, files: FILES };
        let file = |cpu: u32, name: &str| Some(path(cpu, *index.get(&cpu)?, name));
        let hints: Vec<CpuSet> = threads.values().filter(|_| level == 1).cloned().collect();
        let sets = sharing::sets(reader, &relation, online, file, &hints);
        let sizes = sizes(reader, &name, &entries, &sets);
        for entry in entries {
            let core = || threads.get(&entry.cpu).cloned().unwrap_or_else(|| CpuSet::of(entry.cpu));
            let shared_with = sets.get(&entry.cpu).cloned().unwrap_or_else(core);
            let size_bytes = sizes.get(&entry.cpu).copied();
            found
                .entry(entry.cpu)
                .or_default()
                .push((entry.index, CacheFacts { level, kind, size_bytes, shared_with }));
        }
    }
    let in_order = |mut caches: Vec<(u32, CacheFacts)>| {
        caches.sort_by_key(|(index, _)| *index);
        caches.into_iter().map(|(_, cache)| cache).collect()
    };
    found.into_iter().map(|(cpu, caches)| (cpu, in_order(caches))).collect()
}

fn entries(reader: &Reader, cpu: u32) -> Vec<Entry> {
    let entry = |index| {
        let file = |name: &str| path(cpu, index, name);
        let level = reader.number(&file("level")).filter(|level| (1..=4).contains(level));
        let given = level.zip(reader.word(&file("type")).and_then(|word| kind(&word)));
        let size_bytes = reader.word(&file("size")).and_then(|word| size_bytes(&word)).filter(|size| *size > 0);
        Entry { cpu, index, given, size_bytes }
    };
    let found: Vec<u32> = reader.numbered(&format!("{CPUS}/cpu{cpu}/cache"), "index");
    // The kernel leaves out no number: a number missing below another one exists, too.
    let missing: Vec<u32> =
        (0..found.iter().copied().max().unwrap_or(0)).filter(|index| !found.contains(index)).collect();
    if !missing.is_empty() && missing.len() < found.len() {
        let files: Vec<String> = missing.iter().map(|index| path(cpu, *index, FILES[0])).collect();
        reader.add_doubt(Gap::new("caches", format!("not there, although later caches are: {}", files.join("; "))));
        return found.into_iter().chain(missing).map(entry).collect();
    }
    found.into_iter().map(entry).collect()
}

/// Returns the level and kind of each entry: its own, unless it alone differs from all others with its index; the others' if it has none;
/// by the index if no entry has one.
fn sorted(reader: &Reader, entries: &[Entry]) -> Vec<Option<Sort>> {
    let mut of_index: BTreeMap<u32, BTreeMap<Sort, usize>> = BTreeMap::new();
    for entry in entries {
        let counts = of_index.entry(entry.index).or_default();
        entry.given.into_iter().for_each(|sort| *counts.entry(sort).or_default() += 1);
    }
    let mut wrong = Vec::new();
    let mut sort = |entry: &Entry| {
        let counts = &of_index[&entry.index];
        let common = counts.iter().max_by_key(|(_, count)| **count).map(|(sort, count)| (*sort, *count));
        match (entry.given, common) {
            // If each is given once, both are named.
            (Some(own), Some((common, count))) if counts[&own] == 1 && (own != common || counts.len() > 1) => {
                let is_used = count > 2;
                wrong.push(format!(
                    "{} and {} say {}",
                    entry.file("level"),
                    entry.file("type"),
                    cache_name(own.0, own.1)
                ));
                Some(if is_used { common } else { own })
            }
            (Some(own), _) => Some(own),
            (None, Some((common, _))) => {
                let file = if reader.number::<u8>(&entry.file("level")).is_some_and(|level| (1..=4).contains(&level)) {
                    entry.file("type")
                } else {
                    entry.file("level")
                };
                wrong.push(format!("{file} says nothing sensible"));
                Some(common)
            }
            (None, None) => {
                let is_there = |entry: &Entry| FILES.iter().any(|name| reader.cpus(&entry.file(name)).is_some());
                let is_there = entries.iter().any(|other| other.index == entry.index && is_there(other));
                BY_INDEX.get(entry.index as usize).copied().filter(|_| is_there)
            }
        }
    };
    let sorts = entries.iter().map(&mut sort).collect();
    wrong.truncate(MOST_NAMED);
    if !wrong.is_empty() {
        let why = format!("files differ from those of the other cpus: {}", wrong.join("; "));
        reader.add_doubt(Gap::new("caches", why));
    }
    sorts
}

/// Returns each cpu's cache size as reported by most of its sharing cpus, if any do.
fn sizes(reader: &Reader, name: &str, entries: &[&Entry], sets: &Sets) -> BTreeMap<u32, u64> {
    let of: BTreeMap<u32, &&Entry> = entries.iter().map(|entry| (entry.cpu, entry)).collect();
    let mut sizes = BTreeMap::new();
    let mut wrong = Vec::new();
    for entry in entries {
        let alone = CpuSet::of(entry.cpu);
        let sharing = sets.get(&entry.cpu).unwrap_or(&alone);
        if sharing.lowest() != Some(entry.cpu) && sizes.contains_key(&entry.cpu) {
            continue;
        }
        let given = || sharing.iter().filter_map(|cpu| Some((of.get(&cpu)?, of.get(&cpu)?.size_bytes?)));
        let Some(first) = given().next().map(|(_, size)| size) else { continue };
        let size = common(given().map(|(_, size)| size)).unwrap_or(first);
        let differs = given().filter(|(_, other)| *other != size);
        let against = |entry: &Entry, other| {
            let used = given().find(|(_, used)| *used == size).map(|(used, _)| used.file("size")).unwrap_or_default();
            format!("{} says {other} bytes, {used} says {size}", entry.file("size"))
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

fn kind(word: &str) -> Option<CacheKind> {
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
        let reader = Reader::new(&root);
        let caches = caches(&reader, &CpuSet::first(count), threads);
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
                CacheFacts { level: 1, kind: CacheKind::Data, size_bytes: None, shared_with: CpuSet::of(1) },
                CacheFacts { level: 2, kind: CacheKind::Unified, size_bytes: None, shared_with: CpuSet::first(2) },
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
