//! `corewise talk` as a user meets it: graphs in files and where they would go, a program that is watched, the history, and `try --talk`.

mod support;

use std::fs;
use std::process::{Command, Stdio};

use corewise_machine::placement::roles::parse_roles;
use serde_json::Value;
use support::{TestPlace, text};

/// Two groups of three that talk much among themselves, and a little with each other.
const EDGES: &str = "waker,wakee,wakes,waiting_ns,means\n\
    reader,parser,90000,4000,futex\nparser,writer,80000,5000,futex\nwriter,reader,70000,,pipe\n\
    accept,session,60000,,socket\nsession,log,50000,,pipe\nlog,accept,40000,,futex\nlog,reader,900,,futex\n";

fn with_edges() -> TestPlace {
    let place = TestPlace::new();
    fs::write(place.path().join("edges.csv"), EDGES).unwrap();
    place
}

fn printed(place: &TestPlace, arguments: &[&str]) -> String {
    let run = place.corewise(arguments).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{arguments:?}: {}", text(&run.stderr));
    text(&run.stdout)
}

/// Text with its lines joined: where they break depends on the width.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn planned(place: &TestPlace, file: &str, machine: &str) -> Value {
    let document = printed(place, &["talk", "--plan", file, "--machine", machine, "--json"]);
    serde_json::from_str(&document).unwrap()
}

