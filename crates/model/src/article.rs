//! Experiments from published articles, as files: the commands to run, the machines they need, and the result to
//! expect.

use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::machine_file::line_of;
use corewise_machine::{CpuSet, Level, Machine};
use serde::Deserialize;

pub mod comparison;
pub mod measure;
#[cfg(test)]
mod tests;

use comparison::PublishedRow;

/// An article's experiment.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Article {
    /// Name of the article.
    pub name: String,
    /// The question it asks.
    pub question: String,
    /// The source: author, publication, machine.
    pub source: String,
    /// The published result.
    pub published: String,
    /// Advice on reading the result here, and the limits of the original method.
    pub look: String,
    /// Commands to run, in this order.
    #[serde(rename = "step")]
    pub steps: Vec<ArticleStep>,
    /// Published results to compare with, for the table at the end.
    #[serde(default, rename = "row")]
    pub rows: Vec<PublishedRow>,
}

/// One command line of corewise.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArticleStep {
    /// Heading: the point that this step shows.
    pub title: String,
    /// The words behind `corewise`. "{level}" and "{n}" stand for the level and the number that `shared` and `threads`
    /// ask for, "{cpus}" for the number of usable cpus, "{twice}" for twice that.
    pub command: Vec<String>,
    /// More words for a usual run, inserted before the first "--" or at the end.
    #[serde(default)]
    pub usual: Vec<String>,
    /// Words that replace `usual` in a quick run.
    #[serde(default)]
    pub quick: Vec<String>,
    /// Candidate levels: the first with at least two objects of two or more usable cores each is taken (for cores:
    /// cpus).
    #[serde(default)]
    pub shared: Vec<Level>,
    /// Skips the step if one of these levels has at least two objects with several parts each, counted as in `shared`.
    #[serde(default)]
    pub without: Vec<Level>,
    /// Number of threads to place, at most the number of objects of the level.
    pub threads: Option<usize>,
    /// Variables of the environment, with the same placeholders.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// A step as it is run on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArticleLine {
    /// The words behind `corewise`.
    pub words: Vec<String>,
    /// Variables of the environment.
    pub environment: BTreeMap<String, String>,
    /// The values of the placeholders in words: "4 threads over 4 objects of the level cluster".
    pub remark: Option<String>,
    placeholders: Vec<(&'static str, String)>,
}

impl ArticleLine {
    /// Replaces the placeholders of a word by their values.
    pub fn fill_in(&self, word: &str) -> String {
        fill_placeholders(&self.placeholders, word)
    }
}

fn fill_placeholders(placeholders: &[(&'static str, String)], word: &str) -> String {
    placeholders.iter().fold(word.to_owned(), |word, (placeholder, value)| word.replace(placeholder, value))
}

/// Reasons to reject an article's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArticleError {
    /// The text is not TOML, or has unknown keys or invalid values.
    #[error("line {line}: {what}")]
    Text {
        /// The line of the error, counted from 1.
        line: usize,
        /// Description of the error.
        what: String,
    },
    /// A step cannot be run, or a row of the table cannot be filled.
    #[error("{part} \"{title}\": {what}")]
    Part {
        /// "step" or "row".
        part: &'static str,
        /// Its title.
        title: String,
        /// Description of the error.
        what: String,
    },
}

impl Article {
    /// Reads an article.
    ///
    /// # Errors
    /// [`ArticleError`] if the text is not a valid article.
    pub fn parse(text: &str) -> Result<Self, ArticleError> {
        let article: Self = toml::from_str(text).map_err(|error| ArticleError::Text {
            line: line_of(text, error.span().map_or(0, |span| span.start)),
            what: error.message().to_owned(),
        })?;
        for step in &article.steps {
            if let Some(what) = step.find_error() {
                return Err(ArticleError::Part { part: "step", title: step.title.clone(), what });
            }
        }
        for row in &article.rows {
            if let Some(what) = row.find_error(&article) {
                return Err(ArticleError::Part { part: "row", title: row.what.clone(), what });
            }
        }
        Ok(article)
    }
}

impl ArticleStep {
    fn find_error(&self) -> Option<String> {
        let known = ["survey", "tail", "try", "links", "irq", "topology", "workload"];
        if !self.command.first().is_some_and(|word| known.contains(&word.as_str())) {
            return Some(format!("its command must begin with one of {}", known.join(", ")));
        }
        let has =
            |placeholder| self.command.iter().chain(self.environment.values()).any(|word| word.contains(placeholder));
        ((has("{level}") || has("{n}")) && self.shared.is_empty()).then(|| "{level} and {n} need `shared`".to_owned())
    }

    /// Returns the command line for a machine.
    ///
    /// # Errors
    /// The reason why the step shows nothing on this machine.
    pub fn step_for_machine(&self, machine: &Machine, quick: bool) -> Result<ArticleLine, String> {
        if let Some((level, objects)) = first_several(machine, &self.without) {
            return Err(format!(
                "this machine has a better comparison: {objects} objects of the level {level} with several parts each"
            ));
        }
        let mut filled = None;
        if !self.shared.is_empty() {
            filled = first_several(machine, &self.shared);
            if filled.is_none() {
                let levels: Vec<String> = self.shared.iter().map(|level| format!("{level}s")).collect();
                return Err(format!(
                    "this machine does not have two {} with several usable parts each",
                    levels.join(" or ")
                ));
            }
        }
        let (level, objects) = filled.map_or((String::new(), 0), |(level, objects)| (level.to_string(), objects));
        let threads = self.threads.unwrap_or(objects).min(objects).max(1);
        let cpus = machine.allowed.len();
        let placeholders = vec![
            ("{level}", level),
            ("{n}", threads.to_string()),
            ("{cpus}", cpus.to_string()),
            ("{twice}", (2 * cpus).to_string()),
        ];
        let put = |word: &String| fill_placeholders(&placeholders, word);
        let more = if quick { &self.quick } else { &self.usual };
        let end = self.command.iter().position(|word| word == "--").unwrap_or(self.command.len());
        let (before, behind) = self.command.split_at(end);
        Ok(ArticleLine {
            words: before.iter().chain(more).chain(behind).map(put).collect(),
            environment: self.environment.iter().map(|(name, value)| (name.clone(), put(value))).collect(),
            remark: filled.map(|(level, _)| format!("{threads} threads over {objects} objects of the level {level}")),
            placeholders,
        })
    }
}

/// Returns the first level with at least two objects of several parts each, and their number.
fn first_several(machine: &Machine, levels: &[Level]) -> Option<(Level, usize)> {
    let several = levels.iter().map(|&level| (level, count_shared_objects(machine, level)));
    several.into_iter().find(|(_, objects)| *objects >= 2)
}

/// Counts the objects of a level that have two or more usable cores (for cores: cpus).
fn count_shared_objects(machine: &Machine, level: Level) -> usize {
    let inside = |cpu| if level == Level::Core { Some(cpu as usize) } else { machine.index_of(Level::Core, cpu) };
    let parts =
        |object: &CpuSet| object.intersection(&machine.allowed).iter().map(inside).collect::<BTreeSet<_>>().len();
    machine.objects_of(level).iter().filter(|object| parts(object) >= 2).count()
}

/// Articles that are compiled into the program, by name.
pub const BUILT_IN: [(&str, &str); 5] = [
    ("cpu0", include_str!("../articles/cpu0.toml")),
    ("modules", include_str!("../articles/modules.toml")),
    ("core0", include_str!("../articles/core0.toml")),
    ("threads", include_str!("../articles/threads.toml")),
    ("channels", include_str!("../articles/channels.toml")),
];
