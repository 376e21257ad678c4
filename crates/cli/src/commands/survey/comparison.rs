//! The changes between two surveys, beyond the usual differences between two surveys of one machine.

use corewise_machine::CpuSet;
use corewise_machine::suggested_command;
use corewise_model::Survey;
use corewise_model::compare::{Comparison, Estimate, FactChange, NumberChange, Quantity, Subject, compare};
use corewise_model::survey::WorkKind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::document::SentencesDocument;
use crate::app::failure::Failure;
use crate::app::output::show_story;
use crate::app::settings::Settings;
use crate::draw::grid::{Column, Grid};
use crate::draw::number::{ABSENT, brief, decimal, whole};
use crate::draw::story::StoryRole::{Answer, Evidence, Head, Notes};
use crate::draw::story::{Story, StoryPart};
use crate::draw::suggestion;
use crate::draw::text::{Line, Tone};
use crate::draw::wrap::glued;

/// The output of `corewise history compare --json` for two surveys.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/comparison/1")]
pub struct ComparisonDocument<'a> {
    #[schemars(extend("const" = "corewise/comparison/1"))]
    schema: &'static str,
    /// The number of the earlier survey.
    before: i64,
    /// The number of the later survey.
    after: i64,
    /// The sentences of the screen.
    #[serde(flatten)]
    sentences: SentencesDocument,
    /// The changes.
    comparison: &'a Comparison,
}

/// Prints the changes between two stored surveys.
pub fn print(numbers: [i64; 2], surveys: [&Survey; 2], settings: &Settings) -> Result<(), Failure> {
    let [before, after] = numbers;
    let works = surveys.map(|survey| survey.work.kind);
    if works[0] != works[1] {
        let [earlier, later] = works.map(WorkKind::name);
        let what = format!("survey {before} timed `{earlier}`, survey {after} `{later}`; they cannot be compared");
        return Err(Failure::usage(what).next(format!(
            "Compare two surveys, or two runs of {} with the same --work.",
            suggestion::mention(&suggested_command::tail())
        )));
    }
    let comparison = compare(surveys[0], surveys[1]);
    let story = story(&comparison, numbers);
    let sentences = || SentencesDocument::new(&story);
    let document = || ComparisonDocument {
        schema: "corewise/comparison/1",
        before,
        after,
        sentences: sentences(),
        comparison: &comparison,
    };
    show_story(settings, document, &story)
}

/// Composes the story of the changes between two stored surveys; `None` if they timed different work.
pub fn changes(numbers: [i64; 2], surveys: [&Survey; 2]) -> Option<Story> {
    let is_alike = surveys[0].work.kind == surveys[1].work.kind;
    is_alike.then(|| story(&compare(surveys[0], surveys[1]), numbers))
}

fn story(comparison: &Comparison, [before, after]: [i64; 2]) -> Story {
    let title = Line::new().strong(format!("From survey {before} to survey {after}"));
    let title = if comparison.same_machine {
        title
    } else {
        title.with(Tone::Warn, "  these are different machines, or the machine's cpus have changed")
    };
    let unchanged = comparison.is_empty().then(|| Line::new().plain(glued(&unchanged(comparison))).hanging(2));
    Story::new(suggested_command::history_compare([before, after]))
        .with(Head, vec![title.hanging(2)])
        .with(Answer, unchanged.into_iter().collect())
        .with(Answer, cpus(comparison))
        .with(Evidence, facts(&comparison.facts))
        .with(Evidence, numbers(&comparison.numbers))
        .with(Notes, remarks(comparison))
}

/// Describes that nothing changed, and names the quantities that could not be compared.
fn unchanged(comparison: &Comparison) -> String {
    let open: Vec<&str> = comparison.gaps.iter().map(|gap| gap.what.as_str()).collect();
    match (comparison.compared, open.is_empty()) {
        (0, true) => "No number could be compared: these surveys have no cpu and no link in common.".to_owned(),
        (0, false) => {
            format!("Cannot tell whether anything changed: no number could be compared ({}).", open.join("; "))
        }
        (_, true) => "Nothing changed beyond its uncertainty.".to_owned(),
        (_, false) => {
            format!("Nothing that could be compared changed beyond its uncertainty. Not compared: {}.", open.join("; "))
        }
    }
}

