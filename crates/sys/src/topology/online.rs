//! Determines the online cpus from the kernel's list, /proc/cpuinfo and the cpus' own folders.

use std::collections::BTreeMap;

use corewise_machine::{CpuSet, Gap, GapSubject};

use super::cpuinfo::CpuInfo;
use super::limits::CPUS;
use super::reader::ValueReader;

/// Maximum cpus whose own files are named in a gap.
const MOST_NAMED: usize = 4;

/// Online cpus by source; `None` for a missing source.
struct OnlineSources {
    /// The kernel's list.
    listed: Option<CpuSet>,
    /// The cpus of /proc/cpuinfo.
    in_cpuinfo: Option<CpuSet>,
    /// The cpus with a topology in their folder that are not switched off by their own file; all folders on kernels without any topology.
    in_folders: Option<CpuSet>,
    /// The word in each cpu's own file, which says "0" if the cpu is switched off.
    own_files: BTreeMap<u32, String>,
    /// The cpus that are plugged in: an upper bound, since it includes cpus that are switched off.
    present: Option<CpuSet>,
}

/// Returns the online cpus. If the sources contradict each other the majority decides. If that is split, it is the kernel's list within the
/// cpus that are plugged in; without the list, every cpu of any source.
pub fn read_online(reader: &ValueReader, info: &CpuInfo) -> Option<CpuSet> {
    let filled = |set: CpuSet| Some(set).filter(|set| !set.is_empty());
    let numbers = reader.numbered_cpus(CPUS, "cpu");
    let own_file = |cpu| Some((cpu, reader.read_word(&own_file_path(cpu))?));
    let own_files: BTreeMap<u32, String> = numbers.iter().filter_map(own_file).collect();
    let on = numbers.iter().filter(|cpu| own_files.get(cpu).is_none_or(|word| word != "0")).collect();
    let (in_folders, has_topology) = in_folders(reader, on);
    let sources = OnlineSources {
        listed: reader.read_list(&format!("{CPUS}/online")).and_then(filled),
        in_cpuinfo: filled(info.listed_cpus()),
        in_folders: filled(in_folders),
        own_files,
        present: reader.read_list(&format!("{CPUS}/present")).and_then(filled),
    };
    // Folders without a topology include folders of offline cpus: they add no evidence beside a better source.
    let sources = match &sources {
        OnlineSources { listed: None, in_cpuinfo: None, .. } => sources,
        _ if has_topology => sources,
        _ => OnlineSources { in_folders: None, ..sources },
    };
    let online = sources.majority_online()?;
    if let Some(gap) = sources.contradiction_gap(&online) {
        reader.add_doubt(gap);
    }
    Some(online)
}

fn own_file_path(cpu: u32) -> String {
    format!("{CPUS}/cpu{cpu}/online")
}

/// Returns the cpus that have a topology; all of them if none has one.
fn in_folders(reader: &ValueReader, cpus: CpuSet) -> (CpuSet, bool) {
    let has_topology = |cpu: &u32| !reader.folder_names(&format!("{CPUS}/cpu{cpu}/topology")).is_empty();
    let with_topology: CpuSet = cpus.iter().filter(has_topology).collect();
    if with_topology.is_empty() { (cpus, false) } else { (with_topology, true) }
}

impl OnlineSources {
    fn majority_online(&self) -> Option<CpuSet> {
        let sources = [&self.listed, &self.in_cpuinfo, &self.in_folders];
        let all = sources.iter().filter_map(|set| set.as_ref()).cloned().reduce(|a, b| a.union(&b))?;
        if sources.iter().all(|set| set.as_ref().is_none_or(|set| *set == all)) && self.is_present(&all) {
            return Some(all);
        }
        let online: CpuSet = all.iter().filter(|cpu| self.is_online(*cpu)).collect();
        Some(if online.is_empty() { all } else { online })
    }

    fn is_present(&self, cpus: &CpuSet) -> bool {
        self.present.as_ref().is_none_or(|present| cpus.is_subset(present))
    }

    fn is_online(&self, cpu: u32) -> bool {
        let votes =
            [&self.listed, &self.in_cpuinfo, &self.in_folders].map(|set| set.as_ref().map(|set| set.contains(cpu)));
        let present = self.is_present(&CpuSet::from_cpu(cpu));
        let votes = votes
            .into_iter()
            .chain([(!present).then_some(false), self.own_files.get(&cpu).filter(|word| *word == "0").map(|_| false)])
            .flatten();
        let (yes, no): (Vec<bool>, Vec<bool>) = votes.partition(|vote| *vote);
        match yes.len().cmp(&no.len()) {
            std::cmp::Ordering::Equal => self.listed.as_ref().is_none_or(|listed| listed.contains(cpu) && present),
            order => order.is_gt(),
        }
    }

