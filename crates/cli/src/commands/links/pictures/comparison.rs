//! The screen of a comparison of two maps.

use corewise_model::links::compare::LinkComparison;

use crate::draw::grid::{Column, Grid};
use crate::draw::number::{brief, count, decimal, whole};
use crate::draw::printable::named;
use crate::draw::story::{Story, StoryPart, StoryRole};
use crate::draw::text::{Line, Tone};

/// Composes the story of the changes between two maps of these names; `again` is the command that compares them.
pub fn story(comparisons: &[LinkComparison], again: String, [before, after]: [&str; 2]) -> Story {
    let title = Line::new().strong(format!("From {} to {}", named(before), named(after)));
    let told = Story::new(again).with(StoryRole::Head, vec![title.hanging(2)]);
    let text = "The maps have no kind in common: they were made with different --kind options.";
    let nothing = comparisons.is_empty().then(|| Line::new().plain(text).hanging(2));
    let told = told.with(StoryRole::Answer, nothing.into_iter().collect());
    comparisons.iter().fold(told, |told, comparison| told.with(StoryRole::Answer, compared(comparison)))
}

fn compared(comparison: &LinkComparison) -> Vec<StoryPart> {
    let name = comparison.what.words();
    let changed = comparison.dearer + comparison.cheaper;
    let [earlier, later] = comparison.measured;
    let common = (comparison.pairs < earlier.max(later)).then(|| {
        let [both, earlier, later] = [comparison.pairs, earlier, later].map(whole);
        format!("  ({earlier} pairs in the first, {later} in the second, {both} in both)")
    });
    let verdict = if comparison.pairs == 0 {
        "no pair is in both maps".to_owned()
    } else if changed == 0 {
        format!("none of {} changed beyond its interval", count(comparison.pairs as usize, "pair"))
    } else {
        let of = |number: u64, words: &str| (number > 0).then(|| format!("{} {words}", whole(number)));
        let parts: Vec<String> =
            [of(comparison.cheaper, "cost less"), of(comparison.dearer, "cost more")].into_iter().flatten().collect();
        format!("of {} {}", count(comparison.pairs as usize, "pair"), parts.join(", "))
    };
    let mut lines =
        vec![Line::new().strong(name).plain(": ").plain(verdict).faint(common.unwrap_or_default()).hanging(2)];
    if comparison.pairs == 0 {
        return lines;
    }
    let mut grid = Grid::new(vec![
        Column::text("pairs of cpus", 0).shrinking_to(10),
        Column::number("before", "ns", 0),
        Column::number("after", "ns", 0),
        Column::number("ratio", "", 0),
        Column::text("[95 %]", 2).named("interval"),
        Column::number("changed", "", 1),
        Column::number("of", "", 1),
    ])
    .indented(2);
    for class in &comparison.classes {
        let effect = &class.effect;
        let tone = if class.changed == 0 {
            Tone::Faint
        } else if effect.ratio > 1.0 {
            Tone::Warn
        } else {
            Tone::Good
        };
        grid.row(vec![
            Line::new().plain(&class.words),
            Line::new().plain(brief(class.before_ns)),
            Line::new().plain(brief(class.after_ns)),
            Line::new().with(tone, format!("{}x", decimal(effect.ratio, 2))),
            Line::new().faint(format!("[{}, {}]", decimal(effect.low, 2), decimal(effect.high, 2))),
            Line::new().plain(whole(class.changed)),
            Line::new().faint(whole(class.pairs)),
        ]);
    }
    lines.push(grid.into());
    if !comparison.most.is_empty() {
        let mut line = Line::new().faint("  most:");
        for change in comparison.most.iter().take(5) {
            let text = format!("  {}-{} {} → {}", change.a, change.b, brief(change.before_ns), brief(change.after_ns));
            line = line.plain(crate::draw::wrap::unbroken(&text)).plain(" ");
        }
        lines.push(line.hanging(4));
    }
    lines
}
