//! Relations between cpus that share something: read from every file that lists them, accepted if both sides agree.

use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::assemble::agreement::{self, SharingReading};
use corewise_machine::{CpuSet, Gap, GapSubject};

use super::reader::ValueReader;

/// Sets of cpus by the cpu that they are read for.
pub type Sets = BTreeMap<u32, CpuSet>;

/// Something that cpus share, and the files of a cpu that list the sharing cpus, the best first. Names that end in "list" hold lists, the
/// others masks.
pub struct SharingFiles<'a> {
    pub what: &'a str,
    pub files: &'static [&'static str],
    pub subjects: &'static [GapSubject],
    /// Whether equal numbers may be of several sets, so that only different ones say something.
    pub repeats_numbers: bool,
}

/// The threads of a core.
pub const THREADS: SharingFiles<'static> = SharingFiles {
    what: "thread siblings",
    files: &["core_cpus_list", "core_cpus", "thread_siblings_list", "thread_siblings"],
    subjects: &[GapSubject::Cores],
    repeats_numbers: false,
};
/// The kernel's clusters.
pub const CLUSTERS: SharingFiles<'static> = SharingFiles {
    what: "clusters",
    files: &["cluster_cpus_list", "cluster_cpus"],
    subjects: &[GapSubject::Caches],
    repeats_numbers: false,
};
/// The cpus of a die.
pub const DIES: SharingFiles<'static> = SharingFiles {
    what: "dies",
    files: &["die_cpus_list", "die_cpus"],
    subjects: &[GapSubject::Dies],
    repeats_numbers: false,
};
/// The cpus of a book and of a drawer, which contain packages (s390).
pub const BOOKS: SharingFiles<'static> = SharingFiles {
    what: "books",
    files: &["book_siblings_list", "book_siblings"],
    subjects: &[GapSubject::Packages],
    repeats_numbers: false,
};
/// See [`BOOKS`].
pub const DRAWERS: SharingFiles<'static> = SharingFiles {
    what: "drawers",
    files: &["drawer_siblings_list", "drawer_siblings"],
    subjects: &[GapSubject::Packages],
    repeats_numbers: false,
};
/// The cpus of a package.
pub const PACKAGES: SharingFiles = SharingFiles {
    what: "packages",
    files: &["package_cpus_list", "package_cpus", "core_siblings_list", "core_siblings"],
    subjects: &[GapSubject::Packages],
    repeats_numbers: false,
};

/// Returns the accepted sets of a relation. `path` gives the path of a file of a cpu, if the cpu has such files; `numbered` are the sets of
/// equal numbers, `usual` those of something that may be shared alike. Files that contradict the result are a gap.
pub fn agreed_sets(
    reader: &ValueReader,
    relation: &SharingFiles<'_>,
    online: &CpuSet,
    path: impl Fn(u32, &str) -> Option<String>,
    numbered: Vec<SharingReading>,
    usual: &Sets,
) -> Sets {
    let reading = |cpu: u32, name: &str| {
        let file = path(cpu, name)?;
        let cpus = reader.read_cpus(&file)?;
        Some(SharingReading { cpu, cpus, file, number: None })
    };
    let of = |cpu: u32| relation.files.iter().map(move |name| (cpu, *name));
    let listed: Vec<SharingReading> = online.iter().flat_map(of).filter_map(|(cpu, name)| reading(cpu, name)).collect();
    let numbered = if relation.repeats_numbers { cut_to_lists(numbered, &listed) } else { numbered };
    let agreement = agreement::agree_on_sets(relation.what, online, listed, numbered, usual);
    agreement.gap.into_iter().for_each(|gap| reader.add_doubt(gap.about(relation.subjects)));
    agreement.sets
}

/// Cuts the sets of equal numbers to the cpus that the list of each cpu has. A cpu without a list has none.
fn cut_to_lists(numbered: Vec<SharingReading>, listed: &[SharingReading]) -> Vec<SharingReading> {
    let mut lists: BTreeMap<u32, &CpuSet> = BTreeMap::new();
    listed.iter().for_each(|reading| _ = lists.entry(reading.cpu).or_insert(&reading.cpus));
    let cut = |reading: SharingReading| {
        let list = lists.get(&reading.cpu).filter(|list| list.contains(reading.cpu))?;
        Some(SharingReading { cpus: reading.cpus.intersection(list), ..reading })
    };
    numbered.into_iter().filter_map(cut).collect()
}

/// A number that a file gives for a cpu.
#[derive(Clone)]
pub struct NumberedCpu {
    pub cpu: u32,
    pub number: i64,
    pub file: String,
}

