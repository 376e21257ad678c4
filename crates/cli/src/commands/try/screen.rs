//! The story of an experiment: the answer, how to apply it, the evidence, and the checks on the experiment.

mod again;
mod answer;
mod besides;
mod checks;
mod export;
mod figures;
mod gain;
mod parts;
mod questions;
mod standings;
pub mod suite;
#[cfg(test)]
pub mod tests;
mod threads;

use corewise_model::experiment::{ArmStanding, ArmState, ArmVerdict, Standing, Verdict, What};
use corewise_model::quantity::QuantityUnit;
use corewise_model::suite::results::Tried;
use corewise_model::trial::{Arm, Experiment, Live, Source, ThreadsReport, Trial, boots, metric_unit};
use jiff::tz::TimeZone;

use crate::draw::machine::headline;
use crate::draw::number::{count, duration, when};
use crate::draw::printable::named;
use crate::draw::story::StoryRole::{Answer, Context, Details, Evidence, Notes};
use crate::draw::story::{Story, StoryPart, paragraphs};
use crate::draw::suggestion::{in_shell, words_in_shell};
use crate::draw::text::Line;
pub use export::csv;
pub use standings::standings;
pub use threads::{svg, table};

/// Maximum number of characters of a command that is repeated whole.
const LONGEST_COMMAND: usize = 60;
const MARKS: &str = "↑ better and ↓ worse, proven, by the margin or more; ≈ proven to be less than the margin; ? not proven. An end that is … \
                     needs more runs.";
const RATIOS: &str = "+25 % means that a run takes 1.25 times as long with the OS default.";

/// An experiment and its results, to show.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The runs.
    pub trials: &'a [Trial],
    /// The standing.
    pub standing: &'a Standing,
    /// The report on numbers of threads, if the experiment compares them.
    pub threads: Option<&'a ThreadsReport>,
    /// Its number in the store.
    pub stored: Option<i64>,
}

impl<'a> Shown<'a> {
    /// Shows a benchmark of a suite alone.
    pub fn alone(tried: &'a Tried) -> Self {
        let Tried { experiment, trials, standing, stored, .. } = tried;
        Self { experiment, trials, standing, threads: None, stored: *stored }
    }
}

impl Shown<'_> {
    /// Returns the candidate that the verdict is about.
    fn winner(&self) -> Option<(&Arm, &ArmStanding)> {
        match self.standing.verdict {
            Verdict::Wins { arm } | Verdict::RealButBelowMargin { arm } => {
                Some((self.experiment.arms.get(arm)?, self.standing.arms.get(arm)?))
            }
            _ => None,
        }
    }

    /// Describes the extent of a verdict: "28 runs in one boot", "60 runs over 2 boots". Only the runs if the boots are unknown.
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

    /// Formats a number of runs, such as "28 runs"; for running processes "28 slots of 0.3 s".
    fn runs(&self, number: usize) -> String {
        match &self.experiment.workload.live {
            None => count(number, "run"),
            Some(live) => format!("{} of {}", count(number, "slot"), duration(self.slot_s(live) * 1e9)),
        }
    }

    /// Returns the slot length in seconds, times the slots of a stretch.
    fn slot_s(&self, live: &Live) -> f64 {
        let slots = self.experiment.stretch.map_or(1, |stretch| stretch.runs - stretch.skipped);
        live.slot_s * f64::from(slots)
    }

    /// Returns the trials of an arm that count.
    fn counted(&self, arm: usize) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(move |trial| trial.block > 0 && trial.arm == arm)
    }

    /// Returns true if all candidates have failed.
    fn all_failed(&self) -> bool {
        self.standing.arms.iter().skip(1).all(|arm| arm.verdict == Some(ArmVerdict::Failed))
    }

    /// Returns true if a candidate is still tried. Otherwise more runs change nothing.
    fn is_any_alive(&self) -> bool {
        self.threads.is_some() || self.standing.arms.iter().skip(1).any(|arm| arm.state == ArmState::Alive)
    }

    fn unit(&self) -> QuantityUnit {
        metric_unit(self.experiment, self.trials)
    }

    fn is_time(&self) -> bool {
        self.experiment.workload.metric.is_wall_time()
    }
}

