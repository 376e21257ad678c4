use corewise_machine::random::RandomGenerator;
use corewise_machine::{CpuSet, Machine};

use super::*;
use crate::artifact::ArtifactOrigin;
use crate::links::{CostMatrix, CpuRelation, CpuRelationTable, LinkPair};
use crate::simulate::layout::MachineLayout;
use corewise_machine::SuggestedCommand;

const PACKAGES: MachineLayout = MachineLayout { packages: 3, caches: 1, cores: 4, threads: 1, adjacent: false };

/// A map of all pairs with six visits from each side; `cost` is asked with the cpu that begins first.
fn map(machine: Machine, cost: impl Fn(u32, u32) -> f64) -> LinkMap {
    let mut random = RandomGenerator::new(1);
    let cpus: Vec<u32> = machine.allowed.iter().collect();
    let mut visits = |cost: f64| (0..6).map(|_| cost * (0.01 * random.next_normal()).exp()).collect::<Vec<f64>>();
    let mut pairs = Vec::new();
    for (place, &a) in cpus.iter().enumerate() {
        for &b in &cpus[place + 1..] {
            pairs.push(LinkPair::of_both(a, b, visits(cost(a, b)), visits(cost(b, a))));
        }
    }
    LinkMap::of_pairs(machine, pairs)
}

fn statements(conclusions: &LinkConclusions) -> Vec<&str> {
    conclusions.findings.iter().map(|finding| finding.statement.as_str()).collect()
}

/// Inside a package 80 ns, between them 200 ns; half as much again from node 2 to cpus of node 0.
#[test]
fn a_home_that_matters_between_two_nodes_of_three_is_told_of_these_two() {
    let found = conclude_map(&map(PACKAGES.build_machine(), |first, second| match (first / 4, second / 4) {
        (2, 0) => 300.0,
        (one, other) if one == other => 80.0,
        _ => 200.0,
    }));
    let home = found.findings.iter().find(|finding| finding.statement.contains("The memory's node matters")).unwrap();
    assert!(home.statement.contains("between nodes 0 and 2 costs 1.5"), "{}", home.statement);
    assert!(home.statement.ends_with("with the memory on node 2."), "{}", home.statement);
    assert_eq!(
        home.command.as_ref().map(SuggestedCommand::shell_line).as_deref(),
        Some("corewise run --on all --memory bind:node:0 -- ./app")
    );
    let effect = &home.effects[0];
    assert!(effect.low > 1.45 && effect.high < 1.55, "{effect:?}");
}

#[test]
fn homes_that_cost_the_same_are_told_as_no_difference() {
    let found = conclude_map(&map(
        PACKAGES.build_machine(),
        |first, second| if first / 4 == second / 4 { 80.0 } else { 200.0 },
    ));
    assert!(statements(&found).iter().all(|statement| !statement.contains("memory's node matters")), "{found:?}");
    assert!(found.no_difference.iter().any(|told| told.contains("the memory's node changes")), "{found:?}");
}

#[test]
fn classes_are_the_levels_that_cost_apart_and_siblings_are_always_one_of_their_own() {
    let layout = MachineLayout { packages: 2, caches: 2, cores: 3, threads: 2, adjacent: true };
    let machine = layout.build_machine();
    let of = |cost: fn(CpuRelation) -> f64| {
        let told = CpuRelationTable::new(&machine);
        let found = conclude_map(&map(machine.clone(), |a, b| cost(told.relation_between(a, b).unwrap())));
        let classes = found.kinds.into_iter().next().unwrap().classes;
        classes.into_iter().map(|class| (class.words, class.pairs)).collect::<Vec<_>>()
    };
    let all = of(|relation| match relation {
        CpuRelation::SameCore => 8.0,
        CpuRelation::SameCluster | CpuRelation::SameLlc | CpuRelation::SameLlcOtherNode => 30.0,
        CpuRelation::OtherPackage => 250.0,
        _ => 90.0,
    });
    let words = |classes: &[(String, u64)]| classes.iter().map(|(words, _)| words.clone()).collect::<Vec<_>>();
    assert_eq!(words(&all), ["same core", "same group", "other group, same package", "other package"]);
    assert_eq!(all.iter().map(|(_, pairs)| *pairs).collect::<Vec<_>>(), [12, 48, 72, 144]);
    // One cost for all: two classes, since siblings are no question of cost.
    let flat = of(|_| 50.0);
    assert_eq!(flat.len(), 2, "{flat:?}");
    assert_eq!(flat.iter().map(|(_, pairs)| *pairs).sum::<u64>(), 276);
}

