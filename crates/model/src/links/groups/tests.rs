use corewise_machine::random::RandomGenerator;

use super::*;
use crate::links::CpuRelation;
use crate::links::doubt::find_doubts;
use crate::simulate::layout::{MachineLayout, mesh_costs, relation_costs};

/// All of it was measured.
fn both(matrix: &CostMatrix) -> Vec<GroupLevel> {
    GroupHierarchy::from_matrix(matrix, matrix).levels
}

/// The siblings, and the levels above, of a machine of which nothing is known.
fn unnamed(matrix: &CostMatrix) -> (Option<GroupLevel>, Vec<GroupLevel>) {
    let mut hierarchy = GroupHierarchy::from_matrix(matrix, matrix);
    (hierarchy.take_siblings(matrix), hierarchy.levels)
}

fn chiplets(one_way_ns: impl Fn(CpuRelation) -> f64) -> (CostMatrix, Vec<CpuSet>) {
    let machine = MachineLayout { packages: 1, caches: 4, cores: 3, threads: 1, adjacent: false }.build_machine();
    let caches = machine.llcs.iter().map(|llc| llc.cpus.clone()).collect();
    (relation_costs(&machine, 5, one_way_ns), caches)
}

#[test]
fn caches_that_talk_cheaply_inside_are_groups() {
    let (matrix, caches) = chiplets(|relation| if relation == CpuRelation::SameLlc { 23.0 } else { 95.0 });
    let levels = both(&matrix);
    assert_eq!(levels.len(), 1);
    assert_eq!(levels[0].groups, caches);
    assert!(levels[0].step > 3.9 && levels[0].misplaced == 0.0, "{levels:?}");
    assert_eq!(levels[0].describe_level("cpu"), "4 groups of 3 cpus");
}

#[test]
fn a_step_that_is_hardly_one_is_none() {
    let (matrix, _) = chiplets(|relation| if relation == CpuRelation::SameLlc { 50.0 } else { 58.0 });
    assert_eq!(both(&matrix), []);
}

/// Each cpu has near ones, but these are not near each other: no division puts all pairs on the right side.
#[test]
fn a_mesh_has_no_groups() {
    for seed in 0..20 {
        let found = both(&mesh_costs(8, 8, seed, 30.0, 4.0));
        assert_eq!(found, [], "seed {seed}");
    }
}

/// How often groups are found where there are none: costs of one class, with luck of 1 to 20 % a pair.
#[test]
fn equal_cpus_have_no_groups() {
    for (fewest, most) in [(3, 4), (4, 4), (5, 8), (4, 32)] {
        let (mut found, mut dear) = (0, 0);
        for seed in 0..400 {
            let mut random = RandomGenerator::new(seed);
            let (cpus, noise) = (fewest + random.next_below(most - fewest + 1), 0.01 + 0.19 * random.next_unit());
            let mut matrix = CostMatrix::all_unknown(0..cpus as u32);
            for i in 0..matrix.len() {
                for j in i + 1..matrix.len() {
                    matrix.set_both(i, j, 60.0 * (noise * random.next_normal()).exp());
                }
            }
            found += usize::from(!both(&matrix).is_empty());
            dear += usize::from(dear_groups(&matrix).is_some());
        }
        assert!(found <= 4 && dear <= 4, "{fewest} to {most} cpus: {found} and {dear} of 400");
    }
}

#[test]
fn siblings_and_packages_are_levels_of_their_own() {
    let machine = MachineLayout { packages: 2, caches: 2, cores: 4, threads: 2, adjacent: false }.build_machine();
    let matrix = relation_costs(&machine, 3, |relation| match relation {
        CpuRelation::SameCore => 8.0,
        CpuRelation::SameCluster | CpuRelation::SameLlc | CpuRelation::SameLlcOtherNode => 25.0,
        CpuRelation::OtherLlc | CpuRelation::OtherDie | CpuRelation::OtherNode => 110.0,
        CpuRelation::OtherPackage => 205.0,
    });
    let (siblings, levels) = unnamed(&matrix);
    assert_eq!(siblings.map(|level| level.describe_level("cpu")).as_deref(), Some("16 groups of 2 cpus"));
    let words: Vec<String> = levels.iter().map(|level| level.describe_level("cpu")).collect();
    assert_eq!(words, ["4 groups of 8 cpus", "2 groups of 16 cpus"]);
}

