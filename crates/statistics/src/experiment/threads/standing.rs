//! State of an experiment with numbers of threads: each of its questions, and each of its cells.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CellsQuestion, ThreadsCell, ThreadsRace, compares_pinned, reference_threads};
use crate::experiment::carry_over::CarryOverSearch;
use crate::experiment::{ArmVerdict, BlockRun, ExperimentChecks, ExperimentDoubt, ExperimentStanding, Verdict};
use crate::order::median;

/// State of an experiment with numbers of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadsStanding {
    /// Number of cpus that the operating system may choose from.
    pub cpus: u32,
    /// The number of threads that the others are compared with: the most that have a cpu each, else the fewest.
    pub reference: u32,
    /// Best number of threads, among the cells left to the operating system, or among pinned ones if there are no
    /// others. `None` for a single number.
    pub counts: Option<CountsStanding>,
    /// Effect of pinning at each number of threads that is tried both ways; the fewest threads first.
    pub pinned: Vec<PinnedStanding>,
    /// The cells, as the experiment's arms.
    pub cells: Vec<CellStanding>,
    /// The checks on the whole experiment. A doubt here applies to every verdict; arms have the experiment's numbers.
    pub checks: ExperimentChecks,
    /// Number of blocks, including unfinished ones.
    pub blocks: u32,
    /// Number of runs, including failed ones.
    pub runs: u32,
}

/// State of the race between numbers of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountsStanding {
    /// The experiment's number of each of the race's arms.
    pub arms: Vec<usize>,
    /// The race; its baseline is the reference.
    pub standing: ExperimentStanding,
}

/// Effect of pinning at one number of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PinnedStanding {
    /// The number of threads.
    pub threads: u32,
    /// The experiment's numbers of the race's two arms: left to the operating system, and pinned.
    pub arms: Vec<usize>,
    /// The race; its error rate is the experiment's, divided by the number of these races.
    pub standing: ExperimentStanding,
}

/// State of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellStanding {
    /// The experiment's arm.
    pub arm: usize,
    /// The cell: number of threads, pinned or not.
    pub cell: ThreadsCell,
    /// Its runs in whole blocks, including failed ones.
    pub runs: u32,
    /// Number of its failed runs.
    pub failures: u32,
    /// Median of [`BlockRun::x`] over its successful runs in whole blocks.
    pub median: Option<f64>,
    /// Throughput relative to the fewest threads of its column, a difference of logarithms: Hodges' and Lehmann's
    /// estimate from the blocks that have both.
    pub speed_up: Option<f64>,
}

impl PinnedStanding {
    /// Returns true if one of its cells failed, so that no comparison is possible.
    pub fn has_failed(&self) -> bool {
        self.standing.checks.doubts.iter().any(|doubt| matches!(doubt, ExperimentDoubt::BaselineFails { .. }))
            || self.standing.arms.iter().any(|arm| arm.verdict == Some(ArmVerdict::Failed))
    }
}

impl ThreadsStanding {
    /// Returns each question's standing.
    pub fn question_standings(&self) -> impl Iterator<Item = &ExperimentStanding> {
        let counts = self.counts.iter().map(|counts| &counts.standing);
        counts.chain(self.pinned.iter().map(|pinned| &pinned.standing))
    }

    /// Returns true if a question has no answer yet, or none that can be trusted.
    pub fn is_open(&self) -> bool {
        self.question_standings()
            .any(|standing| standing.verdict.is_open() || matches!(standing.verdict, Verdict::Unsound { .. }))
    }

    /// Returns the answer to the first question, with the checks and the runs of the whole: the race between the
    /// counts, or, with one count only, between pinned and not.
    pub fn main(&self) -> Option<ExperimentStanding> {
        let standing = self.question_standings().next()?.clone();
        let checks = ExperimentChecks { doubts: standing.checks.doubts, ..self.checks.clone() };
        Some(ExperimentStanding { checks, blocks: self.blocks, runs: self.runs, ..standing })
    }

    /// Returns the standing of a cell.
    pub fn find_cell(&self, wanted: ThreadsCell) -> Option<&CellStanding> {
        self.cells.iter().find(|standing| standing.cell == wanted)
    }
}

impl ThreadsRace {
    /// Returns the present state, without the law.
    pub fn current_standing(&self) -> ThreadsStanding {
        let doubts = list_doubts(self);
        let of = |question: &CellsQuestion| add_doubts(question.race.current_standing(), &doubts);
        let counts = self.counts.as_ref();
        let counts = counts.map(|question| CountsStanding { arms: question.arms.clone(), standing: of(question) });
        let pinned = self.pinned.iter().map(|question| PinnedStanding {
            threads: self.cells[question.arms[0]].threads,
            arms: question.arms.clone(),
            standing: of(question),
        });
        let pinned: Vec<PinnedStanding> = pinned.collect();
        let is_pinned = compares_pinned(&self.cells);
        let of_column = self.cells.iter().filter(|cell| cell.pinned == is_pinned).map(|cell| cell.threads);
        let mut standing = ThreadsStanding {
            cpus: self.cpus,
            reference: reference_threads(of_column, self.cpus).unwrap_or_default(),
            counts,
            pinned,
            cells: (0..self.cells.len()).map(|arm| cell_standing(self, arm)).collect(),
            checks: ExperimentChecks::default(),
            blocks: self.blocks,
            runs: self.runs,
        };
        standing.checks = run_checks(self, &standing, doubts);
        standing
    }
}

impl ThreadsRace {
    fn search_carry_over(&self) -> CarryOverSearch {
        CarryOverSearch::new(&self.order, self.cells.len().saturating_sub(1))
    }
}

/// Returns doubts about the whole experiment. Each race has its own doubts.
fn list_doubts(threads: &ThreadsRace) -> Vec<ExperimentDoubt> {
    let found = threads.search_carry_over().find_doubt(&threads.policy);
    found.map(ExperimentDoubt::CarryOver).into_iter().collect()
}

fn add_doubts(mut standing: ExperimentStanding, doubts: &[ExperimentDoubt]) -> ExperimentStanding {
    standing.checks.doubts.extend_from_slice(doubts);
    if !standing.checks.doubts.is_empty() {
        standing.verdict = Verdict::Unsound { why: standing.checks.doubts.clone() };
    }
    standing
}

fn run_checks(threads: &ThreadsRace, standing: &ThreadsStanding, doubts: Vec<ExperimentDoubt>) -> ExperimentChecks {
    ExperimentChecks {
        carry_over: threads.search_carry_over().summarize(threads.cells.len().saturating_sub(1), &threads.policy),
        outliers: standing.question_standings().map(|standing| standing.checks.outliers).sum(),
        doubts,
    }
}

fn cell_standing(threads: &ThreadsRace, arm: usize) -> CellStanding {
    let cell = threads.cells[arm];
    let runs = || threads.order.iter().flat_map(|block| &block.runs).filter(|run| run.arm == arm);
    let values: Vec<f64> = runs().filter_map(BlockRun::finite_value).collect();
    let fewest = threads.column_arms(cell.pinned)[0];
    CellStanding {
        arm,
        cell,
        runs: runs().count() as u32,
        failures: threads.failures[arm],
        median: (!values.is_empty()).then(|| median(&values)),
        speed_up: threads.speed_up(arm, fewest),
    }
}
