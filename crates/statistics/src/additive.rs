//! Additive fit of pairs: each value is the level of the pair's block, plus an offset of each of its two members.
//!
//! Both are shrunk: a block towards the others of its family, a member towards zero ([`MeanShrinkage`]).

use crate::order::median_deviation;
use crate::shrinkage::{FAR_OUT, MeanShrinkage};

/// Alternations of fitting blocks and members; the changes fall below a tenth of a percent long before.
const TURNS: usize = 12;

/// A value of a pair.
#[derive(Clone, Copy, Debug)]
pub struct PairValue {
    /// Number of its block.
    pub block: usize,
    /// Numbers of its two members; `None` for a pair within one member, which has no offset.
    pub members: Option<[usize; 2]>,
    /// The value.
    pub value: f64,
}

/// Levels and offsets that were fitted to values of pairs.
#[derive(Clone, Debug)]
pub struct AdditiveFit {
    /// Level of each block.
    pub blocks: Vec<f64>,
    /// Level of each family, which a block without values would have.
    pub families: Vec<f64>,
    /// Offset of each member; 0 without values.
    pub members: Vec<f64>,
}

impl AdditiveFit {
    /// Fits values, given the family of each block and the number of members. Each block has a value, and each family a block.
    pub fn fit_values(values: &[PairValue], family_of: &[usize], members: usize) -> Self {
        let mut fit = Self { blocks: Vec::new(), families: Vec::new(), members: vec![0.0; members] };
        for _ in 0..TURNS {
            fit.fit_blocks(values, family_of);
            fit.fit_members(values);
        }
        fit
    }

    fn offset_of(&self, members: Option<[usize; 2]>) -> f64 {
        members.map_or(0.0, |[a, b]| self.members[a] + self.members[b])
    }

    fn fit_blocks(&mut self, values: &[PairValue], family_of: &[usize]) {
        let mut rests = vec![Vec::new(); family_of.len()];
        for pair in values {
            rests[pair.block].push(pair.value - self.offset_of(pair.members));
        }
        let mut alike = vec![Vec::new(); family_of.iter().max().map_or(0, |last| last + 1)];
        for (rests, family) in rests.iter().zip(family_of) {
            alike[*family].push(rests);
        }
        let families: Vec<MeanShrinkage> = alike.iter().map(|blocks| MeanShrinkage::from_groups(blocks, 0.0)).collect();
        self.blocks = rests.iter().zip(family_of).map(|(rests, family)| families[*family].shrink_mean(rests)).collect();
        self.families = families.iter().map(|shrinkage| shrinkage.mean).collect();
    }

    fn fit_members(&mut self, values: &[PairValue]) {
        let rest = |pair: &PairValue| {
            let rest = pair.value - self.blocks[pair.block] - self.offset_of(pair.members);
            pair.members.map(|members| (members, rest))
        };
        let between: Vec<([usize; 2], f64)> = values.iter().filter_map(rest).collect();
        let rests: Vec<f64> = between.iter().map(|(_, rest)| *rest).collect();
        let limit = FAR_OUT * median_deviation(&rests);
        let mut of_member = vec![Vec::new(); self.members.len()];
        for (members, rest) in between {
            for member in members {
                of_member[member].push(rest.clamp(-limit, limit) + self.members[member]);
            }
        }
        let seen: Vec<&Vec<f64>> = of_member.iter().filter(|rests| !rests.is_empty()).collect();
        let shrinkage = MeanShrinkage::from_groups(&seen, 0.0).towards_zero();
        let offset = |rests: &Vec<f64>| if rests.is_empty() { 0.0 } else { shrinkage.shrink_mean(rests) };
        self.members = of_member.iter().map(offset).collect();
    }
}

#[cfg(test)]
mod tests {
    use corewise_machine::random::RandomGenerator;

    use super::*;

    /// Blocks within halves of 16 members and between them, a block of pairs within one member, and a member far from all others.
    #[test]
    fn levels_and_offsets_come_back() {
        let mut random = RandomGenerator::new(1);
        let pairs = (0..16).flat_map(|a| (a + 1..16).map(move |b| [a, b]));
        let value = |[a, b]: [usize; 2]| {
            let (block, offset) = (usize::from(a / 8 != b / 8), if a == 5 || b == 5 { 0.2 } else { 0.0 });
            PairValue { block, members: Some([a, b]), value: [3.0, 7.0][block] + offset + 0.01 * random.next_normal() }
        };
        let within = PairValue { block: 2, members: None, value: 1.0 };
        let values: Vec<PairValue> = pairs.map(value).chain([within]).collect();
        let fit = AdditiveFit::fit_values(&values, &[0, 0, 1], 17);
        for pair in &values {
            let error = fit.blocks[pair.block] + fit.offset_of(pair.members) - pair.value;
            assert!(error.abs() < 0.05, "{pair:?}: {error}");
        }
        assert_eq!((fit.members[16], fit.families[1]), (0.0, 1.0));
    }
}
