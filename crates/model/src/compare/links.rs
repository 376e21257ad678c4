//! The cost of communication between cpus, by relation, over the pairs that are in both surveys.
//!
//! Pairs of one relation differ from each other, often by more than surveys do. Each visit is therefore divided by its
//! own pair's typical cost, the geometric mean of the pair's medians in both surveys. The comparison is between the two
//! surveys' visits relative to these typical costs. Results are given for the median typical pair.

use std::collections::BTreeMap;

use corewise_machine::Gap;

use super::{ComparedQuantity, ComparedSubject, MedianEstimate, SurveyComparison};
use crate::Survey;
use crate::links::{CpuRelation, LinkPair, in_both};
use crate::stats::order::median;

/// The pairs of one relation, and their visits relative to the typical cost, each with its place among its pair's visits.
#[derive(Default)]
struct RelationPairs {
    typical_ns: Vec<f64>,
    before: Vec<(usize, f64)>,
    after: Vec<(usize, f64)>,
}

/// Adds the relations whose cost changed.
pub(super) fn compare_relations(before: &Survey, after: &Survey, comparison: &mut SurveyComparison) {
    for (relation, class) in relation_classes(before, after) {
        let typical_ns = median(&class.typical_ns);
        let estimate =
            |visits| MedianEstimate::from_values(&in_order(visits), 0.0).map(|estimate| estimate.scale_by(typical_ns));
        match (estimate(class.before), estimate(class.after)) {
            (Some(a), Some(b)) => {
                comparison.judge_change(ComparedQuantity::LinkCost, ComparedSubject::Links(relation), a, b)
            }
            _ => comparison.gaps.push(few_visits(relation)),
        }
    }
}

fn few_visits(relation: CpuRelation) -> Gap {
    let why = "one of the surveys has too few visits for a 99 % interval (8 are needed)";
    Gap::new(format!("link cost, {}", relation.relation_name()), why).cured_by("survey again with a larger --budget")
}

/// Collects the visits of both surveys relative to their pair's typical cost, over the pairs with one relation in both.
fn relation_classes(before: &Survey, after: &Survey) -> BTreeMap<CpuRelation, RelationPairs> {
    let mut classes = BTreeMap::<CpuRelation, RelationPairs>::new();
    for (earlier, later) in in_both(&before.links.pairs, &after.links.pairs) {
        let relation = CpuRelation::between_cpus(&before.machine, earlier.a, earlier.b);
        let Some(relation) =
            relation.filter(|_| relation == CpuRelation::between_cpus(&after.machine, earlier.a, earlier.b))
        else {
            continue;
        };
        let typical_ns = (earlier.one_way_ns() * later.one_way_ns()).sqrt();
        if typical_ns.is_finite() && typical_ns > 0.0 {
            let class = classes.entry(relation).or_default();
            class.typical_ns.push(typical_ns);
            class.before.extend(relative_visits(earlier, typical_ns));
            class.after.extend(relative_visits(later, typical_ns));
        }
    }
    classes
}

fn relative_visits(pair: &LinkPair, typical_ns: f64) -> impl Iterator<Item = (usize, f64)> + '_ {
    let visits = pair.in_turn_ns().into_iter().map(move |visit| visit / typical_ns);
    visits.enumerate().filter(|(_, visit)| visit.is_finite())
}

/// Returns the visits in order of time: every pair's first, every pair's second, and so on.
fn in_order(mut visits: Vec<(usize, f64)>) -> Vec<f64> {
    visits.sort_by_key(|&(place, _)| place);
    visits.into_iter().map(|(_, visit)| visit).collect()
}
