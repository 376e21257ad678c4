//! Cost classes: blocks of pairs put in order of their medians, and cut where a step is clear and the pairs keep to their side of it.

use std::collections::{BTreeMap, BTreeSet};

use super::{CostClass, Filled, LinkConclusions, group_of};
use crate::links::Relation;
use crate::stats::order::{median, quantile};
use crate::{Level, Machine};

/// Two classes cost at least this much apart.
const STEP: f64 = 1.15;
/// At most this share of the pairs of either lies beyond the middle of the step (the geometric mean of their medians).
const MISPLACED: f64 = 0.05;

/// Pairs between the same two groups (or of one group) and of one relation.
struct Block {
    words: String,
    /// Places.
    pairs: Vec<(usize, usize)>,
    costs: Vec<f64>,
    median_ns: f64,
}

/// The classes of what was measured, cheapest first.
pub(super) fn of(filled: &Filled, conclusions: &LinkConclusions, machine: Option<&Machine>) -> Vec<CostClass> {
    let mut described: Vec<CostClass> =
        classes(filled, conclusions, machine).iter().map(|class| described(class)).collect();
    // Two classes of one name are the nearer and the farther of their kind.
    for place in 1..described.len() {
        if described[place].words == described[place - 1].words {
            described[place - 1].words.insert_str(0, "nearer ");
            described[place].words.insert_str(0, "farther ");
        }
    }
    described
}

/// Which class each measured pair of cpus is in, counted from the cheapest, and what the class is called.
pub(in crate::links) fn class_of(
    filled: &Filled,
    conclusions: &LinkConclusions,
    machine: Option<&Machine>,
) -> impl Fn(u32, u32) -> Option<(usize, String)> + use<> {
    let mut class_of = BTreeMap::new();
    for (index, class) in classes(filled, conclusions, machine).iter().enumerate() {
        let words = described(class).words;
        for &(i, j) in class.iter().flat_map(|block| &block.pairs) {
            let (a, b) = (filled.structure.cpus[i], filled.structure.cpus[j]);
            class_of.insert((a.min(b), a.max(b)), (index, words.clone()));
        }
    }
    move |a, b| class_of.get(&(a.min(b), a.max(b))).cloned()
}

fn classes(filled: &Filled, conclusions: &LinkConclusions, machine: Option<&Machine>) -> Vec<Vec<Block>> {
    let mut blocks = blocks(filled, conclusions, machine);
    blocks.sort_by(|one, other| one.median_ns.total_cmp(&other.median_ns));
    let mut classes: Vec<Vec<Block>> = Vec::new();
    for block in blocks {
        match classes.last_mut() {
            Some(class)
                if !is_step(class, &block) && is_told_apart(class) == is_told_apart(std::slice::from_ref(&block)) =>
            {
                class.push(block);
            }
            _ => classes.push(vec![block]),
        }
    }
    joined_where_unclear(classes)
}

fn blocks(filled: &Filled, conclusions: &LinkConclusions, machine: Option<&Machine>) -> Vec<Block> {
    let group_of = group_of(filled, conclusions.groups.as_ref());
    let core_of = conclusions.cores(filled);
    let mut blocks = BTreeMap::<_, (Vec<(usize, usize)>, Vec<f64>)>::new();
    for (i, j, cost) in filled.measured.known() {
        let pair = |of: &[usize]| [of[i].min(of[j]), of[i].max(of[j])];
        let key = if core_of[i] == core_of[j] {
            None
        } else {
            Some((filled.structure.block(i, j), group_of.as_deref().map(pair)))
        };
        let block = blocks.entry(key).or_default();
        block.0.push((i, j));
        block.1.push(cost);
    }
    let several_packages = machine.is_some_and(|machine| machine.objects(Level::Package).len() > 1);
    blocks
        .into_iter()
        .map(|(key, (pairs, costs))| {
            let words = match key {
                None => Relation::SameCore.words(),
                Some((block, Some(groups))) => match (groups[0] == groups[1], block.packages[0] == block.packages[1]) {
                    (true, _) => "same group",
                    (false, true) if several_packages => "other group, same package",
                    (false, true) => "other group",
                    (false, false) => "other package",
                },
                // Where nothing is told, all pairs are alike.
                Some((_, None)) if machine.is_none() => "any two",
                Some((block, None)) => block.relation.words(),
            };
            Block { words: words.to_owned(), pairs, median_ns: median(&costs), costs }
        })
        .collect()
}

/// Whether a block costs clearly more than a class.
fn is_step(class: &[Block], block: &Block) -> bool {
    class.last().is_some_and(|last| block.median_ns >= STEP * last.median_ns)
}

/// Joins classes whose pairs do not keep to their sides.
fn joined_where_unclear(classes: Vec<Vec<Block>>) -> Vec<Vec<Block>> {
    let mut clear: Vec<Vec<Block>> = Vec::new();
    for class in classes {
        match clear.last_mut() {
            Some(before) if !is_told_apart(before) && !keep_apart(&costs(before), &costs(&class)) => {
                before.extend(class)
            }
            _ => clear.push(class),
        }
    }
    clear
}

/// Siblings are a class of their own, whatever they cost.
fn is_told_apart(class: &[Block]) -> bool {
    class.iter().all(|block| block.words == Relation::SameCore.words())
}

fn keep_apart(low: &[f64], high: &[f64]) -> bool {
    let middle = (median(low) * median(high)).sqrt();
    let share = |wrong: usize, of: usize| wrong as f64 / of.max(1) as f64;
    let above = low.iter().filter(|cost| **cost > middle).count();
    let below = high.iter().filter(|cost| **cost < middle).count();
    share(above, low.len()) <= MISPLACED && share(below, high.len()) <= MISPLACED
}

fn costs(class: &[Block]) -> Vec<f64> {
    class.iter().flat_map(|block| block.costs.iter().copied()).collect()
}

fn described(class: &[Block]) -> CostClass {
    let costs = costs(class);
    let words: BTreeSet<&str> = class.iter().map(|block| block.words.as_str()).collect();
    let mut words: Vec<&str> = words.into_iter().collect();
    // Nearest first, and what is said twice once.
    words.sort_by_key(|words| (!words.starts_with("same"), words.len()));
    CostClass {
        words: words.join(" and "),
        pairs: costs.len() as u64,
        median_ns: median(&costs),
        low_ns: quantile(&costs, 0.05),
        high_ns: quantile(&costs, 0.95),
    }
}
