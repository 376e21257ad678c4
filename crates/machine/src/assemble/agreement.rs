//! Reconciles files that disagree about which cpus share something.
//!
//! Sharing is mutual: a set is right if all its cpus give the same one in all their files. If they do not, all sources of the cpus
//! concerned vote. Files that contradict the result are named.

use std::collections::{BTreeMap, BTreeSet};

use crate::{CpuSet, Gap};

/// A set of cpus as one file gives it for one cpu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharingReading {
    /// The cpu that the file is about.
    pub cpu: u32,
    /// Cpus that share something with it, including itself.
    pub cpus: CpuSet,
    /// Path of the file.
    pub file: String,
    /// The number in the file, if it holds a number instead of cpus: `cpus` are those with the same number.
    pub number: Option<i64>,
}

/// Result of reconciling readings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharingAgreement {
    /// The set of each cpu that has one. Sets are equal or disjoint, and each holds its own cpu.
    pub sets: BTreeMap<u32, CpuSet>,
    /// Files that contradict the sets.
    pub gap: Option<Gap>,
}

/// Maximum files named in a gap.
const MOST_NAMED: usize = 8;

/// Limit of the cpus in the different sets that are compared. Untrusted files may name thousands of cpus in each of thousands of sets.
const MOST_COMPARED: usize = 200_000;

/// Maximum elections; each is among the cpus that the one before left without a set.
const MOST_ELECTIONS: usize = 4;

/// Returns the sets of `what` ("thread siblings") of the online cpus.
///
/// `listed` has the readings of all files that list cpus, the best file of each cpu first. `numbered` has the sets of equal numbers. It
/// counts if it agrees with the lists for most cpus: numbers are not unique on every machine. `usual` has sets of something else, such as the
/// cores of caches: if most cpus without a contradiction share just these, the others vote for theirs too.
pub fn agree_on_sets(
    what: &str,
    online: &CpuSet,
    listed: Vec<SharingReading>,
    numbered: Vec<SharingReading>,
    usual: &BTreeMap<u32, CpuSet>,
) -> SharingAgreement {
    let mut sorted = SortedReadings::from_readings(listed, online);
    if sorted.sound.is_empty() && sorted.useless.is_empty() {
        return SharingAgreement::default();
    }
    sorted.add_usual_numbers(SortedReadings::from_readings(numbered, online).sound);
    let open = sorted.open();
    let mut sets = sorted.settled_sets(&open);
    let open: CpuSet = open.iter().filter(|cpu| !sets.contains_key(cpu)).collect();
    let is_usual = sets.iter().filter(|(cpu, set)| usual.get(cpu) == Some(set)).count() * 2 > sets.len();
    let mut vote = SharingVote::from_readings(&sorted, &open);
    usual.iter().filter(|_| is_usual).for_each(|(cpu, set)| vote.add_vote(*cpu, set));
    sets.extend(vote.elect_sets());
    let gap = sorted.contradiction_gap(what, &sets);
    SharingAgreement { sets, gap }
}

/// Readings, cut to the online cpus.
struct SortedReadings {
    /// Readings that hold their own cpu, in the order of the cpus, the best source first.
    sound: Vec<SharingReading>,
    /// Readings without their own cpu, or without any cpu.
    useless: Vec<SharingReading>,
}

impl SortedReadings {
    fn from_readings(mut readings: Vec<SharingReading>, online: &CpuSet) -> Self {
        let mut last: Option<(CpuSet, CpuSet)> = None;
        for reading in &mut readings {
            // Neighbours mostly name the same set.
            let cut = match &last {
                Some((whole, cut)) if *whole == reading.cpus => cut.clone(),
                _ => reading.cpus.intersection(online),
            };
            last = Some((std::mem::replace(&mut reading.cpus, cut.clone()), cut));
        }
        readings.sort_by_key(|reading| reading.cpu);
        let (sound, useless) = readings.into_iter().partition(|reading| reading.cpus.contains(reading.cpu));
        Self { sound, useless }
    }

    /// Adds the sets of equal numbers if most cpus that have both have the same set by their lists.
    fn add_usual_numbers(&mut self, numbered: Vec<SharingReading>) {
        let best = self.best_sets();
        let has_both = || numbered.iter().filter_map(|reading| Some(*best.get(&reading.cpu)? == &reading.cpus));
        if 2 * has_both().filter(|is_same| *is_same).count() > has_both().count() {
            self.sound.extend(numbered);
            self.sound.sort_by_key(|reading| reading.cpu);
        }
    }