#[test]
fn groups_that_the_kernel_hides_are_told_with_the_cache_that_they_divide() {
    // One cache of eight cores for the kernel, two halves for the costs.
    let machine = MachineLayout { packages: 1, caches: 1, cores: 8, threads: 1, adjacent: false }.build_machine();
    let found = conclude_map(&map(machine, |a, b| if a / 4 == b / 4 { 25.0 } else { 80.0 }));
    let told = statements(&found);
    assert!(
        told.contains(&"The kernel reports one last-level cache for cpus 0-7, but the costs show 2 groups: 0-3 | 4-7."),
        "{told:?}"
    );
    assert!(matches!(found.groups.unwrap().agreement, Some(KernelAgreement::Finer { .. })));
}

#[test]
fn groups_are_held_against_every_level_that_the_kernel_tells() {
    let machine = MachineLayout { packages: 2, caches: 2, cores: 2, threads: 1, adjacent: false }.build_machine();
    let agreement = |groups: &[&str]| {
        let groups: Vec<CpuSet> = groups.iter().map(|cpus| cpus.parse().unwrap()).collect();
        KernelAgreement::compare_groups(&groups, &machine, &machine.allowed)
    };
    use corewise_machine::Level;
    assert_eq!(agreement(&["0-1", "2-3", "4-5", "6-7"]), KernelAgreement::Same { level: Level::Llc });
    assert!(matches!(
        agreement(&["0-3", "4-7"]),
        KernelAgreement::Same { level: Level::Die | Level::Node | Level::Package }
    ));
    assert!(matches!(agreement(&["0", "1", "2-3", "4-5", "6-7"]), KernelAgreement::Finer { level: Level::Llc, .. }));
    assert_eq!(agreement(&["0-1", "2-3", "4-7"]), KernelAgreement::Coarser { level: Level::Llc }, "no die is hidden");
    assert_eq!(agreement(&["0,2", "1,3", "4-7"]), KernelAgreement::Across);
}

#[test]
fn what_was_not_measured_is_predicted_and_what_was_held_out_says_how_well() {
    let layout = MachineLayout { packages: 2, caches: 4, cores: 4, threads: 1, adjacent: false };
    let machine = layout.build_machine();
    let told = CpuRelationTable::new(&machine);
    let mut map = map(machine, |a, b| match told.relation_between(a, b).unwrap() {
        CpuRelation::OtherPackage => 250.0,
        CpuRelation::SameCluster | CpuRelation::SameLlc | CpuRelation::SameLlcOtherNode => 30.0,
        _ => 90.0,
    });
    let series = &mut map.series[0];
    let all = std::mem::take(&mut series.links.pairs);
    for (index, pair) in all.into_iter().enumerate() {
        match index % 5 {
            0 | 1 => series.links.pairs.push(pair),
            2 => series.held_out.push(pair),
            _ => {}
        }
    }
    let filled = FilledSeries::from_series(&map.series[0], &map);
    let held_out = filled.held_out.unwrap();
    assert_eq!(held_out.pairs, 99);
    assert!(held_out.median < 0.01 && held_out.p95 < 0.03, "{held_out:?}");
    assert_eq!(filled.all.known_pairs().count(), 496);
    assert_eq!(filled.predicted, 496 - 199 - 99);
    for (i, j, cost) in filled.all.known_pairs() {
        let true_cost = match told.relation_between(i as u32, j as u32).unwrap() {
            CpuRelation::OtherPackage => 250.0,
            CpuRelation::SameCluster | CpuRelation::SameLlc | CpuRelation::SameLlcOtherNode => 30.0,
            _ => 90.0,
        };
        assert!((cost / true_cost - 1.0).abs() < 0.05, "{i} {j}: {cost}");
    }
}

/// Two packages of four caches of four cores: 30 ns inside a cache, 90 inside a package, and 250 between packages.
fn levelled(relation: CpuRelation) -> f64 {
    match relation {
        CpuRelation::OtherPackage => 250.0,
        CpuRelation::SameCluster | CpuRelation::SameLlc | CpuRelation::SameLlcOtherNode => 30.0,
        _ => 90.0,
    }
}

