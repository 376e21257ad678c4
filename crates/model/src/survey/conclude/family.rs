//! All tests of a survey as one family: each quantity of the cpus among their peers, and the speed of caches and kinds.

use std::collections::BTreeMap;

use corewise_machine::{CpuSet, Level};

use super::quantity::{self, CpuQuantity, QuantityTable, QuantityTest};
use super::{ERROR_RATE, formats};
use crate::Survey;
use corewise_statistics::blocks::{RoundTable, differing_columns};

/// The test of a quantity within one group of peers.
pub struct PeerTest {
    /// The cpus that were compared with each other.
    pub group: Vec<u32>,
    /// The result; its columns are the group's cpus.
    pub tested: QuantityTest,
}

/// The results of all tests of a survey.
pub struct SurveyTests {
    /// The tests of each quantity within each group of peers.
    pub of_peers: [(CpuQuantity, Vec<PeerTest>); 4],
    /// The cpus of each last-level cache or kind by name, if there are several.
    pub groups: BTreeMap<String, Vec<u32>>,
    /// The test of these groups' speed; `None` if there are not several.
    pub of_groups: Option<QuantityTest>,
}

impl SurveyTests {
    /// Runs all tests: among equal cpus, any of them finds a difference with a probability of at most [`ERROR_RATE`].
    pub fn run(survey: &Survey) -> Self {
        let peers = quantity::peer_groups(survey);
        let groups = Some(named_groups(survey)).filter(|groups| groups.len() > 1).unwrap_or_default();
        let of_cpus =
            CpuQuantity::ALL.into_iter().flat_map(|quantity| peers.iter().map(move |group| (quantity, group)));
        let of_cpus: Vec<(CpuQuantity, &Vec<u32>, QuantityTable)> = of_cpus
            .filter_map(|(quantity, group)| {
                let columns: Vec<Vec<u32>> = group.iter().map(|&cpu| vec![cpu]).collect();
                Some((quantity, group, QuantityTable::new(quantity, survey, &columns)?))
            })
            .collect();
        let columns: Vec<Vec<u32>> = groups.values().cloned().collect();
        let of_groups = QuantityTable::new(CpuQuantity::Median, survey, &columns).filter(|_| !groups.is_empty());
        let tables: Vec<RoundTable> =
            of_cpus.iter().map(|(_, _, table)| table).chain(&of_groups).map(QuantityTable::tested_rows).collect();
        let found = differing_columns(&tables, ERROR_RATE, survey.provenance.seed);
        let found_in = |index: usize| found.iter().filter(|found| found.table == index).copied().collect::<Vec<_>>();
        let peer_test = |(index, (_, group, table)): (usize, &(CpuQuantity, &Vec<u32>, QuantityTable))| {
            let tested = table.sort_columns(&found_in(index), &|columns| name_peers(group, columns));
            PeerTest { group: (*group).clone(), tested }
        };
        let mut tested: Vec<PeerTest> = of_cpus.iter().enumerate().map(peer_test).collect();
        let of_peers = CpuQuantity::ALL.map(|quantity| {
            (quantity, tested.extract_if(.., |test| test.tested.quantity == quantity).collect::<Vec<PeerTest>>())
        });
        let names: Vec<&String> = groups.keys().collect();
        let name = |others: &[usize]| match others {
            [one] => names[*one].clone(),
            _ => "the others".to_owned(),
        };
        let of_groups = of_groups.map(|table| table.sort_columns(&found_in(of_cpus.len()), &name));
        Self { of_peers, groups, of_groups }
    }
}

fn name_peers(group: &[u32], columns: &[usize]) -> String {
    let others: CpuSet = columns.iter().map(|&column| group[column]).collect();
    if others.len() == 1 {
        formats::format_cpus(&others)
    } else {
        format!("the median of {}", formats::format_cpus(&others))
    }
}

/// Returns the groups by name: "performance", "llc:1", or "llc:1 efficiency" if caches and kinds cut across each other.
fn named_groups(survey: &Survey) -> BTreeMap<String, Vec<u32>> {
    let machine = &survey.machine;
    let mut groups = BTreeMap::<String, Vec<u32>>::new();
    for seen in &survey.cpus {
        let llc = machine.index_of(Level::Llc, seen.cpu).filter(|_| machine.llcs.len() > 1);
        let kind = machine.kind_of(seen.cpu).map(|kind| kind.core_type.word());
        let name = match (llc, kind) {
            (Some(llc), Some(kind)) => format!("llc:{llc} {kind}"),
            (Some(llc), None) => format!("llc:{llc}"),
            (None, Some(kind)) => kind.to_owned(),
            (None, None) => continue,
        };
        groups.entry(name).or_default().push(seen.cpu);
    }
    groups
}
