//! The hardware's own ranking of its cpus.

use std::collections::BTreeMap;

use crate::CpuSet;
use crate::facts::{CpuFacts, MachineFacts};
use crate::machine::{HardwareRank, HardwareRanking, RankingSource};

/// Returns the ranking by the first source that has a number of every cpu, and not the same of all; `None` without one. A clock rate comes
/// last: the same rate is not the same speed.
pub fn rank_cpus(facts: &MachineFacts) -> Option<HardwareRanking> {
    RankingSource::ALL.into_iter().find_map(|source| {
        let rank = |cpu: &CpuFacts| rank_by(source, cpu).filter(|value| *value > 0).map(|value| (cpu.number, value));
        let ranks: Vec<(u32, u64)> = facts.cpus.iter().map(rank).collect::<Option<_>>()?;
        let mut by_value: BTreeMap<u64, CpuSet> = BTreeMap::new();
        ranks.into_iter().for_each(|(cpu, value)| _ = by_value.entry(value).or_default().insert(cpu));
        let ranks = by_value.into_iter().rev().map(|(value, cpus)| HardwareRank { value, cpus }).collect::<Vec<_>>();
        (ranks.len() > 1).then_some(HardwareRanking { source, ranks })
    })
}

fn rank_by(source: RankingSource, cpu: &CpuFacts) -> Option<u64> {
    match source {
        RankingSource::CpuCapacity => cpu.capacity.map(u64::from),
        RankingSource::PreferredCore => cpu.preferred_rank.map(u64::from),
        RankingSource::AcpiCppc => cpu.highest_performance.map(u64::from),
        RankingSource::MaximumFrequency => cpu.maximum_frequency_khz,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::sample::cpu_facts;

    fn ranks(facts: &MachineFacts) -> Vec<String> {
        let ranking = rank_cpus(facts).into_iter();
        let describe = |ranking: HardwareRanking| {
            let rank = |rank: &HardwareRank| format!("{} {} {}", ranking.source.word(), rank.value, rank.cpus);
            ranking.ranks.iter().map(rank).collect::<Vec<_>>()
        };
        ranking.flat_map(describe).collect()
    }

    #[test]
    fn the_first_source_that_tells_cpus_apart_ranks_them() {
        let mut facts = cpu_facts(3, |cpu| {
            cpu.capacity = Some(1024);
            cpu.highest_performance = Some([196, 186, 132][cpu.number as usize]);
            cpu.maximum_frequency_khz = Some([5_000_000, 5_000_000, 3_300_000][cpu.number as usize]);
        });
        assert_eq!(ranks(&facts), ["acpi_cppc 196 0", "acpi_cppc 186 1", "acpi_cppc 132 2"]);
        facts.cpus.iter_mut().for_each(|cpu| cpu.preferred_rank = Some(if cpu.number == 1 { 200 } else { 100 }));
        assert_eq!(ranks(&facts), ["amd_pstate_prefcore_ranking 200 1", "amd_pstate_prefcore_ranking 100 0,2"]);
        facts.cpus[0].preferred_rank = None;
        facts.cpus[1].highest_performance = Some(0);
        assert_eq!(ranks(&facts), ["cpuinfo_max_freq 5000000 0,1", "cpuinfo_max_freq 3300000 2"]);
        assert_eq!(ranks(&cpu_facts(3, |cpu| cpu.capacity = Some(1024))), [""; 0]);
    }
}
