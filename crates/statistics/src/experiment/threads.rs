//! Best number of threads for a program, and the effect of pinning them: several races in common blocks.
//!
//! Each cell is a number of threads, left to the operating system or pinned. All cells are arms of one experiment. Its
//! blocks are fed in parts to one [`PlacementRace`] between the counts, and to one at each count between pinned and not.
//! docs/statistics.md has the rules.

mod standing;
#[cfg(test)]
mod tests;

use std::cell::LazyCell;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::carry_over::{CarryOverSearch, OrderedBlock};
use super::effect::hodges_lehmann;
use super::law::{FEWEST_BLOCKS, FEWEST_COUNTS, LawFit, ThroughputRow, fit_scaling_law};
use super::race::{is_whole, shuffle_arms};
use super::{BlockRun, JudgingPolicy, MOST_FAILURES, PlacementRace, RunBlock, judgement};
pub use standing::{CellStanding, CountsStanding, PinnedStanding, ThreadsStanding};

/// A number of threads, pinned or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadsCell {
    /// Number of threads.
    pub threads: u32,
    /// True if the program runs on a placement instead of the operating system's choice.
    pub pinned: bool,
}

/// Races between numbers of threads, and between pinned and not, block by block.
#[derive(Clone, Debug)]
pub struct ThreadsRace {
    policy: JudgingPolicy,
    cells: Vec<ThreadsCell>,
    cpus: u32,
    /// `None` if there is only one count.
    counts: Option<CellsQuestion>,
    pinned: Vec<CellsQuestion>,
    failures: Vec<u32>,
    /// Whole blocks in a row.
    order: Vec<OrderedBlock>,
    blocks: u32,
    runs: u32,
    last_arm: Option<usize>,
}

/// A race between some of the cells.
#[derive(Clone, Debug)]
struct CellsQuestion {
    /// The experiment's number of each of the race's arms.
    arms: Vec<usize>,
    race: PlacementRace,
}

/// Sorts cells into the order of an experiment's arms: the reference first, the other counts of its column from the
/// fewest threads to the most, then the other column likewise. So the arms of the race between the counts have the same
/// numbers in it as in the experiment.
pub fn arrange_cells(cells: &mut [ThreadsCell], cpus: u32) {
    let is_pinned = compares_pinned(cells);
    let reference =
        reference_threads(cells.iter().filter(|cell| cell.pinned == is_pinned).map(|cell| cell.threads), cpus);
    let rank = |cell: &ThreadsCell| {
        let is_reference = cell.pinned == is_pinned && Some(cell.threads) == reference;
        (!is_reference, cell.pinned, cell.threads)
    };
    cells.sort_by_key(rank);
}

/// Returns true if the counts are compared pinned: only if no cell is left to the operating system.
fn compares_pinned(cells: &[ThreadsCell]) -> bool {
    cells.iter().all(|cell| cell.pinned)
}

/// Returns the count to compare with: the most threads that have a cpu each, as most programs start; else the fewest.
fn reference_threads(counts: impl Iterator<Item = u32> + Clone, cpus: u32) -> Option<u32> {
    counts.clone().filter(|&count| count <= cpus).max().or_else(|| counts.min())
}

impl ThreadsRace {
    /// Starts before the first block. `cpus` is the number of cpus that the operating system may choose from.
    pub fn new(cells: &[ThreadsCell], cpus: u32, policy: &JudgingPolicy) -> Self {
        let policy_of = |claims: usize| JudgingPolicy {
            error_rate: policy.error_rate / claims.max(1) as f64,
            most_runs: None,
            ..policy.clone()
        };
        let compared = pinned_pairs(cells);
        let arms = counts_arms(cells, cpus);
        let question = |arms: Vec<usize>, claims| CellsQuestion {
            race: PlacementRace::new(arms.len() - 1, &policy_of(claims)),
            arms,
        };
        Self {
            policy: policy.clone(),
            cells: cells.to_vec(),
            cpus,
            counts: (arms.len() > 1).then(|| question(arms, 1)),
            pinned: compared.iter().map(|pair| question(pair.to_vec(), compared.len())).collect(),
            failures: vec![0; cells.len()],
            order: Vec::new(),
            blocks: 0,
            runs: 0,
            last_arm: None,
        }
    }

    /// Returns the arms of the next block in fresh, uniformly random order, as [`PlacementRace::next_block`]. Empty if all is
    /// decided.
    pub fn next_block(&self, seed: u64) -> Vec<usize> {
        shuffle_arms(self.next_members(), seed, self.blocks)
    }

    /// Takes a block into account. A block that lacks a run is counted, but takes no part in any test.
    ///
    /// # Panics
    /// If an arm does not belong to a cell.
    pub fn add_block(&mut self, block: &RunBlock) {
        let is_whole = is_whole(&self.next_members(), block);
        let needed = self.needed_races();
        if is_whole {
            self.order.push(OrderedBlock { before: self.last_arm, runs: block.runs.clone() });
        }
        self.last_arm = block.runs.last().map(|run| run.arm);
        self.blocks += 1;
        self.runs += block.runs.len() as u32;
        for run in &block.runs {
            self.failures[run.arm] += u32::from(run.finite_value().is_none());
        }
        let questions = self.counts.iter_mut().chain(&mut self.pinned);
        for (question, _) in questions.zip(needed).filter(|(_, needed)| *needed) {
            question.add_block(block, is_whole);
        }
    }

    /// Returns true if nothing more can be gained: all races are decided and there are enough blocks for the law, or
    /// another block would exceed the policy's most runs.
    pub fn is_decided(&self) -> bool {
        let members = self.next_members();
        let exceeds = |most: u32| self.runs as usize + members.len() > most as usize;
        members.is_empty() || self.policy.most_runs.is_some_and(exceeds)
    }

