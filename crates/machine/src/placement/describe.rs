//! Names for sets of cpus on a machine: the inverse of resolution.

use crate::{CpuSet, Level, Machine};

/// Returns the plainest expression for these cpus: a kind of core, one object of a level, or else a list. A single cpu is its number, even if
/// it is also the whole of some level's object.
pub fn describe_cpus(cpus: &CpuSet, machine: &Machine) -> String {
    let kind = machine.kinds.iter().find(|kind| kind.cpus == *cpus).map(|kind| kind.core_type.word().to_owned());
    let object = || {
        let levels = [Level::Llc, Level::Cluster, Level::Die, Level::Node, Level::Package];
        levels.into_iter().find_map(|level| {
            let objects = machine.objects_of(level);
            let index = objects.iter().position(|object| object == cpus).filter(|_| objects.len() > 1)?;
            Some(format!("{level}:{index}"))
        })
    };
    kind.or_else(|| object().filter(|_| cpus.len() > 1)).unwrap_or_else(|| cpus.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::sample::{bulldozer, hybrid, parse_set, resolve_cpus, stacked};
    use super::*;

    #[test]
    fn sets_have_names_that_mean_them() {
        let machines =
            [(stacked(), "0-7,16-23", "llc:0"), (hybrid(), "16-31", "efficiency"), (hybrid(), "16-19", "cluster:8")];
        for (machine, list, name) in machines {
            assert_eq!(describe_cpus(&parse_set(list), &machine), name);
            assert_eq!(resolve_cpus(&machine, name), list);
        }
        assert_eq!(
            describe_cpus(&parse_set("0-7"), &bulldozer()),
            "0-7",
            "the whole of a machine has no name of a part"
        );
        assert_eq!(describe_cpus(&parse_set("1-31"), &stacked()), "1-31");
        let alone = Machine { clusters: bulldozer().cores, ..bulldozer() };
        assert!(alone.clusters.len() > 1 && alone.clusters.iter().all(|cluster| cluster.cpus.len() == 1));
        assert_eq!(describe_cpus(&parse_set("1"), &alone), "1", "not \"cluster:1\"");
    }
}
