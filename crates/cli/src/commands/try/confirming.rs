//! A winner is tried again: alone against the OS default, in stretches of runs.

use std::time::{Duration, Instant};

use corewise_lab::experiment::{ExperimentEnd, ExperimentSubject, OpenExperiment, WinnerConfirmation};
use corewise_lab::session::StepProgress;
use corewise_machine::suggested_command;
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::trial::{LEAST_SPAN_S, StretchLength, TrialDesign, TrialOutcome, experiment_standing};
use corewise_statistics::experiment::{ExperimentStanding, GateRule, OpenPoint, Verdict};

use super::task::{ConfirmationChoice, TryFormat, TryTask};
use super::{TrySessions, beginning, exit_of_standing, no_value_failure, print_experiment};
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::{print_message, print_text};
use crate::app::progress::ProgressDisplay;
use crate::draw::number::format_duration;
use crate::draw::suggestion;

/// An experiment of this session, with its result.
pub struct ConductedExperiment<'a> {
    /// The experiment and its trials.
    pub made: &'a ExperimentRecord,
    /// Its number in the store.
    pub stored: Option<i64>,
    /// The reason why its session ended.
    pub ending: &'a ExperimentEnd,
    /// The subject.
    pub subject: &'a dyn ExperimentSubject,
    /// End of the budget; `None` without one.
    pub until: Option<Instant>,
}

impl ConductedExperiment<'_> {
    fn standing(&self) -> ExperimentStanding {
        experiment_standing(&self.made.experiment, &self.made.trials)
    }

    fn time_left(&self) -> Option<Duration> {
        self.until.map(|until| until.saturating_duration_since(Instant::now()))
    }
}

impl TrySessions<'_> {
    /// Plans to try the winner again; `None` if it need not, must not or cannot be.
    pub fn plan_confirmation<'a>(&self, first: &ConductedExperiment<'a>) -> Option<WinnerConfirmation<'a>> {
        if !matches!(first.ending, ExperimentEnd::Decided | ExperimentEnd::Limit | ExperimentEnd::Budget) {
            return None;
        }
        if first.made.experiment.policy.gate_rule() == Some(GateRule::NotWorse) {
            return None;
        }
        let plan = |length| WinnerConfirmation::plan(first.made, first.stored, first.subject, length);
        match self.task.confirmation {
            ConfirmationChoice::Never => None,
            ConfirmationChoice::InLongStretches => plan(StretchLength::Long),
            ConfirmationChoice::IfOpen => {
                let standing = first.standing();
                let has_runs = |again: &WinnerConfirmation<'_>| {
                    self.most_trials(again, &standing).is_none_or(|trials| trials.is_some())
                };
                let needs = is_tried_again(first.made, &standing);
                let again = needs.then(|| plan(StretchLength::Short)).flatten().filter(has_runs)?;
                let (least, left) = (again.least_time(), first.time_left().unwrap_or(Duration::MAX));
                if least > left {
                    print_message(&describe_short_budget(least, left, first.stored));
                    return None;
                }
                Some(again)
            }
        }
    }

    /// Returns the number of trials that --runs-max leaves; `None` without it, and `Some(None)` if they prove nothing.
    fn most_trials(&self, again: &WinnerConfirmation<'_>, first: &ExperimentStanding) -> Option<Option<u32>> {
        self.task.runs_max.map(|most| again.trials_within(most.saturating_sub(first.runs)))
    }

    /// Shows the answer so far, tries the winner again, and shows the result. If a single document is requested, only
    /// the last answer is printed.
    pub fn confirm_winner(
        &self,
        first: &ConductedExperiment<'_>,
        again: &WinnerConfirmation<'_>,
    ) -> Result<CommandExit, CommandFailure> {
        let (how, settings) = (self.task.print, self.settings);
        let is_screen = how == TryFormat::Screen && !settings.json;
        let show_first = || print_experiment(first.made, first.stored, how, settings);
        if is_screen {
            show_first()?;
        }
        let confirmed = if self.wait_for(again) { Some(self.run_confirmation(first, again)?) } else { None };
        let is_short = self.task.confirmation == ConfirmationChoice::IfOpen;
        match confirmed {
            Some((made, stored, ending)) if !(is_short && ending == ExperimentEnd::Stopped) => {
                if is_screen {
                    print_text("")?;
                }
                let standings = print_experiment(&made, stored, how, settings)?;
                let exit = standings
                    .first()
                    .map_or(CommandExit::Done, |standing| exit_of_standing(&made.experiment, standing, &ending));
                let wins = standings.first().is_some_and(|found| matches!(found.verdict, Verdict::Wins { .. }));
                // A winner that does not win again is no answer to rely on.
                Ok(if is_short && !wins && exit == CommandExit::Done { CommandExit::Undecided } else { exit })
            }
            stopped => {
                if !is_screen {
                    show_first()?;
                }
                let number = stopped.map_or(first.stored, |(_, stored, _)| stored);
                print_message(&describe_stop(number));
                let standing = first.standing();
                Ok(exit_of_standing(&first.made.experiment, &standing, first.ending))
            }
        }
    }

    /// Waits until the confirmation may begin; returns false if it was stopped.
    fn wait_for(&self, again: &WinnerConfirmation<'_>) -> bool {
        let bar = ProgressDisplay::new(self.settings.progress);
        let mut is_announced = self.settings.progress;
        let waited = again.wait(self.context.stop, |left| {
            if !std::mem::replace(&mut is_announced, true) {
                print_message(&describe_pause(left));
            }
            if self.settings.progress {
                bar.show_progress(&StepProgress {
                    step: describe_pause(left),
                    done: 1.0 - left.as_secs_f64() / LEAST_SPAN_S,
                    left,
                });
            }
        });
        bar.clear_display();
        waited
    }

    fn run_confirmation(
        &self,
        first: &ConductedExperiment<'_>,
        again: &WinnerConfirmation<'_>,
    ) -> Result<(ExperimentRecord, Option<i64>, ExperimentEnd), CommandFailure> {
        let mut experiment = again.begin(env!("CARGO_PKG_VERSION"));
        if self.task.confirmation == ConfirmationChoice::IfOpen {
            let standing = first.standing();
            experiment.policy.most_runs = self.most_trials(again, &standing).flatten();
        }
        let begun = match first.subject.takes_time() {
            true => beginning::store_new(experiment, self.settings)?,
            false => OpenExperiment { experiment, trials: Vec::new(), stored: None },
        };
        let of_winner = first.subject.with_candidate(again.winner());
        let subject = of_winner.as_deref().unwrap_or(first.subject);
        let (trials, ending) = self.continue_experiment(&begun, subject, first.time_left(), None)?;
        let is_stopped = ending == ExperimentEnd::Stopped;
        if !is_stopped && trials.iter().all(|trial| matches!(trial.outcome, TrialOutcome::Failed { .. })) {
            return Err(no_value_failure(&begun.experiment, &trials, &ending));
        }
        Ok((ExperimentRecord { experiment: begun.experiment, trials }, begun.stored, ending))
    }
}

