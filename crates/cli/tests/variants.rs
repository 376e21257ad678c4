//! `corewise try --variant` and `--gate`: programs beside each other, with numbers that depend on the variant alone.

mod support;

use std::process::Stdio;

use serde_json::Value;
use support::{TestPlace, text};

/// Prints a score near its first argument, plus `EXTRA`. Its noise depends on the number of runs before alone, so that no result is luck.
const SCORE: &str = "#!/bin/sh\nread -r n < count; echo $((n + 1)) > count\n\
    echo \"score $(($1 + ${EXTRA:-0} + n * n * 31 % 101 % 9))\"\n";

const METRIC: [&str; 9] =
    ["--no-confirm", "--metric", "score", "--rest", "0s", "--seed", "7", "--width=300", "--trial-time=1ms"];

fn with_score() -> TestPlace {
    use std::os::unix::fs::PermissionsExt as _;
    let place = TestPlace::new();
    let file = place.path().join("score");
    std::fs::write(&file, SCORE).unwrap();
    std::fs::write(place.path().join("count"), "0\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    place
}

/// What `try` prints with these arguments, both ways, and its exit status.
fn tried(place: &TestPlace, arguments: &[&str]) -> (String, Option<i32>) {
    let mut command = place.corewise(&["try"]);
    let done = command.args(METRIC).args(arguments).stdin(Stdio::null()).output().unwrap();
    (text(&done.stdout) + &text(&done.stderr), done.status.code())
}

fn document(place: &TestPlace, arguments: &[&str]) -> Value {
    let mut command = place.corewise(&["try", "--json"]);
    let done = command.args(METRIC).args(arguments).output().unwrap();
    serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{}", text(&done.stderr)))
}

/// The arm that wins; `None` without one.
fn winner(document: &Value) -> Option<u64> {
    let verdict = &document["conclusions"]["standing"]["verdict"];
    verdict["arm"].as_u64().filter(|_| verdict["kind"] == "wins")
}

fn names(document: &Value) -> Vec<&str> {
    let arms = document["observed"]["experiment"]["arms"].as_array().unwrap();
    arms.iter().map(|arm| arm["name"].as_str().unwrap()).collect()
}

#[test]
fn a_better_variant_is_named_against_the_first() {
    let place = with_score();
    let (told, status) = tried(&place, &["--variant", "old=./score 1000", "--variant", "new=./score 1300"]);
    assert_eq!(status, Some(1), "so far, since it is not tried again: {told}");
    for words in ["new is at least", "better in score than old", "variant", "vs old"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains("OS default") && !told.contains("operating system"), "{told}");
    let (told, status) = tried(&place, &["--variant", "old=./score 1300", "--variant", "new=./score 1000"]);
    assert_eq!(status, Some(0), "{told}");
    assert!(told.starts_with("Keep old. new is worse"), "{told}");
}

#[test]
fn variables_and_parts_of_a_command_are_variants() {
    let place = with_score();
    let with_variables = ["--variant", "base=", "--variant", "extra=EXTRA=400", "--", "./score", "1000"];
    let made = document(&place, &with_variables);
    assert_eq!(winner(&made), Some(1));
    let with_part = ["--variant", "1000", "--variant", "more=1500", "--", "./score", "{variant}"];
    let made = document(&place, &with_part);
    assert_eq!(names(&made), ["1000", "more"]);
    assert_eq!(winner(&made), Some(1));
    let shell = ["--variant", "a=N=1000; ./score $N", "--variant", "b=N=1400; ./score $N"];
    assert_eq!(winner(&document(&place, &shell)), Some(1));
}

#[test]
fn every_variant_runs_on_every_placement_and_is_repeated() {
    let place = with_score();
    let arguments =
        ["--runs-max", "8", "--on", "os", "--on", "0", "--variant", "a=./score 10", "--variant", "b=./score 11"];
    let (told, status) = tried(&place, &arguments);
    if status == Some(3) {
        return println!("skipped: {told}");
    }
    assert!(matches!(status, Some(0 | 1)), "{told}");
    let again = place
        .corewise(&["try", "--again", "1", "--runs-max", "8", "--rest", "0s", "--json", "--no-confirm"])
        .output()
        .unwrap();
    let again: Value = serde_json::from_slice(&again.stdout).unwrap_or_else(|_| panic!("{}", text(&again.stderr)));
    assert_eq!(names(&again), ["a", "b", "a on 0", "b on 0"]);
    let shown = text(&place.corewise(&["history", "show", "1", "--markdown"]).output().unwrap().stdout);
    for words in ["--variant 'a=./score 10' --variant 'b=./score 11' --on 0", "Variant b: ./score 11"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn a_gate_decides_the_status() {
    let place = with_score();
    let gate = |condition: &str, new: &str| {
        let variants = ["--variant", "old=./score 1000", "--variant"];
        tried(&place, &[&variants[..], &[&format!("new=./score {new}"), "--gate", condition]].concat())
    };
    let (told, status) = gate("new not worse by 5%", "1000");
    assert_eq!((status, told.starts_with("Gate passed: new is at most")), (Some(0), true), "{told}");
    let (told, status) = gate("5%", "800");
    assert_eq!((status, told.starts_with("Gate failed: new is at least")), (Some(1), true), "{told}");
    let (told, status) = gate("new better by 5%", "1000");
    assert_eq!((status, told.starts_with("Gate failed: it is not proven")), (Some(1), true), "{told}");
    let (told, status) = gate("5%", "1000");
    assert_eq!((status, told.starts_with("Gate passed:")), (Some(0), true), "{told}");
    let pair = ["--variant", "old=./score 1000", "--variant", "new=./score 1000"];
    let outcome = |options: &[&str]| document(&place, &[&pair[..], options].concat())["conclusions"]["gate"].clone();
    assert_eq!(outcome(&["--gate", "5%"]), "passed");
    assert_eq!(outcome(&["--gate", "5%", "--runs-max", "4"]), "undecided");
    assert_eq!(outcome(&["--gate", "new better by 5%"]), "failed");
    let (told, status) = tried(&place, &[&pair[..], &["--gate", "5%", "--runs-max", "4"]].concat());
    assert_eq!((status, told.starts_with("Gate undecided:")), (Some(1), true), "{told}");
    let (told, status) = gate("other better by 5%", "1000");
    assert_eq!((status, told.contains("The candidates are new.")), (Some(2), true), "{told}");
}

#[test]
fn scripts_know_the_variant() {
    let place = with_score();
    let prepare = "echo $COREWISE_VARIANT > now";
    let variants = [
        "--variant",
        "low=X=1",
        "--variant",
        "high=X=2",
        "--",
        "sh",
        "-c",
        "grep -q low now && ./score 100 || ./score 200",
    ];
    let made = document(&place, &[&["--prepare", prepare][..], &variants].concat());
    assert_eq!(winner(&made), Some(1));
}

#[test]
fn services_have_variants() {
    let place = with_score();
    let start = [
        "--start",
        "server=trap 'rm -f served; exit' TERM; echo {variant} > served; sleep 60 & wait",
        "--ready",
        "test -s served",
    ];
    let load = ["--", "sh", "-c", "./score $(cat served)"];
    let made = document(&place, &[&start[..], &["--variant", "100", "--variant", "170"], &load].concat());
    assert_eq!(winner(&made), Some(1));
}

#[test]
fn a_suite_compares_variants_of_all_its_benchmarks() {
    let place = with_score();
    let file = place.path().join("suite.toml");
    let benchmark = |name: &str, rest: &str| {
        let metric = "metric = { name = \"score\" }\nfolder = \".\"";
        format!("[[benchmark]]\nname = \"{name}\"\ncategory = \"all\"\n{metric}\n{rest}\n")
    };
    let variants = "variants = [\"old=EXTRA=0\", \"new=EXTRA=300\"]";
    let own = "command = [\"./score\", \"{variant}\"]\nvariants = [\"old=1000\", \"new=1400\"]";
    let benchmarks = benchmark("by variable", "command = [\"./score\", \"1000\"]") + &benchmark("by argument", own);
    std::fs::write(&file, format!("name = \"pairs\"\n{variants}\n{benchmarks}")).unwrap();
    let mut command = place.corewise(&["try", "--rest", "0s", "--seed", "7", "--json", "--suite"]);
    let done = command.arg(&file).stdin(Stdio::null()).output().unwrap();
    let made: Value = serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{}", text(&done.stderr)));
    assert_eq!(made["arms"][0]["name"], "old");
    assert_eq!(made["arms"][1]["variant"], "new");
    for benchmark in made["benchmarks"].as_array().unwrap() {
        assert_eq!(winner(&benchmark["experiment"]), Some(1), "{benchmark}");
    }
    let sentences = made["sentences"].to_string();
    assert!(sentences.contains("new is better over all 2 benchmarks; look at each before you take it"), "{sentences}");
    let shared = text(&std::fs::read(&file).unwrap()).replace("[\"old=1000\"", "[\"first=1000\"");
    std::fs::write(&file, shared).unwrap();
    let refused = place.corewise(&["try", "--suite"]).arg(&file).output().unwrap();
    let told = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && told.contains("the names must be the same"), "{told}");
}