/// One pair of siblings that was disturbed must not cost its level: (0, 12) is nearer to the rest of its cache than to its sibling's.
#[test]
fn one_dear_pair_of_siblings_does_not_hide_the_others() {
    let machine = MachineLayout { packages: 1, caches: 4, cores: 3, threads: 2, adjacent: false }.build_machine();
    let mut matrix = relation_costs(&machine, 3, |relation| match relation {
        CpuRelation::SameCore => 6.5,
        CpuRelation::SameLlc => 23.0,
        _ => 95.0,
    });
    matrix.set_both(0, 12, 12.0);
    let (siblings, levels) = unnamed(&matrix);
    assert_eq!(siblings.map(|level| level.groups.len()), Some(12));
    assert_eq!(levels.iter().map(|level| level.groups.len()).collect::<Vec<_>>(), [4]);
}

/// A socket whose lines all live on the other one looks as if it were not one.
#[test]
fn a_socket_that_is_dear_inside_makes_no_level() {
    let machine = MachineLayout { packages: 2, caches: 4, cores: 2, threads: 1, adjacent: false }.build_machine();
    let mut matrix = relation_costs(&machine, 3, |relation| match relation {
        CpuRelation::SameLlc => 25.0,
        CpuRelation::OtherLlc | CpuRelation::OtherDie | CpuRelation::OtherNode => 130.0,
        _ => 260.0,
    });
    for i in 8..16 {
        for j in (8..i).filter(|j| j / 2 != i / 2) {
            matrix.set_both(i, j, 262.0);
        }
    }
    let words: Vec<String> = both(&matrix).iter().map(|level| level.describe_level("cpu")).collect();
    assert_eq!(words, ["8 groups of 2 cpus"]);
    assert_eq!(cheaper(&matrix), Some(CpuSet::first_cpus(8)));
    let (even, _) = chiplets(|relation| if relation == CpuRelation::SameLlc { 23.0 } else { 95.0 });
    assert_eq!(cheaper(&even), None);
}

/// The part of a machine that is cheaper than the rest.
fn cheaper(matrix: &CostMatrix) -> Option<CpuSet> {
    GroupHierarchy::from_matrix(matrix, matrix).cheaper_part.map(|part| part.cpus)
}

/// Sockets of 16 cpus in caches of 4, from what the two cpus of a pair share and their sockets: 0 a cache, 1 a socket, 2 nothing.
fn sockets(count: usize, cost: impl Fn(usize, [usize; 2]) -> f64) -> CostMatrix {
    let mut random = RandomGenerator::new(4);
    let mut matrix = CostMatrix::all_unknown(0..16 * count as u32);
    for i in 0..16 * count {
        for j in 0..i {
            let distance = usize::from(i / 4 != j / 4) + usize::from(i / 16 != j / 16);
            matrix.set_both(i, j, cost(distance, [i / 16, j / 16]) * (0.02 * random.next_normal()).exp());
        }
    }
    matrix
}

/// The same with a sibling for each cpu, numbered after all others, who talk for 8 ns.
fn with_siblings(cores: &CostMatrix) -> CostMatrix {
    let count = cores.len();
    let mut matrix = CostMatrix::all_unknown(0..2 * count as u32);
    for i in 0..2 * count {
        for j in 0..i {
            matrix.set_both(i, j, if i % count == j % count { 8.0 } else { cores.pair_cost(i % count, j % count) });
        }
    }
    matrix
}

