//! The screen of `corewise place --candidates`: placements worth trying, their reasons, and how many each represents.

use corewise_machine::Machine;
use corewise_machine::machine_file::MachineDescription;
use corewise_machine::placement::plan::{ExactCount, PlacementCandidate, PlacementPlan};

use crate::draw::machine::{compose_headline, draw_numbering};
use crate::draw::number::{format_count, format_whole};
use crate::draw::picture::wrap_lists;
use crate::draw::story::draw_parts;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::{glue_words, wrap_line};

/// The label of the operating system's choice, which has no expression.
const SYSTEM: &str = "OS default";
/// Minimum width of the lists of cpus; below it, each candidate is shown in lines instead of a row.
const LEAST_LIST: usize = 14;
/// Larger numbers are written as powers of ten.
const LARGEST_WHOLE: u128 = 999_999_999;

/// Returns the whole screen of a plan.
pub fn draw_screen(
    machine: &Machine,
    plan: &PlacementPlan,
    description: Option<&MachineDescription>,
    width: usize,
) -> TextScreen {
    let mut screen = TextScreen::new();
    screen.extend(draw_parts(&[compose_headline(machine, &[])], width));
    screen.add_block(description.map_or_else(Vec::new, |description| draw_numbering(description, width)));
    screen.add_block(draw_candidates(plan, width));
    screen.add_block(wrap_line(&StyledLine::new().plain(describe_count(plan)), width, 2));
    screen
}

/// Returns a row for each candidate with its reason below, or lines if the terminal is too narrow.
fn draw_candidates(plan: &PlacementPlan, width: usize) -> Vec<StyledLine> {
    let expression = |candidate: &PlacementCandidate| candidate.expression.clone().unwrap_or_else(|| SYSTEM.to_owned());
    let longest = |of: &dyn Fn(&PlacementCandidate) -> String, head: &str| {
        plan.candidates.iter().map(|candidate| of(candidate).chars().count()).chain([head.len()]).max().unwrap_or(0)
    };
    let cpus = |candidate: &PlacementCandidate| format_whole(candidate.cpus.len() as u64);
    let first = longest(&expression, HEAD[0]);
    let (second, last) = (longest(&cpus, HEAD[1]), longest(&format_stands_for, HEAD[3]));
    let longest_list = longest(&|candidate| candidate.cpus.to_string(), HEAD[2]);
    let list = width.saturating_sub(first + second + last + 6).min(longest_list);
    if list < longest_list.min(LEAST_LIST) {
        let stacked = |candidate| draw_stacked(&expression(candidate), candidate, width);
        return plan.candidates.iter().flat_map(stacked).collect();
    }
    let [name, number, which, share] = HEAD;
    let mut lines =
        vec![StyledLine::new().faint(format!("{name:<first$}  {number:>second$}  {which:<list$}  {share:>last$}"))];
    for candidate in &plan.candidates {
        let which = StyledLine::new().plain(candidate.cpus.to_string()).cut_to(list);
        let gap = " ".repeat(list - which.width());
        let row = StyledLine::new()
            .strong(format!("{:<first$}", expression(candidate)))
            .plain(format!("  {:>second$}  ", cpus(candidate)))
            .then(which)
            .plain(format!("{gap}  {:>last$}", format_stands_for(candidate)));
        lines.push(row);
        lines.extend(draw_reason(candidate, width));
    }
    lines
}

const HEAD: [&str; 4] = ["placement", "cpus", "which", "stands for"];

/// Returns a candidate in lines: its expression, its cpus, the number it represents, its reason.
fn draw_stacked(expression: &str, candidate: &PlacementCandidate, width: usize) -> Vec<StyledLine> {
    let mut lines = wrap_line(&StyledLine::new().strong(glue_words(expression)), width, 2);
    let mut cpus = format!("  {}: {}", format_count(candidate.cpus.len(), "cpu"), candidate.cpus);
    let stands_for = format_stands_for(candidate);
    if !stands_for.is_empty() {
        cpus += &format!("; stands for {}", glue_words(&stands_for));
    }
    lines.extend(wrap_lists(&StyledLine::new().plain(cpus), width, 2));
    lines.extend(draw_reason(candidate, width));
    lines
}

fn draw_reason(candidate: &PlacementCandidate, width: usize) -> Vec<StyledLine> {
    wrap_line(&StyledLine::new().plain("  ").faint(&candidate.reason), width, 2)
}

/// Formats the number of equivalent sets as "16 of 70"; empty for the single set of all cpus.
fn format_stands_for(candidate: &PlacementCandidate) -> String {
    match candidate.expression {
        None => String::new(),
        Some(_) => format!("{} of {}", format_large_count(candidate.stands_for), format_large_count(candidate.of)),
    }
}

/// Returns the remarks of the plan, and the number of classes of placements and of candidates.
fn describe_count(plan: &PlacementPlan) -> String {
    let mut sentences = plan.remarks.clone();
    if !plan.classes.is_zero() {
        let noun = if plan.classes == ExactCount::ONE { "class" } else { "classes" };
        let of = match plan.threads {
            Some(threads) => {
                format!("{} of {}", format_count(threads as usize, "cpu"), format_whole(plan.usable.len() as u64))
            }
            None => format!("any number of {}", format_count(plan.usable.len(), "cpu")),
        };
        let (here, classes, subsets) = (
            format_whole(plan.classes_here as u64),
            format_large_count(plan.classes),
            format_large_count(plan.subsets),
        );
        sentences.push(format!(
            "{here} of {classes} {noun}: {of} can be chosen in {subsets} {}; {classes} of them {} by more than an \
                exchange of equal parts.",
            if plan.subsets == ExactCount::ONE { "way" } else { "ways" },
            if plan.classes == ExactCount::ONE { "differs" } else { "differ" },
        ));
    }
    sentences.join(" ")
}

/// Formats a count: whole, as a power of ten (8.4e29), or "more than 3.4e38".
fn format_large_count(count: ExactCount) -> String {
    match count.exact() {
        Some(number) if number <= LARGEST_WHOLE => format_whole(number as u64),
        Some(number) => format!("{:.1e}", number as f64),
        None => "more than 3.4e38".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!(format_large_count(ExactCount::combinations(64, 2)), "2,016");
        assert_eq!(format_large_count(ExactCount::combinations(512, 16)), "8.4e29");
        assert_eq!(format_large_count(ExactCount::combinations(512, 256)), "more than 3.4e38");
    }
}