    /// Returns the set of each cpu by its best source.
    fn best_sets(&self) -> BTreeMap<u32, &CpuSet> {
        let mut best = BTreeMap::new();
        for reading in &self.sound {
            best.entry(reading.cpu).or_insert(&reading.cpus);
        }
        best
    }

    /// Returns the cpus with sources that differ, with a set that not all its cpus give, or that shares a cpu without readings with another set.
    fn contradicting_cpus(&self, best: &BTreeMap<u32, &CpuSet>) -> CpuSet {
        let mut silent: BTreeMap<u32, &CpuSet> = BTreeMap::new();
        let mut fine: BTreeMap<&CpuSet, bool> = BTreeMap::new();
        for set in best.values() {
            if fine.contains_key(set) {
                continue;
            }
            fine.insert(set, set.iter().all(|cpu| best.get(&cpu).is_none_or(|other| other == set)));
            for cpu in set.iter().filter(|cpu| !best.contains_key(cpu)) {
                let other = *silent.entry(cpu).or_insert(set);
                if other != *set {
                    fine.insert(other, false);
                    fine.insert(set, false);
                }
            }
        }
        let differing = self.sound.iter().filter(|reading| best[&reading.cpu] != &reading.cpus);
        let contradicting = best.iter().filter(|(_, set)| !fine[*set]).map(|(cpu, _)| *cpu);
        contradicting.chain(differing.map(|reading| reading.cpu)).collect()
    }

    /// Returns all cpus involved in a contradiction.
    fn open(&self) -> CpuSet {
        let mut sets_of: BTreeMap<u32, Vec<&CpuSet>> = BTreeMap::new();
        for reading in &self.sound {
            let sets = sets_of.entry(reading.cpu).or_default();
            if !sets.contains(&&reading.cpus) {
                sets.push(&reading.cpus);
            }
        }
        let mut open: BTreeSet<u32> = self.contradicting_cpus(&self.best_sets()).iter().collect();
        open.extend(self.useless.iter().map(|reading| reading.cpu));
        let mut todo: Vec<u32> = open.iter().copied().collect();
        let mut done: BTreeSet<&CpuSet> = BTreeSet::new();
        while let Some(cpu) = todo.pop() {
            for set in sets_of.get(&cpu).into_iter().flatten().filter(|set| done.insert(set)) {
                todo.extend(set.iter().filter(|cpu| open.insert(*cpu)));
            }
        }
        open.into_iter().collect()
    }

    /// Returns the sets of the cpus that are not open. Cpus without a reading take the set that names them.
    fn settled_sets(&self, open: &CpuSet) -> BTreeMap<u32, CpuSet> {
        let mut sets = BTreeMap::new();
        for (cpu, set) in self.best_sets().into_iter().filter(|(cpu, _)| !open.contains(*cpu)) {
            if set.lowest() == Some(cpu) || !sets.contains_key(&cpu) {
                set.iter().for_each(|cpu| _ = sets.entry(cpu).or_insert_with(|| set.clone()));
            }
        }
        sets
    }

    /// Returns a gap that names the files contradicting the sets.
    fn contradiction_gap(&self, what: &str, sets: &BTreeMap<u32, CpuSet>) -> Option<Gap> {
        let nothing = CpuSet::new();
        let of = |cpu: u32| sets.get(&cpu).unwrap_or(&nothing);
        let wrong = self.sound.iter().filter(|reading| reading.cpus != *of(reading.cpu));
        let mut wrong: Vec<&SharingReading> = self.useless.iter().chain(wrong).collect();
        let more = wrong.len().saturating_sub(MOST_NAMED);
        wrong.truncate(MOST_NAMED);
        let mut doubts: Vec<String> =
            wrong.into_iter().map(|reading| self.describe_doubt(reading, of(reading.cpu))).collect();
        doubts.extend((more > 0).then(|| format!("{more} more files")));
        (!doubts.is_empty()).then(|| Gap::new(what, format!("files contradict each other: {}", doubts.join("; "))))
    }