/// Returns true if an experiment has a provisional winner that can be tried again: not one of a suite,
/// not a number of threads, and no confirmation itself.
fn is_tried_again(made: &ExperimentRecord, standing: &ExperimentStanding) -> bool {
    let experiment = &made.experiment;
    let waits_for_boot = standing.open_points.iter().any(|point| matches!(point, OpenPoint::FewBoots { .. }));
    matches!(standing.verdict, Verdict::Wins { .. })
        && !standing.open_points.is_empty()
        && !waits_for_boot
        && standing.contradicted_by.is_empty()
        && experiment.stretch.is_none()
        && experiment.suite.is_none()
        && experiment.arms.iter().all(|arm| arm.threads.is_none())
}

fn describe_pause(left: Duration) -> String {
    format!("Trying it again in {:.0} s; Ctrl-C keeps the answer so far", left.as_secs_f64().ceil())
}

fn describe_short_budget(least: Duration, left: Duration, stored: Option<i64>) -> String {
    let [least, left] = [least, left].map(|time| format_duration(time.as_nanos() as f64));
    let later = stored.map_or_else(String::new, |number| {
        format!("; {} does", suggestion::format_mention(&suggested_command::try_resume(number)))
    });
    format!(
        "note: the winner was not tried again: that takes at least {least}, and {left} of the budget are left{later}"
    )
}

fn describe_stop(stored: Option<i64>) -> String {
    let next = stored.map_or_else(String::new, |number| {
        format!("; {} goes on", suggestion::format_mention(&suggested_command::try_resume(number)))
    });
    format!("note: it was not tried again to the end, so the answer so far stands{next}")
}

/// Describes what continuing a decided experiment does; `None` if it is not decided.
pub fn describe_resumption(begun: &OpenExperiment, task: &TryTask) -> Option<String> {
    let design = TrialDesign::from_trials(&begun.experiment, &begun.trials);
    let number = begun.stored.filter(|_| design.is_decided())?;
    let decided = format!("note: experiment {number} is decided");
    if design.is_over() {
        return Some(format!("{decided}, and no placement is left to run"));
    }
    if let Some(boots) = task.boots {
        return Some(format!("{decided}: it goes on in this boot, for runs over {boots} boots"));
    }
    let made = ExperimentRecord { experiment: begun.experiment.clone(), trials: begun.trials.clone() };
    let is_again = task.confirmation == ConfirmationChoice::IfOpen && is_tried_again(&made, &design.current_standing());
    let boots = suggestion::format_mention(&suggested_command::try_resume_over_boots(number, 3));
    let what = if is_again { "only its winner is tried again" } else { "nothing more is run" };
    Some(format!("{decided}: {what}. {boots} makes more runs, also after a reboot"))
}