/// All pairs inside packages were measured and few between them: in the machine these are still more than half.
#[test]
fn summaries_are_of_the_machine_and_not_of_the_pairs_that_were_measured() {
    let layout = MachineLayout { packages: 2, caches: 4, cores: 4, threads: 1, adjacent: false };
    let told = CpuRelationTable::new(&layout.build_machine());
    // No step between caches of one package and of two: one tier, of which 192 pairs cost 100 ns and 256 cost 118.
    let cost = |relation: CpuRelation| match levelled(relation) {
        250.0 => 118.0,
        90.0 => 100.0,
        inside => inside,
    };
    let whole = map(layout.build_machine(), |a, b| cost(told.relation_between(a, b).unwrap()));
    let mut few = whole.clone();
    let all = std::mem::take(&mut few.series[0].links.pairs);
    for (index, pair) in all.into_iter().enumerate() {
        let is_far = told.relation_between(pair.a, pair.b) == Some(CpuRelation::OtherPackage);
        match index % 8 {
            0 if is_far => few.series[0].links.pairs.push(pair),
            1 if is_far => few.series[0].held_out.push(pair),
            _ if is_far => {}
            _ => few.series[0].links.pairs.push(pair),
        }
    }
    let across = |map: &LinkMap| conclude_map(map).kinds[0].classes[1].clone();
    let (whole, few) = (across(&whole), across(&few));
    assert!(few.predicted > 150 && whole.predicted == 0, "{few:?}");
    assert!((few.median_ns / whole.median_ns - 1.0).abs() < 0.02, "{} and {}", few.median_ns, whole.median_ns);
    assert!((few.high_ns / whole.high_ns - 1.0).abs() < 0.03 && (few.low_ns / whole.low_ns - 1.0).abs() < 0.03);
    let (low, high) = few.interval_ns.unwrap();
    assert!(low <= whole.median_ns && whole.median_ns <= high, "{low} to {high}: {}", whole.median_ns);
    assert!(few.held_out.unwrap().median < 0.02, "{few:?}");
}

/// 22, 85 and 210 ns: the sentence names the next group, not only the farthest.
#[test]
fn each_step_of_the_hierarchy_is_said_once() {
    let layout = MachineLayout { packages: 2, caches: 4, cores: 4, threads: 1, adjacent: false };
    let told = CpuRelationTable::new(&layout.build_machine());
    let found = conclude_map(&map(layout.build_machine(), |a, b| levelled(told.relation_between(a, b).unwrap())));
    let statement = statements(&found)[0];
    assert!(
        statement.starts_with("8 groups of 4 cores: inside 30 ns one way; other group, same package 90 ns (3.0x ["),
        "{statement}"
    );
    assert!(statement.contains("; other package 250 ns (8.3x ["), "{statement}");
    assert_eq!(found.findings[0].effects.len(), 2);
    let words: Vec<&str> = found.kinds[0].classes.iter().map(|class| class.words.as_str()).collect();
    assert_eq!(words, ["same group", "other group, same package", "other package"]);
}

#[test]
fn of_a_search_that_was_not_finished_nothing_is_concluded() {
    let told = CpuRelationTable::new(&PACKAGES.build_machine());
    let mut map = map(PACKAGES.build_machine(), |a, b| levelled(told.relation_between(a, b).unwrap()));
    map.unfinished = true;
    let found = conclude_map(&map);
    assert!(found.unfinished && found.groups.is_none() && found.siblings.is_none());
    assert_eq!((found.findings.len(), found.no_difference.len()), (0, 0));
    assert_eq!(found.kinds[0].classes.iter().map(|class| class.pairs).sum::<u64>(), 66);
}

#[test]
fn predictions_that_nothing_checks_are_not_made() {
    let told = CpuRelationTable::new(&PACKAGES.build_machine());
    let mut map = map(PACKAGES.build_machine(), |a, b| levelled(told.relation_between(a, b).unwrap()));
    map.series[0].links.pairs.truncate(40);
    let filled = FilledSeries::from_series(&map.series[0], &map);
    assert_eq!((filled.predicted, filled.all.known_pairs().count()), (0, 40));
}

