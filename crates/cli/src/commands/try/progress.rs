//! Progress of an experiment on standard error: a line for each placement, and the time.

use std::cell::Cell;
use std::time::Duration;

use corewise_lab::experiment::Time;
use corewise_model::experiment::{Standing, Verdict};
use corewise_model::trial::{Design, Experiment, Outcome, Trial};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::screen::{Shown, standings, table};
use crate::app::output::say;
use crate::app::settings::Settings;
use crate::draw::printable::{last_lines, named};
use crate::draw::text::Line;

/// Maximum number of output lines shown of a failed run.
const SHOWN_LINES: usize = 5;

/// The progress display. It is drawn only after events, because a thread of its own could disturb the runs.
pub struct SessionProgress<'a> {
    experiment: &'a Experiment,
    all: MultiProgress,
    table: ProgressBar,
    now: ProgressBar,
    width: usize,
    /// Estimated number of runs to a decision, after the last block.
    more_runs: Cell<Option<u32>>,
}

impl<'a> SessionProgress<'a> {
    /// Creates the display, hidden unless standard error is a terminal.
    pub fn new(experiment: &'a Experiment, settings: &Settings) -> Self {
        let target =
            if settings.progress { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
        let all = MultiProgress::with_draw_target(target);
        let line = || {
            let bar = all.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            bar
        };
        let (table, now) = (line(), line());
        Self { experiment, all, table, now, width: settings.width, more_runs: Cell::new(None) }
    }

    /// Shows that a trial begins.
    pub fn begins(&self, block: u32, arm: usize, time: &Time) {
        self.now.set_message(self.begun(block, arm, time));
        self.now.tick();
    }

    fn begun(&self, block: u32, arm: usize, time: &Time) -> String {
        let name = named(&self.experiment.arms[arm].spoken());
        let benchmark = self.experiment.suite.as_ref();
        let benchmark = benchmark.map_or(String::new(), |part| format!("{} · ", named(&part.benchmark)));
        let what = if block == 0 { format!("warming up: {name}") } else { format!("block {block}: {name}") };
        let elapsed = clock(time.elapsed);
        let about = self.more_runs.get().zip(time.trial).map(|(runs, trial)| trial * runs);
        let left = match (time.left, about) {
            (Some(left), _) => format!(", {} left", clock(left)),
            (None, Some(about)) => format!(", about {} more", clock(about)),
            (None, None) => String::new(),
        };
        let each = time.trial.map_or(String::new(), |trial| format!(", {:.1} s a run", trial.as_secs_f64()));
        let text = format!("{benchmark}{what}    {elapsed}{left}{each}    Ctrl-C: the verdict so far");
        Line::new().plain(text).cut(self.width).to_plain()
    }

    /// Shows the standing after a block. Computes nothing if the display is hidden.
    pub fn stands(&self, design: &Design) {
        if self.all.is_hidden() {
            return;
        }
        match design.threads_standing() {
            None => {
                let standing = &design.standing();
                self.more_runs.set(more_runs(standing));
                self.show(&standings(self.shown(standing)).lines(self.width));
            }
            Some(threads) => {
                self.more_runs.set(threads.questions().filter_map(more_runs).max());
                self.show(&table(self.shown(&design.standing()), &threads).lines(self.width));
            }
        }
    }

    fn shown<'b>(&'b self, standing: &'b Standing) -> Shown<'b> {
        Shown { experiment: self.experiment, trials: &[], standing, threads: None, stored: None }
    }

    fn show(&self, lines: &[Line]) {
        let lines: Vec<String> = lines.iter().map(Line::to_plain).collect();
        self.table.set_message(lines.join("\n"));
        self.table.tick();
    }

    /// Warns at once that the very first run has failed, because others may fail for the same reason.
    pub fn first_failed(&self, trial: &Trial) {
        let Outcome::Failed { why, output } = &trial.outcome else { return };
        let lines: String = last_lines(output, SHOWN_LINES).iter().map(|line| format!("\n    {line}")).collect();
        self.all.suspend(|| say(&format!("warning: the first run failed: {why}{lines}")));
    }

    /// Clears the lines.
    pub fn clear(&self) {
        let _ = self.all.clear();
    }
}

fn more_runs(standing: &Standing) -> Option<u32> {
    if let Verdict::Undecided { more_runs } = standing.verdict { more_runs } else { None }
}

/// Formats a duration as "0:42" or "12:05".
fn clock(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests {
    use corewise_model::conducted::Conducted;
    use corewise_model::simulate::noise::RunNoise;
    use corewise_model::trial::Part;

    use super::*;
    use crate::app::settings::Environment;
    use crate::commands::r#try::screen::tests::{Made, made_by};
    use crate::draw::fixtures::hostile;
    use crate::draw::printable::width;

    #[test]
    fn no_benchmark_steers_the_line_that_is_drawn_while_it_runs() {
        let policy = corewise_model::experiment::Policy::default();
        let effects = corewise_model::simulate::Effects::of(&[0.0, 0.1]);
        let Made { mut experiment, trials, .. } = made_by(policy.clone(), &effects, &RunNoise::Quiet, 1, 1);
        experiment.suite = Some(Part {
            suite: "a".into(),
            benchmark: "b".into(),
            category: "c".into(),
            begun_unix_ms: 0,
            setup: None,
            policy,
        });
        let time = Time { elapsed: Duration::from_secs(5), trial: Some(Duration::from_secs(1)), left: None };
        let settings = Settings::of_environment(&Environment::default());
        for Conducted { experiment, .. } in hostile::copies(&Conducted { experiment, trials }) {
            let live = SessionProgress::new(&experiment, &settings);
            for arm in 0..experiment.arms.len() {
                let line = live.begun(1, arm, &time);
                hostile::check_text(&line);
                assert!(!line.contains('\n') && width(&line) <= settings.width, "{line}");
            }
        }
    }
}
