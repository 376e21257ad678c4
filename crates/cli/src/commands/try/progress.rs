//! Progress of an experiment on standard error: the table of placements, and a line with the current trial and the times.

use std::cell::Cell;
use std::time::Duration;

use corewise_lab::experiment::{ExperimentTime, SessionForecast};
use corewise_model::forecast;
use corewise_model::trial::{Experiment, Trial, TrialDesign, TrialOutcome};
use corewise_statistics::experiment::ExperimentStanding;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::screen::{ShownExperiment, draw_answer, draw_standings, draw_table};
use crate::app::output::print_message;
use crate::app::progress::LinePauses;
use crate::app::settings::ProgramSettings;
use crate::draw::number::{format_count, format_duration};
use crate::draw::printable::{last_lines, printable_name};
use crate::draw::text::StyledLine;

/// Maximum number of output lines shown of a failed run.
const SHOWN_LINES: usize = 5;
/// Shortest time to a verdict that is announced.
const LONG_FORECAST: Duration = Duration::from_secs(30);

/// The progress display. It is redrawn only when a method is called: a drawing thread could disturb the runs.
pub struct SessionProgress<'a> {
    experiment: &'a Experiment,
    display: MultiProgress,
    table: ProgressBar,
    status_line: ProgressBar,
    width: usize,
    /// Runs still needed for a decision, estimated after the latest block.
    more_runs: Cell<Option<u32>>,
    /// Pauses between lines without a terminal.
    pauses: LinePauses,
}