/// Eight cores on one cache, and four that are as far from each other as from those.
#[test]
fn a_core_alone_is_no_group_to_keep_threads_in() {
    let machine = MachineLayout { packages: 1, caches: 1, cores: 12, threads: 1, adjacent: false }.build_machine();
    let found = conclude_map(&map(machine, |a, b| if a.max(b) < 12 && a.min(b) >= 4 { 25.0 } else { 80.0 }));
    let groups = found.groups.unwrap();
    assert_eq!(groups.describe_groups(), "1 group of 8 cores and 4 cores in none");
    assert_eq!(groups.of_several_cores(), ["4-11".parse::<CpuSet>().unwrap()]);
    assert_eq!(groups.level.groups.len(), 5);
}

/// Nothing is known of the machine: the guess is named, and so is what would settle it.
#[test]
fn guesses_of_siblings_are_named() {
    let layout = MachineLayout { packages: 1, caches: 2, cores: 4, threads: 2, adjacent: false };
    let machine = layout.build_machine();
    let told = CpuRelationTable::new(&machine);
    let mut map = map(machine, |a, b| match told.relation_between(a, b).unwrap() {
        CpuRelation::SameCore => 8.0,
        CpuRelation::SameLlc => 22.0,
        _ => 90.0,
    });
    map.machine = None;
    let found = conclude_map(&map);
    assert_eq!(found.groups.as_ref().unwrap().describe_groups(), "2 groups of 4 cores");
    assert!(
        found
            .no_difference
            .iter()
            .any(|told| told
                .contains("8 pairs of cpus talk in 8.0 ns: the SMT siblings of a core, or groups of two cores")),
        "{found:?}"
    );
    for factor in [0.5, 1.01, 2.0] {
        let mut other = map.clone();
        for pair in &mut other.series[0].links.pairs {
            pair.change_visits(|cost| *cost *= factor);
        }
        let said = |found: &LinkConclusions| {
            let groups = found.groups.as_ref().map(|groups| groups.level.groups.clone());
            let siblings = found.siblings.as_ref().map(|level| level.groups.clone());
            let classes = found.kinds[0].classes.iter().map(|class| (class.words.clone(), class.pairs));
            (groups, siblings, classes.collect::<Vec<_>>())
        };
        assert_eq!(said(&found), said(&conclude_map(&other)), "times {factor}");
    }
}

/// A map that another tool made.
fn imported(mut map: LinkMap) -> LinkMap {
    map.provenance.origin =
        ArtifactOrigin::Imported { file: "a.csv".into(), format: "matrix".into(), remarks: Vec::new() };
    map
}

/// Siblings that cost what others do are no siblings, or nobody pinned the threads; however few there are, and however much they scatter.
#[test]
fn siblings_that_cost_what_others_cost_are_a_named_doubt() {
    for (cores, caches) in [(6, 1), (2, 1), (3, 2)] {
        let layout = MachineLayout { packages: 1, caches, cores, threads: 2, adjacent: false };
        let machine = layout.build_machine();
        let told = CpuRelationTable::new(&machine);
        let of = |sibling: f64, scatter: f64| {
            let mut random = RandomGenerator::new(11);
            let mut cost = |relation| match relation {
                CpuRelation::SameCore => sibling,
                CpuRelation::SameLlc | CpuRelation::SameCluster => 40.0,
                _ => 90.0,
            } * (scatter * random.next_normal()).exp();
            let mut costs = CostMatrix::all_unknown(machine.allowed.iter());
            for i in 0..costs.len() {
                for j in 0..i {
                    costs.set_both(i, j, cost(told.relation_between(i as u32, j as u32).unwrap()));
                }
            }
            let found =
                conclude_map(&imported(map(layout.build_machine(), |a, b| costs.pair_cost(a as usize, b as usize))));
            found.findings.iter().any(|finding| finding.advice.contains("not pinned"))
        };
        assert!(of(40.0, 0.0) && of(60.0, 0.0) && of(60.0, 0.15), "{cores} cores");
        assert!(!of(8.0, 0.0) && !of(16.0, 0.1), "{cores} cores");
    }
}