    /// Returns the gap that names the contradicting sources.
    fn contradiction_gap(&self, online: &CpuSet) -> Option<Gap> {
        let folders = format!("the topology folders in {CPUS}/cpu*/");
        let list = format!("{CPUS}/online");
        let sources =
            [(&self.listed, list.as_str()), (&self.in_cpuinfo, "proc/cpuinfo"), (&self.in_folders, folders.as_str())];
        let named: Vec<(&CpuSet, &str)> =
            sources.into_iter().filter_map(|(set, name)| Some((set.as_ref()?, name))).collect();
        let present = self
            .present
            .as_ref()
            .filter(|_| !self.is_present(online) || named.iter().any(|(set, _)| !self.is_present(set)));
        if named.iter().all(|(set, _)| *set == online) && present.is_none() {
            return None;
        }
        let mut said: Vec<String> = named.iter().map(|(set, name)| format!("{name}: {set}")).collect();
        let all = named.iter().fold(CpuSet::new(), |all, (set, _)| all.union(set));
        let differing = all.iter().filter(|cpu| named.iter().any(|(set, _)| !set.contains(*cpu)));
        said.extend(differing.take(MOST_NAMED).filter_map(|cpu| {
            let file = own_file_path(cpu);
            match self.own_files.get(&cpu) {
                Some(word) => Some(format!("{file}: {word}")),
                // The first cpu has none if it cannot be switched off.
                None => (cpu > 0 && !self.own_files.is_empty()).then(|| format!("{file} is missing")),
            }
        }));
        said.extend(present.map(|present| format!("{CPUS}/present: {present}")));
        let why = format!("sources contradict each other, {online} is used; {}", said.join("; "));
        Some(Gap::new("online cpus", why).about(&[GapSubject::Cpus]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    /// The online cpus and the gap, by the list, the present cpus, those of /proc/cpuinfo, and those with a topology.
    fn found(list: &str, present: &str, cpuinfo: &str, folders: &str) -> (String, String) {
        let set = |text: &str| CpuSet::parse_list(text).unwrap();
        let mut files = vec![("none".to_owned(), String::new())];
        let lists = [(list, "online"), (present, "present")];
        files.extend(
            lists
                .into_iter()
                .filter(|(text, _)| !text.is_empty())
                .map(|(text, name)| (format!("{CPUS}/{name}"), text.to_owned())),
        );
        files.extend(set(folders).iter().map(|cpu| (format!("{CPUS}/cpu{cpu}/topology/core_id"), "0".to_owned())));
        let root = Root::from_files(files);
        let info: String = set(cpuinfo).iter().map(|cpu| format!("processor : {cpu}\n\n")).collect();
        let reader = ValueReader::new(&root);
        let online = read_online(&reader, &CpuInfo::parse(&info)).unwrap_or_default();
        (online.to_string(), reader.into_gaps().into_iter().map(|gap| gap.why).collect())
    }

    #[test]
    fn sources_that_agree_need_no_vote() {
        assert_eq!(found("0-3", "0-7", "0-3", "0-3"), ("0-3".into(), String::new()));
        assert_eq!(found("", "", "0-1", ""), ("0,1".into(), String::new()));
        assert_eq!(found("0-3", "", "", ""), ("0-3".into(), String::new()));
    }

    #[test]
    fn one_source_against_two_is_not_believed() {
        for (list, cpuinfo, folders, named) in [
            ("0-1", "0-3", "0-3", "cpu/online: 0,1"),
            ("0-9", "0-3", "0-3", "cpu/online: 0-9"),
            ("0-3", "0-2", "0-3", "proc/cpuinfo: 0-2"),
            ("0-3", "0-3", "0-2", "folders in sys/devices/system/cpu/cpu*/: 0-2"),
        ] {
            let (online, gap) = found(list, "0-3", cpuinfo, folders);
            assert_eq!((online.as_str(), gap.contains(named)), ("0-3", true), "{gap}");
        }
    }

    #[test]
    fn online_cpus_are_plugged_in() {
        let (online, gap) = found("0-9", "0-3", "", "");
        assert_eq!((online.as_str(), gap.contains("cpu/present: 0-3")), ("0-3", true), "{gap}");
        let (online, gap) = found("0-3", "0", "0-3", "0-3");
        assert_eq!((online.as_str(), gap.contains("cpu/present: 0")), ("0-3", true), "{gap}");
    }

    #[test]
    fn a_missing_file_hides_no_cpu_that_cpuinfo_lists() {
        let (online, gap) = found("", "", "0-3", "0-2");
        assert_eq!((online.as_str(), gap.is_empty()), ("0-3", false));
        let folder = |cpu: u32| format!("{CPUS}/cpu{cpu}");
        let root = Root::from_files([(folder(0) + "/topology/core_id", "0"), (folder(1) + "/online", "0")]);
        let info = CpuInfo::parse("processor : 0\nprocessor : 1\n");
        assert_eq!(
            super::read_online(&ValueReader::new(&root), &info),
            Some(CpuSet::from_cpu(0)),
            "its own file says that it is off"
        );
    }
}
