//! Division of cpus among ranks, workers or devices: disjoint parts of whole cores, and of whole caches if they come out about even.

use super::order::cores_first;
use super::places::CpuPlaces;
use crate::{CpuSet, Level, Machine};

/// Levels along which cores are lined up and cut, the most important first. With each, the maximum distance of a cut at the edge of an
/// object from its even place, as a share of a part: less than a half, so that cuts never meet.
const CUT_LEVELS: [(Level, f64); 5] =
    [(Level::Package, 0.25), (Level::Node, 0.25), (Level::Die, 0.25), (Level::Llc, 0.25), (Level::Cluster, 0.125)];

/// Reason why cpus cannot be divided.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// There are no parts.
    #[error("there must be at least 1 part")]
    NoPart,
    /// There are more parts than cpus.
    #[error("{parts} parts of {}: each needs one", super::order::format_counted(cpus))]
    TooMany {
        /// The number of parts.
        parts: usize,
        /// The cpus to divide.
        cpus: CpuSet,
    },
}

/// A core, with its cpus in the divided set.
struct SplitCore {
    cpus: Vec<u32>,
    objects: [u32; CUT_LEVELS.len()],
}

/// Divides cpus into disjoint parts that together are all of them. Each part lists its cpus in the order in which threads take them.
///
/// Cores stay whole if there are at least as many as parts. The parts have about as many cores each; a cut moves to the edge of a package,
/// node, die or last-level cache if that is within a quarter of a part, and to that of a cluster within an eighth.
///
/// # Errors
/// If there is no part, or there are more parts than cpus.
///
/// # Examples
/// ```
/// use corewise_machine::{CpuSet, generate::one_package_machine, placement::split_cpus};
///
/// // Last-level caches of 3 and of 5 cores, siblings n and n + 8.
/// let llcs = [(CpuSet::parse_list("0-2,8-10")?, 16), (CpuSet::parse_list("3-7,11-15")?, 16)];
/// let machine = one_package_machine(16, true, &llcs);
/// let halves = split_cpus(&machine, &machine.allowed, 2)?;
/// assert_eq!(halves, [vec![0, 1, 2, 8, 9, 10], vec![3, 4, 5, 6, 7, 11, 12, 13, 14, 15]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn split_cpus(machine: &Machine, cpus: &CpuSet, parts: usize) -> Result<Vec<Vec<u32>>, SplitError> {
    if parts == 0 {
        return Err(SplitError::NoPart);
    }
    if parts > cpus.len() {
        return Err(SplitError::TooMany { parts, cpus: cpus.clone() });
    }
    let places = CpuPlaces::new(machine);
    let cores = line_up_cores(cpus, &places);
    if parts > cores.len() {
        return Ok(divide_cores(cores, parts));
    }
    let cuts: Vec<usize> = (0..=parts).map(|cut| place_cut(cut, parts, &cores)).collect();
    let part = |pair: &[usize]| {
        let cpus: CpuSet = cores[pair[0]..pair[1]].iter().flat_map(|core| core.cpus.iter().copied()).collect();
        cores_first(cpus.iter(), &places)
    };
    Ok(cuts.windows(2).map(part).collect())
}

/// Divides cpus among parts that each belong to some cpus, such as those near a device. Parts that belong to the same cpus share these as
/// [`split_cpus`] does; cpus that belong to several are given to the first.
///
/// # Errors
/// If there is no part, or more parts belong to some cpus than there are left.
pub fn split_near(machine: &Machine, cpus: &CpuSet, homes: &[CpuSet]) -> Result<Vec<Vec<u32>>, SplitError> {
    if homes.is_empty() {
        return Err(SplitError::NoPart);
    }
    let mut left = cpus.clone();
    let mut parts: Vec<Vec<u32>> = vec![Vec::new(); homes.len()];
    for (first, home) in homes.iter().enumerate() {
        if !parts[first].is_empty() {
            continue;
        }
        let sharing: Vec<usize> = (first..homes.len()).filter(|other| homes[*other] == *home).collect();
        let own = left.intersection(home);
        left = left.difference(&own);
        for (part, cpus) in sharing.iter().zip(split_cpus(machine, &own, sharing.len())?) {
            parts[*part] = cpus;
        }
    }
    Ok(parts)
}