/// A socket may be dearer inside its caches, between them, or both; by the home of the line as much as from the other socket, or by the clock.
#[test]
fn a_socket_that_is_dearer_is_the_rest_beside_a_cheaper_part() {
    let first = Some(CpuSet::first_cpus(16));
    // Times that inside a cache, between the caches of a socket, and between sockets, what the second socket costs.
    for (inside, between, across) in
        [(2.0, 2.0, 2.0), (1.0, 2.0, 2.0), (1.0, 1.6, 2.0), (1.0, 2.4, 2.0), (1.4, 1.4, 3.0), (1.0, 1.9, 2.0)]
    {
        for scale in [0.5, 1.0] {
            let of = |distance, [one, other]: [usize; 2]| {
                let is_dear = one == 1 && other == 1;
                let cost = if distance == 0 { 25.0 } else { 100.0 };
                let times = match distance {
                    2 => across,
                    _ if !is_dear => 1.0,
                    0 => inside,
                    _ => between,
                };
                scale * times * cost
            };
            let matrix = sockets(2, of);
            let found = GroupHierarchy::from_matrix(&matrix, &matrix);
            let part = found.cheaper_part.as_ref();
            assert_eq!(part.map(|part| part.cpus.clone()), first, "{inside}, {between}, {across}: {found:?}");
            let ratio = part.map(|part| part.rest_ns / part.inside_ns).unwrap();
            let wanted = if inside > 1.0 { inside } else { between };
            assert!((ratio / wanted - 1.0).abs() < 0.05, "{ratio} for {wanted}");
            assert_eq!(found.levels[0].groups.len(), 8);
            assert!(!part.unwrap().is_only_group);
            let all = cheaper(&with_siblings(&matrix));
            assert_eq!(all, Some((0..16).chain(32..48).collect()), "with siblings: {inside}, {between}, {across}");
        }
    }
    assert_eq!(cheaper(&sockets(2, |distance, _| [25.0, 100.0, 200.0][distance])), None);
}

/// The same without caches: what the second socket costs inside is below, equal to, or above what it costs across.
#[test]
fn a_socket_without_caches_that_is_dearer_is_no_group() {
    for (rest, across) in [(200.0, 200.0), (200.0, 230.0), (230.0, 200.0), (140.0, 150.0)] {
        let cost = |distance, sockets: [usize; 2]| match (distance, sockets) {
            (2, _) => across,
            (_, [1, 1]) => rest,
            _ => 100.0,
        };
        let matrix = sockets(2, cost);
        let part =
            GroupHierarchy::from_matrix(&matrix, &matrix).cheaper_part.unwrap_or_else(|| panic!("{rest}, {across}"));
        assert_eq!((part.cpus, part.is_only_group), (CpuSet::first_cpus(16), true), "{rest}, {across}");
        assert_eq!(cheaper(&with_siblings(&matrix)), Some((0..16).chain(32..48).collect()), "{rest}, {across}");
    }
}

/// The line lives on one socket of four, or one socket of four is slow.
#[test]
fn one_socket_of_four_is_a_part() {
    let of = |odd: usize, [own, others]: [f64; 2]| {
        sockets(4, move |distance, sockets| match (distance, sockets) {
            (2, _) => 300.0,
            (_, [one, _]) => [25.0, 100.0][distance] * if one == odd { own } else { others },
        })
    };
    assert_eq!(cheaper(&of(0, [1.0, 2.0])), Some(CpuSet::first_cpus(16)));
    assert_eq!(cheaper(&of(3, [2.0, 1.0])), Some(CpuSet::first_cpus(48)));
    assert_eq!(cheaper(&of(0, [1.0, 1.0])), None);
}

/// One disturbed pair parts no group, whether it was far too dear or far too cheap.
#[test]
fn one_outlier_changes_no_group() {
    let whole = sockets(2, |distance, _| [25.0, 100.0, 200.0][distance]);
    let levels = both(&whole);
    for outlier in [5000.0, 100_000.0, 0.5] {
        for (i, j) in [(1, 2), (1, 5), (1, 20)] {
            let mut disturbed = whole.clone();
            disturbed.set_both(i, j, outlier);
            let groups = |levels: &[GroupLevel]| levels.iter().map(|level| level.groups.clone()).collect::<Vec<_>>();
            let found = groups(&both(&disturbed));
            // A pair across that is far cheaper than siblings is a group as far as the costs can say.
            if outlier > 1.0 {
                assert_eq!(found, groups(&levels), "{outlier} between {i} and {j}");
            }
        }
    }
}