    /// Describes a file's set, and a file that says otherwise.
    fn describe_doubt(&self, reading: &SharingReading, believed: &CpuSet) -> String {
        let SharingReading { cpu, cpus, file, .. } = reading;
        if cpus.is_empty() {
            return format!("{file} names no online cpu");
        }
        if !cpus.contains(*cpu) {
            return format!("{file} says {cpus}, without its own cpu {cpu}");
        }
        let others = || self.sound.iter().filter(|other| other.cpus != *cpus);
        let parts =
            |other: &&SharingReading| other.cpu != *cpu && cpus.contains(other.cpu) != believed.contains(other.cpu);
        let other = others()
            .find(|other| parts(other) && other.cpus == *believed)
            .or_else(|| others().find(|other| other.cpus == *believed && cpus.contains(other.cpu)))
            .or_else(|| others().find(parts))
            .or_else(|| others().find(|other| other.cpu == *cpu));
        let against = other.map(|other| format!(", but {}", describe_reading(other))).unwrap_or_default();
        format!("{}{against}", describe_reading(reading))
    }
}

fn describe_reading(reading: &SharingReading) -> String {
    let SharingReading { cpus, file, number, .. } = reading;
    match number {
        Some(number) => format!("{file} says {number}, the number of {cpus}"),
        None => format!("{file} says {cpus}"),
    }
}

/// The votes of all sources on the open cpus.
struct SharingVote {
    open: CpuSet,
    /// The different sets that are given, with the number of files that give each.
    votes: BTreeMap<CpuSet, u64>,
}

impl SharingVote {
    fn from_readings(sorted: &SortedReadings, open: &CpuSet) -> Self {
        let mut votes = BTreeMap::new();
        for reading in sorted.sound.iter().filter(|reading| open.contains(reading.cpu)) {
            *votes.entry(reading.cpus.clone()).or_default() += 1;
        }
        Self { open: open.clone(), votes }
    }

    fn add_vote(&mut self, cpu: u32, set: &CpuSet) {
        if self.open.contains(cpu) && set.is_subset(&self.open) {
            *self.votes.entry(set.clone()).or_default() += 1;
        }
    }

    /// Returns the disjoint sets with the best scores; among equals the larger, then the lower. The cpus that they leave out elect again,
    /// among themselves. Empty beyond the limit.
    fn elect_sets(mut self) -> BTreeMap<u32, CpuSet> {
        let mut elected = BTreeMap::new();
        for _ in 0..MOST_ELECTIONS {
            if self.votes.is_empty() || self.votes.keys().map(CpuSet::len).sum::<usize>() > MOST_COMPARED {
                break;
            }
            let sets = self.elect_once();
            let taken: CpuSet = sets.keys().copied().collect();
            elected.extend(sets);
            self = self.without_cpus(&taken);
        }
        elected
    }

    fn without_cpus(self, taken: &CpuSet) -> Self {
        let mut votes = BTreeMap::new();
        for (set, count) in self.votes {
            *votes.entry(set.difference(taken)).or_default() += count;
        }
        votes.remove(&CpuSet::new());
        Self { open: self.open.difference(taken), votes }
    }

    fn elect_once(&self) -> BTreeMap<u32, CpuSet> {
        let candidates = self.votes.keys().filter(|set| set.is_subset(&self.open));
        let mut scored: Vec<((u64, u64), &CpuSet)> = candidates.map(|set| (self.score_set(set), set)).collect();
        scored.sort_by(|((a, of_a), set_a), ((b, of_b), set_b)| {
            (b * of_a).cmp(&(a * of_b)).then(set_b.len().cmp(&set_a.len())).then(set_a.cmp(set_b))
        });
        let mut taken = CpuSet::new();
        let mut sets = BTreeMap::new();
        for (_, set) in scored {
            if set.is_disjoint(&taken) {
                taken = taken.union(set);
                sets.extend(set.iter().map(|cpu| (cpu, set.clone())));
            }
        }
        sets
    }