/// Returns the answer in words.
pub fn in_words(shown: Shown<'_>) -> Line {
    shown.threads.map_or_else(|| answer::in_words(shown), |report| threads::in_words(shown, report))
}

/// Returns the commands that apply the winner, or continue the experiment, one line each.
fn apply(shown: Shown<'_>) -> Vec<Line> {
    shown.threads.map_or_else(|| answer::apply(shown), |report| threads::apply(shown, report))
}

/// Composes the story of an experiment; `others` are the other experiments on the same command.
pub fn story(shown: Shown<'_>, others: Vec<Line>) -> Story {
    let answer = std::iter::once(in_words(shown).hanging(0)).chain(paragraphs(apply(shown), 6));
    let told = Story::new(again::command(shown)).with(Context, context(shown)).with(Answer, answer.collect());
    let told = match shown.threads {
        Some(report) => told
            .with_titled(Evidence, "Numbers of threads", vec![table(shown, &report.standing).into()])
            .with(Evidence, threads::scaling(shown, report))
            .with(Answer, paragraphs(threads::law(shown, report), 2))
            .with(Evidence, figures::runs(shown).into_iter().map(StoryPart::Figure).collect()),
        None => with_placements(told, shown),
    };
    told.with(Notes, paragraphs(besides::lines(shown), 2))
        .with(Notes, paragraphs(checks::lines(shown), 2))
        .with(Notes, paragraphs(others, 2))
}

fn with_placements(told: Story, shown: Shown<'_>) -> Story {
    let is_ratio = shown.is_time() && shown.experiment.policy.what != What::Tail;
    let legends = std::iter::once(MARKS).chain(is_ratio.then_some(RATIOS));
    let table = std::iter::once(standings(shown).into())
        .chain(legends.map(|legend| StoryPart::Legend(Line::new().faint(legend))));
    let over_time = [figures::runs(shown), figures::differences(shown)];
    told.with(Evidence, figures::effects(shown).into_iter().map(StoryPart::Figure).collect())
        .with_titled(Evidence, "Placements", table.collect())
        .with_titled(Details, "Roles", parts::roles(shown))
        .with(Evidence, over_time.into_iter().flatten().map(StoryPart::Figure).collect())
}

/// Returns the machine, the command, and its services.
fn context(shown: Shown<'_>) -> Vec<StoryPart> {
    let experiment = shown.experiment;
    let begun = format!("begun {}", when(experiment.started_unix_ms, &TimeZone::system()));
    let command = Line::new().plain("Tried: ").strong(words_in_shell(&experiment.workload.command));
    let lines = std::iter::once(command).chain(running(shown)).chain(parts::started(shown));
    std::iter::once(headline(&experiment.machine, &[begun])).chain(paragraphs(lines.collect(), 2)).collect()
}

/// Describes the placed processes, and the source of their metric.
fn running(shown: Shown<'_>) -> Option<Line> {
    let live = shown.experiment.workload.live.as_ref()?;
    let processes = live.processes.iter().map(|process| format!("process {}", process.id));
    let all: Vec<String> = processes.chain(live.matches.iter().map(|text| named(text))).collect();
    let line = Line::new().plain("Placed while they ran: ").strong(all.join(", "));
    let line = line.plain(format!(", in slots of {}; ", duration(live.slot_s * 1e9)));
    let name = named(&shown.experiment.workload.metric.name);
    Some(match &live.source {
        Source::Command(command) => line.plain(format!("{name} from the output of ")).strong(named(command)),
        Source::Page(address) => line.plain(format!("{name} from ")).strong(named(address)),
        Source::Kernel => line.plain(format!("{name} from the kernel")),
    })
}

/// Formats a command for a shell, cut off if it is long.
fn in_a_shell(words: &[String]) -> String {
    let command = words_in_shell(words);
    match words.first() {
        Some(program) if command.chars().count() > LONGEST_COMMAND => format!("{} …", in_shell(program)),
        _ => command,
    }
}
