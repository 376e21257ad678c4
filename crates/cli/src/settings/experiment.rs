//! What `try` is to do.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use corewise_model::experiment::Policy;
use corewise_model::placement::Expression;
use corewise_model::trial::{Finder, Metric};

use crate::args::TryArguments;
use crate::error::Failure;
use crate::placing;

/// A session of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct TryTask {
    /// Which experiment.
    pub which: Which,
    /// How long to try.
    pub budget: Option<Duration>,
    /// How many runs to make at most.
    pub runs_max: Option<u32>,
    /// How to print the result, where JSON is not asked for.
    pub print: Print,
}

/// Which experiment a session belongs to.
#[derive(Clone, Debug, PartialEq)]
pub enum Which {
    /// A new one.
    New(Box<NewExperiment>),
    /// A stored one, by its number, or the last one of this machine.
    Stored(Option<i64>),
    /// One that is made up from a file.
    Simulated {
        /// The file.
        truth: PathBuf,
        /// The seed; from the clock where nothing is said.
        seed: Option<u64>,
        /// How it is judged.
        policy: Policy,
    },
}

/// What a new experiment is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct NewExperiment {
    /// What to try beside the operating system's choice; planned where nothing is said.
    pub choices: Vec<Choice>,
    /// How many threads to plan for.
    pub threads: Option<u32>,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// What decides.
    pub metric: Metric,
    /// What must not get worse.
    pub guards: Vec<Metric>,
    /// After so long a run is ended.
    pub timeout: Option<Duration>,
    /// How it is judged.
    pub policy: Policy,
    /// The seed of the random orders; from the clock where nothing is said.
    pub seed: Option<u64>,
}

/// Something to try.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// The operating system's choice, once more: to see how two equal things compare.
    OperatingSystem,
    /// A placement, as it was typed and as it was understood.
    Placement(String, Box<Expression>),
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Print {
    /// A screen, or JSON where the common options ask for it.
    Screen,
    /// Every run as a line.
    Csv,
    /// A table in Markdown.
    Markdown,
}

impl TryTask {
    /// What was typed, understood.
    ///
    /// # Errors
    /// Where an expression or a metric cannot be read, or the command is no text.
    pub fn new(typed: TryArguments) -> Result<Self, Failure> {
        let print = match (typed.csv, typed.markdown) {
            (true, _) => Print::Csv,
            (false, true) => Print::Markdown,
            (false, false) => Print::Screen,
        };
        let (budget, runs_max) = (typed.budget, typed.runs_max);
        let policy = policy(&typed);
        let which = match (typed.resume, typed.simulate.clone()) {
            (Some(number), _) => Which::Stored(number),
            (None, Some(truth)) => Which::Simulated { truth, seed: typed.seed, policy },
            (None, None) => Which::New(Box::new(NewExperiment::new(typed, policy)?)),
        };
        Ok(Self { which, budget, runs_max, print })
    }
}

impl NewExperiment {
    fn new(typed: TryArguments, policy: Policy) -> Result<Self, Failure> {
        let metric = match &typed.metric {
            None => Metric::wall_time(),
            Some(text) => metric("--metric", text, typed.higher)?,
        };
        let guards = typed.guard.iter().map(|text| metric_of_guard(text, false));
        let guards = guards.chain(typed.guard_higher.iter().map(|text| metric_of_guard(text, true)));
        Ok(Self {
            choices: choices(&typed.on)?,
            threads: typed.threads,
            command: typed.command.into_iter().map(text).collect::<Result<_, _>>()?,
            metric,
            guards: guards.collect::<Result<_, _>>()?,
            timeout: typed.timeout,
            policy,
            seed: typed.seed,
        })
    }
}

fn policy(typed: &TryArguments) -> Policy {
    let default = Policy::default();
    Policy {
        error_rate: typed.error_rate.unwrap_or(default.error_rate),
        margin: typed.margin.unwrap_or(default.margin),
        ..default
    }
}