/// A socket that is slower as a whole, in a file of another tool: the same is said with the machine and without, and what can be the reason.
#[test]
fn a_slower_socket_of_a_file_is_not_structure() {
    for caches in [1, 4] {
        let layout = MachineLayout { packages: 2, caches, cores: 16 / caches, threads: 1, adjacent: false };
        let told = CpuRelationTable::new(&layout.build_machine());
        let cost = |a: u32, b: u32| match told.relation_between(a, b).unwrap() {
            CpuRelation::OtherPackage => 210.0,
            CpuRelation::SameCluster | CpuRelation::SameLlc if caches > 1 => 25.0 * if a >= 16 { 2.0 } else { 1.0 },
            _ => 100.0 * if a >= 16 { 2.0 } else { 1.0 },
        };
        let named = imported(map(layout.build_machine(), cost));
        let mut unnamed = named.clone();
        unnamed.machine = None;
        let said = |map: &LinkMap| {
            let found = conclude_map(map);
            assert_eq!(
                found.groups.as_ref().map_or(0, |groups| groups.of_several_cores().len()),
                if caches > 1 { 8 } else { 0 }
            );
            let finding = found.findings.into_iter().find(|finding| finding.statement.contains("lines lived")).unwrap();
            let (before, why) = finding.statement.split_once(": ").unwrap();
            (before.to_owned(), why.to_owned())
        };
        let ((one, why), (other, why_not_known)) = (said(&named), said(&unnamed));
        assert_eq!(one, other);
        let costs = if caches > 1 { ("25", "50") } else { ("100", "200") };
        assert_eq!(one, format!("Talking among cpus 0-15 costs {} ns, among 16-31 {} (2.0x)", costs.0, costs.1));
        assert_eq!(why, "by where the lines lived, or by the clock.");
        assert_eq!(why_not_known, "by where the lines lived, the clock, or the kind of core.");
        // Where corewise measures, each line is where the pair is.
        let mut measured = named.clone();
        measured.provenance.origin = ArtifactOrigin::Measured;
        assert!(statements(&conclude_map(&measured)).iter().all(|statement| !statement.contains("lines lived")));
    }
}

/// A dearer half of an unknown machine is equal to the cheaper one, or a group of its own: both readings are given.
#[test]
fn a_dearer_half_of_an_unknown_machine_has_two_readings() {
    let layout = MachineLayout { packages: 2, caches: 1, cores: 4, threads: 1, adjacent: false };
    let cost = |a: u32, b: u32| match (a / 4, b / 4) {
        (0, 0) => 123.0,
        (1, 1) => 540.0,
        _ => 368.0,
    };
    let mut map = imported(map(layout.build_machine(), cost));
    assert_eq!(conclude_map(&map).other_reading, None, "the machine is known");
    map.machine = None;
    let found = conclude_map(&map);
    let other = found.other_reading.as_ref().and_then(|other| other.groups.as_ref()).expect("a reading");
    assert_eq!(other.groups.iter().map(ToString::to_string).collect::<Vec<_>>(), ["0-3", "4-7"]);
    assert!(found.groups.is_none() && found.siblings.is_none());
    let said = "all cpus are one group, or there are 2 groups of 4 cpus; the costs cannot tell, --machine decides";
    assert!(found.no_difference.iter().any(|sentence| sentence == said), "{:?}", found.no_difference);
}

/// Each pair has a cost of its own, as of threads that ran anywhere; the same costs with a pattern, and of corewise, are no such finding.
#[test]
fn costs_without_a_pattern_are_a_finding_of_files() {
    let layout = MachineLayout { packages: 1, caches: 1, cores: 20, threads: 1, adjacent: false };
    let mut random = RandomGenerator::new(5);
    let luck: Vec<f64> = (0..400).map(|_| (0.2 * random.next_normal()).exp()).collect();
    let of_pairs = map(layout.build_machine(), |a, b| 50.0 * luck[(20 * a.min(b) + a.max(b)) as usize]);
    let of_cpus = map(layout.build_machine(), |a, b| 50.0 * luck[a as usize] * luck[b as usize]);
    let is_said =
        |map: &LinkMap| statements(&conclude_map(map)).iter().any(|statement| statement.contains("no pattern"));
    assert!(is_said(&imported(of_pairs.clone())));
    assert!(!is_said(&of_pairs) && !is_said(&imported(of_cpus)));
    let halves = MachineLayout { caches: 2, cores: 10, ..layout };
    let cost = |a: u32, b: u32| if a / 10 == b / 10 { 1.0 } else { 400.0 };
    let grouped = |a: u32, b: u32| cost(a, b) * luck[(20 * a.min(b) + a.max(b)) as usize];
    assert!(!is_said(&imported(map(halves.build_machine(), grouped))), "there are groups");
    let siblings = MachineLayout { cores: 10, threads: 2, adjacent: true, ..layout };
    let cost = |a: u32, b: u32| if a / 2 == b / 2 { 8.0 } else { 50.0 * luck[(20 * a.min(b) + a.max(b)) as usize] };
    let mut paired = imported(map(siblings.build_machine(), cost));
    paired.machine = None;
    assert!(!is_said(&paired), "threads that were not pinned have no pairs");
}

