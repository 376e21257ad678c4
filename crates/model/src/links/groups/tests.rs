use super::*;
use crate::links::Relation;
use crate::simulate::layout::{Layout, costs, mesh};
use crate::stats::random::Random;

/// All of it was measured.
fn both(matrix: &Matrix) -> Vec<GroupLevel> {
    levels(matrix, matrix)
}

fn chiplets(one_way_ns: impl Fn(Relation) -> f64) -> (Matrix, Vec<CpuSet>) {
    let machine = Layout { packages: 1, caches: 4, cores: 3, threads: 1, adjacent: false }.machine();
    let caches = machine.llcs.iter().map(|llc| llc.cpus.clone()).collect();
    (costs(&machine, 5, one_way_ns), caches)
}

#[test]
fn caches_that_talk_cheaply_inside_are_groups() {
    let (matrix, caches) = chiplets(|relation| if relation == Relation::SameLlc { 23.0 } else { 95.0 });
    let levels = levels(&matrix, &matrix);
    assert_eq!(levels.len(), 1);
    assert_eq!(levels[0].groups, caches);
    assert!(levels[0].step > 3.9 && levels[0].misplaced == 0.0, "{levels:?}");
    assert_eq!(levels[0].words("cpu"), "4 groups of 3 cpus");
}

#[test]
fn a_step_that_is_hardly_one_is_none() {
    let (matrix, _) = chiplets(|relation| if relation == Relation::SameLlc { 50.0 } else { 58.0 });
    assert_eq!(levels(&matrix, &matrix), []);
}

/// Each cpu has near ones, but these are not near each other: no division puts all pairs on the right side.
#[test]
fn a_mesh_has_no_groups() {
    for seed in 0..20 {
        let found = both(&mesh(8, 8, seed, 30.0, 4.0));
        assert_eq!(found, [], "seed {seed}");
    }
}

/// How often groups are found where there are none: costs of one class, with noise of 1 to 20 %.
#[test]
fn equal_cpus_have_no_groups() {
    let mut found = 0;
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let (cpus, noise) = (4 + random.below(29) as u32, 0.01 + 0.19 * random.unit());
        let mut matrix = Matrix::unknown(0..cpus);
        for i in 0..matrix.len() {
            for j in i + 1..matrix.len() {
                matrix.set_both(i, j, 60.0 * (noise * random.normal()).exp());
            }
        }
        found += usize::from(!levels(&matrix, &matrix).is_empty());
    }
    assert!(found <= 4, "{found} of 400");
}

#[test]
fn siblings_and_packages_are_levels_of_their_own() {
    let machine = Layout { packages: 2, caches: 2, cores: 4, threads: 2, adjacent: false }.machine();
    let matrix = costs(&machine, 3, |relation| match relation {
        Relation::SameCore => 8.0,
        Relation::SameCluster | Relation::SameLlc | Relation::SameLlcOtherNode => 25.0,
        Relation::OtherLlc | Relation::OtherDie | Relation::OtherNode => 110.0,
        Relation::OtherPackage => 205.0,
    });
    let found = Unnamed::of(&matrix, &matrix, Unit::Nanoseconds);
    assert_eq!(found.siblings.map(|level| level.words("cpu")).as_deref(), Some("16 groups of 2 cpus"));
    let words: Vec<String> = found.levels.iter().map(|level| level.words("cpu")).collect();
    assert_eq!(words, ["4 groups of 8 cpus", "2 groups of 16 cpus"]);
}

/// One pair of siblings that was disturbed must not cost its level: (0, 12) is nearer to the rest of its cache than to its sibling's.
#[test]
fn one_dear_pair_of_siblings_does_not_hide_the_others() {
    let machine = Layout { packages: 1, caches: 4, cores: 3, threads: 2, adjacent: false }.machine();
    let mut matrix = costs(&machine, 3, |relation| match relation {
        Relation::SameCore => 6.5,
        Relation::SameLlc => 23.0,
        _ => 95.0,
    });
    matrix.set_both(0, 12, 12.0);
    let found = Unnamed::of(&matrix, &matrix, Unit::Nanoseconds);
    assert_eq!(found.siblings.map(|level| level.groups.len()), Some(12));
    assert_eq!(found.levels.iter().map(|level| level.groups.len()).collect::<Vec<_>>(), [4]);
}

/// A socket whose lines all live on the other one looks as if it were not one.
#[test]
fn a_socket_that_is_dear_inside_makes_no_level() {
    let machine = Layout { packages: 2, caches: 4, cores: 2, threads: 1, adjacent: false }.machine();
    let mut matrix = costs(&machine, 3, |relation| match relation {
        Relation::SameLlc => 25.0,
        Relation::OtherLlc | Relation::OtherDie | Relation::OtherNode => 130.0,
        _ => 260.0,
    });
    for i in 8..16 {
        for j in (8..i).filter(|j| j / 2 != i / 2) {
            matrix.set_both(i, j, 262.0);
        }
    }
    let words: Vec<String> = levels(&matrix, &matrix).iter().map(|level| level.words("cpu")).collect();
    assert_eq!(words, ["8 groups of 2 cpus"]);
    assert_eq!(favoured_half(&matrix, &matrix), Some(CpuSet::first(8)));
    let (even, _) = chiplets(|relation| if relation == Relation::SameLlc { 23.0 } else { 95.0 });
    assert_eq!(favoured_half(&even, &even), None);
}

#[test]
fn few_cpus_and_unknown_costs_are_no_trouble() {
    assert_eq!(both(&Matrix::unknown([])), []);
    assert_eq!(both(&Matrix::unknown(0..2)), []);
    assert_eq!(both(&Matrix::unknown(0..40)), []);
    let mut some = Matrix::unknown(0..6);
    some.set_both(0, 1, 10.0);
    assert_eq!(both(&some), []);
}

/// What a prediction made of what the kernel told proves nothing: of each group something has to be measured, inside and outside.
#[test]
fn groups_of_which_nothing_was_measured_are_not_proved() {
    let (matrix, _) = chiplets(|relation| if relation == Relation::SameLlc { 23.0 } else { 95.0 });
    let mut measured = matrix.clone();
    assert_eq!(levels(&matrix, &measured).len(), 1);
    for (i, j) in [(0, 1), (0, 2), (1, 2)] {
        measured.set_both(i, j, f64::NAN);
    }
    assert_eq!(levels(&matrix, &measured), []);
}
