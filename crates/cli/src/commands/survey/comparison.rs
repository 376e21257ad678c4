//! The changes between two surveys, beyond the usual differences between two surveys of one machine.

use corewise_machine::CpuSet;
use corewise_machine::suggested_command;
use corewise_model::Survey;
use corewise_model::compare::{
    ComparedQuantity, ComparedSubject, FactChange, MedianEstimate, NumberChange, SurveyComparison, compare_surveys,
};
use corewise_model::survey::WorkKind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::artifact::PrintedArtifact as _;
use crate::app::document::SentencesDocument;
use crate::app::failure::CommandFailure;
use crate::app::origin::mark_together;
use crate::app::output::show_story;
use crate::app::settings::ProgramSettings;
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{ABSENT, format_brief, format_decimal, format_whole};
use crate::draw::story::StoryRole::{Answer, Evidence, Head, Notes};
use crate::draw::story::{Story, StoryPart};
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::glue_numbers;

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
    comparison: &'a SurveyComparison,
}

/// Prints the changes between two stored surveys.
pub fn print_comparison(
    numbers: [i64; 2],
    surveys: [&Survey; 2],
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    let [before, after] = numbers;
    let works = surveys.map(|survey| survey.work.kind);
    if works[0] != works[1] {
        let [earlier, later] = works.map(WorkKind::name);
        let what = format!("survey {before} timed `{earlier}`, survey {after} `{later}`; they cannot be compared");
        return Err(CommandFailure::usage_error(what).with_hint(format!(
            "Compare two surveys, or two runs of {} with the same --work.",
            suggestion::format_mention(&suggested_command::tail())
        )));
    }
    let comparison = compare_surveys(surveys[0], surveys[1]);
    let story = mark_together(compose_story(&comparison, numbers), Survey::TITLE, numbers.into_iter().zip(surveys));
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
pub fn compose_changes(numbers: [i64; 2], surveys: [&Survey; 2]) -> Option<Story> {
    let is_alike = surveys[0].work.kind == surveys[1].work.kind;
    is_alike.then(|| compose_story(&compare_surveys(surveys[0], surveys[1]), numbers))
}

fn compose_story(comparison: &SurveyComparison, [before, after]: [i64; 2]) -> Story {
    let title = StyledLine::new().strong(format!("From survey {before} to survey {after}"));
    let title = if comparison.same_machine {
        title
    } else {
        title.with(TextTone::Warn, "  these are different machines, or the machine's cpus have changed")
    };
    let unchanged = comparison
        .is_empty()
        .then(|| StyledLine::new().plain(glue_numbers(&describe_unchanged(comparison))).into_paragraph(2));
    Story::new(suggested_command::history_compare([before, after]))
        .with(Head, vec![title.into_paragraph(2)])
        .with(Answer, unchanged.into_iter().collect())
        .with(Answer, compose_cpus(comparison))
        .with(Evidence, compose_facts(&comparison.facts))
        .with(Evidence, compose_numbers(&comparison.numbers))
        .with(Notes, compose_remarks(comparison))
}

/// Describes that nothing changed, and names the quantities that could not be compared.
fn describe_unchanged(comparison: &SurveyComparison) -> String {
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

fn compose_cpus(comparison: &SurveyComparison) -> Vec<StoryPart> {
    let line = |word: &str, cpus: &CpuSet| StyledLine::new().plain(format!("cpus {word}: {cpus}")).into_paragraph(2);
    let changes = [("that appeared", &comparison.appeared), ("that are gone", &comparison.gone)];
    changes.into_iter().filter(|(_, cpus)| !cpus.is_empty()).map(|(word, cpus)| line(word, cpus)).collect()
}

fn compose_facts(facts: &[FactChange]) -> Vec<StoryPart> {
    if facts.is_empty() {
        return Vec::new();
    }
    let mut grid = TextGrid::new(vec![
        GridColumn::text("fact", 0),
        GridColumn::text("before", 0).shrinking_to(8),
        GridColumn::text("after", 0).shrinking_to(8),
    ]);
    for fact in facts {
        let told = |text: &Option<String>| StyledLine::new().plain(text.as_deref().unwrap_or(ABSENT));
        grid.add_row(vec![StyledLine::new().strong(&fact.what), told(&fact.before), told(&fact.after)]);
    }
    vec![grid.into()]
}

fn compose_numbers(numbers: &[NumberChange]) -> Vec<StoryPart> {
    if numbers.is_empty() {
        return Vec::new();
    }
    let mut grid = TextGrid::new(vec![
        GridColumn::text("number", 0),
        GridColumn::text("of", 0),
        GridColumn::number("times", "", 1),
        GridColumn::number("before", "", 2),
        GridColumn::text("[99 %]", 4).with_name("interval before"),
        GridColumn::number("after", "", 2),
        GridColumn::text("[99 %]", 4).with_name("interval after"),
        GridColumn::text("unit", 3),
    ]);
    for change in numbers {
        let figure = |value: f64| format_figure(change.quantity, value);
        let interval =
            |of: &MedianEstimate| StyledLine::new().faint(format!("[{}, {}]", figure(of.low), figure(of.high)));
        let times = change.ratio.map_or_else(|| ABSENT.to_owned(), |ratio| format!("{}x", format_decimal(ratio, 2)));
        grid.add_row(vec![
            StyledLine::new().plain(label_quantity(change.quantity)),
            StyledLine::new().strong(format_subject(change.subject)),
            StyledLine::new().with(change_tone(change), times),
            StyledLine::new().plain(figure(change.before.median)),
            interval(&change.before),
            StyledLine::new().plain(figure(change.after.median)),
            interval(&change.after),
            StyledLine::new().faint(change.quantity.unit()),
        ]);
    }
    vec![grid.into()]
}

/// Returns a label that leaves room for two intervals in a table of 80 columns.
fn label_quantity(quantity: ComparedQuantity) -> &'static str {
    if quantity == ComparedQuantity::Lost { "time lost" } else { quantity.quantity_name() }
}

fn format_subject(subject: ComparedSubject) -> String {
    match subject {
        ComparedSubject::Cpu(cpu) => format!("cpu {cpu}"),
        ComparedSubject::Links(relation) => relation.relation_name().to_owned(),
    }
}

fn format_figure(quantity: ComparedQuantity, value: f64) -> String {
    if matches!(quantity, ComparedQuantity::Frequency | ComparedQuantity::Lost) {
        format_decimal(value, 2)
    } else {
        format_brief(value)
    }
}

/// Returns the tone of a change: more is better for a clock rate, and worse for all other quantities.
fn change_tone(change: &NumberChange) -> TextTone {
    let rose = change.after.median > change.before.median;
    if rose == (change.quantity == ComparedQuantity::Frequency) { TextTone::Good } else { TextTone::Warn }
}

fn compose_remarks(comparison: &SurveyComparison) -> Vec<StoryPart> {
    let quantities: Vec<&str> = comparison.quantities.iter().map(|quantity| quantity.quantity_name()).collect();
    let quantities = if quantities.is_empty() { String::new() } else { format!(" ({})", quantities.join(", ")) };
    let text = format!(
        "{} numbers compared{quantities}. A number counts as changed if its 99 % intervals lie further apart than two \
            surveys of one machine usually do, and further than it drifted in between.",
        format_whole(comparison.compared)
    );
    let mut lines = vec![StyledLine::new().faint(glue_numbers(&text)).into_paragraph(0)];
    for gap in &comparison.gaps {
        let next = gap.cure.as_ref().map(|cure| format!(": {cure}")).unwrap_or_default();
        lines.push(
            StyledLine::new().plain(format!("Not compared: {} ({}){next}.", gap.what, gap.why)).into_paragraph(2),
        );
    }
    lines
}

#[cfg(test)]
mod tests;
