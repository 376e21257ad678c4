//! The story of an experiment: the answer, how to apply it, the evidence, and the checks on the experiment.

mod answer;
mod checks;
mod export;
mod figures;
mod further_differences;
mod gate;
mod open_points;
mod partial;
mod parts;
mod questions;
mod repeat_command;
mod standings;
pub mod suite;
#[cfg(test)]
pub mod tests;
mod threads;
mod winner;
mod wording;

use corewise_model::suite::results::TriedBenchmark;
use corewise_model::trial::{
    CommandVariant, Experiment, LiveSource, LiveWorkload, PlacementArm, ThreadsReport, Trial, TriedWorkload,
    VARIANT_PLACE, count_boots, metric_unit,
};
use corewise_statistics::experiment::{ArmStanding, ArmState, ArmVerdict, ExperimentStanding, QuestionKind, Verdict};
use corewise_statistics::quantity::QuantityUnit;
use jiff::tz::TimeZone;

use crate::draw::machine::compose_headline;
use crate::draw::number::{format_count, format_duration, format_time};
use crate::draw::printable::printable_name;
use crate::draw::story::StoryRole::{Answer, Context, Details, Evidence, Notes};
use crate::draw::story::{Story, StoryPart, compose_paragraphs};
use crate::draw::suggestion::{quote_word, quote_words};
use crate::draw::text::StyledLine;
pub use export::write_csv;
pub use standings::draw_standings;
pub use threads::{draw_svg, draw_table};

/// Maximum number of characters of a command that is repeated whole.
const LONGEST_COMMAND: usize = 60;
const MARKS: &str = "↑ proven better (all together) and ↓ proven worse (each by itself), with an estimate of the margin or more; ≈ proven to be \
                     less than the margin; ? not proven. An end that is … needs more runs.";

/// An experiment and its results, to show.
#[derive(Clone, Copy, Debug)]
pub struct ShownExperiment<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The runs.
    pub trials: &'a [Trial],
    /// The standing.
    pub standing: &'a ExperimentStanding,
    /// The report on numbers of threads, if the experiment compares them.
    pub threads: Option<&'a ThreadsReport>,
    /// Its number in the store.
    pub stored: Option<i64>,
}

impl<'a> ShownExperiment<'a> {
    /// Shows a benchmark of a suite alone.
    pub fn from_tried(tried: &'a TriedBenchmark) -> Self {
        let TriedBenchmark { experiment, trials, standing, stored, .. } = tried;
        Self { experiment, trials, standing, threads: None, stored: *stored }
    }
}