#[test]
fn pairs_without_a_cost_are_counted_beside_the_groups() {
    let layout = MachineLayout { packages: 1, caches: 1, cores: 4, threads: 1, adjacent: false };
    let mut map = imported(map(layout.build_machine(), |_, _| 50.0));
    let said = |map: &LinkMap| conclude_map(map).no_difference[0].clone();
    assert!(said(&map).starts_with("groups: the costs show none; any two cores talk in 50 ns"), "{}", said(&map));
    map.series[0].links.pairs.retain(|pair| (pair.a, pair.b) != (0, 1));
    assert!(
        said(&map).starts_with("groups: the costs show none (1 of 6 pairs has no cost); any two"),
        "{}",
        said(&map)
    );
}

/// 20 ns one way and 200 the other: neither classes nor sentences nor comparisons have a 110 in them.
#[test]
fn two_costs_of_a_pair_are_not_averaged() {
    let layout = MachineLayout { packages: 1, caches: 2, cores: 6, threads: 1, adjacent: false };
    let ways = |a: u32, b: u32| if a < b { 20.0 } else { 200.0 };
    let everywhere = map(layout.build_machine(), ways);
    let found = conclude_map(&everywhere);
    let of = |found: &LinkConclusions| {
        let classes = found.kinds[0].classes.iter();
        classes.map(|class| (class.words.clone(), class.median_ns.round(), class.pairs)).collect::<Vec<_>>()
    };
    let words = "same llc and other llc";
    let two = vec![(format!("{words}, cheaper way"), 20.0, 66), (format!("{words}, dearer way"), 200.0, 66)];
    assert_eq!(of(&found), two);
    let said = format!("{found:?}");
    assert!(found.no_difference[0].contains("the median of two cores is 20 and, the other way, 200 ns"), "{said}");
    assert!(!said.contains("110"), "{said}");
    // Inside the caches alone.
    let inside = map(layout.build_machine(), |a, b| if a / 6 == b / 6 { ways(a, b) } else { 400.0 });
    let found = conclude_map(&inside);
    assert_eq!(of(&found)[..2].iter().map(|of| of.1).collect::<Vec<_>>(), [20.0, 200.0]);
    assert_eq!(
        statements(&found)[0],
        "2 groups of 6 cores: inside 20 and, the other way, 200 ns, across 400 ns one way."
    );
    assert!(found.findings[0].effects.is_empty());
    // Across them alone, and each ratio says of which way it is.
    let across = map(layout.build_machine(), |a, b| if a / 6 == b / 6 { 10.0 } else { ways(a, b) });
    let found = conclude_map(&across);
    let statement = statements(&found)[0];
    assert!(
        statement.contains("; other package, cheaper way 20 ns (2.0x") || statement.contains("cheaper way 20 ns (2.0x"),
        "{statement}"
    );
    assert!(statement.contains("dearer way 200 ns (20"), "{statement}");
    // A few pairs: the class has one median, and both ends.
    let few = map(layout.build_machine(), |a, b| if (a, b) == (3, 9) { 200.0 } else { 20.0 });
    let class = &conclude_map(&few).kinds[0].classes[0];
    assert_eq!((class.pairs, class.median_ns.round(), class.words.as_str()), (66, 20.0, words));
    // One way became cheaper: the change of the pairs is that of this way, first cpu first.
    let better = map(layout.build_machine(), |a, b| if a < b { 20.0 } else { 40.0 });
    let change = &crate::links::compare::compare_link_maps(&everywhere, &better, &conclude_map(&everywhere))[0];
    assert!((change.classes[0].before_ns - 200.0).abs() < 3.0, "{change:?}");
    assert!((change.classes[0].after_ns - 40.0).abs() < 1.0 && change.most[0].a > change.most[0].b, "{change:?}");
}

