//! The screen of `corewise try`: the answer, how to apply it, the evidence, and the checks on the experiment.

mod again;
mod answer;
mod besides;
mod checks;
mod export;
mod gain;
mod page;
mod parts;
mod questions;
mod standings;
pub mod suite;
#[cfg(test)]
pub mod tests;
mod threads;

use corewise_model::experiment::{ArmStanding, ArmState, ArmVerdict, Standing, Verdict};
use corewise_model::suite::results::Tried;
use corewise_model::trial::{Arm, Experiment, Live, ThreadsReport, Trial, boots};

use crate::draw::number::{count, duration};
use crate::draw::suggestion::{in_shell, words_in_shell};
use crate::draw::text::{Line, Screen};
use crate::draw::wrap::wrap;
pub use export::{csv, markdown};
pub use page::story;
pub use standings::standings;
pub use threads::{svg, table};

/// A command of more characters is not repeated whole.
const LONGEST_COMMAND: usize = 60;

/// An experiment with all that is shown of it.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// What was tried.
    pub experiment: &'a Experiment,
    /// The runs.
    pub trials: &'a [Trial],
    /// What they show.
    pub standing: &'a Standing,
    /// What they show of numbers of threads, where these are what was tried.
    pub threads: Option<&'a ThreadsReport>,
    /// Its number in the store.
    pub stored: Option<i64>,
}

impl<'a> Shown<'a> {
    /// An experiment of a suite as it is shown alone.
    pub fn alone(tried: &'a Tried) -> Self {
        let Tried { experiment, trials, standing, stored, .. } = tried;
        Self { experiment, trials, standing, threads: None, stored: *stored }
    }
}

impl Shown<'_> {
    /// The candidate that the verdict is about.
    fn winner(&self) -> Option<(&Arm, &ArmStanding)> {
        match self.standing.verdict {
            Verdict::Wins { arm } | Verdict::RealButBelowMargin { arm } => {
                Some((self.experiment.arms.get(arm)?, self.standing.arms.get(arm)?))
            }
            _ => None,
        }
    }

    /// What a verdict holds for: "28 runs in one boot", "60 runs over 2 boots"; of stored experiments that do not know it, the runs alone.
    fn runs_and_boots(&self) -> String {
        self.runs_and_boots_of(self.standing.runs)
    }

    fn runs_and_boots_of(&self, runs: u32) -> String {
        let runs = self.runs(runs as usize);
        match boots(self.trials) {
            None => runs,
            Some(1) => format!("{runs} in one boot"),
            Some(boots) => format!("{runs} over {boots} boots"),
        }
    }

    /// "28 runs"; of running processes "28 slots of 0.3 s".
    fn runs(&self, number: usize) -> String {
        match &self.experiment.workload.live {
            None => count(number, "run"),
            Some(live) => format!("{} of {}", count(number, "slot"), duration(self.slot_s(live) * 1e9)),
        }
    }

    /// How long a slot is; where several are one that is longer, that.
    fn slot_s(&self, live: &Live) -> f64 {
        let slots = self.experiment.stretch.map_or(1, |stretch| stretch.runs - stretch.skipped);
        live.slot_s * f64::from(slots)
    }

    /// The trials of an arm that count.
    fn counted(&self, arm: usize) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(move |trial| trial.block > 0 && trial.arm == arm)
    }

    /// Whether there is nothing left to compare with.
    fn all_failed(&self) -> bool {
        self.standing.arms.iter().skip(1).all(|arm| arm.verdict == Some(ArmVerdict::Failed))
    }

    /// Whether a candidate is still tried: where none is, more runs change nothing.
    fn is_any_alive(&self) -> bool {
        self.threads.is_some() || self.standing.arms.iter().skip(1).any(|arm| arm.state == ArmState::Alive)
    }

    fn is_time(&self) -> bool {
        self.experiment.workload.metric.is_wall_time()
    }
}

/// The answer in words.
pub fn in_words(shown: Shown<'_>) -> Line {
    shown.threads.map_or_else(|| answer::in_words(shown), |report| threads::in_words(shown, report))
}

/// The commands that put what won in force, or go on with the experiment, one line each.
fn apply(shown: Shown<'_>) -> Vec<Line> {
    shown.threads.map_or_else(|| answer::apply(shown), |report| threads::apply(shown, report))
}

/// The whole screen.
pub fn screen(shown: Shown<'_>, width: usize) -> Screen {
    let mut screen = Screen::new();
    screen.extend(wrap(&in_words(shown), width, 0));
    let apply = apply(shown);
    screen.extend(apply.into_iter().flat_map(|line| wrap(&line, width, 6)));
    match shown.threads {
        Some(report) => {
            screen.block(table(shown.experiment, &report.standing, width));
            screen.block(threads::chart(shown, report, width));
            screen.block(wrapped(threads::law(shown, report), width));
        }
        None => screen.block(standings(shown, width)),
    }
    screen.block(wrapped(besides::lines(shown), width));
    screen.block(wrapped(checks::lines(shown), width));
    screen
}

fn wrapped(lines: Vec<Line>, width: usize) -> Vec<Line> {
    lines.into_iter().flat_map(|line| wrap(&line, width, 2)).collect()
}

/// A command as it is typed in a shell, cut off where it is long.
fn in_a_shell(words: &[String]) -> String {
    let command = words_in_shell(words);
    match words.first() {
        Some(program) if command.chars().count() > LONGEST_COMMAND => format!("{} …", in_shell(program)),
        _ => command,
    }
}
