//! How an experiment stands while it runs, on standard error: a line a placement, and the time.

use std::time::Duration;

use corewise_lab::experiment::Time;
use corewise_model::experiment::Standing;
use corewise_model::trial::{Experiment, Outcome, Trial};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::say;
use crate::settings::Settings;
use crate::view::experiment::{Shown, standings};

/// The lines. They are drawn when something has happened, never by a thread of their own that could disturb.
pub struct Live<'a> {
    experiment: &'a Experiment,
    all: MultiProgress,
    table: ProgressBar,
    now: ProgressBar,
    width: usize,
}

impl<'a> Live<'a> {
    /// Lines on standard error, where that is a terminal.
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
        Self { experiment, all, table, now, width: settings.width }
    }

    /// A trial begins.
    pub fn begins(&self, block: u32, arm: usize, time: &Time) {
        let name = self.experiment.arms[arm].spoken();
        let what = if block == 0 { format!("warming up: {name}") } else { format!("block {block}: {name}") };
        let elapsed = clock(time.elapsed);
        let left = time.left.map_or(String::new(), |left| format!(", {} left", clock(left)));
        let each = time.trial.map_or(String::new(), |trial| format!(", {:.1} s a run", trial.as_secs_f64()));
        let text = format!("{what}    {elapsed}{left}{each}    Ctrl-C: the verdict so far");
        self.now.set_message(text.chars().take(self.width).collect::<String>());
        self.now.tick();
    }

    /// A block is over.
    pub fn stands(&self, standing: &Standing) {
        let shown = Shown { experiment: self.experiment, trials: &[], standing, stored: None };
        let lines: Vec<String> = standings(shown, self.width).iter().map(|line| line.to_plain()).collect();
        self.table.set_message(lines.join("\n"));
        self.table.tick();
    }

    /// The very first run has failed: said at once, as the others may fail for the same reason.
    pub fn first_failed(&self, trial: &Trial) {
        let Outcome::Failed { why, output } = &trial.outcome else { return };
        let last: Vec<String> = output.lines().rev().take(5).map(|line| format!("    {line}")).collect();
        let lines: Vec<String> = last.into_iter().rev().collect();
        let text = format!("warning: the first run failed: {why}\n{}", lines.join("\n"));
        self.all.suspend(|| say(&crate::view::text::printable_lines(text.trim_end())));
    }

    /// Takes the lines off the screen.
    pub fn clear(&self) {
        let _ = self.all.clear();
    }
}

/// "0:42", "12:05".
fn clock(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}