/// What is not known joins nothing and parts nothing: a cell inside a group that is missing is not that of two groups.
#[test]
fn missing_costs_are_not_those_across_groups() {
    let whole = sockets(2, |distance, _| [25.0, 100.0, 200.0][distance]);
    let levels = both(&whole);
    assert_eq!(levels.iter().map(|level| level.groups.len()).collect::<Vec<_>>(), [8, 2]);
    let mut random = RandomGenerator::new(9);
    for _ in 0..20 {
        let mut some = whole.clone();
        // Of each cache three of six pairs, a way through all four; of the others half.
        for group in 0..8 {
            for (a, b) in [(0, 2), (0, 3), (1, 3)] {
                some.set_both(4 * group + a, 4 * group + b, f64::NAN);
            }
        }
        for (i, j, _) in whole.known_pairs().filter(|(i, j, _)| i / 4 != j / 4) {
            if random.next_unit() < 0.5 {
                some.set_both(i, j, f64::NAN);
            }
        }
        let found = both(&some);
        assert_eq!(
            found.iter().map(|level| &level.groups).collect::<Vec<_>>(),
            levels.iter().map(|level| &level.groups).collect::<Vec<_>>()
        );
    }
}

#[test]
fn few_cpus_and_unknown_costs_are_no_trouble() {
    assert_eq!(both(&CostMatrix::all_unknown([])), []);
    assert_eq!(both(&CostMatrix::all_unknown(0..2)), []);
    assert_eq!(both(&CostMatrix::all_unknown(0..40)), []);
    let mut some = CostMatrix::all_unknown(0..6);
    some.set_both(0, 1, 10.0);
    assert_eq!(both(&some), []);
}

/// What a prediction made of what the kernel told proves nothing: of each group something has to be measured, inside and outside.
#[test]
fn groups_of_which_nothing_was_measured_are_not_proved() {
    let (matrix, _) = chiplets(|relation| if relation == CpuRelation::SameLlc { 23.0 } else { 95.0 });
    let mut measured = matrix.clone();
    assert_eq!(GroupHierarchy::from_matrix(&matrix, &measured).levels.len(), 1);
    for (i, j) in [(0, 1), (0, 2), (1, 2)] {
        measured.set_both(i, j, f64::NAN);
    }
    assert_eq!(GroupHierarchy::from_matrix(&matrix, &measured).levels, []);
}

/// The matrix with each cpu under another number, and with all costs multiplied.
fn renumbered(matrix: &CostMatrix, random: &mut RandomGenerator, factor: f64) -> (CostMatrix, Vec<u32>) {
    let mut new: Vec<u32> = matrix.cpus().to_vec();
    random.shuffle(&mut new);
    let mut other = CostMatrix::all_unknown(matrix.cpus().iter().copied());
    for (i, j, cost) in matrix.known_pairs() {
        other.set_both(new[i] as usize, new[j] as usize, factor * cost);
    }
    (other, new)
}

/// The groups of each level as they would be numbered, each level sorted.
fn numbered(levels: &[GroupLevel], new: &[u32]) -> Vec<Vec<CpuSet>> {
    let group = |group: &CpuSet| group.iter().map(|cpu| new[cpu as usize]).collect::<CpuSet>();
    let level = |level: &GroupLevel| {
        let mut groups: Vec<CpuSet> = level.groups.iter().map(group).collect();
        groups.sort();
        groups
    };
    levels.iter().map(level).collect()
}

/// Machines of every kind that is told apart where nothing is known: siblings, groups of four, both, a hybrid, cores in modules.
fn kinds() -> Vec<CostMatrix> {
    let layout = |packages, caches, cores, threads| MachineLayout { packages, caches, cores, threads, adjacent: false };
    let of = |layout: MachineLayout, [sibling, inside, across, away]: [f64; 4]| {
        relation_costs(&layout.build_machine(), 7, |relation| match relation {
            CpuRelation::SameCore => sibling,
            CpuRelation::SameCluster | CpuRelation::SameLlc | CpuRelation::SameLlcOtherNode => inside,
            CpuRelation::OtherPackage => away,
            _ => across,
        })
    };
    vec![
        of(layout(1, 16, 4, 1), [0.0, 19.98, 103.0, 0.0]),
        of(layout(1, 4, 4, 2), [8.0, 20.0, 90.0, 0.0]),
        of(layout(2, 4, 4, 2), [8.0, 20.0, 90.0, 200.0]),
        of(layout(1, 1, 4, 2), [7.0, 24.0, 0.0, 0.0]),
        hybrid(2, 8),
        hybrid(8, 8),
    ]
}

