//! What an experiment with numbers of threads shows so far: each of its questions, and each of its cells.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, Question, Threads, column, reference};
use crate::experiment::carry_over::carry_over;
use crate::experiment::{Checks, Doubt, MOST_FAILURES, Run, Standing, Verdict};
use crate::stats::order::median;

/// What an experiment with numbers of threads shows so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadsStanding {
    /// How many cpus the operating system may choose from.
    pub cpus: u32,
    /// The number of threads that the others are compared with: the most that have a cpu each, else the fewest.
    pub reference: u32,
    /// Which number of threads is best: of the cells that are left to the operating system, or pinned where those are all.
    /// Absent for one number.
    pub counts: Option<CountsStanding>,
    /// At each number of threads that is tried both ways, whether pinning is better; the fewest threads first.
    pub pinned: Vec<PinnedStanding>,
    /// The cells, as the experiment's arms.
    pub cells: Vec<CellStanding>,
    /// The checks on the whole experiment. What fires here is a doubt of every verdict; arms have the experiment's numbers.
    pub checks: Checks,
    /// Blocks so far, those that ended early too.
    pub blocks: u32,
    /// Runs so far, the failed ones too.
    pub runs: u32,
}

/// Which number of threads is best.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountsStanding {
    /// The experiment's number of each of the race's arms.
    pub arms: Vec<usize>,
    /// The race; its baseline is the reference.
    pub standing: Standing,
}

/// Whether pinning is better at one number of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PinnedStanding {
    /// The number of threads.
    pub threads: u32,
    /// The experiment's numbers of the race's two arms: left to the operating system, and pinned.
    pub arms: Vec<usize>,
    /// The race; its error rate is the experiment's, divided by the number of these races.
    pub standing: Standing,
}

/// What an experiment shows about one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellStanding {
    /// The experiment's arm.
    pub arm: usize,
    /// What it is.
    pub cell: Cell,
    /// Its runs in whole blocks, the failed ones too.
    pub runs: u32,
    /// All its runs that failed.
    pub failures: u32,
    /// The median of [`Run::x`] of its runs in whole blocks that did not fail.
    pub median: Option<f64>,
    /// By how much it does more than the fewest threads of its column, a difference of logarithms: Hodges' and Lehmann's
    /// estimate from the blocks that have both.
    pub speed_up: Option<f64>,
}

impl PinnedStanding {
    /// Whether one of its cells failed twice, so that there is nothing to compare.
    pub fn has_failed(&self) -> bool {
        self.standing.arms.iter().any(|arm| arm.failures >= MOST_FAILURES)
    }
}

impl ThreadsStanding {
    /// Each question's standing.
    pub fn questions(&self) -> impl Iterator<Item = &Standing> {
        let counts = self.counts.iter().map(|counts| &counts.standing);
        counts.chain(self.pinned.iter().map(|pinned| &pinned.standing))
    }

    /// Whether a question has no answer yet, or none that can be trusted.
    pub fn is_open(&self) -> bool {
        self.questions().any(|standing| matches!(standing.verdict, Verdict::Undecided { .. } | Verdict::Unsound { .. }))
    }

    /// The answer to the first question, with the checks and the runs of the whole: the race between the counts, or, with
    /// one count only, that between pinned and not.
    pub fn main(&self) -> Option<Standing> {
        let standing = self.questions().next()?.clone();
        let checks = Checks { doubts: standing.checks.doubts, ..self.checks.clone() };
        Some(Standing { checks, blocks: self.blocks, runs: self.runs, ..standing })
    }

    /// A cell by what it is.
    pub fn cell(&self, wanted: Cell) -> Option<&CellStanding> {
        self.cells.iter().find(|standing| standing.cell == wanted)
    }
}

impl Threads {
    /// What the blocks show so far, but for the law.
    pub fn standing(&self) -> ThreadsStanding {
        let doubts = doubts(self);
        let of = |question: &Question| doubted(question.race.standing(), &doubts);
        let counts = self.counts.as_ref();
        let counts = counts.map(|question| CountsStanding { arms: question.arms.clone(), standing: of(question) });
        let pinned = self.pinned.iter().map(|question| PinnedStanding {
            threads: self.cells[question.arms[0]].threads,
            arms: question.arms.clone(),
            standing: of(question),
        });
        let pinned: Vec<PinnedStanding> = pinned.collect();
        let is_pinned = column(&self.cells);
        let of_column = self.cells.iter().filter(|cell| cell.pinned == is_pinned).map(|cell| cell.threads);
        let mut standing = ThreadsStanding {
            cpus: self.cpus,
            reference: reference(of_column, self.cpus).unwrap_or_default(),
            counts,
            pinned,
            cells: (0..self.cells.len()).map(|arm| cell(self, arm)).collect(),
            checks: Checks::default(),
            blocks: self.blocks,
            runs: self.runs,
        };
        standing.checks = checks(self, &standing, doubts);
        standing
    }
}

/// What speaks against the whole experiment. Each race knows what speaks against it alone.
fn doubts(threads: &Threads) -> Vec<Doubt> {
    let candidates = threads.cells.len().saturating_sub(1);
    let found = carry_over(&threads.order, candidates);
    found
        .filter(|found| found.counts(&threads.order, candidates, &threads.policy))
        .map(Doubt::CarryOver)
        .into_iter()
        .collect()
}

fn doubted(mut standing: Standing, doubts: &[Doubt]) -> Standing {
    standing.checks.doubts.extend_from_slice(doubts);
    if !standing.checks.doubts.is_empty() {
        standing.verdict = Verdict::Unsound { why: standing.checks.doubts.clone() };
    }
    standing
}

fn checks(threads: &Threads, standing: &ThreadsStanding, doubts: Vec<Doubt>) -> Checks {
    Checks {
        carry_over: carry_over(&threads.order, threads.cells.len().saturating_sub(1)),
        outliers: standing.questions().map(|standing| standing.checks.outliers).sum(),
        doubts,
    }
}

fn cell(threads: &Threads, arm: usize) -> CellStanding {
    let cell = threads.cells[arm];
    let runs = || threads.order.iter().flat_map(|block| &block.runs).filter(|run| run.arm == arm);
    let values: Vec<f64> = runs().filter_map(Run::value).collect();
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
