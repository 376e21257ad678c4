//! `corewise article` as a user meets it: the list, a file of one's own, JSON, an interruption, and what cannot be.

mod support;

use std::fs;
use std::process::Stdio;

use serde_json::Value;
use support::{TestPlace, text};

const OWN: &str = r#"
name = "own"
question = "Does it matter?"
source = "nobody"
published = "nothing"
look = "at the table"

[[step]]
title = "random walks"
command = ["try", "--on", "0", "--metric", "steps_per_second", "--", "corewise", "workload", "particles", "--size", "0.002"]
usual = ["--runs-max", "4"]
quick = ["--runs-max", "2"]
environment = { COREWISE_THREADS = "1" }

[[step]]
title = "what no machine has"
command = ["try", "--on", "pack({n}, {level})", "--", "true"]
shared = ["cpu"]
threads = 4096
"#;

fn with_own(text: &str) -> TestPlace {
    let place = TestPlace::new();
    fs::write(place.path().join("own.toml"), text).unwrap();
    place
}

#[test]
fn all_five_are_listed_and_can_be_copied() {
    let place = TestPlace::new();
    let list = text(&place.corewise(&["article"]).output().unwrap().stdout);
    for name in ["cpu0", "modules", "core0", "threads", "channels"] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
        let copy = place.corewise(&["article", name, "--print"]).output().unwrap();
        assert_eq!(copy.status.code(), Some(0));
        assert!(text(&copy.stdout).contains(&format!("name = \"{name}\"")));
    }
}

#[test]
fn a_file_is_made_step_by_step_and_what_cannot_show_anything_says_why() {
    let place = with_own(OWN);
    let run = place.corewise(&["article", "own.toml", "--quick"]).output().unwrap();
    let (out, err) = (text(&run.stdout), text(&run.stderr));
    assert_eq!(run.status.code(), Some(0), "{out}{err}");
    for words in [
        "own  Does it matter?",
        "── random walks",
        "--runs-max 2",
        "COREWISE_THREADS=1 corewise try",
        "steps_per_second",
        "left out: this machine does not have two cpus",
        "Published  nothing",
    ] {
        assert!(out.contains(words), "{words}: {out}{err}");
    }
}

#[test]
fn as_json_each_step_has_its_document() {
    let place = with_own(OWN);
    let run = place.corewise(&["article", "own.toml", "--json"]).output().unwrap();
    let made: Value = serde_json::from_slice(&run.stdout).unwrap_or_else(|_| panic!("{}", text(&run.stderr)));
    let steps = made["articles"][0]["steps"].as_array().unwrap();
    assert_eq!(steps[0]["document"]["schema"], "corewise/experiment/2", "{made}");
    assert!(steps[0]["command"].as_array().unwrap().contains(&Value::from("4")), "{made}");
    assert!(steps[1]["left_out"].as_str().unwrap().contains("does not have two cpus"), "{made}");
}

#[test]
fn an_interruption_ends_the_step_and_the_article() {
    let place = with_own(&OWN.replace("\"0.002\"", "\"1\"").replace("\"4\"", "\"400\""));
    let mut run =
        place.corewise(&["article", "own.toml"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    support::wait_until_it_catches_interrupts(&run);
    support::interrupt(&run);
    let printed = std::io::read_to_string(run.stdout.take().unwrap()).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130), "{printed}");
    assert!(!printed.contains("what no machine has"), "{printed}");
}

#[test]
fn what_is_no_article_is_told() {
    for (own, says) in [
        (OWN.replace("\"try\"", "\"rm\""), "its command must begin with"),
        (OWN.replace("look =", "see ="), "unknown field"),
    ] {
        let run = with_own(&own).corewise(&["article", "own.toml"]).output().unwrap();
        assert_eq!(run.status.code(), Some(2));
        assert!(text(&run.stderr).contains(says), "{}", text(&run.stderr));
    }
    let run = TestPlace::new().corewise(&["article", "core7"]).output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert!(text(&run.stderr).contains("cpu0, modules, core0, threads, channels"), "{}", text(&run.stderr));
}