/// Two clusters of efficiency cores talk for more among themselves than with anybody: 12 of 276 pairs, which no summary of all shows.
#[test]
fn cores_that_are_dear_among_themselves_are_named() {
    let machine = MachineLayout { packages: 1, caches: 1, cores: 24, threads: 1, adjacent: false }.build_machine();
    let hybrid = |cluster: f64| {
        map(machine.clone(), move |a, b| match (a.min(b), a.max(b)) {
            (low, high) if low >= 16 && low / 4 == high / 4 => cluster,
            (16.., _) => 44.0,
            (_, 16..) => 39.0,
            _ => 35.0,
        })
    };
    let found = conclude_map(&hybrid(50.0));
    let dear: Vec<&CpuSet> = found.dear.as_ref().unwrap().groups.iter().filter(|group| group.len() > 1).collect();
    assert_eq!(dear, [&"16-19".parse::<CpuSet>().unwrap(), &"20-23".parse().unwrap()]);
    let classes: Vec<(&str, u64)> =
        found.kinds[0].classes.iter().map(|class| (class.words.as_str(), class.pairs)).collect();
    assert_eq!(classes, [("same dear group", 12), ("same llc", 264)]);
    let statement = statements(&found)[0];
    assert!(
        statement.starts_with(
            "Cpus 16-19 | 20-23 talk more slowly among themselves than with any others: 50 ns, other cores 3"
        ),
        "{statement}"
    );
    assert!(
        found.no_difference.iter().any(|told| told.contains("the median of two other cores is 39 ns")),
        "{found:?}"
    );
    // All efficiency cores alike; and no core that is dear.
    let dear = conclude_map(&hybrid(44.0)).dear.unwrap();
    assert_eq!(dear.groups.last(), Some(&"16-23".parse().unwrap()));
    assert_eq!(conclude_map(&map(machine.clone(), |_, _| 35.0)).dear, None);
}

/// Four groups that the kernel reports as one cache: what was not measured inside one is like the rest of it, and not like what lies across.
#[test]
fn a_pair_inside_a_hidden_group_is_not_predicted_from_across() {
    let machine = MachineLayout { packages: 1, caches: 1, cores: 16, threads: 1, adjacent: false }.build_machine();
    let mut map = map(machine, |a, b| if a / 4 == b / 4 { 25.0 } else { 100.0 });
    let series = &mut map.series[0];
    let all = std::mem::take(&mut series.links.pairs);
    for pair in all {
        match (pair.a, pair.b) {
            (0, 1) | (5, 7) | (0, 9) => {}
            (4, 6) | (8, 11) | (2, 13) | (1, 8) | (3, 15) | (6, 12) => series.held_out.push(pair),
            _ => series.links.pairs.push(pair),
        }
    }
    let filled = FilledSeries::from_series(&map.series[0], &map);
    for (i, j, cost) in [(0, 1, 25.0), (5, 7, 25.0), (0, 9, 100.0)] {
        assert!((filled.all.pair_cost(i, j) / cost - 1.0).abs() < 0.05, "{i} and {j}: {}", filled.all.pair_cost(i, j));
    }
    assert!(filled.held_out.unwrap().p95 < 0.05, "{:?}", filled.held_out);
    assert_eq!(conclude_map(&map).groups.unwrap().of_several_cores().len(), 4);
}

/// Inside groups 20 ns one way and 200 the other, across 90: the mean of 110 makes no dear groups, and the difference is not "nothing".
#[test]
fn two_ways_are_a_finding_and_no_dear_group() {
    let machine = MachineLayout { packages: 1, caches: 1, cores: 16, threads: 1, adjacent: false }.build_machine();
    let inside = imported(map(machine.clone(), |a, b| match (a / 4 == b / 4, a < b) {
        (true, true) => 20.0,
        (true, false) => 200.0,
        _ => 90.0,
    }));
    assert_eq!(conclude_map(&inside).dear, None);
    for origin in [inside.provenance.origin.clone(), ArtifactOrigin::Measured] {
        let mut everywhere = map(machine.clone(), |a, b| if a < b { 20.0 } else { 200.0 });
        everywhere.provenance.origin = origin;
        let found = conclude_map(&everywhere);
        let statement = statements(&found)[0];
        assert!(statement.starts_with("It matters which cpu begins: pairs"), "{statement}");
        assert!(statement.contains("talk in 20 ns one way and in 200 the other (10x ["), "{statement}");
    }
}

