//! Winners that are tried again by `corewise try`, with real commands: the pause, and what is said of decided experiments.

#![cfg(target_os = "linux")]

mod support;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

use corewise_sys::affinity;
use serde_json::Value;
use support::{TestPlace, ended, interrupt, text};

/// A place with a command whose score is twice as high on one cpu; `None` if only one may be used.
struct AgainStage {
    place: TestPlace,
    first: u32,
}

impl AgainStage {
    fn new() -> Option<Self> {
        let all = affinity::current_affinity().unwrap();
        let first = all.iter().next().filter(|_| all.len() > 1)?;
        Some(Self { place: TestPlace::new(), first })
    }

    fn tries(&self, options: &[&str]) -> Command {
        let script = format!(
            "if grep -q '^Cpus_allowed_list:.{}$' /proc/self/status; then echo score 20.14; else echo score 10.07; fi",
            self.first
        );
        let on = self.first.to_string();
        let typed = ["try", "--seed", "7", "--rest", "0s", "--metric", "score", "--higher", "--on", &on];
        let mut command = self.place.corewise(&[&typed[..], options, &["--", "sh", "-c", &script]].concat());
        command.stdin(Stdio::null());
        command
    }

    fn resumes(&self, options: &[&str]) -> Output {
        self.place.corewise(&[&["try", "--rest", "0s", "--resume=1"], options].concat()).output().unwrap()
    }

    /// Number of runs of the first experiment.
    fn runs(&self) -> u64 {
        let shown = self.place.corewise(&["history", "show", "1", "--json"]).output().unwrap();
        let document: Value = serde_json::from_slice(&shown.stdout).unwrap();
        document["conclusions"]["standing"]["runs"].as_u64().unwrap()
    }
}

/// All words, however the lines are wrapped.
fn words(bytes: &[u8]) -> String {
    text(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn ctrl_c_in_the_pause_keeps_the_answer_so_far() {
    let Some(stage) = AgainStage::new() else { return };
    let mut session = stage.tries(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(session.stderr.take().unwrap()).lines().map_while(Result::ok);
    let pause = errors.find(|line| line.starts_with("Trying it again in ")).unwrap();
    assert!(pause.ends_with(" s; Ctrl-C keeps the answer so far"), "{pause}");
    interrupt(&session);
    let rest: Vec<String> = errors.collect();
    assert!(rest.concat().contains("so the answer so far stands; `corewise try --resume=1"), "{rest:?}");
    let said = std::io::read_to_string(session.stdout.take().unwrap()).unwrap();
    assert_eq!(ended(&mut session).code(), Some(1), "{said}");
    assert!(said.starts_with("So far, in ") && !said.contains("Pin it."), "{said}");
}

/// A winner is tried again a minute after the first run, at the earliest.
#[test]
fn a_budget_that_is_too_short_to_try_the_winner_again_is_told() {
    let Some(stage) = AgainStage::new() else { return };
    let made = stage.tries(&["--budget", "50s"]).output().unwrap();
    let said = words(&made.stderr);
    assert_eq!(made.status.code(), Some(1), "{said}");
    assert!(said.contains("note: the winner was not tried again: that takes at least"), "{said}");
    assert!(said.contains("of the budget are left; `corewise try --resume=1") && said.ends_with("` does"), "{said}");
}

#[test]
fn a_decided_experiment_says_what_resuming_does_and_goes_on_over_boots() {
    let Some(stage) = AgainStage::new() else { return };
    let made = stage.tries(&["--no-confirm"]).output().unwrap();
    assert_eq!(made.status.code(), Some(1), "{}", text(&made.stderr));
    let before = stage.runs();
    let again = stage.resumes(&["--no-confirm"]);
    let said = words(&again.stderr);
    assert!(
        said.contains("experiment 1 is decided: nothing more is run. `corewise try --resume=1 --boots 3"),
        "{said}"
    );
    assert_eq!(stage.runs(), before);
    // Runs of one boot are not tried again before there are more: nothing waits for a minute.
    let more = stage.resumes(&["--boots", "2"]);
    let said = words(&more.stdout);
    assert_eq!(more.status.code(), Some(1), "{said}");
    assert!(words(&more.stderr).contains("it goes on in this boot, for runs over 2 boots"), "{}", text(&more.stderr));
    assert!(said.starts_with("So far, in ") && said.contains("s, over 1 of 2 boots: "), "{said}");
    assert!(stage.runs() >= before + 10, "{} after {before}: five blocks of two runs", stage.runs());
}

#[test]
fn contradictions_are_refused() {
    let place = TestPlace::new();
    for words in [&["--boots", "3", "--", "true"][..], &["--confirm", "--no-confirm", "--", "true"]] {
        let refused = place.corewise(&[&["try"], words].concat()).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{words:?}: {}", text(&refused.stderr));
    }
}