#[test]
fn a_graph_of_a_file_goes_onto_the_caches_of_another_machine() {
    let place = with_edges();
    let document = planned(&place, "edges.csv", "threadripper-3960x");
    assert_eq!(document["schema"], "corewise/talk/1");
    let plan = &document["conclusions"]["plan"];
    let roles = plan["proposals"][0]["roles"].as_array().unwrap();
    let on = |name: &str| {
        let role = roles.iter().find(|role| role["name"] == name).unwrap();
        role["expression"].as_str().unwrap().to_owned()
    };
    for group in [["reader", "parser", "writer"], ["accept", "session", "log"]] {
        assert!(on(group[0]).starts_with("llc:") && group.iter().all(|name| on(name) == on(group[0])), "{plan}");
    }
    assert_ne!(on("reader"), on("log"), "{plan}");
    assert!(plan["message_ns"].as_f64().unwrap() < plan["random_ns"].as_f64().unwrap(), "{plan}");
    let screen = joined(&printed(&place, &["talk", "--plan", "edges.csv", "--machine", "threadripper-3960x"]));
    for part in ["reader", "futex", "Proposed: ", "assumed from the topology", "proven"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
}

#[test]
fn three_threads_that_talk_are_proposed_for_one_ccx() {
    let place = TestPlace::new();
    fs::write(place.path().join("pipeline"), "0 9 0\n9 0 8\n0 8 0\n").unwrap();
    let document = planned(&place, "pipeline", "threadripper-3960x");
    let first = document["conclusions"]["plan"]["proposals"][0]["on"].as_str().unwrap().to_owned();
    assert!(first.starts_with("llc:"), "{document}");
    // The document is a graph again, and leads to the same plan.
    fs::write(place.path().join("again.json"), document.to_string()).unwrap();
    let again = planned(&place, "again.json", "threadripper-3960x");
    assert_eq!(again["conclusions"]["plan"], document["conclusions"]["plan"]);
}

#[test]
fn names_chosen_by_an_attacker_steer_neither_terminal_nor_graphviz_nor_roles() {
    let place = TestPlace::new();
    fs::write(place.path().join("hostile.csv"), "\u{1b}[2J,a:b=c,5\na:b=c,$(reboot)',4\n$(reboot)',x\\];q->r[,3\n")
        .unwrap();
    let arguments = ["talk", "--plan", "hostile.csv", "--machine", "threadripper-3960x"];
    let screen = printed(&place, &arguments);
    assert!(!screen.contains('\u{1b}') && screen.contains("\\u{1b}[2J"), "{screen}");
    let dot = printed(&place, &[&arguments[..], &["--dot"]].concat());
    assert!(dot.starts_with("digraph talk {") && !dot.contains('\u{1b}'), "{dot}");
    assert!(dot.contains(r#"label="x\\];q->r[""#), "{dot}");
    let document = planned(&place, "hostile.csv", "threadripper-3960x");
    for proposal in document["conclusions"]["plan"]["proposals"].as_array().unwrap() {
        for role in proposal["roles"].as_array().into_iter().flatten() {
            let part = |name: &str| role[name].as_str().unwrap().to_owned();
            parse_roles(&format!("{}={}:{}", part("name"), part("pattern"), part("expression"))).unwrap();
        }
    }
}

#[test]
fn mistakes_say_what_is_wrong() {
    let place = with_edges();
    fs::write(place.path().join("bad"), "1 2\n3\n").unwrap();
    for (arguments, status, part) in [
        (&["talk"][..], 2, "required"),
        (&["talk", "--plan", "bad"], 3, "line 2: expected 2 numbers, as many as lines, found 1"),
        (&["talk", "--plan", "none.csv"], 3, "none.csv"),
        (&["talk", "--pid", "4194304"], 3, "there is no process 4194304"),
        (&["talk", "--machine", "fx-8150", "--", "true"], 2, "--machine"),
        (&["try", "--talk", "--pid", "4194304", "--metric", "run-delay"], 3, "there is no process 4194304"),
        (&["try", "--talk", "--pid", "1", "--dry-run", "--metric", "run-delay"], 2, "--talk"),
        (&["try", "--talk", "--threads", "1,2", "--threads-as", "N", "--", "true"], 2, "one number of threads"),
    ] {
        let run = place.corewise(arguments).output().unwrap();
        let said = text(&run.stderr);
        assert!(run.status.code() == Some(status) && said.contains(part), "{arguments:?}: {:?} {said}", run.status);
    }
}

#[test]
fn a_watched_program_is_stored_compared_and_shown() {
    let place = TestPlace::new();
    let program = env!("CARGO_BIN_EXE_corewise");
    let line = ["talk", "--json", "--", program, "workload", "pipeline", "--size", "0.01", "--threads", "3"];
    for number in 1..=2 {
        let run = place.corewise(&line).output().unwrap();
        if run.status.code() == Some(3) {
            return println!("skipped: {}", text(&run.stderr));
        }
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        let document: Value = serde_json::from_slice(&run.stdout).unwrap();
        assert_eq!(document["stored"], number, "{document}");
        assert!(document["conclusions"]["wakes_per_s"].as_f64().unwrap() > 0.0, "{document}");
    }
    assert!(printed(&place, &["history"]).contains("talk"));
    assert!(
        printed(&place, &["history", "show", "1"]).contains("Talk")
            || printed(&place, &["history", "show", "1"]).contains("talk graph 1")
    );
    let compared = joined(&printed(&place, &["history", "compare", "1", "2"]));
    assert!(compared.contains("between talk graph 1 and talk graph 2"), "{compared}");
}

/// A graph that is watched behind options of unshare; `None` if they are not allowed here.
fn watched_inside(place: &TestPlace, options: &[&str]) -> Option<Value> {
    let program = env!("CARGO_BIN_EXE_corewise");
    let own = place.corewise(&["talk", "--no-store", "--json", "--", program, "workload", "pipeline"]);
    let mut inside = Command::new("unshare");
    inside.args(options).arg(own.get_program()).args(own.get_args()).args(["--size", "0.05", "--threads", "3"]);
    inside.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(place.path());
    let run = inside.output().ok()?;
    if run.status.code() != Some(0) {
        println!("skipped: {options:?}: {}", text(&run.stderr));
        return None;
    }
    Some(serde_json::from_slice(&run.stdout).unwrap())
}

/// The kernel's programs see the numbers of all tasks; /proc has those of the namespace.
#[test]
fn threads_in_a_container_have_the_names_and_numbers_of_there() {
    let place = TestPlace::new();
    let inner = ["--fork", "--pid", "--mount-proc"];
    let own_user = ["--user", "--map-root-user", "--fork", "--pid", "--mount-proc"];
    let nested = [&inner[..], &["unshare"], &inner].concat();
    let outside = watched_inside(&place, &["--uts"]);
    let count_known = |document: &Value| {
        let threads = document["observed"]["vertices"].as_array().unwrap().iter();
        let of_program = threads.filter(|vertex| vertex["program"] == "corewise");
        of_program.filter(|vertex| vertex["cpus"].as_str().is_some_and(|cpus| !cpus.is_empty())).count()
    };
    for options in [&inner[..], &nested, &own_user] {
        let mut watched = watched_inside(&place, options);
        for _ in 1..10 {
            // A guess sees few threads of a program that others kept from running.
            if watched.as_ref().is_some_and(|document| count_known(document) < 3) {
                watched = watched_inside(&place, options);
            }
        }
        let Some(document) = watched else { continue };
        let observed = &document["observed"];
        assert!(count_known(&document) >= 3, "{options:?}: {document}");
        if let Some(outside) = outside.as_ref().filter(|_| options[0] != "--user") {
            assert_eq!(observed["source"], outside["observed"]["source"], "{options:?}: {document}");
        }
    }
    let foreign = ["--fork", "--pid"];
    let own = place.corewise(&["talk", "--no-store", "--", "true"]);
    let run = Command::new("unshare").args(foreign).arg(own.get_program()).args(own.get_args()).output().unwrap();
    let said = text(&run.stderr);
    assert!(run.status.code() == Some(3) || said.contains("unshare"), "{said}");
    assert!(said.contains("another namespace of processes") || said.contains("unshare"), "{said}");
}

/// The supervisor of a command is woken by each end of its children, and the watcher by the command's output.
#[test]
fn the_watcher_and_its_supervisor_are_no_part_of_the_program() {
    let place = TestPlace::new();
    let script = "for step in 1 2 3 4 5 6 7 8; do echo a | cat; done";
    // The corewise of another test may run, and wake, when an interrupt comes.
    let words = ["talk", "--no-store", "--json", "--", "sh", "-c", script];
    let run = place.corewise_named("own-corewise", &words).output().unwrap();
    if run.status.code() == Some(3) {
        return println!("skipped: {}", text(&run.stderr));
    }
    let document: Value = serde_json::from_slice(&run.stdout).unwrap();
    let vertices = document["observed"]["vertices"].as_array().unwrap();
    assert!(!vertices.is_empty() && vertices.iter().all(|vertex| vertex["name"] != "corewise-watch"), "{document}");
    let gaps = document["observed"]["gaps"].to_string();
    assert!(!gaps.contains("own-corewise"), "{gaps}");
}

#[test]
fn what_talk_proposes_is_tried_and_resumed_without_watching_again() {
    let place = TestPlace::new();
    let program = env!("CARGO_BIN_EXE_corewise");
    let command = ["--", program, "workload", "pipeline", "--size", "0.01", "--threads", "3"];
    let run = place
        .corewise(
            &[
                &["try", "--talk", "--on", "0", "--runs-max", "9", "--rest", "0s", "--no-confirm", "--json"],
                &command[..],
            ]
            .concat(),
        )
        .output()
        .unwrap();
    let said = text(&run.stderr);
    if run.status.code() == Some(3) {
        return println!("skipped: {said}");
    }
    assert!(said.contains("watching a first run") && said.contains("talk graph 1 proposes"), "{said}");
    let document: Value = serde_json::from_slice(&run.stdout).unwrap();
    let experiment = &document["observed"]["experiment"];
    let reasons: Vec<&str> =
        experiment["arms"].as_array().unwrap().iter().map(|arm| arm["reason"].as_str().unwrap()).collect();
    if !said.contains("proposes no placement") {
        assert!(reasons.iter().any(|reason| reason.starts_with("talk graph 1: ")), "{reasons:?}");
    }
    let resumed =
        place.corewise(&["try", "--resume", "--runs-max", "12", "--rest", "0s", "--no-confirm"]).output().unwrap();
    let said = text(&resumed.stderr);
    assert!(matches!(resumed.status.code(), Some(0 | 1)) && !said.contains("watching a first run"), "{said}");
}

#[test]
fn running_processes_are_watched_before_they_are_tried() {
    let place = TestPlace::new();
    let program = env!("CARGO_BIN_EXE_corewise");
    let size = ["workload", "pipeline", "--size", "1000", "--threads", "3"];
    let mut server = Command::new(program).args(size).stdout(Stdio::null()).spawn().unwrap();
    let number = server.id().to_string();
    let options = ["--metric", "cpu-time", "--lower", "--slot", "200ms", "--runs-max", "9", "--no-confirm", "--json"];
    // A sixth of the budget is for watching.
    let line = [&["try", "--talk", "--pid", &number, "--on", "0", "--budget", "12s"], &options[..]].concat();
    let run = place.corewise(&line).output().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let said = text(&run.stderr);
    if run.status.code() == Some(3) || said.contains("only the other placements") {
        return println!("skipped: {said}");
    }
    assert!(said.contains("watching the processes") && said.contains("talk graph 1 proposes"), "{said}");
    let document: Value = serde_json::from_slice(&run.stdout).unwrap();
    let experiment = &document["observed"]["experiment"];
    let is_proposed = |arm: &Value| arm["reason"].as_str().is_some_and(|reason| reason.starts_with("talk graph 1: "));
    let arms = experiment["arms"].as_array().unwrap();
    assert!(arms.iter().any(is_proposed) || said.contains("proposes no placement"), "{arms:?}");
    assert!(arms.iter().any(|arm| arm["cpus"].as_str() == Some("0")), "{arms:?}");
}

#[test]
fn threads_of_a_plain_command_have_roles() {
    let place = TestPlace::new();
    let program = env!("CARGO_BIN_EXE_corewise");
    let line = [
        "try",
        "--role",
        "all=.*",
        "--on",
        "all=1",
        "--on",
        "0",
        "--runs-max",
        "6",
        "--rest",
        "0s",
        "--no-confirm",
        "--json",
        "--",
        program,
        "workload",
        "pipeline",
        "--size",
        "0.01",
        "--threads",
        "2",
    ];
    let run = place.corewise(&line).output().unwrap();
    if text(&run.stderr).contains("only cpu") {
        return println!("skipped: one cpu");
    }
    assert!(matches!(run.status.code(), Some(0 | 1)), "{}", text(&run.stderr));
    let document: Value = serde_json::from_slice(&run.stdout).unwrap();
    let arms = document["observed"]["experiment"]["arms"].as_array().unwrap();
    assert!(arms.iter().any(|arm| arm["name"] == "all=1" && arm["roles"][0]["cpus"] == "1"), "{arms:?}");
    // The mask of a role is ours, not the program's own.
    let trials = document["observed"]["trials"].as_array().unwrap();
    assert!(!trials.is_empty() && trials.iter().all(|trial| trial["observed"]["own_mask"].is_null()), "{trials:?}");
}
