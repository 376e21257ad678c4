//! Other stored experiments on the same command: repeated experiments will find a difference by chance.

use corewise_machine::suggested_command;
use corewise_model::Artifact as _;
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::trial::{Trial, experiment_standing};
use corewise_statistics::experiment::Verdict;
use corewise_store::StoredEntry;

use crate::app::settings::ProgramSettings;
use crate::app::user_store::open_if_readable;
use crate::draw::number::format_count;
use crate::draw::suggestion;
use crate::draw::text::StyledLine;
use crate::draw::wrap::glue_numbers;

/// Maximum number of experiments to look up, the latest first.
const LOOKED_AT: usize = 20;

/// Returns the lines; empty if this experiment is the only one.
pub fn draw_lines(made: &ExperimentRecord, stored: Option<i64>, settings: &ProgramSettings) -> Vec<StyledLine> {
    let (Some(number), Some(store)) = (stored, open_if_readable(settings)) else { return Vec::new() };
    let (what, machine) = (made.describe_contents(), &made.experiment.machine);
    if !made.origin().is_measured() {
        return Vec::new();
    }
    let mut numbers: Vec<i64> = Vec::new();
    let is_other = |entry: &StoredEntry| {
        let is_of_command = entry.summary.as_ref().is_some_and(|known| known.what == what);
        let is_other = is_of_command && entry.number != number;
        numbers.extend(is_other.then_some(entry.number));
        is_other
    };
    let Ok(others) = store.own_artifacts::<ExperimentRecord>(machine, is_other) else { return Vec::new() };
    let others = others.take(LOOKED_AT).filter_map(Result::ok);
    let verdicts: Vec<(i64, &str)> = others.map(|(other, made)| (other, describe_verdict(&made))).collect();
    // A deleted experiment no longer has its command.
    let is_deleted =
        |entry: &&StoredEntry| entry.kind == ExperimentRecord::KIND && entry.is_about(machine) && entry.is_deleted();
    let deleted = store.list_entries().unwrap_or_default().iter().filter(is_deleted).count();
    let gone = match deleted {
        0 => String::new(),
        deleted => format!(
            " {} of this machine, on whichever command, {} deleted.",
            format_count(deleted, "experiment"),
            if deleted == 1 { "was" } else { "were" }
        ),
    };
    if numbers.is_empty() {
        return Vec::new();
    }
    let text = format!(
        "With this command this machine has {}; the others: {}.{gone} Each has an error rate of its own: {}",
        format_count(numbers.len() + 1, "experiment"),
        format_verdicts(&verdicts, numbers.len()),
        suggestion::format_mention(&suggested_command::history()),
    );
    vec![StyledLine::new().faint(glue_numbers(&text))]
}

fn describe_verdict(made: &ExperimentRecord) -> &'static str {
    let counts = |trial: &Trial| trial.block > 0;
    if !made.trials.iter().any(counts) {
        return "begun only";
    }
    let standing = experiment_standing(&made.experiment, &made.trials);
    match standing.verdict {
        Verdict::Wins { .. } if !standing.open_points.is_empty() => "won so far",
        Verdict::Wins { .. } if made.experiment.arms.iter().any(|arm| arm.variant.is_some()) => "won",
        Verdict::Wins { .. } => "pin it",
        Verdict::RealButBelowMargin { .. } | Verdict::NoMaterialDifference => "leave it",
        Verdict::Better { .. } => "better",
        Verdict::Undecided { .. } => "not decided",
        Verdict::Unsound { .. } => "nothing recommended",
    }
}

/// Lists each verdict with the numbers of its experiments, such as "1 leave it (7), 2 pin it (3, 5)". Adds the number
/// that was not looked up.
fn format_verdicts(verdicts: &[(i64, &str)], all: usize) -> String {
    let mut words: Vec<&str> = verdicts.iter().map(|(_, word)| *word).collect();
    words.sort_unstable();
    words.dedup();
    let of = |word: &&str| {
        let mut numbers: Vec<i64> =
            verdicts.iter().filter(|(_, verdict)| verdict == word).map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        let list = numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        format!("{} {word} ({list})", numbers.len())
    };
    let mut items: Vec<String> = words.iter().map(of).collect();
    if all > verdicts.len() {
        items.push(format!("{} not looked up", all - verdicts.len()));
    }
    items.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_counted() {
        let found = [(7, "pin it"), (5, "leave it"), (3, "pin it")];
        assert_eq!(format_verdicts(&found, 3), "1 leave it (5), 2 pin it (3, 7)");
        assert_eq!(format_verdicts(&[(2, "not decided")], 4), "1 not decided (2), 3 not looked up");
    }
}
