//! Reconciles files that disagree about which cpus share something.
//!
//! Sharing is mutual: a set is right if all its cpus give the same one. If they do not, the files of both sides vote, together with every
//! other source of the same fact. Files that contradict the result are named.

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

/// Limits of the cpus counted in contradicting readings, and of those in different sets that are compared. Untrusted files may name
/// thousands of cpus in each of thousands of sets.
const MOST_COUNTED: usize = 4_000_000;
const MOST_COMPARED: usize = 200_000;

/// Returns the sets of `what` ("thread siblings") of the online cpus.
///
/// `first` has at most one reading per cpu, from its best source, and is enough if all agree. `more` has the readings of all sources.
/// `hints` are sets by other means, such as equal numbers; they vote but are not named.
pub fn agree_on_sets(
    what: &str,
    online: &CpuSet,
    first: Vec<SharingReading>,
    more: impl FnOnce() -> Vec<SharingReading>,
    hints: &[CpuSet],
) -> SharingAgreement {
    let sorted = SortedReadings::from_readings(first, online);
    if sorted.useless.is_empty() && sorted.contradicting_cpus().is_empty() {
        return SharingAgreement { sets: sorted.settled_sets(&CpuSet::new()), gap: None };
    }
    let sorted = SortedReadings::from_readings(more(), online);
    let open = sorted.open();
    let mut sets = sorted.settled_sets(&open);
    let open = open.iter().filter(|cpu| !sets.contains_key(cpu)).collect();
    if sorted.can_be_counted(&open) {
        sets.extend(SharingVote::from_readings(&sorted, &open, hints).elect_sets());
    }
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

    /// Returns the set of each cpu by its best source.
    fn best_sets(&self) -> BTreeMap<u32, &CpuSet> {
        let mut best = BTreeMap::new();
        for reading in &self.sound {
            best.entry(reading.cpu).or_insert(&reading.cpus);
        }
        best
    }

    /// Returns the cpus with a set that not all its cpus give, or that shares a cpu without readings with another set.
    fn contradicting_cpus(&self) -> CpuSet {
        let best = self.best_sets();
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
        best.into_iter().filter(|(_, set)| !fine[set]).map(|(cpu, _)| cpu).collect()
    }

    /// Returns all cpus involved in a contradiction.
    fn open(&self) -> CpuSet {
        let best = self.best_sets();
        let mut open: BTreeSet<u32> = self.contradicting_cpus().iter().collect();
        open.extend(self.useless.iter().map(|reading| reading.cpu));
        let mut todo: Vec<u32> = open.iter().copied().collect();
        let mut done: BTreeSet<&CpuSet> = BTreeSet::new();
        while let Some(cpu) = todo.pop() {
            let Some(set) = best.get(&cpu).filter(|set| done.insert(set)) else { continue };
            todo.extend(set.iter().filter(|cpu| open.insert(*cpu)));
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

    /// Returns true if the votes on `open` are within the limits.
    fn can_be_counted(&self, open: &CpuSet) -> bool {
        let sets = || self.sound.iter().filter(|reading| open.contains(reading.cpu)).map(|reading| &reading.cpus);
        let different: BTreeSet<&CpuSet> = sets().collect();
        sets().map(CpuSet::len).sum::<usize>() <= MOST_COUNTED
            && different.into_iter().map(CpuSet::len).sum::<usize>() <= MOST_COMPARED
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
        let SharingReading { cpu, cpus, file } = reading;
        if cpus.is_empty() {
            return format!("{file} names no online cpu");
        }
        if !cpus.contains(*cpu) {
            return format!("{file} says {cpus}, without its own cpu {cpu}");
        }
        let differs = |other: &&SharingReading| {
            other.cpu != *cpu && other.cpus != *cpus && cpus.contains(other.cpu) != believed.contains(other.cpu)
        };
        let other = self.sound.iter().find(differs);
        let against = other.map(|other| format!(", but {} says {}", other.file, other.cpus)).unwrap_or_default();
        format!("{file} says {cpus}{against}")
    }
}

/// The votes of all sources on the open cpus.
struct SharingVote<'a> {
    open: &'a CpuSet,
    /// Sets given for each open cpu.
    said: BTreeMap<u32, Vec<&'a CpuSet>>,
    /// Number of sets that name each cpu.
    named: BTreeMap<u32, u64>,
}

impl<'a> SharingVote<'a> {
    fn from_readings(sorted: &'a SortedReadings, open: &'a CpuSet, hints: &'a [CpuSet]) -> Self {
        let mut said: BTreeMap<u32, Vec<&CpuSet>> = BTreeMap::new();
        for reading in sorted.sound.iter().filter(|reading| open.contains(reading.cpu)) {
            said.entry(reading.cpu).or_default().push(&reading.cpus);
        }
        for hint in hints.iter().filter(|hint| !hint.is_disjoint(open)) {
            hint.iter().filter(|cpu| open.contains(*cpu)).for_each(|cpu| said.entry(cpu).or_default().push(hint));
        }
        let mut named: BTreeMap<u32, u64> = BTreeMap::new();
        for cpu in said.values().flatten().flat_map(|set| set.iter()) {
            *named.entry(cpu).or_default() += 1;
        }
        Self { open, said, named }
    }

    /// Returns the agreement on a set as a fraction: twice the votes within it, over all votes that it should have or that cross its
    /// border. The quotient is 1 if all sources agree.
    fn score_set(&self, set: &CpuSet) -> (u64, u64) {
        let (mut within, mut from, mut voices) = (0, 0, 0);
        for said in set.iter().filter_map(|cpu| self.said.get(&cpu)).flatten() {
            within += said.intersection(set).len() as u64;
            from += said.len() as u64;
            voices += 1;
        }
        let to: u64 = set.iter().filter_map(|cpu| self.named.get(&cpu)).sum();
        let missing = (voices * set.len() as u64).saturating_sub(within);
        (2 * within, (from + to + missing).max(1))
    }

    /// Returns the disjoint sets with the best scores; among equals the larger, then the lower.
    fn elect_sets(&self) -> BTreeMap<u32, CpuSet> {
        let candidates: BTreeSet<&CpuSet> =
            self.said.values().flatten().copied().filter(|set| set.is_subset(self.open)).collect();
        let mut scored: Vec<((u64, u64), &CpuSet)> =
            candidates.into_iter().map(|set| (self.score_set(set), set)).collect();
        scored.sort_by(|((a, of_a), set_a), ((b, of_b), set_b)| {
            let (left, right) = (u128::from(*a) * u128::from(*of_b), u128::from(*b) * u128::from(*of_a));
            right.cmp(&left).then(set_b.len().cmp(&set_a.len())).then(set_a.cmp(set_b))
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::sample::parse_set;
    use proptest::prelude::*;

    /// The sets and the gap of cpus whose lists are given, by the files `listN`, with those of `maskN` behind them.
    fn agreed(lists: &[&str], masks: &[&str], hints: &[&str]) -> (Vec<String>, String) {
        let reading = |name: &str, (cpu, list): (usize, &&str)| {
            (*list != "-").then(|| SharingReading {
                cpu: cpu as u32,
                cpus: parse_set(list),
                file: format!("{name}{cpu}"),
            })
        };
        let first: Vec<SharingReading> = lists.iter().enumerate().filter_map(|item| reading("list", item)).collect();
        let more = || {
            let masks = masks.iter().enumerate().filter_map(|item| reading("mask", item));
            first.iter().cloned().chain(masks).collect()
        };
        let hints: Vec<CpuSet> = hints.iter().map(|list| parse_set(list)).collect();
        let online = CpuSet::first_cpus(lists.len() as u32);
        let found = agree_on_sets("siblings", &online, first.clone(), more, &hints);
        let mut sets: Vec<&CpuSet> = found.sets.values().collect();
        sets.sort();
        sets.dedup();
        (sets.iter().map(|set| set.to_string()).collect(), found.gap.map(|gap| gap.why).unwrap_or_default())
    }

    #[test]
    fn what_all_say_is_believed_without_a_second_source() {
        let first = vec![SharingReading { cpu: 0, cpus: parse_set("0,1,9"), file: "a".into() }];
        let found = agree_on_sets("siblings", &parse_set("0-1"), first, || unreachable!(), &[]);
        assert_eq!((found.sets[&1].to_string(), found.gap), ("0,1".into(), None));
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
            (0..CPUS).map(|cpu| SharingReading { cpu, cpus: set(cpu), file: String::new() }).collect()
        };
        let found = agree_on_sets("siblings", &all, readings(1), || readings(1), &[]);
        assert!(found.sets.is_empty() && found.gap.unwrap().why.ends_with("2492 more files"));
    }

    proptest! {
        #[test]
        fn sets_are_equal_or_apart(lists in proptest::collection::vec(proptest::collection::vec(0_u32..14, 0..6), 0..30)) {
            let reading = |(at, list): (usize, &Vec<u32>)| {
                SharingReading { cpu: at as u32 % 12, cpus: list.iter().copied().collect(), file: at.to_string() }
            };
            let readings: Vec<SharingReading> = lists.iter().enumerate().map(reading).collect();
            let first = readings.iter().take(12).cloned().collect();
            let found = agree_on_sets("x", &CpuSet::first_cpus(12), first, || readings, &[parse_set("0-3")]);
            for (cpu, set) in &found.sets {
                prop_assert!(set.contains(*cpu) && set.iter().all(|other| found.sets.get(&other) == Some(set)));
            }
        }
    }
}