/// The choices beside the operating system's, which is tried in any case: where it is named twice, it is one of them.
fn choices(typed: &[String]) -> Result<Vec<Choice>, Failure> {
    let mut choices = Vec::new();
    let mut is_baseline_named = false;
    for word in typed {
        if !word.trim().eq_ignore_ascii_case("os") {
            choices.push(Choice::Placement(word.clone(), Box::new(placing::expression(word)?)));
        } else if std::mem::replace(&mut is_baseline_named, true) {
            choices.push(Choice::OperatingSystem);
        }
    }
    if !typed.is_empty() && choices.is_empty() {
        return Err(Failure::usage("--on os alone is nothing to compare").next(
            "Name a placement beside it, or `--on os` twice to see how the operating system's choice compares with itself.",
        ));
    }
    Ok(choices)
}

fn metric_of_guard(text: &str, higher_is_better: bool) -> Result<Metric, Failure> {
    metric(if higher_is_better { "--guard-higher" } else { "--guard" }, text, higher_is_better)
}

/// "throughput=([0-9.]+) MB/s".
fn metric(option: &str, text: &str, higher_is_better: bool) -> Result<Metric, Failure> {
    let example = "For example: --metric 'throughput=([0-9.]+) MB/s' --higher";
    let (name, pattern) = text
        .split_once('=')
        .filter(|(name, pattern)| !name.trim().is_empty() && !pattern.is_empty())
        .ok_or_else(|| Failure::usage(format!("{option}: expected NAME=REGEX, found \"{text}\"")).next(example))?;
    Finder::new(pattern).map_err(|error| Failure::usage(format!("{option}: {error}")).next(example))?;
    Ok(Metric { name: name.trim().to_owned(), pattern: Some(pattern.to_owned()), higher_is_better })
}

/// Experiments are stored and resumed, so their commands have to be texts.
fn text(word: OsString) -> Result<String, Failure> {
    word.into_string().map_err(|word| {
        Failure::usage(format!("the command is no UTF-8 text: {}", word.display()))
            .next("Put it into a script with a name that is.")
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Command};

    fn task(words: &[&str]) -> Result<TryTask, String> {
        let words = ["corewise", "try"].iter().chain(words);
        match Arguments::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Some(Command::Try(typed)) => TryTask::new(typed).map_err(|failure| failure.what),
            other => Err(format!("{other:?}")),
        }
    }

    fn new(words: &[&str]) -> NewExperiment {
        match task(words).unwrap().which {
            Which::New(new) => *new,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_operating_systems_choice_is_one_of_them_only_where_it_is_named_twice() {
        assert!(task(&["--on", "os", "--", "ls"]).is_err());
        assert_eq!(new(&["--on", "os", "--on", "OS", "--", "ls"]).choices, [Choice::OperatingSystem]);
        let of_two = new(&["--on", "0", "--on", "os", "--", "ls", "-l", "--on", "9"]);
        assert!(matches!(&of_two.choices[..], [Choice::Placement(text, _)] if text == "0"));
        assert_eq!(of_two.command, ["ls", "-l", "--on", "9"]);
        assert!(new(&["--", "ls"]).choices.is_empty());
    }

    #[test]
    fn a_metric_has_a_name_and_a_pattern() {
        let metric = new(&["--metric", "rate=([0-9.]+) MB/s", "--higher", "ls"]).metric;
        assert_eq!((metric.name.as_str(), metric.pattern.as_deref()), ("rate", Some("([0-9.]+) MB/s")));
        assert!(metric.higher_is_better);
        for wrong in ["rate", "=x", "rate=", "rate=(", "rate=["] {
            assert!(task(&["--metric", wrong, "ls"]).unwrap_err().starts_with("--metric: "), "{wrong}");
        }
        assert!(task(&["--higher", "ls"]).is_err());
    }

    #[test]
    fn a_stored_experiment_has_its_command() {
        assert_eq!(task(&["--resume"]).unwrap().which, Which::Stored(None));
        assert_eq!(task(&["--resume=7", "--budget", "2m"]).unwrap().which, Which::Stored(Some(7)));
        assert!(task(&["--resume", "ls"]).is_err() && task(&[]).is_err());
    }
}
