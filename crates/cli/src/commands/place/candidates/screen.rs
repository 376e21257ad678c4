//! The screen of `corewise place --candidates`: placements worth trying, their reasons, and how many each represents.

use corewise_machine::Machine;
use corewise_machine::machine_file::Description;
use corewise_machine::placement::plan::{Candidate, Count, Plan};

use crate::draw::machine::{headline, numbering};
use crate::draw::number::{count, whole};
use crate::draw::picture::wrap_lists;
use crate::draw::story::lines;
use crate::draw::text::{Line, Screen};
use crate::draw::wrap::{unbroken, wrap};

/// The label of the operating system's choice, which has no expression.
const SYSTEM: &str = "OS default";
/// Minimum width of the lists of cpus; below it, each candidate is shown in lines instead of a row.
const LEAST_LIST: usize = 14;
/// Larger numbers are written as powers of ten.
const LARGEST_WHOLE: u128 = 999_999_999;

/// Returns the whole screen of a plan.
pub fn screen(machine: &Machine, plan: &Plan, description: Option<&Description>, width: usize) -> Screen {
    let mut screen = Screen::new();
    screen.extend(lines(&[headline(machine, &[])], width));
    screen.block(description.map_or_else(Vec::new, |description| numbering(description, width)));
    screen.block(candidates(plan, width));
    screen.block(wrap(&Line::new().plain(closing(plan)), width, 2));
    screen
}

/// Returns a row for each candidate with its reason below, or lines if the terminal is too narrow.
fn candidates(plan: &Plan, width: usize) -> Vec<Line> {
    let expression = |candidate: &Candidate| candidate.expression.clone().unwrap_or_else(|| SYSTEM.to_owned());
    let longest = |of: &dyn Fn(&Candidate) -> String, head: &str| {
        plan.candidates.iter().map(|candidate| of(candidate).chars().count()).chain([head.len()]).max().unwrap_or(0)
    };
    let cpus = |candidate: &Candidate| whole(candidate.cpus.len() as u64);
    let first = longest(&expression, HEAD[0]);
    let (second, last) = (longest(&cpus, HEAD[1]), longest(&stands_for, HEAD[3]));
    let longest_list = longest(&|candidate| candidate.cpus.to_string(), HEAD[2]);
    let list = width.saturating_sub(first + second + last + 6).min(longest_list);
    if list < longest_list.min(LEAST_LIST) {
        let stacked = |candidate| stacked(&expression(candidate), candidate, width);
        return plan.candidates.iter().flat_map(stacked).collect();
    }
    let [name, number, which, share] = HEAD;
    let mut lines =
        vec![Line::new().faint(format!("{name:<first$}  {number:>second$}  {which:<list$}  {share:>last$}"))];
    for candidate in &plan.candidates {
        let which = Line::new().plain(candidate.cpus.to_string()).cut(list);
        let gap = " ".repeat(list - which.width());
        let row = Line::new()
            .strong(format!("{:<first$}", expression(candidate)))
            .plain(format!("  {:>second$}  ", cpus(candidate)))
            .then(which)
            .plain(format!("{gap}  {:>last$}", stands_for(candidate)));
        lines.push(row);
        lines.extend(reason(candidate, width));
    }
    lines
}

const HEAD: [&str; 4] = ["placement", "cpus", "which", "stands for"];

/// Returns a candidate in lines: its expression, its cpus, the number it represents, its reason.
fn stacked(expression: &str, candidate: &Candidate, width: usize) -> Vec<Line> {
    let mut lines = wrap(&Line::new().strong(unbroken(expression)), width, 2);
    let mut cpus = format!("  {}: {}", count(candidate.cpus.len(), "cpu"), candidate.cpus);
    let stands_for = stands_for(candidate);
    if !stands_for.is_empty() {
        cpus += &format!("; stands for {}", unbroken(&stands_for));
    }
    lines.extend(wrap_lists(&Line::new().plain(cpus), width, 2));
    lines.extend(reason(candidate, width));
    lines
}

fn reason(candidate: &Candidate, width: usize) -> Vec<Line> {
    wrap(&Line::new().plain("  ").faint(&candidate.reason), width, 2)
}

/// Formats the number of equivalent sets as "16 of 70"; empty for the single set of all cpus.
fn stands_for(candidate: &Candidate) -> String {
    match candidate.expression {
        None => String::new(),
        Some(_) => format!("{} of {}", number(candidate.stands_for), number(candidate.of)),
    }
}

/// Returns the remarks of the plan, and the number of classes of placements and of candidates.
fn closing(plan: &Plan) -> String {
    let mut sentences = plan.remarks.clone();
    if !plan.classes.is_zero() {
        let noun = if plan.classes == Count::ONE { "class" } else { "classes" };
        let of = match plan.threads {
            Some(threads) => format!("{} of {}", count(threads as usize, "cpu"), whole(plan.usable.len() as u64)),
            None => format!("any number of {}", count(plan.usable.len(), "cpu")),
        };
        let (here, classes, subsets) = (whole(plan.classes_here as u64), number(plan.classes), number(plan.subsets));
        sentences.push(format!(
            "{here} of {classes} {noun}: {of} can be chosen in {subsets} {}; {classes} of them {} by more than an \
                exchange of equal parts.",
            if plan.subsets == Count::ONE { "way" } else { "ways" },
            if plan.classes == Count::ONE { "differs" } else { "differ" },
        ));
    }
    sentences.join(" ")
}

/// Formats a count: whole, as a power of ten (8.4e29), or "more than 3.4e38".
fn number(count: Count) -> String {
    match count.exact() {
        Some(number) if number <= LARGEST_WHOLE => whole(number as u64),
        Some(number) => format!("{:.1e}", number as f64),
        None => "more than 3.4e38".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!(number(Count::combinations(64, 2)), "2,016");
        assert_eq!(number(Count::combinations(512, 16)), "8.4e29");
        assert_eq!(number(Count::combinations(512, 256)), "more than 3.4e38");
    }
}
