//! The command line of this session with other values of some options.

use std::ffi::OsString;
use std::time::Duration;

use corewise_lab::experiment::BUDGET_OF_SLOTS;
use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::forecast::format_estimate_option;

use crate::app::option_values::parse_budget;

/// Options that every suggestion has already.
const CARRIED: [&str; 2] = ["--store", "--journal"];
/// Number of slots, with their wash-outs, for which a proposed budget is enough.
const SLOTS_OF_A_SESSION: f64 = 26.0;

/// Returns the command line of this process with this slot length, and a budget that is long enough for it; `None` if it is not UTF-8
/// text.
pub fn suggest_slot(slot_s: u32) -> Option<SuggestedCommand> {
    let words: Result<Vec<String>, OsString> = std::env::args_os().map(OsString::into_string).collect();
    Some(with_slot(&words.ok()?, slot_s))
}

fn with_slot(words: &[String], slot_s: u32) -> SuggestedCommand {
    let needed = SLOTS_OF_A_SESSION * f64::from(slot_s);
    let budget = find_value(words, "--budget").and_then(|text| parse_budget(&text).ok()).unwrap_or(BUDGET_OF_SLOTS);
    let longer = (budget < Duration::from_secs_f64(needed)).then(|| ("--budget", format_estimate_option(needed)));
    let changes: Vec<(&str, String)> = std::iter::once(("--slot", format!("{slot_s}s"))).chain(longer).collect();
    retype_with(words, &changes)
}

/// Returns the value of an option, in either of its forms.
fn find_value(words: &[String], option: &str) -> Option<String> {
    let at = words.iter().position(|word| word.split('=').next() == Some(option))?;
    words[at].split_once('=').map_or_else(|| words.get(at + 1).cloned(), |(_, value)| Some(value.to_owned()))
}

/// Returns a command line of `try` without a command behind `--`, with these options instead of its own.
fn retype_with(words: &[String], changes: &[(&str, String)]) -> SuggestedCommand {
    let mut kept: Vec<String> =
        changes.iter().flat_map(|(option, value)| [(*option).to_owned(), value.clone()]).collect();
    let mut typed = words.iter().skip_while(|word| *word != "try").skip(1);
    while let Some(word) = typed.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        let is_replaced = CARRIED.contains(&name) || changes.iter().any(|(option, _)| *option == name);
        match is_replaced {
            true if name == word => drop(typed.next()),
            true => {}
            false => kept.push(word.clone()),
        }
    }
    suggested_command::try_with_options(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::run::parse_typed;
    use crate::commands::r#try::arguments::TryArguments;

    #[test]
    fn a_proposed_slot_replaces_the_typed_one_and_nothing_else() {
        let typed = |options: &[&str]| {
            let line = ["corewise", "--store", "a.db", "try", "--pid", "7", "--store=b.db"];
            let metric = ["--sample", "cat x", "--metric", "ops=n: ([0-9]+)", "--counter", "--on", "llc:0"];
            let words: Vec<String> = [&line[..], options, &metric].concat().into_iter().map(str::to_owned).collect();
            with_slot(&words, 40)
        };
        for (options, longest) in [
            (&[][..], Duration::from_mins(20)),
            (&["--slot", "2s", "--budget=1s"], Duration::from_mins(20)),
            (&["--slot=2s", "--budget", "2h"], Duration::from_hours(2)),
        ] {
            let command = typed(options);
            let words: Vec<&str> = command.words()[1..].iter().map(String::as_str).collect();
            let parsed: TryArguments = parse_typed(&words).unwrap();
            assert_eq!(parsed.slot, Some(Duration::from_secs(40)));
            let budget = parsed.budget.unwrap();
            assert!(budget >= Duration::from_secs(26 * 40) && budget <= longest, "{budget:?}");
            assert_eq!((parsed.pid, parsed.sample.as_deref(), parsed.counter), (vec![7], Some("cat x"), true));
            assert_eq!((parsed.metric.as_deref(), parsed.on), (Some("ops=n: ([0-9]+)"), vec!["llc:0".to_owned()]));
            assert!(!command.shell_line().contains("--store"), "it is added to every suggestion");
        }
    }
}