/// Returns the cores in machine order, each with its cpus of the set.
fn line_up_cores(cpus: &CpuSet, places: &CpuPlaces) -> Vec<SplitCore> {
    // The cores of cpus that are offline are unknown: each counts as one.
    let (known, lone): (Vec<u32>, Vec<u32>) = cpus.iter().partition(|cpu| places.is_in_one(*cpu, Level::Core));
    let mut cores = places.group_by_level(&known, Level::Core);
    cores.extend(lone.into_iter().map(|cpu| vec![cpu]));
    let core =
        |cpus: Vec<u32>| SplitCore { objects: CUT_LEVELS.map(|(level, _)| places.object_of(cpus[0], level)), cpus };
    let mut cores: Vec<SplitCore> = cores.into_iter().map(core).collect();
    cores.sort_by(|a, b| (a.objects, &a.cpus).cmp(&(b.objects, &b.cpus)));
    cores
}

/// Divides as many cores as necessary; the others are a part each.
fn divide_cores(cores: Vec<SplitCore>, parts: usize) -> Vec<Vec<u32>> {
    let mut missing = parts - cores.len();
    let mut divided = Vec::with_capacity(parts);
    for core in cores {
        let more = missing.min(core.cpus.len() - 1);
        missing -= more;
        let (single, rest) = core.cpus.split_at(more);
        divided.extend(single.iter().map(|cpu| vec![*cpu]));
        divided.push(rest.to_vec());
    }
    divided
}

/// Returns the place of a cut: the even one, or the nearest edge of the outermost level that has one near enough. There are at least as many
/// cores as parts.
fn place_cut(cut: usize, parts: usize, cores: &[SplitCore]) -> usize {
    let size = cores.len() as f64 / parts as f64;
    let even = size * cut as f64;
    if cut == 0 || cut == parts {
        return even.round() as usize;
    }
    let distance = |place: &usize| (*place as f64 - even).abs();
    let edge = |(index, (_, tolerance)): (usize, (Level, f64))| {
        let (low, high) = ((even - tolerance * size).ceil() as usize, (even + tolerance * size).floor() as usize);
        let is_edge = |at: &usize| cores[at - 1].objects[index] != cores[*at].objects[index];
        let edges = (low.max(1)..=high.min(cores.len() - 1)).filter(is_edge);
        edges.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    };
    CUT_LEVELS.into_iter().enumerate().find_map(edge).unwrap_or(even.round() as usize)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{bulldozer, stacked};
    use super::*;

    fn shown(machine: &Machine, list: &str, parts: usize) -> Vec<String> {
        let cpus = if list.is_empty() { machine.allowed.clone() } else { CpuSet::parse_list(list).unwrap() };
        let found = split_cpus(machine, &cpus, parts).unwrap();
        found.into_iter().map(|cpus| cpus.into_iter().collect::<CpuSet>().to_string()).collect()
    }

    #[test]
    fn cuts_lie_at_the_edges_of_caches_and_clusters() {
        assert_eq!(shown(&stacked(), "", 2), ["0-7,16-23", "8-15,24-31"]);
        assert_eq!(shown(&stacked(), "0-7,10-15,16-23,26-31", 2), ["0-7,16-23", "10-15,26-31"]);
        assert_eq!(shown(&bulldozer(), "", 4), ["0,1", "2,3", "4,5", "6,7"]);
        assert_eq!(shown(&bulldozer(), "", 3), ["0-2", "3,4", "5-7"], "even parts are worth more than whole modules");
    }

    #[test]
    fn cores_are_divided_only_among_more_parts_than_cores() {
        assert_eq!(shown(&stacked(), "0,1,16,17", 3), ["0", "16", "1,17"]);
        let error = |parts| split_cpus(&stacked(), &CpuSet::from_cpu(3), parts).unwrap_err().to_string();
        assert_eq!(error(2), "2 parts of cpu 3: each needs one");
        assert_eq!(error(0), "there must be at least 1 part");
    }

    #[test]
    fn parts_of_one_device_share_its_cpus() {
        let machine = stacked();
        let homes = ["8-15,24-31", "0-7,16-23", "8-15,24-31"].map(|list| CpuSet::parse_list(list).unwrap());
        let parts = split_near(&machine, &machine.allowed, &homes).unwrap();
        let shown = parts.into_iter().map(|cpus| cpus.into_iter().collect::<CpuSet>().to_string());
        assert_eq!(shown.collect::<Vec<_>>(), ["8-11,24-27", "0-7,16-23", "12-15,28-31"]);
    }
}
