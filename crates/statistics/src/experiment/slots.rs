//! Slots of running processes: effects of one on the following slots. No restart between them clears these away.
//!
//! Two traces are examined, each at several lags. A lasting effect changes the level of later slots; a fading one makes
//! the first half of a slot differ from the second. The preceding arm was drawn, so both are compared between slots
//! after an arm and all others.

use super::carry_over::{CarryOverSearch, OrderedBlock};
use super::standing::CarryOverEffect;
use super::{JudgingPolicy, RunBlock};

/// Lags, in slots, at which effects are examined.
const LAGS: [usize; 3] = [1, 2, 4];

/// The slots of whole blocks.
#[derive(Clone, Debug, Default)]
pub struct SlotBlocks {
    levels: Vec<OrderedBlock>,
    /// The first half minus the second.
    fades: Vec<OrderedBlock>,
    last_arm: Option<usize>,
}

impl SlotBlocks {
    /// Takes a block into account, with the fading within each of its slots.
    pub fn add_block(&mut self, block: &RunBlock, fades: &RunBlock, is_whole: bool) {
        if is_whole {
            let ordered = |block: &RunBlock| OrderedBlock { before: self.last_arm, runs: block.runs.clone() };
            let (level, fade) = (ordered(block), ordered(fades));
            self.levels.push(level);
            self.fades.push(fade);
        }
        self.last_arm = block.runs.last().map(|run| run.arm);
    }

    /// Returns the strongest remaining effect beyond the carry-over of the race itself.
    pub fn left_behind(&self, candidates: usize, policy: &JudgingPolicy) -> Option<CarryOverEffect> {
        let lasting = LAGS[1..].iter().map(|lag| (&self.levels, *lag));
        let looked = lasting.chain(LAGS.iter().map(|lag| (&self.fades, *lag)));
        let looks = 2 * LAGS.len() - 1;
        let found = looked
            .filter_map(|(blocks, lag)| CarryOverSearch::with_lag(blocks, candidates, lag, looks).find_doubt(policy));
        found.max_by(|a, b| a.standard_errors.abs().total_cmp(&b.standard_errors.abs()))
    }
}
