//! Visits that come as files and lines, and the job for Kubernetes that makes some.

use std::io::Write as _;
use std::process::{Output, Stdio};

use crate::support::{TestPlace, text};
use crate::{healthy_nodes, problem_of, shown_nodes};

/// The report of a visit to this machine under another name.
fn report(place: &TestPlace, node: &str) -> String {
    let output = place.corewise(&["fleet", "visit", "--budget", "1s", "--node", node]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    assert!(report.len() <= 4097 && report.ends_with("}\n") && report.lines().count() == 1, "{report}");
    report
}

fn add(place: &TestPlace, input: &str) -> Output {
    let mut command = place.corewise(&["fleet", "add", "-", "--json", "--no-store"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn reports_are_read_as_pdsh_prints_them_and_damaged_ones_are_rows() {
    let place = TestPlace::new();
    let (one, two) = (report(&place, "one"), report(&place, "two"));
    let cut = &two[..two.len() / 2];
    let text_of_all = format!(
        "one: {one}two: {two}one: {one}three: {cut}\npdsh@admin: four: ssh exited with exit code 127\n\nhello\n"
    );
    let output = add(&place, &text_of_all);
    let nodes = shown_nodes(&output);
    assert_eq!(healthy_nodes(&nodes), [("one", 1), ("two", 1)]);
    assert_eq!(problem_of(&nodes, "three").0, "unreadable");
    assert_eq!(problem_of(&nodes, "four").1, "ssh exited with exit code 127");
    assert!(text(&output.stderr).contains("1 report was there twice"), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("names no node: standard input line 7"), "{}", text(&output.stderr));
    let nothing = add(&place, "hello\n");
    assert_eq!(nothing.status.code(), Some(3), "{}", text(&nothing.stderr));
}

#[test]
fn files_of_any_form_are_added_and_the_latest_fleet_is_shown_again() {
    let place = TestPlace::new();
    let (one, two) = (report(&place, "one"), report(&place, "two"));
    let pretty = serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(&two).unwrap()).unwrap();
    std::fs::write(place.path().join("one.1.json"), &one).unwrap();
    std::fs::write(place.path().join("two.json"), pretty).unwrap();
    std::fs::write(place.path().join("three.2.json"), &one[..200]).unwrap();
    let add =
        || place.corewise(&["fleet", "add", "one.1.json", "two.json", "three.2.json", "--json"]).output().unwrap();
    let nodes = shown_nodes(&add());
    assert_eq!(shown_nodes(&add()), nodes);
    assert_eq!(place.corewise(&["history", "show", "2"]).output().unwrap().status.code(), Some(3), "no second copy");
    assert_eq!(healthy_nodes(&nodes), [("one", 1), ("two", 1)]);
    assert_eq!(problem_of(&nodes, "three").0, "unreadable", "its file names it");
    assert_eq!(shown_nodes(&place.corewise(&["fleet", "--json"]).output().unwrap()), nodes);
    let shown = place.corewise(&["history", "show", "1"]).output().unwrap();
    assert!(
        text(&shown.stdout).contains("This result was imported from 3 files, one.1.json and others."),
        "{}",
        text(&shown.stdout)
    );
    assert!(!text(&shown.stderr).contains("another machine"), "{}", text(&shown.stderr));
    // One in which no node answered is shown, and the latest stays the latest.
    std::fs::write(place.path().join("n9"), "bash: corewise: command not found\n").unwrap();
    let silent = place.corewise(&["fleet", "add", "n9", "--json"]).output().unwrap();
    assert_eq!(silent.status.code(), Some(3));
    assert_eq!(problem_of(&shown_nodes(&silent), "n9").1, "bash: corewise: command not found");
    std::fs::copy(place.path().join("one.1.json"), place.path().join("last")).unwrap();
    assert!(place.corewise(&["fleet", "add", "last"]).output().unwrap().status.success());
    let of_number = |words: &[&str]| place.corewise(&[&["fleet", "report"], words].concat()).output().unwrap();
    assert_eq!(shown_nodes(&of_number(&["1", "--json"])), nodes);
    assert!(text(&of_number(&["1", "--openmetrics"]).stdout).contains("corewise_fleet_answered{node=\"two\"} 1"));
    assert_eq!(shown_nodes(&of_number(&["--json"])).len(), 1, "the second one that has an answer");
    // A page has the latest fleet, and its title says what it is of.
    let page = place.corewise(&["report", "--output", "-", "--markdown"]).output().unwrap();
    assert!(text(&page.stdout).starts_with("# Fleet 2 · 1 node, 1 visit\n"), "{}", text(&page.stdout));
    assert!(text(&page.stdout).contains("corewise fleet add last"), "{}", text(&page.stdout));
}

#[test]
fn a_name_that_is_refused_comes_with_the_allowed_characters() {
    let place = TestPlace::new();
    for words in [["--node", ""], ["--rack", "a b"]] {
        let refused = place.corewise(&[&["fleet", "visit", "--budget", "1s"], &words[..]].concat()).output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
        assert!(
            text(&refused.stderr).contains("letters, digits and . - _ : @ are allowed"),
            "{}",
            text(&refused.stderr)
        );
    }
}

/// A folder would be taken for an unfinished run.
#[test]
fn a_command_that_is_refused_says_how_nodes_are_reached_and_leaves_no_folder() {
    let place = TestPlace::new();
    let to = place.path().join("results");
    let to = to.to_str().unwrap();
    for command in [&["survey"][..], &["try", "--on", "0"]] {
        let run = |words: &[&str]| {
            let end: &[&str] = if command[0] == "try" { &["--", "true"] } else { &[] };
            place.corewise(&[&["fleet"], command, words, &["--to", to], end].concat()).output().unwrap()
        };
        let unnamed = run(&[]);
        let said = text(&unnamed.stderr);
        assert_eq!(unnamed.status.code(), Some(2), "{said}");
        for line in [
            format!("corewise fleet {} --slurm", command[0]),
            format!("corewise fleet {} --hosts hosts.txt", command[0]),
        ] {
            assert!(said.contains(&line), "{line} in {said}");
        }
        assert_eq!(run(&["--hosts", "nofile"]).status.code(), Some(3));
        std::fs::write(place.path().join("bad"), "a b\n").unwrap();
        assert_eq!(run(&["--hosts", "bad"]).status.code(), Some(2));
        assert!(!std::path::Path::new(to).exists(), "{command:?}");
    }
}

#[test]
fn the_job_for_kubernetes_visits_each_machine_under_its_name() {
    let place = TestPlace::new();
    let print = |options: &[&str]| place.corewise(&[&["fleet", "manifest"], options].concat()).output().unwrap();
    let manifest = text(&print(&["--nodes", "40", "--budget", "90s"]).stdout);
    for line in [
        "  parallelism: 40",
        "  completions: 40",
        r#"command: ["/bin/sh", "-c", "exec corewise fleet visit --budget 90s --node \"$NODE_NAME\" > /dev/termination-log"]"#,
        "fieldPath: spec.nodeName",
        "| corewise fleet add -",
        "timeout 735 sh -c",
        "grep -qE 'Complete|Failed'",
        "kubectl delete job corewise-fleet",
        "# tolerations: [{ operator: Exists }]",
        "terminationMessagePolicy: FallbackToLogsOnError",
    ] {
        assert!(manifest.contains(line), "{line} in\n{manifest}");
    }
    assert_eq!(print(&["--image", "a b: c"]).status.code(), Some(2));
}