fn cpus(comparison: &Comparison) -> Vec<StoryPart> {
    let line = |word: &str, cpus: &CpuSet| Line::new().plain(format!("cpus {word}: {cpus}")).hanging(2);
    let changes = [("that appeared", &comparison.appeared), ("that are gone", &comparison.gone)];
    changes.into_iter().filter(|(_, cpus)| !cpus.is_empty()).map(|(word, cpus)| line(word, cpus)).collect()
}

fn facts(facts: &[FactChange]) -> Vec<StoryPart> {
    if facts.is_empty() {
        return Vec::new();
    }
    let mut grid = Grid::new(vec![
        Column::text("fact", 0),
        Column::text("before", 0).shrinking_to(8),
        Column::text("after", 0).shrinking_to(8),
    ]);
    for fact in facts {
        let told = |text: &Option<String>| Line::new().plain(text.as_deref().unwrap_or(ABSENT));
        grid.row(vec![Line::new().strong(&fact.what), told(&fact.before), told(&fact.after)]);
    }
    vec![grid.into()]
}

fn numbers(numbers: &[NumberChange]) -> Vec<StoryPart> {
    if numbers.is_empty() {
        return Vec::new();
    }
    let mut grid = Grid::new(vec![
        Column::text("number", 0),
        Column::text("of", 0),
        Column::number("times", "", 1),
        Column::number("before", "", 2),
        Column::text("[99 %]", 4).named("interval before"),
        Column::number("after", "", 2),
        Column::text("[99 %]", 4).named("interval after"),
        Column::text("unit", 3),
    ]);
    for change in numbers {
        let figure = |value: f64| figure(change.quantity, value);
        let interval = |of: &Estimate| Line::new().faint(format!("[{}, {}]", figure(of.low), figure(of.high)));
        let times = change.ratio.map_or_else(|| ABSENT.to_owned(), |ratio| format!("{}x", decimal(ratio, 2)));
        grid.row(vec![
            Line::new().plain(label(change.quantity)),
            Line::new().strong(subject(change.subject)),
            Line::new().with(tone(change), times),
            Line::new().plain(figure(change.before.median)),
            interval(&change.before),
            Line::new().plain(figure(change.after.median)),
            interval(&change.after),
            Line::new().faint(change.quantity.unit()),
        ]);
    }
    vec![grid.into()]
}

/// Returns a label that leaves room for two intervals in a table of 80 columns.
fn label(quantity: Quantity) -> &'static str {
    if quantity == Quantity::Lost { "time lost" } else { quantity.words() }
}

fn subject(subject: Subject) -> String {
    match subject {
        Subject::Cpu(cpu) => format!("cpu {cpu}"),
        Subject::Links(relation) => relation.words().to_owned(),
    }
}

fn figure(quantity: Quantity, value: f64) -> String {
    if matches!(quantity, Quantity::Frequency | Quantity::Lost) { decimal(value, 2) } else { brief(value) }
}

/// Returns the tone of a change: more is better for a clock rate, and worse for all other quantities.
fn tone(change: &NumberChange) -> Tone {
    let rose = change.after.median > change.before.median;
    if rose == (change.quantity == Quantity::Frequency) { Tone::Good } else { Tone::Warn }
}

fn remarks(comparison: &Comparison) -> Vec<StoryPart> {
    let quantities: Vec<&str> = comparison.quantities.iter().map(|quantity| quantity.words()).collect();
    let quantities = if quantities.is_empty() { String::new() } else { format!(" ({})", quantities.join(", ")) };
    let text = format!(
        "{} numbers compared{quantities}. A number counts as changed if its 99 % intervals lie further apart than two \
            surveys of one machine usually do, and further than it drifted in between.",
        whole(comparison.compared)
    );
    let mut lines = vec![Line::new().faint(glued(&text)).hanging(0)];
    for gap in &comparison.gaps {
        let next = gap.cure.as_ref().map(|cure| format!(": {cure}")).unwrap_or_default();
        lines.push(Line::new().plain(format!("Not compared: {} ({}){next}.", gap.what, gap.why)).hanging(2));
    }
    lines
}

#[cfg(test)]
mod tests;
