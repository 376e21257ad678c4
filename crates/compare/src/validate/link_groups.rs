//! Maps of links: groups of cpus that are none, and pairs that did not change.

use corewise_machine::random::RandomGenerator;
use corewise_model::links::compare::{LinkComparison, compare_link_maps};
use corewise_model::links::conclude::conclude_map;
use corewise_model::links::groups::{GroupHierarchy, dear_groups};
use corewise_model::links::{CostMatrix, CpuRelation};
use corewise_model::simulate::layout::MachineLayout;
use corewise_model::simulate::simulate_link_map;

use super::surveys::lowest_share;
use super::{ErrorBounds, count_repetitions, percent_of, repeat_simulation};

const SIZES: [u32; 9] = [3, 4, 5, 6, 7, 8, 10, 16, 32];
const NOISES: [f64; 3] = [0.05, 0.1, 0.2];

/// Prints how often groups are found in equal cpus, and found again in machines that have them; and pairs called changed.
pub fn print_tables(share: f64, bounds: &mut ErrorBounds) {
    equal_cpus(share, bounds);
    real_groups(share, bounds);
    changed_pairs(share, bounds);
}

/// Costs of pairs with luck of this standard deviation.
fn costs(cpus: u32, seed: u64, luck: f64, one_way_ns: impl Fn(usize, usize) -> f64) -> CostMatrix {
    let mut random = RandomGenerator::new(seed);
    let mut matrix = CostMatrix::all_unknown(0..cpus);
    for i in 0..matrix.len() {
        for j in i + 1..matrix.len() {
            matrix.set_both(i, j, one_way_ns(i, j) * (luck * random.next_normal()).exp());
        }
    }
    matrix
}

fn equal_cpus(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(4000.0, share);
    println!("\n## Groups in equal cpus, luck of a pair: % of {count} maps\n");
    println!("| cpus | {} |", NOISES.map(|noise| format!("{:.0} %", 100.0 * noise)).join(" | "));
    println!("|--:|--:|--:|--:|");
    for cpus in SIZES {
        let shares = NOISES.map(|luck| {
            let found = repeat_simulation(count, |seed| {
                let matrix = costs(cpus, seed, luck, |_, _| 60.0);
                !GroupHierarchy::from_matrix(&matrix, &matrix).levels.is_empty() || dear_groups(&matrix).is_some()
            });
            percent_of(&found, |found| *found)
        });
        println!("| {cpus} | {} |", shares.map(|share| format!("{share:.2}")).join(" | "));
        let bound = 1.0 + 3.0 * (99.0 / count as f64).sqrt();
        for (luck, share) in NOISES.into_iter().zip(shares) {
            bounds.at_most(&format!("groups in {cpus} equal cpus, luck {luck}"), share, bound);
        }
    }
}

/// Groups of two and of four whose others cost four times as much are found.
fn real_groups(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!("\n## Groups that others cost 4 times as much, luck of 5 %: found % of {count} maps\n");
    println!("| cpus | in groups of | found |");
    println!("|--:|--:|--:|");
    for (cpus, size) in [(4, 2), (6, 3), (8, 2), (8, 4), (16, 4)] {
        let found = repeat_simulation(count, |seed| {
            let matrix = costs(cpus, seed, 0.05, |i, j| if i / size == j / size { 20.0 } else { 80.0 });
            let levels = GroupHierarchy::from_matrix(&matrix, &matrix).levels;
            levels.first().is_some_and(|level| level.groups.len() == cpus as usize / size)
        });
        let found = percent_of(&found, |found| *found);
        println!("| {cpus} | {size} | {found:.1} |");
        bounds.at_least(&format!("{cpus} cpus in groups of {size} are found"), found, 99.0);
    }
}

/// Two maps whose pairs have luck of their own.
fn changed_pairs(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(500.0, share);
    println!("\n## Two maps of a machine of two caches, luck of a pair 5 %: % of {count} comparisons\n");
    println!(
        "| cores of a cache | unchanged: any pair called changed | one pair doubled: called changed | all across +30 %: \
         interval holds | excludes none |"
    );
    println!("|--:|--:|--:|--:|--:|");
    for cores in [2, 4, 8] {
        let machine = MachineLayout { packages: 1, caches: 2, cores, threads: 1, adjacent: false }.build_machine();
        let compare = |change: &(dyn Fn(u32, u32, CpuRelation) -> f64 + Sync)| {
            repeat_simulation(count, |seed| {
                let cost = |_, _, relation| if relation == CpuRelation::SameLlc { 20.0 } else { 100.0 };
                let before = simulate_link_map(&machine, 2 * seed, 0.05, cost);
                let later = |a, b, relation| cost(a, b, relation) * change(a, b, relation);
                let after = simulate_link_map(&machine, 2 * seed + 1, 0.05, later);
                compare_link_maps(&before, &after, &conclude_map(&before)).remove(0)
            })
        };
        let any = percent_of(&compare(&|_, _, _| 1.0), |found| found.dearer + found.cheaper > 0);
        let doubled = compare(&|a, b, _| if (a, b) == (0, cores) { 2.0 } else { 1.0 });
        let doubled = percent_of(&doubled, |found| found.most.iter().any(|pair| (pair.a, pair.b) == (0, cores)));
        let across = compare(&|_, _, relation| if relation == CpuRelation::SameLlc { 1.0 } else { 1.3 });
        let holds = percent_of(&across, |found| class_holds(found, 1.3));
        let excludes = percent_of(&across, |found| found.classes.last().is_some_and(|class| class.effect.low > 1.0));
        println!("| {cores} | {any:.1} | {doubled:.1} | {holds:.1} | {excludes:.1} |");
        bounds.at_most(
            &format!("an unchanged pair is called changed, {cores} cores"),
            any,
            5.0 + 3.0 * (475.0 / count as f64).sqrt(),
        );
        if cores > 2 {
            bounds.at_least(&format!("a doubled pair is called changed, {cores} cores"), doubled, 90.0);
        }
        bounds.at_least(&format!("a class's interval holds, {cores} cores"), holds, lowest_share(94.0, across.len()));
    }
}

fn class_holds(found: &LinkComparison, truth: f64) -> bool {
    found.classes.last().is_some_and(|class| class.effect.low <= truth && truth <= class.effect.high)
}
