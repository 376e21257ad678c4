//! `corewise workload` as a user meets it, and `corewise try` with its metric lines.

mod support;

use std::fs;
use std::process::Stdio;

use serde_json::Value;
use support::{TestPlace, text};

const EACH: [&[&str]; 8] = [
    &["particles"],
    &["raymesh", "--triangles", "2000"],
    &["pipeline"],
    &["euler", "--shape", "16,8,8"],
    &["render", "--triangles", "2000", "--samples", "1"],
    &["image", "--columns", "64", "--rows", "48"],
    &["tail"],
    &["pingpong"],
];

fn json(place: &TestPlace, words: &[&str]) -> Value {
    let run = place.corewise(&[&["workload"], words, &["--json"]].concat()).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{words:?}: {}", text(&run.stderr));
    serde_json::from_slice(&run.stdout).unwrap()
}

#[test]
fn each_checks_itself_and_gives_the_same_with_any_number_of_threads() {
    let place = TestPlace::new();
    for own in EACH {
        let of = |threads: &str| json(&place, &[own, &["--size", "0.01", "--threads", threads]].concat());
        let (one, three) = (of("1"), of("3"));
        assert_eq!(one["workload"], own[0]);
        assert!(one["checked"].as_str().unwrap().len() > 10, "{one}");
        assert_eq!(one["checksum"], three["checksum"], "{own:?}");
        assert_eq!(one["checksum"].as_str().map(str::len), Some(16), "{own:?}");
        let metrics = one["metrics"].as_array().unwrap();
        assert!(!metrics.is_empty(), "{own:?}");
        for metric in metrics {
            assert!(metric["value"].as_f64().unwrap() >= 0.0, "{metric}");
            assert_eq!(metric["higher_is_better"], metric["name"].as_str().unwrap().contains("_per_"), "{metric}");
        }
    }
}

#[test]
fn metric_lines_stand_on_lines_of_their_own_and_progress_elsewhere() {
    let place = TestPlace::new();
    let run = place
        .corewise(&["workload", "particles", "--size", "0.01", "--threads", "2", "--width", "40"])
        .output()
        .unwrap();
    let (out, err) = (text(&run.stdout), text(&run.stderr));
    assert!(out.starts_with("particles · 2 threads · size 0.01"), "{out}");
    let rate = out.lines().find_map(|line| line.strip_prefix("metric steps_per_second ")).unwrap();
    assert!(rate.parse::<f64>().unwrap() > 0.0, "{rate}");
    assert!(!err.is_empty() && err.lines().all(|line| line.starts_with("particles: ")), "{err}");
}

#[test]
fn it_ends_after_the_seconds_that_were_asked_for_and_soon_after_an_interruption() {
    let place = TestPlace::new();
    let timed = json(&place, &["tail", "--seconds", "1s", "--threads", "1"]);
    assert_eq!(
        (timed["seconds"].as_f64(), timed["size"].is_null(), timed["checksum"].is_null()),
        (Some(1.0), true, true)
    );
    let words = ["workload", "particles", "--seconds", "10m"];
    let mut run = place.corewise(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    support::wait_until_it_catches_interrupts(&run);
    support::interrupt(&run);
    assert_eq!(support::ended(&mut run).code(), Some(130));
}

#[test]
fn partners_may_be_processes() {
    let place = TestPlace::new();
    for by in ["pipe", "socket"] {
        let found = json(&place, &["pingpong", "--by", by, "--processes", "--size", "0.01", "--threads", "2"]);
        assert!(found["metrics"][0]["value"].as_f64().unwrap() > 0.0, "{found}");
    }
    let run = place.corewise(&["workload", "pingpong", "--processes", "--size", "0.01"]).output().unwrap();
    assert_eq!(run.status.code(), Some(2), "{}", text(&run.stderr));
}

#[test]
fn what_cannot_be_is_told() {
    let place = TestPlace::new();
    fs::write(place.path().join("mesh.obj"), "this is no mesh\n").unwrap();
    fs::write(place.path().join("lines.json"), "{\"a\": 1}\n{\"a\": \n").unwrap();
    for (words, code, says) in [
        (&["raymesh", "--mesh", "mesh.obj"][..], 2, "mesh.obj"),
        (&["raymesh", "--mesh", "missing.ply"], 2, "missing.ply"),
        (&["pipeline", "--input", "lines.json"], 2, "lines.json"),
        (&["particles", "--size", "0"], 2, "size"),
        (&["particles", "--size", "NaN"], 2, "size"),
        (&["particles", "--pin", "llc:99"], 3, "llc"),
        (&["particles", "--threads", "0"], 2, "threads"),
        (&["particles", "--size", "1", "--seconds", "2s"], 2, "cannot be used with"),
        (&["euler", "--shape", "1,1"], 2, "shape"),
        (&["knitting"], 2, "knitting"),
    ] {
        let run = place.corewise(&[&["workload"], words].concat()).output().unwrap();
        assert_eq!(run.status.code(), Some(code), "{words:?}: {}", text(&run.stderr));
        assert!(text(&run.stderr).contains(says), "{words:?}: {}", text(&run.stderr));
        assert_eq!(text(&run.stdout), "", "{words:?}");
    }
}

#[test]
fn a_trial_finds_a_metric_by_its_name() {
    let place = TestPlace::new();
    let program = env!("CARGO_BIN_EXE_corewise");
    let words = ["try", "--runs-max", "6", "--on", "0", "--metric", "steps_per_second", "--json", "--", program];
    let workload = ["workload", "particles", "--size", "0.002", "--threads", "1"];
    let run = place.corewise(&[&words[..], &workload].concat()).output().unwrap();
    let experiment: Value = serde_json::from_slice(&run.stdout).unwrap_or_else(|_| panic!("{}", text(&run.stderr)));
    let told = experiment.to_string();
    assert!(told.contains("\"steps_per_second\"") && told.contains("\"higher_is_better\":true"), "{told}");
    assert!(!told.contains("is not in what it wrote"), "{told}");
}
