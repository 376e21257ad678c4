//! The oldest question about cpus: is the first one, where most interrupts go, worse than the others?

use super::quantity::{Quantity, Tested, settles_s};
use super::{Answer, FirstCpu, words};
use crate::Survey;
use crate::finding::Effect;

/// Returns the cpu in question: the first of the machine, if it was visited.
pub fn asked(survey: &Survey) -> Option<u32> {
    let first = survey.machine.online.lowest()?;
    survey.cpus.iter().any(|seen| seen.cpu == first).then_some(first)
}

/// Result for the cpu among its peers in one quantity.
pub struct Asked {
    quantity: Quantity,
    /// Its ratio to its peers; `None` after too few rounds.
    effect: Option<Effect>,
    /// True if the test found that it differs by at least the margin.
    is_found: bool,
    /// Length of a decisive survey, in seconds; `None` if this one decides.
    pub needs_s: Option<f64>,
}

impl Asked {
    /// Extracts the result for one column of a test.
    pub fn new(survey: &Survey, tested: &Tested, column: usize) -> Self {
        let quantity = tested.quantity;
        let Some((effect, is_found)) = tested.of(column) else {
            let needs_s = Some(quantity.enough_s(survey, tested.rounds));
            return Self { quantity, effect: None, is_found: false, needs_s };
        };
        // A possible advantage does not prevent the answer that it is not worse.
        let is_open = !is_found && effect.high >= quantity.limit();
        let needs_s = if is_open { settles_s(effect, quantity.limit(), survey) } else { None };
        Self { quantity, effect: Some(effect.clone()), is_found, needs_s }
    }

    /// Describes a certain difference in one direction.
    fn found(&self, is_worse: bool) -> Option<String> {
        let effect = self.effect.as_ref().filter(|effect| self.is_found && (effect.ratio > 1.0) == is_worse)?;
        Some(match self.quantity {
            Quantity::Median => words::slower(effect),
            quantity => format!("{} {}", quantity.words(), effect.times()),
        })
    }

    /// Describes what is not excluded, with the length of a decisive survey.
    fn open(&self) -> Option<String> {
        let (needs_s, effect) = (self.needs_s?, self.effect.as_ref()?);
        let (name, beyond) = (self.quantity.words(), self.quantity.ratio_words(effect.high));
        Some(format!("{name} up to {beyond} is not excluded ({} should tell)", words::about(needs_s)))
    }

    /// Describes the largest difference that is possible.
    fn excluded(&self) -> Option<String> {
        let effect = self.effect.as_ref().filter(|_| !self.is_found)?;
        Some(format!("{} in {}", self.quantity.ratio_words(effect.high.max(1.0)), self.quantity.words()))
    }
}

/// Builds the answer from the results in all quantities; `None` if none could be observed, or the cpu has no peers.
///
/// "No" requires that every difference from [`Quantity::limit`] on is excluded: a test without result may only lack
/// data.
pub fn answer(cpu: u32, asked: &[Asked]) -> Option<FirstCpu> {
    if asked.is_empty() {
        return None;
    }
    let all = |of: &dyn Fn(&Asked) -> Option<String>| asked.iter().filter_map(of).collect::<Vec<_>>();
    let (worse, better) = (all(&|asked| asked.found(true)), all(&|asked| asked.found(false)));
    let (mut open, excluded) = (all(&Asked::open), all(&Asked::excluded));
    open.extend(too_few_rounds(asked));
    let (is_worse, answer) = if !worse.is_empty() {
        (Answer::Yes, format!("Yes: {}.", worse.join(", ")))
    } else if !open.is_empty() {
        (Answer::CannotTellYet, format!("Cannot tell yet: {}.", open.join("; ")))
    } else if !better.is_empty() {
        (Answer::No, format!("No, it is better: {}.", better.join(", ")))
    } else {
        (Answer::No, format!("No. If it is worse at all, then by less than {}.", excluded.join(", ")))
    };
    Some(FirstCpu { cpu, is_worse, answer })
}

/// Names the quantities that were compared in too few rounds, with the length of a survey with enough of them.
fn too_few_rounds(asked: &[Asked]) -> Option<String> {
    let few: Vec<&Asked> = asked.iter().filter(|asked| asked.effect.is_none()).collect();
    let needs_s = few.iter().filter_map(|asked| asked.needs_s).max_by(f64::total_cmp)?;
    let names: Vec<&str> = few.iter().map(|asked| asked.quantity.words()).collect();
    Some(format!("too few rounds for {} ({} would be enough)", names.join(", "), words::about(needs_s)))
}