    /// Returns the votes for a set, and the votes for all sets with a cpu of it.
    fn score_set(&self, set: &CpuSet) -> (u64, u64) {
        let touching = self.votes.iter().filter(|(other, _)| !other.is_disjoint(set));
        (self.votes[set], touching.map(|(_, count)| count).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::sample::parse_set;
    use proptest::prelude::*;

    fn list_reading(cpu: u32, cpus: CpuSet, file: String) -> SharingReading {
        SharingReading { cpu, cpus, file, number: None }
    }

    /// The sets and the gap of cpus whose lists are given, by the files `listN`, with those of `maskN` behind them, and the sets of
    /// cpus with the same number, by the files `idN`.
    fn agreed(lists: &[&str], masks: &[&str], numbered: &[&str]) -> (Vec<String>, String) {
        let reading = |name: &str, (cpu, list): (usize, &&str)| {
            (*list != "-").then(|| list_reading(cpu as u32, parse_set(list), format!("{name}{cpu}")))
        };
        let lists = || lists.iter().enumerate().filter_map(|item| reading("list", item));
        let masks = masks.iter().enumerate().filter_map(|item| reading("mask", item));
        let online: CpuSet = lists().map(|reading| reading.cpu).collect();
        let number = |(number, list): (usize, &&str)| {
            let of = |cpu| SharingReading {
                number: Some(number as i64),
                ..list_reading(cpu, parse_set(list), format!("id{cpu}"))
            };
            parse_set(list).iter().map(of).collect::<Vec<_>>()
        };
        let numbered = numbered.iter().enumerate().flat_map(number).collect();
        let found = agree_on_sets("siblings", &online, lists().chain(masks).collect(), numbered, &BTreeMap::new());
        let mut sets: Vec<&CpuSet> = found.sets.values().collect();
        sets.sort();
        sets.dedup();
        (sets.iter().map(|set| set.to_string()).collect(), found.gap.map(|gap| gap.why).unwrap_or_default())
    }

    #[test]
    fn a_cpu_without_a_file_takes_the_set_that_names_it() {
        let first = vec![list_reading(0, parse_set("0,1,9"), "a".into())];
        let found = agree_on_sets("siblings", &parse_set("0-1"), first, Vec::new(), &BTreeMap::new());
        assert_eq!((found.sets[&1].to_string(), found.gap), ("0,1".into(), None));
    }

    #[test]
    fn two_lists_that_claim_two_cores_are_one_lose_against_masks_and_numbers() {
        let alone = ["0", "1", "2", "3", "4", "5"];
        let lists = ["0,1", "0,1", "2", "3", "4", "5"];
        for (masks, numbered) in [(&alone[..], &[][..]), (&alone, &alone)] {
            let (sets, gap) = agreed(&lists, masks, numbered);
            assert_eq!(sets.len() == 6, !numbered.is_empty(), "{sets:?}");
            assert!(gap.contains("0,1") && gap.contains("list0") && gap.contains("mask0"), "{gap}");
        }
        let (_, gap) = agreed(&lists, &[], &alone);
        assert!(gap.contains("list0 says 0,1") && gap.contains("id0 says 0, the number of 0"), "{gap}");
    }

    #[test]
    fn numbers_that_most_lists_contradict_say_nothing() {
        let (sets, gap) = agreed(&["0,1", "0,1", "2,3", "2,3"], &[], &["0", "1", "2", "3"]);
        assert_eq!((sets, gap.as_str()), (vec!["0,1".to_owned(), "2,3".to_owned()], ""), "modules of a Bulldozer");
    }

    #[test]
    fn a_wide_list_leaves_its_cpu_what_the_others_do_not_claim() {
        let (sets, gap) = agreed(&["0-3", "1", "2", "3"], &[], &[]);
        assert_eq!(sets, ["0", "1", "2", "3"]);
        assert!(gap.contains("list0 says 0-3, but list1 says 1"), "{gap}");
    }

    #[test]
    fn one_file_against_all_others_is_named_and_not_believed() {
        for wrong in ["0-3", "0", "0,3"] {
            let (sets, gap) = agreed(&[wrong, "1,3", "0,2", "1,3"], &["0,2", "1,3", "0,2", "1,3"], &[]);
            assert_eq!(sets, ["0,2", "1,3"], "{wrong}");
            assert!(gap.contains(&format!("list0 says {}", parse_set(wrong))), "{gap}");
            let (sets, gap) = agreed(&[wrong, "1,3", "0,2", "1,3"], &[], &["0,2", "1,3"]);
            assert_eq!((sets, gap.contains("list0")), (vec!["0,2".to_owned(), "1,3".to_owned()], true), "{wrong}");
        }
        let (sets, gap) = agreed(&["0", "0-3", "0-3", "0-3"], &[], &[]);
        assert_eq!((sets, gap.contains("list0 says 0")), (vec!["0-3".to_owned()], true));
    }

    #[test]
    fn lists_copied_from_the_first_cpu_lose_against_masks() {
        let (sets, gap) = agreed(&["0,2", "0,2", "0,2", "0,2"], &["0,2", "1,3", "0,2", "1,3"], &[]);
        assert_eq!(sets, ["0,2", "1,3"]);
        assert!(gap.contains("list1 says 0,2, without its own cpu 1") && !gap.contains("list2"), "{gap}");
    }

    #[test]
    fn two_lists_that_claim_two_caches_are_one_lose_if_the_others_are_those_of_cores() {
        let lists = ["0,1", "0-3", "2,3", "0-3", "4,5", "4,5", "6,7", "6,7"];
        let reading = |(cpu, list): (usize, &&str)| list_reading(cpu as u32, parse_set(list), format!("list{cpu}"));
        let agreed = |cores: [&str; 8]| {
            let cores = cores.iter().enumerate().map(|(cpu, set)| (cpu as u32, parse_set(set))).collect();
            let listed = lists.iter().enumerate().map(reading).collect();
            agree_on_sets("caches", &CpuSet::first_cpus(8), listed, Vec::new(), &cores)
        };
        let of_cores = agreed(["0,1", "0,1", "2,3", "2,3", "4,5", "4,5", "6,7", "6,7"]);
        assert_eq!(of_cores.sets[&1], parse_set("0,1"));
        let why = of_cores.gap.unwrap().why;
        assert!(why.contains("list1 says 0-3") && why.contains("list3 says 0-3"), "{why}");
        let others = agreed(["0", "1", "2", "3", "4", "5", "6", "7"]);
        assert_eq!(others.sets[&1], parse_set("0-3"), "what is shared elsewhere is not that of cores");
    }

    #[test]
    fn sets_of_no_cpu_say_nothing() {
        let (sets, gap) = agreed(&["", "", "", ""], &[], &[]);
        assert_eq!((sets.len(), gap.contains("list3 names no online cpu")), (0, true));
        let (sets, _) = agreed(&["0,1", "", "2", "-"], &[], &[]);
        assert_eq!(sets, ["0,1", "2"], "the other side says it");
    }

    #[test]
    fn of_two_that_differ_both_are_named() {
        let (_, gap) = agreed(&["0", "0-1"], &[], &[]);
        assert!(gap.contains("list0") && gap.contains("list1"), "{gap}");
    }

    #[test]
    fn thousands_of_contradicting_sets_are_not_counted() {
        // Their square is beyond the limit.
        const CPUS: u32 = 2_500;
        let all = CpuSet::first_cpus(CPUS);
        let readings = |step: u32| -> Vec<SharingReading> {
            let set = |cpu: u32| CpuSet::first_cpus(CPUS).difference(&CpuSet::from_cpu((cpu + step) % CPUS));
            (0..CPUS).map(|cpu| list_reading(cpu, set(cpu), String::new())).collect()
        };
        let found = agree_on_sets("siblings", &all, readings(1), Vec::new(), &BTreeMap::new());
        assert!(found.sets.is_empty() && found.gap.unwrap().why.ends_with("2492 more files"));
    }

    proptest! {
        #[test]
        fn sets_are_equal_or_apart(lists in proptest::collection::vec(proptest::collection::vec(0_u32..14, 0..6), 0..30)) {
            let reading = |(at, list): (usize, &Vec<u32>)| {
                list_reading(at as u32 % 12, list.iter().copied().collect(), at.to_string())
            };
            let mut readings: Vec<SharingReading> = lists.iter().enumerate().map(reading).collect();
            let numbered = readings.split_off(readings.len() / 2);
            let found = agree_on_sets("x", &CpuSet::first_cpus(12), readings, numbered, &BTreeMap::new());
            for (cpu, set) in &found.sets {
                prop_assert!(set.contains(*cpu) && set.iter().all(|other| found.sets.get(&other) == Some(set)));
            }
        }
    }
}