impl ShownExperiment<'_> {
    /// Returns its number in the store if it can go on from there; its credentials would be missing.
    fn resumable(&self) -> Option<i64> {
        self.stored.filter(|_| !self.experiment.workload.needs_credentials())
    }

    /// Returns the candidate that the verdict is about.
    fn find_winner(&self) -> Option<(&PlacementArm, &ArmStanding)> {
        match self.standing.verdict {
            Verdict::Wins { arm } | Verdict::RealButBelowMargin { arm } | Verdict::Better { arm, .. } => {
                Some((self.experiment.arms.get(arm)?, self.standing.arms.get(arm)?))
            }
            _ => None,
        }
    }

    /// Returns true for the candidate of the verdict, and for an only candidate.
    fn is_verdict_about(&self, arm: &ArmStanding) -> bool {
        self.standing.arms.len() == 2 || self.find_winner().is_some_and(|(_, winner)| winner.arm == arm.arm)
    }

    /// Describes the extent of a verdict: "28 runs in one boot", "60 runs over 2 boots". Only the runs if the boots are unknown.
    fn runs_and_boots(&self) -> String {
        self.runs_and_boots_of(self.standing.runs)
    }

    fn runs_and_boots_of(&self, runs: u32) -> String {
        let runs = self.format_runs(runs as usize);
        match count_boots(self.trials) {
            None => runs,
            Some(1) => format!("{runs} in one boot"),
            Some(boots) => format!("{runs} over {boots} boots"),
        }
    }

    /// Formats a number of runs, such as "28 runs"; for running processes "28 slots of 0.3 s".
    fn format_runs(&self, number: usize) -> String {
        match &self.experiment.workload.live {
            None => format_count(number, "run"),
            Some(live) => format!("{} of {}", format_count(number, "slot"), format_duration(self.slot_s(live) * 1e9)),
        }
    }

    /// Returns the slot length in seconds, times the slots of a stretch.
    fn slot_s(&self, live: &LiveWorkload) -> f64 {
        let slots = self.experiment.stretch.map_or(1, |stretch| stretch.runs - stretch.skipped);
        live.slot_s * f64::from(slots)
    }

    /// Returns an arm's name in a sentence, such as "the OS default" or "cpu 1".
    fn name_in_sentence(&self, arm: usize) -> String {
        match self.experiment.arms.get(arm) {
            _ if arm == 0 => self.baseline_words(),
            arm => arm.map_or_else(String::new, |arm| printable_name(&arm.spoken_name())),
        }
    }

    /// Returns the trials of an arm that count.
    fn counted_trials(&self, arm: usize) -> impl Iterator<Item = &Trial> {
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

    /// Describes the number of runs in a trial, such as "10 runs" or "8 to 10 runs", if a trial is the mean of several.
    fn describe_repeats(&self) -> Option<String> {
        let repeats = || self.trials.iter().filter(|trial| trial.block > 0).map(|trial| trial.repeats);
        let (fewest, most) = (repeats().min()?, repeats().max().filter(|most| *most > 1)?);
        let range = if fewest < most { format!("{fewest} to ") } else { String::new() };
        Some(format!("{range}{}", format_count(most as usize, "run")))
    }

    fn metric_unit(&self) -> QuantityUnit {
        metric_unit(self.experiment, self.trials)
    }

    fn is_time(&self) -> bool {
        self.experiment.workload.metric.is_wall_time()
    }
}

/// Returns the answer in words.
pub fn draw_answer(shown: ShownExperiment<'_>) -> StyledLine {
    match (shown.threads, gate::draw_line(shown)) {
        (Some(report), _) => threads::draw_answer(shown, report),
        (None, None) => answer::draw_verdict(shown),
        // The question was not which is better.
        (None, Some(gate)) if matches!(shown.standing.verdict, Verdict::Undecided { .. }) => gate,
        (None, Some(gate)) => gate.plain(" ").then(answer::draw_verdict(shown)),
    }
}

/// Returns the sums over the pairs of runs of the winner.
fn draw_pairs(shown: ShownExperiment<'_>) -> Option<StyledLine> {
    match shown.threads {
        Some(report) => threads::draw_pairs(shown, report),
        None => Some(winner::draw_pairs(
            shown,
            &shown.find_winner()?.1.paired?,
            &if shown.has_variants() {
                format!("with {}", shown.baseline_words())
            } else {
                "as the OS chose".to_owned()
            },
        )),
    }
}

/// Returns the commands that apply the winner, or continue the experiment, one line each.
fn draw_commands(shown: ShownExperiment<'_>) -> Vec<StyledLine> {
    shown.threads.map_or_else(|| answer::draw_commands(shown), |report| threads::draw_commands(shown, report))
}

/// Composes the story of an experiment; `others` are the other experiments on the same command.
pub fn compose_story(shown: ShownExperiment<'_>, others: Vec<StyledLine>) -> Story {
    let answer = std::iter::once(draw_answer(shown))
        .chain(draw_pairs(shown))
        .chain(partial::draw_line(shown))
        .map(|line| line.into_paragraph(0))
        .chain(compose_paragraphs(draw_commands(shown), 6));
    let told = Story::new(repeat_command::repeat_command(shown))
        .with(Context, compose_context(shown))
        .with(Answer, answer.collect());
    let told = match shown.threads {
        Some(report) => told
            .with_titled(Evidence, "Numbers of threads", vec![draw_table(shown, &report.standing).into()])
            .with(Evidence, threads::compose_scaling(shown, report))
            .with(Answer, compose_paragraphs(threads::draw_law(shown, report), 2))
            .with(Evidence, figures::runs_figure(shown).into_iter().map(StoryPart::Figure).collect()),
        None => with_placements(told, shown),
    };
    told.with(Notes, compose_paragraphs(further_differences::draw_lines(shown), 2))
        .with(Notes, compose_paragraphs(checks::draw_lines(shown), 2))
        .with(Notes, compose_paragraphs(others, 2))
}

