//! The oldest question about cpus: is the first one, which gets most interrupts, worse than the others?

use super::quantity::{CpuQuantity, QuantityTest, settles_s};
use super::{FirstCpu, PendingAnswer, formats};
use crate::finding::FindingEffect;
use crate::{Survey, forecast};

/// Returns the cpu in question: the first of the machine, if it was visited.
pub fn asked_cpu(survey: &Survey) -> Option<u32> {
    let first = survey.machine.online.lowest()?;
    survey.cpus.iter().any(|seen| seen.cpu == first).then_some(first)
}

/// Result for the cpu among its peers in one quantity.
pub struct QuantityAnswer {
    quantity: CpuQuantity,
    /// Its ratio to its peers; `None` after too few rounds.
    effect: Option<FindingEffect>,
    /// True if the test found that it differs by at least the margin.
    is_found: bool,
    /// Length of a decisive survey, in seconds; `None` if this one decides.
    pub needs_s: Option<f64>,
}

impl QuantityAnswer {
    /// Extracts the result for one column of a test.
    pub fn new(survey: &Survey, tested: &QuantityTest, column: usize) -> Self {
        let quantity = tested.quantity;
        let Some((effect, is_found)) = tested.effect_of(column) else {
            let needs_s = Some(quantity.enough_s(survey, tested.rounds));
            return Self { quantity, effect: None, is_found: false, needs_s };
        };
        // A possible advantage does not prevent the answer that it is not worse.
        let is_open = !is_found && effect.high >= quantity.exclusion_limit();
        let needs_s = if is_open { settles_s(effect, quantity.exclusion_limit(), survey) } else { None };
        Self { quantity, effect: Some(effect.clone()), is_found, needs_s }
    }

    /// Describes a certain difference in one direction.
    fn describe_difference(&self, is_worse: bool) -> Option<String> {
        let effect = self.effect.as_ref().filter(|effect| self.is_found && (effect.ratio > 1.0) == is_worse)?;
        Some(match self.quantity {
            CpuQuantity::Median => formats::format_slower(effect),
            quantity => format!("{} {}", quantity.quantity_name(), effect.format_times()),
        })
    }

    /// Describes what is not excluded, with the length of a decisive survey.
    fn open(&self) -> Option<String> {
        let (needs_s, effect) = (self.needs_s?, self.effect.as_ref()?);
        let (name, beyond) = (self.quantity.quantity_name(), self.quantity.format_bound(effect.high));
        Some(format!("{name} up to {beyond} is not excluded ({} should tell)", forecast::format_about(needs_s)))
    }

    /// Describes the largest difference that is possible.
    fn describe_exclusion(&self) -> Option<String> {
        let effect = self.effect.as_ref().filter(|_| !self.is_found)?;
        Some(format!("{} in {}", self.quantity.format_bound(effect.high), self.quantity.quantity_name()))
    }
}

/// Builds the answer from the results in all quantities; `None` if none could be observed, or the cpu has no peers.
///
/// "No" requires that every difference from [`CpuQuantity::exclusion_limit`] on is excluded: a test without result may only lack
/// data.
pub fn first_cpu_answer(cpu: u32, asked: &[QuantityAnswer]) -> Option<FirstCpu> {
    if asked.is_empty() {
        return None;
    }
    let all = |of: &dyn Fn(&QuantityAnswer) -> Option<String>| asked.iter().filter_map(of).collect::<Vec<_>>();
    let (worse, better) =
        (all(&|asked| asked.describe_difference(true)), all(&|asked| asked.describe_difference(false)));
    let (mut open, excluded) = (all(&QuantityAnswer::open), all(&QuantityAnswer::describe_exclusion));
    open.extend(too_few_rounds(asked));
    let (is_worse, answer) = if !worse.is_empty() {
        (PendingAnswer::Yes, format!("Yes: {}.", worse.join(", ")))
    } else if !open.is_empty() {
        (PendingAnswer::CannotTellYet, format!("Cannot tell yet: {}.", open.join("; ")))
    } else if !better.is_empty() {
        (PendingAnswer::No, format!("No, it is better: {}.", better.join(", ")))
    } else {
        (PendingAnswer::No, format!("No. If it is worse at all, then by less than {}.", excluded.join(", ")))
    };
    Some(FirstCpu { cpu, is_worse, answer })
}

/// Names the quantities that were compared in too few rounds, with the length of a survey with enough of them.
fn too_few_rounds(asked: &[QuantityAnswer]) -> Option<String> {
    let few: Vec<&QuantityAnswer> = asked.iter().filter(|asked| asked.effect.is_none()).collect();
    let needs_s = few.iter().filter_map(|asked| asked.needs_s).max_by(f64::total_cmp)?;
    let names: Vec<&str> = few.iter().map(|asked| asked.quantity.quantity_name()).collect();
    Some(format!("too few rounds for {} ({} would be enough)", names.join(", "), forecast::format_about(needs_s)))
}