/// Returns the set of each cpu whose members have the same number in the same place; of several numbers of a cpu the first counts.
pub fn group_by_numbers<K: Ord>(numbers: &[NumberedCpu], place: impl Fn(u32) -> K) -> Vec<SharingReading> {
    let mut sets: BTreeMap<(K, i64), Vec<&NumberedCpu>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for number in numbers.iter().filter(|number| seen.insert(number.cpu)) {
        sets.entry((place(number.cpu), number.number)).or_default().push(number);
    }
    let readings = |members: Vec<&NumberedCpu>| {
        let cpus: CpuSet = members.iter().map(|member| member.cpu).collect();
        let reading = |member: &NumberedCpu| SharingReading {
            cpu: member.cpu,
            cpus: cpus.clone(),
            file: member.file.clone(),
            number: Some(member.number),
        };
        members.into_iter().map(reading).collect::<Vec<_>>()
    };
    sets.into_values().flat_map(readings).collect()
}

/// Returns the number of each cpu; cpus of one set share the number that more than half of their files give. Without such a majority each
/// cpu keeps its own first one. A number that less than half of a set's cpus have counts for none of them. Files that contradict the result
/// are a gap.
pub fn agreed_numbers(
    reader: &ValueReader,
    (what, subject): (&str, GapSubject),
    given: &[NumberedCpu],
    set_of: impl Fn(u32) -> CpuSet,
) -> BTreeMap<u32, i64> {
    let mut of: BTreeMap<u32, Vec<&NumberedCpu>> = BTreeMap::new();
    given.iter().for_each(|number| of.entry(number.cpu).or_default().push(number));
    let mut believed: BTreeMap<u32, i64> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (cpu, own) in &of {
        if believed.contains_key(cpu) {
            continue;
        }
        let set = set_of(*cpu);
        let members: Vec<u32> = set.iter().filter(|member| of.contains_key(member)).collect();
        let said: Vec<&&NumberedCpu> = members.iter().flat_map(|member| &of[member]).collect();
        let Some(common) = majority_value(said.iter().map(|number| number.number)) else {
            believed.insert(*cpu, own[0].number);
            continue;
        };
        if 2 * members.len() < set.len() {
            wrong.extend(said.into_iter().copied());
            continue;
        }
        wrong.extend(said.into_iter().copied().filter(|number| number.number != common));
        // A cpu without a number has that of its set.
        believed.extend(set.iter().map(|member| (member, common)));
        believed.entry(*cpu).or_insert(common);
    }
    wrong.sort_by_key(|number| number.cpu);
    wrong.dedup_by(|a, b| std::ptr::eq(*a, *b));
    wrong.truncate(MOST_NAMED);
    if !wrong.is_empty() {
        let said = |number: &&NumberedCpu| {
            let used = believed.get(&number.cpu).map_or_else(|| "no number".to_owned(), i64::to_string);
            let says_it = given.iter().find(|other| other.cpu == number.cpu && other.file != number.file);
            let against = says_it.map(|other| format!(", as {} says", other.file)).unwrap_or_default();
            format!("{} says {}, but {used} is used{against}", number.file, number.number)
        };
        let why = wrong.iter().map(said).collect::<Vec<_>>().join("; ");
        reader.add_doubt(Gap::new(what, format!("files contradict each other: {why}")).about(&[subject]));
    }
    believed
}

/// Adds a gap if cpus of one set have different numbers; each keeps its own.
pub fn doubt_unequal(reader: &ValueReader, given: &[NumberedCpu], sets: &BTreeSet<CpuSet>) {
    let of: BTreeMap<u32, &NumberedCpu> = given.iter().map(|number| (number.cpu, number)).collect();
    let members = sets.iter().map(|set| set.iter().filter_map(|cpu| of.get(&cpu)).collect::<Vec<_>>());
    let unequal = members.filter(|numbers| numbers.iter().any(|number| number.number != numbers[0].number));
    let said = |number: &&&NumberedCpu| format!("{} says {}", number.file, number.number);
    let said: Vec<String> =
        unequal.flat_map(|numbers| numbers.iter().map(said).collect::<Vec<_>>()).take(MOST_NAMED).collect();
    if !said.is_empty() {
        let why = format!("siblings of one core differ: {}", said.join("; "));
        reader.add_doubt(Gap::new("kinds of cores", why).about(&[GapSubject::Kinds]));
    }
}

const MOST_NAMED: usize = 4;

/// Returns the value that more than half of some values have.
pub fn majority_value<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    let all: usize = counts.values().sum();
    counts.into_iter().find(|(_, count)| 2 * count > all).map(|(value, _)| value)
}