/// Memory that is near to one node: what was not measured is predicted of each way, and where the ways follow no rule not at all.
#[test]
fn what_costs_two_is_predicted_of_each_way() {
    let layout = MachineLayout { packages: 2, caches: 1, cores: 8, threads: 1, adjacent: false };
    let few = |cost: fn(u32, u32) -> f64| {
        let mut map = map(layout.build_machine(), cost);
        let all = std::mem::take(&mut map.series[0].links.pairs);
        for (index, pair) in all.into_iter().enumerate() {
            match index % 4 {
                0 => {}
                1 => map.series[0].held_out.push(pair),
                _ => map.series[0].links.pairs.push(pair),
            }
        }
        let filled = FilledSeries::from_series(&map.series[0], &map);
        (filled, map)
    };
    let cost = |a: u32, b: u32| match (a / 8, b / 8) {
        (0, 1) => 150.0,
        (1, 0) => 400.0,
        _ => 50.0,
    };
    let (filled, map) = few(cost);
    assert!(filled.predicted > 20);
    for i in 0..16 {
        for j in (0..16).filter(|&j| j != i) {
            let (way, cost) = (filled.all.one_way_cost(i, j), cost(i as u32, j as u32));
            assert!((way / cost - 1.0).abs() < 0.05, "{i} to {j}: {way} for {cost}");
        }
    }
    let classes = &conclude_map(&map).kinds[0].classes;
    assert_eq!(classes.iter().map(|class| (class.median_ns / 10.0).round()).collect::<Vec<_>>(), [5.0, 15.0, 40.0]);
    // Now this way, now the other.
    let (filled, _) = few(|a, b| match (a / 8 == b / 8, (a + b) % 2 == u32::from(a < b)) {
        (true, _) => 50.0,
        (false, true) => 150.0,
        _ => 400.0,
    });
    let unknown =
        (0..8).flat_map(|i| (8..16).map(move |j| (i, j))).filter(|&(i, j)| filled.measured.pair_cost(i, j).is_nan());
    assert!(unknown.clone().count() > 10 && unknown.clone().all(|(i, j)| filled.all.pair_cost(i, j).is_nan()));
}

/// A cost that cannot be is left out by name, is no cost of a class, and siblings of a machine are its own matter.
#[test]
fn a_doubtful_cost_is_left_out_of_everything() {
    let layout = MachineLayout { packages: 1, caches: 4, cores: 4, threads: 1, adjacent: false };
    let cost = |a: u32, b: u32| match (a.min(b), a.max(b)) {
        (1, 9) => 0.4,
        (a, b) if a / 4 == b / 4 => 25.0,
        _ => 100.0,
    };
    let mut unnamed = imported(map(layout.build_machine(), cost));
    unnamed.machine = None;
    let found = conclude_map(&unnamed);
    let [doubt] = found.kinds[0].doubts[..] else { panic!("{found:?}") };
    assert_eq!((doubt.a, doubt.b, doubt.is_detour), (1, 9, true));
    assert!(
        doubt.describe_doubt("ns").starts_with("cpus 1 and 9: 0.4 ns contradicts the other costs"),
        "{}",
        doubt.describe_doubt("ns")
    );
    assert_eq!(found.groups.as_ref().unwrap().describe_groups(), "4 groups of 4 cpus");
    assert_eq!(found.kinds[0].classes.iter().map(|class| class.pairs).sum::<u64>(), 119);
    assert!(found.kinds[0].classes.iter().all(|class| class.low_ns > 20.0) && found.siblings.is_none());
    // Few siblings of a machine that is named may be that near.
    let layout = MachineLayout { packages: 1, caches: 1, cores: 12, threads: 2, adjacent: false };
    let told = CpuRelationTable::new(&layout.build_machine());
    let siblings = |a, b| if told.relation_between(a, b) == Some(CpuRelation::SameCore) { 2.0 } else { 60.0 };
    assert_eq!(conclude_map(&map(layout.build_machine(), siblings)).kinds[0].doubts, []);
}

/// Costs that scatter without groups are no reason to leave placement to the scheduler.
#[test]
fn no_groups_is_not_nothing_where_pairs_differ() {
    let machine = MachineLayout { packages: 1, caches: 1, cores: 16, threads: 1, adjacent: false }.build_machine();
    let row = map(machine.clone(), |a, b| 30.0 + 8.0 * f64::from(a.abs_diff(b)));
    let found = conclude_map(&row);
    assert!(found.groups.is_none());
    let said = nothing_found(&found, "ns");
    assert!(said.starts_with("No groups stand out, but pairs differ ") && said.contains(" ns)"), "{said}");
    let even = conclude_map(&map(machine, |_, _| 60.0));
    assert_eq!(nothing_found(&even, "ns"), "Nothing stands out: leave placement to the scheduler.");
}
