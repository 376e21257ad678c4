//! Slots of running processes: what one leaves behind for those that follow. There is no start between them that clears it away.
//!
//! Two traces are looked for, each at several lags. What lasts changes the level of later slots; what fades makes the first half of a slot
//! differ from the second. Which arm stood before was drawn, so both are compared between slots after an arm and all others.

use super::carry_over::{ERRORS, Ordered, carry_over_at};
use super::standing::CarryOver;
use super::{Block, Policy};

/// How many slots later it is looked for.
const LAGS: [usize; 3] = [1, 2, 4];

/// The slots of whole blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    levels: Vec<Ordered>,
    /// The first half less the second.
    fades: Vec<Ordered>,
    last_arm: Option<usize>,
}

impl Slots {
    /// Takes a block into account, and of the same slots what faded within each.
    pub(crate) fn add(&mut self, block: &Block, fades: &Block, is_whole: bool) {
        if is_whole {
            let ordered = |block: &Block| Ordered { before: self.last_arm, runs: block.runs.clone() };
            let (level, fade) = (ordered(block), ordered(fades));
            self.levels.push(level);
            self.fades.push(fade);
        }
        self.last_arm = block.runs.last().map(|run| run.arm);
    }

    /// The strongest of what is left behind, where it counts beyond what the race itself looks for.
    pub(crate) fn left_behind(&self, candidates: usize, policy: &Policy) -> Option<CarryOver> {
        let lasting = LAGS[1..].iter().map(|lag| (&self.levels, *lag));
        let looked = lasting.chain(LAGS.iter().map(|lag| (&self.fades, *lag)));
        let looks = 2 * LAGS.len() - 1;
        let found = looked.filter_map(|(blocks, lag)| {
            carry_over_at(blocks, candidates, lag)
                .filter(|found| found.is_material(blocks, candidates * looks, policy, ERRORS))
        });
        found.max_by(|a, b| a.standard_errors.abs().total_cmp(&b.standard_errors.abs()))
    }
}