/// Cores with a sibling each, and clusters of four cores without, whose cores are the farthest from each other.
fn hybrid(cores: usize, single: usize) -> CostMatrix {
    let mut random = RandomGenerator::new(3);
    let count = 2 * cores + single;
    let mut matrix = CostMatrix::all_unknown(0..count as u32);
    for i in 0..count {
        for j in i + 1..count {
            let cost = match (i < 2 * cores, j < 2 * cores) {
                (true, true) if i / 2 == j / 2 => 4.4,
                (true, true) => 33.0,
                (true, false) => 38.0,
                _ if (i - 2 * cores) / 4 == (j - 2 * cores) / 4 => 50.0,
                _ => 44.0,
            };
            matrix.set_both(i, j, cost * (0.01 * random.next_normal()).exp());
        }
    }
    matrix
}

#[test]
fn conclusions_ask_neither_for_the_unit_nor_for_the_numbers_of_cpus() {
    let mut random = RandomGenerator::new(5);
    for (kind, matrix) in kinds().iter().enumerate() {
        let (siblings, levels) = unnamed(matrix);
        for factor in [0.5, 1.0, 1.01, 2.0, 1000.0] {
            let (other, new) = renumbered(matrix, &mut random, factor);
            let (other_siblings, other_levels) = unnamed(&other);
            let same: Vec<u32> = (0..matrix.len() as u32).collect();
            assert_eq!(numbered(&levels, &new), numbered(&other_levels, &same), "kind {kind}, times {factor}");
            let all = |level: &Option<GroupLevel>, new: &[u32]| numbered(level.as_slice(), new);
            assert_eq!(all(&siblings, &new), all(&other_siblings, &same), "kind {kind}, times {factor}");
        }
    }
}

/// Four cores on a cache, at a time that siblings of a slow machine would take.
#[test]
fn four_cores_that_talk_fast_are_a_group() {
    let (siblings, levels) = unnamed(&kinds()[0]);
    assert_eq!((siblings, levels.len()), (None, 1));
    assert_eq!(levels[0].describe_level("cpu"), "16 groups of 4 cpus");
}

#[test]
fn cores_without_a_sibling_change_nothing_for_the_others() {
    for cores in [2, 8] {
        let all = hybrid(cores, 8);
        let mut cut = CostMatrix::all_unknown(0..2 * cores as u32);
        all.known_pairs().filter(|(_, j, _)| *j < 2 * cores).for_each(|(i, j, cost)| cut.set_both(i, j, cost));
        let twos = |matrix: &CostMatrix| {
            let (siblings, levels) = unnamed(matrix);
            let groups = siblings.expect("siblings").groups;
            (groups.into_iter().filter(|group| group.len() > 1).collect::<Vec<_>>(), levels)
        };
        assert_eq!(twos(&all), twos(&cut));
        assert_eq!(twos(&all).0.len(), cores);
    }
}

/// Two cores of a module talk for a sixth of what others cost, but are two for everybody else.
#[test]
fn modules_of_two_cores_are_groups() {
    let mut random = RandomGenerator::new(2);
    let mut matrix = CostMatrix::all_unknown(0..8);
    for i in 0..8 {
        for j in i + 1..8 {
            let cost = if i / 2 == j / 2 { 42.0 } else { 290.0 * (0.15 * random.next_normal()).exp() };
            matrix.set_both(i, j, cost);
        }
    }
    let (siblings, levels) = unnamed(&matrix);
    assert_eq!((siblings, levels.len()), (None, 1));
}

