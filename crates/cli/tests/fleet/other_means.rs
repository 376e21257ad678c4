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
    assert!(text(&output.stderr).contains("1 line is no report"), "{}", text(&output.stderr));
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
    ] {
        assert!(manifest.contains(line), "{line} in\n{manifest}");
    }
    assert_eq!(print(&["--image", "a b: c"]).status.code(), Some(2));
}
