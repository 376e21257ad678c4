//! The cost of communication between cpus, by relation, over the pairs that are in both surveys.
//!
//! A pair's visits within one survey share its pages, which another survey has elsewhere: the pair is the unit, not the
//! visit. Each pair has the ratio of its medians in both surveys; a relation's change is the median over its pairs. Its
//! uncertainty comes from the spread of these ratios around their relation's median ([`PairSpread`]).

use std::collections::BTreeMap;

use corewise_machine::Gap;

use super::{ComparedNumber, ComparedQuantity, ComparedSubject, ERROR_RATE, MedianEstimate, SurveyComparison};
use crate::Survey;
use crate::links::pair_spread::PairSpread;
use crate::links::{CpuRelation, CpuRelationTable, LinkPair, in_both};
use corewise_statistics::order::median;

/// Minimum number of visits to a relation's pairs in each survey.
const VISITS_ENOUGH: usize = 8;

/// The pairs of one relation: their typical cost in nanoseconds, the logarithms of their ratios, and the number of visits.
#[derive(Default)]
struct RelationPairs {
    typical_ns: Vec<f64>,
    ratios: Vec<f64>,
    visits: [usize; 2],
}

/// Adds the relations whose cost changed.
pub(super) fn compare_relations(before: &Survey, after: &Survey, comparison: &mut SurveyComparison) {
    let relations = relation_pairs(before, after);
    let spread = PairSpread::from_classes(relations.values().map(|pairs| pairs.ratios.as_slice()));
    for (relation, pairs) in &relations {
        if pairs.visits.iter().any(|visits| *visits < VISITS_ENOUGH) {
            comparison.gaps.push(few_visits(*relation));
            continue;
        }
        let (difference, count) = (median(&pairs.ratios), pairs.ratios.len());
        let reach = |alpha| spread.reach_of_median(count, alpha);
        let typical_ns = median(&pairs.typical_ns);
        // Both surveys have the same part in the ratio's uncertainty.
        let estimate = |sign: f64| {
            let of_one = reach(ERROR_RATE) / std::f64::consts::SQRT_2;
            MedianEstimate::new(typical_ns * (sign * difference / 2.0).exp(), of_one, count)
        };
        comparison.judge_change(&ComparedNumber {
            quantity: ComparedQuantity::LinkCost,
            subject: ComparedSubject::Links(*relation),
            before: estimate(-1.0),
            after: estimate(1.0),
            difference,
            reach: reach(ERROR_RATE),
            family_reach: reach(ComparedQuantity::error_rate() / relations.len() as f64),
        });
    }
}

fn few_visits(relation: CpuRelation) -> Gap {
    let why = "one of the surveys has too few visits (8 are needed)";
    Gap::new(format!("link cost, {}", relation.relation_name()), why).cured_by("survey again with a larger --budget")
}

/// Collects the pairs with one relation in both surveys.
fn relation_pairs(before: &Survey, after: &Survey) -> BTreeMap<CpuRelation, RelationPairs> {
    let [told_before, told_after] = [before, after].map(|survey| CpuRelationTable::new(&survey.machine));
    let mut relations = BTreeMap::<CpuRelation, RelationPairs>::new();
    for (earlier, later) in in_both(&before.links.pairs, &after.links.pairs) {
        let relation = told_before.relation_between(earlier.a, earlier.b);
        let Some(relation) = relation.filter(|_| relation == told_after.relation_between(earlier.a, earlier.b)) else {
            continue;
        };
        let typical_ns = (earlier.one_way_ns() * later.one_way_ns()).sqrt();
        if typical_ns.is_finite() && typical_ns > 0.0 {
            let pairs = relations.entry(relation).or_default();
            pairs.typical_ns.push(typical_ns);
            pairs.ratios.push((later.one_way_ns() / earlier.one_way_ns()).ln());
            let visits = |pair: &LinkPair| pair.in_turn_ns().len();
            pairs.visits = [pairs.visits[0] + visits(earlier), pairs.visits[1] + visits(later)];
        }
    }
    relations
}