/// One cpu that talks to all others for four times as much: the groups of all others stand, and the level above them.
#[test]
fn a_disturbed_cpu_hides_no_group() {
    let whole = sockets(2, |distance, _| [22.0, 85.0, 210.0][distance]);
    for matrix in [whole.clone(), with_siblings(&whole)] {
        for times in [2.0, 4.0, 10.0] {
            let mut disturbed = matrix.clone();
            for (i, j, cost) in matrix.known_pairs().filter(|(i, j, _)| *i == 5 || *j == 5) {
                disturbed.set_both(i, j, times * cost);
            }
            let without = |level: &GroupLevel| {
                let others = level.groups.iter().map(|group| group.iter().filter(|cpu| *cpu != 5).collect::<CpuSet>());
                let mut others: Vec<CpuSet> = others.filter(|group| !group.is_empty()).collect();
                others.sort();
                others
            };
            let found = GroupHierarchy::from_matrix(&disturbed, &disturbed);
            let all = both(&matrix);
            assert_eq!(
                found.levels.iter().map(without).collect::<Vec<_>>(),
                all.iter().map(without).collect::<Vec<_>>(),
                "{} cpus, times {times}",
                matrix.len()
            );
            assert_eq!(found.cheaper_part, None);
        }
    }
}

/// A socket of two caches of which one is larger: most of its pairs meet inside a cache, and it is a level all the same.
#[test]
fn sockets_whose_pairs_mostly_meet_inside_a_cache_are_a_level() {
    let cache = |cpu: usize| (cpu / 14, usize::from(cpu % 14 >= 10));
    let mut random = RandomGenerator::new(6);
    let mut matrix = CostMatrix::all_unknown(0..28);
    for i in 0..28 {
        for j in 0..i {
            let cost = match (cache(i), cache(j)) {
                (one, other) if one == other => 22.0,
                ((one, _), (other, _)) if one == other => 85.0,
                _ => 210.0,
            };
            matrix.set_both(i, j, cost * (0.02 * random.next_normal()).exp());
        }
    }
    let sizes: Vec<Vec<usize>> =
        both(&matrix).iter().map(|level| level.groups.iter().map(CpuSet::len).collect()).collect();
    assert_eq!(sizes, [vec![10, 4, 10, 4], vec![14, 14]]);
}

/// Costs that cannot be, next to nothing between two random cpus: each is doubted and no other, and without them all is as before.
#[test]
fn costs_that_cannot_be_are_doubted_and_change_nothing() {
    let mut random = RandomGenerator::new(8);
    for (kind, matrix) in kinds().iter().enumerate() {
        assert_eq!(find_doubts(matrix, |_, _| false), [], "kind {kind}");
        for _ in 0..20 {
            let mut with = matrix.clone();
            let mut places: Vec<usize> = (0..matrix.len()).collect();
            random.shuffle(&mut places);
            // So few that they are no machine's siblings.
            let count = (1 + random.next_below(3)).min(matrix.len() / 16).max(1);
            let mut wrong: Vec<(usize, usize)> =
                places.chunks(2).take(count).map(|two| (two[0].min(two[1]), two[0].max(two[1]))).collect();
            wrong.sort_unstable();
            wrong.iter().for_each(|&(i, j)| with.set_both(i, j, 0.01 * matrix.pair_cost(i, j).min(40.0)));
            let (other, new) = renumbered(&with, &mut random, 2.0);
            let found: Vec<(usize, usize)> =
                find_doubts(&with, |_, _| false).iter().map(|doubt| (doubt.a as usize, doubt.b as usize)).collect();
            assert_eq!(found, wrong, "kind {kind}");
            let mut turned: Vec<(u32, u32)> =
                wrong.iter().map(|&(i, j)| (new[i].min(new[j]), new[i].max(new[j]))).collect();
            turned.sort_unstable();
            let found: Vec<(u32, u32)> =
                find_doubts(&other, |_, _| false).iter().map(|doubt| (doubt.a, doubt.b)).collect();
            assert_eq!(found, turned, "kind {kind}, renumbered");
        }
    }
}

/// Four cores with two threads each, of which one pair of siblings talks for a third less: one number is no part of the machine.
#[test]
fn one_pair_of_siblings_is_no_part_of_a_small_machine() {
    let machine = MachineLayout { packages: 1, caches: 1, cores: 4, threads: 2, adjacent: true }.build_machine();
    let mut matrix =
        relation_costs(&machine, 3, |relation| if relation == CpuRelation::SameCore { 16.0 } else { 42.0 });
    for cost in [10.6, 24.0] {
        matrix.set_both(6, 7, cost);
        assert_eq!(cheaper(&matrix), None, "{cost}");
    }
}