fn with_placements(told: Story, shown: ShownExperiment<'_>) -> Story {
    let is_ratio = shown.is_time() && shown.experiment.policy.what != QuestionKind::Tail;
    let ratios = format!("+25 % means that a run takes 1.25 times as long with {}.", shown.baseline_words());
    let legends = std::iter::once(MARKS.to_owned()).chain(is_ratio.then_some(ratios));
    let table = std::iter::once(draw_standings(shown).into())
        .chain(legends.map(|legend| StoryPart::Legend(StyledLine::new().faint(legend))));
    let over_time = [figures::runs_figure(shown), figures::differences_figure(shown)];
    told.with(Evidence, figures::effects_figure(shown).into_iter().map(StoryPart::Figure).collect())
        .with_titled(Evidence, if shown.has_variants() { "Variants" } else { "Placements" }, table.collect())
        .with_titled(Details, "Roles", parts::compose_roles(shown))
        .with(Evidence, over_time.into_iter().flatten().map(StoryPart::Figure).collect())
}

/// Returns the machine, the command, and its services.
fn compose_context(shown: ShownExperiment<'_>) -> Vec<StoryPart> {
    let experiment = shown.experiment;
    let begun = format!("begun {}", format_time(experiment.started_unix_ms, &TimeZone::system()));
    let lines =
        draw_tried(&experiment.workload).into_iter().chain(draw_running(shown)).chain(parts::draw_started(shown));
    std::iter::once(compose_headline(&experiment.machine, &[begun]))
        .chain(compose_paragraphs(lines.collect(), 2))
        .collect()
}

/// Returns the command, and the variants of it.
fn draw_tried(workload: &TriedWorkload) -> Vec<StyledLine> {
    let command = || StyledLine::new().plain("Tried: ").strong(quote_words(&workload.command));
    let variant = |variant: &CommandVariant| {
        let name = printable_name(&variant.name);
        StyledLine::new().plain(format!("Variant {name}: ")).strong(printable_name(&variant.text))
    };
    let is_whole_line = workload.command == [VARIANT_PLACE];
    (!is_whole_line).then(command).into_iter().chain(workload.variants.iter().map(variant)).collect()
}

/// Describes the placed processes, and the source of their metric.
fn draw_running(shown: ShownExperiment<'_>) -> Option<StyledLine> {
    let live = shown.experiment.workload.live.as_ref()?;
    let processes = live.processes.iter().map(|process| format!("process {}", process.id));
    let all: Vec<String> = processes.chain(live.matches.iter().map(|text| printable_name(text))).collect();
    let line = StyledLine::new().plain("Placed while they ran: ").strong(all.join(", "));
    let line = line.plain(format!(", in slots of {}; ", format_duration(live.slot_s * 1e9)));
    let name = printable_name(&shown.experiment.workload.metric.name);
    Some(match &live.source {
        LiveSource::Command(command) => {
            line.plain(format!("{name} from the output of ")).strong(printable_name(command))
        }
        LiveSource::Page(address) => line.plain(format!("{name} from ")).strong(printable_name(address)),
        LiveSource::Kernel => line.plain(format!("{name} from the kernel")),
    })
}

/// Formats a command for a shell, cut off if it is long.
fn format_command(words: &[String]) -> String {
    let command = quote_words(words);
    match words.first() {
        Some(program) if command.chars().count() > LONGEST_COMMAND => format!("{} …", quote_word(program)),
        _ => command,
    }
}
