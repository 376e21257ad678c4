//! Checks that the levels of an assembled machine nest.

use crate::machine::LevelCrossing;
use crate::{CpuSet, Gap, GapSubject, Level, Machine};

/// Returns a gap if levels cut across each other, with the files that list the objects: one crossing of each two levels.
pub fn crossing_gap(machine: &Machine, files: &[(Level, String)]) -> Option<Gap> {
    let crossings = machine.level_crossings();
    let described: Vec<String> = crossings.iter().map(|crossing| describe_crossing(crossing, files)).collect();
    let crossed = crossings.iter().flat_map(|crossing| [crossing.level, crossing.across]);
    let mut subjects: Vec<GapSubject> = crossed.filter_map(GapSubject::from_level).collect();
    subjects.sort_unstable();
    subjects.dedup();
    let why = format!("the system contradicts itself: {}", described.join("; "));
    (!described.is_empty()).then(|| Gap::new("levels that nest", why).about(&subjects))
}

/// Describes a crossing: "node 2-5 lies in several objects of the level package: 0-3 and 4-7 (FILES)".
fn describe_crossing(crossing: &LevelCrossing, files: &[(Level, String)]) -> String {
    let LevelCrossing { level, cpus, across, objects } = crossing;
    let lists: Vec<String> = objects.iter().map(CpuSet::to_string).collect();
    // A cpu in each of the first two objects.
    let parted = objects.iter().filter_map(|object| object.intersection(cpus).lowest()).take(2);
    let of = |cpu: u32| {
        let own = files.iter().filter(|(of, _)| of == level || of == across);
        own.map(|(_, file)| file.replace("{cpu}", &cpu.to_string())).collect::<Vec<_>>()
    };
    let named: Vec<String> = parted.flat_map(of).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
    format!("{level} {cpus} lies in several objects of the level {across}: {}{named}", lists.join(" and "))
}

#[cfg(test)]
mod tests {
    use crate::Level;
    use crate::assemble::assemble_machine;
    use crate::assemble::sample::{cpu_facts, parse_set};
    use crate::facts::NodeFacts;

    #[test]
    fn nodes_that_split_packages_are_a_gap_with_the_files() {
        let mut facts = cpu_facts(8, |cpu| cpu.package = Some(i64::from(cpu.number / 4)));
        let node = |number, list| NodeFacts { number, cpus: parse_set(list), ..NodeFacts::default() };
        facts.nodes = vec![node(0, "0-1"), node(1, "2-5"), node(2, "6-7")];
        facts.level_files = vec![(Level::Package, "cpu{cpu}/package".to_owned())];
        let gaps = assemble_machine(facts).gaps;
        let gap = gaps.iter().find(|gap| gap.what == "levels that nest").expect("a gap");
        assert_eq!(
            gap.why,
            "the system contradicts itself: node 2-5 lies in several objects of the level package: 0-3 and 4-7 (cpu2/package, cpu4/package)"
        );
    }
}
