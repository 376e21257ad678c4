//! The changes between two surveys, and the changes that they exclude.

use corewise_machine::CpuSet;
use corewise_machine::suggested_command;
use corewise_model::Survey;
use corewise_model::compare::{
    ComparedQuantity, ComparedSubject, ExcludedChange, FactChange, NumberChange, SurveyComparison, compare_surveys,
};
use corewise_model::survey::WorkKind;
use corewise_statistics::order::median;
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
#[schemars(title = "corewise/comparison/2")]
pub struct ComparisonDocument<'a> {
    #[schemars(extend("const" = "corewise/comparison/2"))]
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
        schema: "corewise/comparison/2",
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
    let line = |text: String| StyledLine::new().plain(glue_numbers(&text)).into_paragraph(2);
    Story::new(suggested_command::history_compare([before, after]))
        .with(Head, vec![title.into_paragraph(2)])
        .with(Answer, describe_answer(comparison).into_iter().map(line).collect())
        .with(Answer, compose_cpus(comparison))
        .with(Evidence, compose_facts(&comparison.facts))
        .with(Evidence, compose_numbers(&comparison.numbers))
        .with(Notes, compose_remarks(comparison))
}

/// Describes what changed, which changes are excluded, and which are not.
fn describe_answer(comparison: &SurveyComparison) -> Vec<String> {
    let open: Vec<&str> = comparison.gaps.iter().map(|gap| gap.what.as_str()).collect();
    if comparison.compared == 0 {
        return vec![match open.is_empty() {
            true => "No number could be compared: these surveys have no cpu and no link in common.".to_owned(),
            false => {
                format!("Cannot tell whether anything changed: no number could be compared ({}).", open.join("; "))
            }
        }];
    }
    let is_excluded = |change: &&ExcludedChange| change.beyond < change.quantity.exclusion_limit();
    let (excluded, possible): (Vec<_>, Vec<_>) = comparison.excluded.iter().partition(is_excluded);
    let list = |changes: Vec<&ExcludedChange>| {
        let parts = changes
            .into_iter()
            .map(|change| format!("{} in {}", format_bound(change.beyond), change.quantity.quantity_name()));
        parts.collect::<Vec<String>>().join(", ")
    };
    let changed = !comparison.numbers.is_empty();
    let mut sentences: Vec<String> = describe_changed(&comparison.numbers).into_iter().collect();
    if !excluded.is_empty() {
        let scope = if changed { "Elsewhere no change of more than" } else { "No change of more than" };
        sentences.push(format!("{scope} {} (95 %).", list(excluded)));
    }
    if !possible.is_empty() {
        let scope = if changed { "Elsewhere cannot be excluded" } else { "Cannot be excluded" };
        sentences.push(format!("{scope}: a change of up to {} (95 %).", list(possible)));
    }
    if !open.is_empty() {
        sentences.push(format!("Not compared: {}.", open.join("; ")));
    }
    sentences
}

/// Names the quantities that changed, each with its cpus: "Changed: p50 rose on cpus 0-15, by 4.5 % in the middle."
fn describe_changed(numbers: &[NumberChange]) -> Option<String> {
    let direction = |change: &NumberChange| (change.quantity, change.after.median > change.before.median);
    let mut groups: Vec<Vec<&NumberChange>> = Vec::new();
    for change in numbers {
        match groups.iter_mut().find(|group| direction(group[0]) == direction(change)) {
            Some(group) => group.push(change),
            None => groups.push(vec![change]),
        }
    }
    let parts: Vec<String> = groups.iter().map(|group| describe_group(group)).collect();
    (!parts.is_empty()).then(|| format!("Changed: {}.", parts.join("; ")))
}

fn describe_group(group: &[&NumberChange]) -> String {
    let (first, rose) = (group[0], group[0].after.median > group[0].before.median);
    let cpus: CpuSet = group.iter().filter_map(|change| cpu_of(change.subject)).collect();
    let relations: Vec<String> = group
        .iter()
        .filter(|change| cpu_of(change.subject).is_none())
        .map(|change| format_subject(change.subject))
        .collect();
    let subject = match (cpus.len(), relations.is_empty()) {
        (0, _) => format!("between cpus of {}", relations.join(", ")),
        (1, _) => format!("on cpu {cpus}"),
        _ => format!("on cpus {cpus}"),
    };
    let sizes: Vec<f64> = group.iter().filter_map(|change| change.ratio.map(|ratio| ratio.max(1.0 / ratio))).collect();
    let size = match (sizes.len(), median(&sizes)) {
        (0, _) => String::new(),
        (1, size) => format!(", by {}", format_bound(size)),
        (_, size) => format!(", by {} in the middle", format_bound(size)),
    };
    let verb = if rose { "rose" } else { "fell" };
    format!("{} {verb} {subject}{size}", first.quantity.quantity_name())
}

fn cpu_of(subject: ComparedSubject) -> Option<u32> {
    match subject {
        ComparedSubject::Cpu(cpu) => Some(cpu),
        ComparedSubject::Links(_) => None,
    }
}

/// Formats a ratio of at least 1: "2.1 %", "1.4x".
fn format_bound(ratio: f64) -> String {
    match ratio {
        _ if ratio < 1.2 => format!("{:.1} %", ((ratio - 1.0) * 100.0).max(0.1)),
        _ if ratio < 9.95 => format!("{ratio:.1}x"),
        _ => format!("{ratio:.0}x"),
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
        GridColumn::text("[95 %]", 2).with_name("interval"),
        GridColumn::number("before", "", 3),
        GridColumn::number("after", "", 3),
        GridColumn::text("unit", 4),
    ]);
    for change in numbers {
        let figure = |value: f64| StyledLine::new().plain(format_figure(change.quantity, value));
        let decimal = |ratio: f64| format_decimal(ratio, 2);
        let times = change.ratio.map_or_else(|| ABSENT.to_owned(), |ratio| format!("{}x", decimal(ratio)));
        let interval = change.interval.map(|[low, high]| format!("[{}, {}]", decimal(low), decimal(high)));
        grid.add_row(vec![
            StyledLine::new().plain(label_quantity(change.quantity)),
            StyledLine::new().strong(format_subject(change.subject)),
            StyledLine::new().with(change_tone(change), times),
            StyledLine::new().faint(interval.unwrap_or_default()),
            figure(change.before.median),
            figure(change.after.median),
            StyledLine::new().faint(change.quantity.unit()),
        ]);
    }
    vec![grid.into()]
}

/// Returns a short label.
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
    let text = format!(
        "{} numbers compared. If nothing changed, any of them is called changed with a probability of at most 5 %. \
            Intervals include the drift between surveys, by what each survey drifted within itself.",
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
