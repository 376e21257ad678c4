//! The command line of this session with other values of some options.

use std::ffi::OsString;

use corewise_machine::{SuggestedCommand, suggested_command};

/// Options that every suggestion has already.
const CARRIED: [&str; 2] = ["--store", "--journal"];

/// Returns the command line of this process with this slot length; `None` if it is not UTF-8 text.
pub fn suggest_slot(slot_s: u32) -> Option<SuggestedCommand> {
    let words: Result<Vec<String>, OsString> = std::env::args_os().map(OsString::into_string).collect();
    Some(retype_with(&words.ok()?, "--slot", &format!("{slot_s}s")))
}

/// Returns a command line of `try` without a command behind `--`, with this option instead of its own.
fn retype_with(words: &[String], option: &str, value: &str) -> SuggestedCommand {
    let mut kept: Vec<String> = vec![option.to_owned(), value.to_owned()];
    let mut typed = words.iter().skip_while(|word| *word != "try").skip(1);
    while let Some(word) = typed.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        match name == option || CARRIED.contains(&name) {
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
    use std::time::Duration;

    #[test]
    fn a_proposed_slot_replaces_the_typed_one_and_nothing_else() {
        let typed = |slot: &[&str]| {
            let line = ["corewise", "--store", "a.db", "try", "--pid", "7", "--store=b.db"];
            let metric = ["--sample", "cat x", "--metric", "ops=n: ([0-9]+)", "--counter", "--on", "llc:0"];
            let words: Vec<String> = [&line[..], slot, &metric].concat().into_iter().map(str::to_owned).collect();
            retype_with(&words, "--slot", "40s")
        };
        for slot in [&[][..], &["--slot", "2s"], &["--slot=2s"]] {
            let command = typed(slot);
            let words: Vec<&str> = command.words()[1..].iter().map(String::as_str).collect();
            let parsed: TryArguments = parse_typed(&words).unwrap();
            assert_eq!(parsed.slot, Some(Duration::from_secs(40)));
            assert_eq!((parsed.pid, parsed.sample.as_deref(), parsed.counter), (vec![7], Some("cat x"), true));
            assert_eq!((parsed.metric.as_deref(), parsed.on), (Some("ops=n: ([0-9]+)"), vec!["llc:0".to_owned()]));
            assert!(!command.shell_line().contains("--store"), "it is added to every suggestion");
        }
    }
}
