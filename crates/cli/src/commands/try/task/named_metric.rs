//! The metric that decides, with the question about its direction.

use corewise_model::trial::TrialMetric;

use crate::app::failure::CommandFailure;
use crate::draw::suggestion::quote_word;

/// The metric that decides.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedMetric {
    /// The metric; less counts as better while the question is open.
    pub metric: TrialMetric,
    /// The question whether more of it is better, if neither the name nor an option says it.
    pub direction_question: Option<DirectionQuestion>,
}

/// The question whether more of a metric is better. It is asked once the number is found, since a misspelt name says nothing either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectionQuestion {
    /// The name.
    pub name: String,
    /// The options that answer it, each with the metric as it was typed.
    answers: Vec<String>,
}

impl DirectionQuestion {
    /// Creates the question about a metric that was typed as `text`, with the options that answer it.
    pub fn new(name: &str, text: &str, options: &[&str]) -> Self {
        let typed = quote_word(text);
        let answers = options.iter().map(|option| format!("--metric {typed} {option}")).collect();
        Self { name: name.to_owned(), answers }
    }

    /// Returns the failure that asks it. `found` is the text in which the number was found, empty if it is unknown.
    pub fn ask_direction(&self, found: &str) -> CommandFailure {
        let found = if found.is_empty() { String::new() } else { format!("\n  It is in \"{found}\".") };
        CommandFailure::usage_error(format!("--metric: is more of \"{}\" better, or less?", self.name))
            .with_hint(format!("Add one of:  {}{found}", self.answers.join("    ")))
    }
}