impl<'a> SessionProgress<'a> {
    /// Creates the display, hidden unless standard error is a terminal.
    pub fn new(experiment: &'a Experiment, settings: &ProgramSettings) -> Self {
        let target =
            if settings.progress { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
        let display = MultiProgress::with_draw_target(target);
        let line = || {
            let bar = display.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            bar
        };
        let (table, status_line) = (line(), line());
        Self {
            experiment,
            display,
            table,
            status_line,
            width: settings.width,
            more_runs: Cell::new(None),
            pauses: LinePauses::new(),
        }
    }

    /// Shows that a trial begins.
    pub fn show_trial(&self, block: u32, arm: usize, time: &ExperimentTime) {
        self.status_line.set_message(self.trial_line(block, arm, time));
        self.status_line.tick();
    }

    fn trial_line(&self, block: u32, arm: usize, time: &ExperimentTime) -> String {
        let name = printable_name(&self.experiment.arms[arm].spoken_name());
        let benchmark = self.experiment.suite.as_ref();
        let benchmark = benchmark.map_or(String::new(), |part| format!("{} · ", printable_name(&part.benchmark)));
        let what = if block == 0 { format!("warming up: {name}") } else { format!("block {block}: {name}") };
        let elapsed = format_clock(time.elapsed);
        let about = self.more_runs.get().zip(time.trial).map(|(runs, trial)| trial * runs);
        let left = match (time.left, about) {
            (Some(left), _) => format!(", {} left", format_clock(left)),
            (None, Some(about)) => format!(", about {} more", format_clock(about)),
            (None, None) => String::new(),
        };
        let each = time.trial.map_or(String::new(), |trial| format!(", {:.1} s a trial", trial.as_secs_f64()));
        let text = format!("{benchmark}{what}    {elapsed}{left}{each}    Ctrl-C: the verdict so far");
        StyledLine::new().plain(text).cut_to(self.width).to_plain()
    }

    /// Says what the earliest verdict takes, if that is long, and what to do if the budget is too short for it.
    pub fn show_forecast(&self, forecast: &SessionForecast) {
        if let Some(line) = describe_forecast(forecast) {
            self.display.suspend(|| print_message(&line));
        }
    }

    /// Shows the standing after a block: as a table in a terminal, otherwise as a line from time to time.
    pub fn show_standing(&self, design: &TrialDesign) {
        if self.display.is_hidden() {
            return self.say_standing(design);
        }
        match design.threads_standing() {
            None => {
                let standing = &design.current_standing();
                self.more_runs.set(more_runs(standing));
                self.show_lines(&draw_standings(self.shown_experiment(standing)).draw_lines(self.width));
            }
            Some(threads) => {
                self.more_runs.set(threads.question_standings().filter_map(more_runs).max());
                self.show_lines(
                    &draw_table(self.shown_experiment(&design.current_standing()), &threads).draw_lines(self.width),
                );
            }
        }
    }

    fn say_standing(&self, design: &TrialDesign) {
        if self.pauses.is_due() {
            let blocks = format_count(design.block_count() as usize, "block");
            let answer = design.threads_race().is_none().then(|| {
                let standing = design.current_standing();
                format!(": {}", draw_answer(self.shown_experiment(&standing)).to_plain())
            });
            print_message(&format!("so far, after {blocks}{}", answer.unwrap_or_default()));
        }
    }

    fn shown_experiment<'b>(&'b self, standing: &'b ExperimentStanding) -> ShownExperiment<'b> {
        ShownExperiment { experiment: self.experiment, trials: &[], standing, threads: None, stored: None }
    }

    fn show_lines(&self, lines: &[StyledLine]) {
        let lines: Vec<String> = lines.iter().map(StyledLine::to_plain).collect();
        self.table.set_message(lines.join("\n"));
        self.table.tick();
    }

    /// Warns about a failure of the first run immediately: all others may fail for the same reason.
    pub fn warn_first_failure(&self, trial: &Trial) {
        let TrialOutcome::Failed { why, output } = &trial.outcome else { return };
        let lines: String = last_lines(output, SHOWN_LINES).iter().map(|line| format!("\n    {line}")).collect();
        self.display.suspend(|| print_message(&format!("warning: the first run failed: {why}{lines}")));
    }

    /// Removes the display.
    pub fn clear_lines(&self) {
        let _ = self.display.clear();
    }
}

/// Describes a verdict that takes long or does not fit into the budget: "warning: a run takes up to 100 s, so a verdict takes 10 runs and
/// about 17 min, but 40 s of the budget are left. …".
fn describe_forecast(expected: &SessionForecast) -> Option<String> {
    let SessionForecast { run, trials, earliest, budget } = expected;
    let (run, about) = (format_duration(run.as_nanos() as f64), forecast::format_about(earliest.as_secs_f64()));
    let what = format!(
        "a run takes up to {run}, so the earliest verdict takes {} and {about}",
        format_count(*trials as usize, "trial")
    );
    let Some([budget, left]) = budget.filter(|_| !expected.fits_budget()) else {
        return (*earliest >= LONG_FORECAST).then(|| format!("note: {what}"));
    };
    let longer = forecast::format_estimate_option(2.0 * budget.max(*earliest).as_secs_f64());
    let cure = format!("give it longer (--budget {longer}), fewer placements (--on) or a shorter command");
    Some(if left.is_zero() {
        format!("warning: {what}, but the budget is over: {cure}; or continue it (--resume).")
    } else {
        let left = format_duration(left.as_nanos() as f64);
        format!(
            "warning: {what}, but {left} of the budget are left. Ctrl-C, and {cure}; or let it go on, and continue it later (--resume)."
        )
    })
}

fn more_runs(standing: &ExperimentStanding) -> Option<u32> {
    standing.verdict.more_runs()
}

/// Formats a duration as "0:42" or "12:05".
fn format_clock(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests {
    use corewise_model::experiment_record::ExperimentRecord;
    use corewise_model::trial::SuitePart;
    use corewise_statistics::simulate::noise::RunNoise;

    use super::*;
    use crate::app::settings::ProgramEnvironment;
    use crate::commands::r#try::screen::tests::{MadeExperiment, made_by};
    use crate::draw::fixtures::hostile;
    use crate::draw::printable::text_width;

    #[test]
    fn a_long_way_to_a_verdict_is_said_and_what_to_do_if_the_budget_is_too_short() {
        let expected = |run_s: u64, left_s: Option<u64>| SessionForecast {
            run: Duration::from_secs(run_s),
            trials: 10,
            earliest: Duration::from_secs(10 * run_s),
            budget: left_s.map(|left_s| [30, left_s].map(Duration::from_secs)),
        };
        assert_eq!(describe_forecast(&expected(2, None)), None);
        let long = "note: a run takes up to 100 s, so the earliest verdict takes 10 trials and about 17 min";
        assert_eq!(describe_forecast(&expected(100, Some(2_000))).as_deref(), Some(long));
        let short = describe_forecast(&expected(2, Some(10))).unwrap();
        assert!(
            short.starts_with("warning: a run takes up to 2.0 s")
                && short.contains("10 s of the budget are left")
                && short.contains("(--budget 1m)"),
            "{short}"
        );
        let over = describe_forecast(&expected(8, Some(0))).unwrap();
        assert!(
            over.starts_with("warning: a run takes up to 8.0 s")
                && over.contains("the budget is over: give it longer (--budget 3m)"),
            "{over}"
        );
    }

    #[test]
    fn no_benchmark_steers_the_line_that_is_drawn_while_it_runs() {
        let policy = corewise_statistics::experiment::JudgingPolicy::default();
        let effects = corewise_statistics::simulate::ProgramEffects::from_gains(&[0.0, 0.1]);
        let MadeExperiment { mut experiment, trials, .. } = made_by(policy.clone(), &effects, &RunNoise::Quiet, 1, 1);
        experiment.suite = Some(SuitePart {
            suite: "a".into(),
            benchmark: "b".into(),
            category: "c".into(),
            begun_unix_ms: 0,
            setup: None,
            policy,
        });
        let time = ExperimentTime { elapsed: Duration::from_secs(5), trial: Some(Duration::from_secs(1)), left: None };
        let settings = ProgramSettings::from_environment(&ProgramEnvironment::default());
        for ExperimentRecord { experiment, .. } in hostile::copies(&ExperimentRecord { experiment, trials }) {
            let live = SessionProgress::new(&experiment, &settings);
            for arm in 0..experiment.arms.len() {
                let line = live.trial_line(1, arm, &time);
                hostile::check_text(&line);
                assert!(!line.contains('\n') && text_width(&line) <= settings.width, "{line}");
            }
        }
    }
}