    /// Returns the cells of the next block, each once.
    pub fn alive_cells(&self) -> Vec<usize> {
        self.next_members()
    }

    /// Fits the law of scalability to all blocks: for the cells left to the operating system, or for pinned ones if
    /// there are no others. Its intervals are bootstrapped, so this is the most expensive call here.
    pub fn fit_law(&self) -> LawFit {
        let (counts, arms) = self.lawful_counts();
        fit_scaling_law(&counts, &self.throughput_rows(&arms))
    }

    /// Returns the counts that have a cpu for each thread, in ascending order, and their arms.
    fn lawful_counts(&self) -> (Vec<u32>, Vec<usize>) {
        let arms = self.column_arms(compares_pinned(&self.cells));
        arms.into_iter().map(|arm| (self.cells[arm].threads, arm)).filter(|(threads, _)| *threads <= self.cpus).unzip()
    }

    /// Returns the arms of a column, the fewest threads first.
    fn column_arms(&self, is_pinned: bool) -> Vec<usize> {
        let mut arms: Vec<usize> = (0..self.cells.len()).filter(|&arm| self.cells[arm].pinned == is_pinned).collect();
        arms.sort_by_key(|&arm| self.cells[arm].threads);
        arms
    }

    /// Returns the logarithms of the throughputs of some arms in each whole block; the mean of several runs.
    fn throughput_rows(&self, arms: &[usize]) -> Vec<ThroughputRow> {
        let of = |block: &OrderedBlock, arm: usize| {
            let of_arm = block.runs.iter().filter(|run| run.arm == arm);
            let values: Vec<f64> = of_arm.filter_map(BlockRun::finite_value).collect();
            (!values.is_empty()).then(|| -values.iter().sum::<f64>() / values.len() as f64)
        };
        self.order.iter().map(|block| arms.iter().map(|&arm| of(block, arm)).collect()).collect()
    }

    /// Returns the advantage of an arm over another in throughput, from the blocks that both were in.
    fn speed_up(&self, arm: usize, other: usize) -> Option<f64> {
        let rows = self.throughput_rows(&[arm, other]);
        hodges_lehmann(&rows.iter().filter_map(|row| Some(row[0]? - row[1]?)).collect::<Vec<f64>>())
    }

    fn all_questions(&self) -> impl Iterator<Item = &CellsQuestion> {
        self.counts.iter().chain(&self.pinned)
    }

    /// Returns true for each race that continues: undecided, or with a winner while some carry-over is suspected.
    fn needed_races(&self) -> Vec<bool> {
        let candidates = self.cells.len().saturating_sub(1);
        let suspected = LazyCell::new(|| CarryOverSearch::new(&self.order, candidates).is_suspected(&self.policy));
        let is_needed = |question: &CellsQuestion| {
            !question.race.is_decided() || (judgement::proven_winner(&question.race).is_some() && *suspected)
        };
        self.all_questions().map(is_needed).collect()
    }

    /// Returns the arms of the next block in ascending order: all that a race needs. The first blocks also have all
    /// that did not fail, if the law can be fitted.
    fn next_members(&self) -> Vec<usize> {
        let for_law = self.order.len() < FEWEST_BLOCKS && self.lawful_counts().0.len() >= FEWEST_COUNTS;
        let mut wanted: Vec<bool> = self.failures.iter().map(|failures| for_law && *failures < MOST_FAILURES).collect();
        for (question, _) in self.all_questions().zip(self.needed_races()).filter(|(_, needed)| *needed) {
            question.race.next_members().into_iter().for_each(|place| wanted[question.arms[place]] = true);
        }
        (0..wanted.len()).filter(|&arm| wanted[arm]).collect()
    }
}

/// Returns the arms of the race between the counts, the reference first.
fn counts_arms(cells: &[ThreadsCell], cpus: u32) -> Vec<usize> {
    let is_pinned = compares_pinned(cells);
    let mut arms: Vec<usize> = (0..cells.len()).filter(|&arm| cells[arm].pinned == is_pinned).collect();
    let reference = reference_threads(arms.iter().map(|&arm| cells[arm].threads), cpus);
    arms.sort_by_key(|&arm| (Some(cells[arm].threads) != reference, cells[arm].threads));
    arms
}

/// Returns the arms of each count that is tried both ways: left to the operating system, and pinned.
fn pinned_pairs(cells: &[ThreadsCell]) -> Vec<[usize; 2]> {
    let find = |wanted: ThreadsCell| cells.iter().position(|cell| *cell == wanted);
    let pair = |(arm, cell): (usize, &ThreadsCell)| Some([arm, find(ThreadsCell { pinned: true, ..*cell })?]);
    let mut pairs: Vec<[usize; 2]> =
        cells.iter().enumerate().filter(|(_, cell)| !cell.pinned).filter_map(pair).collect();
    pairs.sort_by_key(|pair| cells[pair[0]].threads);
    pairs
}

impl CellsQuestion {
    /// Takes into account the part of a block that belongs to it: its live arms, under their numbers in the race.
    fn add_block(&mut self, block: &RunBlock, is_whole: bool) {
        let members = self.race.next_members();
        let of_race = |run: &BlockRun| {
            let arm = self.arms.iter().position(|arm| *arm == run.arm).filter(|arm| members.contains(arm))?;
            Some(BlockRun { arm, x: run.x })
        };
        let part = RunBlock { runs: block.runs.iter().filter_map(of_race).collect() };
        self.race.add_part(&part, is_whole);
    }
}
