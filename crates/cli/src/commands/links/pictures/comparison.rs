//! The screen of a comparison of two maps.

use corewise_model::links::compare::LinkComparison;

use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{format_brief, format_count, format_decimal, format_whole};
use crate::draw::printable::printable_name;
use crate::draw::story::{Story, StoryPart, StoryRole};
use crate::draw::text::{StyledLine, TextTone};

/// Composes the story of the changes between two maps of these names; `again` is the command that compares them.
pub fn compose_story(comparisons: &[LinkComparison], again: String, [before, after]: [&str; 2]) -> Story {
    let title = StyledLine::new().strong(format!("From {} to {}", printable_name(before), printable_name(after)));
    let told = Story::new(again).with(StoryRole::Head, vec![title.into_paragraph(2)]);
    let text = "The maps have no kind in common: they were made with different --kind options.";
    let nothing = comparisons.is_empty().then(|| StyledLine::new().plain(text).into_paragraph(2));
    let told = told.with(StoryRole::Answer, nothing.into_iter().collect());
    comparisons.iter().fold(told, |told, comparison| told.with(StoryRole::Answer, compose_kind(comparison)))
}

fn compose_kind(comparison: &LinkComparison) -> Vec<StoryPart> {
    let name = comparison.what.describe_way();
    let changed = comparison.dearer + comparison.cheaper;
    let [earlier, later] = comparison.measured;
    let common = (comparison.pairs < earlier.max(later)).then(|| {
        let [both, earlier, later] = [comparison.pairs, earlier, later].map(format_whole);
        format!("  ({earlier} pairs in the first, {later} in the second, {both} in both)")
    });
    let verdict = if comparison.pairs == 0 {
        "no pair is in both maps".to_owned()
    } else if changed == 0 {
        format!("none of {} changed", format_count(comparison.pairs as usize, "pair"))
    } else {
        let of = |number: u64, words: &str| (number > 0).then(|| format!("{} {words}", format_whole(number)));
        let parts: Vec<String> =
            [of(comparison.cheaper, "cost less"), of(comparison.dearer, "cost more")].into_iter().flatten().collect();
        format!("of {} {}", format_count(comparison.pairs as usize, "pair"), parts.join(", "))
    };
    let mut lines = vec![
        StyledLine::new().strong(name).plain(": ").plain(verdict).faint(common.unwrap_or_default()).into_paragraph(2),
    ];
    if comparison.pairs == 0 {
        return lines;
    }
    let least = format_decimal(comparison.least_ratio, 2);
    let rule =
        format!("A pair counts as changed from {least}x on: with a probability of 95 % chance gives no pair more.");
    lines.push(StyledLine::new().faint(crate::draw::wrap::glue_numbers(&rule)).into_paragraph(2));
    let mut grid = TextGrid::new(vec![
        GridColumn::text("pairs of cpus", 0).shrinking_to(10),
        GridColumn::number("before", "ns", 0),
        GridColumn::number("after", "ns", 0),
        GridColumn::number("ratio", "", 0),
        GridColumn::text("[95 %]", 2).with_name("interval"),
        GridColumn::number("changed", "", 1),
        GridColumn::number("of", "", 1),
    ])
    .with_indent(2);
    for class in &comparison.classes {
        let effect = &class.effect;
        let tone = if class.changed == 0 {
            TextTone::Faint
        } else if effect.ratio > 1.0 {
            TextTone::Warn
        } else {
            TextTone::Good
        };
        grid.add_row(vec![
            StyledLine::new().plain(&class.words),
            StyledLine::new().plain(format_brief(class.before_ns)),
            StyledLine::new().plain(format_brief(class.after_ns)),
            StyledLine::new().with(tone, format!("{}x", format_decimal(effect.ratio, 2))),
            StyledLine::new().faint(format!("[{}, {}]", format_decimal(effect.low, 2), format_decimal(effect.high, 2))),
            StyledLine::new().plain(format_whole(class.changed)),
            StyledLine::new().faint(format_whole(class.pairs)),
        ]);
    }
    lines.push(grid.into());
    if !comparison.most.is_empty() {
        let mut line = StyledLine::new().faint("  most:");
        for change in comparison.most.iter().take(5) {
            let text = format!(
                "  {}-{} {} → {}",
                change.a,
                change.b,
                format_brief(change.before_ns),
                format_brief(change.after_ns)
            );
            line = line.plain(crate::draw::wrap::glue_words(&text)).plain(" ");
        }
        lines.push(line.into_paragraph(4));
    }
    lines
}
